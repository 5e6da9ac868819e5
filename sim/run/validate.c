#include "run/validate.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/parallel.h"
#include "base/text.h"
#include "run/cases.h"
#include "run/predictor.h"
#include "work/options.h"

/* Metrics that a search answers, not a run. */
enum limit_kind { LIMIT_CTX, LIMIT_BATCH, LIMIT_SEQ, LIMIT_GPU_LAYERS, LIMIT_COUNT };

struct answer {
    bool asked, known;
    double value;
    struct vs_err err; /* when asked and not known */
};

/* Devices whose own figures a case may ask for. */
enum { GPUS_KEPT = 16 };

/* One distinct command line, and what it gives. */
struct job {
    const char *args;
    const char *file;    /* of its first row: traces may lie beside it */
    size_t first, count; /* its rows, a stretch of struct work's `order` */
    struct answer run;
    bool fits, timed; /* timed: a row asks for a speed */
    size_t gpu_count; /* whose figures are kept in by_gpu */
    double by_gpu[GPUS_KEPT][VS_METRIC_COUNT];
    char arch[32];
    double metrics[VS_METRIC_COUNT], low[VS_METRIC_COUNT], high[VS_METRIC_COUNT];
    struct answer limits[LIMIT_COUNT];
};

struct work {
    struct vs_case_row *rows;
    size_t *order; /* rows sorted by args, then by place */
    struct job *jobs;
    size_t job_count;
    struct vs_arena *arenas; /* one per worker, emptied between jobs */
    atomic_size_t done;
    const struct vs_validate_options *options;
    const struct vs_predictor *predictor;
};

static bool limit_of(const char *metric, enum limit_kind *kind) {
    static const char *const names[LIMIT_COUNT] = {[LIMIT_CTX] = "max_ctx",
                                                   [LIMIT_BATCH] = "max_batch",
                                                   [LIMIT_SEQ] = "max_seq",
                                                   [LIMIT_GPU_LAYERS] = "max_gpu_layers"};
    for (int i = 0; i < LIMIT_COUNT; i++) {
        if (vs_streq(metric, names[i])) {
            *kind = (enum limit_kind)i;
            return true;
        }
    }
    return false;
}

static enum vs_axis limit_axis(enum limit_kind kind, const char *task) {
    switch (kind) {
    case LIMIT_CTX:
        return VS_AXIS_CTX;
    case LIMIT_SEQ:
        return VS_AXIS_SEQ;
    case LIMIT_GPU_LAYERS:
        return VS_AXIS_GPU_LAYERS;
    default:
        return task && vs_streq(task, "train") ? VS_AXIS_MICRO_BATCH : VS_AXIS_BATCH;
    }
}

/* Device 0 of one device is the machine's figure; "@host" has metrics of its own. False: no such
 * metric. */
static bool metric_of(const char *name, enum vs_metric *metric, long *device) {
    char plain[64];
    const char *at = strstr(name, "@gpu");
    *device = -1;
    if (!at)
        return vs_metric_find(name, metric);
    const size_t length = (size_t)(at - name);
    const char *digits = at + 4;
    const size_t digit_count = strspn(digits, "0123456789");
    if (length >= sizeof plain || digit_count == 0 || digit_count > 6 ||
        digits[digit_count] != '\0')
        return false;
    memcpy(plain, name, length);
    plain[length] = '\0';
    *device = strtol(digits, NULL, 10);
    return vs_metric_find(plain, metric);
}

/* A trace that is named without a folder may lie beside the case file. */
static bool look_beside(struct vs_arena *arena, const char *file, struct vs_value *trace) {
    const char *slash = strrchr(file, '/');
    if (!trace->text || trace->text[0] == '/' || !slash)
        return true;
    const char *beside = vs_arena_printf(arena, "%.*s/%s", (int)(slash - file), file, trace->text);
    if (beside && vs_file_exists(beside))
        trace->text = beside;
    return beside != NULL;
}

