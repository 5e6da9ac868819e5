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

/* Ranks need no divisor of the heads: nobody deals them out. One prompt keeps one rank busy, two
 * keep both, in the same time. */
START_TEST(requests) {
#define PROMPTS TWO "--attn-dp on --prompt 4096 --gen 1 --rate inf "
    const struct vs_outcome *one = sim_run(PROMPTS "--requests 1"),
                            *two = sim_run(PROMPTS "--requests 2");
    ck_assert_near(one->metrics[VS_METRIC_TTFT_S], two->metrics[VS_METRIC_TTFT_S], 0.01);
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
    tcase_add_test(tests, requests);
    tcase_add_test(tests, refused);
    suite_add_tcase(suite, tests);
    return sim_main(suite);
}
