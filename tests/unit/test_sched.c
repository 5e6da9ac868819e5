/* The scheduler alone: what it counts, whatever the policy. */
#include <check.h>
#include <stdlib.h>

#include "base/rng.h"
#include "sched/sched.h"

static struct vs_sched sched;

static void begin(const char *policy, struct vs_sched_limits limits, size_t requests) {
    ck_assert_ptr_nonnull(vs_policy_find(policy));
    ck_assert(vs_sched_init(&sched, vs_policy_find(policy), &limits, requests));
}

static uint64_t blocks_held(void) {
    uint64_t held = 0;
    for (size_t i = 0; i < sched.count; i++)
        held += sched.requests[i].blocks;
    return held;
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
        *prompt_tokens += step.prompt_tokens;
        *decoded += step.decodes * times;
        vs_sched_done(&sched, times);
        ck_assert_uint_eq(blocks_held() + sched.free_blocks, sched.limits.blocks);
        ended += sched.ended_count;
    }
    ck_assert_uint_eq(ended, sched.count);
    ck_assert_uint_eq(sched.free_blocks, sched.limits.blocks);
    for (size_t i = 0; i < sched.count; i++)
        ck_assert_uint_eq(sched.requests[i].made, sched.requests[i].gen);
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
                                               .reserve = form & 2,
                                               .first_decoded = form / 4 == 2};
        uint64_t prompts = 0, gens = 0, prefilled, decoded;
        begin(POLICIES[form % 3], limits, 40);
        for (int i = 0; i < 40; i++) {
            uint64_t prompt = 1 + vs_rng_below(rng, 300), gen = 1 + vs_rng_below(rng, 150);
            vs_sched_arrive(&sched, prompt, gen);
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
    begin("chunked", limits, 2);
    vs_sched_arrive(&sched, 10, 50);
    ck_assert(vs_sched_next(&sched, &step));
    ck_assert_uint_eq(step.prompt_tokens, 10);
    ck_assert_double_eq(step.pairs, 10 * 5);
    vs_sched_done(&sched, 1);
    ck_assert_uint_eq(sched.first_count, 1);
    vs_sched_arrive(&sched, 250, 5);
    for (size_t i = 0; i < 3; i++) {
        ck_assert(vs_sched_next(&sched, &step));
        ck_assert_uint_eq(step.decodes, 1);
        ck_assert_uint_eq(step.prompt_tokens, chunks[i]);
        ck_assert_uint_eq(step.prompts, i == 2);
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
                                               .reserve = reserve};
        uint64_t prefilled, decoded;
        begin("whole", limits, 2);
        vs_sched_arrive(&sched, 32, 32);
        vs_sched_arrive(&sched, 32, 32);
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
    begin("prefill_first", limits, 3);
    for (int i = 0; i < 3; i++)
        vs_sched_arrive(&sched, 50, 5);
    for (size_t i = 0; i < 3; i++) {
        ck_assert(vs_sched_next(&sched, &step));
        ck_assert_uint_eq(step.decodes, decodes[i]);
        vs_sched_done(&sched, 1);
    }
    ck_assert_ptr_null(vs_policy_find("none"));
    vs_sched_release(&sched);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("sched");
    TCase *tests = tcase_create("all");
    tcase_add_loop_test(tests, conserves, 1, 9);
    tcase_add_test(tests, cuts_prompts);
    tcase_add_test(tests, full_pool);
    tcase_add_test(tests, prompts_first);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
