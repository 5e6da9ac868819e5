/* Results read back: what sweep, run, limit and validate wrote as JSON or CSV, and the lists of a
 * replay (requests, moments), become the values that they were written from, as far as the file has
 * them. Keys and columns that are not known are
 * passed over, for a newer program may have written them. */
#ifndef VS_REPORT_SAVED_H
#define VS_REPORT_SAVED_H

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "report/result.h"

/* Reads a file whose kind is told by what is in it. Everything lives in the arena. VS_ERR_INPUT
 * with a place where it is none of them. */
bool vs_saved_load(struct vs_arena *arena, const char *path, struct vs_result *result,
                   struct vs_err *err);

/* saved_outcome.c: one point of JSON into an outcome; `file` for messages. */
bool vs_saved_outcome(struct vs_arena *arena, const char *file, const struct vs_json *object,
                      const struct vs_outcome **outcome, struct vs_err *err);
/* An outcome with nothing in it but its NaNs; NULL when memory runs out. */
struct vs_outcome *vs_saved_blank(struct vs_arena *arena);

/* saved_csv.c: the same from CSV. */
bool vs_saved_csv(struct vs_arena *arena, const char *path, struct vs_result *result,
                  struct vs_err *err);
/* Points in the order of the file into a sweep; those that fit come first in it. */
bool vs_saved_sweep(struct vs_arena *arena, const struct vs_outcome *const *points, size_t count,
                    struct vs_sweep **sweep, struct vs_err *err);

/* Members: NULL or NaN where the key is missing or of another kind. */
const char *vs_saved_text(const struct vs_json *object, const char *key);
double vs_saved_number(const struct vs_json *object, const char *key);

#endif
