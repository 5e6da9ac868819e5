/* A validation, for people. */
#include <math.h>
#include <stdio.h>

#include "report/common.h"
#include "report/errors.h"
#include "report/report.h"
#include "report/table.h"

enum { WIDTH = 100, TOP = 20, REASONS = 25 };

struct page {
    struct vs_text *out;
    const struct vs_validation *validation;
    struct vs_arena *arena;
    struct vs_names metrics, engines;
    bool color;
    size_t width, top;
};

static void percent(char out[VS_UNIT_TEXT], double fraction, bool sign) {
    if (isfinite(fraction))
        (void)snprintf(out, VS_UNIT_TEXT, sign ? "%+.1f %%" : "%.1f %%", 100 * fraction);
    else
        (void)snprintf(out, VS_UNIT_TEXT, "-");
}

static void number(char out[VS_UNIT_TEXT], size_t n) {
    (void)snprintf(out, VS_UNIT_TEXT, "%zu", n);
}

static const char *engine_name(const char *engine) {
    return !engine ? "all" : engine[0] != '\0' ? engine : "(default)";
}

static const struct vs_table_column error_columns[] = {
    {"metric", "", false, false},  {"engine", "", false, false}, {"cases", "", true, false},
    {"failed", "", true, false},   {"median", "", true, false},  {"p90", "", true, false},
    {"by group", "", true, false}, {"bias", "", true, false}};
static const struct vs_table_column fits_columns[] = {
    {"metric", "", false, false},      {"engine", "", false, false},
    {"cases", "", true, false},        {"failed", "", true, false},
    {"right", "", true, false},        {"fits:", "right", true, false},
    {"fits:", "ran out", true, false}, {"OOM:", "fitted", true, false},
    {"OOM:", "right", true, false}};

static void add_errors(struct vs_table *table, const char *metric, const char *engine,
                       const struct vs_errors *e) {
    char cases[VS_UNIT_TEXT], failed[VS_UNIT_TEXT], median[VS_UNIT_TEXT], p90[VS_UNIT_TEXT];
    char group[VS_UNIT_TEXT], bias[VS_UNIT_TEXT];
    number(cases, e->cases);
    number(failed, e->failures);
    percent(median, e->median, false);
    percent(p90, e->p90, false);
    percent(group, e->group_median, false);
    percent(bias, e->bias, true);
    const char *const cells[] = {metric, engine_name(engine), cases, failed, median, p90, group,
                                 bias};
    vs_table_add(table, cells, NULL);
}

static void add_fits(struct vs_table *table, const char *metric, const char *engine,
                     const struct vs_errors *e) {
    char cases[VS_UNIT_TEXT], failed[VS_UNIT_TEXT], right[VS_UNIT_TEXT], counts[4][VS_UNIT_TEXT];
    const size_t judged = e->fit_fit + e->fit_oom + e->oom_fit + e->oom_oom;
    number(cases, e->cases);
    number(failed, e->failures);
    percent(right, judged > 0 ? (double)(e->fit_fit + e->oom_oom) / (double)judged : (double)NAN,
            false);
    number(counts[0], e->fit_fit);
    number(counts[1], e->fit_oom);
    number(counts[2], e->oom_fit);
    number(counts[3], e->oom_oom);
    const char *const cells[] = {metric,    engine_name(engine), cases,     failed,   right,
                                 counts[0], counts[1],           counts[2], counts[3]};
    vs_table_add(table, cells, NULL);
}

typedef void add_row(struct vs_table *table, const char *metric, const char *engine,
                     const struct vs_errors *e);

/* A row for all engines, then one for each if there are several. */
static void add_metric(const struct page *page, struct vs_table *table, const char *metric,
                       bool low, add_row *add) {
    struct vs_pick pick = {metric, NULL, low};
    struct vs_errors all, one;
    const char *title = metric ? metric : "all metrics";
    if (!vs_errors_find(page->validation, &pick, &all)) {
        page->out->failed = true;
        return;
    }
    if (all.cases == 0)
        return;
    add(table, title, NULL, &all);
    for (size_t i = 0; i < page->engines.count; i++) {
        pick.engine = page->engines.at[i];
        if (!vs_errors_find(page->validation, &pick, &one)) {
            page->out->failed = true;
            return;
        }
        if (one.cases > 0 && one.cases < all.cases)
            add(table, "", pick.engine, &one);
    }
}

static void heading(const struct page *page, const char *text) {
    vs_text_add(page->out, "\n");
    vs_put_paint(page->out, page->color, "1", text);
    vs_text_add(page->out, "\n\n");
}

