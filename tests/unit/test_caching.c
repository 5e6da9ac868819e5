/* The caching allocator against worked examples: those of the allocator's rules, and what each
 * promises. */
#include <check.h>

#include "memory/caching.h"
#include "memory_helpers.h"

/* Up to a multiple of 512; 1 MiB is the last size of the small pool. */
START_TEST(test_round_size) {
    ck_assert_uint_eq(vs_caching_round(0, 1), 512);
    ck_assert_uint_eq(vs_caching_round(0, 512), 512);
    ck_assert_uint_eq(vs_caching_round(0, 513), 1024);
    ck_assert_uint_eq(vs_caching_round(0, 1048576), 1048576);
    ck_assert_uint_eq(vs_caching_round(0, 1048577), 1049088);
    ck_assert_uint_eq(vs_caching_segment(1048576), 2 * MIB);
    ck_assert_uint_eq(vs_caching_segment(1049088), 20 * MIB);
    ck_assert_uint_eq(vs_caching_segment(10 * MIB - 512), 20 * MIB);
    ck_assert_uint_eq(vs_caching_segment(10 * MIB), 10 * MIB);
    ck_assert_uint_eq(vs_caching_segment(10 * MIB + 512), 12 * MIB);
}
END_TEST

/* Four steps between 1 MiB and 2 MiB are 256 KiB each: 1,228,800 goes to 1.25 MiB. 1200 is below
 * the bound of 512 * 4 = 2048 and would go to 1536; with two divisions (bound 1024, step 512) it
 * does too. */
START_TEST(test_power_of_two_divisions) {
    ck_assert_uint_eq(vs_caching_round(4, 1228800), 1310720);
    ck_assert_uint_eq(vs_caching_round(4, 1310720), 1310720);
    ck_assert_uint_eq(vs_caching_round(4, 1310721), 1572864);
    ck_assert_uint_eq(vs_caching_round(4, 2097152), 2097152);
    ck_assert_uint_eq(vs_caching_round(4, 1900000), 2097152);
    ck_assert_uint_eq(vs_caching_round(4, 1200), 1536);
    ck_assert_uint_eq(vs_caching_round(2, 1200), 1536);
    ck_assert_uint_eq(vs_caching_round(4, 2049), 2560);
    ck_assert_uint_eq(vs_caching_round(1, 1228801), 1229312);
    ck_assert_uint_eq(vs_caching_round(5, 1228800), 1310720); /* floor(log2 5) is 2 */
    struct vs_pool *pool = new_caching((struct vs_pool_spec){.roundup_power2_divisions = 4});
    take(pool, 1228800);
    expect(pool, 1310720, 20 * MIB);
    ck_assert_uint_eq(vs_pool_stats(pool).requested_bytes, 1228800);
    vs_pool_free(pool);
}
END_TEST

/* One fresh request: what is allocated and what is reserved for it. */
START_TEST(test_fresh_requests) {
    static const struct {
        uint64_t bytes, allocated, reserved;
    } cases[] = {
        {3 * MIB, 3 * MIB, 20 * MIB},
        {9 * MIB + MIB / 2, 9 * MIB + MIB / 2, 20 * MIB}, /* 10.5 MiB of rest are split off */
        {10 * MIB, 10 * MIB, 10 * MIB},
        {11 * MIB + MIB / 2, 12 * MIB, 12 * MIB}, /* 0.5 MiB of rest are not */
        {11 * MIB, 12 * MIB, 12 * MIB},           /* exactly 1 MiB is not either */
        {11 * MIB - 512, 11 * MIB - 512, 12 * MIB},
        {1000, 1024, 2 * MIB},
        {8519680, 8519680, 20 * MIB}, /* the cuBLAS workspace on an A100 */
        {1, 512, 2 * MIB},
        {2 * MIB - 512, 2 * MIB - 512, 20 * MIB},
    };
    struct vs_pool *pool = new_caching((struct vs_pool_spec){.name = NULL});
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        vs_pool_reset(pool);
        take(pool, cases[i].bytes);
        expect(pool, cases[i].allocated, cases[i].reserved);
        ck_assert_uint_eq(vs_pool_stats(pool).requested_bytes, cases[i].bytes);
    }
    vs_pool_free(pool);
}
END_TEST

