/* Managed memory: 2 MiB pages in strict LRU order, without a record per page.
 *
 * A touch uses the pages of a block in address order, and LRU takes the page used longest ago. So
 * the resident pages of a block are always those at its end, pages of one block are neighbours in
 * LRU order, and a list of blocks with a count of resident bytes says the same as a list of pages.
 * A touch costs O(blocks pushed out), whatever their size. Pages brought in by a reading touch are
 * clean and lie before those that stayed, so dirty pages are at the end of a block's resident ones.
 */
#include "memory/allocator.h"

static uint64_t absent_mix(const struct vs_pool *pool, uint32_t index) {
    return vs_mix(VS_MIX_ABSENT + ((uint64_t)index << 9), pool->blocks.at[index].size_bytes);
}

/* Appends a block to the list of those with resident pages, as the newest. */
static void link_newest(struct vs_pool *pool, uint32_t index) {
    struct vs_managed *managed = &pool->managed;
    struct vs_block_record *at = pool->blocks.at;
    at[index].before = managed->newest;
    at[index].after = 0;
    if (managed->newest != 0)
        at[managed->newest].after = index;
    else
        managed->oldest = index;
    managed->newest = index;
    managed->absent -= absent_mix(pool, index);
}

static void unlink_block(struct vs_pool *pool, uint32_t index) {
    struct vs_managed *managed = &pool->managed;
    struct vs_block_record *at = pool->blocks.at;
    uint32_t before = at[index].before, after = at[index].after;
    if (before != 0)
        at[before].after = after;
    else
        managed->oldest = after;
    if (after != 0)
        at[after].before = before;
    else
        managed->newest = before;
    managed->absent += absent_mix(pool, index);
}

/* The backing pool forgets its guests when it is reset; then there is nothing to move any more. */
static bool backing_knows(const struct vs_pool *pool) {
    return pool->spec.backing->epoch == pool->managed.backing_epoch;
}

static enum vs_pool_result into_backing(struct vs_pool *pool, uint64_t requested, uint64_t bytes,
                                        enum vs_tag tag) {
    struct vs_pool *backing = pool->spec.backing;
    if (bytes == 0 || !backing_knows(pool))
        return VS_POOL_OK;
    enum vs_pool_result result = vs_driver_take_raw(backing, requested, bytes, tag);
    backing->guest_bytes += bytes;
    if (result == VS_POOL_OOM)
        pool->managed.backing_failed = true;
    return result;
}

static void out_of_backing(struct vs_pool *pool, uint64_t bytes, enum vs_tag tag) {
    if (bytes == 0 || !backing_knows(pool))
        return;
    vs_driver_give_raw(pool->spec.backing, bytes, tag);
    pool->spec.backing->guest_bytes -= bytes;
}

enum vs_pool_result vs_managed_alloc(struct vs_pool *pool, uint64_t bytes, enum vs_tag tag,
                                     vs_block *block) {
    if (!vs_blocks_reserve(&pool->blocks, 1, &pool->growths_left))
        return VS_POOL_NOMEM;
    uint64_t size_bytes = (bytes + VS_MANAGED_PAGE_BYTES - 1) & ~(VS_MANAGED_PAGE_BYTES - 1);
    bool migrates = pool->spec.backing != NULL;
    enum vs_pool_result result;
    if (migrates) {
        if (pool->managed.blocks == 0)
            pool->managed.backing_epoch = pool->spec.backing->epoch;
        result = into_backing(pool, bytes, size_bytes, tag);
    } else {
        result = vs_driver_take_raw(pool, bytes, size_bytes, tag);
    }
    *block = vs_blocks_take(&pool->blocks);
    struct vs_block_record *record = &pool->blocks.at[*block];
    record->resident_bytes = 0;
    record->dirty_bytes = 0;
    record->size_bytes = size_bytes;
    record->requested_bytes = bytes;
    record->state = VS_BLOCK_HELD;
    record->kind = migrates ? VS_BLOCK_MANAGED : VS_BLOCK_RAW;
    record->tag = (uint8_t)tag;
    if (migrates) {
        pool->managed.blocks++;
        pool->managed.absent += absent_mix(pool, *block);
    } else {
        pool->layout += vs_mix(VS_MIX_RAW, size_bytes);
    }
    return result;
}

/* Takes all resident pages of a block off this pool's books. */
static void forget_resident(struct vs_pool *pool, uint32_t index) {
    struct vs_block_record *record = &pool->blocks.at[index];
    if (record->resident_bytes == 0)
        return;
    unlink_block(pool, index);
    vs_driver_give_raw(pool, record->resident_bytes, (enum vs_tag)record->tag);
    pool->stats.managed_bytes -= record->resident_bytes;
    record->resident_bytes = 0;
    record->dirty_bytes = 0;
}

void vs_managed_release(struct vs_pool *pool, vs_block block) {
    const struct vs_block_record *record = &pool->blocks.at[block];
    out_of_backing(pool, record->size_bytes - record->resident_bytes, (enum vs_tag)record->tag);
    forget_resident(pool, block);
    pool->managed.absent -= absent_mix(pool, block);
    pool->managed.blocks--;
    vs_blocks_give(&pool->blocks, block);
}

