/* Memory of training where the code of a family differs from a Llama's: bytes that autograd keeps
 * of a layer per token, in closed form, d hidden, Q = heads x head_dim, KV = KV heads x head_dim, f
 * FFN, nh heads, 16-bit compute, flash attention:
 *   LayerNorm keeps its input and two fp32 numbers a token, 2d + 8
 *   an RMSNorm written out an fp32 copy and the normalised value: 4d + 2d, 4d + 4d in Gemma
 *   GELU its input, 2f; written out four tensors, 8f; ReLU nothing
 *   dropout a byte an element
 * and with every norm its output, 2d, where a matrix reads it. */
#include <string.h>

#include "plan_helpers.h"
#include "unit/suite.h"

enum { SEQ = 1024, STATISTICS = 8 };
#define TRAIN "--hw toy --engine ideal --task train --kernels eager "
#define LORA_O " --method lora --lora-targets o --lora-rank 16"
enum { LOW_RANK = 2 * 16 };

struct sizes {
    double d, q, kv, f, nh;
};

static struct sizes sizes(void) {
    const struct vs_model *m = plan.c->model;
    return (struct sizes){m->hidden, (double)m->heads * m->head_dim,
                          (double)m->kv_heads * m->head_dim, m->ffn, m->heads};
}

static double kept(const char *model, const char *more) {
    return plan_kept(vs_arena_printf(&sim_arena, TRAIN "--model %s --seq %d %s", model, SEQ, more),
                     SEQ);
}

static double attention_of(struct sizes z) { return 4 * z.q + 4 * z.kv + 4 * z.nh; }

/* GPT-2: two LayerNorms, GELU written out, two dropouts. 44,608 bytes in gpt2. */
START_TEST(gpt2_layer) {
    double found = kept("gpt2", "--method full");
    struct sizes z = sizes();
    double norms = 2 * (2 * z.d + STATISTICS) + 2 * 2 * z.d;
    ck_assert_double_eq(found, norms + attention_of(z) + 2 * z.d + 10 * z.f);
    ck_assert_double_eq(found, 44608);
}
END_TEST

/* fp32 weights under autocast: an fp32 stream, which norms keep; each matrix its 16-bit copy of a
 * norm's output, q, k and v together one; powers and what follows in fp32. */
START_TEST(gpt2_layer_under_autocast) {
    double found = kept("gpt2", "--method full --precision amp");
    struct sizes z = sizes();
    double norms = 2 * (4 * z.d + STATISTICS) + 2 * 2 * z.d;
    ck_assert_double_eq(found, norms + attention_of(z) + 2 * z.d + 16 * z.f);
    /* Scores in memory: fp32 probabilities, a mask of a byte, what dropout left of them. */
    double naive = kept("gpt2", "--method full --precision amp --attn naive");
    ck_assert_double_eq(naive, found + 7 * z.nh * SEQ - 4 * z.nh);
}
END_TEST

/* One kernel for GELU; none of its tensors where ReLU's output is what the next matrix keeps. */
START_TEST(other_activations) {
    double found = kept("santacoder", "--method full");
    struct sizes z = sizes();
    double rest = 2 * (4 * z.d + STATISTICS) + attention_of(z) + 2 * z.d;
    ck_assert_double_eq(found, rest + 4 * z.f);
    found = kept("opt-1.3b", "--method full");
    z = sizes();
    rest = 2 * (4 * z.d + STATISTICS) + attention_of(z) + 2 * z.d;
    ck_assert_double_eq(found, rest + 2 * z.f);
    found = kept("mpt-7b", "--method full"); /* no dropout: 32d */
    z = sizes();
    ck_assert_double_eq(found, 32 * z.d + 4 * z.nh + 2 * STATISTICS);
}
END_TEST

/* Gemma 2: four norms whose weight multiplies in fp32, two of them read by matrices. Gemma 3: norms
 * of q and k besides. Frozen norms keep the fp32 copies alone. */
START_TEST(gemma_layer) {
    double found = kept("gemma-2-2b", "--method full");
    struct sizes z = sizes();
    ck_assert_double_eq(found, 4 * 8 * z.d + 2 * 2 * z.d + attention_of(z) + 8 * z.f);
    found = kept("gemma-3-4b", "--method full");
    z = sizes();
    ck_assert_double_eq(found,
                        4 * 8 * z.d + 2 * 2 * z.d + 8 * (z.q + z.kv) + attention_of(z) + 8 * z.f);
    found = kept("gemma-3-4b", LORA_O);
    ck_assert_double_eq(found,
                        4 * 4 * z.d + 4 * (z.q + z.kv) + attention_of(z) + 6 * z.f + LOW_RANK);
}
END_TEST

