/* Whole training runs: states, published peaks, where the 70B stops, work and time of a step. */
#include <stdio.h>

#include "plan_helpers.h"
#include "unit/suite.h"

static double bytes_of(const struct vs_outcome *o, enum vs_metric metric) {
    return nearbyint(sim_bytes(o, metric));
}

/* ---- states ---- */

enum { FEW = 8192 /* bytes of activations of one token, where the peak is not in the update */ };

/* One token, so that nothing but states matters. Bytes per parameter: weights, gradients, optimizer
 * (states and master copies); what the optimizer step needs beside them. */
START_TEST(bytes_per_parameter) {
    static const struct {
        const char *more;
        double weights, gradients, optimizer, temporary;
    } CASES[] = {
        {"--precision bf16", 2, 2, 4, 0},
        {"--precision bf16 --optim-impl foreach", 2, 2, 4, 2},
        {"--precision bf16 --optim-impl loop", 2, 2, 4, 0},
        {"--precision mixed-bf16", 2, 2, 12, 4},
        {"--precision mixed-fp16", 2, 2, 12, 4},
        {"--precision fp32", 4, 4, 8, 0},
        {"--precision fp32 --optim-impl foreach", 4, 4, 8, 4},
        {"--precision mixed-bf16 --weights fp32", 4, 4, 8, 0},
        {"--precision bf16 --optim sgd", 2, 2, 0, 0},
        {"--precision bf16 --optim sgd-momentum", 2, 2, 2, 0},
        {"--precision fp32 --optim sgd-momentum", 4, 4, 4, 0},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const char *words = sim_words(TOY_TRAIN "--method full --seq 1", CASES[i].more);
        const struct vs_outcome *o = sim_memory(words);
        ck_assert_double_eq(bytes_of(o, VS_METRIC_WEIGHTS_GIB), CASES[i].weights * TOY_PARAMS);
        ck_assert_double_eq(bytes_of(o, VS_METRIC_GRADIENTS_GIB), CASES[i].gradients * TOY_PARAMS);
        ck_assert_msg(bytes_of(o, VS_METRIC_OPTIMIZER_GIB) == CASES[i].optimizer * TOY_PARAMS,
                      "%s: optimizer %.0f, expected %.0f", CASES[i].more,
                      bytes_of(o, VS_METRIC_OPTIMIZER_GIB), CASES[i].optimizer * TOY_PARAMS);
        double all =
            CASES[i].weights + CASES[i].gradients + CASES[i].optimizer + CASES[i].temporary;
        double peak = (double)o->pools[0].peak_allocated_bytes;
        ck_assert_msg(peak >= all * TOY_PARAMS && peak <= all * TOY_PARAMS + FEW,
                      "%s: %.0f, expected %.0f", CASES[i].more, peak, all * TOY_PARAMS);
    }
}
END_TEST

/* bitsandbytes: 8-bit states with an fp32 scale for 256, 2.03125 bytes a parameter; tensors below
 * 4096 elements (the nine norms of 256) in fp32. 32-bit states are fp32 whatever the parameters are
 * (bitsandbytes/optim/optimizer.py: get_state_buffer). */
START_TEST(states_of_bitsandbytes) {
    const double large = TOY_PARAMS - 9 * 256, small = 9 * 256;
    static const char *const FULL = TOY_TRAIN "--method full --precision bf16 --seq 1 --optim";
    const struct vs_outcome *o = sim_memory(sim_words(FULL, "adamw8bit"));
    ck_assert_double_eq(bytes_of(o, VS_METRIC_OPTIMIZER_GIB), large * 2.03125 + small * 8);
    o = sim_memory(sim_words(FULL, "paged-adamw"));
    uint64_t pages = sim_tag(o, "gpu0", "optimizer") + sim_tag(o, "host", "optimizer");
    ck_assert_uint_ge(pages, 8ULL * TOY_PARAMS);
    ck_assert_uint_le(pages, 8ULL * TOY_PARAMS + 2 * 7 * 2 * MIB); /* whole pages of 2 MiB */
}
END_TEST

