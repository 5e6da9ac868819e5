#include "calib/nonlinear.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"

#define DIFFERENCE 0.01  /* step of a derivative: above the clock's rounding, below what bends */
#define NOISE 0.05       /* of a measurement, before the residuals say more */
#define NOISE_LEAST 0.01 /* no measurement is known better */
#define SEEN 0.02        /* a row whose prediction moves by less than this times a step is blind */
#define DEPENDS 0.1      /* of the most dependent row */
#define APART 0.2        /* sine of the least angle at which two numbers can be told apart */
#define STEP_MOST 0.5
#define PRIORS_ASIDE 1e-6 /* of their weight: as good as none, and nothing divides by 0 */
#define SETTLED 5e-4
#define MAD_TO_SIGMA 1.4826
#define NORMAL_95 1.96
#define HUBER 1.345 /* both: 95 % efficient where nothing is an outlier */
#define BISQUARE 4.685
enum { ROUNDS = 12, HALVINGS = 4, REWEIGHTS = 30, RUNS_PER_NUMBER = 3 };

/* While it is fitted. `slope` has a column per number: row i, number j at [j * rows + i]. */
struct work {
    const struct vs_nonlinear *p;
    struct vs_nonlinear_fit *fit;
    double *steps, *trial, *now, *moved, *slope, *residual, *scratch;
    size_t *chosen, count; /* numbers that are fitted */
    bool *seen;            /* runs, while they are counted */
    gsl_matrix *normal;
    gsl_vector *right, *change;
};

static bool allocate(struct vs_arena *arena, struct work *w) {
    const size_t n = w->p->rows, m = w->p->numbers;
    struct vs_nonlinear_fit *fit = w->fit;
    *fit = (struct vs_nonlinear_fit){.sigma = {NOISE, NOISE}};
    fit->numbers = VS_NEW_ARRAY(arena, struct vs_nonlinear_number, m + 1);
    fit->before = VS_NEW_ARRAY(arena, double, n + 1);
    fit->after = VS_NEW_ARRAY(arena, double, n + 1);
    fit->weight = VS_NEW_ARRAY(arena, double, n + 1);
    fit->depends = VS_NEW_ARRAY(arena, bool, n + 1);
    w->steps = VS_NEW_ARRAY(arena, double, m + 1);
    w->trial = VS_NEW_ARRAY(arena, double, m + 1);
    w->now = VS_NEW_ARRAY(arena, double, n + 1);
    w->moved = VS_NEW_ARRAY(arena, double, n + 1);
    w->slope = VS_NEW_ARRAY(arena, double, n *m + 1);
    w->residual = VS_NEW_ARRAY(arena, double, n + 1);
    w->scratch = VS_NEW_ARRAY(arena, double, n *m + n + 1);
    w->seen = VS_NEW_ARRAY(arena, bool, n + 1);
    w->chosen = VS_NEW_ARRAY(arena, size_t, m + 1);
    return fit->numbers && fit->before && fit->after && fit->weight && fit->depends && w->steps &&
           w->trial && w->now && w->moved && w->slope && w->residual && w->scratch && w->seen &&
           w->chosen;
}

/* Predictions at `steps`; a row that has none there stays as it is now. */
static bool predict(struct work *w, const double *steps, double *out, struct vs_err *err) {
    if (!w->p->predict(w->p->ctx, steps, out, err))
        return false;
    for (size_t i = 0; i < w->p->rows; i++)
        if (isnan(out[i]))
            out[i] = w->now[i];
    return true;
}

/* The column of number j, away from the nearer bound. */
static bool derive(struct work *w, size_t j, struct vs_err *err) {
    const size_t n = w->p->rows;
    double h = w->steps[j] + DIFFERENCE <= w->p->high[j] ? DIFFERENCE : -DIFFERENCE;
    memcpy(w->trial, w->steps, w->p->numbers * sizeof *w->trial);
    w->trial[j] += h;
    if (!predict(w, w->trial, w->moved, err))
        return false;
    for (size_t i = 0; i < n; i++)
        w->slope[j * n + i] = (w->moved[i] - w->now[i]) / h;
    return true;
}

/* ---- which numbers the rows carry ---- */

static double length_of(const double *column, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += column[i] * column[i];
    return sqrt(sum);
}

