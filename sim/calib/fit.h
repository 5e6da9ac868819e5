/* Numbers from samples, by robust statistics and least squares (GSL). Times of real machines have
 * outliers (another process, a clock that changed): they are left out by their distance and
 * counted, never averaged in. */
#ifndef VS_CALIB_FIT_H
#define VS_CALIB_FIT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* A number with half of its 95 % interval. */
struct vs_fitted {
    double value, half;
    size_t used, outliers; /* measurements */
};

/* The median of x; outliers lie more than five times the scaled median deviation from it. x keeps
 * its order. False when memory runs out. */
bool vs_fit_median(const double *x, size_t n, struct vs_fitted *fitted, struct vs_err *err);

/* t = latency + amount / rate by robust regression (bisquare weights). Errors: fewer than three
 * points, or all of one amount, or a rate that is not above 0. A latency below 0 is 0. The same law
 * says what a kernel reaches by size: amount / t = rate x amount / (amount + rate x latency). */
bool vs_fit_line(const double *amount, const double *seconds, size_t n, struct vs_fitted *latency,
                 struct vs_fitted *rate, struct vs_err *err);

#endif
