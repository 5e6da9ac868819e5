/* Few numbers from many rows: laws whose numbers are known, with noise and outliers, and numbers
 * that the rows don't carry. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "calib/nonlinear.h"
#include "unit/suite.h"

enum { ROWS = 240, NUMBERS = 4, SEEDS = 20 };

/* Seconds of a row: bytes / bandwidth + flops / rate, where both of the numbers are 1 at step 0;
 * the third number moves as the first does, the fourth does nothing. */
struct law {
    double bytes[ROWS], flops[ROWS];
    size_t rows;
    int calls;
};

static struct vs_arena arena;
static struct vs_err err;
static struct law law;
static double measured[ROWS];
static bool kind[ROWS];
static size_t run[ROWS];

static bool predict(void *ctx, const double *steps, double *predicted, struct vs_err *why) {
    struct law *l = ctx;
    (void)why;
    l->calls++;
    for (size_t i = 0; i < l->rows; i++)
        predicted[i] = log(l->bytes[i] / exp(steps[0] + steps[2]) + l->flops[i] / exp(steps[1]));
    return true;
}

static double noise(struct vs_rng *rng) {
    double sum = 0;
    for (int k = 0; k < 12; k++)
        sum += vs_rng_uniform(rng);
    return sum - 6;
}

/* Rows of all mixtures of both kinds of work; every `outliers`th is three times too slow. */
static void make_rows(size_t rows, const double *truth, double sigma, size_t outliers,
                      uint64_t seed) {
    struct vs_rng *rng = vs_rng_new(seed);
    ck_assert_ptr_nonnull(rng);
    law = (struct law){.rows = rows};
    for (size_t i = 0; i < rows; i++) {
        law.bytes[i] = pow(2, (double)(i % 7));
        law.flops[i] = pow(2, (double)(3 * i % 5));
        run[i] = i;
    }
    (void)predict(&law, truth, measured, NULL);
    for (size_t i = 0; i < rows; i++) {
        measured[i] += log(1 + sigma * noise(rng));
        if (outliers > 0 && i % outliers == 3)
            measured[i] += log(3);
    }
    vs_rng_free(rng);
    law.calls = 0;
}

static struct vs_nonlinear_fit fit(const double *width) {
    static const double LOW[NUMBERS] = {-3, -3, -3, -3}, HIGH[NUMBERS] = {3, 3, 3, 3};
    const struct vs_nonlinear problem = {.rows = law.rows,
                                         .numbers = NUMBERS,
                                         .measured = measured,
                                         .kind = kind,
                                         .run = run,
                                         .width = width,
                                         .low = LOW,
                                         .high = HIGH,
                                         .predict = predict,
                                         .ctx = &law};
    struct vs_nonlinear_fit f;
    ck_assert_msg(vs_fit_nonlinear(&arena, &problem, &f, &err), "%s", err.text);
    return f;
}

static void begin(void) { vs_arena_init(&arena); }
static void end(void) { vs_arena_release(&arena); }

static const double TRUTH[NUMBERS] = {0.3, -0.2, 0, 0};
static const double WIDTHS[NUMBERS] = {0.2, 0.2, 0.1, 0.2};

static void recovered(const struct vs_nonlinear_fit *f, double within) {
    for (size_t j = 0; j < 2; j++) {
        ck_assert_int_eq(f->numbers[j].verdict, VS_CARRIED);
        ck_assert_msg(fabs(exp(f->numbers[j].step - TRUTH[j]) - 1) < within, "number %zu: %g", j,
                      exp(f->numbers[j].step - TRUTH[j]) - 1);
        ck_assert_double_gt(f->numbers[j].half, 0);
    }
}

/* What all rows say goes, however far it is from the prior. */
START_TEST(far_off) {
    static const double FAR[NUMBERS] = {0.7, 0.7, 0, 0};
    make_rows(9, FAR, 0, 0, 7);
    struct vs_nonlinear_fit f = fit(WIDTHS);
    ck_assert_double_eq_tol(f.numbers[0].step, 0.7, 0.02);
    ck_assert_double_eq_tol(f.numbers[1].step, 0.7, 0.02);
}
END_TEST

