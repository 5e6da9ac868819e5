#include "base/csv.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/vec.h"

enum {
    FIELD_MOST_BYTES = 1024 * 1024,
    ROW_MOST_BYTES = 64 * 1024 * 1024,
    COLUMNS_MOST = 4096,
    BUFFER_BYTES = 64 * 1024,
};

/* A record: its fields one behind the other, each terminated. */
struct record {
    VS_VEC(char) bytes;
    VS_VEC(size_t) starts;
};

struct vs_csv {
    FILE *stream;
    char *path;
    struct record header, row;
    int line, column; /* of the next character, from 1 */
    int row_line;
    bool ended;
    size_t at, filled; /* of the buffer */
    char buffer[BUFFER_BYTES];
};

static int peek_byte(struct vs_csv *csv) {
    if (csv->at == csv->filled) {
        csv->at = 0;
        csv->filled = fread(csv->buffer, 1, BUFFER_BYTES, csv->stream);
    }
    return csv->filled > 0 ? (unsigned char)csv->buffer[csv->at] : EOF;
}

static int next_byte(struct vs_csv *csv) {
    int c = peek_byte(csv);
    if (c == EOF)
        return EOF;
    csv->at++;
    if (c == '\n') {
        csv->line++;
        csv->column = 1;
    } else if ((c & 0xC0) != 0x80) {
        csv->column++; /* columns are characters: the further bytes of one in UTF-8 don't count */
    }
    return c;
}

static bool read_failed(const struct vs_csv *csv, struct vs_err *err) {
    return vs_err_set(err, VS_ERR_IO, "cannot read '%s'", csv->path);
}

/* Appends a byte to the field that began at `start`. */
static bool put_byte(struct vs_csv *csv, struct record *record, size_t start, char c,
                     struct vs_err *err) {
    if (c == '\0')
        return vs_err_at(err, csv->path, csv->line, csv->column - 1,
                         "found a NUL byte, expected text");
    if (record->bytes.count - start >= FIELD_MOST_BYTES)
        return vs_err_at(err, csv->path, csv->row_line, 0, "field %zu is over 1 MiB",
                         record->starts.count);
    if (record->bytes.count >= ROW_MOST_BYTES)
        return vs_err_at(err, csv->path, csv->row_line, 0, "the row is over 64 MiB");
    return vs_vec_push(&record->bytes, c) ? true : vs_err_nomem(err);
}

static bool end_field(struct record *record, struct vs_err *err) {
    return vs_vec_push(&record->bytes, '\0') ? true : vs_err_nomem(err);
}

/* The part of a field between quotes; the opening one has been read. */
static bool read_quoted(struct vs_csv *csv, struct record *record, size_t start,
                        struct vs_err *err) {
    int line = csv->line, column = csv->column - 1;
    for (;;) {
        int c = next_byte(csv);
        if (c == EOF && ferror(csv->stream))
            return read_failed(csv, err);
        if (c == EOF)
            return vs_err_at(err, csv->path, line, column,
                             "found the end of the file, expected a quote that closes this one");
        if (c == '"' && peek_byte(csv) != '"')
            return true;
        if (c == '"')
            c = next_byte(csv);
        if (!put_byte(csv, record, start, (char)c, err))
            return false;
    }
}

static const char *misplaced(int c, bool quoted) {
    if (c == '\r')
        return "found a carriage return, expected one before a line break only";
    if (quoted)
        return "found text after a closing quote, expected a comma or the end of the line";
    return "found a quote within a field, expected a field that is quoted as a whole";
}

/* What ends a field. */
enum stop { STOP_COMMA, STOP_LINE, STOP_FILE, STOP_ERROR };

static enum stop read_field(struct vs_csv *csv, struct record *record, struct vs_err *err) {
    size_t start = record->bytes.count;
    bool quoted = false, any = false;
    for (;; any = true) {
        int c = next_byte(csv);
        if (c == '\r' && peek_byte(csv) == '\n')
            c = next_byte(csv);
        if (c == EOF && ferror(csv->stream)) {
            (void)read_failed(csv, err);
            return STOP_ERROR;
        }
        if (c == ',' || c == '\n' || c == EOF) {
            if (!end_field(record, err))
                return STOP_ERROR;
            return c == ',' ? STOP_COMMA : c == '\n' ? STOP_LINE : STOP_FILE;
        }
        if (quoted || c == '\r' || (c == '"' && any)) {
            (void)vs_err_at(err, csv->path, csv->line, csv->column - 1, "%s", misplaced(c, quoted));
            return STOP_ERROR;
        }
        quoted = c == '"';
        if (quoted ? !read_quoted(csv, record, start, err)
                   : !put_byte(csv, record, start, (char)c, err))
            return STOP_ERROR;
    }
}

