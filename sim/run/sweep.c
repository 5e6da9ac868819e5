/* Runs a grid, ranks it, and names the best. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "engine/engine.h"
#include "run/config.h"
#include "run/grid.h"
#include "run/intervals.h"
#include "run/point.h"

/* One point of the grid on its way to the table. */
struct item {
    struct vs_case c;
    const struct vs_outcome *outcome;
    bool skipped;       /* not runnable, or the same plan as an earlier point */
    bool keeps_quality; /* the workload's weight format, and at least 8-bit KV */
    double bits;        /* of the weight format */
};

/* OOM points of a table are multiples of so many tokens; `limit` finds them to one. */
enum { OOM_GRAIN = 64 };

struct sweep {
    struct vs_arena *arena;
    struct vs_catalog *catalog;
    struct vs_grid grid;
    struct item *items;
    struct item **order;
    size_t count, fit_count;
    struct vs_arena *worker_arenas;
    struct vs_err *worker_errs;
    unsigned workers;
    enum vs_metric rank_by;
    enum vs_axis oom_axis;
    const char *own_weights;
    const struct vs_workload *workload; /* NULL = none named */
    const struct vs_sweep_options *options;
    atomic_size_t done;
    struct vs_sweep *out;
};

static bool is_train(const struct sweep *s) { return s->items[0].c.task == VS_TASK_TRAIN; }

/* ---- points ---- */

/* Combinations that say the same, or contradict each other, are no points of a default grid. */
static bool makes_sense(const struct vs_values *v) {
    bool train = vs_is(v, VS_AXIS_TASK, "train");
    bool moved = !vs_is(v, VS_AXIS_OFFLOAD, "none");
    if (train)
        return !(moved && vs_is(v, VS_AXIS_OFFLOAD_PARAM, "cpu"));
    /* Managed memory is for all layers on the device, other places are for the rest of them. */
    moved = moved && !vs_is(v, VS_AXIS_OFFLOAD, "uvm");
    return vs_is(v, VS_AXIS_GPU_LAYERS, "all") != moved;
}

static bool resolve_point(struct sweep *s, const struct vs_request *request, struct item *item,
                          struct vs_err *err) {
    if (!vs_request_resolve(s->catalog, request, &item->c, err))
        return false;
    item->skipped = !makes_sense(&item->c.axes);
    return true;
}

/* In a grid of one point every error is the user's; in a larger one a point that cannot be is left
 * out, and the first reason is kept in case nothing remains. */
static bool resolve_all(struct sweep *s, const struct vs_request *requests, struct vs_err *err) {
    struct vs_err first = {0};
    size_t kept = 0;
    for (size_t i = 0; i < s->count; i++) {
        struct vs_err why = {0};
        if (resolve_point(s, &requests[i], &s->items[kept], &why))
            kept++;
        else if (why.status != VS_ERR_INPUT || s->count == 1)
            return *err = why, false;
        else if (first.status == VS_OK)
            first = why;
    }
    s->count = kept;
    return kept > 0 ? true : (*err = first, false);
}

/* ---- running ---- */

/* Told by the first worker alone, so that it comes from one thread. */
static void tell(struct sweep *s, unsigned worker) {
    size_t done = atomic_fetch_add(&s->done, 1) + 1;
    if (worker == 0 && s->options->progress)
        s->options->progress(s->options->progress_ctx, done, s->count);
}

static void run_one(void *ctx, size_t i, unsigned worker) {
    struct sweep *s = ctx;
    struct item *item = &s->items[i];
    const struct vs_run_options options = {.profile = s->options->profile};
    struct vs_err *err = &s->worker_errs[i];
    struct vs_arena *arena = &s->worker_arenas[worker];
    if (!item->skipped && !vs_point_run(arena, &item->c, &options, &item->outcome, err))
        item->outcome = NULL;
    tell(s, worker);
}