/* LoRA of rank 16 on all matrices of the toy: 376,832 parameters, 16 bytes each. */
START_TEST(states_of_adapters) {
    const double params = 4.0 * 16 * (4 * 512 + 3 * 1280);
    const struct vs_outcome *o =
        sim_memory(TOY_TRAIN "--method lora --lora-rank 16 --optim-impl foreach --seq 1");
    ck_assert_double_eq(bytes_of(o, VS_METRIC_WEIGHTS_GIB), 2.0 * TOY_PARAMS + 4 * params);
    ck_assert_double_eq(bytes_of(o, VS_METRIC_GRADIENTS_GIB), 4 * params);
    ck_assert_double_eq(bytes_of(o, VS_METRIC_OPTIMIZER_GIB), 8 * params);
    ck_assert_double_eq((double)o->pools[0].peak_allocated_bytes, 2.0 * TOY_PARAMS + 20 * params);
}
END_TEST

#define LLAMA2_FULL                                                                                \
    "--hw h100-sxm --model llama-2-7b --engine ideal --task train --method full --precision "      \
    "mixed-bf16 --optim adamw --attn flash --ckpt none "

/* 6,738,415,616 parameters of 16 bytes; with the activations of 4 x 2048 tokens over 140 GB. */
START_TEST(llama2_mixed_precision) {
    const struct vs_outcome *o =
        sim_memory(LLAMA2_FULL "--seq 2048 --micro-batch 4 --kernels eager");
    double states = bytes_of(o, VS_METRIC_WEIGHTS_GIB) + bytes_of(o, VS_METRIC_GRADIENTS_GIB) +
                    bytes_of(o, VS_METRIC_OPTIMIZER_GIB);
    ck_assert_double_eq(states, 107814649856.0);
    ck_assert(!o->fits);
    ck_assert_double_gt((double)o->pools[0].peak_bytes, 140e9);
    ck_assert_double_gt((double)o->oom->needed_bytes, 140e9);
}
END_TEST

/* With accumulation the gradients of the first micro-step are alive in the forward of the second:
 * 2 bytes a parameter more where the peak is at the loss. From the second step on so are states. */
START_TEST(gradient_accumulation) {
    static const char *const WORDS = TOY_TRAIN "--method full --ckpt full --seq 4096 --accum";
    const struct vs_outcome *one = sim_memory(sim_words(WORDS, "1"));
    const struct vs_outcome *four = sim_memory(sim_words(WORDS, "4"));
    ck_assert_uint_eq(sim_tag(one, "gpu0", "gradients"), 0);
    ck_assert_uint_eq(sim_tag(four, "gpu0", "gradients"), 2ULL * TOY_PARAMS);
    ck_assert_uint_eq(four->pools[0].peak_bytes - one->pools[0].peak_bytes, 2ULL * TOY_PARAMS);
    ck_assert_uint_eq(sim_tag(one, "gpu0", "optimizer"), 4ULL * TOY_PARAMS);
    ck_assert_uint_eq(sim_tag(one, "gpu0", "logits"), 14ULL * 4096 * 4096 - 8 * 4096);
}
END_TEST

/* ---- published peaks ---- */

/* GiB that PyTorch calls allocated, one A100 80 GB: foundation-model-stack/fms-acceleration,
 * scripts/benchmarks/refs/a100_80gb.csv and a100_80gb_liger.csv @876e2ed6f. */
START_TEST(published_peaks) {
    static const struct {
        const char *args;
        double gib;
    } CASES[] = {
        /* full fine-tuning, the foreach step: 10 bytes a parameter */
        {"--model mistral-7b-v0.1 --method full --weights bf16 --precision bf16 --optim adamw "
         "--optim-impl foreach --seq 4096 --micro-batch 4 --attn flash --loss full --ckpt full",
         67.4602},
        /* LoRA, the loss */
        {"--model mistral-7b-v0.1 --method lora --lora-rank 16 --lora-targets q+k+v+o "
         "--lora-dropout 0.1 --weights bf16 --precision bf16 --optim adamw --optim-impl foreach "
         "--seq 4096 --micro-batch 4 --attn flash --loss full --ckpt full",
         24.8706},
        /* QLoRA, backward of a layer: static 5.46, checkpoints 8.00, layer 7.88 */
        {"--model llama-3-8b --method qlora --lora-rank 16 --lora-targets q+k+v+o --lora-dropout "
         "0.1 --weights nf4-dq --kbit-upcast off --precision amp --optim adamw --optim-impl "
         "foreach --seq 4096 --micro-batch 8 --attn flash --kernels fused --loss fused --ckpt full",
         21.3615},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const struct vs_outcome *o =
            sim_memory(sim_words("--hw a100-80g-sxm --engine hf --task train", CASES[i].args));
        ck_assert(o->fits);
        ck_assert_near(o->metrics[VS_METRIC_PEAK_ALLOC_GIB], CASES[i].gib, 0.02);
        if (i == 2)
            ck_assert_uint_eq(sim_tag(o, "gpu0", "checkpoints"), 8 * GIB);
    }
}
END_TEST

