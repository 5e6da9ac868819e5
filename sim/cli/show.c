#include "cli/show.h"

#include <stdio.h>

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
    vs_listing_table(listing, out);
}

void vs_doc_end(struct vs_doc *doc) {
    if (!doc->cli->values.json)
        return;
    vs_json_end(&doc->w, '}');
}

/* The path without its unit is for people, who give --set a unit; with its unit for programs. */
static const struct vs_listing_column NUMBER_COLUMNS[] = {
    {"number", NULL, false, false},    {NULL, "path", false, false},
    {"value", "value", true, false},   {"method", "method", false, false},
    {"source", "source", false, true},
};

void vs_doc_numbers_begin(struct vs_listing *listing, const char *heading) {
    *listing =
        (struct vs_listing){.heading = heading,
                            .key = "numbers",
                            .columns = NUMBER_COLUMNS,
                            .column_count = sizeof NUMBER_COLUMNS / sizeof NUMBER_COLUMNS[0]};
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
