#include "base/rng.h"

#include <stdlib.h>

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>

/* The generator is assembled here and not by gsl_rng_alloc, which ends the process when memory runs
 * out unless a handler common to the whole process is changed. */
struct vs_rng {
    gsl_rng gsl;
};

/* The twister takes 32 bits of seed. The upper half is folded in, so that it counts too; seeds
 * below 2^32 reach GSL unchanged (where 0 stands for 4357). The factor is that of Knuth's
 * multiplicative hash, 2^32 divided by the golden ratio. */
static unsigned long fold(uint64_t seed) {
    uint64_t high = seed >> 32;
    return (unsigned long)((seed ^ (high * 2654435769U)) & 0xFFFFFFFFU);
}

struct vs_rng *vs_rng_new(uint64_t seed) {
    struct vs_rng *rng = malloc(sizeof *rng);
    if (!rng)
        return NULL;
    rng->gsl.type = gsl_rng_mt19937;
    rng->gsl.state = calloc(1, gsl_rng_mt19937->size);
    if (!rng->gsl.state) {
        free(rng);
        return NULL;
    }
    gsl_rng_set(&rng->gsl, fold(seed));
    return rng;
}

void vs_rng_free(struct vs_rng *rng) {
    if (!rng)
        return;
    free(rng->gsl.state);
    free(rng);
}

double vs_rng_uniform(struct vs_rng *rng) { return gsl_rng_uniform(&rng->gsl); }

/* gsl_rng_uniform_int stops the process for n = 0 and n above 2^32 - 1, hence the other ways. */
uint64_t vs_rng_below(struct vs_rng *rng, uint64_t n) {
    if (n <= 1)
        return 0;
    if (n <= 0xFFFFFFFFU)
        return gsl_rng_uniform_int(&rng->gsl, (unsigned long)n);
    /* Values below `skip` = 2^64 mod n would make small results likelier. */
    uint64_t skip = (UINT64_MAX - n + 1) % n;
    for (;;) {
        uint64_t high = gsl_rng_get(&rng->gsl);
        uint64_t value = high << 32 | gsl_rng_get(&rng->gsl);
        if (value >= skip)
            return value % n;
    }
}

double vs_rng_exponential(struct vs_rng *rng, double mean) {
    return gsl_ran_exponential(&rng->gsl, mean);
}

/* Without a positive shape GSL's rejection loop need not end: such a distribution is all 0. */
double vs_rng_gamma(struct vs_rng *rng, double shape, double scale) {
    if (!(shape > 0))
        return 0;
    return gsl_ran_gamma(&rng->gsl, shape, scale);
}