/* Llama 3 70B, 24 GB: 68.45e9 linear weights in NF4 and 2.10e9 in bf16 are 42.7 GB, 39.5 GB with
 * double quantization: it stops while loading, at some layer, whatever the optimizer is. */
START_TEST(the_70b_stops_while_loading) {
    static const char *const OPTIMIZERS[] = {"adamw", "adamw8bit", "paged-adamw8bit"};
    static const char *const BASE = "--hw rtx4090 --workload qlora70b --engine hf --kbit-upcast "
                                    "off --weights nf4 --optim";
    int32_t layer = -1;
    for (size_t i = 0; i < 3; i++) {
        const struct vs_outcome *o = sim_run(sim_words(BASE, OPTIMIZERS[i]));
        int n = -1;
        ck_assert(!o->fits);
        ck_assert_str_eq(o->oom->phase, "load");
        ck_assert_str_eq(o->oom->pool, "gpu0");
        ck_assert_int_eq(sscanf(o->oom->tensor, "model.layers.%d.", &n), 1);
        ck_assert(n > 30 && n < 60 && (layer < 0 || n == layer));
        layer = n;
        ck_assert_uint_gt(o->oom->short_bytes, 0);
        ck_assert_uint_gt(o->oom->in_use_bytes + o->oom->requested_bytes, o->oom->capacity_bytes);
        ck_assert(o->oom->at_s > 0);
        ck_assert_near(sim_bytes(o, VS_METRIC_WEIGHTS_GIB) -
                           sim_bytes(o, VS_METRIC_GRADIENTS_GIB), /* adapters are as large */
                       42.7e9, 5e-3);
        ck_assert(isnan(o->metrics[VS_METRIC_TRAIN_TPS]));
        ck_assert_ptr_null(o->bound_by);
    }
    const struct vs_outcome *o = sim_memory("--hw rtx4090 --workload qlora70b --engine hf "
                                            "--kbit-upcast off");
    double adapters = sim_bytes(o, VS_METRIC_GRADIENTS_GIB);
    ck_assert_near(sim_bytes(o, VS_METRIC_WEIGHTS_GIB) - adapters, 39.5e9, 5e-3);
    o = sim_memory("--hw rtx4090 --workload qlora70b --engine hf --kbit-upcast on");
    ck_assert_near(sim_tag(o, "gpu0", "weights"), 43.7e9, 5e-3);
}
END_TEST

/* What fits a 24 GB card: FSDP with its parameters in RAM holds two units and the root. */
START_TEST(the_70b_in_units) {
    const struct vs_outcome *o = sim_memory("--hw rtx4090 --workload qlora70b --engine fsdp "
                                            "--offload-param cpu --optim adamw --loss fused");
    ck_assert(o->fits);
    ck_assert_double_lt(o->metrics[VS_METRIC_PEAK_VRAM_GIB], 23);
    ck_assert_double_gt(o->metrics[VS_METRIC_PEAK_RAM_GIB], 39.5e9 / (double)GIB);
}
END_TEST

/* ---- work and time ---- */

static double sum(enum vs_work_kind kind, bool flops) {
    double all = 0;
    for (size_t i = 0; i < phase.ops.count; i++)
        if (phase.ops.at[i].kind == kind)
            all += flops ? phase.ops.at[i].flops : phase.ops.at[i].bytes;
    return all;
}

static void micro_step(const char *words) {
    forget();
    sim_plan(&plan, words);
    sim_micro_step(&plan, &phase);
}

/* Matrix products in units of 2 T x parameters: forward 1, input gradients 1, weight gradients 1 (0
 * where frozen), recomputation 1. Attention in units of 4 T s Q: half forward (causal), 1.25
 * backward. */
