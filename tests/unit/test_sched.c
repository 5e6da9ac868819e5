/* The scheduler alone: what it counts, whatever the policy. */
#include <stdlib.h>

#include "base/rng.h"
#include "sched/sched.h"
#include "unit/suite.h"

static struct vs_sched sched;

static void begin(const char *policy, struct vs_sched_limits limits) {
    ck_assert_ptr_nonnull(vs_policy_find(policy));
    vs_sched_init(&sched, vs_policy_find(policy), &limits);
}

/* A request whose prompt has these blocks. */
static uint32_t arrive_hashed(uint64_t prompt, uint64_t gen, const uint64_t *hashes, size_t count) {
    const struct vs_sched_arrival a = {prompt, gen, hashes, count};
    uint32_t slot;
    ck_assert(vs_sched_fits(&sched, prompt, gen));
    ck_assert(vs_sched_arrive(&sched, &a, &slot));
    return slot;
}

static uint32_t arrive(uint64_t prompt, uint64_t gen) {
    return arrive_hashed(prompt, gen, NULL, 0);
}

static void check_blocks(void) {
    uint64_t own = 0, tokens = 0;
    for (size_t i = 0; i < sched.running; i++) {
        const struct vs_sched_request *r = &sched.requests[sched.batch[i]];
        own += r->blocks;
        tokens += r->cached - r->held * sched.entry_tokens;
    }
    ck_assert_uint_eq(own, sched.own_blocks);
    ck_assert_uint_eq(tokens, sched.own_tokens);
    ck_assert_uint_le(tokens, own * sched.limits.block_tokens);
    ck_assert_uint_eq(own + sched.free_blocks + sched.prefix.entries.count * sched.entry_blocks,
                      sched.limits.blocks);
    ck_assert_uint_le(sched.swapped_blocks + sched.host.entries.count * sched.entry_blocks,
                      sched.limits.host_blocks);
}

/* Runs all that is there; tokens of prompts and of decoding that the steps counted. */
static void serve(uint64_t *prompt_tokens, uint64_t *decoded) {
    struct vs_sched_step step;
    size_t ended = 0;
    *prompt_tokens = *decoded = 0;
    for (size_t steps = 0; vs_sched_next(&sched, &step); steps++) {
        ck_assert_uint_lt(steps, 1000000);
        ck_assert_uint_ge(step.repeat, 1);
        ck_assert_uint_le(sched.running, sched.limits.sequences);
        /* not always to the end, as if somebody had arrived */
        uint64_t times = steps % 3 == 0 ? (step.repeat + 1) / 2 : step.repeat;
        *prompt_tokens += step.prompts.tokens;
        *decoded += step.decodes * times;
        vs_sched_done(&sched, times);
        check_blocks();
        ended += sched.ended_count;
        for (size_t i = 0; i < sched.ended_count; i++) {
            const struct vs_sched_request *r = &sched.requests[sched.ended[i]];
            ck_assert_uint_eq(r->made, r->gen);
        }
    }
    ck_assert_uint_eq(ended, sched.arrived);
    ck_assert_uint_eq(sched.waiting, 0);
    ck_assert_uint_eq(sched.spare_count, sched.room);
    ck_assert_uint_eq(vs_sched_used_blocks(&sched), 0);
    ck_assert_uint_eq(sched.swapped_blocks, 0);
}

static const char *const POLICIES[] = {"chunked", "whole", "prefill_first"};

/* Every request ends, every token is counted once, the pool is never exceeded. Without anybody
 * thrown back prompts are computed once, and each yields its first token. */
