/* Managed memory: 2 MiB pages, LRU, a backing pool. */
#include <check.h>

#include "memory_helpers.h"

#define PAGE VS_MANAGED_PAGE_BYTES

static struct vs_pool *new_pool(const char *name, uint64_t pages, struct vs_pool *backing) {
    const struct vs_pool_spec spec = {
        .name = name,
        .capacity_bytes = pages == UINT64_MAX ? UINT64_MAX : pages * PAGE,
        .allocator = VS_ALLOC_BUMP,
        .backing = backing,
    };
    struct vs_pool *pool = vs_pool_new(&spec);
    ck_assert_ptr_nonnull(pool);
    return pool;
}

static vs_block new_managed(struct vs_pool *pool, uint64_t pages) {
    vs_block block;
    ck_assert_int_eq(vs_pool_alloc_managed(pool, pages * PAGE, VS_TAG_OPTIMIZER, &block),
                     VS_POOL_OK);
    return block;
}

/* Touches a part, or all, and checks how many pages came and went. */
static void touch_part(struct vs_pool *pool, vs_block block, enum vs_touch how, uint64_t pages,
                       uint64_t in, uint64_t out) {
    uint64_t in_bytes, out_bytes;
    vs_pool_touch(pool, block, how, pages * PAGE, &in_bytes, &out_bytes);
    ck_assert_uint_eq(in_bytes, in * PAGE);
    ck_assert_uint_eq(out_bytes, out * PAGE);
}

static void touch(struct vs_pool *pool, vs_block block, uint64_t in, uint64_t out) {
    uint64_t in_bytes, out_bytes;
    vs_pool_touch(pool, block, VS_TOUCH_FRONT, UINT64_MAX, &in_bytes, &out_bytes);
    ck_assert_uint_eq(in_bytes, in * PAGE);
    ck_assert_uint_eq(out_bytes, out * PAGE);
}

/* 5 MiB are 3 pages. They count in host memory until the first touch, which copies nothing: there
 * is nothing in them yet. */
START_TEST(test_first_touch) {
    struct vs_pool *host = new_pool("host", 100, NULL), *gpu = new_pool("gpu0", 10, host);
    vs_block block;
    ck_assert_int_eq(vs_pool_alloc_managed(gpu, 5 << 20, VS_TAG_OPTIMIZER, &block), VS_POOL_OK);
    ck_assert_uint_eq(vs_pool_stats(gpu).raw_bytes, 0);
    ck_assert_uint_eq(vs_pool_stats(host).raw_bytes, 3 * PAGE);
    ck_assert_uint_eq(vs_pool_stats(host).by_tag[VS_TAG_OPTIMIZER], 3 * PAGE);
    touch(gpu, block, 0, 0);
    touch(gpu, block, 0, 0);
    struct vs_pool_stats stats = vs_pool_stats(gpu);
    ck_assert_uint_eq(stats.raw_bytes, 3 * PAGE);
    ck_assert_uint_eq(stats.managed_bytes, 3 * PAGE);
    ck_assert_uint_eq(stats.by_tag[VS_TAG_OPTIMIZER], 3 * PAGE);
    ck_assert_uint_eq(stats.migrated_in_bytes, 0);
    ck_assert_uint_eq(vs_pool_stats(host).raw_bytes, 0);
    vs_pool_touch(gpu, block, VS_TOUCH_FRONT, UINT64_MAX, NULL, NULL);
    vs_pool_release_block(gpu, block);
    ck_assert_uint_eq(vs_pool_stats(gpu).raw_bytes, 0);
    ck_assert_uint_eq(vs_pool_stats(gpu).managed_bytes, 0);
    ck_assert_uint_eq(vs_pool_stats(host).raw_bytes, 0);
    vs_pool_free(gpu);
    vs_pool_free(host);
}
END_TEST

/* Ten pages of GPU, A, B and C of four each. C pushes out the two oldest, which are A's; then A
 * comes whole again: while its first two pages come, LRU takes its own last two, and then two of B.
 */
