/* Speed along an axis of numbers: context, batch, rate of requests. */
#include <math.h>

#include "report/plot/series.h"

static void write(struct vs_book *book) {
    size_t count;
    struct vs_series series;
    const struct vs_outcome *const *points = vs_result_points(book->result, &count);
    struct vs_series_point *list = VS_NEW_ARRAY(&book->arena, struct vs_series_point, count + 1);
    bool ok = list != NULL;
    for (size_t i = 0; ok && i < count; i++) {
        const struct vs_outcome *p = points[i];
        list[i] =
            (struct vs_series_point){p, p->fits ? p->metrics[vs_result_speed(p)] : (double)NAN};
    }
    ok = ok && vs_series_make(book, list, count, VS_AXIS_COUNT, &series);
    if (ok) {
        vs_series_write(book, "curves", &series);
        vs_book_value(book, "curves_left_out", (double)series.left_out);
        vs_series_release(&series);
    }
    book->failed = book->failed || !ok;
}

const struct vs_plot_table vs_plot_table_curves = {write};
