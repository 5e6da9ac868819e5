/* Predicts every case of case files and compares with what was measured. */
#ifndef VS_RUN_VALIDATE_H
#define VS_RUN_VALIDATE_H

#include "base/arena.h"
#include "base/err.h"
#include "run/outcome.h"

struct vs_case_row {
    const char *file;
    int line;
    const char *id, *args, *metric, *unit, *trust, *group, *source, *notes;
    const char *engine; /* taken from args, "" when not given */
    const char *arch;   /* generation of the devices of its run; NULL = it did not run */
    double measured;
    double predicted;    /* NaN: failure, or a speed whose prediction is OOM */
    double error;        /* |predicted/measured - 1|; fits: 0 right, 1 wrong; OOM: 1 */
    double signed_error; /* predicted/measured - 1 */
    double low, high;    /* 80 % interval or NaN */
    const char *failure; /* NULL, or why the case could not be simulated */
    bool low_trust;
};

struct vs_where {
    const char *field, *pattern;
    bool negate;
};

struct vs_predictor; /* run/predictor.h */

struct vs_validate_options {
    const char *const *paths;
    size_t path_count; /* files or folders */
    const struct vs_where *where;
    size_t where_count;
    unsigned threads;
    void (*progress)(void *ctx, size_t done, size_t total);
    void *progress_ctx;
    const char *const *set_paths; /* --set PATH=VALUE of every case; its own come after them */
    const char *const *set_values;
    size_t set_count;
    const struct vs_predictor *predictor; /* NULL = vs_run and vs_limit_run */
};

struct vs_validation {
    const struct vs_case_row *rows;
    size_t row_count;
    const char *const *skipped_files;
    size_t skipped_count; /* another header */
    size_t distinct_args;
};

bool vs_validate_run(struct vs_arena *arena, const struct vs_validate_options *options,
                     const struct vs_validation **validation, struct vs_err *err);

#endif
