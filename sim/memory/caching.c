/* PyTorch's CUDA caching allocator, without CUDA graphs and garbage collection (off by default):
 * c10/cuda/CUDACachingAllocator.cpp, commit 001074d2. The steps of a request, their order and every
 * bound are those of `malloc` there. */
#include "memory/caching.h"

#include <stdlib.h>
#include <string.h>

static uint64_t cached_mix(const struct vs_block_record *block) {
    return vs_hash_pair(block->address, block->size_bytes | VS_BLOCK_CACHED);
}

static uint64_t held_mix(const struct vs_block_record *block) {
    return vs_hash_pair(block->address, block->size_bytes | VS_BLOCK_HELD);
}

/* roundup_power2_next_division: `divisions` steps between one power of two and the next. */
static uint64_t round_to_division(unsigned divisions, uint64_t bytes) {
    if ((bytes & (bytes - 1)) == 0)
        return bytes;
    uint64_t floor = 1;
    while (floor <= bytes / 2)
        floor *= 2;
    uint64_t step = floor;
    for (unsigned k = divisions; k > 1; k /= 2)
        step /= 2;
    if (step == 0)
        return 2 * floor;
    return (bytes + step - 1) & ~(step - 1);
}

uint64_t vs_caching_round(unsigned divisions, uint64_t bytes) {
    if (bytes < VS_CACHING_MIN_BLOCK_BYTES)
        return VS_CACHING_MIN_BLOCK_BYTES;
    if (divisions > 1 && bytes > VS_CACHING_MIN_BLOCK_BYTES * divisions)
        return round_to_division(divisions, bytes);
    return (bytes + VS_CACHING_MIN_BLOCK_BYTES - 1) & ~(VS_CACHING_MIN_BLOCK_BYTES - 1);
}

uint64_t vs_caching_segment(uint64_t rounded_bytes) {
    if (rounded_bytes <= VS_CACHING_SMALL_BYTES)
        return VS_CACHING_SMALL_SEGMENT_BYTES;
    if (rounded_bytes < VS_CACHING_MIN_LARGE_BYTES)
        return VS_CACHING_LARGE_SEGMENT_BYTES;
    uint64_t mask = VS_CACHING_ROUND_LARGE_BYTES - 1;
    return (rounded_bytes + mask) & ~mask;
}

static void configure(struct vs_caching *caching, const struct vs_pool_spec *spec) {
    uint64_t rounding = spec->max_non_split_rounding_bytes;
    caching->max_split_bytes = spec->max_split_bytes != 0 ? spec->max_split_bytes : UINT64_MAX;
    caching->max_non_split_rounding_bytes =
        rounding != 0 ? rounding : VS_CACHING_LARGE_SEGMENT_BYTES;
    caching->divisions = spec->roundup_power2_divisions;
    caching->expandable = spec->expandable_segments;
    /* 9/8 of the device's memory; in large pages, so that segments begin at a page of either kind.
     */
    uint64_t capacity = spec->capacity_bytes;
    if (capacity > VS_POOL_LIMIT_BYTES)
        capacity = VS_POOL_LIMIT_BYTES;
    uint64_t page = VS_CACHING_LARGE_SEGMENT_BYTES;
    caching->reservation_bytes = (capacity + capacity / 8 + page - 1) / page * page;
}

static void caching_reset(struct vs_pool *pool) {
    struct vs_caching *caching = pool->allocator;
    for (unsigned list = 0; list < 2 * caching->streams; list++) {
        vs_free_list_clear(&caching->lists[list].cached);
        caching->lists[list].holes = 0;
    }
    memset(caching->retired, 0, caching->streams * sizeof *caching->retired);
    vs_address_space_reset(&caching->space);
}

static void caching_close(struct vs_pool *pool) {
    struct vs_caching *caching = pool->allocator;
    vs_address_space_release(&caching->space);
    free(caching->lists);
    free(caching->retired);
    free(caching);
}

static bool caching_open(struct vs_pool *pool) {
    struct vs_caching *caching = calloc(1, sizeof *caching);
    if (caching == NULL)
        return false;
    configure(caching, &pool->spec);
    caching->streams = pool->spec.stream_count;
    caching->lists = calloc(2 * caching->streams, sizeof *caching->lists);
    caching->retired = calloc(caching->streams, sizeof *caching->retired);
    pool->allocator = caching;
    if (caching->lists != NULL && caching->retired != NULL)
        return true;
    caching_close(pool);
    return false;
}

