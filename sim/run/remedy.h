/* What would make a point fit: changes of one axis, the mildest first. */
#ifndef VS_RUN_REMEDY_H
#define VS_RUN_REMEDY_H

#include "plan/resolve.h"
#include "run/run.h"

/* Tries each change that a user would think of on a point that runs out of memory, capacity only,
 * and puts those that fit into the outcome (in the arena). What the engine can't do is left out. */
bool vs_remedies_find(struct vs_arena *arena, struct vs_catalog *catalog,
                      const struct vs_request *request, const struct vs_case *c,
                      const struct vs_outcome **outcome, struct vs_err *err);

#endif
