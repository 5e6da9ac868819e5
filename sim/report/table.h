/* Aligned text tables, shared by the terminal formats. Columns are as wide as their cells; the one
 * that `wraps` gives way until the table fits, and goes on below. */
#ifndef VS_REPORT_TABLE_H
#define VS_REPORT_TABLE_H

#include "base/arena.h"
#include "base/text.h"
#include "base/vec.h"

struct vs_table_column {
    const char *title, *unit; /* two heading lines; "" = none */
    bool right;               /* numbers */
    bool wraps;
};

struct vs_table_row {
    const char **cells;
    const char *paint; /* ANSI color ("32"), NULL = none */
};

struct vs_table {
    struct vs_arena arena; /* the cells */
    const struct vs_table_column *columns;
    size_t column_count;
    VS_VEC(struct vs_table_row) rows;
    bool failed;
};

void vs_table_init(struct vs_table *table, const struct vs_table_column *columns, size_t count);
/* Copies `column_count` cells; NULL counts as "". */
void vs_table_add(struct vs_table *table, const char *const *cells, const char *paint);
/* Appends the table, `indent` blanks before each line, no line wider than `width` where wrapping
 * can help. */
void vs_table_print(const struct vs_table *table, struct vs_text *out, size_t indent, size_t width,
                    bool color);
void vs_table_markdown(const struct vs_table *table, struct vs_text *out);
void vs_table_release(struct vs_table *table);

/* Text without control characters (they become '?'). */
void vs_put(struct vs_text *out, const char *text);
void vs_put_n(struct vs_text *out, const char *text, size_t length);
/* Characters of a text: bytes that do not continue a UTF-8 sequence. */
size_t vs_put_width(const char *text, size_t length);
void vs_put_blanks(struct vs_text *out, size_t count);
/* Text in an ANSI color, plain where `color` is off. */
void vs_put_paint(struct vs_text *out, bool color, const char *paint, const char *text);
/* Words wrapped at `width`, the first line after `first`, the next ones after as many blanks. */
void vs_put_wrapped(struct vs_text *out, const char *first, const char *text, size_t width);

#endif
