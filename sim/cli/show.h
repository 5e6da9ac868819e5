/* What `show` prints: documents of properties and tables, as text or JSON. With --json several
 * documents are an array. */
#ifndef VS_CLI_SHOW_H
#define VS_CLI_SHOW_H

#include "cli/cli.h"
#include "cli/listing.h"

struct vs_doc {
    struct vs_cli *cli;
    struct vs_json_writer w;
    size_t count; /* documents */
};

void vs_doc_open(struct vs_doc *doc);
void vs_doc_close(struct vs_doc *doc);

void vs_doc_begin(struct vs_doc *doc, const char *kind, const char *name, const char *title,
                  const char *file);
void vs_doc_property(struct vs_doc *doc, const char *key,
                     struct vs_cell cell); /* not stated: left out */
void vs_doc_section(struct vs_doc *doc, const struct vs_listing *listing); /* empty: left out */
void vs_doc_end(struct vs_doc *doc);

/* A table of numbers with method and source. */
void vs_doc_numbers_begin(struct vs_listing *listing, const char *heading);
/* `set_path` as for --set, `path` with its unit; `unit_path` ends in the unit. Unknown numbers are
 * left out. */
void vs_doc_number(struct vs_doc *doc, struct vs_listing *listing, const char *set_path,
                   const char *path, const char *unit_path, struct vs_num num);

/* show_hw.c */
bool vs_show_hw(struct vs_doc *doc, const char *name, struct vs_err *err);
bool vs_show_host(struct vs_doc *doc, const char *name, struct vs_err *err);
bool vs_show_link(struct vs_doc *doc, const char *name, struct vs_err *err);
bool vs_show_storage(struct vs_doc *doc, const char *name, struct vs_err *err);
/* A machine file by itself: a board without devices, or, with devices, all of them in it. */
bool vs_show_board(struct vs_doc *doc, const char *name, struct vs_err *err);

#endif
