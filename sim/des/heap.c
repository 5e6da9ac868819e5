#include "des/heap.h"

#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 64 };

/* Without branches: which child is first is a coin toss that no predictor learns. */
static inline bool before(const struct vs_heap_key *a, const struct vs_heap_key *b) {
    return (a->time_ps < b->time_ps) | ((a->time_ps == b->time_ps) & (a->order < b->order));
}

static inline void put(struct vs_heap *heap, size_t at, struct vs_heap_key key) {
    heap->keys[at] = key;
    heap->place[key.id] = (uint32_t)at;
}

static inline size_t parent_of(size_t at) { return at / 4 + 2; }
static inline size_t first_child_of(size_t at) { return at * 4 - 8; }

static void sift_up(struct vs_heap *heap, size_t at, struct vs_heap_key key) {
    while (at > VS_HEAP_ROOT) {
        const size_t parent = parent_of(at);
        if (!before(&key, &heap->keys[parent]))
            break;
        put(heap, at, heap->keys[parent]);
        at = parent;
    }
    put(heap, at, key);
}

/* The first of the children that start at `child` (< end). */
static inline size_t first_of(const struct vs_heap_key *keys, size_t child, size_t end) {
    if (child + 4 <= end) {
        const size_t left = child + before(&keys[child + 1], &keys[child]);
        const size_t right = child + 2 + before(&keys[child + 3], &keys[child + 2]);
        return before(&keys[right], &keys[left]) ? right : left;
    }
    size_t best = child;
    for (size_t other = child + 1; other < end; other++)
        best = before(&keys[other], &keys[best]) ? other : best;
    return best;
}

static void sift_down(struct vs_heap *heap, size_t at, struct vs_heap_key key) {
    const size_t end = VS_HEAP_ROOT + heap->count;
    for (;;) {
        const size_t child = first_child_of(at);
        if (child >= end)
            break;
        const size_t best = first_of(heap->keys, child, end);
        if (!before(&heap->keys[best], &key))
            break;
        put(heap, at, heap->keys[best]);
        at = best;
    }
    put(heap, at, key);
}

bool vs_heap_reserve(struct vs_heap *heap, size_t room) {
    if (room <= heap->room)
        return true;
    size_t wanted = heap->room ? heap->room : 16;
    while (wanted < room)
        wanted *= 2;
    if (wanted > UINT32_MAX / 4)
        return false;
    /* A whole number of lines, as aligned_alloc asks. */
    const size_t key_bytes = (wanted + 4) * sizeof *heap->keys;
    struct vs_heap_key *keys = aligned_alloc(LINE_BYTES, key_bytes);
    uint32_t *place = calloc(wanted, sizeof *place);
    if (!keys || !place) {
        free(keys);
        free(place);
        return false;
    }
    if (heap->keys) {
        memcpy(keys, heap->keys, (VS_HEAP_ROOT + heap->count) * sizeof *keys);
        memcpy(place, heap->place, heap->room * sizeof *place);
    }
    free(heap->keys);
    free(heap->place);
    heap->keys = keys;
    heap->place = place;
    heap->room = wanted;
    return true;
}

void vs_heap_release(struct vs_heap *heap) {
    free(heap->keys);
    free(heap->place);
    *heap = (struct vs_heap){0};
}

void vs_heap_clear(struct vs_heap *heap) {
    for (size_t i = 0; i < heap->count; i++)
        heap->place[heap->keys[VS_HEAP_ROOT + i].id] = 0;
    heap->count = 0;
}

void vs_heap_set(struct vs_heap *heap, struct vs_heap_key key) {
    const size_t at = heap->place[key.id];
    if (at == 0)
        sift_up(heap, VS_HEAP_ROOT + heap->count++, key);
    else if (before(&key, &heap->keys[at]))
        sift_up(heap, at, key);
    else
        sift_down(heap, at, key);
}

struct vs_heap_key vs_heap_pop(struct vs_heap *heap) {
    const struct vs_heap_key top = heap->keys[VS_HEAP_ROOT];
    heap->place[top.id] = 0;
    heap->count--;
    if (heap->count > 0)
        sift_down(heap, VS_HEAP_ROOT, heap->keys[VS_HEAP_ROOT + heap->count]);
    return top;
}
