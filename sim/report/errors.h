/* Error statistics of a validation. */
#ifndef VS_REPORT_ERRORS_H
#define VS_REPORT_ERRORS_H

#include "base/arena.h"
#include "run/validate.h"

/* Which rows: NULL = any. `metric` is without "@gpu0" or "@host", for such rows count with their
 * metric. */
struct vs_pick {
    const char *metric, *engine;
    bool low_trust; /* only rows of trust low, or only the others */
};

struct vs_errors {
    size_t cases, failures;
    /* Of rows with a prediction, `fits` left out. NaN when there are none. */
    size_t compared;
    double median, p90; /* of |predicted/measured - 1|, by row */
    size_t groups;
    double group_median; /* over groups of the group's median */
    double bias;         /* median of predicted/measured - 1 */
    /* Of `fits` rows: predicted and measured. */
    size_t fit_fit, fit_oom /* predicted to fit, ran out */, oom_fit, oom_oom;
};

/* False when memory runs out. */
bool vs_errors_find(const struct vs_validation *validation, const struct vs_pick *pick,
                    struct vs_errors *errors);

/* Length of a metric's name before '@'. */
size_t vs_errors_metric_length(const char *metric);

/* Distinct metrics (in the order of the vocabulary, unknown ones after it) and engines (by name).
 */
struct vs_names {
    const char **at;
    size_t count;
};
bool vs_errors_metrics(struct vs_arena *arena, const struct vs_validation *validation,
                       struct vs_names *names);
bool vs_errors_engines(struct vs_arena *arena, const struct vs_validation *validation,
                       struct vs_names *names);

/* Reasons of failures, the most frequent first, then by text. */
struct vs_reason {
    const char *text;
    size_t count;
};
bool vs_errors_reasons(struct vs_arena *arena, const struct vs_validation *validation,
                       const struct vs_reason **reasons, size_t *count);

/* Rows with a prediction, not of trust low, the largest error first, then in the order of the
 * files. */
bool vs_errors_worst(struct vs_arena *arena, const struct vs_validation *validation,
                     const struct vs_case_row *const **rows, size_t *count);

#endif
