/* The tables and values of one result, as gnuplot reads them.
 *
 *     vs_book_begin(book, "hardware", "place\tname\tspeed");
 *     vs_book_number(book, 1);
 *     vs_book_text(book, "rtx4090");
 *     vs_book_number(book, 115);        each row has as many cells as there are names
 *     vs_book_value(book, "hardware", 1);
 *
 * A table without rows is no table. Values become variables of each script, and are what its needs
 * ask for. Cells and texts hold nothing that gnuplot's reader could stumble over. When memory runs
 * out `failed` is set: check it once. */
#ifndef VS_REPORT_PLOT_BOOK_H
#define VS_REPORT_PLOT_BOOK_H

#include "base/arena.h"
#include "base/text.h"
#include "base/vec.h"
#include "report/result.h"

struct vs_book_table {
    const char *name;
    size_t columns, cells; /* cells that were written */
    struct vs_text text;
};
struct vs_book_value {
    const char *name;
    double number;    /* NaN for a text and for a list */
    const char *line; /* "name = 3" */
};

struct vs_book {
    struct vs_arena arena;
    const struct vs_result *result;
    size_t top; /* rows of bar charts */
    VS_VEC(struct vs_book_table) tables;
    VS_VEC(struct vs_book_value) values;
    bool failed;
};

void vs_book_init(struct vs_book *book, const struct vs_result *result, size_t top);
void vs_book_release(struct vs_book *book);

/* `columns`: names parted by tabs; static. */
void vs_book_begin(struct vs_book *book, const char *name, const char *columns);
void vs_book_number(struct vs_book *book, double number);
void vs_book_text(struct vs_book *book, const char *text);
/* The same in lines of about `width` characters, as few as it takes, at most three. `extent` keeps
 * the most characters of a line and the most lines of a text, for whoever makes room for them. */
struct vs_book_extent {
    size_t columns, lines;
};
void vs_book_lines(struct vs_book *book, const char *text, size_t width,
                   struct vs_book_extent *extent);

void vs_book_value(struct vs_book *book, const char *name, double number);
void vs_book_words(struct vs_book *book, const char *name, const char *text);
/* An array that counts from 1; none where `count` is 0. */
void vs_book_list(struct vs_book *book, const char *name, const char *const *texts, size_t count);

void vs_book_numbers(struct vs_book *book, const char *name, const double *numbers, size_t count);

/* NULL where there is none, or it has no rows. */
const struct vs_book_table *vs_book_table(const struct vs_book *book, const char *name);
bool vs_book_find(const struct vs_book *book, const char *name, double *number);

/* A table of the list: asks the book's result for what it needs, and begins no table where that is
 * not there. */
struct vs_plot_table {
    void (*write)(struct vs_book *book);
};
#define X(id) extern const struct vs_plot_table vs_plot_table_##id;
#include "report/plot/list.def"
#undef X

#endif
