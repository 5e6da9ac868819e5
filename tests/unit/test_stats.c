/* Random numbers and statistics. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/rng.h"
#include "base/stats.h"
#include "unit/suite.h"

START_TEST(same_seed_same_numbers) {
    static const uint64_t SEEDS[] = {1, 2, 1 + (1ULL << 32)};
    double first[3] = {0};
    for (size_t i = 0; i < 3; i++) {
        struct vs_rng *a = vs_rng_new(SEEDS[i]), *b = vs_rng_new(SEEDS[i]);
        ck_assert_ptr_nonnull(a);
        ck_assert_ptr_nonnull(b);
        first[i] = vs_rng_uniform(a);
        ck_assert_double_eq(vs_rng_uniform(b), first[i]);
        for (int k = 0; k < 100; k++) {
            ck_assert_double_eq(vs_rng_gamma(a, 2, 3), vs_rng_gamma(b, 2, 3));
            ck_assert_uint_eq(vs_rng_below(a, 1ULL << 40), vs_rng_below(b, 1ULL << 40));
        }
        vs_rng_free(a);
        vs_rng_free(b);
    }
    /* another seed, also in its upper half: other numbers */
    ck_assert_double_ne(first[0], first[1]);
    ck_assert_double_ne(first[0], first[2]);
    vs_rng_free(NULL);
}
END_TEST

/* GSL's own test of mt19937 states its 1000th number for seed 4357: 1186927261. */
START_TEST(known_sequence) {
    struct vs_rng *rng = vs_rng_new(4357);
    double last = 0;
    for (int i = 0; i < 1000; i++)
        last = vs_rng_uniform(rng);
    ck_assert_double_eq(last, 1186927261.0 / 4294967296.0);
    vs_rng_free(rng);
}
END_TEST

START_TEST(ranges) {
    struct vs_rng *rng = vs_rng_new(7);
    bool seen[3] = {false};
    for (int i = 0; i < 1000; i++) {
        double u = vs_rng_uniform(rng);
        ck_assert(u >= 0 && u < 1);
        uint64_t die = vs_rng_below(rng, 3);
        ck_assert_uint_lt(die, 3);
        seen[die] = true;
        ck_assert_uint_lt(vs_rng_below(rng, (1ULL << 63) + 1), (1ULL << 63) + 1);
        ck_assert(vs_rng_exponential(rng, 2) >= 0);
    }
    ck_assert(seen[0] && seen[1] && seen[2]);
    ck_assert_uint_eq(vs_rng_below(rng, 1), 0);
    ck_assert_uint_eq(vs_rng_below(rng, 0), 0);
    ck_assert_uint_le(vs_rng_below(rng, UINT64_MAX), UINT64_MAX - 1);
    ck_assert_double_eq(vs_rng_gamma(rng, 0, 1), 0);
    ck_assert_double_eq(vs_rng_gamma(rng, -1, 1), 0);
    ck_assert_double_eq(vs_rng_gamma(rng, (double)NAN, 1), 0);
    vs_rng_free(rng);
}
END_TEST

/* Means of n draws lie within 5 standard errors: exponential has deviation = mean, gamma has
 * mean = shape * scale and deviation = sqrt(shape) * scale. */
START_TEST(means_of_distributions) {
    enum { N = 10000 };
    struct vs_rng *rng = vs_rng_new(42);
    double *e = calloc(N, sizeof *e), *g = calloc(N, sizeof *g), *b = calloc(N, sizeof *b);
    ck_assert(e && g && b);
    for (size_t i = 0; i < N; i++) {
        e[i] = vs_rng_exponential(rng, 2);
        g[i] = vs_rng_gamma(rng, 4, 0.5);
        b[i] = (double)vs_rng_below(rng, 11); /* mean 5, deviation sqrt(10) */
    }
    ck_assert_double_eq_tol(vs_mean(e, N), 2, 5 * 2 / 100.0);
    ck_assert_double_eq_tol(vs_mean(g, N), 2, 5 * 1 / 100.0);
    ck_assert_double_eq_tol(vs_mean(b, N), 5, 5 * 3.17 / 100.0);
    free(e);
    free(g);
    free(b);
    vs_rng_free(rng);
}
END_TEST

START_TEST(mean) {
    const double x[] = {1, 2, 6};
    ck_assert_double_eq(vs_mean(x, 3), 3);
    ck_assert_double_eq(vs_mean(x, 1), 1);
    ck_assert(isnan(vs_mean(x, 0)));
}
END_TEST

START_TEST(quantiles_interpolate) {
    double x[] = {4, 1, 3, 2};
    ck_assert_double_eq(vs_quantile(x, 4, 0.5), 2.5);
    ck_assert_double_eq(x[0], 1); /* sorted in place */
    ck_assert_double_eq(x[3], 4);
    ck_assert_double_eq(vs_quantile(x, 4, 0), 1);
    ck_assert_double_eq(vs_quantile(x, 4, 1), 4);
    ck_assert_double_eq(vs_quantile(x, 4, 0.25), 1.75);
    ck_assert_double_eq(vs_quantile(x, 1, 0.9), 1);
    /* out of range: the ends */
    ck_assert_double_eq(vs_quantile(x, 4, 2), 4);
    ck_assert_double_eq(vs_quantile(x, 4, -1), 1);
    ck_assert(isnan(vs_quantile(x, 0, 0.5)));
    ck_assert(isnan(vs_quantile(x, 4, (double)NAN)));
    x[2] = (double)NAN;
    ck_assert(isnan(vs_quantile(x, 4, 0.5)));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("stats");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, same_seed_same_numbers);
    tcase_add_test(tests, known_sequence);
    tcase_add_test(tests, ranges);
    tcase_add_test(tests, means_of_distributions);
    tcase_add_test(tests, mean);
    tcase_add_test(tests, quantiles_interpolate);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