START_TEST(test_lru) {
    struct vs_pool *host = new_pool("host", 100, NULL), *gpu = new_pool("gpu0", 10, host);
    vs_block a = new_managed(gpu, 4), b = new_managed(gpu, 4), c = new_managed(gpu, 4);
    touch(gpu, a, 0, 0);
    touch(gpu, b, 0, 0);
    touch(gpu, c, 0, 2);
    ck_assert_uint_eq(vs_pool_stats(host).raw_bytes, 2 * PAGE);
    touch(gpu, a, 4, 4);
    touch(gpu, c, 0, 0);
    touch(gpu, b, 4, 4); /* its own two, and A's two oldest */
    touch(gpu, c, 0, 0);
    ck_assert_uint_eq(vs_pool_stats(gpu).raw_bytes, 10 * PAGE);
    ck_assert_uint_eq(vs_pool_stats(host).raw_bytes, 2 * PAGE);
    ck_assert_uint_eq(vs_pool_stats(gpu).migrated_in_bytes, 8 * PAGE);
    ck_assert_uint_eq(vs_pool_stats(gpu).migrated_out_bytes, 10 * PAGE);
    vs_pool_free(gpu);
    vs_pool_free(host);
}
END_TEST

/* A block of 12 in a pool of 8 streams: all 12 pages come at each touch but the first, and as many
 * go; 4 go at the first. */
START_TEST(test_larger_than_memory) {
    struct vs_pool *host = new_pool("host", 100, NULL), *gpu = new_pool("gpu0", 8, host);
    vs_block a = new_managed(gpu, 12);
    touch(gpu, a, 0, 4);
    ck_assert_uint_eq(vs_pool_stats(host).raw_bytes, 4 * PAGE);
    touch(gpu, a, 12, 12);
    touch(gpu, a, 12, 12);
    ck_assert_uint_eq(vs_pool_stats(gpu).managed_bytes, 8 * PAGE);
    vs_pool_free(gpu);
    vs_pool_free(host);
}
END_TEST

/* No room for even one page: each goes through. */
START_TEST(test_no_room_at_all) {
    struct vs_pool *host = new_pool("host", 100, NULL), *gpu = new_pool("gpu0", 3, host);
    vs_block weights, a = new_managed(gpu, 2);
    ck_assert_int_eq(vs_pool_alloc(gpu, 3 * PAGE - 1, VS_TAG_WEIGHTS, &weights), VS_POOL_OK);
    touch(gpu, a, 0, 2);
    touch(gpu, a, 2, 2);
    ck_assert_uint_eq(vs_pool_stats(gpu).managed_bytes, 0);
    ck_assert_uint_eq(vs_pool_stats(host).raw_bytes, 2 * PAGE);
    ck_assert_ptr_null(vs_pool_oom(gpu));
    vs_pool_free(gpu);
    vs_pool_free(host);
}
END_TEST

/* Ordinary requests push pages out: 8 of 10 pages are managed, 4.5 more are wanted: 3 leave. When
 * all have left and it still does not fit, that is an OOM, whose record no longer shows managed
 * pages. */
START_TEST(test_ordinary_requests) {
    struct vs_pool *host = new_pool("host", 100, NULL), *gpu = new_pool("gpu0", 10, host);
    vs_block a = new_managed(gpu, 8), act, more, raw;
    touch(gpu, a, 0, 0);
    ck_assert_int_eq(vs_pool_alloc(gpu, 4 * PAGE + PAGE / 2, VS_TAG_ACTIVATIONS, &act), VS_POOL_OK);
    ck_assert_uint_eq(vs_pool_stats(gpu).managed_bytes, 5 * PAGE);
    ck_assert_uint_eq(vs_pool_take_evicted(gpu), 3 * PAGE);
    ck_assert_uint_eq(vs_pool_take_evicted(gpu), 0);
    ck_assert_int_eq(vs_pool_alloc_raw(gpu, PAGE, VS_TAG_COMM, &raw), VS_POOL_OK);
    ck_assert_uint_eq(vs_pool_take_evicted(gpu), PAGE);
    ck_assert_int_eq(vs_pool_alloc(gpu, 5 * PAGE, VS_TAG_ACTIVATIONS, &more), VS_POOL_OOM);
    ck_assert_uint_eq(vs_pool_take_evicted(gpu), 4 * PAGE);
    const struct vs_oom *oom = vs_pool_oom(gpu);
    ck_assert_uint_eq(oom->in_use_bytes, 5 * PAGE + PAGE / 2);
    ck_assert_uint_eq(oom->short_bytes, PAGE / 2);
    ck_assert_uint_eq(vs_pool_stats(gpu).migrated_out_bytes, 8 * PAGE);
    ck_assert_uint_eq(vs_pool_stats(host).raw_bytes, 8 * PAGE);
    touch(gpu, a, 8, 0); /* no ceiling any more */
    vs_pool_free(gpu);
    vs_pool_free(host);
}
END_TEST

