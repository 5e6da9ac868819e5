/* Rows of traces as text. CSV of one line each; JSON by a scan of one flat object each, which skips
 * what nobody asked for (prompts as arrays of token ids) without building it: base/json.h makes a
 * tree of a file, which a trace of a million lines is not. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "import/reader.h"

enum { DEPTH_MOST = 64 };

bool vs_trace_line(struct vs_input *in, vs_trace_text *line, bool *more, struct vs_err *err) {
    const char *text;
    size_t length = 0;
    if (!vs_input_line(in, &text, &length, err))
        return false;
    *more = text != NULL;
    if (!text)
        return true;
    line->count = 0;
    if (!vs_vec_reserve(line, length + 1))
        return vs_err_nomem(err);
    memcpy(line->at, text, length + 1);
    line->count = length;
    return true;
}

/* ---- CSV ---- */

/* A field that begins at `at`, in place; *next = behind it. */
static bool take_field(char *at, char **next, const char **why) {
    char *to = at;
    if (*at != '"') {
        *next = at + strcspn(at, ",");
        return true;
    }
    for (at++; *at != '\0'; at++) {
        if (*at == '"' && at[1] != '"') {
            *next = at + 1;
            *to = '\0';
            return at[1] == ',' || at[1] == '\0' ||
                   vs_because(why, "found text after a closing quote, expected a comma");
        }
        at += *at == '"';
        *to++ = *at;
    }
    return vs_because(why, "found the end of the line, expected a quote that closes a field");
}

bool vs_trace_split(char *line, vs_trace_texts *fields, const char **why) {
    fields->count = 0;
    *why = NULL;
    for (char *at = line, *next;; at = next + 1) {
        if (!take_field(at, &next, why) || !vs_vec_push(fields, at))
            return false;
        bool last = *next == '\0';
        *next = '\0';
        if (last)
            return true;
    }
}

/* ---- JSON ---- */

static const char *blanks(const char *at) { return at + strspn(at, " \t"); }

/* Behind a string that begins at `at`, or NULL. */
static const char *skip_string(const char *at) {
    if (*at != '"')
        return NULL;
    for (at++; *at != '\0' && *at != '"'; at++)
        at += *at == '\\' && at[1] != '\0';
    return *at == '"' ? at + 1 : NULL;
}

/* Behind any value: brackets are balanced by number and depth, which is enough to get past it. */
static const char *skip_value(const char *at) {
    int depth = 0;
    do {
        at = blanks(at);
        if (*at == '"') {
            at = skip_string(at);
            if (!at)
                return NULL;
        } else if (*at == '[' || *at == '{') {
            at++;
            if (++depth > DEPTH_MOST)
                return NULL;
        } else if (*at == ']' || *at == '}') {
            at++;
            if (--depth < 0)
                return NULL;
        } else if (depth > 0 && (*at == ',' || *at == ':')) {
            at++;
        } else {
            size_t n = strcspn(at, ",:]}[{\" \t");
            if (n == 0)
                return NULL;
            at += n;
        }
    } while (depth > 0);
    return at;
}

/* A key and the start of its value; NULL at the end of the object, or `why` is set. */
static const char *next_key(const char *at, bool first, const char **key, size_t *length,
                            const char **why) {
    *why = NULL;
    at = blanks(at);
    if (*at == '}') {
        if (*blanks(at + 1) != '\0')
            *why = "found text behind the object, expected one object a line";
        return NULL;
    }
    if (!first && *at++ != ',') {
        *why = "expected a comma or the end of the object";
        return NULL;
    }
    at = blanks(at);
    const char *end = skip_string(at);
    if (!end || *blanks(end) != ':') {
        *why = "expected a key and a colon";
        return NULL;
    }
    *key = at + 1;
    *length = (size_t)(end - at) - 2;
    return blanks(blanks(end) + 1);
}

static bool is_key(const char *key, size_t length, const char *name) {
    return name && strlen(name) == length && memcmp(name, key, length) == 0;
}