START_TEST(exact) {
    make_rows(ROWS, TRUTH, 0, 0, 7);
    struct vs_nonlinear_fit f = fit(WIDTHS);
    recovered(&f, 3e-3); /* the prior pulls a little */
    ck_assert_uint_eq(f.outliers, 0);
    ck_assert_double_eq_tol(f.after[0], measured[0], 3e-3);
    ck_assert_int_lt(law.calls, 40);
}
END_TEST

START_TEST(noisy) {
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        make_rows(ROWS, TRUTH, 0.05, 0, seed);
        struct vs_nonlinear_fit f = fit(WIDTHS);
        recovered(&f, 0.02);
        ck_assert_double_eq_tol(f.sigma[0], 0.05, 0.02);
    }
}
END_TEST

START_TEST(outliers) {
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        make_rows(ROWS, TRUTH, 0.05, 10, seed);
        struct vs_nonlinear_fit f = fit(WIDTHS);
        recovered(&f, 0.03);
        ck_assert_uint_ge(f.outliers, ROWS / 10);
        ck_assert_uint_le(f.outliers, ROWS / 10 + 2);
        for (size_t i = 3; i < ROWS; i += 10)
            ck_assert_double_lt(f.weight[i], VS_NONLINEAR_OUTLIER);
    }
}
END_TEST

/* The third number is the first one's double with a narrower prior; the fourth is nowhere. */
START_TEST(not_carried) {
    make_rows(ROWS, TRUTH, 0.05, 0, 7);
    struct vs_nonlinear_fit f = fit(WIDTHS);
    ck_assert_int_eq(f.numbers[2].verdict, VS_ALIKE);
    ck_assert_uint_eq(f.numbers[2].like, 0);
    ck_assert_double_eq(f.numbers[2].step, 0);
    ck_assert_int_eq(f.numbers[3].verdict, VS_UNSEEN);
    ck_assert_uint_eq(f.numbers[3].rows, 0);
    ck_assert_uint_ge(f.numbers[0].rows, ROWS - 10);
}
END_TEST

/* Four rows carry one number; a prior that is known within 1 % is better than any four rows; two
 * rows of one run are one. */
START_TEST(few_rows) {
    static const double SURE[NUMBERS] = {0.01, 0.01, 0.01, 0.01};
    make_rows(4, TRUTH, 0, 0, 7);
    struct vs_nonlinear_fit f = fit(WIDTHS);
    int carried = 0, too_many = 0;
    for (size_t j = 0; j < NUMBERS; j++) {
        carried += f.numbers[j].verdict == VS_CARRIED;
        too_many += f.numbers[j].verdict == VS_TOO_MANY;
    }
    ck_assert_int_eq(carried, 1);
    ck_assert_int_ge(too_many, 1);
    f = fit(SURE);
    ck_assert_int_eq(f.numbers[0].verdict, VS_WEAK);
    ck_assert_int_eq(f.numbers[1].verdict, VS_WEAK);
    make_rows(6, TRUTH, 0, 0, 7);
    f = fit(WIDTHS);
    ck_assert(f.numbers[0].verdict == VS_CARRIED && f.numbers[1].verdict == VS_CARRIED);
    memset(run, 0, sizeof run);
    f = fit(WIDTHS);
    ck_assert(f.numbers[0].verdict == VS_TOO_MANY || f.numbers[1].verdict == VS_TOO_MANY);
}
END_TEST

/* A number that may not grow stays at its bound. */
START_TEST(bounds) {
    static const double LOW[NUMBERS] = {-3, -3, -3, -3}, HIGH[NUMBERS] = {0.1, 3, 3, 3};
    make_rows(ROWS, TRUTH, 0, 0, 7);
    const struct vs_nonlinear problem = {.rows = ROWS,
                                         .numbers = 2,
                                         .measured = measured,
                                         .kind = kind,
                                         .run = run,
                                         .width = WIDTHS,
                                         .low = LOW,
                                         .high = HIGH,
                                         .predict = predict,
                                         .ctx = &law};
    struct vs_nonlinear_fit f;
    ck_assert(vs_fit_nonlinear(&arena, &problem, &f, &err));
    ck_assert_double_eq_tol(f.numbers[0].step, 0.1, 1e-9);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("nonlinear");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, exact);
    tcase_add_test(tests, noisy);
    tcase_add_test(tests, outliers);
    tcase_add_test(tests, not_carried);
    tcase_add_test(tests, few_rows);
    tcase_add_test(tests, far_off);
    tcase_add_test(tests, bounds);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