/* The caching allocator's segments push pages out before its cache is emptied. */
START_TEST(test_caching_segments) {
    struct vs_pool *host = new_pool("host", 100, NULL);
    const struct vs_pool_spec spec = {.name = "gpu0",
                                      .capacity_bytes = 40 * PAGE,
                                      .allocator = VS_ALLOC_CACHING,
                                      .backing = host};
    struct vs_pool *gpu = vs_pool_new(&spec);
    vs_block cached, act, a = new_managed(gpu, 8);
    ck_assert_int_eq(vs_pool_alloc(gpu, 10 * PAGE, VS_TAG_KV, &cached), VS_POOL_OK);
    vs_pool_release_block(gpu, cached);
    touch(gpu, a, 0, 0);
    ck_assert_int_eq(vs_pool_alloc(gpu, 26 * PAGE, VS_TAG_ACTIVATIONS, &act), VS_POOL_OK);
    ck_assert_uint_eq(vs_pool_take_evicted(gpu), 4 * PAGE);
    ck_assert_uint_eq(vs_pool_stats(gpu).retries, 0);
    ck_assert_uint_eq(vs_pool_stats(gpu).reserved_bytes, 36 * PAGE);
    vs_pool_free(gpu);
    vs_pool_free(host);
}
END_TEST

/* Host memory of four pages holds a block of four; another does not fit, and the record is the
 * host's. */
START_TEST(test_backing_oom) {
    struct vs_pool *host = new_pool("host", 4, NULL), *gpu = new_pool("gpu0", 6, host);
    vs_block a = new_managed(gpu, 4), b;
    touch(gpu, a, 0, 0);
    b = new_managed(gpu, 4);
    touch(gpu, b, 0, 2); /* two of A take the place that B left */
    ck_assert_ptr_null(vs_pool_oom(gpu));
    vs_block c;
    ck_assert_int_eq(vs_pool_alloc_managed(gpu, 3 * PAGE, VS_TAG_OPTIMIZER, &c), VS_POOL_OOM);
    ck_assert_str_eq(vs_pool_oom(gpu)->pool, "host");
    ck_assert_uint_eq(vs_pool_oom(gpu)->short_bytes, PAGE);
    ck_assert_ptr_eq(vs_pool_oom(gpu), vs_pool_oom(host));
    vs_pool_free(gpu);
    vs_pool_free(host);
}
END_TEST

/* An ordinary request makes pages leave for a host without room: the request is served, the host
 * says so. */
START_TEST(test_eviction_overflows_backing) {
    struct vs_pool *host = new_pool("host", 4, NULL), *gpu = new_pool("gpu0", 4, host);
    vs_block a = new_managed(gpu, 4), on_host, act;
    touch(gpu, a, 0, 0);
    ck_assert_int_eq(vs_pool_alloc(host, 3 * PAGE, VS_TAG_WEIGHTS, &on_host), VS_POOL_OK);
    ck_assert_int_eq(vs_pool_alloc(gpu, 2 * PAGE, VS_TAG_ACTIVATIONS, &act), VS_POOL_OK);
    ck_assert_str_eq(vs_pool_oom(gpu)->pool, "host");
    vs_pool_reset(host);
    vs_pool_reset(gpu);
    ck_assert_ptr_null(vs_pool_oom(gpu));
    vs_pool_free(gpu);
    vs_pool_free(host);
}
END_TEST

/* A request that the backing pool cannot even count is its failure. */
START_TEST(test_backing_absurd) {
    struct vs_pool *host = new_pool("host", 4, NULL), *gpu = new_pool("gpu0", 6, host);
    vs_block block = 9;
    ck_assert_int_eq(vs_pool_alloc_managed(gpu, UINT64_MAX, VS_TAG_KV, &block), VS_POOL_NOMEM);
    ck_assert_uint_eq(block, 0);
    ck_assert_str_eq(vs_pool_oom(gpu)->pool, "host");
    vs_pool_free(gpu);
    vs_pool_free(host);
}
END_TEST