/* Those of all cases, then the case's own, which win. */
static bool add_sets(struct vs_arena *arena, const struct vs_validate_options *options,
                     const struct vs_grid *grid, struct vs_request *request) {
    const size_t count = options->set_count + grid->set_count;
    const char **paths = VS_NEW_ARRAY(arena, const char *, count + 1);
    const char **values = VS_NEW_ARRAY(arena, const char *, count + 1);
    if (!paths || !values)
        return false;
    for (size_t i = 0; i < count; i++) {
        bool own = i >= options->set_count;
        size_t at = own ? i - options->set_count : i;
        paths[i] = own ? grid->set_paths[at] : options->set_paths[at];
        values[i] = own ? grid->set_values[at] : options->set_values[at];
    }
    request->set_paths = paths;
    request->set_values = values;
    request->set_count = count;
    return true;
}

static bool request_parse(struct vs_arena *arena, const struct vs_validate_options *options,
                          const struct job *job, struct vs_request *request, struct vs_err *err) {
    const struct vs_option_rules rules = {.lists = false};
    struct vs_grid *grid = VS_NEW(arena, struct vs_grid);
    char **words;
    size_t count;
    if (!grid)
        return vs_err_nomem(err);
    if (!vs_shell_split(arena, job->args, &words, &count, err) ||
        !vs_options_parse(arena, (const char *const *)words, count, &rules, grid, err) ||
        !vs_grid_point(grid, &request->user, err))
        return false;
    return (look_beside(arena, job->file, &request->user.at[VS_AXIS_TRACE]) &&
            add_sets(arena, options, grid, request)) ||
           vs_err_nomem(err);
}

static void run_point(const struct vs_predictor *predictor, struct vs_arena *arena,
                      const struct vs_request *request, struct job *job) {
    const struct vs_run_options options = {.capacity_only = !job->timed, .intervals = true};
    const struct vs_outcome *outcome;
    job->run.known = predictor->run(arena, request, &options, &outcome, &job->run.err);
    if (!job->run.known)
        return;
    job->fits = outcome->fits;
    (void)snprintf(job->arch, sizeof job->arch, "%s", outcome->arch ? outcome->arch : "");
    for (; job->gpu_count < outcome->device_count && job->gpu_count < GPUS_KEPT; job->gpu_count++)
        memcpy(job->by_gpu[job->gpu_count], outcome->devices[job->gpu_count].metrics,
               sizeof job->by_gpu[0]);
    memcpy(job->metrics, outcome->metrics, sizeof job->metrics);
    memcpy(job->low, outcome->interval_low, sizeof job->low);
    memcpy(job->high, outcome->interval_high, sizeof job->high);
}

/* Servers know how many sequences they hold as soon as they have started. */
static void run_start(const struct vs_predictor *predictor, struct vs_arena *arena,
                      const struct vs_request *request, struct answer *answer) {
    const struct vs_run_options options = {.capacity_only = true};
    const struct vs_outcome *outcome;
    answer->known = predictor->run(arena, request, &options, &outcome, &answer->err);
    if (answer->known)
        answer->value = outcome->metrics[VS_METRIC_MAX_BATCH];
}

static void run_limit(const struct vs_predictor *predictor, struct vs_arena *arena,
                      const struct vs_request *request, enum limit_kind kind,
                      struct answer *answer) {
    const enum vs_axis axis = limit_axis(kind, request->user.at[VS_AXIS_TASK].text);
    const struct vs_limit *limit;
    const char *task = request->user.at[VS_AXIS_TASK].text;
    if (kind == LIMIT_BATCH && task && vs_streq(task, "serve")) {
        run_start(predictor, arena, request, answer);
        return;
    }
    answer->known = predictor->limit(arena, request, axis, &limit, &answer->err);
    if (answer->known)
        answer->value = (double)limit->value;
}

