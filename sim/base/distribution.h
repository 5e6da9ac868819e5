/* A sample of positive numbers that may get long: mean and quantiles. Exact while it has at most
 * 100,000 of them; beyond, quantiles come from a histogram that parts each octave into 1,024 equal
 * bins (0.05 to 0.1 % of the value), and memory no longer grows. */
#ifndef VS_BASE_DISTRIBUTION_H
#define VS_BASE_DISTRIBUTION_H

#include <stdint.h>

#include "base/vec.h"

enum { VS_DISTRIBUTION_EXACT = 100000 };

/* All-zero is empty and ready. */
struct vs_distribution {
    VS_VEC(double) exact; /* all, while they are few */
    uint64_t *bins;       /* NULL until then */
    uint64_t count;
    double sum;
};
void vs_distribution_release(struct vs_distribution *d);

/* Values from 2^-40 to 2^40; what is outside counts as the nearest of these in quantiles. False
 * when memory runs out. */
bool vs_distribution_add(struct vs_distribution *d, double value);
bool vs_distribution_add_many(struct vs_distribution *d, double value, uint64_t times);
double vs_distribution_mean(const struct vs_distribution *d); /* NaN when empty */
/* q in [0, 1], interpolated between order statistics; sorts what is exact. NaN when empty. */
double vs_distribution_quantile(struct vs_distribution *d, double q);

#endif
