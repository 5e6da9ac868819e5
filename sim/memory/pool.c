#include "memory/pool.h"

#include <stdlib.h>
#include <string.h>

#include "memory/allocator.h"

const char *vs_tag_name(enum vs_tag tag) {
    static const char *const names[VS_TAG_COUNT] = {
#define X(id, name) [VS_TAG_##id] = name,
#include "memory/tags.def"
#undef X
    };
    return (unsigned)tag < VS_TAG_COUNT ? names[tag] : "other";
}

static enum vs_tag known_tag(enum vs_tag tag) {
    return (unsigned)tag < VS_TAG_COUNT ? tag : VS_TAG_OTHER;
}

static const struct vs_allocator_ops *allocator_ops(enum vs_allocator allocator) {
    return allocator == VS_ALLOC_CACHING ? &vs_allocator_caching : &vs_allocator_bump;
}

struct vs_pool *vs_pool_new(const struct vs_pool_spec *spec) {
    struct vs_pool *pool = calloc(1, sizeof *pool);
    if (pool == NULL)
        return NULL;
    pool->spec = *spec;
    if (spec->stream_count == 0 || spec->stream_count > VS_POOL_STREAMS_MOST)
        pool->spec.stream_count = VS_POOL_STREAMS;
    pool->ops = allocator_ops(spec->allocator);
    pool->ceiling_bytes = spec->capacity_bytes;
    pool->growths_left = UINT32_MAX;
    if (!pool->ops->open(pool)) {
        free(pool);
        return NULL;
    }
    return pool;
}

void vs_pool_free(struct vs_pool *pool) {
    if (pool == NULL)
        return;
    vs_managed_reset(pool);
    pool->ops->close(pool);
    vs_blocks_release(&pool->blocks);
    free(pool);
}

void vs_pool_reset(struct vs_pool *pool) {
    vs_managed_reset(pool);
    pool->ops->reset(pool);
    vs_blocks_reset(&pool->blocks);
    pool->ceiling_bytes = pool->spec.capacity_bytes;
    pool->layout = 0;
    pool->guest_bytes = 0;
    pool->epoch++;
    pool->stats = (struct vs_pool_stats){.raw_bytes = 0};
    pool->peak_held_bytes = 0;
    pool->at_peak = false;
    pool->failed = false;
}

/* Driver. */

static bool fits(const struct vs_pool *pool, uint64_t bytes) {
    uint64_t used = vs_driver_used(pool);
    return used <= pool->ceiling_bytes && bytes <= pool->ceiling_bytes - used;
}

static bool make_room(struct vs_pool *pool, uint64_t bytes) {
    if (!fits(pool, bytes) && pool->managed.oldest != 0) {
        uint64_t free_bytes = pool->ceiling_bytes - vs_driver_used(pool);
        vs_managed_evict(pool, bytes - free_bytes);
    }
    return fits(pool, bytes);
}

static void note_used(struct vs_pool *pool) {
    struct vs_pool_stats *stats = &pool->stats;
    uint64_t used = vs_driver_used(pool);
    if (used > stats->peak_used_bytes)
        stats->peak_used_bytes = used;
    if (stats->reserved_bytes > stats->peak_reserved_bytes)
        stats->peak_reserved_bytes = stats->reserved_bytes;
}

bool vs_driver_take(struct vs_pool *pool, uint64_t bytes) {
    if (!make_room(pool, bytes))
        return false;
    pool->stats.reserved_bytes += bytes;
    note_used(pool);
    return true;
}

void vs_driver_give(struct vs_pool *pool, uint64_t bytes) { pool->stats.reserved_bytes -= bytes; }

void vs_driver_add_raw(struct vs_pool *pool, uint64_t bytes, enum vs_tag tag) {
    pool->stats.raw_bytes += bytes;
    vs_pool_count(pool, bytes, tag);
    note_used(pool);
}

enum vs_pool_result vs_driver_take_raw(struct vs_pool *pool, uint64_t requested, uint64_t bytes,
                                       enum vs_tag tag) {
    bool fitting = make_room(pool, bytes);
    if (!fitting)
        vs_pool_fail(pool, requested, bytes, tag);
    vs_driver_add_raw(pool, bytes, tag);
    return fitting ? VS_POOL_OK : VS_POOL_OOM;
}

