/* A growable array: `VS_VEC(struct vs_op) ops;`. An all-zero vector is empty and ready.
 * Elements may move when the vector grows: keep indices, not pointers. */
#ifndef VS_BASE_VEC_H
#define VS_BASE_VEC_H

#include <stdbool.h>
#include <stddef.h>

#define VS_VEC(type)                                                                               \
    struct {                                                                                       \
        type *at;                                                                                  \
        size_t count, room;                                                                        \
    }

/* Makes room for one more element; false when memory runs out (the vector is unchanged). */
#define vs_vec_reserve(v, n)                                                                       \
    vs_vec_grow((void **)&(v)->at, &(v)->room, (v)->count + (n), sizeof *(v)->at)
#define vs_vec_push(v, value)                                                                      \
    (vs_vec_reserve((v), 1) ? ((v)->at[(v)->count++] = (value), true) : false)
#define vs_vec_release(v) (vs_vec_free((void **)&(v)->at), (v)->count = (v)->room = 0)

bool vs_vec_grow(void **at, size_t *room, size_t wanted, size_t size_bytes);
void vs_vec_free(void **at);

#endif
