/* The caching allocator against caching_model.h, and laws, on random sequences. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "caching_model.h"
#include "memory/caching.h"
#include "memory_helpers.h"

enum { SLOTS = 60, OPS = 4000 };

struct setting {
    struct vs_pool_spec spec;
    uint64_t largest; /* of the requests */
};
static const struct setting settings[] = {
    {{.capacity_bytes = UINT64_MAX}, 64 * MIB},
    {{.capacity_bytes = 700 * MIB}, 64 * MIB},
    {{.capacity_bytes = 900 * MIB, .max_split_bytes = 32 * MIB}, 90 * MIB},
    {{.capacity_bytes = 900 * MIB,
      .max_split_bytes = 41 * MIB + 512,
      .max_non_split_rounding_bytes = 8 * MIB},
     90 * MIB},
    {{.capacity_bytes = 900 * MIB, .roundup_power2_divisions = 4}, 64 * MIB},
    {{.capacity_bytes = 900 * MIB, .roundup_power2_divisions = 3}, 8 * MIB},
    {{.capacity_bytes = 40 * MIB}, 2 * MIB},
    {{.capacity_bytes = 10 * GIB, .expandable_segments = true}, 64 * MIB},
    {{.capacity_bytes = 700 * MIB, .expandable_segments = true}, 64 * MIB},
    {{.capacity_bytes = 60 * MIB, .expandable_segments = true}, 3 * MIB},
    {{.capacity_bytes = 900 * MIB,
      .expandable_segments = true,
      .max_split_bytes = 40 * MIB,
      .roundup_power2_divisions = 8},
     90 * MIB},
    {{.capacity_bytes = 900 * MIB, .in_flight_blocks = {3, 1, 0}}, 64 * MIB},
    {{.capacity_bytes = 900 * MIB, .expandable_segments = true, .in_flight_blocks = {2, 0, 5}},
     64 * MIB},
};
enum { SETTINGS = sizeof settings / sizeof settings[0] };

/* Few sizes and many ties in one half, any size in the other. */
static uint64_t random_size(uint64_t *seed, uint64_t largest) {
    uint64_t kind = next_random(seed) % 8, r = next_random(seed);
    if (kind < 2)
        return 1 + r % 4096;
    if (kind < 4)
        return (1 + r % 4) * 256 * KIB;
    if (kind < 6)
        return (1 + r % (largest / MIB / 2)) * 2 * MIB;
    return 1 + r % largest;
}

struct pair {
    struct vs_pool *pool;
    struct model *model;
    vs_block blocks[SLOTS], raw;
    uint64_t addresses[SLOTS];
    uint64_t raw_bytes;
};

static void start_pair(struct pair *pair, const struct setting *setting) {
    const struct vs_pool_spec *spec = &setting->spec;
    uint64_t rounding = spec->max_non_split_rounding_bytes;
    memset(pair->model, 0, sizeof *pair->model);
    pair->model->expandable = spec->expandable_segments;
    pair->model->divisions = spec->roundup_power2_divisions;
    pair->model->capacity = spec->capacity_bytes;
    pair->model->max_split = spec->max_split_bytes != 0 ? spec->max_split_bytes : UINT64_MAX;
    pair->model->rounding = rounding != 0 ? rounding : 20 * MIB;
    memcpy(pair->model->in_flight, spec->in_flight_blocks, sizeof pair->model->in_flight);
    vs_pool_reset(pair->pool);
    memset(pair->blocks, 0, sizeof pair->blocks);
    pair->raw = 0;
}

static void release_both(struct pair *pair, size_t slot) {
    if (pair->blocks[slot] != 0)
        model_release(pair->model, pair->addresses[slot]);
    vs_pool_release_block(pair->pool, pair->blocks[slot]);
    pair->blocks[slot] = 0;
}

static void retire_both(struct pair *pair, size_t slot) {
    if (pair->blocks[slot] != 0)
        model_retire(pair->model, pair->addresses[slot]);
    vs_pool_retire(pair->pool, pair->blocks[slot]);
    vs_pool_release_block(pair->pool, pair->blocks[slot]); /* nobody's any more: no effect */
    pair->blocks[slot] = 0;
}

static void check_oom(const struct pair *pair, uint64_t bytes, uint64_t reserved,
                      uint64_t allocated) {
    const struct vs_oom *oom = vs_pool_oom(pair->pool);
    ck_assert_ptr_nonnull(oom);
    ck_assert_uint_eq(oom->requested_bytes, bytes);
    ck_assert_uint_eq(oom->segment_bytes, pair->model->asked);
    ck_assert_uint_eq(oom->in_use_bytes, reserved + pair->model->raw);
    ck_assert_uint_eq(oom->reserved_free_bytes, reserved - allocated);
    ck_assert_uint_eq(oom->short_bytes,
                      oom->segment_bytes + oom->in_use_bytes - oom->capacity_bytes);
}

