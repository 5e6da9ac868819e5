/* Measured cases (run/cases.h) become numbers of the profile that they name: the free numbers of
 * free.def, as far as the rows carry them, fitted through the simulator. A number's prior is what
 * the profile says, as wide as its method deserves. */
#ifndef VS_CALIB_CASES_H
#define VS_CALIB_CASES_H

#include "calib/nonlinear.h"
#include "calib/profile.h"
#include "run/validate.h"

struct vs_case_number {
    const char *path, *more; /* "with all rates of the link"; "" = it moves alone */
    struct vs_num prior;
    double width; /* of the prior: one standard deviation of the logarithm */
    double value; /* as fitted; the prior's where it isn't carried */
};

struct vs_case_fit {
    const struct vs_machine *machine;
    const struct vs_case_number *numbers; /* as many as `fit` has */
    size_t count;
    const struct vs_case_row *rows; /* that were fitted; predicted as the profile was */
    size_t row_count;
    const struct vs_case_row *failed; /* rows without a prediction; `failure` may be NULL: OOM */
    size_t failed_count;
    size_t low_trust, searched; /* rows left out: low trust; OOM points and yes or no */
    struct vs_nonlinear_fit fit;
    double median_before, median_after; /* of |predicted/measured - 1| of the rows that depend
                                           on a fitted number, outliers included */
    struct vs_profile profile;          /* to be written */
};

struct vs_case_fit_options {
    const char *path, *name; /* case file; the profile's name */
    unsigned threads;
};

/* Errors: rows of several machines, which are named; no row that can be used. */
bool vs_cases_fit(struct vs_arena *arena, const struct vs_case_fit_options *options,
                  struct vs_case_fit *result, struct vs_err *err);

#endif
