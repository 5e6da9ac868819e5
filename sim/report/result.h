/* What a command found: plots and pages are made of it. Everything is borrowed. */
#ifndef VS_REPORT_RESULT_H
#define VS_REPORT_RESULT_H

#include "run/replayed.h"
#include "run/run.h"
#include "run/validate.h"

/* One of the first five is set; beside a run, what its server did. */
struct vs_result {
    const struct vs_sweep *sweep;
    const struct vs_outcome *run;
    const struct vs_limit *const *limits;
    const struct vs_validation *validation;
    const struct vs_replayed *replay;
    size_t limit_count;
    const char *command; /* that made it; NULL = not known */
};

/* "sweep", "run", "limit", "replay" or "validate"; of a run that served requests "run". */
const char *vs_result_kind(const struct vs_result *result);
/* Whether a plot of results of that kind can be made of it. */
bool vs_result_is(const struct vs_result *result, const char *kind);
/* A run with what its server did. */
struct vs_result vs_result_of_run(const struct vs_outcome *outcome);

/* The points of a sweep, the one of a run, or none. */
const struct vs_outcome *const *vs_result_points(const struct vs_result *result, size_t *count);

/* The speed that its task is judged by. */
enum vs_metric vs_result_speed(const struct vs_outcome *point);

#endif
