#include "run/latency.h"

#include "base/stats.h"

/* A metric of a distribution. */
struct percentile {
    enum vs_metric metric;
    double q;
};

static const struct percentile FIRST[] = {
    {VS_METRIC_TTFT_S_P50, 0.5}, {VS_METRIC_TTFT_S_P90, 0.9}, {VS_METRIC_TTFT_S_P99, 0.99}};
static const struct percentile TOKEN[] = {
    {VS_METRIC_TPOT_S_P50, 0.5}, {VS_METRIC_TPOT_S_P90, 0.9}, {VS_METRIC_TPOT_S_P99, 0.99}};
enum { PERCENTILES = sizeof FIRST / sizeof *FIRST };

bool vs_latency_note(struct vs_latency *latency, double arrived_s, double first_s, double ended_s,
                     uint64_t gen) {
    return vs_vec_push(&latency->first_s, first_s - arrived_s) &&
           (gen < 2 || vs_vec_push(&latency->token_s, (ended_s - first_s) / (double)(gen - 1)));
}

/* Each figure with `more_s` added. */
static void describe(double *samples, size_t count, double more_s, enum vs_metric mean,
                     const struct percentile *percentiles, double *metrics) {
    if (count == 0)
        return;
    metrics[mean] = vs_mean(samples, count) + more_s;
    for (size_t i = 0; i < PERCENTILES; i++)
        metrics[percentiles[i].metric] = vs_quantile(samples, count, percentiles[i].q) + more_s;
}

void vs_latency_metrics(struct vs_latency *latency, double client_s,
                        double metrics[VS_METRIC_COUNT]) {
    describe(latency->first_s.at, latency->first_s.count, client_s, VS_METRIC_TTFT_S, FIRST,
             metrics);
    describe(latency->token_s.at, latency->token_s.count, 0, VS_METRIC_TPOT_S, TOKEN, metrics);
}

void vs_latency_release(struct vs_latency *latency) {
    vs_vec_release(&latency->first_s);
    vs_vec_release(&latency->token_s);
}