/* Without a backing pool it is raw memory in whole pages. */
START_TEST(test_no_backing) {
    struct vs_pool *gpu = new_pool("gpu0", 4, NULL);
    vs_block a, b;
    ck_assert_int_eq(vs_pool_alloc_managed(gpu, 3 * PAGE - 1, VS_TAG_KV, &a), VS_POOL_OK);
    ck_assert_uint_eq(vs_pool_stats(gpu).raw_bytes, 3 * PAGE);
    touch(gpu, a, 0, 0);
    ck_assert_int_eq(vs_pool_alloc_managed(gpu, 2 * PAGE, VS_TAG_KV, &b), VS_POOL_OOM);
    ck_assert_uint_eq(vs_pool_oom(gpu)->short_bytes, PAGE);
    vs_pool_release_block(gpu, a);
    vs_pool_release_block(gpu, b);
    ck_assert_uint_eq(vs_pool_stats(gpu).raw_bytes, 0);
    vs_pool_free(gpu);
}
END_TEST

/* Pools are reset in either order; the host forgets its guests, or gets them taken back. */
START_TEST(test_reset_order) {
    struct vs_pool *host = new_pool("host", 100, NULL), *gpu = new_pool("gpu0", 10, host);
    uint64_t host_state = vs_pool_state(host), gpu_state = vs_pool_state(gpu);
    for (int order = 0; order < 2; order++) {
        touch(gpu, new_managed(gpu, 12), 0, 2);
        ck_assert_uint_eq(vs_pool_stats(host).raw_bytes, 2 * PAGE);
        ck_assert_uint_ne(vs_pool_state(host), host_state);
        vs_pool_reset(order == 0 ? host : gpu);
        ck_assert_uint_eq(vs_pool_stats(host).raw_bytes, 0);
        vs_pool_reset(order == 0 ? gpu : host);
        ck_assert_uint_eq(vs_pool_stats(host).raw_bytes, 0);
        ck_assert_uint_eq(vs_pool_state(host), host_state);
        ck_assert_uint_eq(vs_pool_state(gpu), gpu_state);
    }
    vs_block a = new_managed(gpu, 4);
    vs_pool_reset(host); /* under the GPU's feet: it moves pages of which the host knows nothing */
    touch(gpu, a, 0, 0);
    vs_pool_release_block(gpu, a);
    ck_assert_uint_eq(vs_pool_stats(host).raw_bytes, 0);
    touch(gpu, new_managed(gpu, 12), 0, 2);
    ck_assert_uint_eq(vs_pool_stats(host).raw_bytes, 2 * PAGE);
    vs_pool_free(gpu);
    ck_assert_uint_eq(vs_pool_stats(host).raw_bytes, 0);
    vs_pool_free(host);
}
END_TEST

/* Which pages are here, and the order of last use are part of the state. */
START_TEST(test_state) {
    struct vs_pool *host = new_pool("host", 100, NULL), *gpu = new_pool("gpu0", 10, host);
    uint64_t empty_state = vs_pool_state(gpu);
    vs_block a = new_managed(gpu, 2), b = new_managed(gpu, 2);
    uint64_t absent = vs_pool_state(gpu);
    touch(gpu, a, 0, 0);
    uint64_t one_here = vs_pool_state(gpu);
    touch(gpu, b, 0, 0);
    uint64_t ab = vs_pool_state(gpu);
    touch(gpu, a, 0, 0);
    uint64_t ba = vs_pool_state(gpu);
    ck_assert_uint_ne(absent, empty_state);
    ck_assert_uint_ne(absent, one_here);
    ck_assert_uint_ne(one_here, ab);
    ck_assert_uint_ne(ab, ba);
    touch(gpu, b, 0, 0);
    ck_assert_uint_eq(vs_pool_state(gpu), ab);
    vs_pool_release_block(gpu, a);
    vs_pool_release_block(gpu, b);
    ck_assert_uint_eq(vs_pool_state(gpu), empty_state);
    vs_pool_free(gpu);
    vs_pool_free(host);
}
END_TEST

/* A cache of 8 pages that fills: its first pages are touched, more each time, and the pages behind
 * them never take a place. */
