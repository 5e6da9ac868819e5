/* Pools: the driver's accounting, statistics, tags, out of memory, the bump allocator. */
#include <check.h>

#include "memory_helpers.h"

static struct vs_pool *bump_pool(uint64_t capacity_bytes, uint64_t granularity_bytes) {
    const struct vs_pool_spec spec = {
        .name = "gpu0",
        .capacity_bytes = capacity_bytes,
        .allocator = VS_ALLOC_BUMP,
        .granularity_bytes = granularity_bytes,
    };
    struct vs_pool *pool = vs_pool_new(&spec);
    ck_assert_ptr_nonnull(pool);
    return pool;
}

START_TEST(test_names) {
    ck_assert_str_eq(vs_tag_name(VS_TAG_CONTEXT), "context");
    ck_assert_str_eq(vs_tag_name(VS_TAG_STREAMED), "streamed_weights");
    ck_assert_str_eq(vs_tag_name(VS_TAG_OTHER), "other");
    struct vs_pool *pool = bump_pool(100, 0);
    ck_assert_str_eq(vs_pool_name(pool), "gpu0");
    ck_assert_uint_eq(vs_pool_capacity(pool), 100);
    vs_pool_free(pool);
    vs_pool_free(NULL);
}
END_TEST

/* 1 byte in units of 256 takes 256; 256 takes 256; 257 takes 512. Sum 1024, asked for 514. */
START_TEST(test_bump_granularity) {
    struct vs_pool *pool = bump_pool(1024, 256);
    vs_block a, b, c;
    ck_assert_int_eq(vs_pool_alloc(pool, 1, VS_TAG_KV, &a), VS_POOL_OK);
    ck_assert_int_eq(vs_pool_alloc(pool, 256, VS_TAG_KV, &b), VS_POOL_OK);
    ck_assert_int_eq(vs_pool_alloc(pool, 257, VS_TAG_WEIGHTS, &c), VS_POOL_OK);
    struct vs_pool_stats stats = vs_pool_stats(pool);
    ck_assert_uint_eq(stats.allocated_bytes, 1024);
    ck_assert_uint_eq(stats.reserved_bytes, 1024);
    ck_assert_uint_eq(stats.requested_bytes, 514);
    ck_assert_uint_eq(stats.by_tag[VS_TAG_KV], 512);
    ck_assert_uint_eq(stats.by_tag[VS_TAG_WEIGHTS], 512);
    vs_pool_release_block(pool, b);
    vs_pool_empty_cache(pool); /* there is none */
    stats = vs_pool_stats(pool);
    ck_assert_uint_eq(stats.reserved_bytes, 768);
    ck_assert_uint_eq(stats.requested_bytes, 258);
    ck_assert_uint_eq(stats.peak_reserved_bytes, 1024);
    ck_assert_uint_eq(stats.peak_allocated_bytes, 1024);
    vs_pool_free(pool);
}
END_TEST

/* Granularity need not be a power of two: 10 in units of 3 is 12; without units it is 10. */
START_TEST(test_bump_odd_granularity) {
    struct vs_pool *threes = bump_pool(100, 3), *ones = bump_pool(100, 0);
    vs_block a;
    ck_assert_int_eq(vs_pool_alloc(threes, 10, VS_TAG_IO, &a), VS_POOL_OK);
    ck_assert_uint_eq(vs_pool_stats(threes).allocated_bytes, 12);
    ck_assert_int_eq(vs_pool_alloc(ones, 10, VS_TAG_IO, &a), VS_POOL_OK);
    ck_assert_uint_eq(vs_pool_stats(ones).allocated_bytes, 10);
    vs_pool_free(threes);
    vs_pool_free(ones);
}
END_TEST

/* Pinned host memory of PyTorch goes to the next power of two: a 33 GB buffer (30.7 GiB) takes 32
 * GiB, a 35 GB one (32.6 GiB) takes 64 GiB. */
