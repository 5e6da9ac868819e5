/* Where a trace lies. */
#ifndef VS_IMPORT_FIND_H
#define VS_IMPORT_FIND_H

#include "base/arena.h"

/* The path that `word` means: a file in traces/ or workloads/traces/ of a data folder, or else the
 * word itself. "-" and absolute paths are themselves. NULL when memory runs out. */
const char *vs_trace_find(struct vs_arena *arena, const char *word);

#endif
