/* How long requests waited: the mean and percentiles of the time to the first token, between tokens
 * and to the last token, as clients report them; and how many met what was promised. */
#ifndef VS_RUN_LATENCY_H
#define VS_RUN_LATENCY_H

#include "base/distribution.h"
#include "run/outcome.h"

/* All zeros is empty and ready; owns its samples. */
struct vs_latency {
    double client_s;                 /* around a request, before its first token */
    double slo_first_s, slo_token_s; /* most of a good request; 0 = nothing was promised */
    struct vs_distribution first_s;  /* of every request */
    struct vs_distribution
        token_s; /* of requests with more than one token: the mean of the request */
    struct vs_distribution whole_s; /* of every request, to its last token */
    struct vs_distribution gap_s;   /* of every token but the first ones, from the one before */
    uint64_t good;                  /* requests within what was promised */
};

/* A request on one clock, in seconds; gen > 0 counts its tokens, the first included. */
struct vs_served {
    double arrived_s, first_s, ended_s;
    uint64_t gen;
};

/* A request ended. False when memory runs out. */
bool vs_latency_note(struct vs_latency *latency, const struct vs_served *served);
/* So many tokens came that much after the ones before them. False when memory runs out. */
bool vs_latency_gap(struct vs_latency *latency, double seconds, uint64_t tokens);
double vs_latency_first(const struct vs_latency *latency, const struct vs_served *served);
double vs_latency_token(const struct vs_served *served); /* NaN with one token */
double vs_latency_whole(const struct vs_latency *latency, const struct vs_served *served);

/* Sets ttft_s, tpot_s, itl_s, e2e_s and their percentiles (linear between order statistics, as
 * numpy's default), and goodput_rps over `makespan_s` where something was promised; what has no
 * sample stays as it is. */
void vs_latency_metrics(struct vs_latency *latency, double makespan_s,
                        double metrics[VS_METRIC_COUNT]);
void vs_latency_release(struct vs_latency *latency);

#endif