static bool take_hashes(const char *at, struct vs_trace_row *row, const char **why) {
    row->hash_room.count = 0;
    if (*at != '[')
        return vs_because(why, "expected an array of hash ids");
    at = blanks(at + 1);
    while (*at != ']') {
        char *end;
        errno = 0;
        unsigned long long id = strtoull(at, &end, 10);
        if (*at < '0' || *at > '9' || errno != 0)
            return vs_because(why, "expected a hash id, a whole number below 2^64");
        if (!vs_vec_push(&row->hash_room, (uint64_t)id))
            return vs_because(why, NULL);
        at = blanks(end);
        if (*at == ',')
            at = blanks(at + 1);
        else if (*at != ']')
            return vs_because(why, "expected a comma or the end of the hash ids");
    }
    row->hashes = row->hash_room.at;
    row->hash_count = row->hash_room.count;
    return true;
}

/* The value of a wanted key. */
static bool take_value(const char *at, const char *end, enum vs_trace_field field,
                       struct vs_trace_row *row, const char **why) {
    size_t length = (size_t)(end - at);
    if (row->text[field])
        return vs_because(why, "a key stands twice in the object");
    if (field == VS_TRACE_HASHES) {
        row->text[field] = "";
        return take_hashes(at, row, why);
    }
    if (length >= sizeof row->numbers[field])
        return vs_because(why, "found a value of over 63 characters, expected a number");
    memcpy(row->numbers[field], at, length);
    row->numbers[field][length] = '\0';
    row->text[field] = row->numbers[field];
    return true;
}

bool vs_trace_object(const char *line, const struct vs_trace_reader *reader,
                     struct vs_trace_row *row, const char **why) {
    const char *at = blanks(line), *key;
    size_t length;
    memset(row->text, 0, sizeof row->text);
    row->hash_count = 0;
    if (*at != '{')
        return vs_because(why, "expected an object");
    at++;
    for (bool first = true;; first = false) {
        const char *value = next_key(at, first, &key, &length, why);
        if (!value)
            return *why == NULL;
        at = skip_value(value);
        if (!at)
            return vs_because(why, "found a value that is not closed");
        for (int f = 0; f < VS_TRACE_FIELDS; f++)
            if (is_key(key, length, reader->fields[f]) &&
                !take_value(value, at, (enum vs_trace_field)f, row, why))
                return false;
    }
}

bool vs_trace_has_key(const char *line, const char *wanted) {
    const char *at = blanks(line), *key, *why;
    size_t length;
    if (*at++ != '{')
        return false;
    for (bool first = true; at; first = false) {
        const char *value = next_key(at, first, &key, &length, &why);
        if (!value)
            return false;
        if (is_key(key, length, wanted))
            return true;
        at = skip_value(value);
    }
    return false;
}

/* ---- numbers ---- */

static const double NS_MOST = 9e18;

bool vs_trace_time(const char *text, int64_t unit_ns, int64_t *ns) {
    bool minus = *text == '-';
    const char *at = text + minus;
    int64_t whole = 0, part = 0, scale = unit_ns;
    if (*at < '0' || *at > '9')
        return false;
    if (strpbrk(text, "eE")) {
        char *end;
        double value = strtod(text, &end) * (double)unit_ns;
        if (*end != '\0' || !(fabs(value) < NS_MOST))
            return false;
        *ns = (int64_t)value;
        return true;
    }
    for (; *at >= '0' && *at <= '9'; at++) {
        if ((10 * (double)whole + 9) * (double)unit_ns >= NS_MOST)
            return false;
        whole = 10 * whole + (*at - '0');
    }
    if (*at == '.')
        for (at++; *at >= '0' && *at <= '9'; at++) {
            scale /= 10; /* digits below a nanosecond count for nothing */
            part += (*at - '0') * scale;
        }
    *ns = (minus ? -1 : 1) * (whole * unit_ns + part);
    return *at == '\0';
}
