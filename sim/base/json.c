/* Two passes read a text. The scan below checks RFC 8259 strictly and makes the tree with its
 * places; then cJSON parses the same text, and its values are copied into the tree node by node.
 * Where the two ever disagreed the text is refused. */
#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "base/file.h"
#include "base/utf8.h"

enum {
    DEPTH_MOST = 64,
    VALUES_MOST = 4 * 1024 * 1024, /* of a file: bounds memory at some 800 MB */
    NUMBER_LONGEST = 63,           /* characters: what cJSON converts */
};
#define FILE_MOST_BYTES ((size_t)64 * 1024 * 1024)

struct scan {
    struct vs_arena *arena;
    const char *file;
    const char *at, *end;
    int line, column; /* of `at`; columns count characters */
    size_t values;
    struct vs_err *err;
};

static int peek(const struct scan *s) { return s->at < s->end ? (unsigned char)*s->at : -1; }

/* Goes past a character of `size_bytes`. */
static void pass(struct scan *s, size_t size_bytes) {
    if (*s->at == '\n') {
        s->line++;
        s->column = 1;
    } else {
        s->column++;
    }
    s->at += size_bytes;
}

static void pass_blanks(struct scan *s) {
    for (int c = peek(s); c == ' ' || c == '\t' || c == '\n' || c == '\r'; c = peek(s))
        pass(s, 1);
}

static bool part_of_word(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '+' || c == '-' || c == '.';
}

static size_t word_length(const struct scan *s) {
    const char *at = s->at;
    while (at < s->end && part_of_word(*at))
        at++;
    return (size_t)(at - s->at);
}

/* "found X, expected Y" at the place where the scan stands. */
static bool refuse(const struct scan *s, const char *expected) {
    enum { SHOWN = 32 };
    size_t size = vs_utf8_size(s->at, (size_t)(s->end - s->at));
    size_t word = word_length(s);
    char found[64];
    if (s->at == s->end)
        (void)snprintf(found, sizeof found, "the end of the text");
    else if (*s->at == '\n' || *s->at == '\r')
        (void)snprintf(found, sizeof found, "a line break");
    else if (size == 0)
        (void)snprintf(found, sizeof found, "invalid UTF-8 (byte 0x%02x)", (unsigned char)*s->at);
    else if ((unsigned char)*s->at < 0x20 || *s->at == 0x7F)
        (void)snprintf(found, sizeof found, "byte 0x%02x", (unsigned char)*s->at);
    else if (word > SHOWN)
        (void)snprintf(found, sizeof found, "'%.*s...'", SHOWN, s->at);
    else
        (void)snprintf(found, sizeof found, "'%.*s'", (int)(word > size ? word : size), s->at);
    return vs_err_at(s->err, s->file, s->line, s->column, "found %s, expected %s", found, expected);
}

/* Four hexadecimal digits of an escape. */
static bool scan_hex(struct scan *s, unsigned *code) {
    *code = 0;
    for (int i = 0; i < 4; i++) {
        int c = peek(s);
        unsigned digit = 0;
        if (c >= '0' && c <= '9')
            digit = (unsigned)(c - '0');
        else if (c >= 'a' && c <= 'f')
            digit = (unsigned)(c - 'a') + 10;
        else if (c >= 'A' && c <= 'F')
            digit = (unsigned)(c - 'A') + 10;
        else
            return refuse(s, "four hexadecimal digits after '\\u'");
        *code = *code * 16 + digit;
        pass(s, 1);
    }
    return true;
}

/* The rest of "\uXXXX". Strings end at a NUL here, so that U+0000 is refused; a high surrogate
 * stands before a low one only. */