/* Takes out of `column` what lies along `unit`. */
static void project(double *column, const double *unit, size_t n) {
    double along = 0;
    for (size_t i = 0; i < n; i++)
        along += column[i] * unit[i];
    for (size_t i = 0; i < n; i++)
        column[i] -= along * unit[i];
}

static void count_rows(struct work *w, size_t j) {
    const size_t n = w->p->rows;
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, fabs(w->slope[j * n + i]));
    struct vs_nonlinear_number *number = &w->fit->numbers[j];
    number->verdict = most < SEEN ? VS_UNSEEN : VS_WEAK;
    number->rows = 0;
    for (size_t i = 0; most >= SEEN && i < n; i++)
        number->rows += fabs(w->slope[j * n + i]) >= DEPENDS * most;
}

/* Marks the rows that depend on number j too, and counts the runs of all that are marked. */
static size_t mark_rows(struct work *w, size_t j) {
    const size_t n = w->p->rows;
    size_t runs = 0;
    memset(w->seen, 0, n * sizeof *w->seen);
    for (size_t i = 0; i < n; i++) {
        bool *depends = &w->fit->depends[i];
        *depends = *depends || fabs(w->slope[j * n + i]) >= SEEN;
        runs += *depends && !w->seen[w->p->run[i]];
        w->seen[w->p->run[i]] = w->seen[w->p->run[i]] || *depends;
    }
    return runs;
}

/* The chosen number whose column is most like that of j. */
static size_t most_alike(const struct work *w, size_t j) {
    const size_t n = w->p->rows;
    size_t best = j;
    double most = -1;
    for (size_t c = 0; c < w->count; c++) {
        const double *a = &w->slope[j * n], *b = &w->slope[w->chosen[c] * n];
        double along = 0;
        for (size_t i = 0; i < n; i++)
            along += a[i] * b[i];
        double likeness = fabs(along) / (length_of(a, n) * length_of(b, n));
        if (likeness > most) {
            most = likeness;
            best = w->chosen[c];
        }
    }
    return best;
}

/* Columns in units of what a prior's width does to a row's noise, the most telling first, each less
 * what those before it tell (Gram-Schmidt with pivots). A number is taken while what is left of its
 * column says more than its prior, and is no mere rest of others'. */
static void choose(struct work *w) {
    const size_t n = w->p->rows, m = w->p->numbers;
    double *left = w->scratch;
    for (size_t j = 0; j < m; j++) {
        count_rows(w, j);
        for (size_t i = 0; i < n; i++)
            left[j * n + i] = w->slope[j * n + i] * w->p->width[j] / NOISE;
    }
    for (;;) {
        size_t best = m;
        double most = 1;
        for (size_t j = 0; j < m; j++) {
            struct vs_nonlinear_number *number = &w->fit->numbers[j];
            if (number->verdict != VS_WEAK)
                continue;
            double rest = length_of(&left[j * n], n);
            double whole = length_of(&w->slope[j * n], n) * w->p->width[j] / NOISE;
            if (rest < APART * whole && whole > 1) {
                number->verdict = VS_ALIKE;
                number->like = most_alike(w, j);
            } else if (rest > most) {
                most = rest;
                best = j;
            }
        }
        if (best == m)
            return;
        bool room = (w->count + 1) * RUNS_PER_NUMBER <= mark_rows(w, best) || w->count == 0;
        w->fit->numbers[best].verdict = room ? VS_CARRIED : VS_TOO_MANY;
        if (!room)
            continue;
        w->chosen[w->count++] = best;
        double *unit = &left[best * n];
        for (size_t i = 0; i < n; i++)
            unit[i] /= most;
        for (size_t j = 0; j < m; j++)
            if (j != best)
                project(&left[j * n], unit, n);
    }
}

/* ---- the fit ---- */

static double weight_of(double u, bool hard) {
    if (!hard)
        return fabs(u) <= HUBER ? 1 : HUBER / fabs(u);
    double v = u / BISQUARE;
    return fabs(v) < 1 ? (1 - v * v) * (1 - v * v) : 0;
}

/* The scale of the residuals of a kind, from their median size: of as many rows as are left beside
 * the numbers. */
