/* Strict JSON.
 *
 * Reading: a whole file becomes a tree of `struct vs_json`, each node with the place (line, column)
 * where it stood. Refused: anything after the value, duplicate keys, nesting deeper than 64,
 * invalid UTF-8, U+0000 in a string, files over 64 MiB or 4 million values, numbers that are not
 * finite or longer than 63 characters. The text is parsed by cJSON; a scan beside it finds places
 * and what cJSON lets pass. Lines and columns count from 1, columns in characters.
 *
 * An object is read through a *reader* that remembers which keys were taken: vs_json_close refuses
 * the first key nobody asked for and names the nearest known one. Every getter reports
 * "file:line:col: at $.a.b[2]: found a string, expected a number".
 *
 * Writing: a streaming writer onto a vs_text, two-space indentation, keys in the order written,
 * numbers with 9 significant digits (whole ones below 2^53 exactly, vs_json_u64 up to 2^64). No
 * line break follows the last bracket.
 */
#ifndef VS_BASE_JSON_H
#define VS_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/text.h"

enum vs_json_kind {
    VS_JSON_NULL,
    VS_JSON_BOOL,
    VS_JSON_NUMBER,
    VS_JSON_STRING,
    VS_JSON_ARRAY,
    VS_JSON_OBJECT,
};

struct vs_json {
    enum vs_json_kind kind;
    int line, column;         /* of the value */
    int key_line, key_column; /* of the key, within an object */
    const char *key;          /* within an object, else NULL */
    const char *string;       /* VS_JSON_STRING */
    double number;            /* VS_JSON_NUMBER */
    uint64_t integer;         /* exact value where the text is a non-negative integer below 2^64 */
    bool is_integer;
    bool boolean;
    struct vs_json *child, *next; /* elements or members in order */
    size_t count;                 /* of children */
};

/* Parses; everything lives in the arena. `file` is used in messages and must outlive the tree. */
bool vs_json_parse(struct vs_arena *arena, const char *file, const char *text, size_t length,
                   const struct vs_json **root, struct vs_err *err);
/* The same from a file on disk. */
bool vs_json_load(struct vs_arena *arena, const char *path, const struct vs_json **root,
                  struct vs_err *err);

const struct vs_json *vs_json_member(const struct vs_json *object, const char *key); /* or NULL */

/* A reader of one object. Fields are private to json_read.c but for `file` and `path`. */
struct vs_json_reader {
    const char *file;
    char path[200]; /* "$.memory.achievable[2]" */
    const struct vs_json *object;
    const char *known[96]; /* keys asked for so far */
    size_t known_count;
};

/* Starts reading `value`, which must be an object. */
bool vs_json_open(struct vs_json_reader *reader, const char *file, const char *path,
                  const struct vs_json *value, struct vs_err *err);
/* Opens a member object of an open one; `*present` says whether it was there (then `inner` is
 * open). */
bool vs_json_open_member(struct vs_json_reader *outer, const char *key, bool required,
                         struct vs_json_reader *inner, bool *present, struct vs_err *err);

/* Getters. `required` = missing is an error; otherwise a missing key leaves *out as it was. null
 * counts as missing. Numbers are checked against [low, high]. */
bool vs_json_get_string(struct vs_json_reader *r, const char *key, bool required, const char **out,
                        struct vs_err *err);
bool vs_json_get_bool(struct vs_json_reader *r, const char *key, bool required, bool *out,
                      struct vs_err *err);
bool vs_json_get_number(struct vs_json_reader *r, const char *key, bool required, double low,
                        double high, double *out, struct vs_err *err);
bool vs_json_get_u64(struct vs_json_reader *r, const char *key, bool required, uint64_t low,
                     uint64_t high, uint64_t *out, struct vs_err *err);
bool vs_json_get_array(struct vs_json_reader *r, const char *key, bool required,
                       const struct vs_json **out, struct vs_err *err);
bool vs_json_get_any(struct vs_json_reader *r, const char *key, bool required,
                     const struct vs_json **out, struct vs_err *err);
/* An array of strings; *out and its strings live in the arena. */
bool vs_json_get_strings(struct vs_json_reader *r, const char *key, bool required,
                         struct vs_arena *arena, const char *const **out, size_t *count,
                         struct vs_err *err);

/* Refuses keys that no getter named. */
bool vs_json_close(struct vs_json_reader *reader, struct vs_err *err);

/* An error at a node: "file:line:col: at PATH: ..."; returns false. */
bool vs_json_fail(const struct vs_json_reader *reader, const struct vs_json *node,
                  struct vs_err *err, const char *fmt, ...) VS_PRINTF(4, 5);

/* Writer. */
struct vs_json_writer {
    struct vs_text *out;
    int depth;
    bool first, after_key;
};
void vs_json_begin(struct vs_json_writer *w, struct vs_text *out);
void vs_json_object(struct vs_json_writer *w);
void vs_json_array(struct vs_json_writer *w);
void vs_json_end(struct vs_json_writer *w, char bracket); /* '}' or ']' */
void vs_json_key(struct vs_json_writer *w, const char *key);
void vs_json_string(struct vs_json_writer *w, const char *value); /* NULL writes null */
void vs_json_number(struct vs_json_writer *w, double value);      /* NaN writes null */
void vs_json_u64(struct vs_json_writer *w, uint64_t value);
void vs_json_boolean(struct vs_json_writer *w, bool value);
void vs_json_null(struct vs_json_writer *w);
/* A key and its value. */
void vs_json_member_string(struct vs_json_writer *w, const char *key, const char *value);
void vs_json_member_number(struct vs_json_writer *w, const char *key, double value);
void vs_json_member_u64(struct vs_json_writer *w, const char *key, uint64_t value);
void vs_json_member_boolean(struct vs_json_writer *w, const char *key, bool value);

#endif
