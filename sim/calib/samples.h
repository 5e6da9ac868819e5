/* Samples: what probes measured, as raw seconds (kernels/README.md). Everything lives in the arena.
 */
#ifndef VS_CALIB_SAMPLES_H
#define VS_CALIB_SAMPLES_H

#include "base/arena.h"
#include "base/err.h"

/* One series of repetitions of the same work; zero where something was not said. */
struct vs_sample {
    const char *probe;
    const char *skipped; /* why it was not measured; the rest is empty then */
    const char *unit;    /* of work: "bytes", "flops" */
    double work;         /* of one repetition */
    double threads, bytes, block_bytes, depth, m, n, k;
    double *seconds;
    size_t count;
};

struct vs_samples {
    const char *file, *program, *date, *processor;
    double cores, sockets, ram_bytes, available_bytes;
    double storage_bytes; /* of the file system that was measured; 0 = not said */
    struct vs_sample *at;
    size_t count;
};

/* Reads a document of samples; numbers are checked to be usable (finite, above 0). */
bool vs_samples_read(struct vs_arena *arena, const char *path, struct vs_samples *samples,
                     struct vs_err *err);

/* The first reason why a probe was skipped; NULL when it was measured. "not run" when it is not
 * there. */
const char *vs_samples_skipped(const struct vs_samples *samples, const char *probe);

#endif