static double scale_of(struct work *w, bool kind) {
    size_t n = 0;
    for (size_t i = 0; i < w->p->rows; i++)
        if (w->fit->depends[i] && w->p->kind[i] == kind)
            w->scratch[n++] = fabs(w->residual[i]);
    if (n < w->count + RUNS_PER_NUMBER)
        return NOISE;
    double freedom = sqrt((double)n / (double)(n - w->count));
    return fmax(MAD_TO_SIGMA * freedom * vs_quantile(w->scratch, n, 0.5), NOISE_LEAST);
}

/* How a step is found, in thirds of the rounds: by rows alone and the noise of usual measurements;
 * then by the noise that is left over, with the far rows left out; last with the priors. The noise
 * is that beside what rows themselves say: beside a prior that is far off, all of them would pass
 * for noise. */
enum stage { BY_ROWS, BY_THEIR_NOISE, WITH_PRIORS };

/* Rows by their distance, in units of their kind's scale. */
static void reweigh(struct work *w, enum stage stage) {
    struct vs_nonlinear_fit *fit = w->fit;
    for (size_t kind = 0; kind < 2 && stage != WITH_PRIORS; kind++)
        fit->sigma[kind] = stage == BY_ROWS ? NOISE : scale_of(w, kind == 1);
    for (size_t i = 0; i < w->p->rows; i++)
        fit->weight[i] = fit->depends[i] ? weight_of(w->residual[i] / fit->sigma[w->p->kind[i]],
                                                     stage != BY_ROWS)
                                         : 0;
}

/* What a row counts in sums of squares. */
static double worth(const struct work *w, size_t i) {
    double sigma = w->fit->sigma[w->p->kind[i]];
    return w->fit->weight[i] / (sigma * sigma);
}

/* The normal equations of rows and priors, weighted. */
static void make_normal(struct work *w, double priors) {
    const size_t n = w->p->rows;
    for (size_t a = 0; a < w->count; a++) {
        size_t j = w->chosen[a];
        const double *left = &w->slope[j * n];
        double prior = priors / (w->p->width[j] * w->p->width[j]), side = -prior * w->steps[j];
        for (size_t i = 0; i < n; i++)
            side -= worth(w, i) * left[i] * (w->now[i] - w->p->measured[i]);
        gsl_vector_set(w->right, a, side);
        for (size_t b = 0; b < w->count; b++) {
            const double *right = &w->slope[w->chosen[b] * n];
            double sum = a == b ? prior : 0;
            for (size_t i = 0; i < n; i++)
                sum += worth(w, i) * left[i] * right[i];
            gsl_matrix_set(w->normal, a, b, sum);
        }
    }
}

/* The step that is best for the linearized rows: weights follow residuals until both settle. */
static bool solve(struct work *w, struct vs_err *err) {
    const size_t n = w->p->rows;
    memcpy(w->residual, w->now, n * sizeof *w->residual);
    for (size_t i = 0; i < n; i++)
        w->residual[i] -= w->p->measured[i];
    for (int round = 0; round < REWEIGHTS; round++) {
        enum stage stage = (enum stage)(3 * round / REWEIGHTS);
        reweigh(w, stage);
        make_normal(w, stage == WITH_PRIORS ? 1 : PRIORS_ASIDE);
        if (gsl_linalg_cholesky_decomp1(w->normal) != GSL_SUCCESS ||
            gsl_linalg_cholesky_solve(w->normal, w->right, w->change) != GSL_SUCCESS)
            return vs_err_set(err, VS_ERR_INPUT, "the rows follow no number of the profile");
        for (size_t i = 0; i < n; i++) {
            w->residual[i] = w->now[i] - w->p->measured[i];
            for (size_t a = 0; a < w->count; a++)
                w->residual[i] += w->slope[w->chosen[a] * n + i] * gsl_vector_get(w->change, a);
        }
    }
    return true;
}

/* What the fit makes least, at given weights. */
static double objective(const struct work *w, const double *steps, const double *predicted) {
    double sum = 0;
    for (size_t i = 0; i < w->p->rows; i++) {
        double r = predicted[i] - w->p->measured[i];
        sum += worth(w, i) * r * r;
    }
    for (size_t j = 0; j < w->p->numbers; j++)
        sum += steps[j] * steps[j] / (w->p->width[j] * w->p->width[j]);
    return sum;
}

