/* Memory of training: what autograd keeps, states, logits, checkpoints, and published peaks.
 *
 * Bytes that a layer keeps per token, d hidden, Q = heads x head_dim, KV = KV heads x head_dim, f
 * FFN, nh heads, measured with saved-tensor hooks on the operations of the Hugging Face layer
 * (eager norms, bf16, flash attention):
 *   full  16d + 4Q + 4KV + 8f + 4nh + 8      frozen  8d + 4Q + 4KV + 6f + 4nh + 8
 * The last 8 are the two norms' fp32 scales, which the plan leaves out. */
#include "plan_helpers.h"
#include "unit/suite.h"

#define TRAIN "--hw toy --engine ideal --task train "
#define EAGER "--kernels eager "
enum { SEQ = 1024, NORM_SCALES = 8 };

static double kept(const char *model, const char *more) {
    return plan_kept(vs_arena_printf(&sim_arena, TRAIN "--model %s --seq %d %s", model, SEQ, more),
                     SEQ);
}

static void expect_kept(const char *model, const char *more, double bytes) {
    double found = kept(model, more);
    ck_assert_msg(fabs(found - bytes) <= NORM_SCALES, "%s %s keeps %.1f, expected %.1f", model,
                  more, found, bytes);
}

START_TEST(full_fine_tuning) {
    expect_kept("llama-2-7b", EAGER "--method full", 186504);
    expect_kept("llama-3-8b", EAGER "--method full", 200840);
}
END_TEST

/* An adapter of o has its input already (the attention output): only its inner r values are new. */
START_TEST(frozen_base) {
    expect_kept("llama-2-7b", EAGER "--method lora --lora-targets o --lora-rank 16", 131720 + 32);
    expect_kept("llama-3-8b", EAGER "--method lora --lora-targets o --lora-rank 16", 139400 + 32);
}
END_TEST

/* Dropout 0: 2d once for q, k, v, 2d once for gate, up, 2f for down, 2r a module. Dropout: 3K for
 * each module, K its input width (a 16-bit copy and a mask of a byte). */
START_TEST(adapters) {
    static const double D = 4096, F = 11008, FROZEN = 131720;
    expect_kept("llama-2-7b", EAGER "--method lora --lora-rank 16 --lora-targets q+v",
                FROZEN + 2 * D + 2 * 32);
    expect_kept("llama-2-7b", EAGER "--method lora --lora-rank 16 --lora-targets gate",
                FROZEN + 2 * D + 32);
    expect_kept("llama-2-7b", EAGER "--method lora --lora-rank 64 --lora-targets all",
                FROZEN + 4 * D + 2 * F + 7 * 128);
    expect_kept("llama-2-7b",
                EAGER "--method lora --lora-rank 16 --lora-targets q+v --lora-dropout 0.1",
                FROZEN + 2 * 3 * D + 2 * 32);
    expect_kept("llama-2-7b",
                EAGER "--method lora --lora-rank 16 --lora-targets all --lora-dropout 0.1",
                FROZEN + 3 * (6 * D + F) + 7 * 32);
}
END_TEST

/* fp32 norms and residual stream: each adapted module behind a norm makes its own 16-bit copy. */
START_TEST(kbit_adapters) {
    static const double D = 4096, F = 11008, FROZEN = 131720;
#define KBIT EAGER "--method qlora --kbit-upcast on --lora-rank 16 --lora-targets "
    expect_kept("llama-2-7b", KBIT "q+v", FROZEN + 2 * 2 * D + 2 * 32);
    expect_kept("llama-2-7b", KBIT "all", FROZEN + 5 * 2 * D + 2 * F + 7 * 32);
}
END_TEST

