/* Reading objects key by key: the readers and getters of json.h. */
#include "base/json.h"

#include <float.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "base/vec.h"

enum {
    PATH_SIZE = sizeof((struct vs_json_reader *)0)->path,
    KNOWN_MOST = sizeof((struct vs_json_reader *)0)->known / sizeof(const char *),
    NEAREST_SIZE = 256,
    RANGE_SIZE = 128,
};

/* "PATH.key", "PATH[index]" or "PATH" itself; what is too long ends in "...". */
static void make_path(char out[PATH_SIZE], const char *path, const char *key, size_t index) {
    int size = 0;
    if (key)
        size = snprintf(out, PATH_SIZE, "%s.%s", path, key);
    else if (index != SIZE_MAX)
        size = snprintf(out, PATH_SIZE, "%s[%zu]", path, index);
    else
        size = snprintf(out, PATH_SIZE, "%s", path);
    if (size < 0 || size >= PATH_SIZE)
        memcpy(out + PATH_SIZE - 4, "...", 4);
}

static bool holds(const struct vs_json *parent, const struct vs_json *node, size_t *index) {
    *index = 0;
    for (const struct vs_json *child = parent->child; child; child = child->next, (*index)++) {
        if (child == node)
            return true;
    }
    return false;
}

/* The path of a node: the object itself, a member, or an element of a member array. Deeper nodes
 * have the path of the object. */
static void find_path(const struct vs_json_reader *r, const struct vs_json *node,
                      char out[PATH_SIZE]) {
    make_path(out, r->path, NULL, SIZE_MAX);
    if (!node || !r->object || node == r->object)
        return;
    for (const struct vs_json *member = r->object->child; member; member = member->next) {
        size_t index = 0;
        if (member != node && !(member->kind == VS_JSON_ARRAY && holds(member, node, &index)))
            continue;
        char path[PATH_SIZE];
        make_path(path, r->path, member->key, SIZE_MAX);
        make_path(out, path, NULL, member == node ? SIZE_MAX : index);
        return;
    }
}

bool vs_json_fail(const struct vs_json_reader *reader, const struct vs_json *node,
                  struct vs_err *err, const char *fmt, ...) {
    char path[PATH_SIZE], text[sizeof((struct vs_err *)0)->text];
    va_list args;
    va_start(args, fmt);
    if (vsnprintf(text, sizeof text, fmt, args) < 0)
        text[0] = '\0';
    va_end(args);
    if (!node)
        node = reader->object;
    find_path(reader, node, path);
    return vs_err_at(err, reader->file, node ? node->line : 0, node ? node->column : 0, "at %s: %s",
                     path, text);
}

static const char *kind_name(const struct vs_json *node) {
    switch (node->kind) {
    case VS_JSON_NULL:
        return "null";
    case VS_JSON_BOOL:
        return node->boolean ? "true" : "false";
    case VS_JSON_NUMBER:
        return "a number";
    case VS_JSON_STRING:
        return "a string";
    case VS_JSON_ARRAY:
        return "an array";
    case VS_JSON_OBJECT:
        return "an object";
    }
    return "something else";
}

static const char *kind_wanted(enum vs_json_kind kind) {
    switch (kind) {
    case VS_JSON_NULL:
        return "null";
    case VS_JSON_BOOL:
        return "true or false";
    case VS_JSON_NUMBER:
        return "a number";
    case VS_JSON_STRING:
        return "a string";
    case VS_JSON_ARRAY:
        return "an array";
    case VS_JSON_OBJECT:
        return "an object";
    }
    return "something else";
}

bool vs_json_open(struct vs_json_reader *reader, const char *file, const char *path,
                  const struct vs_json *value, struct vs_err *err) {
    if (!path)
        path = "$";
    if (!value)
        return vs_err_at(err, file, 0, 0, "at %s: found nothing, expected an object", path);
    if (value->kind != VS_JSON_OBJECT)
        return vs_err_at(err, file, value->line, value->column,
                         "at %s: found %s, expected an object", path, kind_name(value));
    *reader = (struct vs_json_reader){.file = file, .object = value};
    make_path(reader->path, path, NULL, SIZE_MAX);
    return true;
}

