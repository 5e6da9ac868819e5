/* What tells one trace format from another: names of columns or keys, and units. For import/, and
 * for lists of what is known. */
#ifndef VS_IMPORT_READER_H
#define VS_IMPORT_READER_H

#include "base/input.h"
#include "base/vec.h"
#include "import/trace.h"

enum vs_trace_form { VS_TRACE_CSV, VS_TRACE_JSON /* an object a line */ };

enum vs_trace_field {
    VS_TRACE_ARRIVED, /* a format may do without: lengths alone */
    VS_TRACE_PROMPT,
    VS_TRACE_GEN,
    VS_TRACE_HASHES, /* JSON only; may be missing */
    VS_TRACE_FIELDS
};

struct vs_trace_reader {
    const char *name, *help;
    enum vs_trace_form form;
    const char *fields[VS_TRACE_FIELDS]; /* names; NULL = the format has none */
    const char *mark;    /* a further name that tells the format; NULL = none is needed */
    bool arrival_needed; /* without the column it is another format */
    int64_t unit_ns;     /* of the arrival column */
    bool (*clock)(const char *text, int64_t *ns); /* reads the arrival column in place of unit_ns */
    uint64_t hash_tokens;                         /* of a hashed block */
    bool zero_is_failure; /* no generated tokens: a request that failed, not a bad row */
};

/* All of them, in the order in which they are tried; NULL-terminated. */
extern const struct vs_trace_reader *const vs_trace_readers[];

/* The fields of a row as text, terminated; NULL where the row has none. */
struct vs_trace_row {
    const char *text[VS_TRACE_FIELDS];
    const uint64_t *hashes;
    size_t hash_count;
    char numbers[VS_TRACE_FIELDS][64]; /* where a text points to, for JSON */
    VS_VEC(uint64_t) hash_room;
};

/* False, with why: for `return vs_because(...)`. */
static inline bool vs_because(const char **why, const char *text) {
    *why = text;
    return false;
}

/* A copy of the next line, terminated, to be split in place. *more is false at the end. */
typedef VS_VEC(char) vs_trace_text;
bool vs_trace_line(struct vs_input *in, vs_trace_text *line, bool *more, struct vs_err *err);

/* Splits a line at its commas, in place; quotes around a field go. The fields' texts are pushed to
 * `fields`. False: an unclosed quote, or memory (`why` is NULL then). */
typedef VS_VEC(char *) vs_trace_texts;
bool vs_trace_split(char *line, vs_trace_texts *fields, const char **why);

/* Reads the fields of `reader` from an object; all its other members are skipped. False: `why` says
 * what was expected, or is NULL when memory runs out. */
bool vs_trace_object(const char *line, const struct vs_trace_reader *reader,
                     struct vs_trace_row *row, const char **why);
/* Does the object have this key? The line must be an object. */
bool vs_trace_has_key(const char *line, const char *key);

/* A decimal number times unit_ns, exactly where it has no exponent; within +-9e18 ns. */
bool vs_trace_time(const char *text, int64_t unit_ns, int64_t *ns);

#endif