/* fp32 weights under autocast: 26d instead of 16d, and 16-bit copies of the weights beside it. */
START_TEST(autocast) {
    expect_kept("llama-2-7b", EAGER "--method full --precision amp", 227464);
    expect_kept("llama-3-8b", EAGER "--method full --precision amp", 241800);
    sim_executor(&x, &plan);
    sim_walk(&x, &phase);
    struct vs_pool_stats s = vs_pool_stats(x.pools[VS_HOME_GPU]);
    uint64_t linear = plan.c->model->params_linear;
    ck_assert_uint_ge(s.peak_by_tag[VS_TAG_WEIGHTS], 2 * linear);
    ck_assert_uint_eq(s.by_tag[VS_TAG_WEIGHTS], 0); /* none outlives its backward */
}
END_TEST

/* Scores in memory: fp32 and 16-bit probabilities, 6 nh s a token; K and V repeated to all heads.
 * SDPA repeats them too. */
START_TEST(other_attention) {
    static const double NAIVE = 6.0 * 32 * SEQ, LSE = 4 * 32;
    expect_kept("llama-2-7b", EAGER "--method full --attn naive", 186504 + NAIVE - LSE);
    expect_kept("llama-3-8b", EAGER "--method full --attn naive",
                200840 + NAIVE - LSE + 4 * 3072.0);
    expect_kept("llama-2-7b", EAGER "--method full --attn sdpa", 186504);
    expect_kept("llama-3-8b", EAGER "--method full --attn sdpa", 200840 + 4 * 3072.0);
}
END_TEST

/* Measured in the same way on a small layer (d 256, f 704, 8 heads), in bytes per token and d: the
 * formulas are within 0.5. */
START_TEST(small_layer) {
#define SMALL EAGER "--set model.heads=8 --set model.head_dim=32 --set model.ffn=704 "
#define MHA SMALL "--set model.kv_heads=8 "
    static const struct {
        const char *more;
        double measured;
    } CASES[] = {
        {MHA "--method full", 46.4},
        {SMALL "--set model.kv_heads=2 --method full", 43.4},
        {MHA "--method lora --lora-rank 8 --lora-targets q+v", 35.0},
        {MHA "--method lora --lora-rank 8 --lora-targets all", 42.8},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        double found = kept("toy", CASES[i].more) / 256;
        ck_assert_msg(fabs(found - CASES[i].measured) <= 0.5, "%s: %.2f, measured %.1f",
                      CASES[i].more, found, CASES[i].measured);
    }
}
END_TEST

/* A fused norm keeps its input, 2d, and its output where a weight gradient needs it: 8d instead of
 * 16d, frozen 4d instead of 8d; 2d less where a checkpoint is that input. */
START_TEST(fused_kernels) {
    static const double D = 4096, FULL = 186504, FROZEN = 131720 + 32;
    expect_kept("llama-2-7b", "--method full", FULL - 8 * D);
    expect_kept("llama-2-7b", "--method full --ckpt full", FULL - 10 * D);
    expect_kept("llama-2-7b", "--method lora --lora-targets o --lora-rank 16", FROZEN - 4 * D);
    expect_kept("llama-2-7b", "--method lora --lora-targets o --lora-rank 16 --ckpt full",
                FROZEN - 6 * D);
}
END_TEST

/* ---- whole micro-steps ---- */

static struct vs_pool_stats micro_step(const char *words) {
    forget();
    sim_plan(&plan, words);
    sim_micro_step(&plan, &phase);
    sim_executor(&x, &plan);
    sim_walk(&x, &phase);
    return vs_pool_stats(x.pools[VS_HOME_GPU]);
}

#define LLAMA2 TRAIN EAGER "--model llama-2-7b --method full --seq 2048 "

/* Llama 2 7B, 2048 tokens: 186,504 x 2048 x 32 = 12.2 GB without checkpoints; with them 2 x 4096 x
 * 2048 x 32 = 0.54 GB of inputs and 0.38 GB of one layer. */