static void find_oom_point(void *ctx, size_t i, unsigned worker) {
    struct sweep *s = ctx;
    struct item *item = s->order[i];
    struct vs_arena scratch = {0};
    struct vs_search found = {.from = vs_count(&item->c.axes, s->oom_axis), .grain = OOM_GRAIN};
    struct vs_outcome *out = (struct vs_outcome *)(uintptr_t)item->outcome;
    (void)worker;
    if (vs_point_search(&scratch, &item->c, s->oom_axis, &found, &s->worker_errs[i])) {
        out->oom_point = found.value > 0 ? found.value : -1;
        out->oom_point_open = found.open;
    }
    vs_arena_release(&scratch);
}

/* "The most layers that fit" is no point of its own where all of them fit, experts included. */
static bool fit_layers(struct sweep *s, struct item *item, struct vs_err *why, struct vs_err *err) {
    bool automatic = vs_is(&item->c.axes, VS_AXIS_GPU_LAYERS, "auto");
    if (item->skipped || !automatic)
        return true;
    if (!vs_point_fit_layers(s->catalog, &item->c, why)) {
        item->skipped = true;
        return why->status == VS_ERR_INPUT ? true : (*err = *why, false);
    }
    item->skipped = s->count > 1 && !vs_given(&item->c.axes, VS_AXIS_EXPERTS_CPU) &&
                    vs_count(&item->c.axes, VS_AXIS_GPU_LAYERS) > item->c.model->layers;
    return true;
}

/* Managed memory is for what does not fit otherwise: no point of its own where all of it fits. */
static bool drop_idle_managed(struct sweep *s, struct item *item, struct vs_err *why,
                              struct vs_err *err) {
    struct vs_arena scratch = {0};
    struct vs_case plain = item->c;
    struct vs_fit fit = {.fits = false};
    if (item->skipped || s->count < 2 || !vs_is(&item->c.axes, VS_AXIS_OFFLOAD, "uvm"))
        return true;
    bool ok = vs_catalog_word(s->catalog, &plain.axes, VS_AXIS_OFFLOAD, "none", why) &&
              vs_point_fits(&scratch, &plain, 0, &fit, why);
    vs_arena_release(&scratch);
    item->skipped = ok && fit.fits;
    return ok || why->status == VS_ERR_INPUT || (*err = *why, false);
}

/* Arenas of workers are joined into the caller's lifetime by handing their blocks over. */
static bool run_all(struct sweep *s, const struct vs_sweep_options *options, struct vs_err *err) {
    s->workers = vs_parallel_threads(options->threads);
    s->worker_arenas = VS_NEW_ARRAY(s->arena, struct vs_arena, s->workers);
    s->worker_errs = VS_NEW_ARRAY(s->arena, struct vs_err, s->count);
    if (!s->worker_arenas || !s->worker_errs)
        return vs_err_nomem(err);
    for (size_t i = 0; i < s->count; i++)
        if (!fit_layers(s, &s->items[i], &s->worker_errs[i], err) ||
            !drop_idle_managed(s, &s->items[i], &s->worker_errs[i], err))
            return false;
    vs_parallel(s->count, s->workers, run_one, s);
    for (unsigned w = 0; w < s->workers; w++)
        vs_arena_adopt(s->arena, &s->worker_arenas[w]);
    size_t ran = 0;
    for (size_t i = 0; i < s->count; i++) {
        if (s->items[i].outcome)
            ran++;
        else if (s->worker_errs[i].status > VS_ERR_INPUT)
            return *err = s->worker_errs[i], false;
    }
    for (size_t i = 0; i < s->count && ran == 0; i++)
        if (s->worker_errs[i].status != VS_OK)
            return *err = s->worker_errs[i], false;
    return true;
}

/* ---- ranking ---- */

static int by_label(const struct item *a, const struct item *b) {
    return strcmp(a->outcome->label, b->outcome->label);
}

static double missing(const struct vs_outcome *o) {
    double needed = (double)o->oom->needed_bytes, capacity = (double)o->oom->capacity_bytes;
    return needed - capacity;
}

