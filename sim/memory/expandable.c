/* Expandable segments of the caching allocator: a stretch of address space, 9/8 of the device's
 * memory, whose pages get memory when they are needed. Parts without memory are *holes*; they are
 * kept by address and have no part in best fit. Names in comments are those of
 * CUDACachingAllocator.cpp. */
#include "memory/caching.h"

static uint64_t page_bytes(uint8_t list) {
    return vs_caching_is_small(list) ? VS_CACHING_SMALL_SEGMENT_BYTES
                                     : VS_CACHING_LARGE_SEGMENT_BYTES;
}

static uint64_t reservation(const struct vs_caching *caching, uint64_t size_bytes) {
    uint64_t page = VS_CACHING_LARGE_SEGMENT_BYTES;
    uint64_t least = (size_bytes + page - 1) / page * page;
    /* Only a request that is beyond the ceiling anyway is larger than a segment. */
    return least > caching->reservation_bytes ? least : caching->reservation_bytes;
}

bool vs_expandable_reserve(struct vs_pool *pool, uint64_t size_bytes) {
    struct vs_caching *caching = pool->allocator;
    if (!vs_address_space_reserve(&caching->space, reservation(caching, size_bytes),
                                  &pool->growths_left))
        return false;
    /* Between two held blocks there are at most a cached rest, a hole and a cached rest: emptying
     * the cache, which may not fail, never needs more than four slots for one that is in use now.
     */
    return vs_blocks_reserve(&pool->blocks, 4 * (uint64_t)pool->blocks.in_use + 16,
                             &pool->growths_left);
}

/* The size to which a cached block could grow. */
static uint64_t expandable_size(const struct vs_block_record *at, uint32_t block) {
    uint32_t after = at[block].after;
    bool grows = after != 0 && at[after].state == VS_BLOCK_HOLE;
    return at[block].size_bytes + (grows ? at[after].size_bytes : 0);
}

uint32_t vs_expandable_prefer(const struct vs_pool *pool, uint32_t block) {
    const struct vs_caching *caching = pool->allocator;
    const struct vs_block_record *at = pool->blocks.at;
    const struct vs_free_list *list = &caching->lists[at[block].list].cached;
    for (;;) {
        uint32_t next =
            vs_free_list_at_least(list, at, at[block].size_bytes, at[block].address + 1);
        if (next == 0 || expandable_size(at, next) >= expandable_size(at, block))
            return block;
        block = next;
    }
}

/* Whether free blocks and holes from `block` on have room for so many bytes. */
static bool has_room(const struct vs_block_record *at, uint32_t block, uint64_t size_bytes) {
    uint64_t bytes = 0;
    while (block != 0 && bytes < size_bytes && at[block].state != VS_BLOCK_HELD) {
        bytes += at[block].size_bytes;
        block = at[block].after;
    }
    return bytes >= size_bytes;
}

static uint32_t new_reservation(struct vs_pool *pool, uint8_t list, uint64_t size_bytes) {
    struct vs_caching *caching = pool->allocator;
    uint32_t block = vs_blocks_take(&pool->blocks);
    struct vs_block_record *record = &pool->blocks.at[block];
    record->size_bytes = reservation(caching, size_bytes);
    record->address = vs_address_space_take(&caching->space, record->size_bytes);
    record->before = 0;
    record->after = 0;
    record->state = VS_BLOCK_HOLE;
    record->kind = VS_BLOCK_OF_ALLOCATOR;
    record->list = list;
    vs_holes_insert(&caching->lists[list].holes, pool->blocks.at, block);
    pool->layout += vs_hash_pair(record->address + VS_MIX_SEGMENT, record->size_bytes + list);
    return block;
}

/* find_expandable_block: the lowest hole, or the free block before it, from which there is room;
 * else a new segment. */
static uint32_t find_expandable(struct vs_pool *pool, uint8_t list, uint64_t size_bytes) {
    const struct vs_caching *caching = pool->allocator;
    const struct vs_block_record *at = pool->blocks.at;
    uint32_t hole = vs_holes_at_least(caching->lists[list].holes, at, 0);
    while (hole != 0) {
        uint32_t before = at[hole].before;
        bool starts_before = before != 0 && at[before].state != VS_BLOCK_HELD;
        uint32_t first = starts_before ? before : hole;
        if (has_room(at, first, size_bytes))
            return first;
        hole = vs_holes_at_least(caching->lists[list].holes, at, at[hole].address + 1);
    }
    return new_reservation(pool, list, size_bytes);
}

