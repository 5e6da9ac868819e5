/* How long the requests of a replay waited and took: quantiles, as plots and pages show them. */
#ifndef VS_REPORT_LATENCIES_H
#define VS_REPORT_LATENCIES_H

#include "base/distribution.h"
#include "run/replayed.h"

enum { VS_LATENCY_FIRST, VS_LATENCY_TOKEN, VS_LATENCY_LAST, VS_LATENCY_KINDS };

/* The times of one kind, for vs_distribution_quantile; requests that don't have it are left out.
 * The caller releases the sample, also where memory runs out (false). */
bool vs_latencies_collect(const struct vs_replayed *replay, size_t kind,
                          struct vs_distribution *times);

#endif