/* A bound ranks behind everything that an engine can run; speeds within 0.1 % count as equal. */
static int compare(const struct vs_outcome *a, const struct vs_outcome *b, enum vs_metric by) {
    if (a->fits != b->fits)
        return a->fits ? -1 : 1;
    if (a->bound != b->bound)
        return a->bound ? 1 : -1;
    if (!a->fits)
        return missing(a) < missing(b) ? -1 : missing(a) > missing(b);
    double x = a->metrics[by], y = b->metrics[by];
    double larger = x > y ? x : y, off = x > y ? x - y : y - x;
    if (off > 0.001 * larger)
        return x > y ? -1 : 1;
    double v = a->metrics[VS_METRIC_PEAK_VRAM_GIB], w = b->metrics[VS_METRIC_PEAK_VRAM_GIB];
    return v < w ? -1 : v > w;
}

/* Points that lead to one plan are shown once, as the one with the fewest words. */
static void merge(struct sweep *s) {
    for (size_t i = 0; i < s->count; i++) {
        struct item *a = &s->items[i];
        for (size_t k = 0; a->outcome && k < i; k++) {
            struct item *b = &s->items[k];
            if (!b->outcome || a->outcome->plan_digest != b->outcome->plan_digest)
                continue;
            if (strlen(a->outcome->label) < strlen(b->outcome->label))
                *b = *a;
            a->outcome = NULL;
            s->out->merged++;
        }
    }
}

/* Equality within 0.1 % is not transitive: insertion keeps the order well defined for every input.
 */
static void rank(struct sweep *s) {
    size_t n = 0;
    for (size_t i = 0; i < s->count; i++) {
        struct item *item = &s->items[i];
        if (!item->outcome)
            continue;
        size_t at = n++;
        for (; at > 0; at--) {
            struct item *other = s->order[at - 1];
            int c = compare(item->outcome, other->outcome, s->rank_by);
            if (c == 0)
                c = by_label(item, other);
            if (c >= 0)
                break;
            s->order[at] = other;
        }
        s->order[at] = item;
        s->fit_count += item->outcome->fits;
    }
    s->out->point_count = n;
    s->out->fit_count = s->fit_count;
}

/* ---- words ---- */

static const char *label_of_axis(struct sweep *s, const struct item *item, enum vs_axis axis) {
    const struct vs_value *value = &item->c.axes.at[axis];
    struct vs_format format;
    struct vs_err ignored;
    if (!value->text)
        return "";
    if (vs_streq(vs_axis_info(axis)->label, "@format"))
        return vs_format_parse(value->text, &format, &ignored)
                   ? vs_arena_strdup(s->arena, format.label)
                   : value->text;
    return vs_axis_label(s->arena, axis, value);
}

static bool label_point(struct sweep *s, struct item *item, struct vs_err *err) {
    struct vs_text text = {0};
    for (int i = 0; i < VS_AXIS_COUNT; i++) {
        enum vs_axis axis = (enum vs_axis)i;
        if (!vs_grid_varies(&s->grid, axis) && item->c.axes.origin[axis] != VS_FROM_SWEEP)
            continue;
        const char *words = label_of_axis(s, item, axis);
        if (words && words[0])
            vs_text_printf(&text, "%s%s", text.length > 0 ? ", " : "", words);
    }
    struct vs_outcome *out = (struct vs_outcome *)(uintptr_t)item->outcome;
    out->label = text.failed ? NULL : vs_arena_strdup(s->arena, vs_text_str(&text));
    vs_text_release(&text);
    return out->label ? true : vs_err_nomem(err);
}

/* What an axis is when nobody says anything but the workload and the engine. */
static const char *unsaid(const struct sweep *s, const struct item *item, enum vs_axis axis) {
    const char *task = item->c.axes.at[VS_AXIS_TASK].text, *name = vs_axis_info(axis)->name;
    if (s->workload && s->workload->values.at[axis].text)
        return s->workload->values.at[axis].text;
    const char *word = vs_engine_default(item->c.engine, task, name);
    return word ? word : vs_axis_info(axis)->fallback;
}

/* The command that runs this point alone: what the user said, what the grid chose, and the engine.
 */
