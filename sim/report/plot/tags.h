/* The tags that appear in a table of memory, one column each. */
#ifndef VS_REPORT_PLOT_TAGS_H
#define VS_REPORT_PLOT_TAGS_H

#include "report/plot/rows.h"

struct vs_plot_tags {
    const char **at; /* in the order of memory/tags.def: what stays at the bottom comes first */
    size_t count;
};

/* Of pools at the peaks of rows; of the levels of a run. False when memory runs out. */
bool vs_plot_tags_of_rows(struct vs_book *book, const struct vs_plot_rows *rows,
                          struct vs_plot_tags *tags);
bool vs_plot_tags_of_levels(struct vs_book *book, const struct vs_outcome *run,
                            struct vs_plot_tags *tags);

/* Names of columns: `first`, the tags, `last` (may be NULL); NULL when memory runs out (the book
 * knows). */
const char *vs_plot_tags_columns(struct vs_book *book, const struct vs_plot_tags *tags,
                                 const char *first, const char *last);

#endif
