/* Samples that may get long: exact while short, from bins beyond. */
#include <math.h>
#include <stdlib.h>

#include "base/distribution.h"
#include "base/rng.h"
#include "unit/suite.h"

START_TEST(exact) {
    struct vs_distribution s = {.count = 0};
    ck_assert(isnan(vs_distribution_mean(&s)));
    for (int i = 4; i >= 1; i--)
        ck_assert(vs_distribution_add(&s, i));
    ck_assert_double_eq(vs_distribution_mean(&s), 2.5);
    ck_assert_double_eq(vs_distribution_quantile(&s, 0), 1);
    ck_assert_double_eq(vs_distribution_quantile(&s, 0.5), 2.5);
    ck_assert_double_eq(vs_distribution_quantile(&s, 1), 4);
    vs_distribution_release(&s);
}
END_TEST

/* Many at once are as many one by one, exactly and in bins. */
START_TEST(many) {
    struct vs_distribution at_once = {.count = 0}, singly = {.count = 0};
    for (uint64_t times = 2; times <= VS_DISTRIBUTION_EXACT; times *= 50) {
        ck_assert(vs_distribution_add_many(&at_once, (double)times, times));
        for (uint64_t i = 0; i < times; i++)
            ck_assert(vs_distribution_add(&singly, (double)times));
        ck_assert_uint_eq(at_once.count, singly.count);
        ck_assert_double_eq(vs_distribution_quantile(&at_once, 0.3),
                            vs_distribution_quantile(&singly, 0.3));
    }
    ck_assert(vs_distribution_add_many(&at_once, 7, VS_DISTRIBUTION_EXACT));
    ck_assert_ptr_nonnull(at_once.bins);
    ck_assert_double_eq_tol(vs_distribution_quantile(&at_once, 0.9), 7, 0.01);
    vs_distribution_release(&at_once);
    vs_distribution_release(&singly);
}
END_TEST

/* Exponential waits, whose quantiles are -log(1 - q): the same numbers exactly and in bins. */
START_TEST(binned) {
    static const double QS[] = {0.01, 0.1, 0.5, 0.9, 0.99, 0.999};
    const int count = 3 * VS_DISTRIBUTION_EXACT;
    struct vs_rng *rng = vs_rng_new(3);
    struct vs_distribution s = {.count = 0};
    double *all = malloc((size_t)count * sizeof *all), sum = 0;
    ck_assert(rng && all);
    for (int i = 0; i < count; i++) {
        all[i] = vs_rng_exponential(rng, 0.2);
        sum += all[i];
        ck_assert(vs_distribution_add(&s, all[i]));
        ck_assert_uint_le(s.exact.count, VS_DISTRIBUTION_EXACT);
    }
    ck_assert_ptr_nonnull(s.bins);
    ck_assert_uint_eq(s.exact.count, 0);
    ck_assert_double_eq_tol(vs_distribution_mean(&s), sum / count, 1e-12);
    for (size_t i = 0; i < sizeof QS / sizeof *QS; i++) {
        double true_one = -0.2 * log(1 - QS[i]);
        ck_assert_double_eq_tol(vs_distribution_quantile(&s, QS[i]) / true_one, 1, 0.03);
    }
    free(all);
    vs_distribution_release(&s);
    vs_rng_free(rng);
}
END_TEST

/* 200,000 equal numbers: no bin is wider than 0.1 % of what is in it. */
START_TEST(width) {
    static const double VALUES[] = {1e-6, 0.0123, 1, 77.7, 86400};
    for (size_t v = 0; v < sizeof VALUES / sizeof *VALUES; v++) {
        struct vs_distribution s = {.count = 0};
        for (int i = 0; i < 2 * VS_DISTRIBUTION_EXACT; i++)
            ck_assert(vs_distribution_add(&s, VALUES[v]));
        ck_assert_double_eq_tol(vs_distribution_quantile(&s, 0) / VALUES[v], 1, 1e-3);
        ck_assert_double_eq_tol(vs_distribution_quantile(&s, 1) / VALUES[v], 1, 1e-3);
        vs_distribution_release(&s);
    }
}
END_TEST

/* What has no bin goes to the nearest. */
START_TEST(outside) {
    static const double VALUES[] = {0, -1, 1e-30, 1e30, (double)INFINITY};
    struct vs_distribution s = {.count = 0};
    for (int i = 0; i < 2 * VS_DISTRIBUTION_EXACT; i++)
        ck_assert(vs_distribution_add(&s, VALUES[i % 5]));
    ck_assert_double_lt(vs_distribution_quantile(&s, 0.5), 1e-11);
    ck_assert_double_gt(vs_distribution_quantile(&s, 0.7), 1e11);
    vs_distribution_release(&s);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("sample");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, exact);
    tcase_add_test(tests, many);
    tcase_add_test(tests, binned);
    tcase_add_test(tests, width);
    tcase_add_test(tests, outside);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
