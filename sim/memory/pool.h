/* Memory with a capacity, handed out by an allocator. It knows bytes and tags only.
 *
 * A pool is one physical memory as a process sees it. `vs_pool_alloc` asks the pool's *allocator*,
 * which takes *segments* from the pool:
 *
 * - bump: every request is a segment of its own, rounded to `granularity_bytes` (llama.cpp's static
 *   buffers, host malloc).
 *
 * - caching: PyTorch's CUDA caching allocator (rounding, small and large segments, best fit,
 *   splitting, expandable segments, emptying the cache and retrying). Free blocks belong to the
 *   stream that asked for their segment, and serve that stream only.
 *
 * `vs_pool_alloc_raw` goes past the allocator to the driver (contexts, communicators), and
 * `vs_pool_alloc_managed`, in a pool that has a `backing` pool, makes pages of 2 MiB that live in
 * either and migrate when touched.
 *
 * Real allocators act in the order in which the host issues work, not in the order in which a
 * device finishes it. So does a pool: it has no clock. A block that a second stream uses is
 * *retired* instead of released (record_stream): the host has given it up, but the device may still
 * be at work on it, so it serves nobody until a later request of its stream finds more than
 * `in_flight_blocks` retired ones behind it, or the device is drained (vs_pool_settle).
 *
 * When a request fails the pool keeps the first vs_oom and, from then on, has no ceiling: the
 * caller may stop, or go on to learn how much would have been needed.
 */
#ifndef VS_MEMORY_POOL_H
#define VS_MEMORY_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum vs_tag {
#define X(id, name) VS_TAG_##id,
#include "memory/tags.def"
#undef X
    VS_TAG_COUNT
};
const char *vs_tag_name(enum vs_tag tag);

enum vs_allocator { VS_ALLOC_BUMP, VS_ALLOC_CACHING };

/* Streams are numbers; stream 0 is the one that computes. VS_POOL_STREAMS unless the spec says how
 * many, at most VS_POOL_STREAMS_MOST. */
enum { VS_POOL_STREAMS = 3, VS_POOL_STREAMS_MOST = 128 };

struct vs_pool_spec {
    const char *name;        /* not copied: must outlive the pool */
    uint64_t capacity_bytes; /* UINT64_MAX = no ceiling */
    enum vs_allocator allocator;
    uint64_t granularity_bytes;                 /* bump: rounds requests up; 0 = 1 */
    bool round_to_power_of_two;                 /* bump: pinned host memory of PyTorch */
    bool expandable_segments;                   /* caching */
    uint64_t max_split_bytes;                   /* caching; 0 = unlimited */
    uint64_t max_non_split_rounding_bytes;      /* caching; 0 = 20 MiB */
    unsigned roundup_power2_divisions;          /* caching; 0 = off */
    unsigned stream_count;                      /* 0 = VS_POOL_STREAMS */
    uint32_t in_flight_blocks[VS_POOL_STREAMS]; /* caching: how many retired blocks of a stream may
                                                   still be in use when it asks for the next */
    struct vs_pool *backing; /* where managed pages go when they leave; may be NULL */
};

/* A block that the caller holds. 0 is never a valid handle. */
typedef uint32_t vs_block;

struct vs_oom {
    const char *pool;             /* the pool's name */
    uint64_t requested_bytes;     /* what the caller asked for */
    uint64_t segment_bytes;       /* what the allocator asked the driver for */
    uint64_t in_use_bytes;        /* taken from the driver at that moment (reserved + raw) */
    uint64_t reserved_free_bytes; /* of these: cached, unused, and not releasable */
    uint64_t largest_free_bytes;  /* of these: the largest block */
    uint64_t capacity_bytes;
    uint64_t short_bytes;          /* segment_bytes - (capacity - in_use) */
    enum vs_tag tag;               /* of the failing request */
    uint64_t by_tag[VS_TAG_COUNT]; /* allocated bytes by tag at that moment */
};

struct vs_pool_stats {
    uint64_t allocated_bytes;   /* blocks in callers' hands, as the allocator rounds them */
    uint64_t requested_bytes;   /* the same, as asked for */
    uint64_t reserved_bytes;    /* segments taken from the driver by the allocator */
    uint64_t raw_bytes;         /* taken past the allocator, managed pages that are here included */
    uint64_t managed_bytes;     /* of raw: this pool's own managed pages that are here */
    uint64_t migrated_in_bytes; /* managed pages copied here, since the last reset */
    uint64_t migrated_out_bytes; /* managed pages copied to the backing pool */
    uint64_t peak_allocated_bytes;
    uint64_t peak_reserved_bytes;
    uint64_t peak_used_bytes;      /* largest reserved + raw: what the driver shows */
    uint64_t retries;              /* how often the cache was emptied to satisfy a request */
    uint64_t by_tag[VS_TAG_COUNT]; /* allocated now, raw included */
    uint64_t by_tag_at_peak[VS_TAG_COUNT]; /* when allocated + raw was largest */
    uint64_t peak_by_tag[VS_TAG_COUNT];    /* each tag's own largest value */
};

struct vs_pool;

/* NULL when memory runs out. The backing pool must outlive this one (pools may be reset in any
 * order). vs_pool_free(NULL) is fine. */
struct vs_pool *vs_pool_new(const struct vs_pool_spec *spec);
void vs_pool_free(struct vs_pool *pool);

/* Back to empty, statistics included; keeps the memory that the pool's own tables use. */
void vs_pool_reset(struct vs_pool *pool);

