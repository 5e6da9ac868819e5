/* Requests that a server is to serve, as the axes of a case say. */
#ifndef VS_PLAN_REQUESTS_H
#define VS_PLAN_REQUESTS_H

#include "work/axis.h"

/* Are there any? Otherwise `serve` asks how the engine starts. */
bool vs_requests_given(const struct vs_values *axes);

/* Does the axis say something of one batch, which requests that are served do not make? */
bool vs_requests_without(const struct vs_values *axes, enum vs_axis axis);

/* Lengths of a trace take the place of nominal ones, which are cleared; refused where the user gave
 * both. */
bool vs_requests_take_trace(struct vs_values *axes, struct vs_err *err);

/* Refuses what contradicts itself; `task` is its word. */
bool vs_requests_check(const struct vs_values *axes, const char *task, struct vs_err *err);

#endif
