/* What vramsim-execute printed of a plan that it carried out (kernels/README.md). Everything lives
 * in the arena. */
#ifndef VS_IMPORT_EXECUTED_H
#define VS_IMPORT_EXECUTED_H

#include "base/arena.h"
#include "base/err.h"

struct vs_executed_phase {
    const char *name;
    bool once;          /* it began the process: buffers were filled, no checkpoint was read */
    double predicted_s; /* NaN = not said */
    const double *seconds;
    size_t count; /* 0 = it did not run */
};

/* An operation of one round; seconds since its phase began. */
struct vs_executed_span {
    size_t phase;
    const char *lane, *kind, *what;
    int layer; /* -1 outside the layers */
    double start_s, end_s;
};

struct vs_executed {
    const char *device, *date;
    const struct vs_executed_phase *phases;
    size_t phase_count;
    double device_peak_bytes;           /* 0 = not known; without what the program had for itself */
    double host_peak_bytes;             /* 0 = not known */
    const char *oom_phase, *oom_buffer; /* where memory ran out; NULL = it did not */
    const struct vs_executed_span *spans;
    size_t span_count;
};

bool vs_executed_read(struct vs_arena *arena, const char *path, struct vs_executed *executed,
                      struct vs_err *err);
/* The same over a terminated text that stays; `path` is what messages call it. */
bool vs_executed_over(struct vs_arena *arena, const char *path, const char *text, size_t length,
                      struct vs_executed *executed, struct vs_err *err);

#endif
