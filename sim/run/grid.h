/* Grids: from lists of values per axis to points; the default grid of a sweep. */
#ifndef VS_RUN_GRID_H
#define VS_RUN_GRID_H

#include "plan/resolve.h"
#include "run/run.h"

/* Lays the lists that a sweep varies by itself over axes that the user left open. */
bool vs_grid_defaults(struct vs_catalog *catalog, struct vs_arena *arena, struct vs_grid *grid,
                      struct vs_err *err);

/* Is this axis varied inside the grid (more than one value)? */
bool vs_grid_varies(const struct vs_grid *grid, enum vs_axis axis);

#endif