void vs_driver_give_raw(struct vs_pool *pool, uint64_t bytes, enum vs_tag tag) {
    vs_pool_uncount(pool, bytes, tag);
    pool->stats.raw_bytes -= bytes;
}

void vs_pool_fail(struct vs_pool *pool, uint64_t requested_bytes, uint64_t segment_bytes,
                  enum vs_tag tag) {
    if (pool->failed)
        return;
    const struct vs_pool_stats *stats = &pool->stats;
    uint64_t used = vs_driver_used(pool);
    pool->oom = (struct vs_oom){
        .pool = pool->spec.name,
        .requested_bytes = requested_bytes,
        .segment_bytes = segment_bytes,
        .in_use_bytes = used,
        .reserved_free_bytes = stats->reserved_bytes - stats->allocated_bytes,
        .largest_free_bytes = vs_pool_largest_free(pool),
        .capacity_bytes = pool->spec.capacity_bytes,
        .short_bytes = segment_bytes - (pool->spec.capacity_bytes - used),
        .tag = tag,
    };
    memcpy(pool->oom.by_tag, stats->by_tag, sizeof stats->by_tag);
    pool->failed = true;
    pool->ceiling_bytes = UINT64_MAX;
}

void vs_pool_keep_peak(struct vs_pool *pool) {
    struct vs_pool_stats *stats = &pool->stats;
    memcpy(stats->by_tag_at_peak, stats->by_tag, sizeof stats->by_tag);
    pool->at_peak = false;
}

/* Requests. */

/* Whether the pool can count that much more; if not, and that is beyond its ceiling, it says so. */
static bool countable(struct vs_pool *pool, uint64_t bytes, enum vs_tag tag) {
    uint64_t used = vs_driver_used(pool);
    if (used <= VS_POOL_LIMIT_BYTES && bytes <= VS_POOL_LIMIT_BYTES - used)
        return true;
    if (!fits(pool, bytes))
        vs_pool_fail(pool, bytes, bytes, tag);
    return false;
}

enum vs_pool_result vs_pool_alloc_on(struct vs_pool *pool, unsigned stream, uint64_t bytes,
                                     enum vs_tag tag, vs_block *block) {
    *block = 0;
    if (bytes == 0)
        return VS_POOL_OK;
    tag = known_tag(tag);
    if (!countable(pool, bytes, tag))
        return VS_POOL_NOMEM;
    return pool->ops->alloc(pool, stream < pool->spec.stream_count ? stream : 0, bytes, tag, block);
}

enum vs_pool_result vs_pool_alloc(struct vs_pool *pool, uint64_t bytes, enum vs_tag tag,
                                  vs_block *block) {
    return vs_pool_alloc_on(pool, 0, bytes, tag, block);
}

enum vs_pool_result vs_pool_alloc_raw(struct vs_pool *pool, uint64_t bytes, enum vs_tag tag,
                                      vs_block *block) {
    *block = 0;
    if (bytes == 0)
        return VS_POOL_OK;
    tag = known_tag(tag);
    if (!countable(pool, bytes, tag) || !vs_blocks_reserve(&pool->blocks, 1, &pool->growths_left))
        return VS_POOL_NOMEM;
    enum vs_pool_result result = vs_driver_take_raw(pool, bytes, bytes, tag);
    *block = vs_blocks_take(&pool->blocks);
    struct vs_block_record *record = &pool->blocks.at[*block];
    record->size_bytes = bytes;
    record->requested_bytes = bytes;
    record->state = VS_BLOCK_HELD;
    record->kind = VS_BLOCK_RAW;
    record->tag = (uint8_t)tag;
    pool->layout += vs_hash_pair(VS_MIX_RAW, bytes);
    return result;
}

enum vs_pool_result vs_pool_alloc_managed(struct vs_pool *pool, uint64_t bytes, enum vs_tag tag,
                                          vs_block *block) {
    *block = 0;
    if (bytes == 0)
        return VS_POOL_OK;
    tag = known_tag(tag);
    struct vs_pool *home = pool->spec.backing != NULL ? pool->spec.backing : pool;
    if (!countable(home, bytes, tag)) {
        pool->managed.backing_failed |= home != pool && home->failed;
        return VS_POOL_NOMEM;
    }
    return vs_managed_alloc(pool, bytes, tag, block);
}

