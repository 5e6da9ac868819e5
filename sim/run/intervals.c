#include "run/intervals.h"

#include <math.h>

#include "base/data.h"
#include "base/json.h"
#include "base/text.h"

static const char FILE_NAME[] = "workloads/accuracy/table.json", SCHEMA[] = "vramsim-accuracy/1";

enum { GROUPS_MIN = 5 };
static const double COUNT_MAX = 1e9, RATIO_MAX = 1e6;

struct entry {
    const char *engine;
    enum vs_metric metric;
    uint64_t groups;
    const char *const *archs;
    size_t arch_count;
    double low, high; /* factors of the prediction */
};

struct vs_intervals {
    const struct entry *entries;
    size_t count;
};

/* ---- reading ---- */

static bool read_ratios(struct vs_json_reader *r, struct entry *entry, struct vs_err *err) {
    double q10, q90, coverage = (double)NAN, widen = (double)NAN;
    if (!vs_json_get_number(r, "q10", true, 0, RATIO_MAX, &q10, err) ||
        !vs_json_get_number(r, "q90", true, q10, RATIO_MAX, &q90, err) ||
        !vs_json_get_number(r, "left_out_coverage", false, 0, 1, &coverage, err) ||
        !vs_json_get_number(r, "widen", false, 1, RATIO_MAX, &widen, err))
        return false;
    entry->low = q10 / widen;
    entry->high = q90 * widen;
    return true;
}

static bool read_entry(struct vs_arena *arena, const struct vs_json_reader *file,
                       const struct vs_json *node, size_t index, struct entry *entry,
                       struct vs_err *err) {
    struct vs_json_reader r;
    const char *metric = NULL;
    uint64_t n;
    const char *path = vs_arena_printf(arena, "$.entries[%zu]", index);
    if (!path)
        return vs_err_nomem(err);
    if (!vs_json_open(&r, file->file, path, node, err) ||
        !vs_json_get_string(&r, "engine", true, &entry->engine, err) ||
        !vs_json_get_string(&r, "metric", true, &metric, err) ||
        !vs_json_get_u64(&r, "n", true, 1, (uint64_t)COUNT_MAX, &n, err) ||
        !vs_json_get_u64(&r, "groups", true, 1, n, &entry->groups, err) ||
        !vs_json_get_strings(&r, "archs", true, arena, &entry->archs, &entry->arch_count, err) ||
        !read_ratios(&r, entry, err) || !vs_json_close(&r, err))
        return false;
    if (!vs_metric_find(metric, &entry->metric))
        return vs_json_fail(&r, vs_json_member(node, "metric"), err, "unknown metric '%s'", metric);
    return true;
}

static bool read_table(struct vs_arena *arena, const char *path, struct vs_intervals *table,
                       struct vs_err *err) {
    struct vs_json_reader r;
    const struct vs_json *root, *list = NULL;
    const char *schema = NULL, *how = NULL;
    if (!vs_json_load(arena, path, &root, err) || !vs_json_open(&r, path, "$", root, err) ||
        !vs_json_get_string(&r, "schema", true, &schema, err) ||
        !vs_json_get_string(&r, "how", false, &how, err) ||
        !vs_json_get_array(&r, "entries", true, &list, err) || !vs_json_close(&r, err))
        return false;
    if (!vs_streq(schema, SCHEMA))
        return vs_json_fail(&r, vs_json_member(root, "schema"), err, "found '%s', expected '%s'",
                            schema, SCHEMA);
    struct entry *entries = VS_NEW_ARRAY(arena, struct entry, list->count + 1);
    if (!entries)
        return vs_err_nomem(err);
    for (const struct vs_json *node = list->child; node; node = node->next) {
        if (!read_entry(arena, &r, node, table->count, &entries[table->count], err))
            return false;
        table->count++;
    }
    table->entries = entries;
    return true;
}

bool vs_intervals_load(struct vs_arena *arena, const struct vs_intervals **table,
                       struct vs_err *err) {
    const char *path = vs_data_path(arena, FILE_NAME);
    struct vs_intervals *read = VS_NEW(arena, struct vs_intervals);
    if (!read)
        return vs_err_nomem(err);
    if (path && !read_table(arena, path, read, err))
        return false;
    *table = read;
    return true;
}

