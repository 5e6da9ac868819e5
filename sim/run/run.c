#include "run/run.h"

#include "run/config.h"
#include "run/intervals.h"
#include "run/plan_json.h"
#include "run/point.h"
#include "run/remedy.h"

static bool resolve(struct vs_catalog *catalog, const struct vs_request *request, struct vs_case *c,
                    struct vs_err *err) {
    return vs_request_resolve(catalog, request, c, err) && vs_point_fit_layers(catalog, c, err);
}

static bool add_intervals(struct vs_arena *arena, const struct vs_outcome **outcome,
                          struct vs_err *err) {
    const struct vs_intervals *table;
    return vs_intervals_load(arena, &table, err) && vs_intervals_add(arena, table, outcome, err);
}

/* The outcome's names live in the catalog: it is kept as long as the caller's arena. */
bool vs_run(struct vs_arena *arena, const struct vs_request *request,
            const struct vs_run_options *options, const struct vs_outcome **outcome,
            struct vs_err *err) {
    struct vs_case c;
    struct vs_catalog *catalog = vs_catalog_in(arena);
    if (!catalog)
        return vs_err_nomem(err);
    return resolve(catalog, request, &c, err) && vs_point_run(arena, &c, options, outcome, err) &&
           (!options->remedies || (*outcome)->fits ||
            vs_remedies_find(arena, catalog, request, &c, outcome, err)) &&
           (!options->intervals || options->capacity_only || add_intervals(arena, outcome, err));
}

static int64_t model_maximum(const struct vs_case *c, enum vs_axis axis) {
    if (axis == VS_AXIS_CTX || axis == VS_AXIS_SEQ)
        return c->model->max_ctx;
    return axis == VS_AXIS_GPU_LAYERS ? c->model->layers : 0;
}

static bool run_at(struct vs_arena *arena, const struct vs_case *c, enum vs_axis axis,
                   int64_t value, const struct vs_outcome **outcome, struct vs_err *err) {
    const struct vs_run_options options = {.capacity_only = true};
    struct vs_case *with = VS_NEW(arena, struct vs_case);
    if (!with)
        return vs_err_nomem(err);
    return vs_point_with(arena, c, axis, value, with, err) &&
           vs_point_run(arena, with, &options, outcome, err);
}

/* Does something beyond the first failure fit? A few values close behind it are tried: what an
 * allocator's rounding can turn around lies there. */
static bool fits_beyond(struct vs_arena *scratch, const struct vs_case *c, enum vs_axis axis,
                        int64_t failed, bool *beyond, struct vs_err *err) {
    static const int64_t PARTS[] = {64, 16, 4};
    struct vs_fit fit;
    *beyond = false;
    for (size_t i = 0; failed > 0 && i < sizeof PARTS / sizeof *PARTS; i++) {
        if (!vs_point_fits_at(scratch, c, axis, failed + failed / PARTS[i] + 1, 0, &fit, err))
            return false;
        *beyond |= fit.fits;
    }
    return true;
}

bool vs_limit_run(struct vs_arena *arena, const struct vs_request *request, enum vs_axis axis,
                  const struct vs_limit **limit, struct vs_err *err) {
    struct vs_case c;
    struct vs_search found = {0};
    struct vs_arena scratch = {0};
    struct vs_catalog *catalog = vs_catalog_in(arena);
    struct vs_limit *out = VS_NEW(arena, struct vs_limit);
    if (!catalog || !out)
        return vs_err_nomem(err);
    if (!resolve(catalog, request, &c, err))
        return false;
    bool beyond, ok = vs_point_search(&scratch, &c, axis, &found, err) &&
                      fits_beyond(&scratch, &c, axis, found.failed, &beyond, err);
    vs_arena_release(&scratch);
    if (!ok)
        return false;
    *out = (struct vs_limit){.axis = vs_axis_info(axis)->name,
                             .value = found.value,
                             .open = found.open,
                             .not_monotone = beyond,
                             .model_maximum = model_maximum(&c, axis)};
    *limit = out;
    return (found.value == 0 || run_at(arena, &c, axis, found.value, &out->at, err)) &&
           (found.failed == 0 || run_at(arena, &c, axis, found.failed, &out->beyond, err));
}

bool vs_run_plan_json(const struct vs_request *request, struct vs_text *out, struct vs_err *err) {
    struct vs_case c;
    struct vs_arena arena = {0};
    struct vs_catalog *catalog = vs_catalog_in(&arena);
    bool ok = catalog ? resolve(catalog, request, &c, err) && vs_plan_json(&arena, &c, out, err)
                      : vs_err_nomem(err);
    vs_arena_release(&arena);
    return ok;
}