START_TEST(test_bump_power_of_two) {
    const struct vs_pool_spec spec = {
        .name = "pinned", .capacity_bytes = UINT64_MAX, .round_to_power_of_two = true};
    struct vs_pool *pool = vs_pool_new(&spec);
    static const uint64_t cases[][2] = {{1, 1},
                                        {3, 4},
                                        {4096, 4096},
                                        {4097, 8192},
                                        {33000000000ULL, 1ULL << 35},
                                        {35000000000ULL, 1ULL << 36}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        vs_block block;
        ck_assert_int_eq(vs_pool_alloc(pool, cases[i][0], VS_TAG_OPTIMIZER, &block), VS_POOL_OK);
        ck_assert_uint_eq(vs_pool_stats(pool).allocated_bytes, cases[i][1]);
        vs_pool_release_block(pool, block);
    }
    vs_pool_free(pool);
}
END_TEST

START_TEST(test_zero_and_bad_handles) {
    struct vs_pool *pool = bump_pool(100, 1);
    vs_block block = 7, one;
    ck_assert_int_eq(vs_pool_alloc(pool, 0, VS_TAG_KV, &block), VS_POOL_OK);
    ck_assert_uint_eq(block, 0);
    ck_assert_int_eq(vs_pool_alloc_raw(pool, 0, VS_TAG_KV, &block), VS_POOL_OK);
    ck_assert_uint_eq(block, 0);
    ck_assert_int_eq(vs_pool_alloc_managed(pool, 0, VS_TAG_KV, &block), VS_POOL_OK);
    ck_assert_uint_eq(block, 0);
    vs_pool_release_block(pool, 0);
    vs_pool_release_block(pool, 5);
    vs_pool_release_block(pool, UINT32_MAX);
    ck_assert_int_eq(vs_pool_alloc(pool, 10, VS_TAG_KV, &one), VS_POOL_OK);
    ck_assert_uint_ne(one, 0);
    vs_pool_release_block(pool, one);
    vs_pool_release_block(pool, one); /* twice */
    ck_assert_uint_eq(vs_pool_stats(pool).allocated_bytes, 0);
    uint64_t in = 1, out = 1;
    vs_pool_touch(pool, one, VS_TOUCH_FRONT, 1, &in, &out);
    ck_assert_uint_eq(in + out, 0);
    vs_pool_free(pool);
}
END_TEST

/* An unknown tag counts as other. */
START_TEST(test_unknown_tag) {
    struct vs_pool *pool = bump_pool(100, 1);
    vs_block block;
    ck_assert_int_eq(vs_pool_alloc(pool, 10, VS_TAG_COUNT, &block), VS_POOL_OK);
    ck_assert_uint_eq(vs_pool_stats(pool).by_tag[VS_TAG_OTHER], 10);
    ck_assert_str_eq(vs_tag_name(VS_TAG_COUNT), "other");
    vs_pool_free(pool);
}
END_TEST

/* Weights 60 and kv 30 are held: 90. The kv goes, activations of 20 come: 80. So by_tag_at_peak
 * keeps 60 + 30, while the tags' own peaks are 60, 30 and 20. */
START_TEST(test_peaks_by_tag) {
    struct vs_pool *pool = bump_pool(100, 1);
    vs_block weights, kv, act;
    ck_assert_int_eq(vs_pool_alloc(pool, 60, VS_TAG_WEIGHTS, &weights), VS_POOL_OK);
    ck_assert_int_eq(vs_pool_alloc(pool, 30, VS_TAG_KV, &kv), VS_POOL_OK);
    ck_assert_uint_eq(vs_pool_stats(pool).by_tag_at_peak[VS_TAG_KV], 30);
    vs_pool_release_block(pool, kv);
    ck_assert_int_eq(vs_pool_alloc(pool, 20, VS_TAG_ACTIVATIONS, &act), VS_POOL_OK);
    struct vs_pool_stats stats = vs_pool_stats(pool);
    ck_assert_uint_eq(stats.peak_allocated_bytes, 90);
    ck_assert_uint_eq(stats.by_tag_at_peak[VS_TAG_WEIGHTS], 60);
    ck_assert_uint_eq(stats.by_tag_at_peak[VS_TAG_KV], 30);
    ck_assert_uint_eq(stats.by_tag_at_peak[VS_TAG_ACTIVATIONS], 0);
    ck_assert_uint_eq(stats.by_tag[VS_TAG_KV], 0);
    ck_assert_uint_eq(stats.peak_by_tag[VS_TAG_KV], 30);
    ck_assert_uint_eq(stats.peak_by_tag[VS_TAG_ACTIVATIONS], 20);
    vs_pool_free(pool);
}
END_TEST