/* ---- use ---- */

static const struct entry *find(const struct vs_intervals *table, const char *engine,
                                enum vs_metric metric) {
    for (size_t i = 0; i < table->count; i++)
        if (table->entries[i].metric == metric && vs_streq(table->entries[i].engine, engine))
            return &table->entries[i];
    return NULL;
}

static bool usable(const struct entry *entry) {
    return entry && entry->groups >= GROUPS_MIN && isfinite(entry->low) && isfinite(entry->high);
}

/* Figures of one run that hold each other's errors: equal ones, or inverse ones. */
struct twin {
    enum vs_metric metric, of;
    bool inverse;
};
static const struct twin TWINS[] = {
    {VS_METRIC_TPOT_S, VS_METRIC_DECODE_TPS, true},
    {VS_METRIC_TTFT_S, VS_METRIC_PREFILL_TPS, true},
    {VS_METRIC_STEP_TIME_S, VS_METRIC_TRAIN_TPS, true},
    {VS_METRIC_MFU, VS_METRIC_TRAIN_TPS, false},
};

static void set(struct vs_outcome *out, enum vs_metric metric, double low, double high) {
    out->interval_low[metric] = out->metrics[metric] * low;
    out->interval_high[metric] = out->metrics[metric] * high;
}

/* Not while serving: there a token waits for the prompts of others. */
static void add_twins(const struct vs_intervals *table, struct vs_outcome *out) {
    for (size_t i = 0; i < sizeof TWINS / sizeof *TWINS; i++) {
        const struct twin *t = &TWINS[i];
        const struct entry *of = find(table, out->engine, t->of);
        if (vs_streq(out->task, "serve") || !usable(of) || !isfinite(out->metrics[t->of]) ||
            isfinite(out->interval_low[t->metric]))
            continue;
        if (!t->inverse)
            set(out, t->metric, of->low, of->high);
        else if (of->low > 0)
            set(out, t->metric, 1 / of->high, 1 / of->low);
    }
}

static bool covers(const struct entry *entry, const char *arch) {
    for (size_t i = 0; entry && i < entry->arch_count; i++)
        if (vs_streq(entry->archs[i], arch))
            return true;
    return false;
}

static bool is_extrapolating(const struct vs_intervals *table, const struct vs_outcome *out) {
    static const enum vs_metric JUDGED[] = {VS_METRIC_DECODE_TPS, VS_METRIC_PREFILL_TPS,
                                            VS_METRIC_TRAIN_TPS};
    for (size_t i = 0; i < sizeof JUDGED / sizeof *JUDGED && !out->bound; i++)
        if (isfinite(out->metrics[JUDGED[i]]) &&
            !covers(find(table, out->engine, JUDGED[i]), out->arch))
            return true;
    return false;
}

bool vs_intervals_add(struct vs_arena *arena, const struct vs_intervals *table,
                      const struct vs_outcome **outcome, struct vs_err *err) {
    static const enum vs_metric SPEEDS[] = {
        VS_METRIC_DECODE_TPS, VS_METRIC_PREFILL_TPS, VS_METRIC_E2E_TPS,
        VS_METRIC_OUT_TPS,    VS_METRIC_TTFT_S,      VS_METRIC_TPOT_S,
        VS_METRIC_TRAIN_TPS,  VS_METRIC_STEP_TIME_S, VS_METRIC_MFU};
    struct vs_outcome *out = VS_NEW(arena, struct vs_outcome);
    if (!out)
        return vs_err_nomem(err);
    *out = **outcome;
    for (size_t i = 0; i < sizeof SPEEDS / sizeof *SPEEDS; i++) {
        const struct entry *entry = find(table, out->engine, SPEEDS[i]);
        if (usable(entry) && isfinite(out->metrics[SPEEDS[i]]))
            set(out, SPEEDS[i], entry->low, entry->high);
    }
    add_twins(table, out);
    out->extrapolating = is_extrapolating(table, out);
    *outcome = out;
    return true;
}