START_TEST(test_front) {
    struct vs_pool *host = new_pool("host", 100, NULL), *gpu = new_pool("gpu0", 6, host);
    vs_block cache = new_managed(gpu, 8), weights = new_managed(gpu, 3);
    touch_part(gpu, cache, VS_TOUCH_FRONT, 2, 0, 0);
    touch(gpu, weights, 0, 0);
    touch_part(gpu, cache, VS_TOUCH_FRONT, 3, 0, 0);
    ck_assert_uint_eq(vs_pool_stats(gpu).managed_bytes, 6 * PAGE);
    touch_part(gpu, cache, VS_TOUCH_FRONT, 4, 0, 1); /* the new page takes one of the weights' */
    touch(gpu, weights, 3, 3);                       /* two of its own, and one of the cache's */
    touch_part(gpu, cache, VS_TOUCH_FRONT, 4, 4, 4);
    ck_assert_uint_eq(vs_pool_stats(host).raw_bytes, (11 - 6) * PAGE);
    vs_pool_free(gpu);
    vs_pool_free(host);
}
END_TEST

/* A block of 100 pages, 50 of which are here: of 10 that are drawn 5 are absent. In their place go
 * the oldest, which are its own. */
START_TEST(test_spread) {
    struct vs_pool *host = new_pool("host", 1000, NULL), *gpu = new_pool("gpu0", 50, host);
    vs_block experts = new_managed(gpu, 100);
    touch(gpu, experts, 0, 50);
    for (int i = 0; i < 3; i++)
        touch_part(gpu, experts, VS_TOUCH_SPREAD, 10, 5, 5);
    touch_part(gpu, experts, VS_TOUCH_SPREAD, 0, 0, 0);
    touch_part(gpu, experts, VS_TOUCH_SPREAD, 100, 50, 50); /* drawing all is no front: no thrash */
    ck_assert_uint_eq(vs_pool_stats(gpu).managed_bytes, 50 * PAGE);
    ck_assert_uint_eq(vs_pool_stats(host).raw_bytes, 50 * PAGE);
    vs_pool_free(gpu);
    vs_pool_free(host);
}
END_TEST

/* Two blocks of 100 pages drawn from in turn, where 100 fit, beside one of 5 that is used in each
 * round: it stays. Of the 200 half are absent, so 10 of 20 that are drawn come, in whichever block.
 */
START_TEST(test_spread_in_turn) {
    struct vs_pool *host = new_pool("host", 1000, NULL), *gpu = new_pool("gpu0", 105, host);
    vs_block a = new_managed(gpu, 100), b = new_managed(gpu, 100), always = new_managed(gpu, 5);
    touch(gpu, a, 0, 0);
    touch(gpu, b, 0, 95);
    touch(gpu, always, 0, 5);
    uint64_t before = vs_pool_stats(gpu).migrated_in_bytes;
    for (int i = 0; i < 100; i++) {
        vs_pool_touch(gpu, a, VS_TOUCH_SPREAD, 10 * PAGE, NULL, NULL);
        vs_pool_touch(gpu, b, VS_TOUCH_SPREAD, 10 * PAGE, NULL, NULL);
        touch(gpu, always, 0, 0);
    }
    uint64_t came = (vs_pool_stats(gpu).migrated_in_bytes - before) / PAGE;
    ck_assert_uint_ge(came, 990);
    ck_assert_uint_le(came, 1000 + 100); /* while one block brings pages the other has lost some */
    vs_pool_free(gpu);
    vs_pool_free(host);
}
END_TEST

/* Page by page, as the words in the header say it. */
enum { PAGES = 8, BLOCKS = 6, OPS = 3000 };
struct page {
    bool resident, populated;
    uint64_t used_at;
};
struct reference {
    struct page pages[BLOCKS][PAGES];
    uint64_t size[BLOCKS]; /* pages; 0 = not allocated */
    uint64_t frames, clock;
};

/* The page used longest ago, or NULL; *resident counts them all. */
static struct page *oldest_page(struct reference *ref, uint64_t *resident) {
    struct page *oldest = NULL;
    *resident = 0;
    for (int i = 0; i < BLOCKS; i++) {
        for (uint64_t j = 0; j < ref->size[i]; j++) {
            struct page *page = &ref->pages[i][j];
            if (!page->resident)
                continue;
            ++*resident;
            if (oldest == NULL || page->used_at < oldest->used_at)
                oldest = page;
        }
    }
    return oldest;
}