/* A context of 10 past the allocator and a block of 50: the driver shows 60, the allocator
 * holds 50. */
START_TEST(test_raw) {
    struct vs_pool *pool = bump_pool(100, 8);
    vs_block context, block;
    ck_assert_int_eq(vs_pool_alloc_raw(pool, 10, VS_TAG_CONTEXT, &context), VS_POOL_OK);
    ck_assert_int_eq(vs_pool_alloc(pool, 50, VS_TAG_KV, &block), VS_POOL_OK);
    struct vs_pool_stats stats = vs_pool_stats(pool);
    ck_assert_uint_eq(stats.raw_bytes, 10); /* granularity is the allocator's */
    ck_assert_uint_eq(stats.allocated_bytes, 56);
    ck_assert_uint_eq(stats.peak_used_bytes, 66);
    ck_assert_uint_eq(stats.by_tag_at_peak[VS_TAG_CONTEXT], 10);
    vs_pool_release_block(pool, context);
    stats = vs_pool_stats(pool);
    ck_assert_uint_eq(stats.raw_bytes, 0);
    ck_assert_uint_eq(stats.by_tag[VS_TAG_CONTEXT], 0);
    vs_pool_free(pool);
}
END_TEST

/* 100 B: 10 of context, 64 of weights, then 40 more: 14 short. Only the first failure counts. */
START_TEST(test_oom_record) {
    struct vs_pool *pool = bump_pool(100, 8);
    vs_block context, weights, kv, more;
    ck_assert_int_eq(vs_pool_alloc_raw(pool, 10, VS_TAG_CONTEXT, &context), VS_POOL_OK);
    ck_assert_int_eq(vs_pool_alloc(pool, 60, VS_TAG_WEIGHTS, &weights), VS_POOL_OK);
    ck_assert_ptr_null(vs_pool_oom(pool));
    ck_assert_int_eq(vs_pool_alloc(pool, 39, VS_TAG_KV, &kv), VS_POOL_OOM);
    ck_assert_uint_ne(kv, 0); /* served nevertheless */
    ck_assert_int_eq(vs_pool_alloc(pool, 1000, VS_TAG_KV, &more), VS_POOL_OK);
    const struct vs_oom *oom = vs_pool_oom(pool);
    ck_assert_ptr_nonnull(oom);
    ck_assert_str_eq(oom->pool, "gpu0");
    ck_assert_uint_eq(oom->requested_bytes, 39);
    ck_assert_uint_eq(oom->segment_bytes, 40);
    ck_assert_uint_eq(oom->in_use_bytes, 74);
    ck_assert_uint_eq(oom->reserved_free_bytes, 0);
    ck_assert_uint_eq(oom->capacity_bytes, 100);
    ck_assert_uint_eq(oom->short_bytes, 14);
    ck_assert_int_eq((int)oom->tag, VS_TAG_KV);
    ck_assert_uint_eq(oom->by_tag[VS_TAG_CONTEXT], 10);
    ck_assert_uint_eq(oom->by_tag[VS_TAG_WEIGHTS], 64);
    ck_assert_uint_eq(oom->by_tag[VS_TAG_KV], 0);
    ck_assert_uint_eq(vs_pool_stats(pool).peak_used_bytes, 74 + 40 + 1000);
    vs_pool_free(pool);
}
END_TEST

