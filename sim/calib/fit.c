#include "calib/fit.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_multifit.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"

#define MAD_TO_SIGMA 1.4826   /* of a normal distribution */
#define MEDIAN_TO_MEAN 1.2533 /* standard error of the median against the mean's: sqrt(pi / 2) */
#define FAR 5.0
#define CLOCK 1e-4 /* no time is known better, however equal a few are */
#define NORMAL_95 1.96
#define WEIGHT_OF_OUTLIERS 0.1
enum { POINTS_LEAST = 3 };

bool vs_fit_median(const double *x, size_t n, struct vs_fitted *fitted, struct vs_err *err) {
    double *copy = malloc((n ? n : 1) * sizeof *copy);
    *fitted = (struct vs_fitted){.value = (double)NAN};
    if (!copy)
        return vs_err_nomem(err);
    memcpy(copy, x, n * sizeof *copy);
    double median = vs_quantile(copy, n, 0.5), squares = 0;
    for (size_t i = 0; i < n; i++)
        copy[i] = fabs(x[i] - median);
    double sigma = fmax(MAD_TO_SIGMA * vs_quantile(copy, n, 0.5), CLOCK * fabs(median));
    for (size_t i = 0; i < n; i++) {
        double distance = fabs(x[i] - median);
        if (distance > FAR * sigma) {
            fitted->outliers++;
            continue;
        }
        squares += distance * distance;
        fitted->used++;
    }
    free(copy);
    fitted->value = median;
    if (fitted->used > 1) {
        double deviation = sqrt(squares / (double)(fitted->used - 1));
        fitted->half = NORMAL_95 * MEDIAN_TO_MEAN * deviation / sqrt((double)fitted->used);
    }
    return true;
}

static bool too_few(size_t n, struct vs_err *err) {
    return vs_err_set(err, VS_ERR_INPUT,
                      "found %zu points to fit, expected at least %d of different sizes", n,
                      POINTS_LEAST);
}

static bool all_equal(const double *x, size_t n) {
    for (size_t i = 1; i < n; i++)
        if (x[i] != x[0])
            return false;
    return true;
}

struct line {
    gsl_matrix *x, *covariance;
    gsl_vector *y, *c;
    gsl_multifit_robust_workspace *work;
};

static void release_line(struct line *l) {
    gsl_multifit_robust_free(l->work);
    gsl_matrix_free(l->x);
    gsl_matrix_free(l->covariance);
    gsl_vector_free(l->y);
    gsl_vector_free(l->c);
}

/* The median time of the points of one amount. */
static double usual_time(const double *amount, const double *seconds, size_t n, double of,
                         double *scratch) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        if (amount[i] == of)
            scratch[count++] = seconds[i];
    return vs_quantile(scratch, count, 0.5);
}

/* The noise of a time grows with it: rows are divided by what is usual for their amount, so that it
 * is alike in all. Amounts are scaled to 1, so that both parameters are of one size. */
static bool make_line(struct line *l, const double *amount, const double *seconds, size_t n,
                      double scale) {
    double *scratch = malloc(n * sizeof *scratch);
    l->x = gsl_matrix_alloc(n, 2);
    l->covariance = gsl_matrix_alloc(2, 2);
    l->y = gsl_vector_alloc(n);
    l->c = gsl_vector_alloc(2);
    l->work = gsl_multifit_robust_alloc(gsl_multifit_robust_bisquare, n, 2);
    bool ok = scratch && l->x && l->covariance && l->y && l->c && l->work;
    for (size_t i = 0; ok && i < n; i++) {
        double usual = usual_time(amount, seconds, n, amount[i], scratch);
        gsl_matrix_set(l->x, i, 0, 1 / usual);
        gsl_matrix_set(l->x, i, 1, amount[i] / scale / usual);
        gsl_vector_set(l->y, i, seconds[i] / usual);
    }
    free(scratch);
    return ok;
}

static size_t count_outliers(const struct line *l, size_t n) {
    const gsl_multifit_robust_stats stats = gsl_multifit_robust_statistics(l->work);
    size_t outliers = 0;
    for (size_t i = 0; stats.weights && i < n; i++)
        outliers += gsl_vector_get(stats.weights, i) < WEIGHT_OF_OUTLIERS;
    return outliers;
}

static bool solve_line(struct line *l, size_t n, double scale, struct vs_fitted *latency,
                       struct vs_fitted *rate, struct vs_err *err) {
    int status = gsl_multifit_robust(l->x, l->y, l->c, l->covariance, l->work);
    double at_zero = gsl_vector_get(l->c, 0), slope = gsl_vector_get(l->c, 1);
    if ((status != GSL_SUCCESS && status != GSL_EMAXITER) || !(slope > 0))
        return vs_err_set(err, VS_ERR_INPUT,
                          "the times don't grow with the amounts: no rate can be fitted");
    size_t outliers = count_outliers(l, n);
    double relative = sqrt(gsl_matrix_get(l->covariance, 1, 1)) / slope;
    *rate = (struct vs_fitted){.value = scale / slope,
                               .half = NORMAL_95 * relative * scale / slope,
                               .used = n - outliers,
                               .outliers = outliers};
    *latency = (struct vs_fitted){.value = at_zero > 0 ? at_zero : 0,
                                  .half = NORMAL_95 * sqrt(gsl_matrix_get(l->covariance, 0, 0)),
                                  .used = n - outliers,
                                  .outliers = outliers};
    return true;
}

bool vs_fit_line(const double *amount, const double *seconds, size_t n, struct vs_fitted *latency,
                 struct vs_fitted *rate, struct vs_err *err) {
    struct line l = {0};
    double scale = 0;
    if (n < POINTS_LEAST || all_equal(amount, n))
        return too_few(n, err);
    for (size_t i = 0; i < n; i++)
        scale = fmax(scale, amount[i]);
    gsl_error_handler_t *before = gsl_set_error_handler_off();
    bool ok = make_line(&l, amount, seconds, n, scale)
                  ? solve_line(&l, n, scale, latency, rate, err)
                  : vs_err_nomem(err);
    release_line(&l);
    (void)gsl_set_error_handler(before);
    return ok;
}