enum vs_pool_result {
    VS_POOL_OK,
    VS_POOL_RETRIED, /* served after the cache was emptied: a device-wide stall in real life */
    VS_POOL_OOM,     /* beyond the ceiling for the first time; served nevertheless */
    VS_POOL_NOMEM,   /* this process is out of memory; nothing was handed out */
};

/* Hands out a block of `bytes` (0 allocates nothing and gives handle 0). A pool counts to 2^56
 * bytes: a request beyond that gets VS_POOL_NOMEM, with a vs_oom if the pool has a ceiling. */
enum vs_pool_result vs_pool_alloc(struct vs_pool *pool, uint64_t bytes, enum vs_tag tag,
                                  vs_block *block);
/* The same for work on a given stream (one that the pool does not have counts as 0). */
enum vs_pool_result vs_pool_alloc_on(struct vs_pool *pool, unsigned stream, uint64_t bytes,
                                     enum vs_tag tag, vs_block *block);
enum vs_pool_result vs_pool_alloc_raw(struct vs_pool *pool, uint64_t bytes, enum vs_tag tag,
                                      vs_block *block);

/* Gives a block back; handle 0 and handles that nobody holds are ignored. */
void vs_pool_release_block(struct vs_pool *pool, vs_block block);

/* The same for a block that another stream may still use: no longer allocated, not yet free. The
 * handle is no longer the caller's. */
void vs_pool_retire(struct vs_pool *pool, vs_block block);
/* The device is drained: all retired blocks are free. */
void vs_pool_settle(struct vs_pool *pool);

/* Gives cached segments that nobody uses back to the driver (torch.cuda.empty_cache). */
void vs_pool_empty_cache(struct vs_pool *pool);

/* Managed memory: pages of 2 MiB that start in the backing pool, where they count as raw, and live
 * in one of the two pools at a time. A touch brings the pages that it uses here, pushing out the
 * least recently used managed pages when the pool is full. Pages that nobody has touched before
 * hold nothing: they come without a copy. Every page that leaves is copied, written or not:
 * NVIDIA's driver moves all resident pages of the 2 MiB chunk that it evicts
 * (open-gpu-kernel-modules, uvm_va_block.c: uvm_va_block_evict_chunks), unless the program asked
 * for read-mostly duplicates.
 *
 * A touch that needs more than what can be held moves in wholly each time, and all of it but what
 * can be held moves out again: strict LRU, and what streaming over more managed memory than a GPU
 * has shows (the same rate at 1.5 and at 3 times the GPU's memory: RRZE-HPC/gpu-benches,
 * um-stream). Ordinary requests that do not fit push managed pages out before they fail.
 *
 * If pages that leave do not fit into the backing pool, that pool keeps the vs_oom, and vs_pool_oom
 * of this pool shows it unless this pool has one of its own. In a pool without a backing pool,
 * managed memory is raw memory in whole pages. */
enum vs_pool_result vs_pool_alloc_managed(struct vs_pool *pool, uint64_t bytes, enum vs_tag tag,
                                          vs_block *block);

/* The unit of migration and of eviction [uvm_pmm_gpu.h: UVM_CHUNK_SIZE_MAX]. */
#define VS_MANAGED_PAGE_BYTES (2ULL << 20)

enum vs_touch {
    VS_TOUCH_FRONT, /* the block's first pages, in address order */
    VS_TOUCH_SPREAD /* pages drawn evenly from the block: of the absent ones comes their share */
};
/* Uses `bytes` of a block, or all of it where it is smaller. A front has whole pages; of drawn ones
 * the rest of a page is carried on to the next drawing. Either of in_bytes and out_bytes, what is
 * copied here and away, may be NULL; the statistics add them up. */
void vs_pool_touch(struct vs_pool *pool, vs_block block, enum vs_touch how, uint64_t bytes,
                   uint64_t *in_bytes, uint64_t *out_bytes);
/* Bytes pushed out to the backing pool by ordinary requests since the last call. */
uint64_t vs_pool_take_evicted(struct vs_pool *pool);

struct vs_pool_stats vs_pool_stats(const struct vs_pool *pool);
/* The largest free block in a segment that the allocator holds: what fragmentation leaves for one
 * request. */
uint64_t vs_pool_largest_free(const struct vs_pool *pool);
const char *vs_pool_name(const struct vs_pool *pool);
uint64_t vs_pool_capacity(const struct vs_pool *pool);

/* Moves the end of the pool, as an engine does that keeps to a share of a device; no effect on what
 * was handed out, nor on a ceiling that was lifted. */
void vs_pool_limit(struct vs_pool *pool, uint64_t capacity_bytes);

/* The first failure since the last reset, or NULL. */
const struct vs_oom *vs_pool_oom(const struct vs_pool *pool);

/* A number that is equal for two moments at which the pool would answer every future request alike.
 * Repeated work that ends in the state in which it began needs no second walk.
 *
 * It covers the address, size and state of every held and cached block of the caching allocator,
 * its segments, the sizes of raw and of bump blocks, pages of other pools that live here, whether
 * the ceiling was lifted, and for managed blocks the handle, size, resident and dirty bytes in LRU
 * order. It does not cover statistics, tags, and which handle the caller has for which block. Kept
 * up to date by each request; asking costs O(1), plus O(managed blocks). Equal numbers for
 * different states have probability 2^-64. */
uint64_t vs_pool_state(const struct vs_pool *pool);

#endif