/* Reads one record; *more is false where the file has ended before it. */
static bool read_record(struct vs_csv *csv, struct record *record, bool *more, struct vs_err *err) {
    record->bytes.count = 0;
    record->starts.count = 0;
    *more = false;
    if (csv->ended || peek_byte(csv) == EOF) {
        csv->ended = true;
        return ferror(csv->stream) ? read_failed(csv, err) : true;
    }
    csv->row_line = csv->line;
    for (enum stop stop = STOP_COMMA; stop == STOP_COMMA;) {
        if (record->starts.count >= COLUMNS_MOST)
            return vs_err_at(err, csv->path, csv->row_line, 0, "found more than %d fields",
                             COLUMNS_MOST);
        if (!vs_vec_push(&record->starts, record->bytes.count))
            return vs_err_nomem(err);
        stop = read_field(csv, record, err);
        if (stop == STOP_ERROR)
            return false;
        csv->ended = stop == STOP_FILE;
    }
    *more = true;
    return true;
}

static const char *field_at(const struct record *record, size_t column) {
    if (column >= record->starts.count)
        return "";
    return record->bytes.at + record->starts.at[column];
}

/* Spreadsheets put a byte order mark before UTF-8. */
static void skip_mark(struct vs_csv *csv) {
    (void)peek_byte(csv);
    if (csv->filled >= 3 && memcmp(csv->buffer, "\xEF\xBB\xBF", 3) == 0)
        csv->at = 3;
}

static bool read_header(struct vs_csv *csv, struct vs_err *err) {
    bool more = false;
    skip_mark(csv);
    if (!read_record(csv, &csv->header, &more, err))
        return false;
    if (!more)
        return vs_err_at(err, csv->path, 1, 1, "found an empty file, expected a header");
    for (size_t i = 0; i < vs_csv_columns(csv); i++) {
        const char *name = vs_csv_header(csv, i);
        if (name[0] != '\0' && vs_csv_column(csv, name) != (int)i)
            return vs_err_at(err, csv->path, 1, 0, "column '%s' stands twice in the header", name);
    }
    return true;
}

struct vs_csv *vs_csv_open(const char *path, struct vs_err *err) {
    struct vs_csv *csv = calloc(1, sizeof *csv);
    if (!csv) {
        (void)vs_err_nomem(err);
        return NULL;
    }
    csv->line = csv->column = 1;
    csv->path = malloc(strlen(path) + 1);
    if (!csv->path) {
        (void)vs_err_nomem(err);
        goto fail;
    }
    memcpy(csv->path, path, strlen(path) + 1);
    if (!vs_file_open(path, &csv->stream, err) || !read_header(csv, err))
        goto fail;
    return csv;
fail:
    vs_csv_close(csv);
    return NULL;
}

void vs_csv_close(struct vs_csv *csv) {
    if (!csv)
        return;
    if (csv->stream)
        (void)fclose(csv->stream);
    vs_vec_release(&csv->header.bytes);
    vs_vec_release(&csv->header.starts);
    vs_vec_release(&csv->row.bytes);
    vs_vec_release(&csv->row.starts);
    free(csv->path);
    free(csv);
}

size_t vs_csv_columns(const struct vs_csv *csv) { return csv->header.starts.count; }

const char *vs_csv_header(const struct vs_csv *csv, size_t column) {
    return field_at(&csv->header, column);
}

int vs_csv_column(const struct vs_csv *csv, const char *name) {
    for (size_t i = 0; i < vs_csv_columns(csv); i++) {
        if (vs_streq(vs_csv_header(csv, i), name))
            return (int)i;
    }
    return -1;
}

bool vs_csv_next(struct vs_csv *csv, bool *more, struct vs_err *err) {
    bool found = false;
    if (!read_record(csv, &csv->row, &found, err))
        return false;
    size_t fields = csv->row.starts.count, columns = vs_csv_columns(csv);
    if (found && fields != columns)
        return vs_err_at(err, csv->path, csv->row_line, 0,
                         "found %zu field%s, expected %zu as in the header", fields,
                         fields == 1 ? "" : "s", columns);
    *more = found;
    return true;
}

const char *vs_csv_field(const struct vs_csv *csv, size_t column) {
    return field_at(&csv->row, column);
}

int vs_csv_line(const struct vs_csv *csv) { return csv->row_line; }

void vs_csv_put(struct vs_text *out, const char *field, bool last) {
    if (!field)
        field = "";
    if (strpbrk(field, ",\"\r\n")) {
        vs_text_add(out, "\"");
        for (const char *quote = strchr(field, '"'); quote; quote = strchr(field, '"')) {
            vs_text_addn(out, field, (size_t)(quote - field) + 1);
            vs_text_add(out, "\"");
            field = quote + 1;
        }
        vs_text_add(out, field);
        vs_text_add(out, "\"");
    } else {
        vs_text_add(out, field);
    }
    vs_text_add(out, last ? "\n" : ",");
}
