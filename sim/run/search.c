/* The largest value of an axis that fits, by trying: doubling until the first failure, then closing
 * in.
 *
 * Memory grows nearly in a line with most axes, so the line through the last two values that fit
 * says where the end should be; it is tried first, then a value a little to the side where the
 * truth lies, and halving does the rest. The answer is the same as that of halving alone: a value
 * that fits, next to one that does not. */
#include "run/point.h"

struct probe {
    int64_t value;
    double peak_bytes;
};

struct search {
    struct vs_arena *scratch;
    const struct vs_case *c;
    enum vs_axis axis;
    struct probe before, low; /* the last two that fit, ascending; value 0 = none */
    int64_t high;             /* the smallest failure */
    int64_t grain;            /* values are multiples of it */
    double capacity_bytes;
    uint64_t reserve_bytes;
    struct vs_err *err;
};

/* The search stops at the axis's own bound: 4 Mi tokens, 65,536 sequences, or the layers of the
 * model. */
static int64_t bound_of(const struct vs_case *c, enum vs_axis axis) {
    return axis == VS_AXIS_GPU_LAYERS ? c->model->layers + 1 : (int64_t)vs_axis_info(axis)->high;
}

bool vs_point_fits_at(struct vs_arena *scratch, const struct vs_case *c, enum vs_axis axis,
                      int64_t value, uint64_t reserve_bytes, struct vs_fit *fit,
                      struct vs_err *err) {
    struct vs_arena texts = {0};
    struct vs_case with;
    bool ok = vs_point_with(&texts, c, axis, value, &with, err) &&
              vs_point_fits(scratch, &with, reserve_bytes, fit, err);
    vs_arena_release(&texts);
    return ok;
}

static bool try(struct search *s, int64_t value, bool *fits) {
    struct vs_fit fit;
    if (!vs_point_fits_at(s->scratch, s->c, s->axis, value, s->reserve_bytes, &fit, s->err))
        return false;
    *fits = fit.fits;
    s->capacity_bytes = fit.capacity_bytes;
    if (fit.fits) {
        s->before = s->low;
        s->low = (struct probe){value, fit.peak_bytes};
    } else {
        s->high = value;
    }
    return true;
}

/* Where the line through the last two fitting values meets the capacity; 0 = no such line. */
static int64_t estimate(const struct search *s) {
    double rise = s->low.peak_bytes - s->before.peak_bytes;
    double run = (double)(s->low.value - s->before.value);
    if (s->before.value == 0 || rise <= 0)
        return 0;
    double at = (double)s->low.value + (s->capacity_bytes - s->low.peak_bytes) / rise * run;
    return at < (double)s->high ? (int64_t)at : 0;
}

/* The estimate, and one value beyond it, or before it, by the error that it usually has. */
static bool close_in(struct search *s) {
    enum {
        USUAL_ERROR = 32
    }; /* one part in so many: what the allocator's slack makes of the line */
    int64_t at = estimate(s) / s->grain * s->grain;
    bool fits;
    if (at <= s->low.value || at >= s->high)
        return true;
    if (!try(s, at, &fits))
        return false;
    int64_t step = (at / USUAL_ERROR / s->grain + 1) * s->grain;
    int64_t next = fits ? at + step : at - step;
    return next <= s->low.value || next >= s->high || try(s, next, &fits);
}

/* The multiple of the grain in the middle of what is open; 0 = nothing is. */
static int64_t middle(const struct search *s) {
    int64_t m = (s->low.value + (s->high - s->low.value) / 2) / s->grain * s->grain;
    if (m <= s->low.value)
        m = (s->low.value / s->grain + 1) * s->grain;
    return m < s->high ? m : 0;
}

static bool double_up(struct search *s, int64_t bound, bool *open) {
    bool fits = true;
    for (int64_t value = s->low.value > 0 ? s->low.value * 2 : s->grain; fits; value *= 2) {
        if (value > bound)
            value = bound;
        value = value / s->grain * s->grain;
        if (value <= s->low.value && s->low.value + s->grain <= bound)
            value = (s->low.value / s->grain + 1) * s->grain;
        if (value <= s->low.value)
            break;
        if (!try(s, value, &fits))
            return false;
    }
    *open = fits;
    return true;
}

/* Ranks that share the tokens of a sample get equal parts, those of a ring two each. */
static int64_t grain_of(const struct vs_case *c, enum vs_axis axis, int64_t asked) {
    int64_t context = vs_count(&c->axes, VS_AXIS_CP), tensor = vs_count(&c->axes, VS_AXIS_TP);
    int64_t unit = context > 1 ? 2 * context : 1, grain = asked > 0 ? asked : 1;
    bool dealt = c->task == VS_TASK_TRAIN && !vs_is(&c->axes, VS_AXIS_SEQ_PARALLEL, "off");
    if (tensor > 1 && dealt) /* by --seq-parallel, or by what the engine does without it */
        unit *= tensor;
    return axis == VS_AXIS_SEQ ? (grain + unit - 1) / unit * unit : grain;
}

bool vs_point_search(struct vs_arena *scratch, const struct vs_case *c, enum vs_axis axis,
                     struct vs_search *found, struct vs_err *err) {
    struct search s = {.scratch = scratch,
                       .c = c,
                       .axis = axis,
                       .low = {.value = found->from},
                       .grain = grain_of(c, axis, found->grain),
                       .reserve_bytes = found->reserve_bytes,
                       .err = err};
    bool open, fits;
    if (!double_up(&s, bound_of(c, axis), &open) || (!open && !close_in(&s)))
        return false;
    for (int64_t m; !open && (m = middle(&s)) > 0;)
        if (!try(&s, m, &fits))
            return false;
    found->value = s.low.value;
    found->failed = open ? 0 : s.high;
    found->open = open;
    return true;
}
