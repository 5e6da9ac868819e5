#include "base/num.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

enum unit { UNIT_NONE, UNIT_RATE, UNIT_BYTES, UNIT_FLOPS, UNIT_SECONDS, UNIT_HERTZ, UNIT_WATTS };

/* "_bytes_per_s" stands before "_s", which it ends in. */
static const struct suffix {
    const char *text;
    enum unit unit;
} suffixes[] = {
    {"_bytes_per_s", UNIT_RATE}, {"_bytes", UNIT_BYTES}, {"_flops", UNIT_FLOPS},
    {"_s", UNIT_SECONDS},        {"_hz", UNIT_HERTZ},    {"_w", UNIT_WATTS},
};

enum { SUFFIX_COUNT = sizeof suffixes / sizeof suffixes[0], KEY_LONGEST = 64 };

static const char *const methods[] = {"datasheet", "reported", "measured", "derived", "assumed"};
enum { METHOD_COUNT = sizeof methods / sizeof methods[0] };

bool vs_num_known(struct vs_num n) { return !isnan(n.value); }

double vs_num_or(struct vs_num n, double fallback) { return vs_num_known(n) ? n.value : fallback; }

/* The unit of a field's path; *base becomes the length of the path without the unit's suffix. */
static enum unit unit_of(const char *path, size_t *base) {
    size_t length = strlen(path);
    for (size_t i = 0; i < SUFFIX_COUNT; i++) {
        size_t tail = strlen(suffixes[i].text);
        if (length > tail && strcmp(path + length - tail, suffixes[i].text) == 0) {
            *base = length - tail;
            return suffixes[i].unit;
        }
    }
    *base = length;
    return UNIT_NONE;
}

static struct vs_num *num_at(void *object, const struct vs_field *field) {
    return (struct vs_num *)(void *)((char *)object + field->offset);
}

/* Reading */

static bool method_known(const char *method) {
    for (size_t i = 0; i < METHOD_COUNT; i++)
        if (strcmp(method, methods[i]) == 0)
            return true;
    return false;
}

bool vs_num_read(struct vs_arena *arena, struct vs_json_reader *outer, const char *key,
                 bool required, double low, double high, struct vs_num *out, struct vs_err *err) {
    struct vs_json_reader r;
    bool present = false;
    if (!vs_json_open_member(outer, key, required, &r, &present, err))
        return false;
    if (!present)
        return true;
    double value = 0;
    const char *method = NULL, *source = NULL;
    if (!vs_json_get_number(&r, "value", true, low, high, &value, err) ||
        !vs_json_get_string(&r, "method", true, &method, err) ||
        !vs_json_get_string(&r, "source", true, &source, err) || !vs_json_close(&r, err))
        return false;
    if (!method_known(method))
        return vs_json_fail(&r, vs_json_member(r.object, "method"), err,
                            "unknown method '%s', expected one of: datasheet, reported, measured, "
                            "derived, assumed",
                            method);
    if (source[0] == '\0')
        return vs_json_fail(&r, vs_json_member(r.object, "source"), err,
                            "empty source, expected where the number comes from");
    method = vs_arena_strdup(arena, method);
    source = vs_arena_strdup(arena, source);
    if (!method || !source)
        return vs_err_nomem(err);
    *out = (struct vs_num){.value = value, .method = method, .source = source};
    return true;
}

/* What one call of vs_fields_read works on. */
struct reading {
    struct vs_arena *arena;
    const struct vs_field *fields;
    size_t count;
    void *object;
    const char *const *other;
};

/* The part of `path` below `prefix` ("memory." or ""), or NULL when it is not below it. */
static const char *below(const char *path, const char *prefix) {
    size_t length = strlen(prefix);
    return strncmp(path, prefix, length) == 0 ? path + length : NULL;
}

/* Is there an earlier field in the same nested object? */
static bool seen_before(const struct reading *in, size_t index, const char *nested) {
    for (size_t i = 0; i < index; i++)
        if (below(in->fields[i].path, nested))
            return true;
    return false;
}

static bool any_required(const struct reading *in, const char *nested) {
    for (size_t i = 0; i < in->count; i++)
        if (in->fields[i].required && below(in->fields[i].path, nested))
            return true;
    return false;
}