START_TEST(checkpointing) {
    const double layer = (186504.0 - NORM_SCALES) * 2048;
    struct vs_pool_stats s = micro_step(LLAMA2 "--ckpt none");
    ck_assert_double_eq((double)s.peak_by_tag[VS_TAG_ACTIVATIONS], 32 * layer);
    ck_assert_near(s.peak_by_tag[VS_TAG_ACTIVATIONS], 12.2e9, 5e-3);
    ck_assert_uint_eq(s.peak_by_tag[VS_TAG_CHECKPOINTS], 0);
    s = micro_step(LLAMA2 "--ckpt full");
    ck_assert_uint_eq(s.peak_by_tag[VS_TAG_CHECKPOINTS], 2ULL * 4096 * 2048 * 32);
    ck_assert_double_eq((double)s.peak_by_tag[VS_TAG_ACTIVATIONS], layer);
    ck_assert_near(s.peak_by_tag[VS_TAG_ACTIVATIONS], 0.38e9, 1e-2);
    /* Half of the layers keep their input, half everything; one of the former is run again. */
    s = micro_step(LLAMA2 "--ckpt every:2");
    ck_assert_uint_eq(s.peak_by_tag[VS_TAG_CHECKPOINTS], 2ULL * 4096 * 2048 * 16);
    ck_assert_double_eq((double)s.peak_by_tag[VS_TAG_ACTIVATIONS], 16 * layer);
    /* Six segments (6, 6, 6, 6, 6, 2), one of six layers run again. */
    s = micro_step(LLAMA2 "--ckpt sqrt");
    ck_assert_uint_eq(s.peak_by_tag[VS_TAG_CHECKPOINTS], 2ULL * 4096 * 2048 * 6);
    ck_assert_double_eq((double)s.peak_by_tag[VS_TAG_ACTIVATIONS], 6 * layer);
}
END_TEST

/* Bytes per logit, 32,000 x 2048 of them: 14 of a full fp32 loss are 0.92 GB. Shifted ones are
 * those of 2047 tokens. */
START_TEST(losses) {
    static const struct {
        const char *more;
        double per_logit, shifted;
    } CASES[] = {
        {"--loss full", 14, 8},
        {"--loss kernel", 8, 4},
        {"--loss chunked", 4, 0},
        {"--loss fused", 0, 0},
        {"--loss full --precision fp32", 12, 8},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct vs_pool_stats s = micro_step(sim_words(LLAMA2 "--ckpt full", CASES[i].more));
        ck_assert_double_eq((double)s.peak_by_tag[VS_TAG_LOGITS],
                            CASES[i].per_logit * 32000 * 2048 - CASES[i].shifted * 32000);
        ck_assert_uint_eq(s.by_tag[VS_TAG_LOGITS], 0);
    }
    ck_assert_near(14.0 * 32000 * 2048, 0.92e9, 5e-3);
}
END_TEST

/* One matrix is unpacked at a time: the largest of a layer, f x d in 16 bit, 4 bytes per block of
 * 64 beside it while double quantization is undone. */
START_TEST(dequantized_weights) {
    static const char *const QLORA = TRAIN "--model llama-2-7b --method qlora --kbit-upcast off "
                                           "--seq 16 ";
    struct vs_pool_stats s = micro_step(sim_words(QLORA, "--weights nf4"));
    ck_assert_uint_eq(s.peak_by_tag[VS_TAG_DEQUANT], 2ULL * 4096 * 11008);
    s = micro_step(sim_words(QLORA, "--weights nf4-dq"));
    ck_assert_uint_eq(s.peak_by_tag[VS_TAG_DEQUANT], (2ULL * 64 + 4) * 4096 * 11008 / 64);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("memory of training");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, NULL, end);
    tcase_add_test(tests, full_fine_tuning);
    tcase_add_test(tests, frozen_base);
    tcase_add_test(tests, adapters);
    tcase_add_test(tests, kbit_adapters);
    tcase_add_test(tests, autocast);
    tcase_add_test(tests, other_attention);
    tcase_add_test(tests, small_layer);
    tcase_add_test(tests, fused_kernels);
    tcase_add_test(tests, checkpointing);
    tcase_add_test(tests, losses);
    tcase_add_test(tests, dequantized_weights);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
