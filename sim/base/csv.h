/* CSV as RFC 4180 says: quoted fields, doubled quotes, line breaks inside quotes; columns by name.
 * Streamed: memory does not grow with the file. Refused: an unclosed quote, a row with another
 * number of fields than the header (an empty line too), a column name given twice, quotes within
 * an unquoted field, a lone carriage return, NUL bytes, fields over 1 MiB, over 4096 columns. A
 * byte order mark is skipped. */
#ifndef VS_BASE_CSV_H
#define VS_BASE_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/err.h"
#include "base/text.h"

struct vs_csv;

/* Opens a file and reads its header; NULL on failure. */
struct vs_csv *vs_csv_open(const char *path, struct vs_err *err);
void vs_csv_close(struct vs_csv *csv);

size_t vs_csv_columns(const struct vs_csv *csv);
const char *vs_csv_header(const struct vs_csv *csv, size_t column);
int vs_csv_column(const struct vs_csv *csv, const char *name); /* -1 when there is none */

/* Reads the next row. *more is false at the end of the file. */
bool vs_csv_next(struct vs_csv *csv, bool *more, struct vs_err *err);
const char *vs_csv_field(const struct vs_csv *csv, size_t column); /* valid until the next row */
int vs_csv_line(const struct vs_csv *csv);                         /* where the current row began */

/* Writes one field, quoted where needed. */
void vs_csv_put(struct vs_text *out, const char *field, bool last);

#endif