/* 3 + 5 + 4 MiB share a segment of 20. The 5 go: a hole of 5 and a tail of 8. 4 MiB fit into both;
 * best fit takes the hole. The rest of 1 MiB is not more than 1 MiB, so all 5 count as allocated.
 */
START_TEST(test_best_fit) {
    struct vs_pool *pool = new_caching((struct vs_pool_spec){.name = NULL});
    vs_block a = take(pool, 3 * MIB), b = take(pool, 5 * MIB), c = take(pool, 4 * MIB);
    ck_assert_uint_eq(address_of(pool, a), 0);
    ck_assert_uint_eq(address_of(pool, b), 3 * MIB);
    ck_assert_uint_eq(address_of(pool, c), 8 * MIB);
    vs_pool_release_block(pool, b);
    expect(pool, 7 * MIB, 20 * MIB);
    vs_block d = take(pool, 4 * MIB);
    ck_assert_uint_eq(address_of(pool, d), 3 * MIB);
    expect(pool, 12 * MIB, 20 * MIB);
    ck_assert_uint_eq(vs_pool_stats(pool).requested_bytes, 11 * MIB);
    vs_pool_free(pool);
}
END_TEST

/* Free neighbours merge: after 4, 4, 4 MiB the middle goes last, and all 20 MiB are one block
 * again, which 19.5 MiB can have. */
START_TEST(test_merge) {
    struct vs_pool *pool = new_caching((struct vs_pool_spec){.name = NULL});
    vs_block a = take(pool, 4 * MIB), b = take(pool, 4 * MIB), c = take(pool, 4 * MIB);
    vs_pool_release_block(pool, a);
    vs_pool_release_block(pool, c);
    vs_pool_release_block(pool, b);
    expect(pool, 0, 20 * MIB);
    vs_block d = take(pool, 19 * MIB + MIB / 2);
    ck_assert_uint_eq(address_of(pool, d), 0);
    expect(pool, 20 * MIB, 20 * MIB);
    vs_pool_free(pool);
}
END_TEST

/* Equal sizes: the lower address. Freed segments leave their addresses to the next that fits. */
START_TEST(test_addresses) {
    struct vs_pool *pool = new_caching((struct vs_pool_spec){.name = NULL});
    vs_block a = take(pool, 30 * MIB), b = take(pool, 30 * MIB), c = take(pool, 40 * MIB);
    ck_assert_uint_eq(address_of(pool, c), 60 * MIB);
    vs_pool_release_block(pool, b);
    vs_pool_release_block(pool, a);
    a = take(pool, 30 * MIB);
    ck_assert_uint_eq(address_of(pool, a), 0);
    vs_pool_empty_cache(pool);
    expect(pool, 70 * MIB, 70 * MIB);
    ck_assert_uint_eq(address_of(pool, take(pool, 32 * MIB)), 100 * MIB);
    ck_assert_uint_eq(address_of(pool, take(pool, 20 * MIB)), 30 * MIB);
    ck_assert_uint_eq(address_of(pool, take(pool, 100)), 50 * MIB);
    vs_pool_free(pool);
}
END_TEST

/* 100 MiB. Cached: 30 whole, and 17 of a segment of 20 that is in use. 60 MiB do not fit beside 50,
 * so the cache is emptied, of which the 17 cannot go, and they fit. */
START_TEST(test_retry) {
    struct vs_pool *pool = new_caching((struct vs_pool_spec){.capacity_bytes = 100 * MIB});
    vs_block a = take(pool, 30 * MIB), b;
    take(pool, 3 * MIB);
    vs_pool_release_block(pool, a);
    expect(pool, 3 * MIB, 50 * MIB);
    ck_assert_int_eq(vs_pool_alloc(pool, 60 * MIB, VS_TAG_KV, &b), VS_POOL_RETRIED);
    expect(pool, 63 * MIB, 80 * MIB);
    ck_assert_uint_eq(vs_pool_stats(pool).retries, 1);
    ck_assert_ptr_null(vs_pool_oom(pool));
    vs_pool_free(pool);
}
END_TEST