/* map_block: gives memory to the first `size_bytes` of a hole, in whole pages, and joins it with
 * its neighbours; the result is in the list of cached blocks. */
static bool map_block(struct vs_pool *pool, uint32_t hole, uint64_t size_bytes) {
    struct vs_caching *caching = pool->allocator;
    struct vs_block_record *record = &pool->blocks.at[hole];
    uint64_t page = page_bytes(record->list);
    uint64_t mapped_bytes = (size_bytes + page - 1) / page * page;
    caching->asked_bytes = mapped_bytes;
    if (!vs_driver_take(pool, mapped_bytes))
        return false;
    vs_holes_remove(&caching->lists[record->list].holes, pool->blocks.at, hole);
    if (mapped_bytes < record->size_bytes) {
        uint32_t rest = vs_caching_split(pool, hole, mapped_bytes);
        vs_holes_insert(&caching->lists[record->list].holes, pool->blocks.at, rest);
    }
    record->state = VS_BLOCK_CACHED;
    vs_caching_merge(pool, hole, record->before);
    vs_caching_merge(pool, hole, record->after);
    vs_caching_cache(pool, hole);
    return true;
}

static uint64_t smaller(uint64_t a, uint64_t b) { return a < b ? a : b; }

uint32_t vs_expandable_grow(struct vs_pool *pool, uint8_t list, uint64_t size_bytes) {
    const struct vs_block_record *at = pool->blocks.at;
    uint32_t block = find_expandable(pool, list, size_bytes);
    if (at[block].state == VS_BLOCK_HOLE &&
        !map_block(pool, block, smaller(at[block].size_bytes, size_bytes)))
        return 0;
    while (at[block].size_bytes < size_bytes) {
        uint32_t next = at[block].after; /* a hole: cached neighbours were joined */
        uint64_t missing_bytes = size_bytes - at[block].size_bytes;
        if (!map_block(pool, next, smaller(at[next].size_bytes, missing_bytes)))
            return 0;
        block = next;
    }
    vs_caching_uncache(pool, block);
    return block;
}

/* release_expandable_segment: a hole that is a whole segment, in no list. */
static void free_reservation(struct vs_pool *pool, uint32_t block) {
    struct vs_caching *caching = pool->allocator;
    const struct vs_block_record *record = &pool->blocks.at[block];
    pool->layout -=
        vs_hash_pair(record->address + VS_MIX_SEGMENT, record->size_bytes + record->list);
    vs_address_space_give(&caching->space, record->address, record->size_bytes);
    vs_blocks_give(&pool->blocks, block);
}

/* unmap_block. Segments begin at a page, so addresses know where pages begin. */
void vs_expandable_unmap(struct vs_pool *pool, uint32_t block) {
    struct vs_caching *caching = pool->allocator;
    struct vs_block_record *record = &pool->blocks.at[block];
    uint64_t page = page_bytes(record->list);
    uint64_t begin = (record->address + page - 1) / page * page;
    uint64_t end = (record->address + record->size_bytes) / page * page;
    if (begin >= end)
        return;
    vs_caching_uncache(pool, block);
    uint32_t hole = block;
    if (begin > record->address) {
        hole = vs_caching_split(pool, block, begin - record->address);
        vs_caching_cache(pool, block);
    }
    record = &pool->blocks.at[hole];
    if (record->address + record->size_bytes > end)
        vs_caching_cache(pool, vs_caching_split(pool, hole, end - begin));
    vs_driver_give(pool, end - begin);
    record->state = VS_BLOCK_HOLE;
    vs_caching_merge(pool, hole, record->before);
    vs_caching_merge(pool, hole, record->after);
    if (record->before == 0 && record->after == 0)
        free_reservation(pool, hole);
    else
        vs_holes_insert(&caching->lists[record->list].holes, pool->blocks.at, hole);
}
