#include "run/arrivals.h"

#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "base/text.h"
#include "import/find.h"
#include "sched/prefix.h"

/* Where only clients are given: ten requests for each, as public benchmarks send them, so that the
 * opening burst is a tenth of all. */
enum { REQUESTS_PER_CLIENT = 10, REQUESTS_LEAST = 100 };

struct vs_arrivals {
    const struct vs_values *axes;
    struct vs_trace *trace; /* NULL: lengths are drawn */
    struct vs_rng *rng;
    uint64_t left;    /* requests that may still come */
    double range;     /* least part of a nominal length */
    double gap_s, cv; /* between arrivals, on average, and its variation; 0: all at once */
    bool timed;       /* the trace says when */
    double at_s;
    struct vs_prefix seen;
    uint64_t hashed, found; /* blocks, and those among them that had been seen */
    bool seen_all;          /* none has been forgotten */
};

enum { SEEN_MOST = 1 << 19 };

static uint64_t request_count(const struct vs_values *axes) {
    uint64_t clients = (uint64_t)vs_count(axes, VS_AXIS_CONCURRENCY);
    if (vs_given(axes, VS_AXIS_REQUESTS))
        return (uint64_t)vs_count(axes, VS_AXIS_REQUESTS);
    if (vs_given(axes, VS_AXIS_TRACE))
        return UINT64_MAX;
    return clients * REQUESTS_PER_CLIENT > REQUESTS_LEAST ? clients * REQUESTS_PER_CLIENT
                                                          : REQUESTS_LEAST;
}

static bool open_trace(struct vs_arrivals *a, struct vs_arena *arena, bool skip_bad,
                       struct vs_err *err) {
    const char *word = a->axes->at[VS_AXIS_TRACE].text;
    bool arranged = vs_given(a->axes, VS_AXIS_RATE) || vs_given(a->axes, VS_AXIS_CONCURRENCY);
    const char *path = vs_trace_find(arena, word);
    if (!path)
        return vs_err_nomem(err);
    a->trace = vs_trace_open(path, skip_bad, err);
    if (!a->trace)
        return false;
    a->timed = vs_trace_timed(a->trace) && !arranged;
    if (!a->timed && !arranged)
        return vs_err_at(err, NULL, 0, 0,
                         "--trace %s says how long requests are, not when they come; expected "
                         "--rate or --concurrency",
                         word);
    return true;
}

struct vs_arrivals *vs_arrivals_open(struct vs_arena *arena, const struct vs_values *axes,
                                     bool skip_bad, struct vs_err *err) {
    struct vs_arrivals *a = calloc(1, sizeof *a);
    uint64_t seed = vs_given(axes, VS_AXIS_SEED) ? (uint64_t)vs_count(axes, VS_AXIS_SEED) : 1;
    if (a)
        a->rng = vs_rng_new(seed);
    if (!a || !a->rng) {
        vs_arrivals_close(a);
        (void)vs_err_nomem(err);
        return NULL;
    }
    a->axes = axes;
    a->seen_all = true;
    a->left = request_count(axes);
    a->range = vs_given(axes, VS_AXIS_LENGTH_RANGE) ? vs_real(axes, VS_AXIS_LENGTH_RANGE) : 1;
    a->cv = vs_given(axes, VS_AXIS_CV) ? vs_real(axes, VS_AXIS_CV) : 1;
    if (vs_given(axes, VS_AXIS_RATE) && !vs_is(axes, VS_AXIS_RATE, "inf"))
        a->gap_s = 1 / vs_real(axes, VS_AXIS_RATE);
    if (!vs_given(axes, VS_AXIS_TRACE) || open_trace(a, arena, skip_bad, err))
        return a;
    vs_arrivals_close(a);
    return NULL;
}

void vs_arrivals_close(struct vs_arrivals *a) {
    if (!a)
        return;
    vs_trace_close(a->trace);
    vs_prefix_release(&a->seen);
    vs_rng_free(a->rng);
    free(a);
}

/* From the part `range` of `nominal` to all of it, evenly. */
static uint64_t draw(const struct vs_arrivals *a, enum vs_axis axis) {
    uint64_t nominal = (uint64_t)vs_count(a->axes, axis);
    uint64_t least = (uint64_t)((double)nominal * a->range);
    least = least > 0 ? least : 1;
    return a->range < 1 ? least + vs_rng_below(a->rng, nominal - least + 1) : nominal;
}

/* Exponential gaps are Poisson arrivals; Gamma has the same mean and another variation. */
static double draw_gap(const struct vs_arrivals *a) {
    if (!vs_given(a->axes, VS_AXIS_CV))
        return vs_rng_exponential(a->rng, a->gap_s);
    return vs_rng_gamma(a->rng, 1 / (a->cv * a->cv), a->gap_s * a->cv * a->cv);
}

static bool look_back(struct vs_arrivals *a, const struct vs_trace_request *r) {
    size_t k = 0;
    while (k < r->hash_count && vs_prefix_has(&a->seen, r->hashes[k]))
        k++;
    a->hashed += r->hash_count;
    a->found += k;
    for (; k < r->hash_count && a->seen_all; k++) {
        a->seen_all = a->seen.entries.count < SEEN_MOST;
        if (!vs_prefix_has(&a->seen, r->hashes[k]) && !vs_prefix_add(&a->seen, r->hashes[k], 1))
            return false;
    }
    return true;
}

double vs_arrivals_seen(const struct vs_arrivals *a) {
    return a->hashed > 0 && a->seen_all ? (double)a->found / (double)a->hashed : (double)NAN;
}

bool vs_arrivals_count(const struct vs_arrivals *a, struct vs_arena *arena,
                       struct vs_request_counts *counts) {
    counts->first_skipped = "";
    if (!a->trace)
        return true;
    counts->unanswered = vs_trace_unanswered(a->trace);
    counts->skipped = vs_trace_skipped(a->trace);
    counts->first_skipped = vs_arena_strdup(arena, vs_trace_first_skipped(a->trace));
    return counts->first_skipped != NULL;
}

bool vs_arrivals_next(struct vs_arrivals *a, struct vs_trace_request *request, bool *more,
                      struct vs_err *err) {
    *more = a->left > 0;
    if (*more && a->trace && !vs_trace_next(a->trace, request, more, err))
        return false;
    if (!*more)
        return true;
    a->left--;
    if (a->trace && a->seen_all && !look_back(a, request))
        return vs_err_nomem(err);
    if (!a->trace) {
        *request = (struct vs_trace_request){.prompt = draw(a, VS_AXIS_PROMPT)};
        request->gen = draw(a, VS_AXIS_GEN);
    }
    if (a->gap_s > 0)
        a->at_s += draw_gap(a);
    if (!a->timed)
        request->arrived_s = a->at_s;
    return true;
}

const struct vs_trace *vs_arrivals_trace(const struct vs_arrivals *a) { return a->trace; }