/* The same with 85 MiB, for which a segment of 86 is asked: 80 are left, 6 are short. The message
 * of PyTorch names the segment too. */
START_TEST(test_oom) {
    struct vs_pool *pool = new_caching((struct vs_pool_spec){.capacity_bytes = 100 * MIB});
    vs_block a = take(pool, 30 * MIB), b;
    take(pool, 3 * MIB);
    vs_pool_release_block(pool, a);
    ck_assert_int_eq(vs_pool_alloc(pool, 85 * MIB, VS_TAG_KV, &b), VS_POOL_OOM);
    const struct vs_oom *oom = vs_pool_oom(pool);
    ck_assert_uint_eq(oom->requested_bytes, 85 * MIB);
    ck_assert_uint_eq(oom->segment_bytes, 86 * MIB);
    ck_assert_uint_eq(oom->in_use_bytes, 20 * MIB);
    ck_assert_uint_eq(oom->reserved_free_bytes, 17 * MIB);
    ck_assert_uint_eq(oom->short_bytes, 6 * MIB);
    ck_assert_uint_eq(oom->by_tag[VS_TAG_ACTIVATIONS], 3 * MIB);
    ck_assert_int_eq((int)oom->tag, VS_TAG_KV);
    ck_assert_uint_eq(vs_pool_stats(pool).retries, 1);
    expect(pool, 89 * MIB, 106 * MIB); /* 1 MiB of rest stays with the block */
    take(pool, GIB);
    ck_assert_uint_eq(vs_pool_stats(pool).retries, 1);
    vs_pool_free(pool);
}
END_TEST

/* max_split 32 MiB. A cached block of 60 serves no request of 12 (small ones may not touch oversize
 * blocks), nor of 40 (20 MiB or more would be lost); it serves 41, whole. */
START_TEST(test_max_split) {
    struct vs_pool *pool = new_caching((struct vs_pool_spec){.max_split_bytes = 32 * MIB});
    vs_block a = take(pool, 60 * MIB), b;
    vs_pool_release_block(pool, a);
    b = take(pool, 12 * MIB);
    expect(pool, 12 * MIB, 72 * MIB);
    vs_pool_release_block(pool, b);
    b = take(pool, 40 * MIB);
    expect(pool, 40 * MIB, 112 * MIB);
    a = take(pool, 41 * MIB);
    expect(pool, 100 * MIB, 112 * MIB);
    vs_pool_free(pool);
    pool = new_caching((struct vs_pool_spec){.max_split_bytes = 32 * MIB,
                                             .max_non_split_rounding_bytes = 30 * MIB});
    vs_pool_release_block(pool, take(pool, 60 * MIB));
    take(pool, 40 * MIB);
    expect(pool, 60 * MIB, 60 * MIB);
    vs_pool_free(pool);
}
END_TEST

/* 200 MiB, max_split 32: 34, 40 and 50 are cached, 124 in all, and 80 are wanted. No single one is
 * enough, so the largest go: 50, then 40. 34 stay. The cache was not emptied. */
START_TEST(test_free_oversize) {
    struct vs_pool *pool = new_caching(
        (struct vs_pool_spec){.max_split_bytes = 32 * MIB, .capacity_bytes = 200 * MIB});
    vs_block a = take(pool, 34 * MIB), b = take(pool, 40 * MIB), c = take(pool, 50 * MIB), d;
    vs_pool_release_block(pool, a);
    vs_pool_release_block(pool, b);
    vs_pool_release_block(pool, c);
    ck_assert_int_eq(vs_pool_alloc(pool, 80 * MIB, VS_TAG_KV, &d), VS_POOL_OK);
    expect(pool, 80 * MIB, 114 * MIB);
    vs_pool_release_block(pool, d);
    /* Cached: 34 and 80. 110 want 110 of 86 left: no single one suffices, 80 + 34 do. */
    ck_assert_int_eq(vs_pool_alloc(pool, 110 * MIB, VS_TAG_KV, &d), VS_POOL_OK);
    expect(pool, 110 * MIB, 110 * MIB);
    ck_assert_uint_eq(vs_pool_stats(pool).retries, 0);
    vs_pool_free(pool);
}
END_TEST