/* Raw requests fail in the same way, and exactly at the capacity they do not. */
START_TEST(test_oom_raw) {
    struct vs_pool *pool = bump_pool(100, 1);
    vs_block a, b;
    ck_assert_int_eq(vs_pool_alloc_raw(pool, 100, VS_TAG_CONTEXT, &a), VS_POOL_OK);
    ck_assert_int_eq(vs_pool_alloc_raw(pool, 1, VS_TAG_COMM, &b), VS_POOL_OOM);
    ck_assert_uint_eq(vs_pool_oom(pool)->short_bytes, 1);
    ck_assert_int_eq((int)vs_pool_oom(pool)->tag, VS_TAG_COMM);
    vs_pool_reset(pool);
    ck_assert_ptr_null(vs_pool_oom(pool));
    ck_assert_uint_eq(vs_pool_stats(pool).peak_used_bytes, 0);
    ck_assert_int_eq(vs_pool_alloc_raw(pool, 101, VS_TAG_CONTEXT, &a), VS_POOL_OOM);
    vs_pool_free(pool);
}
END_TEST

/* Beyond 2^56 bytes nothing is handed out; with a ceiling that is an OOM too. */
START_TEST(test_absurd_sizes) {
    struct vs_pool *finite = bump_pool(100, 1), *endless = bump_pool(UINT64_MAX, UINT64_MAX);
    vs_block block = 9;
    ck_assert_int_eq(vs_pool_alloc(finite, UINT64_MAX, VS_TAG_KV, &block), VS_POOL_NOMEM);
    ck_assert_uint_eq(block, 0);
    ck_assert_uint_eq(vs_pool_oom(finite)->short_bytes, UINT64_MAX - 100);
    ck_assert_int_eq(vs_pool_alloc(endless, UINT64_MAX, VS_TAG_KV, &block), VS_POOL_NOMEM);
    ck_assert_int_eq(vs_pool_alloc_raw(endless, UINT64_MAX, VS_TAG_KV, &block), VS_POOL_NOMEM);
    ck_assert_int_eq(vs_pool_alloc_managed(endless, UINT64_MAX, VS_TAG_KV, &block), VS_POOL_NOMEM);
    ck_assert_ptr_null(vs_pool_oom(endless));
    ck_assert_int_eq(vs_pool_alloc(endless, 5, VS_TAG_KV, &block), VS_POOL_OK);
    ck_assert_int_eq(vs_pool_alloc(endless, VS_POOL_LIMIT_BYTES, VS_TAG_KV, &block), VS_POOL_NOMEM);
    vs_pool_free(finite);
    vs_pool_free(endless);
}
END_TEST

enum { TRACE_OPS = 400, TRACE_SLOTS = 20 };

/* A fixed random sequence on a pool; returns the first operation that failed, or TRACE_OPS.
 * used[i], where used is not NULL, is what the driver shows after operation i. */
static int run_trace(struct vs_pool *pool, uint64_t seed, int raw_at, uint64_t raw_bytes,
                     uint64_t *used) {
    vs_block held[TRACE_SLOTS] = {0};
    int failed_at = TRACE_OPS;
    for (int i = 0; i < TRACE_OPS; i++) {
        size_t slot = next_random(&seed) % TRACE_SLOTS;
        uint64_t bytes = 1 + next_random(&seed) % 1000;
        vs_block extra;
        enum vs_pool_result result = VS_POOL_OK;
        if (i == raw_at)
            result = vs_pool_alloc_raw(pool, raw_bytes, VS_TAG_OTHER, &extra);
        vs_pool_release_block(pool, held[slot]);
        if (result == VS_POOL_OK)
            result = vs_pool_alloc(pool, bytes, (enum vs_tag)(i % VS_TAG_COUNT), &held[slot]);
        if (result != VS_POOL_OK && failed_at == TRACE_OPS)
            failed_at = i;
        if (result != VS_POOL_OK)
            break;
        if (used != NULL)
            used[i] = vs_driver_used(pool);
    }
    return failed_at;
}

/* Any plan that fits into a bump pool fits into a larger one; and it fails at the first operation
 * after which it would hold more than the capacity. */
