/* The error table behind 80 % intervals: quantiles of measured/predicted per engine and metric.
 * run/intervals.h states its schema and reads it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "report/common.h"
#include "report/errors.h"
#include "report/report.h"

/* One (engine, metric): the ratios of its rows, the group each belongs to, and the generations of
 * devices. */
struct sample {
    size_t count, groups, arch_count;
    double *ratios;
    const char **names, **archs;
    double *scratch, *stretches; /* as many */
};

static bool sample_room(struct vs_arena *arena, struct sample *sample, size_t room) {
    sample->ratios = VS_NEW_ARRAY(arena, double, room + 1);
    sample->scratch = VS_NEW_ARRAY(arena, double, room + 1);
    sample->stretches = VS_NEW_ARRAY(arena, double, room + 1);
    sample->names = VS_NEW_ARRAY(arena, const char *, room + 1);
    sample->archs = VS_NEW_ARRAY(arena, const char *, room + 1);
    return sample->ratios && sample->scratch && sample->stretches && sample->names && sample->archs;
}

static bool among(const char *const *names, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++) {
        if (vs_streq(names[i], name))
            return true;
    }
    return false;
}

static void sample_add(struct sample *sample, const struct vs_case_row *row) {
    sample->groups += !among(sample->names, sample->count, row->group);
    sample->ratios[sample->count] = row->measured / row->predicted;
    sample->names[sample->count++] = row->group;
    if (row->arch && !among(sample->archs, sample->arch_count, row->arch))
        sample->archs[sample->arch_count++] = row->arch;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void sample_fill(struct sample *sample, const struct vs_validation *v, const char *engine,
                        const char *metric) {
    const size_t length = strlen(metric);
    sample->count = sample->groups = sample->arch_count = 0;
    for (size_t i = 0; i < v->row_count; i++) {
        const struct vs_case_row *row = &v->rows[i];
        if (row->low_trust || row->failure || !vs_streq(row->engine, engine) ||
            vs_errors_metric_length(row->metric) != length ||
            strncmp(row->metric, metric, length) != 0)
            continue;
        if (!isfinite(row->predicted) || row->predicted <= 0 || row->measured <= 0)
            continue;
        sample_add(sample, row);
    }
    qsort(sample->archs, sample->arch_count, sizeof *sample->archs, by_name);
}

/* The quantile over the rows of all groups but `left_out` (NULL = over all). */
static double quantile(const struct sample *sample, const char *left_out, double q) {
    size_t n = 0;
    for (size_t i = 0; i < sample->count; i++) {
        if (!left_out || !vs_streq(sample->names[i], left_out))
            sample->scratch[n++] = sample->ratios[i];
    }
    return vs_quantile(sample->scratch, n, q);
}

/* How well the interval can be trusted on a machine and model that no case covers: each group is
 * judged by the quantiles of the others. NaN with one group. */
struct left_out {
    double coverage; /* share of rows inside */
    double widen;    /* factor by which both ends must move for 80 % of the rows to be inside */
};

static struct left_out leave_out(struct sample *sample) {
    size_t inside = 0;
    if (sample->groups < 2)
        return (struct left_out){(double)NAN, (double)NAN};
    const char *group = NULL;
    double low = 0, high = 0;
    for (size_t i = 0; i < sample->count; i++) {
        const double ratio = sample->ratios[i];
        if (!group ||
            !vs_streq(group, sample->names[i])) { /* rows of a group mostly stand together */
            group = sample->names[i];
            low = quantile(sample, group, 0.1);
            high = quantile(sample, group, 0.9);
        }
        inside += ratio >= low && ratio <= high;
        sample->stretches[i] = fmax(1, fmax(low / ratio, ratio / high));
    }
    return (struct left_out){(double)inside / (double)sample->count,
                             vs_quantile(sample->stretches, sample->count, 0.8)};
}

static void put_entry(struct vs_json_writer *w, struct sample *sample, const char *engine,
                      const char *metric) {
    const struct left_out left_out = leave_out(sample);
    vs_json_object(w);
    vs_json_member_string(w, "engine", engine);
    vs_json_member_string(w, "metric", metric);
    vs_json_member_u64(w, "n", sample->count);
    vs_json_member_u64(w, "groups", sample->groups);
    vs_json_key(w, "archs");
    vs_json_array(w);
    for (size_t i = 0; i < sample->arch_count; i++)
        vs_json_string(w, sample->archs[i]);
    vs_json_end(w, ']');
    vs_json_member_number(w, "q10", quantile(sample, NULL, 0.1));
    vs_json_member_number(w, "q90", quantile(sample, NULL, 0.9));
    vs_json_member_number(w, "left_out_coverage", left_out.coverage);
    vs_json_member_number(w, "widen", left_out.widen);
    vs_json_end(w, '}');
}

void vs_report_accuracy(struct vs_text *out, const struct vs_validation *validation) {
    struct vs_names metrics, engines;
    struct sample sample = {.count = 0};
    struct vs_json_writer w;
    struct vs_arena arena;
    vs_arena_init(&arena);
    if (!vs_errors_metrics(&arena, validation, &metrics) ||
        !vs_errors_engines(&arena, validation, &engines) ||
        !sample_room(&arena, &sample, validation->row_count)) {
        out->failed = true;
        vs_arena_release(&arena);
        return;
    }
    vs_json_begin(&w, out);
    vs_json_object(&w);
    vs_json_member_string(&w, "schema", "vramsim-accuracy/1");
    vs_json_key(&w, "how");
    vs_json_string(
        &w,
        "q10 and q90 of measured/predicted over the rows that are not of low trust; "
        "left_out_coverage: the share of rows that lie between the q10 and q90 of all other groups "
        "(machine|model); widen: the factor by which those must be stretched, down and up, to hold "
        "80 % of the rows");
    vs_json_key(&w, "entries");
    vs_json_array(&w);
    for (size_t e = 0; e < engines.count; e++) {
        for (size_t m = 0; m < metrics.count; m++) {
            sample_fill(&sample, validation, engines.at[e], metrics.at[m]);
            if (sample.count > 0 && !vs_streq(metrics.at[m], "fits"))
                put_entry(&w, &sample, engines.at[e], metrics.at[m]);
        }
    }
    vs_json_end(&w, ']');
    vs_json_end(&w, '}');
    vs_text_add(out, "\n");
    vs_arena_release(&arena);
}
