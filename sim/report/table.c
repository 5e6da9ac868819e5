#include "report/table.h"

#include <string.h>

enum { GAP = 2, WRAP_LEAST = 24, COLUMNS_MOST = 32 };

void vs_put_n(struct vs_text *out, const char *text, size_t length) {
    size_t begin = 0;
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)text[i];
        if (c >= 0x20 && c != 0x7f)
            continue;
        vs_text_addn(out, text + begin, i - begin);
        vs_text_add(out, "?");
        begin = i + 1;
    }
    vs_text_addn(out, text + begin, length - begin);
}

void vs_put(struct vs_text *out, const char *text) {
    if (text)
        vs_put_n(out, text, strlen(text));
}

size_t vs_put_width(const char *text, size_t length) {
    size_t width = 0;
    for (size_t i = 0; i < length; i++)
        width += ((unsigned char)text[i] & 0xc0u) != 0x80u;
    return width;
}

void vs_put_blanks(struct vs_text *out, size_t count) {
    for (size_t i = 0; i < count; i++)
        vs_text_add(out, " ");
}

void vs_put_paint(struct vs_text *out, bool color, const char *paint, const char *text) {
    if (color)
        vs_text_printf(out, "\033[%sm", paint);
    vs_put(out, text);
    if (color)
        vs_text_add(out, "\033[0m");
}

/* Bytes of `text` that fit into `width` characters, broken at a blank where there is one; never 0
 * unless the text is empty. */
static size_t piece_fits(const char *text, size_t width) {
    size_t at = 0, blank = 0, used = 0;
    while (text[at] != '\0') {
        const bool begins = ((unsigned char)text[at] & 0xc0u) != 0x80u;
        if (begins && used == width)
            break;
        if (text[at] == ' ')
            blank = at;
        used += begins;
        at++;
    }
    if (text[at] == '\0' || text[at] == ' ')
        return at;
    return blank > 0 ? blank : at;
}

static size_t skip_blanks(const char *text) { return strspn(text, " "); }

void vs_put_wrapped(struct vs_text *out, const char *first, const char *text, size_t width) {
    const size_t indent = vs_put_width(first, strlen(first));
    const size_t room = width > indent + WRAP_LEAST ? width - indent : WRAP_LEAST;
    vs_text_add(out, first);
    while (true) {
        const size_t length = piece_fits(text, room);
        vs_put_n(out, text, length);
        vs_text_add(out, "\n");
        text += length + skip_blanks(text + length);
        if (*text == '\0')
            return;
        vs_put_blanks(out, indent);
    }
}

void vs_table_init(struct vs_table *table, const struct vs_table_column *columns, size_t count) {
    memset(table, 0, sizeof *table);
    vs_arena_init(&table->arena);
    table->columns = columns;
    table->column_count = count < COLUMNS_MOST ? count : COLUMNS_MOST;
}

void vs_table_add(struct vs_table *table, const char *const *cells, const char *paint) {
    struct vs_table_row row = {VS_NEW_ARRAY(&table->arena, const char *, table->column_count),
                               paint};
    for (size_t i = 0; row.cells && i < table->column_count; i++) {
        row.cells[i] = vs_arena_strdup(&table->arena, cells[i] ? cells[i] : "");
        if (!row.cells[i])
            table->failed = true;
    }
    if (!row.cells || table->failed || !vs_vec_push(&table->rows, row))
        table->failed = true;
}

/* Widths of all columns within `width`. */
static void widths_find(const struct vs_table *table, size_t width, size_t *widths) {
    size_t sum = 0, wraps = table->column_count;
    for (size_t c = 0; c < table->column_count; c++) {
        const char *title = table->columns[c].title, *unit = table->columns[c].unit;
        const size_t unit_width = vs_put_width(unit, strlen(unit));
        widths[c] = vs_put_width(title, strlen(title));
        widths[c] = unit_width > widths[c] ? unit_width : widths[c];
        for (size_t r = 0; r < table->rows.count; r++) {
            const char *cell = table->rows.at[r].cells[c];
            const size_t cell_width = vs_put_width(cell, strlen(cell));
            widths[c] = cell_width > widths[c] ? cell_width : widths[c];
        }
        if (table->columns[c].wraps)
            wraps = c;
        sum += widths[c] + (c > 0 ? GAP : 0);
    }
    if (wraps == table->column_count || sum <= width)
        return;
    const size_t others = sum - widths[wraps];
    size_t room = width > others + WRAP_LEAST ? width - others : WRAP_LEAST;
    widths[wraps] = room < widths[wraps] ? room : widths[wraps];
}

/* One cell of one line; trailing blanks are left out after the last cell that shows something. */
static void cell_print(struct vs_text *line, const char *text, size_t length, size_t width,
                       bool right) {
    const size_t used = vs_put_width(text, length);
    const size_t pad = width > used ? width - used : 0;
    if (right)
        vs_put_blanks(line, pad);
    vs_put_n(line, text, length);
    if (!right)
        vs_put_blanks(line, pad);
}

