/* Every request is a segment of its own; nothing is cached. llama.cpp's and ggml's static buffers
 * are such (one allocation per buffer and type), and so is malloc for sizes that it maps. */
#include "memory/allocator.h"

static bool bump_open(struct vs_pool *pool) {
    (void)pool;
    return true;
}

/* There is no cache and no data beside the block table. */
static void bump_nothing(struct vs_pool *pool) { (void)pool; }

static uint64_t round_up(const struct vs_pool_spec *spec, uint64_t bytes) {
    if (spec->round_to_power_of_two) {
        uint64_t power = 1;
        while (power < bytes)
            power <<= 1;
        bytes = power;
    }
    uint64_t granularity = spec->granularity_bytes;
    if (granularity <= 1 || bytes % granularity == 0)
        return bytes;
    uint64_t pad = granularity - bytes % granularity;
    return pad > VS_POOL_LIMIT_BYTES ? bytes : bytes + pad; /* no granularity is that coarse */
}

static enum vs_pool_result bump_alloc(struct vs_pool *pool, unsigned stream, uint64_t bytes,
                                      enum vs_tag tag, vs_block *block) {
    (void)stream; /* nothing is used again, so nobody has to wait */
    if (!vs_blocks_reserve(&pool->blocks, 1, &pool->growths_left))
        return VS_POOL_NOMEM;
    uint64_t size_bytes = round_up(&pool->spec, bytes);
    enum vs_pool_result result = VS_POOL_OK;
    if (!vs_driver_take(pool, size_bytes)) {
        vs_pool_fail(pool, bytes, size_bytes, tag);
        result = VS_POOL_OOM;
        (void)vs_driver_take(pool, size_bytes); /* there is no ceiling any more */
    }
    *block = vs_blocks_take(&pool->blocks);
    struct vs_block_record *record = &pool->blocks.at[*block];
    record->size_bytes = size_bytes;
    record->requested_bytes = bytes;
    record->state = VS_BLOCK_HELD;
    record->kind = VS_BLOCK_OF_ALLOCATOR;
    record->tag = (uint8_t)tag;
    pool->layout += vs_hash_pair(VS_MIX_BUMP, size_bytes);
    vs_pool_hold(pool, record);
    return result;
}

static void bump_release(struct vs_pool *pool, vs_block block) {
    const struct vs_block_record *record = &pool->blocks.at[block];
    vs_pool_drop(pool, record);
    vs_driver_give(pool, record->size_bytes);
    pool->layout -= vs_hash_pair(VS_MIX_BUMP, record->size_bytes);
    vs_blocks_give(&pool->blocks, block);
}

const struct vs_allocator_ops vs_allocator_bump = {
    .open = bump_open,
    .close = bump_nothing,
    .reset = bump_nothing,
    .alloc = bump_alloc,
    .release = bump_release,
    .empty_cache = bump_nothing,
};