/* Goes along the change as far as it helps; *moved = the largest change of a number. */
static bool advance(struct work *w, double *moved, struct vs_err *err) {
    double most = 0, before = objective(w, w->steps, w->now);
    for (size_t a = 0; a < w->count; a++)
        most = fmax(most, fabs(gsl_vector_get(w->change, a)));
    double part = most > STEP_MOST ? STEP_MOST / most : 1;
    for (int i = 0; i < HALVINGS; i++, part /= 2) {
        memcpy(w->trial, w->steps, w->p->numbers * sizeof *w->trial);
        *moved = 0;
        for (size_t a = 0; a < w->count; a++) {
            size_t j = w->chosen[a];
            double to = w->steps[j] + part * gsl_vector_get(w->change, a);
            w->trial[j] = fmin(w->p->high[j], fmax(w->p->low[j], to));
            *moved = fmax(*moved, fabs(w->trial[j] - w->steps[j]));
        }
        if (!predict(w, w->trial, w->moved, err))
            return false;
        if (objective(w, w->trial, w->moved) <= before)
            break;
        *moved = i + 1 < HALVINGS ? *moved : 0;
    }
    if (*moved > 0) {
        memcpy(w->steps, w->trial, w->p->numbers * sizeof *w->steps);
        memcpy(w->now, w->moved, w->p->rows * sizeof *w->now);
    }
    return true;
}

static bool derive_chosen(struct work *w, struct vs_err *err) {
    for (size_t a = 0; a < w->count; a++)
        if (!derive(w, w->chosen[a], err))
            return false;
    return true;
}

static bool search(struct work *w, struct vs_err *err) {
    double moved = 1;
    for (int round = 0; round < ROUNDS && moved > SETTLED; round++) {
        if ((round > 0 && !derive_chosen(w, err)) || !solve(w, err) || !advance(w, &moved, err))
            return false;
    }
    return solve(w, err);
}

/* Intervals: the inverse of the last normal matrix, whose factor `normal` holds. */
static bool read_numbers(struct work *w, struct vs_err *err) {
    if (gsl_linalg_cholesky_invert(w->normal) != GSL_SUCCESS)
        return vs_err_set(err, VS_ERR_INPUT, "the rows follow no number of the profile");
    for (size_t a = 0; a < w->count; a++) {
        struct vs_nonlinear_number *number = &w->fit->numbers[w->chosen[a]];
        number->step = w->steps[w->chosen[a]];
        number->half = NORMAL_95 * sqrt(gsl_matrix_get(w->normal, a, a));
    }
    return true;
}

static bool fit_chosen(struct work *w, struct vs_err *err) {
    gsl_error_handler_t *before = gsl_set_error_handler_off();
    w->normal = gsl_matrix_alloc(w->count, w->count);
    w->right = gsl_vector_alloc(w->count);
    w->change = gsl_vector_alloc(w->count);
    bool ok = w->normal && w->right && w->change ? search(w, err) && read_numbers(w, err)
                                                 : vs_err_nomem(err);
    (void)gsl_set_error_handler(before);
    gsl_matrix_free(w->normal);
    gsl_vector_free(w->right);
    gsl_vector_free(w->change);
    return ok;
}

bool vs_fit_nonlinear(struct vs_arena *arena, const struct vs_nonlinear *problem,
                      struct vs_nonlinear_fit *fit, struct vs_err *err) {
    struct work w = {.p = problem, .fit = fit};
    const size_t n = problem->rows;
    if (!allocate(arena, &w))
        return vs_err_nomem(err);
    if (!problem->predict(problem->ctx, w.steps, fit->before, err))
        return false;
    memcpy(w.now, fit->before, n * sizeof *w.now);
    for (size_t j = 0; j < problem->numbers; j++)
        if (!derive(&w, j, err))
            return false;
    choose(&w);
    if (w.count > 0 && !fit_chosen(&w, err))
        return false;
    memcpy(fit->after, w.now, n * sizeof *fit->after);
    for (size_t i = 0; i < n; i++) {
        if (fit->depends[i]) {
            bool far = fit->weight[i] < VS_NONLINEAR_OUTLIER;
            fit->outliers += far;
            fit->used += !far;
        }
    }
    return w.count == 0 || fit->used > 0 ||
           vs_err_set(err, VS_ERR_INPUT,
                      "no fit passes near a row: all are too far from the profile, or from each "
                      "other");
}
