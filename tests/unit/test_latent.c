/* ik_llama.cpp's modes of latent attention, and host weights in large batches. DeepSeek V2 Lite: 27
 * layers, the first without experts; 16 heads with keys of 128 + 64 and values of 128 numbers; a
 * latent of 512 + 64; 6 of 64 experts of 1408; hidden size 2048, vocabulary 102400. */
#include <string.h>

#include "plan/rules/compute_buffer.h"
#include "run/lower.h"
#include "sim_helpers.h"

#define BASE "--hw a100 --model deepseek-v2-lite --task generate --engine ikllama "
#define LITE BASE "--ctx 8k "

static struct vs_plan plan;
static struct vs_phase phase;

static void forget(void) {
    vs_plan_release(&plan);
    vs_phase_release(&phase);
    memset(&plan, 0, sizeof plan);
    memset(&phase, 0, sizeof phase);
}

static void end(void) {
    forget();
    sim_end();
}

static void plan_of(const char *words) {
    forget();
    sim_plan(&plan, words);
}

static size_t count_of(const char *what, double *flops) {
    size_t count = 0;
    for (size_t i = 0; i < phase.ops.count; i++) {
        if (strcmp(phase.ops.at[i].what, what) != 0)
            continue;
        *flops += phase.ops.at[i].flops;
        count++;
    }
    return count;
}

static double memory(const char *more, enum vs_metric metric) {
    return nearbyint(sim_bytes(sim_memory(sim_words(LITE, more)), metric));
}

/* Numbers that a layer caches of a token; blocks of 32 have 34 bytes in q8_0. */
START_TEST(cache_by_mode) {
    static const double numbers[] = {16 * (128 + 64) + 16 * 128, 512 + 64 + 512, 512 + 64,
                                     512 + 64};
    for (int mode = 0; mode < 4; mode++) {
        const char *half = vs_arena_printf(&sim_arena, "--weights q4_0 --mla %d", mode);
        const char *eight = vs_arena_printf(&sim_arena, "--weights q4_0 --kv q8_0 --mla %d", mode);
        ck_assert_double_eq(memory(half, VS_METRIC_KV_GIB), 27 * 8192 * 2 * numbers[mode]);
        ck_assert_double_eq(memory(eight, VS_METRIC_KV_GIB), 27 * 8192 * numbers[mode] * 34 / 32);
    }
    ck_assert_double_eq(memory("--weights q4_0", VS_METRIC_KV_GIB), 27.0 * 8192 * 2 * 576);
}
END_TEST

/* The halves of the matrix behind the latent, 512 x 16 x 128 each, stand beside the whole. */
START_TEST(halves_of_the_latent_matrix) {
    double whole = memory("--weights q8_0 --mla 0", VS_METRIC_WEIGHTS_GIB);
    ck_assert_double_eq(memory("--weights q8_0 --mla 2", VS_METRIC_WEIGHTS_GIB) - whole,
                        27.0 * 2 * 512 * 16 * 128 * 34 / 32);
}
END_TEST

/* Fused kernels make keys and values of all heads from the latents where a batch is large. */
START_TEST(unpacked_in_large_batches) {
    double flops = 0;
    plan_of(LITE "--weights q4_0 --mla 3");
    sim_prefill(&plan, &phase, 512, 0);
    ck_assert_uint_eq(count_of("latents unpacked", &flops), 27);
    ck_assert_double_eq(flops, 27.0 * 2 * 512 * 16 * (128 + 128) * 512);
    flops = 0;
    ck_assert_uint_eq(count_of("self_attn", &flops), 27);
    ck_assert_double_eq(flops, 27.0 * 2 * 16 * (128 + 64 + 128) * 512 * 256);
    ck_assert_uint_eq(count_of("rows of each expert read back", &flops), 26);
    vs_phase_release(&phase);
    memset(&phase, 0, sizeof phase);
    sim_prefill(&plan, &phase, 127, 0);
    ck_assert_uint_eq(count_of("latents unpacked", &flops), 0);
    plan_of(LITE "--weights q4_0 --mla 1");
    sim_prefill(&plan, &phase, 512, 0);
    ck_assert_uint_eq(count_of("latents unpacked", &flops), 0);
    plan_of(LITE "--weights q4_0 --mla 2 --attn naive");
    sim_prefill(&plan, &phase, 512, 0);
    ck_assert_uint_eq(count_of("latents unpacked", &flops), 0);
}
END_TEST