/* Tells the reader that keys which the caller reads are known. */
static bool mark_other(const struct reading *in, struct vs_json_reader *r, const char *prefix,
                       struct vs_err *err) {
    for (size_t i = 0; in->other && in->other[i]; i++) {
        const char *rest = below(in->other[i], prefix);
        if (!rest)
            continue;
        const char *dot = strchr(rest, '.');
        char *key = vs_arena_strndup(in->arena, rest, dot ? (size_t)(dot - rest) : strlen(rest));
        if (!key)
            return vs_err_nomem(err);
        const struct vs_json *node = NULL;
        if (!vs_json_get_any(r, key, false, &node, err))
            return false;
    }
    return true;
}

static bool read_level(const struct reading *in, struct vs_json_reader *r, const char *prefix,
                       struct vs_err *err);

/* Field number `index` lies deeper than `prefix`: opens the object and reads all that it holds. */
static bool read_nested(const struct reading *in, struct vs_json_reader *r, const char *prefix,
                        const char *rest, size_t index, struct vs_err *err) {
    size_t length = (size_t)(strchr(rest, '.') - rest);
    char *key = vs_arena_strndup(in->arena, rest, length);
    char *nested = vs_arena_printf(in->arena, "%s%.*s.", prefix, (int)length, rest);
    if (!key || !nested)
        return vs_err_nomem(err);
    if (seen_before(in, index, nested))
        return true;
    struct vs_json_reader inner;
    bool present = false;
    if (!vs_json_open_member(r, key, any_required(in, nested), &inner, &present, err))
        return false;
    if (!present)
        return true;
    return read_level(in, &inner, nested, err) && vs_json_close(&inner, err);
}

static bool read_level(const struct reading *in, struct vs_json_reader *r, const char *prefix,
                       struct vs_err *err) {
    for (size_t i = 0; i < in->count; i++) {
        const struct vs_field *field = &in->fields[i];
        const char *rest = below(field->path, prefix);
        if (!rest)
            continue;
        bool ok = strchr(rest, '.') ? read_nested(in, r, prefix, rest, i, err)
                                    : vs_num_read(in->arena, r, rest, field->required, field->low,
                                                  field->high, num_at(in->object, field), err);
        if (!ok)
            return false;
    }
    return mark_other(in, r, prefix, err);
}

bool vs_fields_read(struct vs_arena *arena, struct vs_json_reader *reader,
                    const struct vs_field *fields, size_t count, void *object,
                    const char *const *other, struct vs_err *err) {
    const struct reading in = {arena, fields, count, object, other};
    for (size_t i = 0; i < count; i++)
        *num_at(object, &fields[i]) = (struct vs_num){.value = (double)NAN};
    return read_level(&in, reader, "", err);
}

/* Setting */

struct scale {
    const char *unit;
    double factor;
};

/* "2520MHz": a plain number and one of `scales`, which ends in an entry without a unit. */
static bool parse_scaled(const char *text, const struct scale *scales, const char *expected,
                         double *value, char why[VS_WHY_SIZE]) {
    size_t length = strlen(text);
    for (; scales->unit; scales++) {
        char digits[KEY_LONGEST];
        size_t tail = strlen(scales->unit);
        if (length <= tail || strcmp(text + length - tail, scales->unit) != 0 ||
            length - tail >= sizeof digits)
            continue;
        memcpy(digits, text, length - tail);
        digits[length - tail] = '\0';
        if (!vs_parse_number(digits, value, why))
            break;
        *value *= scales->factor;
        return true;
    }
    (void)snprintf(why, VS_WHY_SIZE, "expected %s", expected);
    return false;
}

