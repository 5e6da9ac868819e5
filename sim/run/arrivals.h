/* The requests of a case in the order in which they arrive, one at a time: drawn as its axes say,
 * or read from a trace, whose lengths may be given other arrivals. */
#ifndef VS_RUN_ARRIVALS_H
#define VS_RUN_ARRIVALS_H

#include "base/arena.h"
#include "import/trace.h"
#include "run/outcome.h"
#include "work/axis.h"

struct vs_arrivals;

/* NULL on failure. A trace that is no file is looked up in traces/ of each data folder, then in the
 * working directory. */
struct vs_arrivals *vs_arrivals_open(struct vs_arena *arena, const struct vs_values *axes,
                                     bool skip_bad, struct vs_err *err);
void vs_arrivals_close(struct vs_arrivals *a); /* NULL is fine */

/* *more is false at the end. `arrived_s` is 0 where clients wait for answers. */
bool vs_arrivals_next(struct vs_arrivals *a, struct vs_trace_request *request, bool *more,
                      struct vs_err *err);

/* Of the hashed blocks so far, those that an endless prefix cache would have found: the leading
 * ones of each prompt that an earlier one had. NaN without hashes, and beyond half a million
 * different ones, which are no longer kept. */
double vs_arrivals_seen(const struct vs_arrivals *a);
/* Sets what a trace says of rows that were not sent; texts live in the arena. */
bool vs_arrivals_count(const struct vs_arrivals *a, struct vs_arena *arena,
                       struct vs_request_counts *counts);

const struct vs_trace *vs_arrivals_trace(const struct vs_arrivals *a); /* NULL: drawn */

#endif