static bool scan_unicode(struct scan *s) {
    const struct scan escape = *s;
    unsigned code = 0, low = 0;
    pass(s, 1);
    if (!scan_hex(s, &code))
        return false;
    if (code == 0)
        return refuse(&escape, "no NUL character in a string");
    if (code < 0xD800 || code > 0xDFFF)
        return true;
    if (code > 0xDBFF)
        return refuse(&escape, "a high surrogate before a low one");
    if (peek(s) != '\\' || s->end - s->at < 2 || s->at[1] != 'u')
        return refuse(s, "'\\u' with the low surrogate of the pair");
    pass(s, 1);
    const struct scan second = *s;
    pass(s, 1);
    if (!scan_hex(s, &low))
        return false;
    return low >= 0xDC00 && low <= 0xDFFF ? true
                                          : refuse(&second, "a low surrogate (dc00 to dfff)");
}

static bool scan_string(struct scan *s) {
    if (peek(s) != '"')
        return refuse(s, "'\"'");
    pass(s, 1);
    for (int c = peek(s); c != '"'; c = peek(s)) {
        size_t size = c < 0 ? 0 : vs_utf8_size(s->at, (size_t)(s->end - s->at));
        if (c < 0)
            return refuse(s, "'\"' at the end of the string");
        if (c < 0x20)
            return refuse(s, "'\"' at the end of the string (control characters need an escape)");
        if (size == 0)
            return refuse(s, "valid UTF-8");
        pass(s, size);
        if (c != '\\')
            continue;
        c = peek(s);
        if (c == 'u') {
            if (!scan_unicode(s))
                return false;
        } else if (c > 0 && strchr("\"\\/bfnrt", c)) {
            pass(s, 1);
        } else {
            return refuse(s, "one of \" \\ / b f n r t u after '\\'");
        }
    }
    pass(s, 1);
    return true;
}

static size_t digits(const char *at, const char *end) {
    const char *start = at;
    while (at < end && *at >= '0' && *at <= '9')
        at++;
    return (size_t)(at - start);
}

/* Whether a word is a number of RFC 8259, and whether an integer. */
static bool is_number(const char *at, const char *end, bool *integer) {
    if (at < end && *at == '-')
        at++;
    size_t whole = digits(at, end);
    if (whole == 0 || (whole > 1 && *at == '0'))
        return false;
    at += whole;
    *integer = at == end;
    if (at < end && *at == '.') {
        size_t part = digits(at + 1, end);
        if (part == 0)
            return false;
        at += 1 + part;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        if (at < end && (*at == '+' || *at == '-'))
            at++;
        size_t exponent = digits(at, end);
        if (exponent == 0)
            return false;
        at += exponent;
    }
    return at == end;
}

static bool scan_number(struct scan *s, struct vs_json *node) {
    size_t length = word_length(s);
    bool integer = false;
    if (!is_number(s->at, s->at + length, &integer))
        return refuse(s, "a number as JSON writes it, such as 12, -0.5 or 1e9");
    if (length > NUMBER_LONGEST)
        return refuse(s, "a number of at most 63 characters");
    node->kind = VS_JSON_NUMBER;
    node->is_integer = integer && *s->at != '-';
    for (size_t i = 0; i < length && node->is_integer; i++) {
        uint64_t digit = (uint64_t)(s->at[i] - '0');
        node->is_integer = node->integer <= (UINT64_MAX - digit) / 10;
        if (node->is_integer)
            node->integer = node->integer * 10 + digit;
    }
    if (!node->is_integer)
        node->integer = 0;
    for (size_t i = 0; i < length; i++)
        pass(s, 1);
    return true;
}

static bool scan_word(struct scan *s, struct vs_json *node) {
    size_t length = word_length(s);
    if (length == 4 && memcmp(s->at, "null", length) == 0)
        node->kind = VS_JSON_NULL;
    else if ((length == 4 && memcmp(s->at, "true", length) == 0) ||
             (length == 5 && memcmp(s->at, "false", length) == 0))
        node->kind = VS_JSON_BOOL;
    else
        return refuse(s, "a value");
    s->at += length;
    s->column += (int)length;
    return true;
}

static struct vs_json *scan_value(struct scan *s, int depth);

/* A key and the ':' behind it. */
static bool scan_key(struct scan *s, int *line, int *column) {
    pass_blanks(s);
    *line = s->line;
    *column = s->column;
    if (peek(s) != '"')
        return refuse(s, "a key in double quotes");
    if (!scan_string(s))
        return false;
    pass_blanks(s);
    if (peek(s) != ':')
        return refuse(s, "':' after the key");
    pass(s, 1);
    return true;
}

