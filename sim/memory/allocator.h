/* Inside of memory/: what an allocator is, and what it may ask of its pool. Nobody outside of
 * memory/ includes this but for its tests.
 *
 * An allocator is one file with one `const struct vs_allocator_ops`. It takes bytes from the
 * *driver* (the pool's accounting below), keeps its blocks in the pool's table, and reports what
 * callers hold with vs_pool_hold and vs_pool_drop. It reports each change of its layout to
 * pool->layout as a sum of mixes.
 */
#ifndef VS_MEMORY_ALLOCATOR_H
#define VS_MEMORY_ALLOCATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "memory/blocks.h"
#include "memory/pool.h"

/* Sums of a few such numbers can't overflow 64 bits; 64 PiB is beyond every machine. */
#define VS_POOL_LIMIT_BYTES (1ULL << 56)

struct vs_allocator_ops {
    bool (*open)(struct vs_pool *pool); /* makes pool->allocator; false when memory runs out */
    void (*close)(struct vs_pool *pool);
    void (*reset)(struct vs_pool *pool);
    /* 0 < bytes <= VS_POOL_LIMIT_BYTES. */
    enum vs_pool_result (*alloc)(struct vs_pool *pool, unsigned stream, uint64_t bytes,
                                 enum vs_tag tag, vs_block *block);
    void (*release)(struct vs_pool *pool, vs_block block); /* a held block of this allocator */
    void (*retire)(struct vs_pool *pool, vs_block block);  /* NULL: as release */
    void (*settle)(struct vs_pool *pool);                  /* NULL: nothing is ever retired */
    void (*empty_cache)(struct vs_pool *pool);
    uint64_t (*largest_free)(const struct vs_pool *pool); /* NULL: it keeps no free block */
};
extern const struct vs_allocator_ops vs_allocator_bump;
extern const struct vs_allocator_ops vs_allocator_caching;

/* Managed blocks of a pool. Those with resident pages form a list by last touch. */
struct vs_managed {
    uint32_t oldest, newest; /* 0 = none */
    uint32_t blocks;
    uint64_t absent;        /* sum of mixes of the blocks without resident pages */
    uint64_t evicted_bytes; /* for vs_pool_take_evicted */
    uint64_t owed_bytes;    /* of pages drawn so far: what is left of a page */
    uint64_t backing_epoch; /* the backing pool's, when the first of these blocks was made */
    bool backing_failed;    /* pages that left did not fit into the backing pool */
};

struct vs_pool {
    struct vs_pool_spec spec;
    const struct vs_allocator_ops *ops;
    void *allocator; /* the allocator's own data */
    struct vs_blocks blocks;
    struct vs_managed managed;
    uint64_t ceiling_bytes; /* the capacity, UINT64_MAX after the first failure */
    uint64_t layout;        /* sum of mixes of blocks and segments */
    uint64_t guest_bytes;   /* of raw: managed pages of other pools */
    uint64_t epoch;         /* counts resets */
    struct vs_pool_stats stats;
    uint64_t peak_held_bytes; /* largest allocated + raw */
    bool at_peak;             /* by_tag is the new by_tag_at_peak, once something is dropped */
    bool failed;
    struct vs_oom oom;
    uint32_t growths_left; /* see vs_table_grow */
};

/* First arguments of vs_hash_pair beside addresses, which are multiples of 512. */
enum { VS_MIX_BUMP = 1, VS_MIX_RAW = 2, VS_MIX_SEGMENT = 3, VS_MIX_ABSENT = 4 };

/* Driver: what the process has taken of this memory. */
static inline uint64_t vs_driver_used(const struct vs_pool *pool) {
    return pool->stats.reserved_bytes + pool->stats.raw_bytes;
}
/* Takes a segment, pushing out managed pages if need be; false when it is beyond the ceiling. */
bool vs_driver_take(struct vs_pool *pool, uint64_t bytes);
void vs_driver_give(struct vs_pool *pool, uint64_t bytes);
/* The same for raw memory, `bytes` long, of which the caller asked for `requested`. A failure is
 * recorded: the memory is taken nevertheless and the result is VS_POOL_OOM. */
enum vs_pool_result vs_driver_take_raw(struct vs_pool *pool, uint64_t requested, uint64_t bytes,
                                       enum vs_tag tag);
void vs_driver_give_raw(struct vs_pool *pool, uint64_t bytes, enum vs_tag tag);
/* Counts raw memory that is known to fit. */
void vs_driver_add_raw(struct vs_pool *pool, uint64_t bytes, enum vs_tag tag);

/* Records the first failure and lifts the ceiling. */
void vs_pool_fail(struct vs_pool *pool, uint64_t requested_bytes, uint64_t segment_bytes,
                  enum vs_tag tag);

/* Managed memory. */
enum vs_pool_result vs_managed_alloc(struct vs_pool *pool, uint64_t bytes, enum vs_tag tag,
                                     vs_block *block);
void vs_managed_release(struct vs_pool *pool, vs_block block);
void vs_managed_touch(struct vs_pool *pool, vs_block block, enum vs_touch how, uint64_t bytes,
                      uint64_t *in_bytes, uint64_t *out_bytes);
/* Pushes out least recently used pages of `bytes` bytes, rounded up, or all there are. */
void vs_managed_evict(struct vs_pool *pool, uint64_t bytes);
void vs_managed_reset(struct vs_pool *pool); /* hands everything back to the backing pool */
uint64_t vs_managed_state(const struct vs_pool *pool, uint64_t state);

/* What callers hold. These run once per request, so they live here. */
static inline void vs_pool_count(struct vs_pool *pool, uint64_t bytes, unsigned tag) {
    struct vs_pool_stats *stats = &pool->stats;
    uint64_t held = stats->allocated_bytes + stats->raw_bytes;
    stats->by_tag[tag] += bytes;
    if (stats->by_tag[tag] > stats->peak_by_tag[tag])
        stats->peak_by_tag[tag] = stats->by_tag[tag];
    if (held > pool->peak_held_bytes) {
        pool->peak_held_bytes = held;
        pool->at_peak = true;
    }
}

void vs_pool_keep_peak(struct vs_pool *pool); /* by_tag becomes by_tag_at_peak */

static inline void vs_pool_uncount(struct vs_pool *pool, uint64_t bytes, unsigned tag) {
    if (pool->at_peak)
        vs_pool_keep_peak(pool);
    pool->stats.by_tag[tag] -= bytes;
}

static inline void vs_pool_hold(struct vs_pool *pool, const struct vs_block_record *block) {
    struct vs_pool_stats *stats = &pool->stats;
    stats->allocated_bytes += block->size_bytes;
    stats->requested_bytes += block->requested_bytes;
    if (stats->allocated_bytes > stats->peak_allocated_bytes)
        stats->peak_allocated_bytes = stats->allocated_bytes;
    vs_pool_count(pool, block->size_bytes, block->tag);
}

static inline void vs_pool_drop(struct vs_pool *pool, const struct vs_block_record *block) {
    vs_pool_uncount(pool, block->size_bytes, block->tag);
    pool->stats.allocated_bytes -= block->size_bytes;
    pool->stats.requested_bytes -= block->requested_bytes;
}

#endif
