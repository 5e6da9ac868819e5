/* Speeds, a bar each, with their intervals; what runs out, where and by how much. */
#include <math.h>
#include <stdio.h>

#include "report/common.h"
#include "report/plot/rows.h"

static void put_fit_remark(struct vs_text *out, const struct vs_outcome *point,
                           enum vs_metric speed) {
    char text[VS_UNIT_TEXT], low[VS_UNIT_TEXT], high[VS_UNIT_TEXT];
    if (isfinite(point->metrics[speed]))
        vs_text_printf(out, "%s tok/s", vs_print_speed(text, point->metrics[speed]));
    if (isfinite(point->interval_low[speed]))
        vs_text_printf(out, " (%s to %s)", vs_print_speed(low, point->interval_low[speed]),
                       vs_print_speed(high, point->interval_high[speed]));
    vs_text_printf(out, ", %s GiB",
                   vs_report_gib_value(text, point->metrics[VS_METRIC_PEAK_VRAM_GIB]));
}

static void put_miss_remark(struct vs_text *out, const struct vs_plot_row *row) {
    char text[VS_UNIT_TEXT];
    vs_text_printf(out, "OOM: %s is %s short (", row->point->oom->pool,
                   vs_print_bytes(text, row->short_bytes));
    vs_report_place(out, row->point->oom);
    vs_text_add(out, ")");
    if (row->alike > 1)
        vs_text_printf(out, "; %zu more there", row->alike - 1);
}

/* Kinds: 0 a heading, 1 fits, 2 runs out. */
static void put_row(struct vs_book *book, const struct vs_plot_rows *rows, size_t i,
                    struct vs_book_extent *extent) {
    const struct vs_plot_row *row = &rows->at[i];
    const struct vs_outcome *p = row->point;
    const enum vs_metric speed = p ? vs_result_speed(p) : VS_METRIC_DECODE_TPS;
    const bool fits = p && p->fits;
    struct vs_text remark = {0};
    vs_book_number(book, (double)i + 1);
    vs_book_number(book, !p ? 0 : fits ? 1 : 2);
    vs_book_number(book, (double)row->family + 1);
    vs_book_number(book, rows->bounds[row->family]);
    vs_book_number(book, fits ? p->metrics[speed] : (double)NAN);
    vs_book_number(book, fits ? p->interval_low[speed] : (double)NAN);
    vs_book_number(book, fits ? p->interval_high[speed] : (double)NAN);
    if (!p)
        vs_text_add(&remark, rows->families[row->family]);
    else if (fits)
        put_fit_remark(&remark, p, speed);
    else
        put_miss_remark(&remark, row);
    book->failed = book->failed || remark.failed;
    vs_book_text(book, vs_text_str(&remark));
    vs_text_release(&remark);
    vs_book_lines(book, p ? vs_report_label(p) : "", VS_PLOT_LABEL_COLUMNS, extent);
}

/* The end of the longest bar or interval; 0 where nothing fits. */
static double fastest(const struct vs_plot_rows *rows) {
    double most = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const struct vs_outcome *p = rows->at[i].point;
        if (!p || !p->fits)
            continue;
        const enum vs_metric speed = vs_result_speed(p);
        most =
            fmax(most, fmax(p->metrics[speed], p->interval_high[speed])); /* NaN is passed over */
    }
    return most;
}

static void put_summary(struct vs_book *book, const struct vs_plot_rows *rows) {
    struct vs_text text = {0};
    if (rows->fits == 0)
        vs_text_add(&text, "nothing fits");
    else if (rows->fits_shown < rows->fits)
        vs_text_printf(&text, "the first %zu of %zu that fit, as ranked", rows->fits_shown,
                       rows->fits);
    else
        vs_text_printf(&text, "%zu that fit%s", rows->fits, rows->fits == 1 ? "s" : "");
    if (rows->misfits > 0)
        vs_text_printf(&text, "; %zu run%s out of memory: the nearest miss at each place",
                       rows->misfits, rows->misfits == 1 ? "s" : "");
    book->failed = book->failed || text.failed;
    vs_book_words(book, "bars_summary", vs_text_str(&text));
    vs_text_release(&text);
}

static void write(struct vs_book *book) {
    struct vs_plot_rows rows;
    struct vs_book_extent extent = {1, 1};
    if (!vs_plot_rows_make(book, &rows)) {
        book->failed = true;
        return;
    }
    if (rows.count == 0)
        return;
    vs_book_begin(book, "bars", "place\tkind\tfamily\tbound\tspeed\tlow\thigh\tremark\tlabel");
    for (size_t i = 0; i < rows.count; i++)
        put_row(book, &rows, i, &extent);
    vs_book_value(book, "bars", (double)rows.count);
    vs_book_value(book, "bars_fastest", fastest(&rows));
    vs_book_value(book, "label_columns", (double)extent.columns);
    vs_book_value(book, "label_lines", (double)extent.lines);
    put_summary(book, &rows);
}

const struct vs_plot_table vs_plot_table_bars = {write};