/* Expandable: 3 MiB map one page of 20; 25 more are 28 in all and map a second one; nothing is lost
 * at the end of the first. Freed, both are unmapped by empty_cache; with the first 3 held, only the
 * second is. */
START_TEST(test_expandable) {
    struct vs_pool *pool = new_caching(
        (struct vs_pool_spec){.expandable_segments = true, .capacity_bytes = 100 * MIB});
    uint64_t empty_state = vs_pool_state(pool);
    vs_block a = take(pool, 3 * MIB), b = take(pool, 25 * MIB), small = take(pool, 512), c;
    ck_assert_uint_eq(address_of(pool, b) - address_of(pool, a), 3 * MIB);
    expect(pool, 28 * MIB + 512, 42 * MIB);
    vs_pool_release_block(pool, b);
    vs_pool_empty_cache(pool);
    expect(pool, 3 * MIB + 512, 22 * MIB);
    /* 79 more need 62 beyond the 17 that are there: four pages of 20, and 78 MiB are left. */
    ck_assert_int_eq(vs_pool_alloc(pool, 79 * MIB, VS_TAG_KV, &c), VS_POOL_OOM);
    ck_assert_uint_eq(vs_pool_oom(pool)->segment_bytes, 80 * MIB);
    ck_assert_uint_eq(vs_pool_oom(pool)->short_bytes, 2 * MIB);
    ck_assert_uint_eq(vs_pool_oom(pool)->reserved_free_bytes, 19 * MIB - 512);
    vs_pool_reset(pool);
    a = take(pool, 3 * MIB);
    small = take(pool, 512);
    vs_pool_release_block(pool, a);
    vs_pool_release_block(pool, small);
    vs_pool_empty_cache(pool);
    expect(pool, 0, 0);
    ck_assert_uint_eq(vs_pool_state(pool), empty_state);
    vs_pool_free(pool);
}
END_TEST

/* More than the address space of a segment, once there is no ceiling. */
START_TEST(test_expandable_beyond) {
    struct vs_pool *pool =
        new_caching((struct vs_pool_spec){.expandable_segments = true, .capacity_bytes = 40 * MIB});
    vs_block a;
    ck_assert_int_eq(vs_pool_alloc(pool, 90 * MIB, VS_TAG_KV, &a), VS_POOL_OOM);
    expect(pool, 90 * MIB, 100 * MIB);
    take(pool, 500 * MIB);
    ck_assert_int_eq(vs_pool_alloc(pool, 1ULL << 55, VS_TAG_KV, &a), VS_POOL_OK);
    vs_pool_free(pool);
}
END_TEST

/* 100 MiB, max_split 32, 20 always in use. Each step takes 30 (which the cached 70 may not serve,
 * and which takes their place) and then 70 (for which the cache must be emptied). It ends in the
 * state of the step before, since addresses are used again. */
static vs_block take_on(struct vs_pool *pool, unsigned stream, uint64_t bytes) {
    vs_block block;
    ck_assert_int_eq(vs_pool_alloc_on(pool, stream, bytes, VS_TAG_GATHERED, &block), VS_POOL_OK);
    return block;
}

/* 30 MiB that stream 0 freed serve stream 0, not stream 1: it asks the driver. */
START_TEST(test_streams_do_not_share) {
    struct vs_pool *pool = new_caching((struct vs_pool_spec){.expandable_segments = _i == 1});
    uint64_t unit = _i == 1 ? 40 * MIB : 30 * MIB; /* whole pages of 20 MiB there */
    vs_pool_release_block(pool, take_on(pool, 0, unit));
    expect(pool, 0, unit);
    vs_block other = take_on(pool, 1, unit);
    expect(pool, unit, 2 * unit);
    vs_block own = take_on(pool, 0, unit);
    expect(pool, 2 * unit, 2 * unit);
    vs_pool_release_block(pool, other);
    vs_pool_release_block(pool, own);
    vs_pool_empty_cache(pool);
    expect(pool, 0, 0);
    vs_pool_free(pool);
}
END_TEST

/* Units of 30 MiB, one alive and one that may still be in use: the third one takes the first one's
 * place, so three units are never reserved. */