/* Sends the oldest pages of a block away; returns how many of the bytes had to be copied. */
static uint64_t push_out(struct vs_pool *pool, uint32_t index, uint64_t bytes) {
    struct vs_block_record *record = &pool->blocks.at[index];
    enum vs_tag tag = (enum vs_tag)record->tag;
    uint64_t clean_bytes = record->resident_bytes - record->dirty_bytes;
    uint64_t copied_bytes = bytes > clean_bytes ? bytes - clean_bytes : 0;
    record->dirty_bytes -= copied_bytes;
    if (bytes == record->resident_bytes) {
        forget_resident(pool, index);
    } else {
        record->resident_bytes -= bytes;
        pool->stats.managed_bytes -= bytes;
        vs_driver_give_raw(pool, bytes, tag);
    }
    (void)into_backing(pool, bytes, bytes, tag);
    return copied_bytes;
}

/* Pushes out `bytes` in LRU order, but nothing from block `stop` on; returns the bytes copied. */
static uint64_t push_out_oldest(struct vs_pool *pool, uint32_t stop, uint64_t bytes) {
    uint64_t copied_bytes = 0;
    while (bytes > 0 && pool->managed.oldest != stop && pool->managed.oldest != 0) {
        uint32_t index = pool->managed.oldest;
        uint64_t part = pool->blocks.at[index].resident_bytes;
        if (part > bytes)
            part = bytes;
        copied_bytes += push_out(pool, index, part);
        bytes -= part;
    }
    return copied_bytes;
}

void vs_managed_evict(struct vs_pool *pool, uint64_t bytes) {
    uint64_t pages = bytes / VS_MANAGED_PAGE_BYTES + (bytes % VS_MANAGED_PAGE_BYTES != 0);
    if (pages > VS_POOL_LIMIT_BYTES / VS_MANAGED_PAGE_BYTES)
        pages = VS_POOL_LIMIT_BYTES / VS_MANAGED_PAGE_BYTES;
    uint64_t copied_bytes = push_out_oldest(pool, 0, pages * VS_MANAGED_PAGE_BYTES);
    pool->managed.evicted_bytes += copied_bytes;
    pool->stats.migrated_out_bytes += copied_bytes;
}

/* Whole pages that fit without pushing anything out. */
static uint64_t free_page_bytes(const struct vs_pool *pool) {
    return (pool->ceiling_bytes - vs_driver_used(pool)) & ~(VS_MANAGED_PAGE_BYTES - 1);
}

static void set_resident(struct vs_pool *pool, uint32_t index, uint64_t bytes) {
    struct vs_block_record *record = &pool->blocks.at[index];
    uint64_t before_bytes = record->resident_bytes;
    if (before_bytes != 0)
        unlink_block(pool, index);
    record->resident_bytes = bytes;
    if (bytes == 0)
        return;
    link_newest(pool, index);
    pool->stats.managed_bytes += bytes - before_bytes;
    vs_driver_add_raw(pool, bytes - before_bytes, (enum vs_tag)record->tag);
}

void vs_managed_touch(struct vs_pool *pool, vs_block block, bool dirty, uint64_t *in_bytes,
                      uint64_t *out_bytes) {
    struct vs_block_record *record = &pool->blocks.at[block];
    enum vs_tag tag = (enum vs_tag)record->tag;
    uint64_t size_bytes = record->size_bytes, held_bytes = size_bytes;
    uint64_t absent_bytes = size_bytes - record->resident_bytes;
    uint64_t room_bytes = free_page_bytes(pool);
    *in_bytes = absent_bytes;
    *out_bytes = 0;
    /* Pages that come free their place in the backing pool before those that go need one. */
    out_of_backing(pool, absent_bytes, tag);
    if (absent_bytes > room_bytes) {
        *out_bytes += push_out_oldest(pool, block, absent_bytes - room_bytes);
        room_bytes = free_page_bytes(pool);
    }
    if (absent_bytes > room_bytes) {
        /* LRU now takes this block's own pages, each just before it would have been used. */
        *in_bytes = size_bytes;
        *out_bytes += record->dirty_bytes;
        forget_resident(pool, block);
        room_bytes = free_page_bytes(pool);
        if (size_bytes > room_bytes)
            *out_bytes += push_out_oldest(pool, 0, size_bytes - room_bytes);
        room_bytes = free_page_bytes(pool);
        if (held_bytes > room_bytes)
            held_bytes = room_bytes;
        *out_bytes += dirty ? size_bytes - held_bytes : 0;
        (void)into_backing(pool, size_bytes - held_bytes, size_bytes - held_bytes, tag);
    }
    set_resident(pool, block, held_bytes);
    if (dirty)
        record->dirty_bytes = held_bytes;
    pool->stats.migrated_in_bytes += *in_bytes;
    pool->stats.migrated_out_bytes += *out_bytes;
}

void vs_managed_reset(struct vs_pool *pool) {
    for (uint32_t i = 1; pool->managed.blocks > 0 && i < pool->blocks.count; i++) {
        const struct vs_block_record *record = &pool->blocks.at[i];
        if (record->state != VS_BLOCK_HELD || record->kind != VS_BLOCK_MANAGED)
            continue;
        out_of_backing(pool, record->size_bytes - record->resident_bytes, (enum vs_tag)record->tag);
    }
    pool->managed = (struct vs_managed){.oldest = 0};
}

uint64_t vs_managed_state(const struct vs_pool *pool, uint64_t state) {
    if (pool->managed.blocks == 0)
        return state;
    state = vs_mix(state, pool->managed.absent);
    for (uint32_t i = pool->managed.oldest; i != 0; i = pool->blocks.at[i].after) {
        const struct vs_block_record *record = &pool->blocks.at[i];
        state = vs_mix(state, i);
        state = vs_mix(state, record->size_bytes);
        state = vs_mix(state, record->resident_bytes);
        state = vs_mix(state, record->dirty_bytes);
    }
    return state;
}
