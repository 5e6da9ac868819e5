/* The table of blocks of one pool: handles are indices, slots are used again, and nothing is
 * allocated per operation once the table has grown. Index 0 is never used.
 */
#ifndef VS_MEMORY_BLOCKS_H
#define VS_MEMORY_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum vs_block_state {
    VS_BLOCK_UNUSED, /* the slot is free */
    VS_BLOCK_HELD,   /* in a caller's hands */
    VS_BLOCK_CACHED, /* taken from the driver, in nobody's hands */
    VS_BLOCK_HOLE,   /* expandable segments: address space without memory */
};

enum vs_block_kind { VS_BLOCK_OF_ALLOCATOR, VS_BLOCK_RAW, VS_BLOCK_MANAGED };

struct vs_block_record {
    union {
        uint64_t address;        /* caching: unique within the pool */
        uint64_t resident_bytes; /* managed: the pages at the block's end that are in this pool */
    };
    uint64_t size_bytes;
    uint64_t requested_bytes;
    uint32_t before,
        after; /* caching: neighbours in the segment; managed: older and newer in LRU */
    union {
        struct {
            uint32_t left, right; /* caching, while cached or a hole: children in a free list */
        };
        uint64_t
            dirty_bytes; /* managed: of the resident pages, those at the end that were written */
    };
    uint32_t priority; /* of the slot, for the free lists: a pseudo-random number */
    uint8_t state, kind, tag;
    uint8_t list; /* caching: its stream and pool, see struct vs_caching */
};

struct vs_blocks {
    struct vs_block_record *at;
    uint32_t count;  /* slots ever used, slot 0 included */
    uint32_t in_use; /* slots that are not VS_BLOCK_UNUSED */
    uint32_t unused; /* first of the slots given back, linked by `after`; 0 = none */
    uint32_t room;
};

/* Grows an array for `wanted` elements by half its size at least. `growths_left` is how many
 * growths may still succeed (UINT32_MAX: all), so that tests can let the n-th one fail. NULL when
 * memory runs out: then the array is unchanged. */
void *vs_table_grow(void *at, size_t *room, size_t wanted, size_t element_bytes,
                    uint32_t *growths_left);

/* Makes sure that the next `spare` calls of vs_blocks_take need no memory. */
bool vs_blocks_grow(struct vs_blocks *blocks, uint64_t spare, uint32_t *growths_left);
static inline bool vs_blocks_reserve(struct vs_blocks *blocks, uint64_t spare,
                                     uint32_t *growths_left) {
    /* Slot 0 takes room but is not in use. */
    if ((uint64_t)blocks->in_use + 1 + spare <= blocks->room)
        return true;
    return vs_blocks_grow(blocks, spare, growths_left);
}

/* A slot that vs_blocks_reserve made sure of. Everything but its priority is for the caller to set.
 */
uint32_t vs_blocks_take(struct vs_blocks *blocks);
void vs_blocks_give(struct vs_blocks *blocks, uint32_t index);

void vs_blocks_reset(struct vs_blocks *blocks); /* empty, memory kept */
void vs_blocks_release(struct vs_blocks *blocks);

#endif
