/* What a server did over time: means over the run, and on request two CSV files that are written as
 * it runs: a row per request, in the order in which they end, and a row per interval; and what
 * pictures and timelines are made of. */
#ifndef VS_RUN_SERVE_LOG_H
#define VS_RUN_SERVE_LOG_H

#include "base/file.h"
#include "run/latency.h"
#include "run/run.h"
#include "run/serve_record.h"

/* A server between two steps. */
struct vs_serve_state {
    double running, waiting;
    double used_tokens, wasted_tokens; /* room that sequences hold; the part that holds no token */
};

struct vs_serve_log {
    struct vs_file_out *requests, *series; /* NULL = not wanted */
    struct vs_serve_record record;
    bool recording; /* a timeline or pictures are wanted */
    struct vs_text line;
    double pool_tokens;
    double every_s, next_s;                                 /* of the rows over time */
    double prompt_tokens, made_tokens;                      /* since the last one */
    double seconds, running_s, waiting_s, used_s, wasted_s; /* integrals over time */
};

/* `options` may be NULL. An all-zero log is fine to release. */
bool vs_serve_log_open(struct vs_serve_log *log, const struct vs_serve_options *options,
                       double pool_tokens, struct vs_err *err);

/* Time went from `from_s` to `to_s`; room grows evenly from one state to the other, and tokens come
 * evenly. */
struct vs_serve_span {
    double from_s, to_s;
    struct vs_serve_state from, to;
    double prompt_tokens, made_tokens;
    double decoded_tokens; /* of the made ones, by sequences whose prompt was done */
    uint64_t preemptions;  /* so far */
    uint64_t steps;        /* 0 = nothing ran */
};
bool vs_serve_log_span(struct vs_serve_log *log, const struct vs_serve_span *span,
                       struct vs_err *err);

/* A request ended. start_s: when the replay began, by the clock of `served`: its arrival is told
 * from there, as spans are. */
bool vs_serve_log_request(struct vs_serve_log *log, double start_s,
                          const struct vs_latency *latency, const struct vs_served *served,
                          uint64_t id, uint64_t prompt, struct vs_err *err);

/* The files take their places. */
bool vs_serve_log_commit(struct vs_serve_log *log, struct vs_err *err);
/* What was not committed is given up. */
void vs_serve_log_release(struct vs_serve_log *log);

void vs_serve_log_metrics(const struct vs_serve_log *log, double metrics[VS_METRIC_COUNT]);

#endif