/* Elements or members up to the closing bracket. */
static bool scan_children(struct scan *s, struct vs_json *node, int depth) {
    bool object = node->kind == VS_JSON_OBJECT;
    int close = object ? '}' : ']';
    if (depth >= DEPTH_MOST)
        return refuse(s, "no more than 64 levels of nesting");
    pass(s, 1);
    pass_blanks(s);
    if (peek(s) == close) {
        pass(s, 1);
        return true;
    }
    for (struct vs_json **link = &node->child;; link = &(*link)->next) {
        int line = 0, column = 0;
        if (object && !scan_key(s, &line, &column))
            return false;
        *link = scan_value(s, depth + 1);
        if (!*link)
            return false;
        (*link)->key_line = line;
        (*link)->key_column = column;
        node->count++;
        pass_blanks(s);
        int c = peek(s);
        if (c != ',' && c != close)
            return refuse(s, object ? "',' or '}'" : "',' or ']'");
        pass(s, 1);
        if (c == close)
            return true;
    }
}

static struct vs_json *scan_value(struct scan *s, int depth) {
    pass_blanks(s);
    if (++s->values > VALUES_MOST) {
        (void)vs_err_at(s->err, s->file, s->line, s->column, "found more than %d values",
                        VALUES_MOST);
        return NULL;
    }
    struct vs_json *node = VS_NEW(s->arena, struct vs_json);
    if (!node) {
        (void)vs_err_nomem(s->err);
        return NULL;
    }
    node->line = s->line;
    node->column = s->column;
    int c = peek(s);
    bool done = false;
    if (c == '{' || c == '[') {
        node->kind = c == '{' ? VS_JSON_OBJECT : VS_JSON_ARRAY;
        done = scan_children(s, node, depth);
    } else if (c == '"') {
        node->kind = VS_JSON_STRING;
        done = scan_string(s);
    } else if (c == '-' || (c >= '0' && c <= '9')) {
        done = scan_number(s, node);
    } else {
        done = scan_word(s, node);
    }
    return done ? node : NULL;
}

/* Copying cJSON's values */

struct copier {
    struct vs_arena *arena;
    const char *file;
    struct vs_err *err;
};

static bool disagree(const struct copier *c, const struct vs_json *node) {
    return vs_err_at(c->err, c->file, node->line, node->column,
                     "found a value that is read in two ways, expected JSON of RFC 8259");
}

static int by_key_then_place(const void *a, const void *b) {
    const struct vs_json *const *left = a;
    const struct vs_json *const *right = b;
    int order = strcmp((*left)->key, (*right)->key);
    if (order != 0)
        return order;
    if ((*left)->key_line != (*right)->key_line)
        return (*left)->key_line < (*right)->key_line ? -1 : 1;
    return (*left)->key_column < (*right)->key_column ? -1 : 1;
}

static bool placed_before(const struct vs_json *a, const struct vs_json *b) {
    return a->key_line < b->key_line ||
           (a->key_line == b->key_line && a->key_column < b->key_column);
}

/* Sorted, because an object of a million keys has to stay cheap. */
static bool check_duplicates(const struct copier *c, const struct vs_json *object) {
    if (object->count < 2)
        return true;
    const struct vs_json **members = malloc(object->count * sizeof *members);
    if (!members)
        return vs_err_nomem(c->err);
    size_t count = 0;
    for (const struct vs_json *m = object->child; m; m = m->next)
        members[count++] = m;
    qsort(members, count, sizeof *members, by_key_then_place);
    const struct vs_json *first = NULL, *again = NULL;
    for (size_t i = 1; i < count; i++) {
        if (!vs_streq(members[i]->key, members[i - 1]->key))
            continue;
        if (!again || placed_before(members[i], again)) {
            again = members[i];
            first = members[i - 1];
        }
    }
    if (again)
        (void)vs_err_at(c->err, c->file, again->key_line, again->key_column,
                        "duplicate key '%s', first given in line %d", again->key, first->key_line);
    free(members);
    return !again;
}

