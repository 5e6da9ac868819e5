#include "report/latencies.h"

#include <math.h>

static double time_of(const struct vs_replayed_request *r, size_t kind) {
    return kind == VS_LATENCY_FIRST ? r->ttft_s : kind == VS_LATENCY_TOKEN ? r->tpot_s : r->e2e_s;
}

bool vs_latencies_collect(const struct vs_replayed *replay, size_t kind,
                          struct vs_distribution *times) {
    *times = (struct vs_distribution){.count = 0};
    for (size_t i = 0; i < replay->request_count; i++) {
        const double time = time_of(&replay->requests[i], kind);
        if (isfinite(time) && time >= 0 && !vs_distribution_add(times, time))
            return false;
    }
    return true;
}