START_TEST(conserves) {
    struct vs_rng *rng = vs_rng_new((uint64_t)_i);
    ck_assert_ptr_nonnull(rng);
    for (int form = 0; form < 12; form++) {
        const struct vs_sched_limits limits = {.step_tokens = form & 1 ? 256 : 100,
                                               .sequences = 7,
                                               .blocks = 30,
                                               .block_tokens = 16,
                                               .reserve = form & 2 ? VS_RESERVE_REQUEST
                                                                   : VS_RESERVE_NOTHING,
                                               .first_decoded = form / 4 == 2};
        uint64_t prompts = 0, gens = 0, prefilled, decoded;
        begin(POLICIES[form % 3], limits);
        for (int i = 0; i < 40; i++) {
            uint64_t prompt = 1 + vs_rng_below(rng, 300), gen = 1 + vs_rng_below(rng, 150);
            arrive(prompt, gen);
            prompts += prompt;
            gens += gen;
        }
        serve(&prefilled, &decoded);
        ck_assert_uint_ge(prefilled + (limits.first_decoded ? 40 : 0), prompts);
        if (limits.reserve)
            ck_assert_uint_eq(sched.thrown_back, 0);
        if (sched.thrown_back == 0 && limits.first_decoded) {
            ck_assert_uint_eq(prefilled, prompts - 40);
            ck_assert_uint_eq(decoded, gens);
        } else if (sched.thrown_back == 0) {
            ck_assert_uint_eq(prefilled, prompts);
            ck_assert_uint_eq(decoded, gens - 40);
        }
        vs_sched_release(&sched);
    }
    vs_rng_free(rng);
}
END_TEST

/* A prompt of 250 in a budget of 100, beside one that decodes: 99, 99 and 52 tokens. */
START_TEST(cuts_prompts) {
    const struct vs_sched_limits limits = {
        .step_tokens = 100, .sequences = 8, .blocks = 100, .block_tokens = 16};
    static const uint64_t chunks[] = {99, 99, 52};
    struct vs_sched_step step;
    begin("chunked", limits);
    arrive(10, 50);
    ck_assert(vs_sched_next(&sched, &step));
    ck_assert_uint_eq(step.prompts.tokens, 10);
    ck_assert_double_eq(step.prompts.pairs, 10 * 5);
    vs_sched_done(&sched, 1);
    ck_assert_uint_eq(sched.first_count, 1);
    arrive(250, 5);
    for (size_t i = 0; i < 3; i++) {
        ck_assert(vs_sched_next(&sched, &step));
        ck_assert_uint_eq(step.decodes, 1);
        ck_assert_uint_eq(step.prompts.tokens, chunks[i]);
        ck_assert_uint_eq(step.prompts.ending, i == 2);
        ck_assert_uint_eq(step.repeat, 1);
        vs_sched_done(&sched, 1);
    }
    ck_assert(vs_sched_next(&sched, &step));
    ck_assert_uint_eq(step.decodes, 2);
    ck_assert_uint_eq(step.repeat, 4);
    ck_assert_double_eq(step.cells, 14 + 251);
    vs_sched_release(&sched);
}
END_TEST

/* Two of 32 + 32 tokens in a pool of 7 blocks of 16: reserving runs them one after the other;
 * growing runs both, and throws the second one back when the pool is full. */
START_TEST(full_pool) {
    for (int reserve = 0; reserve < 2; reserve++) {
        const struct vs_sched_limits limits = {.step_tokens = 100,
                                               .sequences = 8,
                                               .blocks = 7,
                                               .block_tokens = 16,
                                               .reserve = reserve ? VS_RESERVE_REQUEST
                                                                  : VS_RESERVE_NOTHING};
        uint64_t prefilled, decoded;
        begin("whole", limits);
        arrive(32, 32);
        arrive(32, 32);
        serve(&prefilled, &decoded);
        ck_assert_uint_eq(sched.thrown_back, reserve ? 0 : 1);
        ck_assert_uint_eq(prefilled, reserve ? 64 : 64 + 32 + 17);
        vs_sched_release(&sched);
    }
}
END_TEST

/* While prompts can be admitted, who decodes waits. */
START_TEST(prompts_first) {
    const struct vs_sched_limits limits = {
        .step_tokens = 100, .sequences = 8, .blocks = 100, .block_tokens = 16};
    static const uint64_t decodes[] = {0, 0, 3};
    struct vs_sched_step step;
    begin("prefill_first", limits);
    for (int i = 0; i < 3; i++)
        arrive(50, 5);
    for (size_t i = 0; i < 3; i++) {
        ck_assert(vs_sched_next(&sched, &step));
        ck_assert_uint_eq(step.decodes, decodes[i]);
        vs_sched_done(&sched, 1);
    }
    ck_assert_ptr_null(vs_policy_find("none"));
    vs_sched_release(&sched);
}
END_TEST

