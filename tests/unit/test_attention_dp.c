/* Attention data parallelism: ranks share routed experts alone. Qwen3-30B-A3B has 48 layers, hidden
 * 2048, 128 experts of 768, and 4 KV heads of 128. */
#include <string.h>

#include "plan/startup.h"
#include "sim_helpers.h"

#define MOE "--model qwen3-30b-a3b --engine trtllm --task serve --weights bf16 --kv bf16 "
#define TWO "--hw h200 --gpus 2 " MOE "--tp 2 "

static struct vs_plan plan;
static struct vs_phase phase;

static void end(void) {
    vs_plan_release(&plan);
    vs_phase_release(&phase);
    memset(&plan, 0, sizeof plan);
    memset(&phase, 0, sizeof phase);
    sim_end();
}

static double weights_bytes(const char *words) {
    return sim_bytes(sim_memory(words), VS_METRIC_WEIGHTS_GIB);
}

/* All but the experts is on each of the ranks: 48 x 128 experts of 3 x 2048 x 768 weights in 16 bit
 * are halved. */
START_TEST(weights_of_a_rank) {
    double whole = weights_bytes("--hw h200 " MOE), rank = weights_bytes(TWO "--attn-dp on");
    double experts = 48.0 * 128 * 3 * 2048 * 768 * 2;
    ck_assert_near(whole - rank, experts / 2, 1e-9);
    ck_assert_double_gt(rank, weights_bytes(TWO));
}
END_TEST

/* 2 (K and V) x 4 heads x 128 x 2 bytes for a token and layer, of all heads; both ranks' pools
 * together are the cache. */
START_TEST(cache) {
    sim_plan(&plan, TWO "--attn-dp on");
    ck_assert_uint_eq(vs_plan_kv_bytes(&plan, 0, 1), 2048);
    const struct vs_outcome *o = sim_memory(TWO "--attn-dp on --ctx 4096");
    double tokens = o->metrics[VS_METRIC_KV_TOKENS];
    ck_assert_near(tokens * 48 * 2048, 2 * sim_bytes(o, VS_METRIC_KV_GIB), 1e-9);
    double each = floor(tokens / 2 / 4096);
    ck_assert_near(o->metrics[VS_METRIC_MAX_BATCH], 2 * each, 1e-12);
}
END_TEST

/* Three sequences to a rank: six tokens of 2048 are gathered and scattered in each layer, and the
 * experts multiply all six by their halves; nothing is reduced behind attention. */
START_TEST(step) {
    struct vs_err err = {0};
    unsigned gathers = 0, reduces = 0;
    double flops = 0;
    const struct vs_serve_step three = {.decodes = 3, .cells = 10};
    sim_plan(&plan, TWO "--attn-dp on");
    ck_assert(vs_emit_step(&plan, &three, &phase, &err));
    for (size_t i = 0; i < phase.ops.count; i++) {
        const struct vs_op *op = &phase.ops.at[i];
        reduces += op->kind == VS_WORK_ALL_REDUCE;
        if (op->kind == VS_WORK_GATHER) {
            ck_assert_double_eq(op->bytes, 6 * 2048 * 2);
            gathers++;
        }
        if (strcmp(op->what, "experts") == 0)
            flops += op->flops;
    }
    double slowdown = vs_engine_number(plan.c->engine, "expert_gemm_slowdown", "hopper", 1);
    ck_assert_uint_eq(gathers, 2 * 48);
    ck_assert_uint_eq(reduces, 0);
    ck_assert_near(flops, slowdown * 48 * 2.0 * 6 * 8 * 3 * 2048 * 768 / 2, 1e-9);
}
END_TEST

/* A prompt of five tokens beside a rank that has one of three, and two sequences to a rank that
 * decode: 2 x 2 + 5 + 3 tokens are gathered, and each rank's own matrices see 2 + 5. */
START_TEST(uneven_step) {
    struct vs_err err = {0};
    double own = 0;
    const struct vs_serve_step uneven = {
        .decodes = 2, .cells = 10, .prompt_tokens = 5, .prompts = 1, .reach = 3, .other_tokens = 3};
    sim_plan(&plan, TWO "--attn-dp on");
    ck_assert(vs_emit_step(&plan, &uneven, &phase, &err));
    for (size_t i = 0; i < phase.ops.count; i++) {
        const struct vs_op *op = &phase.ops.at[i];
        if (op->kind == VS_WORK_GATHER)
            ck_assert_double_eq(op->bytes, 12 * 2048 * 2);
        if (strcmp(op->what, "linear layers") == 0 && op->layer == 0)
            own += op->flops;
    }
    /* Q and O of 32 heads of 128, K and V of 4, the router of 128 experts. */
    ck_assert_near(own, 2.0 * 7 * 2048 * (2 * 32 * 128 + 2 * 4 * 128 + 128), 1e-9);
}
END_TEST

/* Ranks need no divisor of the heads: nobody deals them out. One prompt keeps one rank's attention
 * busy and half of what all experts do for two, which takes both ranks longer than one prompt, but
 * not twice as long. */
START_TEST(requests) {
#define PROMPTS TWO "--attn-dp on --prompt 4096 --gen 1 --rate inf "
    double one = sim_run(PROMPTS "--requests 1")->metrics[VS_METRIC_TTFT_S],
           two = sim_run(PROMPTS "--requests 2")->metrics[VS_METRIC_TTFT_S];
    ck_assert_double_gt(two, 1.1 * one);
    ck_assert_double_lt(two, 1.9 * one);
    ck_assert_double_gt(sim_run("--hw h200 --gpus 3 " MOE "--tp 3 --attn-dp on --requests 4 "
                                "--rate inf")
                            ->metrics[VS_METRIC_OUT_TPS],
                        0);
}
END_TEST

START_TEST(refused) {
    sim_refused("--hw h200 " MOE "--attn-dp on", "--attn-dp on with --tp");
    sim_refused("--hw h200 --gpus 2 --tp 2 --model llama-3.1-8b --engine trtllm --task serve "
                "--attn-dp on",
                "share experts");
    sim_refused("--hw h200 --gpus 2 --tp 2 --model qwen3-30b-a3b --engine lmdeploy --task serve "
                "--attn-dp on",
                "attn-dp");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("attention_dp");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, NULL, end);
    tcase_add_test(tests, weights_of_a_rank);
    tcase_add_test(tests, cache);
    tcase_add_test(tests, step);
    tcase_add_test(tests, uneven_step);
    tcase_add_test(tests, requests);
    tcase_add_test(tests, refused);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
