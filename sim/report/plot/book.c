#include "report/plot/book.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

enum { LINES_MOST = 3 };

void vs_book_init(struct vs_book *book, const struct vs_result *result, size_t top) {
    *book = (struct vs_book){.result = result, .top = top};
    vs_arena_init(&book->arena);
}

void vs_book_release(struct vs_book *book) {
    for (size_t i = 0; i < book->tables.count; i++)
        vs_text_release(&book->tables.at[i].text);
    vs_vec_release(&book->tables);
    vs_vec_release(&book->values);
    vs_arena_release(&book->arena);
}

static struct vs_book_table *current(struct vs_book *book) {
    return &book->tables.at[book->tables.count - 1];
}

void vs_book_begin(struct vs_book *book, const char *name, const char *columns) {
    struct vs_book_table table = {.name = name, .columns = 1};
    for (const char *c = columns; *c != '\0'; c++)
        table.columns += *c == '\t';
    vs_text_printf(&table.text, "%s\n", columns);
    if (vs_vec_push(&book->tables, table))
        return;
    vs_text_release(&table.text);
    book->failed = true;
}

/* The text to which the next cell belongs; NULL when memory has run out. */
static struct vs_text *cell(struct vs_book *book) {
    return book->failed ? NULL : &current(book)->text;
}

static void end_cell(struct vs_book *book) {
    struct vs_book_table *table = current(book);
    table->cells++;
    vs_text_add(&table->text, table->cells % table->columns == 0 ? "\n" : "\t");
    book->failed = book->failed || table->text.failed;
}

void vs_book_number(struct vs_book *book, double number) {
    char text[VS_UNIT_TEXT];
    struct vs_text *out = cell(book);
    if (!out)
        return;
    vs_text_add(out, isfinite(number) ? vs_print_g9(text, number) : "NaN");
    end_cell(book);
}

/* gnuplot reads quotes and backslashes in data; a cell of text is never empty. */
static void put_safe(struct vs_text *out, const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)text[i];
        if (c == '"')
            vs_text_add(out, "\u201d");
        else if (c == '\\')
            vs_text_add(out, "\u2216");
        else if (c < 0x20 || c == 0x7f)
            vs_text_add(out, " ");
        else
            vs_text_addn(out, &text[i], 1);
    }
    if (length == 0)
        vs_text_add(out, " ");
}

void vs_book_text(struct vs_book *book, const char *text) {
    struct vs_text *out = cell(book);
    if (!out)
        return;
    put_safe(out, text ? text : "", text ? strlen(text) : 0);
    end_cell(book);
}

/* Where to cut `text` at a blank, as near to `wanted` as can be; 0 = nowhere. Behind a comma it may
 * be some way off. */
static size_t cut_near(const char *text, size_t length, size_t wanted) {
    size_t cut = 0;
    long least = LONG_MAX;
    for (size_t i = 1; i + 1 < length; i++) {
        const long off = labs((long)i - (long)wanted);
        const long cost = text[i - 1] == ',' ? off : off + (long)wanted / 3;
        if (text[i] != ' ' || cost >= least)
            continue;
        cut = i;
        least = cost;
    }
    return cut;
}

void vs_book_lines(struct vs_book *book, const char *text, size_t width,
                   struct vs_book_extent *extent) {
    struct vs_text *out = cell(book);
    size_t left = strlen(text), longest = 0, made = 1;
    size_t lines = left / width + (left % width > 0);
    if (!out)
        return;
    for (lines = lines < LINES_MOST ? lines : LINES_MOST; lines > 1; lines--) {
        const size_t cut = cut_near(text, left, left / lines);
        if (cut == 0)
            break;
        put_safe(out, text, cut);
        vs_text_add(out, "\\n"); /* gnuplot breaks the line there */
        longest = cut > longest ? cut : longest;
        text += cut + 1;
        left -= cut + 1;
        made++;
    }
    put_safe(out, text, left);
    end_cell(book);
    longest = left > longest ? left : longest;
    extent->columns = longest > extent->columns ? longest : extent->columns;
    extent->lines = made > extent->lines ? made : extent->lines;
}

static void add_value(struct vs_book *book, const char *name, double number, struct vs_text *line) {
    const struct vs_book_value value = {
        name, number, line->failed ? NULL : vs_arena_strdup(&book->arena, vs_text_str(line))};
    if (!value.line || !vs_vec_push(&book->values, value))
        book->failed = true;
    vs_text_release(line);
}

void vs_book_value(struct vs_book *book, const char *name, double number) {
    struct vs_text line = {0};
    char text[VS_UNIT_TEXT];
    vs_text_printf(&line, "%s = %s", name, isfinite(number) ? vs_print_g9(text, number) : "NaN");
    add_value(book, name, number, &line);
}

/* A string of gnuplot's. What is special in double quotes is written in octal: a backtick would
 * start a command there. */
static void put_quoted(struct vs_text *line, const char *text) {
    vs_text_add(line, "\"");
    for (const char *c = text ? text : ""; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\' || *c == '`')
            vs_text_printf(line, "\\%03o", (unsigned)*c);
        else
            vs_text_addn(line, (unsigned char)*c < 0x20 || *c == 0x7f ? " " : c, 1);
    }
    vs_text_add(line, "\"");
}

void vs_book_words(struct vs_book *book, const char *name, const char *text) {
    struct vs_text line = {0};
    vs_text_printf(&line, "%s = ", name);
    put_quoted(&line, text);
    add_value(book, name, (double)NAN, &line);
}

void vs_book_list(struct vs_book *book, const char *name, const char *const *texts, size_t count) {
    struct vs_text line = {0};
    if (count == 0)
        return;
    vs_text_printf(&line, "array %s[%zu] = [", name, count);
    for (size_t i = 0; i < count; i++) {
        vs_text_add(&line, i > 0 ? ", " : "");
        put_quoted(&line, texts[i]);
    }
    vs_text_add(&line, "]");
    add_value(book, name, (double)NAN, &line);
}

void vs_book_numbers(struct vs_book *book, const char *name, const double *numbers, size_t count) {
    struct vs_text line = {0};
    char text[VS_UNIT_TEXT];
    if (count == 0)
        return;
    vs_text_printf(&line, "array %s[%zu] = [", name, count);
    for (size_t i = 0; i < count; i++)
        vs_text_printf(&line, "%s%s", i > 0 ? ", " : "",
                       isfinite(numbers[i]) ? vs_print_g9(text, numbers[i]) : "NaN");
    vs_text_add(&line, "]");
    add_value(book, name, (double)NAN, &line);
}

const struct vs_book_table *vs_book_table(const struct vs_book *book, const char *name) {
    for (size_t i = 0; i < book->tables.count; i++) {
        const struct vs_book_table *table = &book->tables.at[i];
        if (vs_streq(table->name, name) && table->cells > 0)
            return table;
    }
    return NULL;
}

bool vs_book_find(const struct vs_book *book, const char *name, double *number) {
    for (size_t i = 0; i < book->values.count; i++) {
        if (!vs_streq(book->values.at[i].name, name) || isnan(book->values.at[i].number))
            continue;
        *number = book->values.at[i].number;
        return true;
    }
    return false;
}