void vs_caching_cache(struct vs_pool *pool, uint32_t block) {
    struct vs_caching *caching = pool->allocator;
    struct vs_block_record *record = &pool->blocks.at[block];
    record->state = VS_BLOCK_CACHED;
    vs_free_list_insert(&caching->lists[record->list].cached, pool->blocks.at, block);
    pool->layout += cached_mix(record);
}

void vs_caching_uncache(struct vs_pool *pool, uint32_t block) {
    struct vs_caching *caching = pool->allocator;
    const struct vs_block_record *record = &pool->blocks.at[block];
    vs_free_list_remove(&caching->lists[record->list].cached, pool->blocks.at, block);
    pool->layout -= cached_mix(record);
}

void vs_caching_merge(struct vs_pool *pool, uint32_t block, uint32_t other) {
    struct vs_caching *caching = pool->allocator;
    struct vs_block_record *at = pool->blocks.at;
    if (other == 0 || at[other].state != at[block].state)
        return;
    if (at[other].state == VS_BLOCK_HOLE)
        vs_holes_remove(&caching->lists[at[other].list].holes, at, other);
    else
        vs_caching_uncache(pool, other);
    at[block].size_bytes += at[other].size_bytes;
    if (at[block].before == other) {
        at[block].address = at[other].address;
        at[block].before = at[other].before;
        if (at[block].before != 0)
            at[at[block].before].after = block;
    } else {
        at[block].after = at[other].after;
        if (at[block].after != 0)
            at[at[block].after].before = block;
    }
    vs_blocks_give(&pool->blocks, other);
}

uint32_t vs_caching_split(struct vs_pool *pool, uint32_t block, uint64_t size_bytes) {
    uint32_t rest = vs_blocks_take(&pool->blocks);
    struct vs_block_record *low = &pool->blocks.at[block], *high = &pool->blocks.at[rest];
    high->address = low->address + size_bytes;
    high->size_bytes = low->size_bytes - size_bytes;
    high->before = block;
    high->after = low->after;
    high->state = low->state;
    high->kind = VS_BLOCK_OF_ALLOCATOR;
    high->list = low->list;
    if (low->after != 0)
        pool->blocks.at[low->after].before = rest;
    low->after = rest;
    low->size_bytes = size_bytes;
    return rest;
}

/* get_free_block: the best fit, unless it is rejected (no other candidate is tried); 0 = none. */
static uint32_t find_fit(const struct vs_pool *pool, uint8_t list, uint64_t size_bytes) {
    const struct vs_caching *caching = pool->allocator;
    uint32_t block =
        vs_free_list_at_least(&caching->lists[list].cached, pool->blocks.at, size_bytes, 0);
    if (block == 0)
        return 0;
    if (caching->expandable)
        block = vs_expandable_prefer(pool, block);
    uint64_t found_bytes = pool->blocks.at[block].size_bytes;
    if (size_bytes < caching->max_split_bytes && found_bytes >= caching->max_split_bytes)
        return 0;
    if (size_bytes >= caching->max_split_bytes &&
        found_bytes - size_bytes >= caching->max_non_split_rounding_bytes)
        return 0;
    return block;
}

/* alloc_block: a block in no list, or 0 when the driver refuses. */
static uint32_t new_segment(struct vs_pool *pool, uint8_t list, uint64_t size_bytes) {
    struct vs_caching *caching = pool->allocator;
    if (caching->expandable)
        return vs_expandable_grow(pool, list, size_bytes);
    uint64_t segment_bytes = vs_caching_segment(size_bytes);
    caching->asked_bytes = segment_bytes;
    if (!vs_driver_take(pool, segment_bytes))
        return 0;
    uint32_t block = vs_blocks_take(&pool->blocks);
    struct vs_block_record *record = &pool->blocks.at[block];
    record->address = vs_address_space_take(&caching->space, segment_bytes);
    record->size_bytes = segment_bytes;
    record->before = 0;
    record->after = 0;
    record->state = VS_BLOCK_CACHED;
    record->kind = VS_BLOCK_OF_ALLOCATOR;
    record->list = list;
    pool->layout += vs_hash_pair(record->address + VS_MIX_SEGMENT, segment_bytes + list);
    return block;
}

static bool is_whole_segment(const struct vs_block_record *block) {
    return block->before == 0 && block->after == 0;
}

