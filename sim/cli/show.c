#include "cli/show.h"

#include <stdio.h>

#include "report/table.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

/* JSON can't tell at the beginning how many documents will come: the bracket of an array is put
 * around them at the end, where there are several. */
void vs_doc_open(struct vs_doc *doc) { doc->count = 0; }

void vs_doc_close(struct vs_doc *doc) {
    struct vs_text *out = &doc->cli->out;
    if (!doc->cli->values.json)
        return;
    struct vs_text whole = {0};
    bool array = doc->count > 1;
    vs_text_printf(&whole, "%s%s%s", array ? "[\n" : "", vs_text_str(out), array ? "\n]\n" : "\n");
    whole.failed = whole.failed || out->failed;
    vs_text_release(out);
    *out = whole;
}

static void put_property(struct vs_doc *doc, const char *key, const struct vs_cell *cell) {
    vs_text_printf(&doc->cli->out, "  %-24s %s\n", key, cell->text ? cell->text : "");
}

void vs_doc_begin(struct vs_doc *doc, const char *kind, const char *name, const char *title,
                  const char *file) {
    struct vs_text *out = &doc->cli->out;
    bool json = doc->cli->values.json;
    if (doc->count++ > 0)
        vs_text_add(out, json ? ",\n" : "\n");
    if (json) {
        vs_json_begin(&doc->w, out);
        vs_json_object(&doc->w);
    } else {
        vs_text_printf(out, "%s%s%s\n", name, title ? ": " : "", title ? title : "");
    }
    vs_doc_property(doc, "kind", vs_cell_text(kind));
    if (json) {
        vs_doc_property(doc, "name", vs_cell_text(name));
        vs_doc_property(doc, "title", vs_cell_text(title));
    }
    vs_doc_property(doc, "file", vs_cell_text(file));
}

void vs_doc_property(struct vs_doc *doc, const char *key, struct vs_cell cell) {
    if (!cell.text)
        return;
    if (!doc->cli->values.json) {
        put_property(doc, key, &cell);
        return;
    }
    vs_json_key(&doc->w, key);
    vs_cell_json(&doc->w, &cell);
}

/* The path without its unit is for people, who give --set a unit; with its unit for programs. */
static const struct vs_listing_column NUMBER_COLUMNS[] = {
    {"number", NULL, false, false},    {NULL, "path", false, false},
    {"value", "value", true, false},   {"method", "method", false, false},
    {"source", "source", false, true},
};

/* The column that holds the source. */
enum { SOURCE_COLUMN = 4, WIDTH = 120 };

static const char *source_of(const struct vs_listing *listing, size_t row) {
    return listing->cells.at[row * listing->column_count + SOURCE_COLUMN].text;
}

/* Gives `mark` to every row with the source of `row`; false where that stands only once. */
static bool mark_rows(const struct vs_listing *listing, size_t row, const char *mark,
                      const char **marks) {
    bool again = false;
    for (size_t k = row + 1; k < vs_listing_rows(listing); k++) {
        if (!vs_streq(source_of(listing, k), source_of(listing, row)))
            continue;
        marks[k] = mark;
        again = true;
    }
    marks[row] = again ? mark : NULL;
    return again;
}

/* A source that stands more than once becomes "[1]", explained below the table. */
static void table_of_numbers(struct vs_doc *doc, const struct vs_listing *listing) {
    struct vs_text notes = {0}, *out = &doc->cli->out;
    size_t rows = vs_listing_rows(listing), columns = listing->column_count, count = 0;
    struct vs_listing table = {.heading = listing->heading,
                               .columns = listing->columns,
                               .column_count = columns,
                               .failed = listing->failed};
    const char **marks = VS_NEW_ARRAY(doc->cli->arena, const char *, rows + 1);
    for (size_t row = 0; marks && row < rows; row++) {
        struct vs_cell cells[COUNT_OF(NUMBER_COLUMNS)];
        const char *mark = vs_arena_printf(doc->cli->arena, "[%zu]", count + 1);
        if (!marks[row] && mark_rows(listing, row, mark, marks)) {
            const char *first = vs_arena_printf(doc->cli->arena, "  %-5s", mark);
            vs_put_wrapped(&notes, first ? first : "", source_of(listing, row), WIDTH);
            count++;
        }
        for (size_t i = 0; i < columns; i++)
            cells[i] = listing->cells.at[row * columns + i];
        if (marks[row])
            cells[SOURCE_COLUMN] = vs_cell_text(marks[row]);
        vs_listing_add(&table, cells);
    }
    vs_listing_table(&table, out);
    vs_text_printf(out, "%s%s", count > 0 ? "\n" : "", vs_text_str(&notes));
    out->failed = out->failed || notes.failed || !marks;
    vs_text_release(&notes);
    vs_listing_release(&table);
}

void vs_doc_section(struct vs_doc *doc, const struct vs_listing *listing) {
    struct vs_text *out = &doc->cli->out;
    if (vs_listing_rows(listing) == 0)
        return;
    if (doc->cli->values.json) {
        vs_json_key(&doc->w, listing->key);
        vs_listing_json(listing, &doc->w);
        return;
    }
    vs_text_printf(out, "\n%s:\n", listing->heading);
    if (listing->columns == NUMBER_COLUMNS)
        table_of_numbers(doc, listing);
    else
        vs_listing_table(listing, out);
}

void vs_doc_end(struct vs_doc *doc) {
    if (!doc->cli->values.json)
        return;
    vs_json_end(&doc->w, '}');
}

void vs_doc_numbers_begin(struct vs_listing *listing, const char *heading) {
    *listing = (struct vs_listing){.heading = heading,
                                   .key = "numbers",
                                   .columns = NUMBER_COLUMNS,
                                   .column_count = COUNT_OF(NUMBER_COLUMNS)};
}

void vs_doc_number(struct vs_doc *doc, struct vs_listing *listing, const char *set_path,
                   const char *path, const char *unit_path, struct vs_num num) {
    if (!vs_num_known(num))
        return;
    const struct vs_cell cells[] = {vs_cell_text(set_path), vs_cell_text(path),
                                    vs_cell_num(doc->cli->arena, unit_path, num),
                                    vs_cell_text(num.method), vs_cell_text(num.source)};
    vs_listing_add(listing, cells);
}
