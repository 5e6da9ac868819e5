/* Predicted against measured, engine by engine: rows with both, not of low trust. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/errors.h"
#include "report/plot/book.h"

enum { ENGINES_MOST = 20 };

struct engine {
    const char *name;
    size_t cases;
};

/* Metrics by unit: speeds, memory, times, and the rest (counts). */
static int unit_of(const char *metric) {
    char name[64];
    enum vs_metric found;
    const size_t length = vs_errors_metric_length(metric);
    if (length >= sizeof name)
        return 4;
    memcpy(name, metric, length);
    name[length] = '\0';
    if (!vs_metric_find(name, &found))
        return 4;
    const char *unit = vs_metric_info(found)->unit;
    return vs_streq(unit, "tok/s") ? 1 : vs_streq(unit, "GiB") ? 2 : vs_streq(unit, "s") ? 3 : 4;
}

/* Whether something fits has no place on an axis. */
static bool shown(const struct vs_case_row *row) {
    return !row->low_trust && !vs_streq(row->metric, "fits") && row->measured > 0 &&
           row->predicted > 0 && isfinite(row->measured) && isfinite(row->predicted);
}

static int by_cases(const void *a, const void *b) {
    const struct engine *x = a, *y = b;
    if (x->cases != y->cases)
        return x->cases > y->cases ? -1 : 1;
    return strcmp(x->name, y->name);
}

static size_t engines_find(const struct vs_validation *v, const struct vs_names *names,
                           struct engine *engines) {
    size_t count = 0;
    for (size_t e = 0; e < names->count; e++) {
        struct engine engine = {names->at[e], 0};
        for (size_t i = 0; i < v->row_count; i++)
            engine.cases += shown(&v->rows[i]) && vs_streq(v->rows[i].engine, engine.name);
        if (engine.cases > 0)
            engines[count++] = engine;
    }
    qsort(engines, count, sizeof *engines, by_cases);
    return count < ENGINES_MOST ? count : ENGINES_MOST;
}

static void put_row(struct vs_book *book, const struct vs_case_row *row, size_t engine) {
    vs_book_number(book, (double)engine + 1);
    vs_book_number(book, unit_of(row->metric));
    vs_book_number(book, row->measured);
    vs_book_number(book, row->predicted);
    vs_book_text(book, row->metric);
    vs_book_text(book, row->id);
}

/* The rows of one engine, and the range of their numbers. */
static void put_rows(struct vs_book *book, const struct engine *engine, size_t place, double *low,
                     double *high) {
    const struct vs_validation *v = book->result->validation;
    *low = (double)INFINITY;
    *high = 0;
    for (size_t i = 0; i < v->row_count; i++) {
        const struct vs_case_row *row = &v->rows[i];
        if (!shown(row) || !vs_streq(row->engine, engine->name))
            continue;
        put_row(book, row, place);
        *low = fmin(*low, fmin(row->measured, row->predicted));
        *high = fmax(*high, fmax(row->measured, row->predicted));
    }
}

/* "median 3.1 %, 90 % in 15 %" */
static const char *statistics(struct vs_book *book, const struct engine *engine) {
    struct vs_errors errors;
    const struct vs_pick pick = {NULL, engine->name, false};
    if (!vs_errors_find(book->result->validation, &pick, &errors))
        return NULL;
    return vs_arena_printf(&book->arena, "median %.1f %%, 90 %% in %.0f %%", 100 * errors.median,
                           100 * errors.p90);
}

static void put_engines(struct vs_book *book, const struct engine *engines, size_t count) {
    const char *names[ENGINES_MOST], *titles[ENGINES_MOST];
    double lows[ENGINES_MOST], highs[ENGINES_MOST];
    for (size_t e = 0; e < count; e++) {
        names[e] = vs_arena_printf(&book->arena, "%s (%zu)", engines[e].name, engines[e].cases);
        titles[e] = statistics(book, &engines[e]);
        book->failed = book->failed || !titles[e] || !names[e];
        put_rows(book, &engines[e], e, &lows[e], &highs[e]);
    }
    vs_book_numbers(book, "cases_lows", lows, count);
    vs_book_numbers(book, "cases_highs", highs, count);
    vs_book_value(book, "cases_engines", (double)count);
    if (book->failed)
        return;
    vs_book_list(book, "cases_names", names, count);
    vs_book_list(book, "cases_titles", titles, count);
}

static void write(struct vs_book *book) {
    const struct vs_validation *v = book->result->validation;
    struct vs_names names;
    struct vs_errors all;
    const struct vs_pick any = {NULL, NULL, false};
    if (!v)
        return;
    bool ok = vs_errors_engines(&book->arena, v, &names) && vs_errors_find(v, &any, &all);
    struct engine *engines = ok ? VS_NEW_ARRAY(&book->arena, struct engine, names.count + 1) : NULL;
    if (!engines) {
        book->failed = true;
        return;
    }
    const size_t count = engines_find(v, &names, engines);
    vs_book_begin(book, "cases", "engine\tunit\tmeasured\tpredicted\tmetric\tid");
    put_engines(book, engines, count);
    vs_book_value(book, "cases_median", all.median);
    vs_book_value(book, "cases_p90", all.p90);
}

const struct vs_plot_table vs_plot_table_cases = {write};
