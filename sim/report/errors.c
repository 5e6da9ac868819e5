#include "report/errors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "base/text.h"

size_t vs_errors_metric_length(const char *metric) { return strcspn(metric, "@"); }

static bool metric_is(const char *full, const char *plain) {
    const size_t length = vs_errors_metric_length(full);
    return strlen(plain) == length && strncmp(full, plain, length) == 0;
}

static bool picked(const struct vs_case_row *row, const struct vs_pick *pick) {
    return row->low_trust == pick->low_trust &&
           (!pick->metric || metric_is(row->metric, pick->metric)) &&
           (!pick->engine || vs_streq(row->engine, pick->engine));
}

struct sample {
    const char *group;
    double error;
};

static int by_group(const void *a, const void *b) {
    const struct sample *x = a, *y = b;
    const int order = strcmp(x->group, y->group);
    return order != 0 ? order : (x->error > y->error) - (x->error < y->error);
}

/* The median over groups of each group's median; `medians` has room for one a sample. */
static double group_median(struct sample *samples, size_t count, double *medians, size_t *groups) {
    size_t begin = 0;
    *groups = 0;
    qsort(samples, count, sizeof *samples, by_group);
    for (size_t i = 1; i <= count; i++) {
        if (i < count && strcmp(samples[i].group, samples[begin].group) == 0)
            continue;
        const size_t n = i - begin; /* sorted within the group: the middle one, or between two */
        medians[(*groups)++] =
            0.5 * (samples[begin + (n - 1) / 2].error + samples[begin + n / 2].error);
        begin = i;
    }
    return vs_quantile(medians, *groups, 0.5);
}

static void count_fits(const struct vs_case_row *row, struct vs_errors *errors) {
    const bool predicted = row->predicted > 0.5, measured = row->measured > 0.5;
    errors->fit_fit += predicted && measured;
    errors->fit_oom += predicted && !measured;
    errors->oom_fit += !predicted && measured;
    errors->oom_oom += !predicted && !measured;
}

bool vs_errors_find(const struct vs_validation *validation, const struct vs_pick *pick,
                    struct vs_errors *errors) {
    const size_t room = validation->row_count + 1;
    struct sample *samples = calloc(room, sizeof *samples);
    double *values = calloc(room, sizeof *values), *signs = calloc(room, sizeof *signs);
    bool done = false;
    struct vs_errors e = {.cases = 0};
    if (!samples || !values || !signs)
        goto out;
    for (size_t i = 0; i < validation->row_count; i++) {
        const struct vs_case_row *row = &validation->rows[i];
        if (!picked(row, pick))
            continue;
        e.cases++;
        if (row->failure) {
            e.failures++;
        } else if (metric_is(row->metric, "fits")) {
            count_fits(row, &e);
        } else {
            samples[e.compared] = (struct sample){row->group, row->error};
            values[e.compared] = row->error;
            signs[e.compared++] = row->signed_error;
        }
    }
    e.median = vs_quantile(values, e.compared, 0.5);
    e.p90 = vs_quantile(values, e.compared, 0.9);
    e.bias = vs_quantile(signs, e.compared, 0.5);
    e.group_median = group_median(samples, e.compared, values, &e.groups);
    *errors = e;
    done = true;
out:
    free(samples);
    free(values);
    free(signs);
    return done;
}

struct name {
    const char *text;
    int place; /* in the vocabulary */
};

static int by_place(const void *a, const void *b) {
    const struct name *x = a, *y = b;
    return x->place != y->place ? (x->place > y->place) - (x->place < y->place)
                                : strcmp(x->text, y->text);
}

/* The distinct ones of `count` names, sorted. */
static bool distinct(struct vs_arena *arena, struct name *names, size_t count,
                     struct vs_names *result) {
    const char **at = VS_NEW_ARRAY(arena, const char *, count + 1);
    if (!at)
        return false;
    size_t n = 0;
    qsort(names, count, sizeof *names, by_place);
    for (size_t i = 0; i < count; i++) {
        if (n == 0 || strcmp(at[n - 1], names[i].text) != 0)
            at[n++] = names[i].text;
    }
    *result = (struct vs_names){at, n};
    return true;
}

bool vs_errors_metrics(struct vs_arena *arena, const struct vs_validation *validation,
                       struct vs_names *names) {
    struct name *all = VS_NEW_ARRAY(arena, struct name, validation->row_count + 1);
    for (size_t i = 0; all && i < validation->row_count; i++) {
        const char *full = validation->rows[i].metric;
        enum vs_metric metric;
        const char *text = vs_arena_strndup(arena, full, vs_errors_metric_length(full));
        if (!text)
            return false;
        all[i] = (struct name){text, vs_metric_find(text, &metric) ? (int)metric : VS_METRIC_COUNT};
    }
    return all && distinct(arena, all, validation->row_count, names);
}

bool vs_errors_engines(struct vs_arena *arena, const struct vs_validation *validation,
                       struct vs_names *names) {
    struct name *all = VS_NEW_ARRAY(arena, struct name, validation->row_count + 1);
    for (size_t i = 0; all && i < validation->row_count; i++)
        all[i] = (struct name){validation->rows[i].engine, 0};
    return all && distinct(arena, all, validation->row_count, names);
}

static int by_text(const void *a, const void *b) {
    const struct vs_reason *x = a, *y = b;
    return strcmp(x->text, y->text);
}

static int by_count(const void *a, const void *b) {
    const struct vs_reason *x = a, *y = b;
    return x->count != y->count ? (x->count < y->count) - (x->count > y->count)
                                : strcmp(x->text, y->text);
}

bool vs_errors_reasons(struct vs_arena *arena, const struct vs_validation *validation,
                       const struct vs_reason **reasons, size_t *count) {
    struct vs_reason *all = VS_NEW_ARRAY(arena, struct vs_reason, validation->row_count + 1);
    size_t failures = 0, n = 0;
    if (!all)
        return false;
    for (size_t i = 0; i < validation->row_count; i++) {
        if (validation->rows[i].failure)
            all[failures++] = (struct vs_reason){validation->rows[i].failure, 1};
    }
    qsort(all, failures, sizeof *all, by_text);
    for (size_t i = 0; i < failures; i++) {
        if (n > 0 && strcmp(all[n - 1].text, all[i].text) == 0)
            all[n - 1].count++;
        else
            all[n++] = all[i];
    }
    qsort(all, n, sizeof *all, by_count);
    *reasons = all;
    *count = n;
    return true;
}

static int by_error(const void *a, const void *b) {
    const struct vs_case_row *x = *(const struct vs_case_row *const *)a;
    const struct vs_case_row *y = *(const struct vs_case_row *const *)b;
    if (x->error < y->error || x->error > y->error)
        return x->error < y->error ? 1 : -1;
    return (x > y) - (x < y); /* one array: the order of the files */
}

bool vs_errors_worst(struct vs_arena *arena, const struct vs_validation *validation,
                     const struct vs_case_row *const **rows, size_t *count) {
    const struct vs_case_row **all =
        VS_NEW_ARRAY(arena, const struct vs_case_row *, validation->row_count + 1);
    size_t n = 0;
    if (!all)
        return false;
    for (size_t i = 0; i < validation->row_count; i++) {
        if (!validation->rows[i].failure && !validation->rows[i].low_trust)
            all[n++] = &validation->rows[i];
    }
    qsort(all, n, sizeof *all, by_error);
    *rows = all;
    *count = n;
    return true;
}
