#include "base/stats.h"

#include <math.h>
#include <stdbool.h>

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

double vs_mean(const double *x, size_t n) { return n > 0 ? gsl_stats_mean(x, 1, n) : (double)NAN; }

/* NaN has no place in an order: one among the samples makes the quantile NaN. */
static bool any_nan(const double *x, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (isnan(x[i]))
            return true;
    }
    return false;
}

double vs_quantile(double *x, size_t n, double q) {
    if (n == 0 || isnan(q) || any_nan(x, n))
        return (double)NAN;
    if (q < 0 || q > 1)
        q = q < 0 ? 0 : 1; /* GSL would read outside the array */
    gsl_sort(x, 1, n);
    return gsl_stats_quantile_from_sorted_data(x, 1, n, q);
}