static enum vs_pool_result alloc_both(struct pair *pair, unsigned stream, size_t slot,
                                      uint64_t bytes) {
    uint64_t address;
    enum vs_pool_result wanted = model_alloc(pair->model, stream, bytes, &address);
    enum vs_pool_result got =
        vs_pool_alloc_on(pair->pool, stream, bytes, VS_TAG_ACTIVATIONS, &pair->blocks[slot]);
    ck_assert_int_eq(got, wanted);
    ck_assert_uint_eq(address_of(pair->pool, pair->blocks[slot]), address);
    pair->addresses[slot] = address;
    if (got == VS_POOL_OOM) {
        const struct vs_block_record *block = &pair->pool->blocks.at[pair->blocks[slot]];
        const struct vs_oom *oom = vs_pool_oom(pair->pool);
        /* What the record must have been: the present sums less this block and its segment. */
        uint64_t reserved = oom->in_use_bytes - pair->model->raw;
        uint64_t allocated = model_sum(pair->model, true) - block->size_bytes;
        ck_assert_uint_le(reserved, model_sum(pair->model, false));
        check_oom(pair, bytes, reserved, allocated);
    }
    return got;
}

/* Another library takes and gives memory past the allocator. */
static void toggle_raw(struct pair *pair, uint64_t seed) {
    if (pair->raw != 0) {
        vs_pool_release_block(pair->pool, pair->raw);
        pair->raw = 0;
        pair->model->raw = 0;
        return;
    }
    uint64_t bytes = 1 + seed % (20 * MIB);
    struct vs_pool_stats stats = vs_pool_stats(pair->pool);
    if (stats.reserved_bytes + bytes > pair->model->capacity)
        return;
    ck_assert_int_eq(vs_pool_alloc_raw(pair->pool, bytes, VS_TAG_COMM, &pair->raw), VS_POOL_OK);
    pair->model->raw = bytes;
}

static void check_pair(const struct pair *pair) {
    struct vs_pool_stats stats = vs_pool_stats(pair->pool);
    ck_assert_uint_eq(stats.allocated_bytes, model_sum(pair->model, true));
    ck_assert_uint_eq(stats.reserved_bytes, model_sum(pair->model, false));
    ck_assert_uint_eq(stats.retries, pair->model->retries);
    ck_assert_uint_le(stats.requested_bytes, stats.allocated_bytes);
    ck_assert_uint_le(stats.allocated_bytes, stats.reserved_bytes);
    ck_assert_uint_le(stats.reserved_bytes + stats.raw_bytes, stats.peak_used_bytes);
    ck_assert_uint_eq(stats.by_tag[VS_TAG_ACTIVATIONS], stats.allocated_bytes);
}

/* Live blocks are where the model has them, so they overlap where it does; check that it does not.
 */
static void check_no_overlap(const struct pair *pair) {
    for (size_t i = 0; i < SLOTS; i++) {
        for (size_t j = 0; j < i; j++) {
            if (pair->blocks[i] == 0 || pair->blocks[j] == 0)
                continue;
            const struct vs_block_record *a = &pair->pool->blocks.at[pair->blocks[i]];
            const struct vs_block_record *b = &pair->pool->blocks.at[pair->blocks[j]];
            ck_assert(a->address + a->size_bytes <= b->address ||
                      b->address + b->size_bytes <= a->address);
        }
    }
}

/* All freed: nothing is allocated; after empty_cache nothing is reserved, and the state is the
 * first. */
static void check_all_freed(struct pair *pair, uint64_t empty_state) {
    bool lifted = pair->model->lifted;
    for (size_t i = 0; i < SLOTS; i++)
        release_both(pair, i);
    vs_pool_settle(pair->pool);
    model_settle(pair->model);
    vs_pool_release_block(pair->pool, pair->raw);
    expect(pair->pool, 0, model_sum(pair->model, false));
    vs_pool_empty_cache(pair->pool);
    expect(pair->pool, 0, 0);
    if (!lifted)
        ck_assert_uint_eq(vs_pool_state(pair->pool), empty_state);
}

START_TEST(test_against_model) {
    const struct setting *setting = &settings[_i % SETTINGS];
    struct pair pair = {.pool = new_caching(setting->spec), .model = malloc(sizeof *pair.model)};
    ck_assert_ptr_nonnull(pair.model);
    uint64_t seed = 1 + (uint64_t)_i, empty_state = vs_pool_state(pair.pool);
    int since_oom = 0;
    start_pair(&pair, setting);
    for (int op = 0; op < OPS; op++) {
        size_t slot = next_random(&seed) % SLOTS;
        uint64_t choice = next_random(&seed) % 100, bytes = random_size(&seed, setting->largest);
        if (choice % 5 == 4)
            retire_both(&pair, slot);
        else
            release_both(&pair, slot);
        if (choice == 2) {
            vs_pool_settle(pair.pool);
            model_settle(pair.model);
        } else if (choice == 0) {
            vs_pool_empty_cache(pair.pool);
            model_empty_cache(pair.model);
        } else if (choice == 1) {
            toggle_raw(&pair, bytes);
        } else if (choice < 65) {
            alloc_both(&pair, (unsigned)(bytes % 7) % VS_POOL_STREAMS, slot, bytes);
        }
        check_pair(&pair);
        if (op % 100 == 0)
            check_no_overlap(&pair);
        since_oom = vs_pool_oom(pair.pool) != NULL ? since_oom + 1 : 0;
        if (since_oom > 100) {
            check_all_freed(&pair, empty_state);
            start_pair(&pair, setting);
        }
    }
    check_all_freed(&pair, empty_state);
    vs_pool_free(pair.pool);
    free(pair.model);
}
END_TEST

