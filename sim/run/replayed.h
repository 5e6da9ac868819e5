/* What a server did, for pictures and timelines: lists of bounded length, however long it ran. */
#ifndef VS_RUN_REPLAYED_H
#define VS_RUN_REPLAYED_H

#include <stddef.h>
#include <stdint.h>

/* A request as a server answered it; NaN where it has no such time (one token has no gaps). */
struct vs_replayed_request {
    double arrived_s, prompt, gen, ttft_s, tpot_s, e2e_s;
};
/* A server at one moment of a replay. */
struct vs_replayed_moment {
    double at_s, running, waiting, kv_percent, prompt_tps, out_tps;
};
/* A server from one moment to another: a step, steps that are alike, or rest. */
struct vs_server_stretch {
    double from_s, to_s;     /* since the first request came */
    double running, waiting; /* requests, means over the time */
    double kv_from, kv_to;   /* of the KV pool in use, percent, at its ends */
    double prompt_tokens, out_tokens;
    double decoded; /* of these, by sequences whose prompt was done */
    uint64_t steps; /* 0 = nothing ran */
};
/* Lists may be empty. */
struct vs_replayed {
    const struct vs_replayed_request *requests;
    size_t request_count;
    uint64_t requests_each; /* one of so many is listed; 0 = not known */
    const struct vs_replayed_moment *moments;
    size_t moment_count;
    const struct vs_server_stretch *stretches; /* one after the other, without gaps */
    size_t stretch_count;
    double start_s;      /* of the stretches on the clock of the run, whose load comes before */
    double resolution_s; /* shorter stretches may have been joined; 0 = none was */
};

#endif