static void line_end(struct vs_text *out, struct vs_text *line, const char *paint, bool color) {
    size_t length = line->length;
    while (length > 0 && line->at[length - 1] == ' ')
        length--;
    if (color && paint)
        vs_text_printf(out, "\033[%sm", paint);
    vs_text_addn(out, vs_text_str(line), length);
    vs_text_add(out, color && paint ? "\033[0m\n" : "\n");
    out->failed = out->failed || line->failed;
    vs_text_release(line);
}

/* A row takes as many lines as its wrapped cell needs. */
static void row_print(const struct vs_table *table, struct vs_text *out,
                      const struct vs_table_row *row, const size_t *widths, size_t indent,
                      bool color) {
    const char *rest = "";
    bool first = true;
    do {
        struct vs_text line = {0};
        vs_put_blanks(&line, indent);
        for (size_t c = 0; c < table->column_count; c++) {
            const struct vs_table_column *column = &table->columns[c];
            const char *text = column->wraps ? (first ? row->cells[c] : rest)
                               : first       ? row->cells[c]
                                             : "";
            size_t length = strlen(text);
            if (column->wraps) {
                length = piece_fits(text, widths[c]);
                rest = text + length + skip_blanks(text + length);
            }
            vs_put_blanks(&line, c > 0 ? GAP : 0);
            cell_print(&line, text, length, widths[c], column->right);
        }
        line_end(out, &line, row->paint, color);
        first = false;
    } while (*rest != '\0');
}

static void heading_print(const struct vs_table *table, struct vs_text *out, const size_t *widths,
                          size_t indent, bool color) {
    bool units = false;
    struct vs_text line = {0};
    for (size_t c = 0; c < table->column_count; c++)
        units = units || table->columns[c].unit[0] != '\0';
    for (int level = 0; level < (units ? 2 : 1); level++) {
        vs_put_blanks(&line, indent);
        for (size_t c = 0; c < table->column_count; c++) {
            const char *text = level == 0 ? table->columns[c].title : table->columns[c].unit;
            vs_put_blanks(&line, c > 0 ? GAP : 0);
            cell_print(&line, text, strlen(text), widths[c], table->columns[c].right);
        }
        line_end(out, &line, "1", color);
    }
    vs_put_blanks(&line, indent);
    for (size_t c = 0; c < table->column_count; c++) {
        vs_put_blanks(&line, c > 0 ? GAP : 0);
        for (size_t i = 0; i < widths[c]; i++)
            vs_text_add(&line, "-");
    }
    line_end(out, &line, NULL, color);
}

void vs_table_print(const struct vs_table *table, struct vs_text *out, size_t indent, size_t width,
                    bool color) {
    size_t widths[COLUMNS_MOST];
    widths_find(table, width > indent ? width - indent : 0, widths);
    bool headed = false;
    for (size_t c = 0; c < table->column_count; c++)
        headed = headed || table->columns[c].title[0] != '\0';
    if (headed)
        heading_print(table, out, widths, indent, color);
    for (size_t r = 0; r < table->rows.count; r++)
        row_print(table, out, &table->rows.at[r], widths, indent, color);
    out->failed = out->failed || table->failed;
}

static void markdown_cell(struct vs_text *out, const char *text) {
    vs_text_add(out, " ");
    for (; *text != '\0'; text++) {
        if (*text == '|')
            vs_text_add(out, "\\");
        vs_put_n(out, text, 1);
    }
    vs_text_add(out, " |");
}

void vs_table_markdown(const struct vs_table *table, struct vs_text *out) {
    vs_text_add(out, "|");
    for (size_t c = 0; c < table->column_count; c++) {
        struct vs_text title = {0};
        vs_text_add(&title, table->columns[c].title);
        if (table->columns[c].unit[0] != '\0')
            vs_text_printf(&title, " (%s)", table->columns[c].unit);
        markdown_cell(out, vs_text_str(&title));
        out->failed = out->failed || title.failed;
        vs_text_release(&title);
    }
    vs_text_add(out, "\n|");
    for (size_t c = 0; c < table->column_count; c++)
        vs_text_add(out, table->columns[c].right ? "---:|" : "---|");
    vs_text_add(out, "\n");
    for (size_t r = 0; r < table->rows.count; r++) {
        vs_text_add(out, "|");
        for (size_t c = 0; c < table->column_count; c++)
            markdown_cell(out, table->rows.at[r].cells[c]);
        vs_text_add(out, "\n");
    }
    out->failed = out->failed || table->failed;
}

void vs_table_release(struct vs_table *table) {
    vs_vec_release(&table->rows);
    vs_arena_release(&table->arena);
}