/* release_block: a cached block that is a whole segment goes back to the driver. */
static void free_segment(struct vs_pool *pool, uint32_t block) {
    struct vs_caching *caching = pool->allocator;
    const struct vs_block_record *record = &pool->blocks.at[block];
    vs_caching_uncache(pool, block);
    pool->layout -=
        vs_hash_pair(record->address + VS_MIX_SEGMENT, record->size_bytes + record->list);
    vs_address_space_give(&caching->space, record->address, record->size_bytes);
    vs_driver_give(pool, record->size_bytes);
    vs_blocks_give(&pool->blocks, block);
}

/* free_block: a held block that nobody counts any more joins its free neighbours. */
static void free_block(struct vs_pool *pool, uint32_t block) {
    struct vs_block_record *record = &pool->blocks.at[block];
    pool->layout -= held_mix(record);
    record->state = VS_BLOCK_CACHED;
    vs_caching_merge(pool, block, record->before);
    vs_caching_merge(pool, block, record->after);
    vs_caching_cache(pool, block);
}

/* process_events: retired blocks of a stream are free, but for the newest `kept`. */
static void reclaim(struct vs_pool *pool, unsigned stream, uint32_t kept) {
    struct vs_caching *caching = pool->allocator;
    struct vs_retired *retired = &caching->retired[stream];
    while (retired->count > kept) {
        uint32_t block = retired->first;
        retired->first = pool->blocks.at[block].left;
        if (--retired->count == 0)
            retired->last = 0;
        pool->blocks.at[block].kind = VS_BLOCK_OF_ALLOCATOR;
        free_block(pool, block);
    }
}

static void caching_settle(struct vs_pool *pool) {
    const struct vs_caching *caching = pool->allocator;
    for (unsigned stream = 0; stream < caching->streams; stream++)
        reclaim(pool, stream, 0);
}

/* release_available_cached_blocks: with a finite max_split, the smallest cached segment that would
 * do, or else oversize ones from the largest down until their sum would. PyTorch does not allow a
 * max_split at which oversize blocks can be parts of a segment; such blocks stay here. */
static bool free_oversize(struct vs_pool *pool, uint8_t index, uint64_t size_bytes) {
    struct vs_caching *caching = pool->allocator;
    const struct vs_free_list *list = &caching->lists[index].cached;
    if (caching->max_split_bytes == UINT64_MAX || caching->expandable)
        return false;
    if (size_bytes < caching->max_split_bytes)
        size_bytes = caching->max_split_bytes;
    uint32_t block = vs_free_list_at_least(list, pool->blocks.at, size_bytes, 0);
    if (block != 0 && is_whole_segment(&pool->blocks.at[block])) {
        free_segment(pool, block);
        return true;
    }
    uint64_t freed_bytes = 0;
    block = vs_free_list_below(list, pool->blocks.at, UINT64_MAX, UINT64_MAX);
    while (block != 0 && freed_bytes < size_bytes) {
        const struct vs_block_record record = pool->blocks.at[block];
        if (record.size_bytes < caching->max_split_bytes)
            break;
        if (is_whole_segment(&record)) {
            freed_bytes += record.size_bytes;
            free_segment(pool, block);
        }
        block = vs_free_list_below(list, pool->blocks.at, record.size_bytes, record.address);
    }
    return freed_bytes >= size_bytes;
}

/* release_cached_blocks, which waits for all streams first. The order in which blocks go makes no
 * difference to what is left; blocks that appear on the way hold no whole page. */
static void caching_empty_cache(struct vs_pool *pool) {
    const struct vs_caching *caching = pool->allocator;
    caching_settle(pool);
    for (uint32_t i = 1; i < pool->blocks.count; i++) {
        const struct vs_block_record *record = &pool->blocks.at[i];
        if (record->state != VS_BLOCK_CACHED)
            continue;
        if (caching->expandable)
            vs_expandable_unmap(pool, i);
        else if (is_whole_segment(record))
            free_segment(pool, i);
    }
}

/* Steps 6 to 9 of a request: the driver, then what the cache can give up. */
static uint32_t acquire(struct vs_pool *pool, uint8_t list, uint64_t size_bytes, uint64_t requested,
                        enum vs_tag tag, enum vs_pool_result *result) {
    const struct vs_caching *caching = pool->allocator;
    uint32_t block = new_segment(pool, list, size_bytes);
    if (block == 0 && free_oversize(pool, list, size_bytes))
        block = new_segment(pool, list, size_bytes);
    if (block != 0)
        return block;
    caching_empty_cache(pool);
    pool->stats.retries++;
    *result = VS_POOL_RETRIED;
    block = new_segment(pool, list, size_bytes);
    if (block != 0)
        return block;
    *result = VS_POOL_OOM;
    vs_pool_fail(pool, requested, caching->asked_bytes, tag);
    return new_segment(pool, list, size_bytes); /* there is no ceiling any more */
}

