/* Memory that is freed all at once.
 *
 * A case, a plan and an outcome each live in one arena: whatever points into it dies with
 * vs_arena_release. Blocks grow geometrically; vs_arena_reset keeps the largest block, so that a
 * sweep does not go back to the system for each point. Not thread-safe: one arena per thread.
 */
#ifndef VS_BASE_ARENA_H
#define VS_BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

#include "base/err.h"

struct vs_arena_block;

struct vs_arena {
    struct vs_arena_block *blocks; /* newest first */
    size_t used_bytes;             /* handed out since the last reset */
};

/* An all-zero arena is ready for use; vs_arena_init only says so. */
void vs_arena_init(struct vs_arena *arena);

/* Zeroed memory, aligned for any type; NULL when the system has none left or count*size overflows.
 */
void *vs_arena_alloc(struct vs_arena *arena, size_t count, size_t size_bytes);

/* A copy of `count` elements, with a zeroed one behind them; NULL when memory runs out. */
void *vs_arena_copy(struct vs_arena *arena, const void *from, size_t count, size_t size_bytes);

/* Typed form: `double *x = VS_NEW_ARRAY(arena, double, n);` */
#define VS_NEW_ARRAY(arena, type, count) ((type *)vs_arena_alloc((arena), (count), sizeof(type)))
#define VS_NEW(arena, type) VS_NEW_ARRAY(arena, type, 1)

/* Copies of strings; NULL when memory runs out. */
char *vs_arena_strdup(struct vs_arena *arena, const char *text);
char *vs_arena_strndup(struct vs_arena *arena, const char *text, size_t length);
char *vs_arena_printf(struct vs_arena *arena, const char *fmt, ...) VS_PRINTF(2, 3);

/* Takes over everything that `other` holds; `other` is empty afterwards. */
void vs_arena_adopt(struct vs_arena *arena, struct vs_arena *other);

void vs_arena_reset(struct vs_arena *arena);
void vs_arena_release(struct vs_arena *arena);

#endif
