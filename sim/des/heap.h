/* A 4-ary heap of pending events: the earliest first, at equal times the lower order first.
 *
 * Each owner (`id`, 0..room-1) has at most one event, which can be moved. Keys are 16 bytes and the
 * four children of a key share one cache line; push, pop and move cost O(log n) and never allocate.
 *
 *     struct vs_heap heap = {0};
 *     if (vs_heap_reserve(&heap, 2)) {
 *         vs_heap_set(&heap, (struct vs_heap_key){.time_ps = 7, .order = 0, .id = 1});
 *         vs_heap_set(&heap, (struct vs_heap_key){.time_ps = 5, .order = 1, .id = 0});
 *         vs_heap_pop(&heap).id == 0
 *     }
 */
#ifndef VS_DES_HEAP_H
#define VS_DES_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vs_heap_key {
    int64_t time_ps;
    uint32_t order; /* decides at equal times */
    uint32_t id;    /* whose event this is */
};

/* An all-zero heap is empty and ready. Fields are private to heap.c but for `count`. */
struct vs_heap {
    struct vs_heap_key *keys; /* the root is at VS_HEAP_ROOT */
    uint32_t *place;          /* by id: where its key is, 0 = it has none */
    size_t count, room;
};

enum { VS_HEAP_ROOT = 3 }; /* puts the children 4..7, 8..11, ... on cache lines of their own */

/* Room for ids below `room`; false when memory runs out (the heap is unchanged). */
bool vs_heap_reserve(struct vs_heap *heap, size_t room);
void vs_heap_release(struct vs_heap *heap);
void vs_heap_clear(struct vs_heap *heap);

/* Adds the event of key.id, or moves the one that it has. key.id < room. */
void vs_heap_set(struct vs_heap *heap, struct vs_heap_key key);

/* Removes and returns the first event. The heap is not empty. */
struct vs_heap_key vs_heap_pop(struct vs_heap *heap);

/* The first event without removing it. The heap is not empty. */
static inline struct vs_heap_key vs_heap_top(const struct vs_heap *heap) {
    return heap->keys[VS_HEAP_ROOT];
}

#endif
