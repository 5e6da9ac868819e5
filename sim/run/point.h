/* A resolved point and its run: what vs_run, sweeps and limits share. */
#ifndef VS_RUN_POINT_H
#define VS_RUN_POINT_H

#include "plan/resolve.h"
#include "run/simulate.h"

/* Names and resolved axes of a case, into an outcome that is otherwise empty. */
bool vs_point_describe(struct vs_arena *arena, const struct vs_case *c, struct vs_outcome *out,
                       struct vs_err *err);

/* Simulates a case into a fresh outcome. */
bool vs_point_run(struct vs_arena *arena, const struct vs_case *c,
                  const struct vs_run_options *options, const struct vs_outcome **outcome,
                  struct vs_err *err);

/* Does the case fit, with so many bytes of each device left free? Capacity only, ends at the first
 * failure; `scratch` is reset. */
struct vs_fit {
    bool fits;
    double peak_bytes, capacity_bytes; /* of the device; the peak is that so far where it fails */
};
bool vs_point_fits(struct vs_arena *scratch, const struct vs_case *c, uint64_t reserve_bytes,
                   struct vs_fit *fit, struct vs_err *err);

bool vs_point_fits_at(struct vs_arena *scratch, const struct vs_case *c, enum vs_axis axis,
                      int64_t value, uint64_t reserve_bytes, struct vs_fit *fit,
                      struct vs_err *err);

/* --gpu-layers auto: the largest number that fits replaces the word. As far as the engine's own fit
 * does so, it leaves "fit_margin_bytes" of each device free, and, by the rule "fit":
 * "experts_first", moves routed experts to host memory before it moves layers: the fewest
 * --experts-cpu that do. */
bool vs_point_fit_layers(struct vs_catalog *catalog, struct vs_case *c, struct vs_err *err);

/* The largest value of a counted axis for which the case fits. */
struct vs_search {
    int64_t from;           /* in: a value that is known to fit, or 0 */
    int64_t grain;          /* in: only multiples of it are tried; 0 = 1 */
    uint64_t reserve_bytes; /* in: of each device, left free */
    int64_t value;          /* 0 = none fits */
    int64_t failed;         /* the smallest failure found, 0 = none */
    bool open;              /* the search ended at the axis's bound */
};
bool vs_point_search(struct vs_arena *scratch, const struct vs_case *c, enum vs_axis axis,
                     struct vs_search *search, struct vs_err *err);

/* The case with one counted axis replaced (texts in the arena); --ctx provisions that many cells
 * for the same prompt and output, shortened where they no longer fit. */
bool vs_point_with(struct vs_arena *arena, const struct vs_case *c, enum vs_axis axis,
                   int64_t value, struct vs_case *out, struct vs_err *err);

#endif