/* 64 MiB are room for the fp32 product of two heads of 32768 cells x 256 numbers, but not for the
 * scores of one head of 512 x 65536, which is the least. */
START_TEST(attention_buffer) {
    plan_of(BASE "--weights q4_0 --ctx 32768 --mla 3 --ubatch 512 --attn-buffer 64MiB");
    ck_assert_uint_eq(vs_compute_buffer(&plan, 0).bytes, 2 * 32768ull * 16 * 320 + (64ull << 20) +
                                                             2 * 512ull * 32768 +
                                                             4 * 512ull * 16 * 320);
    plan_of(BASE "--weights q4_0 --ctx 65536 --mla 3 --ubatch 512 --attn naive --attn-buffer "
                 "64MiB");
    ck_assert_uint_eq(vs_compute_buffer(&plan, 0).bytes,
                      4 * (2 * 512ull * 65536 + 512 * (6 * (2048 + 1408) + 2048)));
    /* outputs of the last layer twice, and the logits */
    plan_of(LITE "--weights q4_0 --mla 1 --ubatch 512");
    ck_assert_uint_eq(vs_compute_buffer(&plan, 0).bytes, 4 * 512ull * (2 * 2048 + 102400));
}
END_TEST

static void offloads(const char *words, uint64_t tokens, uint64_t expert_tokens) {
    plan_of(words);
    ck_assert_msg(plan.offload_tokens == tokens && plan.offload_expert_tokens == expert_tokens,
                  "%s: %llu %llu", words, (unsigned long long)plan.offload_tokens,
                  (unsigned long long)plan.offload_expert_tokens);
}

START_TEST(host_weights_in_large_batches) {
    offloads(LITE "--weights q4_0 --experts-cpu all", 32, 32 * 64 / 6 + 1);
    offloads(LITE "--weights q4_0 --experts-cpu all --op-offload on", 32, 32 * 64 / 6 + 1);
    offloads(LITE "--weights q4_0 --experts-cpu all --op-offload 100", 100, 100 * 64 / 6 + 1);
    offloads(LITE "--weights q4_0 --experts-cpu all --op-offload off", 0, 0);
    offloads(LITE "--weights q4_0 --experts-cpu all --repack on", 0, 0);
    offloads(LITE "--weights gguf:4.5 --experts-cpu all --repack on", 32, 32 * 64 / 6 + 1);
    offloads(LITE "--weights q8_0 --weights-experts gguf:4.5 --experts-cpu all --repack on", 0,
             32 * 64 / 6 + 1);
    offloads("--hw a100 --model mixtral-8x7b --task generate --engine llamacpp --weights q4_0", 32,
             32);
}
END_TEST

/* Experts of 341 tokens are the CPU's, whose inputs and outputs are in host memory; of 342 not. */
START_TEST(buffers_of_the_host) {
    plan_of(LITE "--weights q4_0 --experts-cpu all --ubatch 341");
    ck_assert_uint_eq(vs_host_compute_buffer(&plan), 4 * 341ull * (6 * (2048 + 1408) + 2048));
    plan_of(LITE "--weights q4_0 --experts-cpu all --ubatch 342");
    ck_assert_uint_eq(vs_host_compute_buffer(&plan), 4 * 342ull * (8192 + 2048));
}
END_TEST

static size_t on_cpu(const char *what) {
    size_t count = 0;
    for (size_t i = 0; i < phase.ops.count; i++)
        count += phase.ops.at[i].lane == VS_LANE_CPU && strcmp(phase.ops.at[i].what, what) == 0;
    return count;
}

/* Attention of host layers follows their matrices to the device in ik_llama.cpp; it stays with the
 * CPU where the matrices do, and in llama.cpp as it is modelled. */
