/* What a command found: plots and pages are made of it. Everything is borrowed. */
#ifndef VS_REPORT_RESULT_H
#define VS_REPORT_RESULT_H

#include "run/run.h"
#include "run/validate.h"

/* A request as a server answered it; NaN where it has no such time (one token has no gaps). */
struct vs_replayed_request {
    double arrived_s, prompt, gen, ttft_s, tpot_s, e2e_s;
};
/* A server at one moment of a replay. */
struct vs_replayed_moment {
    double at_s, running, waiting, kv_percent, prompt_tps, out_tps;
};
/* Either list may be empty. */
struct vs_replayed {
    const struct vs_replayed_request *requests;
    size_t request_count;
    const struct vs_replayed_moment *moments;
    size_t moment_count;
};

/* One of the first five is set. */
struct vs_result {
    const struct vs_sweep *sweep;
    const struct vs_outcome *run;
    const struct vs_limit *const *limits;
    const struct vs_validation *validation;
    const struct vs_replayed *replay;
    size_t limit_count;
    const char *command; /* that made it; NULL = not known */
};

/* "sweep", "run", "limit", "replay" or "validate". */
const char *vs_result_kind(const struct vs_result *result);

/* The points of a sweep, the one of a run, or none. */
const struct vs_outcome *const *vs_result_points(const struct vs_result *result, size_t *count);

/* The speed that its task is judged by. */
enum vs_metric vs_result_speed(const struct vs_outcome *point);

#endif
