/* Growable arrays that begin on a cache line, so that an element of 64 bytes lies on one. Use with
 * VS_VEC; free with vs_vec_release. */
#ifndef VS_DES_LINES_H
#define VS_DES_LINES_H

#include <stdbool.h>
#include <stddef.h>

enum { VS_LINE_BYTES = 64 };

/* Like vs_vec_grow: room for at least `wanted` elements; false when memory runs out. `at` is the
 * address of the array's pointer. */
bool vs_lines_grow(void *at, size_t *room, size_t wanted, size_t size_bytes);

#define VS_LINES_RESERVE(v, n)                                                                     \
    ((v)->room - (v)->count >= (n) ||                                                              \
     vs_lines_grow(&(v)->at, &(v)->room, (v)->count + (n), sizeof *(v)->at))

#if defined(__GNUC__)
#define VS_PREFETCH(address) __builtin_prefetch((address), 1)
#else
#define VS_PREFETCH(address) ((void)(address))
#endif

#endif
