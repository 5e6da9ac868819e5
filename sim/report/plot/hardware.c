/* Hardware compared: for each the best point that an engine can run, or why there is none. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "report/common.h"
#include "report/plot/book.h"
#include "report/plot/differ.h"

/* A point that fits before one that does not, an engine before a bound, then the faster. */
static bool better(const struct vs_outcome *a, const struct vs_outcome *b) {
    if (a->fits != b->fits)
        return a->fits;
    if (a->bound != b->bound)
        return b->bound;
    const enum vs_metric speed = vs_result_speed(a);
    if (a->fits)
        return a->metrics[speed] > b->metrics[speed];
    return a->oom && b->oom && vs_report_short_bytes(a->oom) < vs_report_short_bytes(b->oom);
}

static int by_rank(const void *a, const void *b) {
    const struct vs_outcome *x = *(const struct vs_outcome *const *)a;
    const struct vs_outcome *y = *(const struct vs_outcome *const *)b;
    return better(x, y) ? -1 : better(y, x) ? 1 : 0;
}

static double capacity_gib(const struct vs_outcome *point) {
    const bool known = point->pool_count > 0 && point->pools[0].capacity_bytes != UINT64_MAX;
    return known ? (double)point->pools[0].capacity_bytes / (double)VS_GIB : (double)NAN;
}

/* The label, but for the hardware itself. */
static void put_strategy(struct vs_text *out, const struct vs_outcome *p) {
    const char *label = p->label ? p->label : "";
    if (vs_starts(label, p->hw)) {
        label += strlen(p->hw);
        label += strspn(label, ", ");
    }
    if (label[0] != '\0')
        vs_text_printf(out, "   %s", label);
}

static void put_row(struct vs_book *book, const struct vs_outcome *p, size_t place) {
    const enum vs_metric speed = vs_result_speed(p);
    char text[VS_UNIT_TEXT];
    struct vs_text remark = {0};
    if (p->fits)
        vs_text_printf(&remark, "%s tok/s", vs_print_speed(text, p->metrics[speed]));
    else if (p->oom)
        vs_text_printf(&remark, "OOM: %s short",
                       vs_print_bytes(text, vs_report_short_bytes(p->oom)));
    if (p->fits)
        put_strategy(&remark, p);
    vs_book_number(book, (double)place);
    vs_book_number(book, p->fits ? p->bound ? 2 : 1 : 0);
    vs_book_number(book, p->fits ? p->metrics[speed] : (double)NAN);
    vs_book_number(book, p->fits ? p->interval_low[speed] : (double)NAN);
    vs_book_number(book, p->fits ? p->interval_high[speed] : (double)NAN);
    vs_book_number(book, p->metrics[VS_METRIC_PEAK_VRAM_GIB]);
    vs_book_number(book, capacity_gib(p));
    vs_book_text(book, vs_text_str(&remark));
    vs_book_text(book, p->hw);
    book->failed = book->failed || remark.failed;
    vs_text_release(&remark);
}

static void put_values(struct vs_book *book, const struct vs_outcome *const *best, size_t count) {
    double fastest = 0, largest = 0;
    size_t columns = 0;
    for (size_t n = 0; n < count; n++) {
        const struct vs_outcome *p = best[n];
        const enum vs_metric speed = vs_result_speed(p);
        const size_t length = strlen(p->hw);
        if (p->fits)
            fastest = fmax(fastest, fmax(p->metrics[speed], p->interval_high[speed]));
        const double capacity = capacity_gib(p);
        largest = fmax(largest, isnan(capacity) ? p->metrics[VS_METRIC_PEAK_VRAM_GIB] : capacity);
        columns = length > columns ? length : columns;
    }
    vs_book_value(book, "hardware", (double)count);
    vs_book_value(book, "hardware_fastest", fastest);
    vs_book_value(book, "hardware_largest", largest);
    vs_book_value(book, "hardware_columns", (double)columns);
}

static void write(struct vs_book *book) {
    size_t count;
    struct vs_differ_words names;
    const struct vs_outcome *const *points = vs_result_points(book->result, &count);
    const struct vs_outcome **best =
        VS_NEW_ARRAY(&book->arena, const struct vs_outcome *, count + 1);
    if (!best || !vs_differ_words(&book->arena, points, count, VS_AXIS_HW, &names)) {
        book->failed = true;
        return;
    }
    for (size_t n = 0; n < names.count; n++)
        for (size_t i = 0; i < count; i++)
            if (vs_streq(points[i]->hw, names.at[n]) && (!best[n] || better(points[i], best[n])))
                best[n] = points[i];
    qsort(best, names.count, sizeof(const struct vs_outcome *), by_rank);
    vs_book_begin(book, "hardware", "place\tkind\tspeed\tlow\thigh\tvram\tcapacity\tremark\tname");
    for (size_t n = 0; n < names.count; n++)
        put_row(book, best[n], n + 1);
    put_values(book, best, names.count);
}

const struct vs_plot_table vs_plot_table_hardware = {write};
