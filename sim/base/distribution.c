#include "base/distribution.h"

#include <math.h>
#include <stdlib.h>

#include "base/stats.h"

enum {
    OCTAVE_LOW = -40,
    OCTAVE_HIGH = 40,
    PARTS = 1024,
    BINS = (OCTAVE_HIGH - OCTAVE_LOW) * PARTS
};

void vs_distribution_release(struct vs_distribution *s) {
    vs_vec_release(&s->exact);
    free(s->bins);
    *s = (struct vs_distribution){.count = 0};
}

/* frexp is exact, unlike a logarithm: the same bin on every machine. */
static size_t bin_of(double value) {
    int octave;
    if (!(value >= ldexp(1, OCTAVE_LOW)))
        return 0;
    if (value >= ldexp(1, OCTAVE_HIGH))
        return BINS - 1;
    double half = frexp(value, &octave); /* value = half x 2^octave, half in [0.5, 1) */
    return (size_t)(octave - 1 - OCTAVE_LOW) * PARTS + (size_t)((2 * half - 1) * PARTS);
}

static double bin_start(size_t bin) {
    int octave = OCTAVE_LOW + (int)(bin / PARTS);
    return ldexp(1 + (double)(bin % PARTS) / PARTS, octave);
}

/* The exact ones go to their bins. */
static bool to_bins(struct vs_distribution *s) {
    s->bins = calloc(BINS, sizeof *s->bins);
    if (!s->bins)
        return false;
    for (size_t i = 0; i < s->exact.count; i++)
        s->bins[bin_of(s->exact.at[i])]++;
    vs_vec_release(&s->exact);
    return true;
}

bool vs_distribution_add_many(struct vs_distribution *s, double value, uint64_t times) {
    bool few = s->count < VS_DISTRIBUTION_EXACT && times <= VS_DISTRIBUTION_EXACT - s->count;
    if (!s->bins && !few && !to_bins(s))
        return false;
    if (s->bins)
        s->bins[bin_of(value)] += times;
    for (uint64_t i = 0; i < times && !s->bins; i++)
        if (!vs_vec_push(&s->exact, value))
            return false;
    s->count += times;
    s->sum += (double)times * value;
    return true;
}

bool vs_distribution_add(struct vs_distribution *s, double value) {
    return vs_distribution_add_many(s, value, 1);
}

double vs_distribution_mean(const struct vs_distribution *s) {
    return s->bins ? s->sum / (double)s->count : vs_mean(s->exact.at, s->exact.count);
}

double vs_distribution_quantile(struct vs_distribution *s, double q) {
    if (!s->bins)
        return vs_quantile(s->exact.at, s->exact.count, q);
    double rank = q * (double)(s->count - 1), before = 0;
    size_t bin = 0;
    while (bin < BINS - 1 && before + (double)s->bins[bin] <= rank)
        before += (double)s->bins[bin++];
    double part = s->bins[bin] > 0 ? (rank - before + 0.5) / (double)s->bins[bin] : 0;
    return bin_start(bin) + (part < 1 ? part : 1) * (bin_start(bin + 1) - bin_start(bin));
}
