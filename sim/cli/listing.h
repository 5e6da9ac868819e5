/* Rows of named values, printed as an aligned table or as a JSON array of objects. */
#ifndef VS_CLI_LISTING_H
#define VS_CLI_LISTING_H

#include "base/json.h"
#include "base/num.h"
#include "base/text.h"
#include "base/vec.h"

struct vs_listing_column {
    const char *title, *key; /* of the table, of the JSON object; NULL: not there */
    bool right, wraps;
};

struct vs_cell {
    const char *text; /* lives as long as the listing; NULL counts as nothing, null in JSON */
    double number;    /* what JSON has, where is_number */
    bool is_number;
};

struct vs_listing {
    const char *heading, *key; /* above the table; member of the JSON document */
    const struct vs_listing_column *columns;
    size_t column_count;
    VS_VEC(struct vs_cell) cells; /* row by row */
    bool failed;                  /* memory ran out */
};

struct vs_cell vs_cell_text(const char *text);
/* A number with its own text; with NULL the text is the number. */
struct vs_cell vs_cell_number(struct vs_arena *arena, double number, const char *text);
/* A number in the unit that ends `path`: "9.9 GB/s" for ..._bytes_per_s; empty when not stated. */
struct vs_cell vs_cell_num(struct vs_arena *arena, const char *path, struct vs_num num);

void vs_cell_json(struct vs_json_writer *w, const struct vs_cell *cell);

/* Adds column_count cells. */
void vs_listing_add(struct vs_listing *listing, const struct vs_cell *cells);
size_t vs_listing_rows(const struct vs_listing *listing);
void vs_listing_table(const struct vs_listing *listing, struct vs_text *out);
void vs_listing_json(const struct vs_listing *listing, struct vs_json_writer *w); /* an array */
void vs_listing_release(struct vs_listing *listing);

#endif