/* Pushes out until `frames` are enough for all and one more; returns whether they are. */
static bool reference_shrink(struct reference *ref, uint64_t wanted, uint64_t *out) {
    for (;;) {
        uint64_t resident;
        struct page *page = oldest_page(ref, &resident);
        if (resident + wanted <= ref->frames)
            return true;
        if (page == NULL)
            return false;
        ++*out;
        page->resident = false;
    }
}

static void reference_touch(struct reference *ref, int block, uint64_t pages, uint64_t *in,
                            uint64_t *out) {
    for (uint64_t j = 0; j < ref->size[block] && j < pages; j++) {
        struct page *page = &ref->pages[block][j];
        if (!page->resident) {
            *in += page->populated;
            page->resident = reference_shrink(ref, 1, out);
            *out += !page->resident;
        }
        page->populated = true;
        page->used_at = ++ref->clock;
    }
}

static void compare(const struct vs_pool *gpu, const struct vs_pool *host, struct reference *ref) {
    uint64_t resident, total = 0;
    oldest_page(ref, &resident);
    for (int i = 0; i < BLOCKS; i++)
        total += ref->size[i];
    ck_assert_uint_eq(vs_pool_stats(gpu).managed_bytes, resident * PAGE);
    ck_assert_uint_eq(vs_pool_stats(host).raw_bytes, (total - resident) * PAGE);
}

START_TEST(test_against_reference) {
    uint64_t seed = 11 + (uint64_t)_i, capacity = 2 + (uint64_t)_i * 3;
    struct vs_pool *host = new_pool("host", UINT64_MAX, NULL),
                   *gpu = new_pool("gpu0", capacity, host);
    struct reference ref = {.frames = capacity};
    vs_block blocks[BLOCKS] = {0}, ordinary = 0;
    for (int op = 0; op < OPS; op++) {
        int i = (int)(next_random(&seed) % BLOCKS);
        uint64_t choice = next_random(&seed) % 20, in = 0, out = 0;
        if (ref.size[i] == 0) {
            ref.size[i] = 1 + next_random(&seed) % PAGES;
            for (int j = 0; j < PAGES; j++)
                ref.pages[i][j] = (struct page){.resident = false};
            blocks[i] = new_managed(gpu, ref.size[i]);
        } else if (choice == 0) {
            ref.size[i] = 0;
            vs_pool_release_block(gpu, blocks[i]);
        } else if (choice == 1) {
            vs_pool_release_block(gpu, ordinary);
            uint64_t pages = next_random(&seed) % (capacity + 1);
            ck_assert_int_eq(vs_pool_alloc(gpu, pages * PAGE, VS_TAG_KV, &ordinary), VS_POOL_OK);
            ref.frames = capacity - pages;
            reference_shrink(&ref, 0, &out);
            ck_assert_uint_eq(vs_pool_take_evicted(gpu), out * PAGE);
        } else {
            reference_touch(&ref, i, PAGES, &in, &out);
            touch(gpu, blocks[i], in, out);
        }
        compare(gpu, host, &ref);
    }
    vs_pool_free(gpu);
    ck_assert_uint_eq(vs_pool_stats(host).raw_bytes, 0);
    vs_pool_free(host);
}
END_TEST

static Suite *managed_suite(void) {
    Suite *suite = suite_create("managed");
    TCase *tcase = tcase_create("managed");
    tcase_add_test(tcase, test_first_touch);
    tcase_add_test(tcase, test_lru);
    tcase_add_test(tcase, test_larger_than_memory);
    tcase_add_test(tcase, test_no_room_at_all);
    tcase_add_test(tcase, test_ordinary_requests);
    tcase_add_test(tcase, test_caching_segments);
    tcase_add_test(tcase, test_backing_oom);
    tcase_add_test(tcase, test_eviction_overflows_backing);
    tcase_add_test(tcase, test_backing_absurd);
    tcase_add_test(tcase, test_no_backing);
    tcase_add_test(tcase, test_reset_order);
    tcase_add_test(tcase, test_state);
    tcase_add_test(tcase, test_front);
    tcase_add_test(tcase, test_spread);
    tcase_add_test(tcase, test_spread_in_turn);
    tcase_add_loop_test(tcase, test_against_reference, 0, 10);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void) { return run_suite(managed_suite()); }
