/* Runs the probes: programs of their own, vramsim-probe and vramsim-probe-cuda, beside this one or
 * in PATH. */
#ifndef VS_CALIB_MEASURE_H
#define VS_CALIB_MEASURE_H

#include "base/arena.h"
#include "base/err.h"

struct vs_measure_options {
    bool full;          /* minutes instead of seconds */
    const char *folder; /* where the file of storage probes goes; NULL = the working directory */
};

/* Measures into a new file of samples: *path lives in the arena, the caller removes the file. A
 * probe program that is missing, fails or is interrupted is VS_ERR_IO, and no file stays behind. */
bool vs_measure(struct vs_arena *arena, const struct vs_measure_options *options, const char **path,
                struct vs_err *err);

/* The same of the GPUs. *path is NULL where that program was not built, or ended with status 1
 * after it said that there is no device to measure. */
bool vs_measure_gpu(struct vs_arena *arena, const struct vs_measure_options *options,
                    const char **path, struct vs_err *err);

#endif