START_TEST(test_retired_blocks_wait) {
    struct vs_pool *pool = new_caching((struct vs_pool_spec){.in_flight_blocks = {0, 1, 0}});
    uint64_t unit = 30 * MIB, first = 0;
    for (int i = 0; i < 4; i++) {
        vs_block block = take_on(pool, 1, unit);
        expect(pool, unit, i == 0 ? unit : 2 * unit);
        if (i == 0)
            first = address_of(pool, block);
        ck_assert_int_eq(address_of(pool, block) == first, i % 2 == 0);
        vs_pool_retire(pool, block);
        expect(pool, 0, i == 0 ? unit : 2 * unit);
    }
    uint64_t busy = vs_pool_state(pool);
    vs_pool_settle(pool);
    ck_assert_uint_ne(vs_pool_state(pool), busy);
    vs_pool_free(pool);
}
END_TEST

/* Before a request fails, the device is waited for: what was retired is free then. */
START_TEST(test_retired_blocks_are_waited_for) {
    struct vs_pool *pool = new_caching(
        (struct vs_pool_spec){.capacity_bytes = 50 * MIB, .in_flight_blocks = {0, 5, 0}});
    vs_block block;
    vs_pool_retire(pool, take_on(pool, 1, 30 * MIB));
    ck_assert_int_eq(vs_pool_alloc(pool, 40 * MIB, VS_TAG_KV, &block), VS_POOL_RETRIED);
    expect(pool, 40 * MIB, 40 * MIB);
    ck_assert_ptr_null(vs_pool_oom(pool));
    vs_pool_free(pool);
}
END_TEST

/* Elsewhere nothing has to wait: a bump allocator's block, and raw memory, go at once. */
START_TEST(test_retire_elsewhere) {
    struct vs_pool *pool =
        vs_pool_new(&(struct vs_pool_spec){.name = "host", .capacity_bytes = 1 * GIB});
    vs_block raw;
    ck_assert_int_eq(vs_pool_alloc_raw(pool, MIB, VS_TAG_COMM, &raw), VS_POOL_OK);
    vs_pool_retire(pool, take_on(pool, 1, 30 * MIB));
    vs_pool_retire(pool, raw);
    vs_pool_retire(pool, raw);
    vs_pool_settle(pool);
    ck_assert_uint_eq(vs_pool_stats(pool).reserved_bytes, 0);
    ck_assert_uint_eq(vs_pool_stats(pool).raw_bytes, 0);
    vs_pool_free(pool);
}
END_TEST

START_TEST(test_steps_repeat) {
    struct vs_pool *pool = new_caching(
        (struct vs_pool_spec){.capacity_bytes = 100 * MIB, .max_split_bytes = 32 * MIB});
    take(pool, 3 * MIB);
    uint64_t state = 0;
    for (uint64_t step = 0; step < 4; step++) {
        vs_block block = take(pool, 30 * MIB);
        vs_pool_release_block(pool, block);
        ck_assert_int_eq(vs_pool_alloc(pool, 70 * MIB, VS_TAG_KV, &block), VS_POOL_RETRIED);
        vs_pool_release_block(pool, block);
        if (step > 0)
            ck_assert_uint_eq(vs_pool_state(pool), state);
        state = vs_pool_state(pool);
    }
    ck_assert_uint_eq(vs_pool_stats(pool).retries, 4);
    vs_pool_free(pool);
}
END_TEST

/* Handles stay what they are when the tables grow, and many equal blocks keep their order. */
START_TEST(test_many_blocks) {
    enum { MANY = 5000 };
    struct vs_pool *pool = new_caching((struct vs_pool_spec){.name = NULL});
    vs_block *blocks = calloc(MANY, sizeof *blocks);
    ck_assert_ptr_nonnull(blocks);
    for (int i = 0; i < MANY; i++)
        blocks[i] = take(pool, 1024);
    for (int i = 0; i < MANY; i++)
        ck_assert_uint_eq(address_of(pool, blocks[i]), (uint64_t)i * 1024);
    for (int i = 0; i < MANY; i += 2) /* holes of 1024, none with a free neighbour */
        vs_pool_release_block(pool, blocks[MANY - 2 - i]);
    for (int i = 0; i < MANY; i += 2)
        ck_assert_uint_eq(address_of(pool, take(pool, 700)), (uint64_t)i * 1024);
    free(blocks);
    vs_pool_free(pool);
}
END_TEST

