/* 80 % intervals of predicted speeds, from how far predictions were off where measurements exist.
 *
 * The table is data: workloads/accuracy/table.json, made by `vramsim validate --write-accuracy`.
 *
 *   schema   "vramsim-accuracy/1"; how: a sentence that says what the numbers are
 *   entries  [{engine, metric, n, groups, archs, q10, q90, left_out_coverage, widen}]
 *     n, groups          rows, and the (machine, model) pairs that they come from
 *     archs              generations of the devices among them
 *     q10, q90           quantiles of measured / predicted over the rows
 *     left_out_coverage  share of rows inside q10..q90 of all other groups
 *     widen              by how much q10..q90 of all other groups must be stretched, down and up,
 *                        to hold 80 % of the rows; 1 = not at all; null with one group
 *
 * A speed's interval is predicted * q10 / widen .. predicted * q90 * widen: it holds 80 % of the
 * measurements on machines and models that no row covers, as far as those that were left out can
 * tell. There is none where fewer than 5 groups were measured. A figure that another one determines
 * (time per token and tokens per second) takes the other's. */
#ifndef VS_RUN_INTERVALS_H
#define VS_RUN_INTERVALS_H

#include "base/arena.h"
#include "base/err.h"
#include "run/outcome.h"

struct vs_intervals;

/* Reads the table; without the file it is empty. A damaged one is an error. */
bool vs_intervals_load(struct vs_arena *arena, const struct vs_intervals **table,
                       struct vs_err *err);

/* Replaces an outcome by one with intervals, where the table has them. It is extrapolating when a
 * speed was predicted that this engine's rows do not cover on the device's generation; a bound is
 * no prediction. */
bool vs_intervals_add(struct vs_arena *arena, const struct vs_intervals *table,
                      const struct vs_outcome **outcome, struct vs_err *err);

#endif