static bool copy_value(const struct copier *c, struct vs_json *node, const cJSON *item);

static bool copy_children(const struct copier *c, struct vs_json *node, const cJSON *item) {
    const cJSON *part = item->child;
    for (struct vs_json *child = node->child; child; child = child->next) {
        if (!part || (node->kind == VS_JSON_OBJECT && !part->string))
            return disagree(c, child);
        if (node->kind == VS_JSON_OBJECT) {
            child->key = vs_arena_strdup(c->arena, part->string);
            if (!child->key)
                return vs_err_nomem(c->err);
        }
        if (!copy_value(c, child, part))
            return false;
        part = part->next;
    }
    if (part)
        return disagree(c, node);
    return node->kind == VS_JSON_OBJECT ? check_duplicates(c, node) : true;
}

static bool copy_value(const struct copier *c, struct vs_json *node, const cJSON *item) {
    switch (node->kind) {
    case VS_JSON_NULL:
        return cJSON_IsNull(item) ? true : disagree(c, node);
    case VS_JSON_BOOL:
        node->boolean = cJSON_IsTrue(item);
        return cJSON_IsBool(item) ? true : disagree(c, node);
    case VS_JSON_NUMBER:
        if (!cJSON_IsNumber(item))
            return disagree(c, node);
        node->number = item->valuedouble;
        if (!isfinite(node->number))
            return vs_err_at(c->err, c->file, node->line, node->column,
                             "found a number that is too large, expected one below 1.8e308");
        return true;
    case VS_JSON_STRING:
        if (!cJSON_IsString(item) || !item->valuestring)
            return disagree(c, node);
        node->string = vs_arena_strdup(c->arena, item->valuestring);
        return node->string ? true : vs_err_nomem(c->err);
    case VS_JSON_ARRAY:
        return cJSON_IsArray(item) ? copy_children(c, node, item) : disagree(c, node);
    case VS_JSON_OBJECT:
        return cJSON_IsObject(item) ? copy_children(c, node, item) : disagree(c, node);
    }
    return disagree(c, node);
}

bool vs_json_parse(struct vs_arena *arena, const char *file, const char *text, size_t length,
                   const struct vs_json **root, struct vs_err *err) {
    if (length > FILE_MOST_BYTES)
        return vs_err_at(err, file, 0, 0, "found %zu bytes, expected at most 64 MiB", length);
    struct scan s = {.arena = arena, .file = file, .line = 1, .column = 1, .err = err};
    if (length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
        text += 3; /* a byte order mark, which RFC 8259 lets readers ignore */
        length -= 3;
    }
    s.at = text;
    s.end = text + length;
    struct vs_json *node = scan_value(&s, 0);
    if (!node)
        return false;
    pass_blanks(&s);
    if (s.at != s.end)
        return refuse(&s, "nothing after the value");
    /* The scan has found no fault, so that only memory can be wrong here. */
    cJSON *item = cJSON_ParseWithLengthOpts(text, length, NULL, false);
    if (!item)
        return vs_err_nomem(err);
    const struct copier copier = {.arena = arena, .file = file, .err = err};
    bool done = copy_value(&copier, node, item);
    cJSON_Delete(item);
    if (done)
        *root = node;
    return done;
}

bool vs_json_load(struct vs_arena *arena, const char *path, const struct vs_json **root,
                  struct vs_err *err) {
    struct vs_arena scratch = {0}; /* the text itself is not kept */
    char *text = NULL;
    size_t length = 0;
    bool done = vs_file_read(&scratch, path, FILE_MOST_BYTES, &text, &length, err) &&
                vs_json_parse(arena, path, text, length, root, err);
    vs_arena_release(&scratch);
    return done;
}

const struct vs_json *vs_json_member(const struct vs_json *object, const char *key) {
    if (!object || object->kind != VS_JSON_OBJECT)
        return NULL;
    for (const struct vs_json *member = object->child; member; member = member->next) {
        if (vs_streq(member->key, key))
            return member;
    }
    return NULL;
}
