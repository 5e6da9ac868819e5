/* Random numbers from GSL's Mersenne twister, seeded explicitly: the same seed gives the same
 * numbers. */
#ifndef VS_BASE_RNG_H
#define VS_BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

struct vs_rng;

struct vs_rng *vs_rng_new(uint64_t seed); /* NULL when memory runs out */
void vs_rng_free(struct vs_rng *rng);
double vs_rng_uniform(struct vs_rng *rng);             /* [0, 1) */
uint64_t vs_rng_below(struct vs_rng *rng, uint64_t n); /* 0..n-1, n > 0 */
double vs_rng_exponential(struct vs_rng *rng, double mean);
double vs_rng_gamma(struct vs_rng *rng, double shape, double scale);

#endif