/* Remembers that somebody asked for the key. */
static bool note_key(struct vs_json_reader *r, const char *key, struct vs_err *err) {
    for (size_t i = 0; i < r->known_count; i++) {
        if (vs_streq(r->known[i], key))
            return true;
    }
    if (r->known_count >= KNOWN_MOST)
        return vs_json_fail(r, NULL, err, "more than %d keys are asked for", KNOWN_MOST);
    r->known[r->known_count++] = key;
    return true;
}

/* Finds a member of any kind; *member is NULL where it is absent, null, and not required. */
static bool find_any(struct vs_json_reader *r, const char *key, bool required, const char *wanted,
                     const struct vs_json **member, struct vs_err *err) {
    if (!note_key(r, key, err))
        return false;
    const struct vs_json *found = vs_json_member(r->object, key);
    if (required && !found)
        return vs_json_fail(r, NULL, err, "found no key '%s', expected %s", key, wanted);
    if (required && found->kind == VS_JSON_NULL)
        return vs_json_fail(r, found, err, "found null, expected %s", wanted);
    *member = found && found->kind != VS_JSON_NULL ? found : NULL;
    return true;
}

static bool find(struct vs_json_reader *r, const char *key, bool required, enum vs_json_kind kind,
                 const struct vs_json **member, struct vs_err *err) {
    const struct vs_json *found = NULL;
    if (!find_any(r, key, required, kind_wanted(kind), &found, err))
        return false;
    if (found && found->kind != kind)
        return vs_json_fail(r, found, err, "found %s, expected %s", kind_name(found),
                            kind_wanted(kind));
    *member = found;
    return true;
}

bool vs_json_open_member(struct vs_json_reader *outer, const char *key, bool required,
                         struct vs_json_reader *inner, bool *present, struct vs_err *err) {
    const struct vs_json *member = NULL;
    char path[PATH_SIZE];
    if (!find(outer, key, required, VS_JSON_OBJECT, &member, err))
        return false;
    make_path(path, outer->path, key, SIZE_MAX);
    if (member && !vs_json_open(inner, outer->file, path, member, err))
        return false;
    if (present)
        *present = member != NULL;
    return true;
}

bool vs_json_get_string(struct vs_json_reader *r, const char *key, bool required, const char **out,
                        struct vs_err *err) {
    const struct vs_json *member = NULL;
    if (!find(r, key, required, VS_JSON_STRING, &member, err))
        return false;
    if (member)
        *out = member->string;
    return true;
}

bool vs_json_get_bool(struct vs_json_reader *r, const char *key, bool required, bool *out,
                      struct vs_err *err) {
    const struct vs_json *member = NULL;
    if (!find(r, key, required, VS_JSON_BOOL, &member, err))
        return false;
    if (member)
        *out = member->boolean;
    return true;
}

/* A number as it is shown in a message: integers in full. */
static void show_number(const struct vs_json *node, char out[VS_UNIT_TEXT]) {
    if (node->is_integer)
        (void)snprintf(out, VS_UNIT_TEXT, "%" PRIu64, node->integer);
    else
        (void)vs_print_g9(out, node->number);
}

/* "a number from 0 to 1"; an open end is left out. */
static void say_range(char out[RANGE_SIZE], const char *what, const char *low, const char *high) {
    if (low && high)
        (void)snprintf(out, RANGE_SIZE, "%s from %s to %s", what, low, high);
    else if (low || high)
        (void)snprintf(out, RANGE_SIZE, "%s of at %s %s", what, low ? "least" : "most",
                       low ? low : high);
    else
        (void)snprintf(out, RANGE_SIZE, "%s", what);
}