/* A freed block serves requests of its own stream only: the second stream takes segments of its
 * own, and the first finds its block again. Emptying the cache reaches all streams: with room for
 * one segment of 20 MiB more, the request of 30 MiB gets that of stream 0. */
START_TEST(test_streams) {
    for (int expandable = 0; expandable < 2; expandable++) {
        struct vs_pool *pool = new_caching((struct vs_pool_spec){
            .capacity_bytes = 60 * MIB, .expandable_segments = expandable == 1, .stream_count = 8});
        vs_block first = take(pool, 5 * MIB);
        uint64_t address = address_of(pool, first);
        expect(pool, 5 * MIB, 20 * MIB);
        vs_pool_release_block(pool, first);
        vs_block other, large;
        ck_assert_int_eq(vs_pool_alloc_on(pool, 7, 5 * MIB, VS_TAG_OTHER, &other), VS_POOL_OK);
        ck_assert_uint_ne(address_of(pool, other), address);
        expect(pool, 5 * MIB, 40 * MIB);
        first = take(pool, 5 * MIB);
        ck_assert_uint_eq(address_of(pool, first), address);
        expect(pool, 10 * MIB, 40 * MIB);
        vs_pool_release_block(pool, first);
        ck_assert_int_eq(vs_pool_alloc_on(pool, 7, 40 * MIB, VS_TAG_OTHER, &large),
                         VS_POOL_RETRIED);
        ck_assert_uint_eq(vs_pool_stats(pool).reserved_bytes, 60 * MIB);
        vs_pool_reset(pool);
        expect(pool, 0, 0);
        vs_pool_free(pool);
    }
}
END_TEST

/* 20 MiB with 5 MiB in use: 15 MiB in one piece, 10 MiB once 5 MiB of them are held. */
START_TEST(test_largest_free) {
    struct vs_pool *pool = new_caching((struct vs_pool_spec){.capacity_bytes = 0});
    ck_assert_uint_eq(vs_pool_largest_free(pool), 0);
    vs_block first = take(pool, 5 * MIB);
    ck_assert_uint_eq(vs_pool_largest_free(pool), 15 * MIB);
    take(pool, 5 * MIB);
    ck_assert_uint_eq(vs_pool_largest_free(pool), 10 * MIB);
    take(pool, 1000); /* its segment of 2 MiB has less */
    ck_assert_uint_eq(vs_pool_largest_free(pool), 10 * MIB);
    take(pool, 10 * MIB);
    vs_pool_release_block(pool, first); /* no neighbour of it is free */
    ck_assert_uint_eq(vs_pool_largest_free(pool), 5 * MIB);
    vs_pool_free(pool);
}
END_TEST

static Suite *caching_suite(void) {
    Suite *suite = suite_create("caching");
    TCase *tcase = tcase_create("caching");
    tcase_add_test(tcase, test_round_size);
    tcase_add_test(tcase, test_power_of_two_divisions);
    tcase_add_test(tcase, test_fresh_requests);
    tcase_add_test(tcase, test_best_fit);
    tcase_add_test(tcase, test_merge);
    tcase_add_test(tcase, test_addresses);
    tcase_add_test(tcase, test_retry);
    tcase_add_test(tcase, test_oom);
    tcase_add_test(tcase, test_max_split);
    tcase_add_test(tcase, test_free_oversize);
    tcase_add_test(tcase, test_expandable);
    tcase_add_test(tcase, test_expandable_beyond);
    tcase_add_loop_test(tcase, test_streams_do_not_share, 0, 2);
    tcase_add_test(tcase, test_retired_blocks_wait);
    tcase_add_test(tcase, test_retired_blocks_are_waited_for);
    tcase_add_test(tcase, test_retire_elsewhere);
    tcase_add_test(tcase, test_steps_repeat);
    tcase_add_test(tcase, test_many_blocks);
    tcase_add_test(tcase, test_streams);
    tcase_add_test(tcase, test_largest_free);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void) { return run_suite(caching_suite()); }