START_TEST(flops) {
    static const struct {
        const char *more;
        double layer_passes, head_passes, attention;
    } CASES[] = {
        {"--method full --ckpt none", 3, 3, 1.75},   {"--method full --ckpt full", 4, 3, 2.25},
        {"--method full --ckpt every:2", 3.5, 3, 2}, {"--method full --ckpt sqrt", 4, 3, 2.25},
        {"--method lora --ckpt none", 2, 2, 1.75},   {"--method lora --ckpt full", 3, 2, 2.25},
        {"--method full --loss fused", 3, 3, 1.75},  {"--method lora --loss fused", 2, 2, 1.75},
    };
    const double T = 3 * 128.0;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        micro_step(sim_words(TOY_TRAIN "--seq 128 --micro-batch 3", CASES[i].more));
        ck_assert_msg(sum(VS_WORK_GEMM, true) ==
                          2 * T * TOY_LINEAR * (4 * CASES[i].layer_passes + CASES[i].head_passes),
                      "%s: %g", CASES[i].more, sum(VS_WORK_GEMM, true) / (2 * T * TOY_LINEAR));
        ck_assert_double_eq(sum(VS_WORK_ATTENTION, true),
                            4 * 4 * T * 128 * 256 * CASES[i].attention);
    }
}
END_TEST

/* Rank 16: x A and x AB forward, three products of their size backward (two for the gradients of A
 * and B, and the input's). */
START_TEST(flops_of_adapters) {
    micro_step(TOY_TRAIN "--seq 128 --method lora --lora-rank 16");
    const double params = 4.0 * 16 * (4 * 512 + 3 * 1280);
    ck_assert_double_eq(sum(VS_WORK_ADAPTER, true), (2 + 4) * 128 * params);
}
END_TEST

/* Layers cross the link 2 L - 1 times for L layers: the last stays for its backward. */
START_TEST(traffic_of_streaming) {
    micro_step(TOY_TRAIN "--method lora --offload stream --seq 64");
    ck_assert_double_eq(sum(VS_WORK_COPY, false), 7.0 * TOY_LAYER_BYTES);
}
END_TEST

/* One lane and one memory: the step takes the sum of what each operation takes alone, the longer of
 * its FLOPs at 10 TFLOP/s and its bytes at 100 GB/s. */
START_TEST(time_of_a_step) {
    static const char *const WORDS = TOY_TRAIN "--method full --seq 512 --accum 4 --ckpt full";
    double micro = 0, update = 0;
    struct vs_err err = {0};
    micro_step(WORDS);
    sim_executor(&x, &plan);
    for (size_t i = 0; i < phase.ops.count; i++) {
        const struct vs_op *op = &phase.ops.at[i];
        micro += fmax(op->flops / 10e12, op->bytes / 100e9);
    }
    ck_assert_near(sim_time(&x, &phase), micro, 1e-8);
    ck_assert(vs_emit_optimizer_step(&plan, &phase, &err));
    for (size_t i = 0; i < phase.ops.count; i++)
        update += phase.ops.at[i].bytes / 100e9;
    const struct vs_outcome *o = sim_run(WORDS);
    double step = 4 * micro + update;
    ck_assert_near(o->metrics[VS_METRIC_STEP_TIME_S], step, 1e-8);
    ck_assert_near(o->metrics[VS_METRIC_TRAIN_TPS], 4 * 512 / step, 1e-8);
    ck_assert_near(o->metrics[VS_METRIC_MFU], 6.0 * TOY_PARAMS * 4 * 512 / step / 10e12, 1e-8);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("training");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, NULL, end);
    tcase_add_test(tests, bytes_per_parameter);
    tcase_add_test(tests, states_of_bitsandbytes);
    tcase_add_test(tests, states_of_adapters);
    tcase_add_test(tests, llama2_mixed_precision);
    tcase_add_test(tests, gradient_accumulation);
    tcase_add_test(tests, published_peaks);
    tcase_add_test(tests, the_70b_stops_while_loading);
    tcase_add_test(tests, the_70b_in_units);
    tcase_add_test(tests, flops);
    tcase_add_test(tests, flops_of_adapters);
    tcase_add_test(tests, traffic_of_streaming);
    tcase_add_test(tests, time_of_a_step);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
