/* Managed memory: 2 MiB pages in strict LRU order, without a record per page.
 *
 * A touch uses the pages of a block in address order, and LRU takes the page used longest ago. So
 * the resident pages of a block are always those at its end, pages of one block are neighbours in
 * LRU order, and a list of blocks with a count of resident bytes says the same as a list of pages.
 * A touch costs O(blocks pushed out), whatever their size. A touch of a block's front is exact as
 * long as the fronts of a block never shrink; one of pages drawn evenly stands for its average.
 */
#include "memory/allocator.h"

static uint64_t absent_mix(const struct vs_pool *pool, uint32_t index) {
    return vs_hash_pair(VS_MIX_ABSENT + ((uint64_t)index << 9), pool->blocks.at[index].size_bytes);
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
    record->populated_bytes = 0;
    record->size_bytes = size_bytes;
    record->requested_bytes = bytes;
    record->state = VS_BLOCK_HELD;
    record->kind = migrates ? VS_BLOCK_MANAGED : VS_BLOCK_RAW;
    record->tag = (uint8_t)tag;
    if (migrates) {
        pool->managed.blocks++;
        pool->managed.absent += absent_mix(pool, *block);
    } else {
        pool->layout += vs_hash_pair(VS_MIX_RAW, size_bytes);
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
}

void vs_managed_release(struct vs_pool *pool, vs_block block) {
    const struct vs_block_record *record = &pool->blocks.at[block];
    out_of_backing(pool, record->size_bytes - record->resident_bytes, (enum vs_tag)record->tag);
    forget_resident(pool, block);
    pool->managed.absent -= absent_mix(pool, block);
    pool->managed.blocks--;
    vs_blocks_give(&pool->blocks, block);
}

/* Sends the oldest pages of a block away. */
static void push_out(struct vs_pool *pool, uint32_t index, uint64_t bytes) {
    struct vs_block_record *record = &pool->blocks.at[index];
    enum vs_tag tag = (enum vs_tag)record->tag;
    if (bytes == record->resident_bytes) {
        forget_resident(pool, index);
    } else {
        record->resident_bytes -= bytes;
        pool->stats.managed_bytes -= bytes;
        vs_driver_give_raw(pool, bytes, tag);
    }
    (void)into_backing(pool, bytes, bytes, tag);
}

/* Pushes out `bytes` in LRU order, but nothing from block `stop` on (0 = no such block); returns
 * how many went. */
static uint64_t push_out_oldest(struct vs_pool *pool, uint32_t stop, uint64_t bytes) {
    uint64_t left_bytes = bytes;
    while (left_bytes > 0 && pool->managed.oldest != stop && pool->managed.oldest != 0) {
        uint32_t index = pool->managed.oldest;
        uint64_t part = pool->blocks.at[index].resident_bytes;
        if (part > left_bytes)
            part = left_bytes;
        push_out(pool, index, part);
        left_bytes -= part;
    }
    return bytes - left_bytes;
}

void vs_managed_evict(struct vs_pool *pool, uint64_t bytes) {
    uint64_t pages = bytes / VS_MANAGED_PAGE_BYTES + (bytes % VS_MANAGED_PAGE_BYTES != 0);
    if (pages > VS_POOL_LIMIT_BYTES / VS_MANAGED_PAGE_BYTES)
        pages = VS_POOL_LIMIT_BYTES / VS_MANAGED_PAGE_BYTES;
    uint64_t out_bytes = push_out_oldest(pool, 0, pages * VS_MANAGED_PAGE_BYTES);
    pool->managed.evicted_bytes += out_bytes;
    pool->stats.migrated_out_bytes += out_bytes;
}

/* Whole pages that fit without pushing anything out. */
static uint64_t free_page_bytes(const struct vs_pool *pool) {
    return (pool->ceiling_bytes - vs_driver_used(pool)) & ~(VS_MANAGED_PAGE_BYTES - 1);
}

/* Holds more pages of a block; `newest` = all of it was just used. Drawn pages do not refresh the
 * others of their block: it keeps its place. */
static void add_resident(struct vs_pool *pool, uint32_t index, uint64_t bytes, bool newest) {
    struct vs_block_record *record = &pool->blocks.at[index];
    bool linked = record->resident_bytes != 0;
    if (record->resident_bytes + bytes == 0)
        return;
    if (linked && newest)
        unlink_block(pool, index);
    if (!linked || newest)
        link_newest(pool, index);
    record->resident_bytes += bytes;
    pool->stats.managed_bytes += bytes;
    vs_driver_add_raw(pool, bytes, (enum vs_tag)record->tag);
}

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

static uint64_t to_push_out(const struct vs_pool *pool, uint64_t need_bytes) {
    uint64_t room_bytes = free_page_bytes(pool);
    return need_bytes > room_bytes ? need_bytes - room_bytes : 0;
}

/* LRU takes the pages of a front that are here, each just before it would have been used: they
 * leave and come again. Returns how many of the front those are. */
static uint64_t overtake_front(struct vs_pool *pool, uint32_t index, uint64_t wanted_bytes,
                               uint64_t *out_bytes) {
    struct vs_block_record *record = &pool->blocks.at[index];
    uint64_t here_bytes = record->resident_bytes, again_bytes = least(here_bytes, wanted_bytes);
    forget_resident(pool, index);
    (void)into_backing(pool, here_bytes - again_bytes, here_bytes - again_bytes,
                       (enum vs_tag)record->tag);
    *out_bytes += here_bytes;
    return again_bytes;
}

/* Brings pages of a block here in place of the oldest ones; those of a front are `wanted`, 0 = they
 * are drawn: then the block is the newest from the start. Returns the bytes that came: those that
 * are needed, and more where a front overtakes itself. */
static uint64_t bring(struct vs_pool *pool, uint32_t index, uint64_t need_bytes,
                      uint64_t wanted_bytes, uint64_t *out_bytes) {
    struct vs_block_record *record = &pool->blocks.at[index];
    enum vs_tag tag = (enum vs_tag)record->tag;
    /* Pages that come free their place in the backing pool before those that go need one. */
    out_of_backing(pool, need_bytes, tag);
    *out_bytes += push_out_oldest(pool, index, to_push_out(pool, need_bytes));
    if (to_push_out(pool, need_bytes) > 0 && wanted_bytes > 0)
        need_bytes += overtake_front(pool, index, wanted_bytes, out_bytes);
    *out_bytes += push_out_oldest(pool, 0, to_push_out(pool, need_bytes));
    /* What finds no room goes through: it is used and leaves. */
    uint64_t passing_bytes = to_push_out(pool, need_bytes);
    (void)into_backing(pool, passing_bytes, passing_bytes, tag);
    *out_bytes += passing_bytes;
    add_resident(pool, index, need_bytes - passing_bytes, wanted_bytes > 0);
    return need_bytes;
}

/* The share of the absent pages; the rest of a page waits for the next drawing. */
static uint64_t draw(struct vs_managed *managed, const struct vs_block_record *record,
                     uint64_t bytes) {
    double share = (double)bytes / (double)record->size_bytes;
    uint64_t absent_bytes = record->size_bytes - record->resident_bytes;
    uint64_t drawn_bytes = (uint64_t)(share * (double)absent_bytes + 0.5) + managed->owed_bytes;
    uint64_t page_bytes = least(drawn_bytes & ~(VS_MANAGED_PAGE_BYTES - 1), absent_bytes);
    managed->owed_bytes = drawn_bytes % VS_MANAGED_PAGE_BYTES;
    return page_bytes;
}

void vs_managed_touch(struct vs_pool *pool, vs_block block, enum vs_touch how, uint64_t bytes,
                      uint64_t *in_bytes, uint64_t *out_bytes) {
    struct vs_block_record *record = &pool->blocks.at[block];
    bytes = least(bytes, record->size_bytes);
    *in_bytes = *out_bytes = 0;
    if (how == VS_TOUCH_SPREAD) {
        *in_bytes = bring(pool, block, draw(&pool->managed, record, bytes), 0, out_bytes);
    } else {
        uint64_t wanted_bytes = (bytes + VS_MANAGED_PAGE_BYTES - 1) & ~(VS_MANAGED_PAGE_BYTES - 1);
        uint64_t here_bytes = least(record->resident_bytes, wanted_bytes);
        uint64_t known_bytes = least(record->populated_bytes, wanted_bytes);
        uint64_t came = bring(pool, block, wanted_bytes - here_bytes, wanted_bytes, out_bytes);
        record->populated_bytes += wanted_bytes - known_bytes;
        *in_bytes = came - (wanted_bytes - known_bytes);
    }
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
    state = vs_hash_pair(state, pool->managed.absent);
    for (uint32_t i = pool->managed.oldest; i != 0; i = pool->blocks.at[i].after) {
        const struct vs_block_record *record = &pool->blocks.at[i];
        state = vs_hash_pair(state, i);
        state = vs_hash_pair(state, record->size_bytes);
        state = vs_hash_pair(state, record->resident_bytes);
        state = vs_hash_pair(state, record->populated_bytes);
    }
    return state;
}