/* All ways to admit and to throw back, with and without a prefix cache above host memory: every
 * request ends, blocks are never lost, and what is copied out comes back. */
START_TEST(all_ways) {
    static const char *const ALL[] = {"chunked", "whole", "prefill_first", "static"};
    static const enum vs_reserve RESERVES[] = {VS_RESERVE_NOTHING, VS_RESERVE_PROMPT,
                                               VS_RESERVE_REQUEST, VS_RESERVE_CONTEXT};
    struct vs_rng *rng = vs_rng_new((uint64_t)_i);
    ck_assert_ptr_nonnull(rng);
    for (unsigned form = 0; form < 256; form++) {
        const struct vs_sched_limits limits = {.step_tokens = 100,
                                               .sequences = 5,
                                               .blocks = 60,
                                               .block_tokens = form & 128 ? 16 : 8,
                                               .reserve = RESERVES[form / 4 % 4],
                                               .context = 480,
                                               .watermark = form & 16 ? 2 : 0,
                                               .swap = form & 16,
                                               .host_blocks = form & 32 ? 40 : 0,
                                               .prefix = form & 64,
                                               .hash_tokens = 8};
        uint64_t prefilled, decoded;
        begin(ALL[form % 4], limits);
        for (int i = 0; i < 60; i++) {
            uint64_t hashes[20], n = 1 + vs_rng_below(rng, 20);
            uint64_t family = vs_rng_below(rng, 4) * 100;
            for (uint64_t k = 0; k < n; k++)
                hashes[k] = k < 10 ? family + k : (uint64_t)i * 1000 + k;
            arrive_hashed(8 * n - vs_rng_below(rng, 8), 1 + vs_rng_below(rng, 150), hashes, n);
        }
        serve(&prefilled, &decoded);
        if (limits.prefix)
            ck_assert_uint_gt(sched.prefix_hits, 0);
        vs_sched_release(&sched);
    }
    vs_rng_free(rng);
}
END_TEST

/* Two prompts of 40 tokens that share their first two blocks of 16: the second computes 8 tokens of
 * its own, and the shared blocks are there once. */
START_TEST(shares_prefixes) {
    const struct vs_sched_limits limits = {.step_tokens = 100,
                                           .sequences = 8,
                                           .blocks = 10,
                                           .block_tokens = 16,
                                           .prefix = true,
                                           .hash_tokens = 16};
    static const uint64_t ONE[] = {1, 2, 3}, OTHER[] = {1, 2, 4};
    struct vs_sched_step step;
    begin("chunked", limits);
    arrive_hashed(40, 20, ONE, 3);
    ck_assert(vs_sched_next(&sched, &step));
    ck_assert_uint_eq(step.prompts.tokens, 40);
    vs_sched_done(&sched, 1);
    arrive_hashed(40, 5, OTHER, 3);
    ck_assert(vs_sched_next(&sched, &step));
    ck_assert_uint_eq(step.prompts.tokens, 8);
    ck_assert_double_eq(step.prompts.pairs, 8 * (32 + 4));
    ck_assert_uint_eq(vs_sched_used_blocks(&sched), 4);
    vs_sched_done(&sched, 1);
    while (vs_sched_next(&sched, &step))
        vs_sched_done(&sched, step.repeat);
    ck_assert_uint_eq(sched.prefix.idle, 2); /* the third block of each was not whole */
    ck_assert_uint_eq(sched.prefix_hits, 32);
    ck_assert_uint_eq(sched.prefix_tokens, 80);
    vs_sched_release(&sched);
}
END_TEST

/* What nobody holds goes when room is needed, the least recently used first, a sequence from its
 * end. */
START_TEST(evicts) {
    const struct vs_sched_limits limits = {.step_tokens = 100,
                                           .sequences = 8,
                                           .blocks = 4,
                                           .block_tokens = 16,
                                           .prefix = true,
                                           .hash_tokens = 16};
    static const uint64_t ONE[] = {1, 2}, OTHER[] = {3};
    struct vs_sched_step step;
    begin("chunked", limits);
    arrive_hashed(32, 1, ONE, 2);
    ck_assert(vs_sched_next(&sched, &step));
    vs_sched_done(&sched, 1);
    arrive_hashed(16, 30, OTHER, 1);
    while (vs_sched_next(&sched, &step))
        vs_sched_done(&sched, step.repeat);
    ck_assert(vs_prefix_has(&sched.prefix, 1));
    ck_assert(!vs_prefix_has(&sched.prefix, 2));
    ck_assert(vs_prefix_has(&sched.prefix, 3));
    vs_sched_release(&sched);
}
END_TEST

