/* From what was said to a case: names are loaded, and each axis takes its value from the first that
 * has one: the user, the configuration file, the workload, the engine file (task and release), the
 * axis itself. */
#ifndef VS_PLAN_RESOLVE_H
#define VS_PLAN_RESOLVE_H

#include "plan/catalog.h"

/* `user` holds what was given (command line, or a point of a grid). Without --engine: the
 * workload's engines in order, else those of the task, and the first that supports every value that
 * was given. */
bool vs_resolve(struct vs_catalog *catalog, const struct vs_values *user,
                const struct vs_settings *settings, struct vs_case *c, struct vs_err *err);

#endif
