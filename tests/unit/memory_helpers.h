/* What the tests of memory/ share. */
#ifndef MEMORY_HELPERS_H
#define MEMORY_HELPERS_H

#include <stdint.h>
#include <stdlib.h>

#include "memory/allocator.h"
#include "unit/suite.h"

#define KIB 1024ULL
#define MIB (1ULL << 20)
#define GIB (1ULL << 30)

/* xorshift64 (Marsaglia 2003); the state must not be 0. */
static inline uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* A caching pool; capacity 0 is none. */
static inline struct vs_pool *new_caching(struct vs_pool_spec spec) {
    spec.name = "gpu0";
    spec.allocator = VS_ALLOC_CACHING;
    if (spec.capacity_bytes == 0)
        spec.capacity_bytes = UINT64_MAX;
    struct vs_pool *pool = vs_pool_new(&spec);
    ck_assert_ptr_nonnull(pool);
    return pool;
}

static inline vs_block take(struct vs_pool *pool, uint64_t bytes) {
    vs_block block;
    ck_assert_int_eq(vs_pool_alloc(pool, bytes, VS_TAG_ACTIVATIONS, &block), VS_POOL_OK);
    ck_assert_uint_ne(block, 0);
    return block;
}

static inline uint64_t address_of(const struct vs_pool *pool, vs_block block) {
    return pool->blocks.at[block].address;
}

static inline void expect(const struct vs_pool *pool, uint64_t allocated, uint64_t reserved) {
    struct vs_pool_stats stats = vs_pool_stats(pool);
    ck_assert_uint_eq(stats.allocated_bytes, allocated);
    ck_assert_uint_eq(stats.reserved_bytes, reserved);
}

#endif