static bool command_of(struct sweep *s, struct item *item, struct vs_err *err) {
    struct vs_text text = {0};
    vs_text_add(&text, "vramsim run");
    for (int i = 0; i < VS_AXIS_COUNT; i++) {
        enum vs_axis axis = (enum vs_axis)i;
        const struct vs_value *v = &item->c.axes.at[axis];
        bool says = item->c.axes.origin[axis] == VS_FROM_USER ||
                    item->c.axes.origin[axis] == VS_FROM_SWEEP || axis == VS_AXIS_ENGINE;
        if (!says || !v->text || vs_streq(v->text, unsaid(s, item, axis)))
            continue;
        vs_text_printf(&text, " --%s %s", vs_axis_info(axis)->name, v->text);
    }
    for (size_t i = 0; i < s->grid.set_count; i++)
        vs_text_printf(&text, " --set %s=%s", s->grid.set_paths[i], s->grid.set_values[i]);
    struct vs_outcome *out = (struct vs_outcome *)(uintptr_t)item->outcome;
    out->command = text.failed ? NULL : vs_arena_strdup(s->arena, vs_text_str(&text));
    vs_text_release(&text);
    return out->command ? true : vs_err_nomem(err);
}

static void judge_quality(struct sweep *s, struct item *item) {
    struct vs_format format;
    struct vs_err ignored;
    const struct vs_values *v = &item->c.axes;
    item->bits = 16;
    if (vs_format_parse(v->at[VS_AXIS_WEIGHTS].text, &format, &ignored))
        item->bits = format.bpw > 0 ? format.bpw : format.base->bits;
    bool weights = !s->own_weights || vs_streq(v->at[VS_AXIS_WEIGHTS].text, s->own_weights);
    const struct vs_type *kv = v->at[VS_AXIS_KV].text ? vs_type_find(v->at[VS_AXIS_KV].text) : NULL;
    item->keeps_quality = weights && (!kv || vs_kv_bytes(kv) >= 1);
}

/* ---- the whole ---- */

static bool describe(struct sweep *s, struct vs_err *err) {
    for (size_t i = 0; i < s->count; i++) {
        struct item *item = &s->items[i];
        if (!item->outcome)
            continue;
        judge_quality(s, item);
        if (!label_point(s, item, err) || !command_of(s, item, err))
            return false;
    }
    return true;
}

static void name_best(struct sweep *s) {
    const struct item *best = NULL;
    s->out->best = s->out->fastest_fewer_bits = -1;
    for (size_t i = 0; i < s->fit_count; i++) {
        const struct item *item = s->order[i];
        if (item->outcome->bound)
            continue;
        if (!best && item->keeps_quality) {
            best = item;
            s->out->best = (long)i;
        }
    }
    for (size_t i = 0; best && i < (size_t)s->out->best && s->out->fastest_fewer_bits < 0; i++)
        if (!s->order[i]->outcome->bound && s->order[i]->bits < best->bits)
            s->out->fastest_fewer_bits = (long)i;
}

static bool finish(struct sweep *s, const struct vs_sweep_options *options, struct vs_err *err) {
    const struct vs_outcome **points =
        VS_NEW_ARRAY(s->arena, const struct vs_outcome *, s->count + 1);
    s->order = VS_NEW_ARRAY(s->arena, struct item *, s->count + 1);
    if (!points || !s->order)
        return vs_err_nomem(err);
    if (!describe(s, err))
        return false;
    merge(s);
    rank(s);
    size_t searched = options->oom_points < s->fit_count ? options->oom_points : s->fit_count;
    memset(s->worker_errs, 0, s->count * sizeof *s->worker_errs);
    vs_parallel(searched, s->workers, find_oom_point, s);
    for (size_t i = 0; i < searched; i++)
        if (s->worker_errs[i].status != VS_OK)
            return *err = s->worker_errs[i], false;
    const struct vs_intervals *table;
    if (!vs_intervals_load(s->arena, &table, err))
        return false;
    for (size_t i = 0; i < s->out->point_count; i++) {
        points[i] = s->order[i]->outcome;
        if (!vs_intervals_add(s->arena, table, &points[i], err))
            return false;
    }
    s->out->points = points;
    name_best(s);
    return true;
}