/* Norms of q and k in 16 bit: 6 (Q + KV), frozen 4. */
START_TEST(head_norms) {
    double found = kept("qwen3-4b", "--method full");
    struct sizes z = sizes();
    ck_assert_double_eq(found, 16 * z.d + 6 * (z.q + z.kv) + attention_of(z) + 8 * z.f);
    found = kept("qwen3-4b", LORA_O);
    ck_assert_double_eq(found, 8 * z.d + 4 * (z.q + z.kv) + attention_of(z) + 6 * z.f + LOW_RANK);
}
END_TEST

/* Side by side behind one norm, whose input and output are kept once; v is a view of the matrix
 * that q, k and v share, so that q and k stay as they were before their rotation. GPT-J has three
 * matrices. */
START_TEST(parallel_layers) {
    double found = kept("phi-2", "--method full");
    struct sizes z = sizes();
    double block = 4 * z.d + STATISTICS + attention_of(z) + 10 * z.f;
    ck_assert_double_eq(found, block + 2 * z.q + 2 * z.kv);
    found = kept("gpt-j-6b", "--method full");
    z = sizes();
    ck_assert_double_eq(found, 4 * z.d + STATISTICS + attention_of(z) + 10 * z.f);
    /* Two norms of one stream: its input is kept once. */
    found = kept("pythia-6.9b", "--method full");
    z = sizes();
    ck_assert_double_eq(found,
                        6 * z.d + 2 * STATISTICS + attention_of(z) + 2 * z.q + 2 * z.kv + 4 * z.f);
}
END_TEST

static struct vs_pool_stats micro_step(const char *words) {
    forget();
    sim_plan(&plan, words);
    sim_micro_step(&plan, &phase);
    sim_executor(&x, &plan);
    sim_walk(&x, &phase);
    return vs_pool_stats(x.pools[VS_HOME_GPU]);
}

/* Bytes per logit where the code asks for no fp32 logits; shifted ones lack those of the last
 * token.
 */
START_TEST(low_logits) {
    static const struct {
        const char *words;
        double per_logit, shifted;
    } CASES[] = {
        {"--model santacoder --loss full", 8, 6},
        {"--model santacoder --loss kernel", 6, 2},
        {"--model santacoder --loss full --weights bf16 --precision amp", 18, 12},
        {"--model santacoder --loss kernel --weights bf16 --precision amp", 14, 4},
        {"--model mpt-1b --loss kernel", 4, 0}, /* labels are shifted, not logits */
        {"--model gpt-j-6b --loss full", 14, 8},
        {"--model gpt2 --loss full --precision fp32", 12, 8},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct vs_pool_stats s =
            micro_step(sim_words(TRAIN "--method full --ckpt full --seq 512 ", CASES[i].words));
        double vocab = plan.c->model->vocab, got = (double)s.peak_by_tag[VS_TAG_LOGITS];
        ck_assert_msg(got == vocab * (CASES[i].per_logit * 512 - CASES[i].shifted), "%s: %g",
                      CASES[i].words, got / (vocab * 512));
        ck_assert_uint_eq(s.by_tag[VS_TAG_LOGITS], 0);
    }
}
END_TEST

/* No sample is longer than the learned positions: longer ones are cut. */
START_TEST(learned_positions) {
#define SANTA TRAIN "--method full --model santacoder "
    struct vs_pool_stats at = micro_step(SANTA "--seq 2048");
    struct vs_pool_stats beyond = micro_step(SANTA "--seq 4096");
    ck_assert_uint_eq(at.peak_allocated_bytes, beyond.peak_allocated_bytes);
    ck_assert_uint_eq(plan.c->note_count, 1);
    ck_assert(strstr(plan.c->notes[0], "2048 learned positions") != NULL);
    ck_assert_uint_gt(at.peak_allocated_bytes, micro_step(SANTA "--seq 1024").peak_allocated_bytes);
}
END_TEST

/* A compiler writes GELU as one kernel whatever the code says. */
START_TEST(compiled) {
    double found = kept("gpt2", "--method full --compile on");
    struct sizes z = sizes();
    ck_assert_double_eq(found, 4 * z.d + attention_of(z) + 2 * z.d + 4 * z.f);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("training by family");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, NULL, end);
    tcase_add_test(tests, gpt2_layer);
    tcase_add_test(tests, gpt2_layer_under_autocast);
    tcase_add_test(tests, other_activations);
    tcase_add_test(tests, gemma_layer);
    tcase_add_test(tests, head_norms);
    tcase_add_test(tests, parallel_layers);
    tcase_add_test(tests, low_logits);
    tcase_add_test(tests, learned_positions);
    tcase_add_test(tests, compiled);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
