/* From what was said to a case: names are loaded, and each axis takes its value from the first that
 * has one: the user, the configuration file, the workload, the engine file (task and release), the
 * axis itself. */
#ifndef VS_PLAN_RESOLVE_H
#define VS_PLAN_RESOLVE_H

#include "work/case.h"
#include "work/workload.h"

struct vs_catalog;

/* Keeps what was loaded, so that the points of a sweep share it. Not thread-safe while resolving;
 * what it handed out may be read by many threads. It lives in an arena, with all that it loaded;
 * NULL when memory runs out. */
struct vs_catalog *vs_catalog_in(struct vs_arena *arena);
struct vs_arena *vs_catalog_arena(struct vs_catalog *catalog);

struct vs_settings { /* --set */
    const char *const *paths, *const *values;
    size_t count;
};

/* The workload that `user` names, or NULL in *workload when it names none. */
bool vs_resolve_workload(struct vs_catalog *catalog, const struct vs_values *user,
                         const struct vs_workload **workload, struct vs_err *err);

/* `user` holds what was given (command line, or a point of a grid). Without --engine: the
 * workload's engines in order, else those of the task, and the first that supports every value that
 * was given. */
bool vs_resolve(struct vs_catalog *catalog, const struct vs_values *user,
                const struct vs_settings *settings, struct vs_case *c, struct vs_err *err);

/* Does this engine support all that is given in `values` for the task? If not, *axis is the first
 * it lacks. */
bool vs_engine_can(struct vs_catalog *catalog, const struct vs_values *values, const char *engine,
                   const char *task, enum vs_axis *axis, bool *can, struct vs_err *err);

#endif
