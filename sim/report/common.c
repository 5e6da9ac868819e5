#include "report/common.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/report.h"
#include "report/table.h"
#include "run/replay_memory.h"
#include "run/replay_steps.h"

const char *vs_report_word(const struct vs_outcome *outcome, const char *axis) {
    for (size_t i = 0; i < outcome->strategy_count; i++) {
        if (vs_streq(outcome->strategy[i].axis, axis))
            return outcome->strategy[i].word;
    }
    return NULL;
}

/* The word of an axis where all points have the same, else NULL. */
static const char *shared_word(const struct vs_outcome *const *points, size_t count,
                               const char *axis) {
    const char *word = count > 0 ? vs_report_word(points[0], axis) : NULL;
    for (size_t i = 1; i < count && word; i++) {
        const char *other = vs_report_word(points[i], axis);
        if (!other || !vs_streq(word, other))
            word = NULL;
    }
    return word;
}

static void put_task(struct vs_text *out, const struct vs_outcome *const *points, size_t count) {
    const char *task = points[0]->task ? points[0]->task : "";
    const char *method = shared_word(points, count, "method");
    if (vs_streq(task, "train")) {
        vs_text_add(out, !method                     ? "training"
                         : vs_streq(method, "qlora") ? "QLoRA training"
                         : vs_streq(method, "lora")  ? "LoRA training"
                                                     : "full fine-tuning");
    } else if (vs_streq(task, "generate")) {
        vs_text_add(out, "generation");
    } else if (vs_streq(task, "serve")) {
        vs_text_add(out, "serving");
    } else {
        vs_put(out, task);
    }
}

static const char *machine_of(const struct vs_outcome *point) {
    return point->machine ? point->machine : point->hw;
}

static const char *model_of(const struct vs_outcome *point) { return point->model; }

/* Each once, in order; a long list is cut. */
static void put_distinct(struct vs_text *out, const struct vs_outcome *const *points, size_t count,
                         const char *(*of)(const struct vs_outcome *), const char *between) {
    enum { SHOWN = 4 };
    size_t seen = 0;
    for (size_t i = 0; i < count; i++) {
        bool known = false;
        for (size_t k = 0; k < i && !known; k++)
            known = vs_streq(of(points[i]), of(points[k]));
        if (known)
            continue;
        if (seen < SHOWN) {
            vs_text_add(out, seen > 0 ? between : "");
            vs_put(out, of(points[i]));
        }
        seen++;
    }
    if (seen > SHOWN)
        vs_text_printf(out, "%sand %zu more", between, seen - SHOWN);
}

void vs_report_ask(struct vs_text *out, const char *workload,
                   const struct vs_outcome *const *points, size_t count) {
    static const char *const shape[] = {"trace",       "prompt", "gen",   "requests", "rate",
                                        "concurrency", "ctx",    "batch", "depth",    "seq",
                                        "micro-batch", "accum",  "gpus"};
    if (points[0]->allocator) {
        vs_text_add(out, points[0]->allocator->form);
        vs_text_add(out, machine_of(points[0]) ? ", on " : ", no ceiling");
        if (machine_of(points[0]))
            vs_put(out, machine_of(points[0]));
        return;
    }
    const bool serve = vs_streq(points[0]->task, "serve");
    const bool start_only = serve && !vs_report_word(points[0], "requests") &&
                            !vs_report_word(points[0], "concurrency") &&
                            !vs_report_word(points[0], "rate") &&
                            !vs_report_word(points[0], "trace");
    if (workload && workload[0] != '\0') {
        vs_put(out, workload);
        vs_text_add(out, ": ");
    }
    put_distinct(out, points, count, model_of, " and ");
    vs_text_add(out, ", ");
    put_task(out, points, count);
    for (size_t i = 0; i < sizeof shape / sizeof shape[0]; i++) {
        const char *word = shared_word(points, count, shape[i]);
        const bool request = vs_streq(shape[i], "prompt") || vs_streq(shape[i], "gen");
        if ((start_only && request) || (serve && vs_streq(shape[i], "batch")))
            continue; /* a server that is only started is asked for nothing */
        if (points[0]->steps && !points[0]->steps->limit && vs_streq(shape[i], "seq"))
            continue; /* the trace says how long samples are */
        const bool usual = word && ((vs_streq(shape[i], "depth") && vs_streq(word, "0")) ||
                                    (vs_streq(shape[i], "gpus") && vs_streq(word, "1")));
        if (!word || word[0] == '\0' || usual)
            continue;
        const char *slash = vs_streq(shape[i], "trace") ? strrchr(word, '/') : NULL;
        vs_text_printf(out, ", %s ", shape[i]);
        vs_put(out, slash ? slash + 1 : word);
    }
    vs_text_add(out, ", on ");
    put_distinct(out, points, count, machine_of, "; ");
}