START_TEST(test_bump_monotone) {
    for (uint64_t seed = 1; seed <= 20; seed++) {
        uint64_t used[TRACE_OPS];
        struct vs_pool *endless = bump_pool(UINT64_MAX, 16);
        ck_assert_int_eq(run_trace(endless, seed, -1, 0, used), TRACE_OPS);
        vs_pool_free(endless);
        int last = 0;
        for (uint64_t capacity = 1000; capacity <= 20000; capacity += 500) {
            struct vs_pool *pool = bump_pool(capacity, 16);
            int failed_at = run_trace(pool, seed, -1, 0, NULL);
            int expected = 0;
            while (expected < TRACE_OPS && used[expected] <= capacity)
                expected++;
            ck_assert_int_eq(failed_at, expected);
            ck_assert_int_ge(failed_at, last);
            last = failed_at;
            vs_pool_free(pool);
        }
    }
}
END_TEST

/* Someone else takes part of the memory midway: the failure comes where what was used and what was
 * taken first exceed the capacity, not before. */
START_TEST(test_smaller_midway) {
    for (uint64_t seed = 1; seed <= 20; seed++) {
        uint64_t used[TRACE_OPS], peak = 0;
        struct vs_pool *endless = bump_pool(UINT64_MAX, 16);
        run_trace(endless, seed, -1, 0, used);
        vs_pool_free(endless);
        for (int i = 0; i < TRACE_OPS; i++)
            peak = used[i] > peak ? used[i] : peak;
        uint64_t stolen = peak / 4;
        struct vs_pool *pool = bump_pool(peak, 16);
        int expected = TRACE_OPS / 2;
        if (used[expected - 1] + stolen <= peak)
            while (expected < TRACE_OPS && used[expected] + stolen <= peak)
                expected++;
        ck_assert_int_eq(run_trace(pool, seed, TRACE_OPS / 2, stolen, NULL), expected);
        ck_assert_int_eq(vs_pool_oom(pool) != NULL, expected < TRACE_OPS);
        vs_pool_free(pool);
    }
}
END_TEST

static uint64_t tag_sum(const struct vs_pool_stats *stats) {
    uint64_t sum = 0;
    for (int i = 0; i < VS_TAG_COUNT; i++)
        sum += stats->by_tag[i];
    return sum;
}

/* Bytes are conserved: the tags add up to what is held, and all is returned at the end. */
START_TEST(test_conserved) {
    struct vs_pool *pool = bump_pool(UINT64_MAX, 64);
    uint64_t empty_state = vs_pool_state(pool), seed = 7;
    vs_block held[50] = {0};
    for (int i = 0; i < 5000; i++) {
        size_t slot = next_random(&seed) % 50;
        vs_pool_release_block(pool, held[slot]);
        uint64_t bytes = next_random(&seed) % 3000;
        enum vs_tag tag = (enum vs_tag)(next_random(&seed) % VS_TAG_COUNT);
        if (slot % 2 == 0)
            vs_pool_alloc(pool, bytes, tag, &held[slot]);
        else
            vs_pool_alloc_raw(pool, bytes, tag, &held[slot]);
        struct vs_pool_stats stats = vs_pool_stats(pool);
        ck_assert_uint_eq(tag_sum(&stats), stats.allocated_bytes + stats.raw_bytes);
        ck_assert_uint_eq(stats.reserved_bytes, stats.allocated_bytes);
        ck_assert_uint_le(stats.requested_bytes, stats.allocated_bytes);
        ck_assert_uint_ge(stats.peak_used_bytes, stats.reserved_bytes + stats.raw_bytes);
    }
    for (size_t i = 0; i < 50; i++)
        vs_pool_release_block(pool, held[i]);
    struct vs_pool_stats stats = vs_pool_stats(pool);
    ck_assert_uint_eq(tag_sum(&stats), 0);
    ck_assert_uint_eq(stats.allocated_bytes + stats.raw_bytes + stats.requested_bytes, 0);
    ck_assert_uint_eq(vs_pool_state(pool), empty_state);
    vs_pool_free(pool);
}
END_TEST

/* Equal sets of blocks give equal numbers, whatever the order; two equal blocks differ from none, a
 * raw block from an ordinary one, a lifted ceiling from one that holds. */
