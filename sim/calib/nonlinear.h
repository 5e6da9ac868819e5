/* Few numbers of a simulation from many measurements: nonlinear least squares on logarithms, with a
 * prior for each number and weights against outliers.
 *
 * Numbers are steps: the logarithm of what a number becomes over what it was, so 0 is the prior.
 * One evaluation simulates every row, which costs far more than algebra: the search goes by
 * linearized rows (Gauss-Newton), whose weights are settled before the next evaluation.
 *
 * What the rows can't carry stays at its prior, and the verdict says why. */
#ifndef VS_CALIB_NONLINEAR_H
#define VS_CALIB_NONLINEAR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

struct vs_nonlinear {
    size_t rows, numbers;
    const double *measured;   /* logarithms */
    const bool *kind;         /* of each row: rows of a kind have noise of one size */
    const size_t *run;        /* of each row, below `rows`: rows of one run are one measurement */
    const double *width;      /* of each number's prior: one standard deviation of its step */
    const double *low, *high; /* bounds of each step: low <= 0 <= high */
    /* Fills in the logarithm of each row's prediction; NaN where there is none. */
    bool (*predict)(void *ctx, const double *steps, double *predicted, struct vs_err *err);
    void *ctx;
};

#define VS_NONLINEAR_OUTLIER 0.1 /* a row of less weight */

enum vs_verdict {
    VS_CARRIED,
    VS_UNSEEN,  /* no row depends on the number */
    VS_WEAK,    /* the rows say less of it than its prior */
    VS_ALIKE,   /* the rows can't tell it from the number `like` */
    VS_TOO_MANY /* fewer than three runs that depend, for each number */
};

struct vs_nonlinear_number {
    double step, half; /* half of the 95 % interval; of the prior where it isn't carried: 0 */
    enum vs_verdict verdict;
    size_t like;
    size_t rows; /* that depend on it by a tenth of what the most dependent one does, or more */
};

struct vs_nonlinear_fit {
    struct vs_nonlinear_number *numbers;
    double *before, *after; /* logarithms of predictions, per row */
    double *weight;         /* 0..1, per row */
    bool *depends;          /* rows that depend on a number that is carried; others say nothing */
    double sigma[2];        /* of the residuals of each kind, outliers aside */
    size_t used, outliers;  /* of the rows that depend */
};

/* Everything lives in the arena. A row whose prediction is NaN at the start is an error of the
 * caller; one that becomes NaN counts as at the last step. */
bool vs_fit_nonlinear(struct vs_arena *arena, const struct vs_nonlinear *problem,
                      struct vs_nonlinear_fit *fit, struct vs_err *err);

#endif