/* A prompt that was swapped out before its last chunk goes on with it when it comes back. */
START_TEST(swaps_half_a_prompt) {
    begin("chunked", (struct vs_sched_limits){.step_tokens = 8,
                                              .sequences = 8,
                                              .blocks = 10,
                                              .block_tokens = 4,
                                              .reserve = VS_RESERVE_NOTHING,
                                              .swap = true,
                                              .host_blocks = 100});
    struct vs_sched_step step;
    size_t ended = 0;
    bool went = false;
    arrive(7, 12);
    arrive(36, 3);
    while (vs_sched_next(&sched, &step)) {
        went |= step.blocks_out > 0;
        vs_sched_done(&sched, 1);
        ended += sched.ended_count;
    }
    ck_assert(went);
    ck_assert_uint_eq(ended, 2);
    ck_assert_uint_eq(sched.running + sched.waiting, 0);
    vs_sched_release(&sched);
}
END_TEST

/* The second of two throws itself back: with room for its blocks in host memory it goes on where it
 * was, and no prompt is computed twice. */
START_TEST(swaps) {
    const struct vs_sched_limits limits = {.step_tokens = 100,
                                           .sequences = 8,
                                           .blocks = 7,
                                           .block_tokens = 16,
                                           .swap = true,
                                           .host_blocks = 4};
    struct vs_sched_step step;
    uint64_t out = 0, in = 0, prefilled = 0;
    begin("prefill_first", limits);
    arrive(32, 32);
    arrive(32, 32);
    while (vs_sched_next(&sched, &step)) {
        out += step.blocks_out;
        in += step.blocks_in;
        prefilled += step.prompts.tokens;
        vs_sched_done(&sched, step.repeat);
    }
    ck_assert_uint_eq(sched.thrown_back, 1);
    ck_assert_uint_eq(prefilled, 64);
    ck_assert_uint_eq(out, 3);
    ck_assert_uint_eq(in, 3);
    vs_sched_release(&sched);
}
END_TEST

/* Contiguous pieces of 64 tokens in a pool of 160: two at once, whatever they hold. */
START_TEST(reserves_context) {
    const struct vs_sched_limits limits = {.step_tokens = 100,
                                           .sequences = 8,
                                           .blocks = 10,
                                           .block_tokens = 16,
                                           .reserve = VS_RESERVE_CONTEXT,
                                           .context = 64};
    struct vs_sched_step step;
    begin("prefill_first", limits);
    for (int i = 0; i < 4; i++)
        arrive(10, 5);
    ck_assert(vs_sched_next(&sched, &step));
    vs_sched_done(&sched, 1);
    ck_assert_uint_eq(sched.running, 2);
    ck_assert_uint_eq(sched.own_blocks * 16 - sched.own_tokens, 2 * (64 - 10));
    vs_sched_release(&sched);
}
END_TEST

/* A batch of two runs until the longer one is done; the shorter one is decoded on beside it. */
START_TEST(static_batches) {
    const struct vs_sched_limits limits = {
        .step_tokens = 100, .sequences = 2, .blocks = 100, .block_tokens = 16};
    struct vs_sched_step step;
    uint64_t decoded = 0;
    begin("static", limits);
    arrive(10, 3);
    arrive(10, 9);
    uint32_t third = arrive(10, 2);
    ck_assert(vs_sched_next(&sched, &step));
    ck_assert_uint_eq(step.prompts.tokens, 20);
    vs_sched_done(&sched, 1);
    while (sched.running > 0) {
        ck_assert(vs_sched_next(&sched, &step));
        decoded += step.decodes * step.repeat;
        vs_sched_done(&sched, step.repeat);
        ck_assert_uint_eq(sched.requests[third].made, 0);
    }
    ck_assert_uint_eq(decoded, 2 * 8);
    ck_assert(vs_sched_next(&sched, &step));
    ck_assert_uint_eq(step.prompts.tokens, 10);
    vs_sched_release(&sched);
}
END_TEST