static void name_sweep(struct sweep *s, const struct vs_sweep_options *options) {
    const struct vs_case *c = &s->items[0].c;
    bool prefill_only = c->task == VS_TASK_GENERATE && vs_count(&c->axes, VS_AXIS_GEN) == 0;
    s->rank_by = is_train(s)                ? VS_METRIC_TRAIN_TPS
                 : c->task == VS_TASK_SERVE ? VS_METRIC_OUT_TPS
                 : prefill_only             ? VS_METRIC_PREFILL_TPS
                                            : VS_METRIC_DECODE_TPS;
    if (options->sort)
        vs_metric_find(options->sort, &s->rank_by);
    s->oom_axis = is_train(s) ? VS_AXIS_SEQ : VS_AXIS_CTX;
    s->own_weights = c->axes.origin[VS_AXIS_WEIGHTS] == VS_FROM_WORKLOAD
                         ? c->axes.at[VS_AXIS_WEIGHTS].text
                         : NULL;
    *s->out = (struct vs_sweep){.hw = c->machine->hw,
                                .machine = c->machine->name,
                                .workload = c->axes.at[VS_AXIS_WORKLOAD].text,
                                .model = c->model->name,
                                .task = c->axes.at[VS_AXIS_TASK].text,
                                .rank_by = s->rank_by,
                                .oom_axis = vs_axis_info(s->oom_axis)->name};
}

static bool name_axes(struct sweep *s, const struct vs_grid *asked, struct vs_err *err) {
    struct vs_sweep_axis *axes = VS_NEW_ARRAY(s->arena, struct vs_sweep_axis, VS_AXIS_COUNT);
    if (!axes)
        return vs_err_nomem(err);
    for (int i = 0; i < VS_AXIS_COUNT; i++)
        if (vs_grid_varies(&s->grid, (enum vs_axis)i))
            axes[s->out->axis_count++] = (struct vs_sweep_axis){
                vs_axis_info((enum vs_axis)i)->name, vs_grid_varies(asked, (enum vs_axis)i)};
    s->out->axes = axes;
    return true;
}

static bool own_weights(struct sweep *s, struct vs_err *err) {
    if (!vs_catalog_workload(s->catalog, &s->items[0].c.axes, &s->workload, err))
        return false;
    const struct vs_workload *w = s->workload;
    if (w && w->values.at[VS_AXIS_WEIGHTS].text)
        s->own_weights = w->values.at[VS_AXIS_WEIGHTS].text;
    return true;
}

/* Points run side by side, and each reads the trace. */
static bool check_trace(const struct vs_grid *grid, struct vs_err *err) {
    const struct vs_value_list *traces = &grid->lists[VS_AXIS_TRACE];
    for (size_t i = 0; i < traces->count; i++)
        if (vs_streq(traces->at[i].text, "-"))
            return vs_err_at(err, NULL, 0, 0,
                             "--trace -: standard input can be read once, a sweep reads its trace "
                             "for each point; expected a file");
    return true;
}

bool vs_sweep_run(struct vs_arena *arena, const struct vs_grid *grid,
                  const struct vs_sweep_options *options, const struct vs_sweep **sweep,
                  struct vs_err *err) {
    struct sweep s = {.arena = arena,
                      .catalog = vs_catalog_in(arena),
                      .grid = *grid,
                      .options = options,
                      .out = VS_NEW(arena, struct vs_sweep)};
    const struct vs_request *requests;
    if (!s.catalog || !s.out)
        return vs_err_nomem(err);
    if (!check_trace(grid, err) || !vs_grid_defaults(s.catalog, arena, &s.grid, err) ||
        !vs_grid_expand(arena, &s.grid, &requests, &s.count, err))
        return false;
    s.items = VS_NEW_ARRAY(arena, struct item, s.count);
    if (!s.items)
        return vs_err_nomem(err);
    if (!resolve_all(&s, requests, err))
        return false;
    name_sweep(&s, options);
    if (!name_axes(&s, grid, err) || !own_weights(&s, err) || !run_all(&s, options, err) ||
        !finish(&s, options, err))
        return false;
    *sweep = s.out;
    return true;
}