bool vs_json_get_number(struct vs_json_reader *r, const char *key, bool required, double low,
                        double high, double *out, struct vs_err *err) {
    const struct vs_json *member = NULL;
    if (!find(r, key, required, VS_JSON_NUMBER, &member, err))
        return false;
    if (member && !(member->number >= low && member->number <= high)) {
        char found[VS_UNIT_TEXT], least[VS_UNIT_TEXT], most[VS_UNIT_TEXT], range[RANGE_SIZE];
        show_number(member, found);
        say_range(range, "a number", low > -DBL_MAX ? vs_print_g9(least, low) : NULL,
                  high < DBL_MAX ? vs_print_g9(most, high) : NULL);
        return vs_json_fail(r, member, err, "found %s, expected %s", found, range);
    }
    if (member)
        *out = member->number;
    return true;
}

bool vs_json_get_u64(struct vs_json_reader *r, const char *key, bool required, uint64_t low,
                     uint64_t high, uint64_t *out, struct vs_err *err) {
    const struct vs_json *member = NULL;
    if (!find(r, key, required, VS_JSON_NUMBER, &member, err))
        return false;
    if (member && !(member->is_integer && member->integer >= low && member->integer <= high)) {
        char found[VS_UNIT_TEXT], least[VS_UNIT_TEXT], most[VS_UNIT_TEXT], range[RANGE_SIZE];
        show_number(member, found);
        (void)snprintf(least, sizeof least, "%" PRIu64, low);
        (void)snprintf(most, sizeof most, "%" PRIu64, high);
        say_range(range, "a whole number", least, high < UINT64_MAX ? most : NULL);
        return vs_json_fail(r, member, err, "found %s, expected %s", found, range);
    }
    if (member)
        *out = member->integer;
    return true;
}

bool vs_json_get_array(struct vs_json_reader *r, const char *key, bool required,
                       const struct vs_json **out, struct vs_err *err) {
    const struct vs_json *member = NULL;
    if (!find(r, key, required, VS_JSON_ARRAY, &member, err))
        return false;
    if (member)
        *out = member;
    return true;
}

bool vs_json_get_any(struct vs_json_reader *r, const char *key, bool required,
                     const struct vs_json **out, struct vs_err *err) {
    const struct vs_json *member = NULL;
    if (!find_any(r, key, required, "a value", &member, err))
        return false;
    if (member)
        *out = member;
    return true;
}

bool vs_json_get_strings(struct vs_json_reader *r, const char *key, bool required,
                         struct vs_arena *arena, const char *const **out, size_t *count,
                         struct vs_err *err) {
    const struct vs_json *array = NULL;
    if (!vs_json_get_array(r, key, required, &array, err))
        return false;
    if (!array)
        return true;
    const char **strings = VS_NEW_ARRAY(arena, const char *, array->count);
    if (!strings)
        return vs_err_nomem(err);
    size_t i = 0;
    for (const struct vs_json *element = array->child; element; element = element->next) {
        if (element->kind != VS_JSON_STRING)
            return vs_json_fail(r, element, err, "found %s, expected a string", kind_name(element));
        strings[i] = vs_arena_strdup(arena, element->string);
        if (!strings[i++])
            return vs_err_nomem(err);
    }
    *out = strings;
    *count = i;
    return true;
}

bool vs_json_close(struct vs_json_reader *reader, struct vs_err *err) {
    for (const struct vs_json *member = reader->object->child; member; member = member->next) {
        bool known = false;
        for (size_t i = 0; i < reader->known_count && !known; i++)
            known = vs_streq(reader->known[i], member->key);
        if (known)
            continue;
        char nearest[NEAREST_SIZE];
        vs_nearest(member->key, reader->known, reader->known_count, nearest, sizeof nearest);
        return vs_err_at(err, reader->file, member->key_line, member->key_column,
                         "unknown key '%.100s', expected %s%s", member->key,
                         nearest[0] == '\0' ? "no key" : "one of: ", nearest);
    }
    return true;
}
