/* An engine's own configuration file (--config): between the command line and the workload in the
 * order of precedence. */
#ifndef VS_RUN_CONFIG_H
#define VS_RUN_CONFIG_H

#include "plan/catalog.h"
#include "run/run.h"

/* vs_resolve for a request, whose configuration file's values stand under those of the user. */
bool vs_request_resolve(struct vs_catalog *catalog, const struct vs_request *request,
                        struct vs_case *c, struct vs_err *err);

/* Which axes the configuration files of a grid speak of: a sweep does not vary those. `spoken` has
 * VS_AXIS_COUNT elements. */
bool vs_grid_spoken(struct vs_arena *arena, const struct vs_grid *grid, bool *spoken,
                    struct vs_err *err);

#endif
