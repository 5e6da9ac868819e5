/* Statistics of samples (GSL). Quantiles interpolate linearly between order statistics. */
#ifndef VS_BASE_STATS_H
#define VS_BASE_STATS_H

#include <stddef.h>

double vs_mean(const double *x, size_t n); /* NaN when n is 0 */
/* q in [0, 1]; sorts x in place. NaN when n is 0. */
double vs_quantile(double *x, size_t n, double q);

#endif
