/* What does not fit in a sweep, by the place where it runs out. */
#ifndef VS_REPORT_MISFITS_H
#define VS_REPORT_MISFITS_H

#include "run/run.h"

/* Points of one engine that run out at the same place. */
struct vs_misfits {
    size_t first; /* the point that misses by least */
    size_t count;
    uint64_t least, most; /* bytes short in all */
};

/* The groups, the nearest miss first; free() them. False when memory runs out. */
bool vs_misfits_find(const struct vs_sweep *sweep, struct vs_misfits **groups, size_t *count);

#endif
