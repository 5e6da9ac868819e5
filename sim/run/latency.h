/* How long requests waited: the mean and percentiles of the time to the first token and of the time
 * between tokens, as clients report them. Exact: every sample is kept, 16 bytes to a request. */
#ifndef VS_RUN_LATENCY_H
#define VS_RUN_LATENCY_H

#include "base/vec.h"
#include "run/outcome.h"

/* All zeros is empty and ready; owns its samples. */
struct vs_latency {
    VS_VEC(double) first_s; /* of every request */
    VS_VEC(double) token_s; /* of requests with more than one token: the mean of the request */
};

/* A request ended. Times are seconds on one clock; gen > 0 counts its tokens, the first included.
 * False when memory runs out. */
bool vs_latency_note(struct vs_latency *latency, double arrived_s, double first_s, double ended_s,
                     uint64_t gen);
/* Sets ttft_s, tpot_s and their percentiles (linear between order statistics, as numpy's default),
 * with `client_s` on the way to the first token; what has no sample stays as it is. Sorts the
 * samples. */
void vs_latency_metrics(struct vs_latency *latency, double client_s,
                        double metrics[VS_METRIC_COUNT]);
void vs_latency_release(struct vs_latency *latency);

#endif
