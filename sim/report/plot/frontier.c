/* The most that fits along an axis of numbers: `limit` over a list, such as the largest batch by
 * context. */
#include <math.h>

#include "report/plot/series.h"

/* Limits of the axis that was searched first; a search for another axis is another plot. */
static size_t collect(const struct vs_result *result, struct vs_series_point *list) {
    size_t n = 0;
    for (size_t i = 0; i < result->limit_count; i++) {
        const struct vs_limit *limit = result->limits[i];
        const struct vs_outcome *run = limit->at ? limit->at : limit->beyond;
        if (run && vs_streq(limit->axis, result->limits[0]->axis))
            list[n++] = (struct vs_series_point){run, (double)limit->value};
    }
    return n;
}

static const char *unit_of(enum vs_axis axis) {
    return axis == VS_AXIS_CTX || axis == VS_AXIS_SEQ ? "tokens"
           : axis == VS_AXIS_GPU_LAYERS               ? "layers"
                                                      : "sequences";
}

static void write(struct vs_book *book) {
    const size_t count = book->result->limit_count;
    struct vs_series series;
    enum vs_axis searched;
    if (count == 0 || !vs_axis_find(book->result->limits[0]->axis, &searched))
        return;
    struct vs_series_point *list = VS_NEW_ARRAY(&book->arena, struct vs_series_point, count);
    if (!list || !vs_series_make(book, list, collect(book->result, list), searched, &series)) {
        book->failed = true;
        return;
    }
    vs_series_write(book, "frontier", &series);
    vs_book_words(book, "frontier_searched", book->result->limits[0]->axis);
    vs_book_words(book, "frontier_unit", unit_of(searched));
    vs_series_release(&series);
}

const struct vs_plot_table vs_plot_table_frontier = {write};
