/* Inside of the caching allocator: its data, and the part of it that works on expandable segments.
 */
#ifndef VS_MEMORY_CACHING_H
#define VS_MEMORY_CACHING_H

#include <stdbool.h>
#include <stdint.h>

#include "memory/address_space.h"
#include "memory/allocator.h"
#include "memory/free_list.h"

/* Constants of c10/cuda/CUDACachingAllocator.cpp (pytorch/pytorch). */
#define VS_CACHING_MIN_BLOCK_BYTES 512ULL
#define VS_CACHING_SMALL_BYTES (1ULL << 20)         /* kSmallSize: the largest of the small pool */
#define VS_CACHING_SMALL_SEGMENT_BYTES (2ULL << 20) /* kSmallBuffer */
#define VS_CACHING_MIN_LARGE_BYTES (10ULL << 20)    /* kMinLargeAlloc: smaller get a kLargeBuffer */
#define VS_CACHING_LARGE_SEGMENT_BYTES (20ULL << 20) /* kLargeBuffer */
#define VS_CACHING_ROUND_LARGE_BYTES (2ULL << 20)    /* kRoundLarge */

/* Each stream has its own free blocks, large ones and small ones: a block never changes the list
 * in which its segment began. */
static inline uint8_t vs_caching_list(unsigned stream, bool small) {
    return (uint8_t)(2 * stream + small);
}
static inline bool vs_caching_is_small(uint8_t list) { return list % 2 == 1; }

/* Blocks of one stream that were retired, the oldest first. */
struct vs_retired {
    uint32_t first, last; /* 0 = none */
    uint32_t count;
};

struct vs_caching_list {
    struct vs_free_list cached;
    uint32_t holes; /* expandable segments only */
};

struct vs_caching {
    struct vs_caching_list *lists; /* two to a stream, see vs_caching_list */
    struct vs_retired *retired;    /* by stream */
    unsigned streams;
    struct vs_address_space space;
    uint64_t max_split_bytes; /* UINT64_MAX = unlimited */
    uint64_t max_non_split_rounding_bytes;
    uint64_t reservation_bytes; /* address space of an expandable segment */
    uint64_t asked_bytes;       /* what the driver last refused */
    unsigned divisions;
    bool expandable;
};

/* The size of a block for a request: round_size, with roundup_power2_divisions. */
uint64_t vs_caching_round(unsigned divisions, uint64_t bytes);
/* The size of a fresh segment for a rounded size: get_allocation_size. */
uint64_t vs_caching_segment(uint64_t rounded_bytes);

/* Makes one block of two neighbours of one segment if both are cached or both are holes; `other`
 * leaves its list and its slot. 0 for `other` is fine. `block` itself is in no list. */
void vs_caching_merge(struct vs_pool *pool, uint32_t block, uint32_t other);
void vs_caching_cache(struct vs_pool *pool, uint32_t block); /* into the list of cached blocks */
void vs_caching_uncache(struct vs_pool *pool, uint32_t block);

/* Parts a block in no list at its `size_bytes`-th byte: a new block behind it with the same state,
 * in no list either. Needs one slot. */
uint32_t vs_caching_split(struct vs_pool *pool, uint32_t block, uint64_t size_bytes);

/* Expandable segments: maps pages until a cached block of `size_bytes` exists and takes it from its
 * list; 0 when the driver refuses (caching->asked_bytes says what was asked for). */
uint32_t vs_expandable_grow(struct vs_pool *pool, uint8_t list, uint64_t size_bytes);
/* The best fit among blocks from `block` on, which is the smallest that is large enough: by the
 * size to which they could grow. */
uint32_t vs_expandable_prefer(const struct vs_pool *pool, uint32_t block);
/* Slots and memory that any later call here may need. */
bool vs_expandable_reserve(struct vs_pool *pool, uint64_t size_bytes);
/* Unmaps the whole pages of a cached block. */
void vs_expandable_unmap(struct vs_pool *pool, uint32_t block);

#endif