static void job_run(void *ctx, size_t index, unsigned worker) {
    struct work *work = ctx;
    struct job *job = &work->jobs[index];
    struct vs_arena *arena = &work->arenas[worker];
    struct vs_request request = {.set_count = 0};
    struct vs_err err;
    vs_arena_reset(arena);
    const bool parsed = request_parse(arena, work->options, job, &request, &err);
    if (job->run.asked && parsed)
        run_point(work->predictor, arena, &request, job);
    else if (!parsed)
        job->run.err = err;
    for (int i = 0; i < LIMIT_COUNT; i++) {
        if (job->limits[i].asked && parsed)
            run_limit(work->predictor, arena, &request, (enum limit_kind)i, &job->limits[i]);
        else if (!parsed)
            job->limits[i].err = err;
    }
    const size_t done = atomic_fetch_add(&work->done, 1) + 1;
    if (worker == 0 && work->options->progress)
        work->options->progress(work->options->progress_ctx, done, work->job_count);
}

struct key {
    const char *args;
    size_t row;
};

static int key_order(const void *a, const void *b) {
    const struct key *x = a, *y = b;
    const int order = strcmp(x->args, y->args);
    return order != 0 ? order : (x->row > y->row) - (x->row < y->row);
}

static void job_ask(struct job *job, const struct vs_case_row *row) {
    enum limit_kind kind;
    enum vs_metric metric;
    long device;
    if (limit_of(row->metric, &kind)) {
        job->limits[kind].asked = true;
        return;
    }
    job->run.asked = true;
    job->timed =
        job->timed || (metric_of(row->metric, &metric, &device) && vs_metric_is_speed(metric));
}

/* Rows with equal args become one job. */
static bool jobs_make(struct vs_arena *arena, struct work *work, size_t count, struct vs_err *err) {
    bool done = false;
    struct key *keys = calloc(count + 1, sizeof *keys);
    work->order = VS_NEW_ARRAY(arena, size_t, count + 1);
    if (!keys || !work->order)
        goto out;
    for (size_t i = 0; i < count; i++)
        keys[i] = (struct key){work->rows[i].args, i};
    qsort(keys, count, sizeof *keys, key_order);
    size_t distinct = 0;
    for (size_t i = 0; i < count; i++)
        distinct += i == 0 || strcmp(keys[i].args, keys[i - 1].args) != 0;
    work->jobs = calloc(distinct + 1, sizeof *work->jobs);
    if (!work->jobs)
        goto out;
    for (size_t i = 0; i < count; i++) {
        work->order[i] = keys[i].row;
        if (i == 0 || strcmp(keys[i].args, keys[i - 1].args) != 0)
            work->jobs[work->job_count++] = (struct job){
                .args = keys[i].args, .file = work->rows[keys[i].row].file, .first = i};
        struct job *job = &work->jobs[work->job_count - 1];
        job->count++;
        job_ask(job, &work->rows[keys[i].row]);
    }
    done = true;
out:
    free(keys);
    return done || vs_err_nomem(err);
}

static void row_compare(struct vs_case_row *row, double predicted, bool is_fits) {
    row->predicted = predicted;
    if (is_fits) {
        row->signed_error = predicted - row->measured;
        row->error = predicted == row->measured ? 0 : 1;
    } else if (row->measured == 0) { /* no ratio: right or wholly wrong */
        row->signed_error = row->error = predicted == 0 ? 0 : 1;
    } else {
        row->signed_error = predicted / row->measured - 1;
        row->error = fabs(row->signed_error);
    }
}