bool vs_report_is_speed(enum vs_metric metric, const char *task) {
    const bool train = task && vs_streq(task, "train");
    return vs_metric_is_speed(metric) && train == (metric >= VS_METRIC_TRAIN_TPS);
}

const char *vs_report_unit(enum vs_metric metric) {
    const char *unit = vs_metric_info(metric)->unit;
    return vs_streq(unit, "s") || vs_streq(unit, "0..1") || vs_streq(unit, "0/1") ? "" : unit;
}

char *vs_report_figure(char out[VS_UNIT_TEXT], enum vs_metric metric, double value) {
    const char *unit = vs_metric_info(metric)->unit;
    if (vs_streq(unit, "s"))
        return vs_print_seconds(out, value);
    if (vs_streq(unit, "tok/s") || vs_streq(unit, "req/s") || vs_streq(unit, "requests"))
        return vs_print_speed(out, value);
    if (vs_streq(unit, "GiB"))
        return vs_report_gib_value(out, value);
    if (!vs_streq(unit, "0..1"))
        return vs_print_g9(out, value);
    (void)snprintf(out, VS_UNIT_TEXT, "%.1f %%", value * 100);
    return out;
}

char *vs_report_gib_value(char out[VS_UNIT_TEXT], double gib) {
    if (isfinite(gib))
        (void)snprintf(out, VS_UNIT_TEXT, "%.2f", gib);
    else
        (void)snprintf(out, VS_UNIT_TEXT, "-");
    return out;
}

char *vs_report_gib(char out[VS_UNIT_TEXT], uint64_t bytes) {
    return vs_report_gib_value(out,
                               bytes == UINT64_MAX ? (double)NAN : (double)bytes / (double)VS_GIB);
}

uint64_t vs_report_tag_bytes(const struct vs_pool_outcome *pool, const char *tag) {
    for (size_t i = 0; i < pool->by_tag_count; i++)
        if (vs_streq(pool->by_tag[i].tag, tag))
            return pool->by_tag[i].bytes;
    return 0;
}

uint64_t vs_report_short_bytes(const struct vs_oom_outcome *oom) {
    const uint64_t in_all =
        oom->needed_bytes > oom->capacity_bytes ? oom->needed_bytes - oom->capacity_bytes : 0;
    return in_all > oom->short_bytes ? in_all : oom->short_bytes;
}

void vs_report_place(struct vs_text *out, const struct vs_oom_outcome *oom) {
    const char *const parts[] = {oom->phase, oom->operation, oom->tensor};
    bool first = true;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (!parts[i] || parts[i][0] == '\0' ||
            (i > 0 && parts[i - 1] && vs_streq(parts[i], parts[i - 1])))
            continue;
        vs_text_add(out, first ? "" : ", ");
        vs_put(out, parts[i]);
        first = false;
    }
    if (first)
        vs_text_add(out, "-");
}

/* Words that a shell takes as they are. */
static bool plain(const char *word) {
    static const char safe[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:+,=@%-";
    return word[0] != '\0' && word[strspn(word, safe)] == '\0';
}

static void put_quoted(struct vs_text *out, const char *word) {
    if (plain(word)) {
        vs_text_add(out, word);
        return;
    }
    vs_text_add(out, "'");
    for (const char *at = word; *at != '\0'; at++) {
        if (*at == '\'')
            vs_text_add(out, "'\\''");
        else
            vs_put_n(out, at, 1);
    }
    vs_text_add(out, "'");
}

void vs_report_words(struct vs_text *out, const char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++) {
        vs_text_add(out, i > 0 ? " " : "");
        put_quoted(out, words[i]);
    }
}

static void put_options(struct vs_text *out, const struct vs_axis_word *words, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!words[i].word || words[i].word[0] == '\0')
            continue;
        vs_text_printf(out, " --%s ", words[i].axis);
        put_quoted(out, words[i].word);
    }
}

void vs_report_command(struct vs_text *out, const struct vs_outcome *outcome) {
    if (outcome->command) {
        vs_put(out, outcome->command);
        return;
    }
    const struct vs_axis_word hw = {"hw", outcome->hw};
    const struct vs_axis_word names[] = {{"model", outcome->model},
                                         {"engine", outcome->engine},
                                         {"engine-version", outcome->engine_version},
                                         {"task", outcome->task}};
    vs_text_add(out, "vramsim run");
    put_options(out, &hw, 1);
    put_options(out, outcome->parts, outcome->part_count);
    put_options(out, names, sizeof names / sizeof names[0]);
    put_options(out, outcome->strategy, outcome->strategy_count);
}

const char *vs_report_label(const struct vs_outcome *point) {
    return point->label && point->label[0] != '\0' ? point->label : "plain";
}
