/* Runs independent jobs on several threads; results may not depend on their number. */
#ifndef VS_BASE_PARALLEL_H
#define VS_BASE_PARALLEL_H

#include <stddef.h>

/* Calls job(ctx, i, worker) once for each i in 0..count-1, in any order, with worker in
 * 0..threads-1. threads 0 = the processors that are available. Falls back to fewer threads where
 * none can be made. */
void vs_parallel(size_t count, unsigned threads, void (*job)(void *ctx, size_t i, unsigned worker),
                 void *ctx);
unsigned vs_parallel_threads(unsigned wanted); /* what 0 stands for */

#endif