/* NULL, or why this row has no prediction although its run went well. */
static const char *row_judge(struct vs_arena *arena, const struct job *job,
                             struct vs_case_row *row) {
    enum vs_metric metric;
    long device;
    if (!metric_of(row->metric, &metric, &device))
        return vs_arena_printf(arena, "metric '%s' is not predicted yet", row->metric);
    if (device >= 0 && (size_t)device >= job->gpu_count)
        return vs_arena_printf(arena, "the run has no gpu%ld", device);
    if (metric == VS_METRIC_FITS) {
        row_compare(row, job->fits ? 1 : 0, true);
        return NULL;
    }
    if (vs_metric_is_speed(metric) && !job->fits) {
        row->error = 1;
        row->signed_error = -1;
        return NULL;
    }
    double value = device < 0 ? job->metrics[metric] : job->by_gpu[device][metric];
    if (!isfinite(value))
        return vs_arena_printf(arena, "the run gives no %s", row->metric);
    row_compare(row, value, false);
    row->low = job->low[metric];
    row->high = job->high[metric];
    return NULL;
}

static bool job_fill(struct vs_arena *arena, const struct work *work, const struct job *job) {
    const char *arch = job->arch[0] ? vs_arena_strdup(arena, job->arch) : NULL;
    if (job->arch[0] && !arch)
        return false;
    for (size_t i = 0; i < job->count; i++) {
        struct vs_case_row *row = &work->rows[work->order[job->first + i]];
        enum limit_kind kind;
        const bool searched = limit_of(row->metric, &kind);
        row->arch = arch;
        const struct answer *answer = searched ? &job->limits[kind] : &job->run;
        if (!answer->known) {
            row->failure = vs_arena_strdup(arena, answer->err.text);
            if (!row->failure)
                return false;
        } else if (searched) {
            row_compare(row, answer->value, false);
        } else {
            row->failure = row_judge(arena, job, row);
            if (!row->failure && isnan(row->error))
                return false; /* no memory for the reason */
        }
    }
    return true;
}

/* Simulates all jobs and fills the rows. */
static bool predict(struct vs_arena *arena, struct work *work, struct vs_err *err) {
    const unsigned threads = vs_parallel_threads(work->options->threads);
    bool done = false;
    work->arenas = calloc(threads, sizeof *work->arenas);
    if (!work->arenas)
        return vs_err_nomem(err);
    vs_parallel(work->job_count, threads, job_run, work);
    for (size_t i = 0; i < work->job_count; i++) {
        if (!job_fill(arena, work, &work->jobs[i])) {
            (void)vs_err_nomem(err);
            goto out;
        }
    }
    done = true;
out:
    for (unsigned i = 0; i < threads; i++)
        vs_arena_release(&work->arenas[i]);
    free(work->arenas);
    return done;
}

bool vs_validate_run(struct vs_arena *arena, const struct vs_validate_options *options,
                     const struct vs_validation **validation, struct vs_err *err) {
    struct vs_cases cases = {.rows = {.count = 0}};
    static const struct vs_predictor simulator = {vs_run, vs_limit_run};
    struct work work = {.options = options,
                        .predictor = options->predictor ? options->predictor : &simulator};
    bool done = false;
    struct vs_validation *result = VS_NEW(arena, struct vs_validation);
    if (!result)
        return vs_err_nomem(err);
    atomic_init(&work.done, 0);
    if (!vs_cases_read(arena, options, &cases, err))
        goto out;
    const size_t count = cases.rows.count;
    const char **skipped = VS_NEW_ARRAY(arena, const char *, cases.skipped.count + 1);
    work.rows = VS_NEW_ARRAY(arena, struct vs_case_row, count + 1);
    if (!skipped || !work.rows) {
        (void)vs_err_nomem(err);
        goto out;
    }
    if (count > 0)
        memcpy(work.rows, cases.rows.at, count * sizeof *work.rows);
    for (size_t i = 0; i < cases.skipped.count; i++)
        skipped[i] = cases.skipped.at[i];
    if (!jobs_make(arena, &work, count, err) || !predict(arena, &work, err))
        goto out;
    *result = (struct vs_validation){.rows = work.rows,
                                     .row_count = count,
                                     .skipped_files = skipped,
                                     .skipped_count = cases.skipped.count,
                                     .distinct_args = work.job_count};
    *validation = result;
    done = true;
out:
    free(work.jobs);
    vs_cases_release(&cases);
    return done;
}
