/* The rows of bar charts: points that fit, as ranked, and the nearest miss at each place where
 * others run out, grouped by family. A family is who runs a point and where it keeps what does not
 * stay on the device: "fsdp, parameters in RAM". */
#ifndef VS_REPORT_PLOT_ROWS_H
#define VS_REPORT_PLOT_ROWS_H

#include "report/plot/book.h"

enum { VS_PLOT_LABEL_COLUMNS = 54 }; /* of a bar, in a line */

struct vs_plot_row {
    const struct vs_outcome *point; /* NULL = the heading of a family */
    size_t family;
    uint64_t short_bytes; /* of what does not fit */
    size_t alike;         /* points that run out at the same place, this one included */
};
struct vs_plot_rows {
    struct vs_plot_row *at;
    size_t count;
    const char **families;
    bool *bounds; /* by family: its engine is only a bound */
    size_t family_count;
    size_t fits_shown, fits, misfits;
};

/* In the book's arena; false when memory runs out. No rows where the result has no points. */
bool vs_plot_rows_make(struct vs_book *book, struct vs_plot_rows *rows);

#endif