static bool parse_unit(enum unit unit, const char *text, double *value, char why[VS_WHY_SIZE]) {
    /* Longer units first: "GHz" ends in "Hz". */
    static const struct scale hertz[] = {
        {"GHz", 1e9}, {"MHz", 1e6}, {"kHz", 1e3}, {"Hz", 1}, {NULL, 0}};
    static const struct scale watts[] = {{"kW", 1e3}, {"W", 1}, {NULL, 0}};
    uint64_t bytes = 0;
    switch (unit) {
    case UNIT_BYTES:
        if (!vs_parse_bytes(text, &bytes, why))
            return false;
        *value = (double)bytes;
        return true;
    case UNIT_RATE:
        return vs_parse_rate(text, value, why);
    case UNIT_FLOPS:
        return vs_parse_flops(text, value, why);
    case UNIT_SECONDS:
        return vs_parse_seconds(text, value, why);
    case UNIT_HERTZ:
        return parse_scaled(text, hertz, "a frequency such as 2520MHz or 1.4GHz", value, why);
    case UNIT_WATTS:
        return parse_scaled(text, watts, "a power such as 450W", value, why);
    case UNIT_NONE:
        break;
    }
    return vs_parse_number(text, value, why);
}

size_t vs_field_name_length(const struct vs_field *field) {
    size_t base = 0;
    (void)unit_of(field->path, &base);
    return base;
}

static const struct vs_field *find_field(const struct vs_field *fields, size_t count,
                                         const char *path) {
    for (size_t i = 0; i < count; i++) {
        size_t base = vs_field_name_length(&fields[i]);
        bool short_form = strlen(path) == base && strncmp(path, fields[i].path, base) == 0;
        if (short_form || strcmp(path, fields[i].path) == 0)
            return &fields[i];
    }
    return NULL;
}

bool vs_fields_set(const struct vs_field *fields, size_t count, void *object, const char *path,
                   const char *value, bool *found, struct vs_err *err) {
    const struct vs_field *field = find_field(fields, count, path);
    *found = field != NULL;
    if (!field)
        return true;
    char why[VS_WHY_SIZE] = "";
    double number = 0;
    size_t base = 0;
    if (!parse_unit(unit_of(field->path, &base), value, &number, why))
        return vs_err_set(err, VS_ERR_INPUT, "'%s' for %s: %s", value, path, why);
    if (!(number >= field->low && number <= field->high)) {
        char low[64], high[64];
        const struct vs_num least = {.value = field->low}, most = {.value = field->high};
        vs_field_print(field, least, low, sizeof low);
        vs_field_print(field, most, high, sizeof high);
        return vs_err_set(err, VS_ERR_INPUT, "'%s' for %s is out of range, expected %s to %s",
                          value, path, low, high);
    }
    *num_at(object, field) =
        (struct vs_num){.value = number, .method = "set", .source = "command line"};
    return true;
}

/* Printing */

static void print_scaled(double value, const struct scale *scales, char *out, size_t out_size) {
    char digits[VS_UNIT_TEXT];
    while (scales[1].unit && fabs(value) < scales->factor)
        scales++;
    (void)snprintf(out, out_size, "%s %s", vs_print_g9(digits, value / scales->factor),
                   scales->unit);
}

void vs_field_print(const struct vs_field *field, struct vs_num n, char *out, size_t out_size) {
    static const struct scale flops[] = {
        {"TFLOPS", 1e12}, {"GFLOPS", 1e9}, {"MFLOPS", 1e6}, {NULL, 0}};
    static const struct scale hertz[] = {{"MHz", 1e6}, {"kHz", 1e3}, {"Hz", 1}, {NULL, 0}};
    static const struct scale watts[] = {{"W", 1}, {NULL, 0}};
    char text[VS_UNIT_TEXT];
    size_t base = 0;
    if (!vs_num_known(n)) {
        (void)snprintf(out, out_size, "unknown");
        return;
    }
    switch (unit_of(field->path, &base)) {
    case UNIT_BYTES:
        (void)vs_print_bytes(text, n.value > 0 && n.value < 0x1p64 ? (uint64_t)n.value : 0);
        break;
    case UNIT_RATE:
        (void)vs_print_rate(text, n.value);
        break;
    case UNIT_SECONDS:
        (void)vs_print_seconds(text, n.value);
        break;
    case UNIT_FLOPS:
        print_scaled(n.value, flops, out, out_size);
        return;
    case UNIT_HERTZ:
        print_scaled(n.value, hertz, out, out_size);
        return;
    case UNIT_WATTS:
        print_scaled(n.value, watts, out, out_size);
        return;
    case UNIT_NONE:
        (void)vs_print_g9(text, n.value);
        break;
    }
    (void)snprintf(out, out_size, "%s", text);
}