/* Memory follows those who are there: a thousand one after the other take one slot. */
START_TEST(slots_are_used_again) {
    const struct vs_sched_limits limits = {
        .step_tokens = 100, .sequences = 8, .blocks = 100, .block_tokens = 16};
    struct vs_sched_step step;
    begin("chunked", limits);
    for (int i = 0; i < 1000; i++) {
        ck_assert_uint_eq(arrive(10, 3), 0);
        while (vs_sched_next(&sched, &step))
            vs_sched_done(&sched, step.repeat);
    }
    ck_assert_uint_eq(sched.arrived, 1000);
    ck_assert_uint_le(sched.room, 64);
    vs_sched_release(&sched);
}
END_TEST

/* Two groups of 100 tokens each: prompts of 60 go to one and the other, a third one fits neither;
 * the next step has room for it. A prompt of 250 is the only one of its group, and the other group
 * takes one of 30 beside it. */
START_TEST(groups) {
    const struct vs_sched_limits limits = {
        .step_tokens = 100, .sequences = 4, .groups = 2, .blocks = 100, .block_tokens = 16};
    struct vs_sched_step step;
    begin("whole", limits);
    for (int i = 0; i < 3; i++)
        arrive(60, 50);
    ck_assert(vs_sched_next(&sched, &step));
    ck_assert_uint_eq(step.prompts.tokens, 120);
    ck_assert_uint_eq(step.fullest.tokens, 60);
    ck_assert_uint_eq(step.fullest.ending, 1);
    ck_assert_double_eq(step.fullest.pairs, 60 * 30);
    vs_sched_done(&sched, 1);
    ck_assert(vs_sched_next(&sched, &step));
    ck_assert_uint_eq(step.decodes, 2);
    ck_assert_uint_eq(step.prompts.tokens, 60);
    ck_assert_uint_eq(step.fullest.tokens, 60);
    vs_sched_done(&sched, 1);
    arrive(250, 5);
    arrive(30, 5);
    arrive(90, 5);
    ck_assert(vs_sched_next(&sched, &step));
    ck_assert_uint_eq(step.prompts.tokens, 250 + 30);
    ck_assert_uint_eq(step.fullest.tokens, 250);
    vs_sched_release(&sched);
}
END_TEST

/* Each group has so many sequences at most. */
START_TEST(sequences_of_groups) {
    const struct vs_sched_limits limits = {
        .step_tokens = 100, .sequences = 2, .groups = 3, .blocks = 100, .block_tokens = 16};
    struct vs_sched_step step;
    begin("whole", limits);
    for (int i = 0; i < 10; i++)
        arrive(10, 2);
    ck_assert(vs_sched_next(&sched, &step));
    ck_assert_uint_eq(step.prompts.ending, 6);
    ck_assert_uint_eq(step.fullest.ending, 2);
    vs_sched_done(&sched, 1);
    ck_assert(vs_sched_next(&sched, &step));
    ck_assert_uint_eq(step.decodes, 6);
    ck_assert_uint_eq(step.prompts.tokens, 0);
    vs_sched_done(&sched, 1);
    ck_assert_uint_eq(sched.ended_count, 6);
    ck_assert(vs_sched_next(&sched, &step));
    ck_assert_uint_eq(step.prompts.ending, 4);
    ck_assert_uint_eq(step.fullest.ending, 2);
    vs_sched_release(&sched);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("sched");
    TCase *tests = tcase_create("all");
    tcase_add_loop_test(tests, conserves, 1, 9);
    tcase_add_test(tests, cuts_prompts);
    tcase_add_test(tests, full_pool);
    tcase_add_test(tests, groups);
    tcase_add_test(tests, sequences_of_groups);
    tcase_add_test(tests, prompts_first);
    tcase_add_loop_test(tests, all_ways, 1, 5);
    tcase_add_test(tests, shares_prefixes);
    tcase_add_test(tests, evicts);
    tcase_add_test(tests, swaps);
    tcase_add_test(tests, swaps_half_a_prompt);
    tcase_add_test(tests, reserves_context);
    tcase_add_test(tests, static_batches);
    tcase_add_test(tests, slots_are_used_again);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
