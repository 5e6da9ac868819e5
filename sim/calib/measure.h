/* Runs the probes: a program of its own, vramsim-probe, beside this one or in PATH. */
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

#endif