static bool is_held(const struct vs_pool *pool, vs_block block) {
    return block != 0 && block < pool->blocks.count &&
           pool->blocks.at[block].state == VS_BLOCK_HELD;
}

void vs_pool_release_block(struct vs_pool *pool, vs_block block) {
    if (!is_held(pool, block))
        return;
    const struct vs_block_record *record = &pool->blocks.at[block];
    switch ((enum vs_block_kind)record->kind) {
    case VS_BLOCK_OF_ALLOCATOR:
        pool->ops->release(pool, block);
        break;
    case VS_BLOCK_MANAGED:
        vs_managed_release(pool, block);
        break;
    case VS_BLOCK_RAW:
        pool->layout -= vs_hash_pair(VS_MIX_RAW, record->size_bytes);
        vs_driver_give_raw(pool, record->size_bytes, (enum vs_tag)record->tag);
        vs_blocks_give(&pool->blocks, block);
        break;
    case VS_BLOCK_RETIRED: /* nobody holds it */
        break;
    }
}

void vs_pool_retire(struct vs_pool *pool, vs_block block) {
    if (!is_held(pool, block))
        return;
    if (pool->ops->retire != NULL && pool->blocks.at[block].kind == VS_BLOCK_OF_ALLOCATOR)
        pool->ops->retire(pool, block);
    else
        vs_pool_release_block(pool, block);
}

void vs_pool_settle(struct vs_pool *pool) {
    if (pool->ops->settle != NULL)
        pool->ops->settle(pool);
}

void vs_pool_empty_cache(struct vs_pool *pool) { pool->ops->empty_cache(pool); }

void vs_pool_touch(struct vs_pool *pool, vs_block block, enum vs_touch how, uint64_t bytes,
                   uint64_t *in_bytes, uint64_t *out_bytes) {
    uint64_t in = 0, out = 0;
    if (is_held(pool, block) && pool->blocks.at[block].kind == VS_BLOCK_MANAGED)
        vs_managed_touch(pool, block, how, bytes, &in, &out);
    if (in_bytes != NULL)
        *in_bytes = in;
    if (out_bytes != NULL)
        *out_bytes = out;
}

uint64_t vs_pool_take_evicted(struct vs_pool *pool) {
    uint64_t bytes = pool->managed.evicted_bytes;
    pool->managed.evicted_bytes = 0;
    return bytes;
}

/* Answers. */

struct vs_pool_stats vs_pool_stats(const struct vs_pool *pool) {
    struct vs_pool_stats stats = pool->stats;
    if (pool->at_peak)
        memcpy(stats.by_tag_at_peak, stats.by_tag, sizeof stats.by_tag);
    return stats;
}

uint64_t vs_pool_largest_free(const struct vs_pool *pool) {
    return pool->ops->largest_free != NULL ? pool->ops->largest_free(pool) : 0;
}

const char *vs_pool_name(const struct vs_pool *pool) { return pool->spec.name; }

uint64_t vs_pool_capacity(const struct vs_pool *pool) { return pool->spec.capacity_bytes; }

void vs_pool_limit(struct vs_pool *pool, uint64_t capacity_bytes) {
    if (pool->ceiling_bytes == pool->spec.capacity_bytes)
        pool->ceiling_bytes = capacity_bytes;
    pool->spec.capacity_bytes = capacity_bytes;
}

const struct vs_oom *vs_pool_oom(const struct vs_pool *pool) {
    if (pool->failed)
        return &pool->oom;
    return pool->managed.backing_failed ? vs_pool_oom(pool->spec.backing) : NULL;
}

uint64_t vs_pool_state(const struct vs_pool *pool) {
    uint64_t state = vs_hash_pair(pool->layout, pool->guest_bytes);
    state = vs_hash_pair(state, pool->ceiling_bytes == pool->spec.capacity_bytes);
    return vs_managed_state(pool, state);
}