/* What the state stands for, written out: held and cached blocks by address, and segments by their
 * ends. */
struct layout {
    uint64_t words[64];
    size_t count;
    uint64_t state;
};

static void describe(const struct model *model, struct layout *layout) {
    layout->count = 0;
    for (int i = 0; i < model->count; i++) {
        const struct model_block *b = &model->blocks[i];
        ck_assert_uint_lt(layout->count + 3, 64);
        layout->words[layout->count++] = b->address;
        layout->words[layout->count++] = b->size + (uint64_t)b->state;
        layout->words[layout->count++] = b->segment + 2 * b->stream + b->small;
    }
}

/* Random walks through small layouts: numbers are equal exactly where the layouts are. */
START_TEST(test_state_is_layout) {
    enum { STATES = 700, HELD = 3 };
    static const uint64_t sizes[] = {512, 1 * MIB, 4 * MIB, 6 * MIB, 20 * MIB, 24 * MIB};
    struct vs_pool_spec spec = {.capacity_bytes = 200 * MIB, .expandable_segments = _i == 1};
    const struct setting setting = {spec, 0};
    struct pair pair = {.pool = new_caching(spec), .model = malloc(sizeof *pair.model)};
    struct layout *layouts = calloc(STATES, sizeof *layouts);
    ck_assert(pair.model != NULL && layouts != NULL);
    uint64_t seed = 5;
    int repeated = 0;
    start_pair(&pair, &setting);
    for (int n = 0; n < STATES; n++) {
        size_t slot = next_random(&seed) % HELD, size = next_random(&seed) % 6;
        release_both(&pair, slot);
        if (next_random(&seed) % 3 != 0)
            alloc_both(&pair, next_random(&seed) % 8 == 0, slot, sizes[size]);
        if (next_random(&seed) % 4 == 0) {
            vs_pool_empty_cache(pair.pool);
            model_empty_cache(pair.model);
        }
        describe(pair.model, &layouts[n]);
        layouts[n].state = vs_pool_state(pair.pool);
        for (int k = 0; k < n; k++) {
            bool same = layouts[k].count == layouts[n].count &&
                        memcmp(layouts[k].words, layouts[n].words, layouts[n].count * 8) == 0;
            ck_assert_int_eq(same, layouts[k].state == layouts[n].state);
            repeated += same;
        }
    }
    ck_assert_int_gt(repeated, 100);
    ck_assert_ptr_null(vs_pool_oom(pair.pool));
    vs_pool_free(pair.pool);
    free(pair.model);
    free(layouts);
}
END_TEST

/* The n-th growth of a table fails, for each n: the request hands out nothing and changes nothing.
 */
START_TEST(test_process_out_of_memory) {
    for (uint32_t n = 0; n < 20; n++) {
        struct vs_pool_spec spec = {.capacity_bytes = 4 * GIB, .expandable_segments = _i == 1};
        struct vs_pool *pool = new_caching(spec);
        uint64_t seed = 3;
        int refused = 0;
        pool->growths_left = n;
        for (int i = 0; i < 300 && refused < 3; i++) {
            uint64_t state = vs_pool_state(pool), bytes = random_size(&seed, 8 * MIB);
            struct vs_pool_stats before = vs_pool_stats(pool);
            vs_block block;
            if (vs_pool_alloc(pool, bytes, VS_TAG_KV, &block) == VS_POOL_OK)
                continue;
            refused++;
            struct vs_pool_stats after = vs_pool_stats(pool);
            ck_assert_uint_eq(block, 0);
            ck_assert_uint_eq(vs_pool_state(pool), state);
            ck_assert_int_eq(memcmp(&before, &after, sizeof before), 0);
            ck_assert_ptr_null(vs_pool_oom(pool));
        }
        ck_assert(refused > 0 || n >= 3);
        ck_assert(refused == 0 || n < 19);
        pool->growths_left = UINT32_MAX;
        take(pool, 512);
        vs_pool_empty_cache(pool);
        vs_pool_free(pool);
    }
}
END_TEST

static Suite *caching_model_suite(void) {
    Suite *suite = suite_create("caching_model");
    TCase *tcase = tcase_create("caching_model");
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, test_against_model, 0, 2 * SETTINGS);
    tcase_add_loop_test(tcase, test_state_is_layout, 0, 2);
    tcase_add_loop_test(tcase, test_process_out_of_memory, 0, 2);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void) { return run_suite(caching_model_suite()); }