START_TEST(test_state) {
    struct vs_pool *one = bump_pool(100, 1), *two = bump_pool(100, 1);
    vs_block a, b, c;
    ck_assert_uint_eq(vs_pool_state(one), vs_pool_state(two));
    uint64_t empty_state = vs_pool_state(one);
    vs_pool_alloc(one, 10, VS_TAG_KV, &a);
    vs_pool_alloc(one, 20, VS_TAG_KV, &b);
    vs_pool_alloc(two, 20, VS_TAG_WEIGHTS, &a);
    ck_assert_uint_ne(vs_pool_state(one), vs_pool_state(two));
    vs_pool_alloc(two, 10, VS_TAG_WEIGHTS, &b);
    ck_assert_uint_eq(vs_pool_state(one), vs_pool_state(two));
    vs_pool_reset(one);
    ck_assert_uint_eq(vs_pool_state(one), empty_state);
    vs_pool_alloc(one, 10, VS_TAG_KV, &a);
    uint64_t ordinary = vs_pool_state(one);
    vs_pool_alloc(one, 10, VS_TAG_KV, &b);
    ck_assert_uint_ne(vs_pool_state(one), empty_state);
    vs_pool_reset(one);
    vs_pool_alloc_raw(one, 10, VS_TAG_KV, &a);
    ck_assert_uint_ne(vs_pool_state(one), ordinary);
    vs_pool_alloc(one, 1000, VS_TAG_KV, &c);
    vs_pool_release_block(one, a);
    vs_pool_release_block(one, c);
    ck_assert_uint_ne(vs_pool_state(one), empty_state);
    vs_pool_free(one);
    vs_pool_free(two);
}
END_TEST

/* The block table cannot grow: nothing is handed out and nothing has changed; later it works again.
 */
START_TEST(test_process_out_of_memory) {
    struct vs_pool *pool = bump_pool(UINT64_MAX, 1);
    vs_block block;
    pool->growths_left = 1;
    int handed_out = 0;
    while (vs_pool_alloc(pool, 1, VS_TAG_KV, &block) == VS_POOL_OK)
        handed_out++;
    ck_assert_int_gt(handed_out, 0);
    ck_assert_uint_eq(block, 0);
    ck_assert_int_eq(vs_pool_alloc_raw(pool, 1, VS_TAG_KV, &block), VS_POOL_NOMEM);
    ck_assert_int_eq(vs_pool_alloc_managed(pool, 1, VS_TAG_KV, &block), VS_POOL_NOMEM);
    ck_assert_uint_eq(vs_pool_stats(pool).allocated_bytes, (uint64_t)handed_out);
    ck_assert_uint_eq(vs_pool_stats(pool).raw_bytes, 0);
    ck_assert_ptr_null(vs_pool_oom(pool));
    vs_pool_release_block(pool, 1); /* a slot is free again */
    ck_assert_int_eq(vs_pool_alloc(pool, 1, VS_TAG_KV, &block), VS_POOL_OK);
    pool->growths_left = UINT32_MAX;
    ck_assert_int_eq(vs_pool_alloc(pool, 1, VS_TAG_KV, &block), VS_POOL_OK);
    vs_pool_free(pool);
}
END_TEST

static Suite *memory_suite(void) {
    Suite *suite = suite_create("memory");
    TCase *tcase = tcase_create("pool");
    tcase_add_test(tcase, test_names);
    tcase_add_test(tcase, test_bump_granularity);
    tcase_add_test(tcase, test_bump_odd_granularity);
    tcase_add_test(tcase, test_bump_power_of_two);
    tcase_add_test(tcase, test_zero_and_bad_handles);
    tcase_add_test(tcase, test_unknown_tag);
    tcase_add_test(tcase, test_peaks_by_tag);
    tcase_add_test(tcase, test_raw);
    tcase_add_test(tcase, test_oom_record);
    tcase_add_test(tcase, test_oom_raw);
    tcase_add_test(tcase, test_absurd_sizes);
    tcase_add_test(tcase, test_bump_monotone);
    tcase_add_test(tcase, test_smaller_midway);
    tcase_add_test(tcase, test_conserved);
    tcase_add_test(tcase, test_state);
    tcase_add_test(tcase, test_process_out_of_memory);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void) { return run_suite(memory_suite()); }