static void put_block(const struct page *page, bool low) {
    struct vs_table errors, fits;
    vs_table_init(&errors, error_columns, sizeof error_columns / sizeof error_columns[0]);
    vs_table_init(&fits, fits_columns, sizeof fits_columns / sizeof fits_columns[0]);
    for (size_t i = 0; i < page->metrics.count; i++) {
        const bool is_fits = vs_streq(page->metrics.at[i], "fits");
        add_metric(page, is_fits ? &fits : &errors, page->metrics.at[i], low,
                   is_fits ? add_fits : add_errors);
    }
    if (errors.rows.count > 0)
        add_metric(page, &errors, NULL, low, add_errors);
    if (errors.rows.count + fits.rows.count > 0)
        heading(page, low ? "cases of low trust (in no other figure)"
                          : "error, |predicted/measured - 1|");
    if (errors.rows.count > 0)
        vs_table_print(&errors, page->out, 2, page->width, page->color);
    if (fits.rows.count > 0) {
        vs_text_add(page->out, errors.rows.count > 0 ? "\n" : "");
        vs_table_print(&fits, page->out, 2, page->width, page->color);
    }
    page->out->failed = page->out->failed || errors.failed || fits.failed;
    vs_table_release(&errors);
    vs_table_release(&fits);
}

static void put_failures(const struct page *page) {
    static const struct vs_table_column columns[] = {{"cases", "", true, false},
                                                     {"why", "", false, true}};
    const struct vs_reason *reasons;
    size_t count, rest = 0;
    struct vs_table table;
    if (!vs_errors_reasons(page->arena, page->validation, &reasons, &count)) {
        page->out->failed = true;
        return;
    }
    if (count == 0)
        return;
    vs_table_init(&table, columns, 2);
    for (size_t i = 0; i < count; i++) {
        char n[VS_UNIT_TEXT];
        number(n, reasons[i].count);
        const char *const cells[] = {n, reasons[i].text};
        if (i < REASONS)
            vs_table_add(&table, cells, NULL);
        else
            rest += reasons[i].count;
    }
    heading(page, "not simulated");
    vs_table_print(&table, page->out, 2, page->width, page->color);
    if (rest > 0)
        vs_text_printf(page->out, "  ... and %zu cases for %zu other reasons (--json lists all)\n",
                       rest, count - REASONS);
    vs_table_release(&table);
}

static void put_worst(const struct page *page) {
    static const struct vs_table_column columns[] = {
        {"case", "", false, true},          {"metric", "", false, false},
        {"engine", "", false, false},       {"measured", "", true, false},
        {"predicted", "", true, false},     {"error", "", true, false},
        {"machine|model", "", false, false}};
    const struct vs_case_row *const *rows;
    struct vs_table table;
    size_t count;
    if (!vs_errors_worst(page->arena, page->validation, &rows, &count)) {
        page->out->failed = true;
        return;
    }
    vs_table_init(&table, columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < count && i < page->top && rows[i]->error > 0; i++) {
        const struct vs_case_row *row = rows[i];
        char measured[VS_UNIT_TEXT], predicted[VS_UNIT_TEXT] = "OOM", error[VS_UNIT_TEXT];
        (void)snprintf(measured, sizeof measured, "%.4g", row->measured);
        if (isfinite(row->predicted))
            (void)snprintf(predicted, sizeof predicted, "%.4g", row->predicted);
        percent(error,
                isfinite(row->predicted) && !vs_streq(row->metric, "fits") ? row->signed_error
                                                                           : row->error,
                isfinite(row->predicted) && !vs_streq(row->metric, "fits"));
        const char *const cells[] = {
            row->id, row->metric, engine_name(row->engine), measured, predicted, error, row->group};
        vs_table_add(&table, cells, NULL);
    }
    if (table.rows.count > 0 || table.failed) {
        heading(page, "worst cases");
        vs_table_print(&table, page->out, 2, page->width, page->color);
    }
    vs_table_release(&table);
}

static void put_totals(const struct page *page) {
    const struct vs_validation *v = page->validation;
    size_t failed = 0, low = 0;
    for (size_t i = 0; i < v->row_count; i++) {
        failed += v->rows[i].failure != NULL;
        low += v->rows[i].low_trust;
    }
    vs_text_printf(
        page->out,
        "%zu cases of %zu command lines: %zu predicted, %zu could not be simulated; %zu of "
        "low trust\n",
        v->row_count, v->distinct_args, v->row_count - failed, failed, low);
    for (size_t i = 0; i < v->skipped_count; i++) {
        vs_text_add(page->out, "left out, its header is another: ");
        vs_put(page->out, v->skipped_files[i]);
        vs_text_add(page->out, "\n");
    }
}

void vs_report_validate_table(struct vs_text *out, const struct vs_validation *validation,
                              const struct vs_report_style *style) {
    struct vs_arena arena;
    vs_arena_init(&arena);
    struct page page = {
        .out = out, .validation = validation, .arena = &arena, .color = style->color};
    page.width = style->columns > 0 ? style->columns : WIDTH;
    page.top = style->top > 0 ? style->top : TOP;
    if (vs_errors_metrics(&arena, validation, &page.metrics) &&
        vs_errors_engines(&arena, validation, &page.engines)) {
        put_totals(&page);
        put_block(&page, false);
        put_block(&page, true);
        put_failures(&page);
        put_worst(&page);
    } else {
        out->failed = true;
    }
    vs_arena_release(&arena);
}
