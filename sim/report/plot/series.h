/* Lines of a plot: points that differ on one axis of numbers, one line to each combination of what
 * else they differ in. */
#ifndef VS_REPORT_PLOT_SERIES_H
#define VS_REPORT_PLOT_SERIES_H

#include "report/plot/book.h"
#include "report/plot/differ.h"

enum { VS_SERIES_MOST = 8 }; /* as many as can be told apart */

struct vs_series_node {
    double x, y; /* y NaN = it does not fit */
    size_t line;
};
struct vs_series {
    enum vs_axis axis;
    VS_VEC(struct vs_series_node) nodes; /* line by line, by x */
    const char *names[VS_SERIES_MOST];
    size_t count, left_out; /* lines; points of those beyond the most */
};

/* A point and its y. */
struct vs_series_point {
    const struct vs_outcome *point;
    double y;
};

/* The axis is the first of shape that has several numbers, other than the one that was `searched`
 * (VS_AXIS_COUNT = none). No lines where there is none. False when memory runs out. */
bool vs_series_make(struct vs_book *book, const struct vs_series_point *points, size_t count,
                    enum vs_axis searched, struct vs_series *series);
void vs_series_release(struct vs_series *series);

/* Rows "line x y" of a table; values NAME (lines), NAME_names, NAME_axis, NAME_title,
 * NAME_highest, NAME_numbers (where the axis has points), NAME_number_count. */
void vs_series_write(struct vs_book *book, const char *name, const struct vs_series *series);

#endif