static bool should_split(const struct vs_caching *caching, bool small, uint64_t size_bytes,
                         uint64_t rest_bytes) {
    if (small || caching->expandable)
        return rest_bytes >= VS_CACHING_MIN_BLOCK_BYTES;
    return size_bytes < caching->max_split_bytes && rest_bytes > VS_CACHING_SMALL_BYTES;
}

static enum vs_pool_result caching_alloc(struct vs_pool *pool, unsigned stream, uint64_t bytes,
                                         enum vs_tag tag, vs_block *block) {
    struct vs_caching *caching = pool->allocator;
    uint64_t size_bytes = vs_caching_round(caching->divisions, bytes);
    bool small = size_bytes <= VS_CACHING_SMALL_BYTES;
    uint8_t list = vs_caching_list(stream, small);
    /* A fresh segment and what is split off; expandable segments see to theirs. */
    bool ready = caching->expandable ? vs_expandable_reserve(pool, size_bytes)
                                     : vs_blocks_reserve(&pool->blocks, 2, &pool->growths_left);
    if (!ready)
        return VS_POOL_NOMEM;
    enum vs_pool_result result = VS_POOL_OK;
    reclaim(pool, stream, stream < VS_POOL_STREAMS ? pool->spec.in_flight_blocks[stream] : 0);
    uint32_t found = find_fit(pool, list, size_bytes);
    if (found != 0) {
        vs_caching_uncache(pool, found);
    } else {
        uint64_t segment_bytes = vs_caching_segment(size_bytes);
        if (!vs_address_space_reserve(&caching->space, segment_bytes, &pool->growths_left))
            return VS_POOL_NOMEM;
        found = acquire(pool, list, size_bytes, bytes, tag, &result);
        if (found == 0)
            return VS_POOL_NOMEM;
    }
    uint64_t rest_bytes = pool->blocks.at[found].size_bytes - size_bytes;
    if (should_split(caching, small, size_bytes, rest_bytes))
        vs_caching_cache(pool, vs_caching_split(pool, found, size_bytes));
    struct vs_block_record *record = &pool->blocks.at[found];
    record->state = VS_BLOCK_HELD;
    record->tag = (uint8_t)tag;
    record->requested_bytes = bytes;
    pool->layout += held_mix(record);
    vs_pool_hold(pool, record);
    *block = found;
    return result;
}

static void caching_release(struct vs_pool *pool, vs_block block) {
    vs_pool_drop(pool, &pool->blocks.at[block]);
    free_block(pool, block);
}

/* free of a block that other streams used (record_stream): it no longer counts as allocated, and is
 * free once they are through. */
static void caching_retire(struct vs_pool *pool, vs_block block) {
    struct vs_caching *caching = pool->allocator;
    struct vs_block_record *record = &pool->blocks.at[block];
    struct vs_retired *retired = &caching->retired[record->list / 2];
    vs_pool_drop(pool, record);
    record->kind = VS_BLOCK_RETIRED;
    record->left = 0;
    if (retired->last != 0)
        pool->blocks.at[retired->last].left = block;
    else
        retired->first = block;
    retired->last = block;
    retired->count++;
}

static uint64_t caching_largest_free(const struct vs_pool *pool) {
    const struct vs_caching *caching = pool->allocator;
    uint64_t largest_bytes = 0;
    for (unsigned list = 0; list < 2 * caching->streams; list++) {
        uint32_t block = vs_free_list_below(&caching->lists[list].cached, pool->blocks.at,
                                            UINT64_MAX, UINT64_MAX);
        if (block != 0 && pool->blocks.at[block].size_bytes > largest_bytes)
            largest_bytes = pool->blocks.at[block].size_bytes;
    }
    return largest_bytes;
}

const struct vs_allocator_ops vs_allocator_caching = {
    .open = caching_open,
    .close = caching_close,
    .reset = caching_reset,
    .alloc = caching_alloc,
    .release = caching_release,
    .retire = caching_retire,
    .settle = caching_settle,
    .empty_cache = caching_empty_cache,
    .largest_free = caching_largest_free,
};
