#include "cli/listing.h"

#include <math.h>

#include "base/units.h"
#include "report/table.h"

enum { WIDTH = 120, COLUMNS_MOST = 12, INDENT = 2 };
#define EXACT_BELOW 9007199254740992.0 /* 2^53: whole numbers below are exact */

struct vs_cell vs_cell_text(const char *text) {
    return (struct vs_cell){.text = text};
}

struct vs_cell vs_cell_number(struct vs_arena *arena, double number, const char *text) {
    char digits[VS_UNIT_TEXT];
    if (!text) {
        bool whole = floor(number) >= number && fabs(number) < EXACT_BELOW;
        text = whole ? vs_arena_printf(arena, "%.0f", number)
                     : vs_arena_strdup(arena, vs_print_g9(digits, number));
    }
    return (struct vs_cell){.text = text, .number = number, .is_number = true};
}

struct vs_cell vs_cell_num(struct vs_arena *arena, const char *path, struct vs_num num) {
    const struct vs_field field = {.path = path};
    char text[64];
    if (!vs_num_known(num))
        return vs_cell_text(NULL);
    vs_field_print(&field, num, text, sizeof text);
    return vs_cell_number(arena, num.value, vs_arena_strdup(arena, text));
}

void vs_listing_add(struct vs_listing *listing, const struct vs_cell *cells) {
    for (size_t i = 0; i < listing->column_count; i++) {
        if (!vs_vec_push(&listing->cells, cells[i]))
            listing->failed = true;
    }
}

size_t vs_listing_rows(const struct vs_listing *listing) {
    return listing->cells.count / listing->column_count;
}

void vs_listing_table(const struct vs_listing *listing, struct vs_text *out) {
    struct vs_table_column columns[COLUMNS_MOST];
    const char *texts[COLUMNS_MOST];
    size_t from[COLUMNS_MOST], count = 0; /* columns that the table has */
    struct vs_table table;
    for (size_t i = 0; i < listing->column_count && count < COLUMNS_MOST; i++) {
        const struct vs_listing_column *column = &listing->columns[i];
        if (!column->title)
            continue;
        from[count] = i;
        columns[count++] = (struct vs_table_column){
            .title = column->title, .unit = "", .right = column->right, .wraps = column->wraps};
    }
    vs_table_init(&table, columns, count);
    for (size_t row = 0; row < vs_listing_rows(listing); row++) {
        for (size_t i = 0; i < count; i++)
            texts[i] = listing->cells.at[row * listing->column_count + from[i]].text;
        vs_table_add(&table, texts, NULL);
    }
    vs_table_print(&table, out, listing->heading ? INDENT : 0, WIDTH, false);
    out->failed = out->failed || table.failed || listing->failed;
    vs_table_release(&table);
}

void vs_cell_json(struct vs_json_writer *w, const struct vs_cell *cell) {
    bool whole = cell->number >= 0 && floor(cell->number) >= cell->number;
    if (!cell->is_number)
        vs_json_string(w, cell->text);
    else if (whole && cell->number < EXACT_BELOW)
        vs_json_u64(w, (uint64_t)cell->number);
    else
        vs_json_number(w, cell->number);
}

void vs_listing_json(const struct vs_listing *listing, struct vs_json_writer *w) {
    vs_json_array(w);
    for (size_t row = 0; row < vs_listing_rows(listing); row++) {
        vs_json_object(w);
        for (size_t i = 0; i < listing->column_count; i++) {
            if (!listing->columns[i].key)
                continue;
            vs_json_key(w, listing->columns[i].key);
            vs_cell_json(w, &listing->cells.at[row * listing->column_count + i]);
        }
        vs_json_end(w, '}');
    }
    vs_json_end(w, ']');
    w->out->failed = w->out->failed || listing->failed;
}

void vs_listing_release(struct vs_listing *listing) { vs_vec_release(&listing->cells); }
