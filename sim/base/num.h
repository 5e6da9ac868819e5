/* Numbers that carry where they come from, and tables that say which numbers a thing has.
 *
 * In a file: {"value": 1008e9, "method": "datasheet", "source": "..."}; method is one of datasheet,
 * reported, measured, derived, assumed. In memory: struct vs_num. One table of struct vs_field per
 * kind of thing serves reading, `--set PATH=VALUE` (path without its unit suffix, value with its
 * unit) and `show`.
 */
#ifndef VS_BASE_NUM_H
#define VS_BASE_NUM_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"

struct vs_num {
    double value;       /* NaN = not stated */
    const char *method; /* NULL when not stated */
    const char *source;
};

bool vs_num_known(struct vs_num n);
double vs_num_or(struct vs_num n, double fallback);

struct vs_field {
    const char *path; /* "memory.bandwidth_bytes_per_s": keys joined by '.'; the suffix is the unit:
                         _bytes, _bytes_per_s, _flops, _s, _hz, _w; none = a plain number */
    size_t offset;    /* of the struct vs_num within the object */
    bool required;
    double low, high; /* closed bounds */
};

/* Sets every number of `object` to unknown, then reads those that the table names from the JSON
 * object that `reader` has open (nested objects are opened and closed as the paths say, so each
 * nested object that the table names may hold other keys only if listed in `other`, a
 * NULL-terminated list of paths that the caller reads itself). */
bool vs_fields_read(struct vs_arena *arena, struct vs_json_reader *reader,
                    const struct vs_field *fields, size_t count, void *object,
                    const char *const *other, struct vs_err *err);

/* One number object {"value", "method", "source"}. */
bool vs_num_read(struct vs_arena *arena, struct vs_json_reader *outer, const char *key,
                 bool required, double low, double high, struct vs_num *out, struct vs_err *err);

/* `--set`: finds the field whose path without its unit suffix is `path`, parses `value` by its
 * unit, checks its bounds; method becomes "set", source "command line". *found says whether the
 * path was known. */
bool vs_fields_set(const struct vs_field *fields, size_t count, void *object, const char *path,
                   const char *value, bool *found, struct vs_err *err);

/* Length of the field's path without its unit suffix: what `--set` calls it. */
size_t vs_field_name_length(const struct vs_field *field);

/* "1008 GB/s", "23.64 GiB", "165.2 TFLOPS", "2520 MHz", ... by the unit of the field's path. */
void vs_field_print(const struct vs_field *field, struct vs_num n, char *out, size_t out_size);

#endif