START_TEST(attention_of_host_layers) {
    static const char HOST[] = "--hw a100 --model toy --task generate --weights q4_0 --ctx 4k "
                               "--gpu-layers 0 --engine ";
    plan_of(sim_words(HOST, "ikllama"));
    uint32_t layers = plan.c->model->layers;
    sim_prefill(&plan, &phase, 512, 0);
    ck_assert_uint_eq(on_cpu("self_attn"), 0);
    plan_of(sim_words(HOST, "ikllama --op-offload off"));
    sim_prefill(&plan, &phase, 512, 0);
    ck_assert_uint_eq(on_cpu("self_attn"), layers);
    plan_of(sim_words(HOST, "llamacpp"));
    sim_prefill(&plan, &phase, 512, 0);
    ck_assert_uint_eq(on_cpu("self_attn"), layers);
}
END_TEST

START_TEST(batches_bound_passes) {
    plan_of("--hw a100 --model toy --task generate --engine llamacpp --weights q4_0 --ctx 4k "
            "--max-batched-tokens 128");
    ck_assert_uint_eq(plan.ubatch, 128);
    ck_assert_uint_eq(plan.step_tokens, 0);
    plan_of("--hw a100 --model toy --task generate --engine llamacpp --weights q4_0 --ctx 4k "
            "--max-batched-tokens 4096");
    ck_assert_uint_eq(plan.ubatch, 512);
}
END_TEST

/* KTransformers: experts in host memory unless said otherwise. */
START_TEST(experts_of_ktransformers) {
    plan_of("--hw rtx4090 --model deepseek-v2-lite --task generate --engine ktransformers "
            "--weights int4");
    for (size_t i = 0; i < plan.weight_count; i++) {
        enum vs_role role = plan.weights[i].tensor->role;
        bool expert = role >= VS_ROLE_EXPERT_GATE && role <= VS_ROLE_EXPERT_DOWN;
        ck_assert_int_eq(vs_on_gpu(plan.weights[i].home), !expert);
    }
    ck_assert_uint_eq(plan.offload_expert_tokens, 4096);
}
END_TEST

/* Absorbed latents count their FLOPs in decoding: 16 heads, 2 for each number of key and value.
 * Cells of heads of their own are read only. */
START_TEST(decoding_works_on_latents) {
    double flops = 0;
    plan_of(LITE "--weights q4_0 --mla 3 --prompt 99 --gen 1");
    sim_decode(&plan, &phase, 99);
    ck_assert_uint_eq(count_of("self_attn", &flops), 27);
    ck_assert_double_eq(flops, 27.0 * 2 * 16 * (576 + 512) * 99.5);
    for (size_t i = 0; i < phase.ops.count; i++)
        if (strcmp(phase.ops.at[i].what, "self_attn") == 0)
            ck_assert_double_eq(phase.ops.at[i].efficiency, 0.32);
    plan_of(LITE "--weights q4_0 --mla 0 --prompt 99 --gen 1");
    sim_decode(&plan, &phase, 99);
    for (size_t i = 0; i < phase.ops.count; i++)
        if (strcmp(phase.ops.at[i].what, "self_attn") == 0)
            ck_assert_double_eq(phase.ops.at[i].efficiency, 0);
}
END_TEST

/* The hidden state goes to the CPU once for a layer, whether all of its MLP is there or its experts
 * alone; attention stands before it. Of 27 layers the first is dense. */
START_TEST(mlp_on_the_host_follows_attention) {
    double none = 0;
    plan_of(LITE "--weights q4_0 --override-tensor exps=CPU --prompt 99 --gen 1");
    sim_decode(&plan, &phase, 99);
    ck_assert_uint_eq(count_of("hidden state", &none), 2 * 26);
    plan_of(LITE "--weights q4_0 --override-tensor ffn.*=CPU --prompt 99 --gen 1");
    sim_decode(&plan, &phase, 99);
    ck_assert_uint_eq(count_of("hidden state", &none), 2 * 27);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("latent attention");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, NULL, end);
    tcase_add_test(tests, cache_by_mode);
    tcase_add_test(tests, halves_of_the_latent_matrix);
    tcase_add_test(tests, unpacked_in_large_batches);
    tcase_add_test(tests, attention_buffer);
    tcase_add_test(tests, host_weights_in_large_batches);
    tcase_add_test(tests, buffers_of_the_host);
    tcase_add_test(tests, attention_of_host_layers);
    tcase_add_test(tests, batches_bound_passes);
    tcase_add_test(tests, experts_of_ktransformers);
    tcase_add_test(tests, decoding_works_on_latents);
    tcase_add_test(tests, mlp_on_the_host_follows_attention);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
