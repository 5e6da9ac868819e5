#include "run/latency.h"

#include <math.h>

/* A metric of a distribution. */
struct percentile {
    enum vs_metric metric;
    double q;
};

static const struct percentile FIRST[] = {
    {VS_METRIC_TTFT_S_P50, 0.5}, {VS_METRIC_TTFT_S_P90, 0.9}, {VS_METRIC_TTFT_S_P99, 0.99}};
static const struct percentile TOKEN[] = {
    {VS_METRIC_TPOT_S_P50, 0.5}, {VS_METRIC_TPOT_S_P90, 0.9}, {VS_METRIC_TPOT_S_P99, 0.99}};
static const struct percentile GAP[] = {
    {VS_METRIC_ITL_S_P50, 0.5}, {VS_METRIC_ITL_S_P90, 0.9}, {VS_METRIC_ITL_S_P99, 0.99}};
static const struct percentile WHOLE[] = {
    {VS_METRIC_E2E_S_P50, 0.5}, {VS_METRIC_E2E_S_P90, 0.9}, {VS_METRIC_E2E_S_P99, 0.99}};
enum { PERCENTILES = sizeof FIRST / sizeof *FIRST };

double vs_latency_first(const struct vs_latency *l, const struct vs_served *r) {
    return r->first_s - r->arrived_s + l->client_s;
}

double vs_latency_token(const struct vs_served *r) {
    return r->gen > 1 ? (r->ended_s - r->first_s) / (double)(r->gen - 1) : (double)NAN;
}

double vs_latency_whole(const struct vs_latency *l, const struct vs_served *r) {
    return r->ended_s - r->arrived_s + l->client_s;
}

bool vs_latency_note(struct vs_latency *l, const struct vs_served *r) {
    double first_s = vs_latency_first(l, r), token_s = vs_latency_token(r);
    bool late = l->slo_first_s > 0 && first_s > l->slo_first_s;
    bool slow = l->slo_token_s > 0 && token_s > l->slo_token_s;
    l->good += !late && !slow;
    return vs_distribution_add(&l->first_s, first_s) &&
           vs_distribution_add(&l->whole_s, vs_latency_whole(l, r)) &&
           (r->gen < 2 || vs_distribution_add(&l->token_s, token_s));
}

bool vs_latency_gap(struct vs_latency *l, double seconds, uint64_t tokens) {
    return vs_distribution_add_many(&l->gap_s, seconds, tokens);
}

static void describe(struct vs_distribution *sample, enum vs_metric mean,
                     const struct percentile *percentiles, double *metrics) {
    if (sample->count == 0)
        return;
    metrics[mean] = vs_distribution_mean(sample);
    for (size_t i = 0; i < PERCENTILES; i++)
        metrics[percentiles[i].metric] = vs_distribution_quantile(sample, percentiles[i].q);
}

void vs_latency_metrics(struct vs_latency *l, double makespan_s, double metrics[VS_METRIC_COUNT]) {
    describe(&l->first_s, VS_METRIC_TTFT_S, FIRST, metrics);
    describe(&l->token_s, VS_METRIC_TPOT_S, TOKEN, metrics);
    describe(&l->gap_s, VS_METRIC_ITL_S, GAP, metrics);
    describe(&l->whole_s, VS_METRIC_E2E_S, WHOLE, metrics);
    if (l->slo_first_s > 0 || l->slo_token_s > 0)
        metrics[VS_METRIC_GOODPUT_RPS] = (double)l->good / makespan_s;
}

void vs_latency_release(struct vs_latency *l) {
    vs_distribution_release(&l->first_s);
    vs_distribution_release(&l->token_s);
    vs_distribution_release(&l->whole_s);
    vs_distribution_release(&l->gap_s);
}
