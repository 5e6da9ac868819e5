/* The layout and its strategies, and how phases are written: emit, fetch, load. */
#include <string.h>

#include "memory/pool.h"
#include "plan/fetch.h"
#include "plan/rules/compute_buffer.h"
#include "sim_helpers.h"

static struct vs_plan plan;
static struct vs_phase phase;

static void end(void) {
    vs_plan_release(&plan);
    vs_phase_release(&phase);
    memset(&plan, 0, sizeof plan);
    memset(&phase, 0, sizeof phase);
    sim_end();
}

/* Bytes of the weights at a home. */
static uint64_t at_home(enum vs_home home) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < plan.weight_count; i++)
        bytes += plan.weights[i].home == home ? plan.weights[i].bytes : 0;
    return bytes;
}

static uint64_t adapter_params(void) {
    uint64_t params = 0;
    for (size_t i = 0; i < plan.weight_count; i++)
        params += vs_weight_adapter_params(&plan.weights[i]);
    return params;
}

/* Of the model itself. */
static uint64_t trainable_params(void) {
    uint64_t params = 0;
    for (size_t i = 0; i < plan.weight_count; i++)
        params += plan.weights[i].trainable ? vs_tensor_params(plan.weights[i].tensor) : 0;
    return params;
}

/* ---- layout ---- */

/* Embedding, four layers of seven matrices and two norms, the last norm, the head: 39 tensors. */
START_TEST(layout_of_the_toy) {
    sim_plan(&plan, TOY_GENERATE);
    ck_assert_uint_eq(plan.weight_count, 1 + 4 * 9 + 2);
    ck_assert_uint_eq(at_home(VS_HOME_GPU), 2 * TOY_PARAMS);
    for (uint32_t l = 0; l < 4; l++) {
        uint64_t bytes = 0;
        ck_assert_uint_eq(plan.layers[l].first_weight, 1 + 9 * l);
        ck_assert_uint_eq(plan.layers[l].weight_count, 9);
        for (uint32_t i = 0; i < 9; i++) {
            ck_assert_int_eq(plan.weights[plan.layers[l].first_weight + i].tensor->layer,
                             (int32_t)l);
            bytes += plan.weights[plan.layers[l].first_weight + i].bytes;
        }
        ck_assert_uint_eq(bytes, TOY_LAYER_BYTES);
        ck_assert(!plan.layers[l].on_cpu && !plan.layers[l].checkpointed);
    }
    ck_assert(!plan.streaming && !plan.gather_units);
}
END_TEST

/* q8_0: 34 bytes for 32 weights; norms stay fp32 as GGUF stores them. */
START_TEST(formats) {
    sim_plan(&plan, TOY "--task generate --weights q8_0");
    const struct vs_weight *q = vs_layer_weight(&plan, 2, VS_ROLE_Q);
    ck_assert_str_eq(q->type->name, "q8_0");
    ck_assert_uint_eq(q->bytes, 256 * 256 / 32 * 34);
    ck_assert_uint_eq(q->file_bytes, q->bytes);
    vs_plan_release(&plan);
    /* NF4: half a byte and 4 bytes per block of 64; loaded from 16 bit. */
    sim_plan(&plan, TOY_TRAIN "--method qlora --weights nf4");
    q = vs_layer_weight(&plan, 2, VS_ROLE_Q);
    ck_assert_str_eq(q->type->name, "nf4");
    ck_assert_uint_ge(q->bytes, 256 * 256 / 2 + 256 * 256 / 64 * 4);
    ck_assert_uint_le(q->bytes, 256 * 256 / 2 + 256 * 256 / 64 * 4 + 256);
    ck_assert_uint_eq(q->file_bytes, 256 * 256 * 2);
    ck_assert_uint_eq(plan.weights[0].bytes, 2 * TOY_LINEAR); /* the embedding stays */
}
END_TEST

/* NF4 with double quantization, Llama 2 7B: 6,476,005,376 linear weights take 3.111 GiB
 * (bitsandbytes: half a byte, a byte for 64, an fp32 for 256 of those). */
START_TEST(nf4_bytes) {
    sim_plan(&plan, "--hw a100 --model llama-2-7b --engine hf --task train --method qlora "
                    "--weights nf4-dq");
    uint64_t params = 0, bytes = 0;
    for (size_t i = 0; i < plan.weight_count; i++) {
        if (!vs_role_is_linear(plan.weights[i].tensor->role))
            continue;
        params += vs_tensor_params(plan.weights[i].tensor);
        bytes += plan.weights[i].bytes;
    }
    ck_assert_uint_eq(params, 6476005376);
    ck_assert_near(bytes, 6476005376 * (0.5 + 1.0 / 64 + 4.0 / 16384), 1e-4);
    ck_assert_near(bytes, 3.111 * (double)GIB, 5e-4);
}
END_TEST

/* PEFT makes embeddings, head and norms fp32: 2 bytes more for each of those parameters. */
START_TEST(kbit_upcast) {
    sim_plan(&plan, TOY_TRAIN "--method qlora --weights nf4 --kbit-upcast on");
    ck_assert(plan.kbit_upcast);
    ck_assert_uint_eq(plan.weights[0].bytes, 4 * TOY_LINEAR);
    ck_assert_uint_eq(plan.weights[0].file_bytes, 2 * TOY_LINEAR);
    ck_assert_uint_eq(plan.precision.residual, 4);
    ck_assert_uint_eq(plan.precision.compute, 2);
}
END_TEST

/* Rank 16 beside a matrix of rows x cols is 16 (rows + cols) parameters. */
START_TEST(adapters) {
    static const struct {
        const char *targets;
        uint64_t sides; /* rows + columns, all targets of a layer */
    } CASES[] = {
        {"q", 512},        {"q+v", 1024},  {"qv", 1024},          {"qkv", 1536},
        {"q+k+v+o", 2048}, {"down", 1280}, {"gate+up", 2 * 1280}, {"all", 4 * 512 + 3 * 1280},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        sim_plan(&plan, sim_words(TOY_TRAIN "--method lora --lora-rank 16 --lora-targets",
                                  CASES[i].targets));
        ck_assert(plan.adapters);
        ck_assert_uint_eq(adapter_params(), 4 * 16 * CASES[i].sides);
        ck_assert_uint_eq(trainable_params(), 0);
        vs_plan_release(&plan);
    }
    sim_plan(&plan, TOY_TRAIN "--method full");
    ck_assert(!plan.adapters);
    ck_assert_uint_eq(adapter_params(), 0);
    ck_assert_uint_eq(trainable_params(), TOY_PARAMS);
}
END_TEST

/* Segments of each layer: '-' none, '1' a segment of one begins, '.' inside a segment. */
START_TEST(checkpoints) {
    static const struct {
        const char *ckpt, *segments;
    } CASES[] = {
        {"none", "----"},    {"full", "1111"},    {"every:1", "1111"}, {"every:2", "1-1-"},
        {"every:3", "1--1"}, {"every:4", "1---"}, {"sqrt", "2.2."},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        char found[5] = {0};
        sim_plan(&plan, sim_words(TOY_TRAIN "--ckpt", CASES[i].ckpt));
        for (uint32_t l = 0; l < 4; l++) {
            const struct vs_layer *layer = &plan.layers[l];
            found[l] = layer->segment > 0    ? (char)('0' + layer->segment)
                       : layer->checkpointed ? '.'
                                             : '-';
            ck_assert(layer->segment == 0 || layer->checkpointed);
        }
        ck_assert_str_eq(found, CASES[i].segments);
        vs_plan_release(&plan);
    }
}
END_TEST

/* Bytes per parameter: gradient, master, one state, residual stream. */
START_TEST(precisions) {
    static const struct {
        const char *more;
        unsigned compute, residual, grad, master, state;
    } CASES[] = {
        {"--precision bf16", 2, 2, 2, 0, 2},
        {"--precision mixed-bf16", 2, 2, 2, 4, 4},
        {"--precision mixed-fp16", 2, 2, 2, 4, 4},
        {"--precision mixed-bf16 --weights fp32", 2, 2, 4, 0, 4},
        {"--precision amp", 2, 4, 4, 0, 4},
        {"--precision amp --weights bf16", 2, 2, 2, 0, 2},
        {"--precision fp32", 4, 4, 4, 0, 4},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        sim_plan(&plan, sim_words(TOY_TRAIN, CASES[i].more));
        const struct vs_precision *p = &plan.precision;
        ck_assert_msg(p->compute == CASES[i].compute && p->residual == CASES[i].residual &&
                          p->grad == CASES[i].grad && p->master == CASES[i].master &&
                          p->state == CASES[i].state,
                      "%s: %u %u %u %u %u", CASES[i].more, p->compute, p->residual, p->grad,
                      p->master, p->state);
        vs_plan_release(&plan);
    }
}
END_TEST

START_TEST(optimizers) {
    static const struct {
        const char *more;
        struct vs_optimizer o;
    } CASES[] = {
        {"adamw --optim-impl foreach", {.states = 2, .foreach = true}},
        {"adamw --optim-impl fused", {.states = 2, .fused = true}},
        {"adamw --optim-impl loop", {.states = 2}},
        {"adamw8bit", {.states = 2, .eight_bit = true, .fused = true}},
        {"paged-adamw", {.states = 2, .paged = true, .fused = true}},
        {"paged-adamw8bit", {.states = 2, .eight_bit = true, .paged = true, .fused = true}},
        {"sgd --optim-impl loop", {.states = 0}},
        {"sgd-momentum --optim-impl loop", {.states = 1}},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        sim_plan(&plan, sim_words(TOY_TRAIN "--optim", CASES[i].more));
        const struct vs_optimizer *a = &plan.optimizer, *b = &CASES[i].o;
        ck_assert_msg(a->states == b->states && a->eight_bit == b->eight_bit &&
                          a->paged == b->paged && a->foreach == b->foreach && a->fused == b->fused,
                      "%s", CASES[i].more);
        vs_plan_release(&plan);
    }
}
END_TEST

/* ---- placement ---- */

/* The last N layers on the GPU, the head with N = layers + 1; ideal keeps the embedding there. */
START_TEST(layers_on_the_gpu) {
    static const struct {
        const char *n;
        uint64_t gpu_layers, head;
    } CASES[] = {{"0", 0, 0}, {"1", 1, 0}, {"3", 3, 0}, {"4", 4, 0}, {"5", 4, 1}, {"all", 4, 1}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        sim_plan(&plan, sim_words(TOY_GENERATE "--offload cpu --gpu-layers", CASES[i].n));
        uint64_t host = (4 - CASES[i].gpu_layers) * TOY_LAYER_BYTES +
                        (1 - CASES[i].head) * (2 * TOY_LINEAR + 2 * 256);
        ck_assert_uint_eq(at_home(VS_HOME_HOST), host);
        ck_assert_uint_eq(at_home(VS_HOME_GPU), 2 * TOY_PARAMS - host);
        for (uint32_t l = 0; l < 4; l++)
            ck_assert_int_eq(plan.layers[l].on_cpu, l + CASES[i].gpu_layers < 4);
        vs_plan_release(&plan);
    }
}
END_TEST

/* llama.cpp: token embeddings stay on the host whatever is asked for. */
START_TEST(llamacpp_keeps_embeddings) {
    sim_plan(&plan, "--hw toy --model toy --engine llamacpp --task generate --weights fp16");
    ck_assert_uint_eq(at_home(VS_HOME_HOST), plan.weights[0].bytes);
    ck_assert_int_eq(plan.weights[0].home, VS_HOME_HOST);
    /* One memory: nothing moves, but the CPU computes what is not the GPU's, the head too. */
    vs_plan_release(&plan);
    sim_plan(&plan, "--hw m2-ultra --model toy --engine llamacpp --task generate --weights fp16 "
                    "-ngl 2");
    for (uint32_t l = 0; l < 4; l++)
        ck_assert_int_eq(plan.layers[l].on_cpu, l < 2);
}
END_TEST

START_TEST(streamed_layers) {
    sim_plan(&plan, TOY_GENERATE "--offload stream");
    ck_assert(plan.streaming && plan.pinned && !plan.gather_units);
    ck_assert_uint_eq(plan.prefetch, 1);
    ck_assert_uint_eq(at_home(VS_HOME_PINNED), 4 * TOY_LAYER_BYTES);
    ck_assert_uint_eq(vs_unit_fetch_bytes(&plan, 0), TOY_LAYER_BYTES);
    vs_plan_release(&plan);
    sim_plan(&plan, TOY_GENERATE "--offload stream --gpu-layers 1 --prefetch 3");
    ck_assert_uint_eq(plan.prefetch, 3);
    ck_assert_uint_eq(at_home(VS_HOME_PINNED), 3 * TOY_LAYER_BYTES);
    ck_assert_uint_eq(vs_unit_fetch_bytes(&plan, 2), TOY_LAYER_BYTES);
    ck_assert_uint_eq(vs_unit_fetch_bytes(&plan, 3), 0);
}
END_TEST

/* FSDP: everything in page-locked memory, one unit ahead, the optimizer on the CPU. */
START_TEST(offloaded_parameters) {
    sim_plan(&plan, TOY_TRAIN "--offload-param cpu");
    ck_assert(plan.streaming && plan.pinned && plan.gather_units && plan.optimizer_on_cpu);
    ck_assert_uint_eq(at_home(VS_HOME_PINNED), 2 * TOY_PARAMS);
    vs_plan_release(&plan);
    sim_plan(&plan, TOY_TRAIN "--offload-param cpu --pin-memory off");
    ck_assert(!plan.pinned);
    ck_assert_uint_eq(at_home(VS_HOME_HOST), 2 * TOY_PARAMS);
}
END_TEST

START_TEST(stages_are_in_order) {
    static const char *const ORDER[] = {"shard", "adapt", "quantize", "checkpoint",
                                        "train", "kv",    "place"};
    size_t count, stage = 0;
    const struct vs_strategy *const *all = vs_strategies(&count);
    ck_assert_uint_ge(count, 11);
    for (size_t i = 0; i < count; i++) {
        while (stage < 7 && strcmp(ORDER[stage], all[i]->stage) != 0)
            stage++;
        ck_assert_msg(stage < 7, "%s stands behind its stage %s", all[i]->name, all[i]->stage);
        ck_assert_str_ne(all[i]->help, "");
        for (size_t k = 0; k < i; k++)
            ck_assert_str_ne(all[i]->name, all[k]->name);
    }
}
END_TEST

/* ---- KV cache and compute buffers ---- */

static uint64_t kv_of(const char *words) {
    sim_plan(&plan, words);
    uint64_t bytes = 0, batch = (uint64_t)vs_count(&plan.c->axes, VS_AXIS_BATCH);
    for (uint32_t l = 0; l < plan.c->model->layers; l++)
        bytes += batch * vs_kv_layer_bytes(plan.c->model, l, plan.kv_cells, plan.kv_k, plan.kv_v);
    vs_plan_release(&plan);
    return bytes;
}

#define LLAMA2 "--hw a100 --model llama-2-7b --task generate --weights fp16 --engine llamacpp "

/* 2 (K and V) x 32 layers x 32 heads x 128 x 2 bytes = 512 KiB a token. */
START_TEST(kv_bytes) {
    ck_assert_uint_eq(kv_of(LLAMA2 "--ctx 8k"), 4294967296);
    ck_assert_uint_eq(kv_of(LLAMA2 "--ctx 32k"), 16 * GIB);
    ck_assert_uint_eq(kv_of(LLAMA2 "--ctx 32k --batch 4"), 64 * GIB);
    /* llama.cpp's KV buffer at 4096: 2 GiB; q8_0 is 34/64 and q4_0 18/64 of it. */
    ck_assert_uint_eq(kv_of(LLAMA2 "--ctx 4096"), 2 * GIB);
    ck_assert_uint_eq(kv_of(LLAMA2 "--ctx 4096 --kv q8_0"), 1088 * MIB);
    ck_assert_uint_eq(kv_of(LLAMA2 "--ctx 4096 --kv q4_0"), 576 * MIB);
    ck_assert_uint_eq(kv_of(LLAMA2 "--ctx 4096 --kv-k q8_0 --kv-v q4_0"), (1088 + 576) * MIB / 2);
}
END_TEST

/* llama.cpp pads the context: to 32 cells, with flash attention and in newer builds to 256
 * (ggerganov/llama.cpp@c392e509, src/llama-kv-cache.cpp). Ideal does not. */
START_TEST(kv_padding) {
    static const struct {
        const char *more;
        uint64_t cells;
    } CASES[] = {
        {"--engine ideal --ctx 641", 641},
        {"--engine llamacpp --engine-version b2824 --ctx 641", 672},
        {"--engine llamacpp --engine-version b2824 --ctx 641 --attn flash", 768},
        {"--engine llamacpp --ctx 641", 768},
        {"--engine llamacpp --ctx 768", 768},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        sim_plan(&plan,
                 sim_words("--hw toy --model toy --task generate --weights fp16", CASES[i].more));
        ck_assert_uint_eq(plan.kv_cells, CASES[i].cells);
        vs_plan_release(&plan);
    }
}
END_TEST

/* Logged by llama.cpp for Llama 3 8B at 512 tokens a pass: "CUDA0 compute buffer size" 258.50 MiB
 * with flash attention; 560.00 MiB without it at a context of 8192. Llama 2 7B: 70.50 MiB. */
START_TEST(compute_buffers) {
    static const struct {
        const char *model, *more;
        double mib;
    } CASES[] = {
        {"llama-3-8b", "--attn flash --ctx 8192", 258.5},
        {"llama-3-8b", "--attn naive --ctx 8192", 560.0},
        {"llama-2-7b", "--attn flash --ctx 4096", 70.5},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        sim_plan(&plan, vs_arena_printf(&sim_arena,
                                        "--hw rtx3090 --model %s --engine llamacpp "
                                        "--engine-version b2824 --task generate --weights "
                                        "fp16 %s",
                                        CASES[i].model, CASES[i].more));
        struct vs_compute_buffer b = vs_compute_buffer(&plan, 0);
        ck_assert_near(b.bytes, CASES[i].mib * (double)MIB, 1e-4);
        vs_plan_release(&plan);
    }
}
END_TEST

/* ---- emit ---- */

static const struct vs_op KERNEL = {
    .kind = VS_WORK_FIXED, .lane = VS_LANE_COMPUTE, .what = "kernel", .layer = -1};
static const struct vs_op COPY = {
    .kind = VS_WORK_COPY, .lane = VS_LANE_H2D, .what = "copy", .layer = -1};

/* An operation owns the actions and dependencies since the last one; the rest closes the phase. */
START_TEST(emit_in_program_order) {
    struct vs_emit e;
    struct vs_err err = {0};
    sim_plan(&plan, TOY_GENERATE);
    vs_emit_begin(&e, &plan, &phase, "p");
    vs_buffer_id a = vs_emit_take(&e, VS_TAG_WORKSPACE, "a", -1, 100);
    vs_buffer_id b = vs_emit_take(&e, VS_TAG_LOGITS, "b", 2, 200);
    vs_op_id first = vs_emit_op(&e, &COPY);
    vs_emit_give(&e, a);
    vs_emit_after(&e, first);
    vs_emit_after(&e, VS_NO_OP);
    vs_op_id second = vs_emit_op(&e, &KERNEL);
    vs_emit_give(&e, b);
    ck_assert(vs_emit_end(&e, &err));
    ck_assert_str_eq(phase.name, "p");
    ck_assert_uint_eq(first, 0);
    ck_assert_uint_eq(second, 1);
    ck_assert_uint_eq(phase.ops.count, 2);
    ck_assert_uint_eq(phase.ops.at[0].mem_count, 2);
    ck_assert_uint_eq(phase.ops.at[0].dep_count, 0);
    ck_assert_uint_eq(phase.ops.at[1].first_mem, 2);
    ck_assert_uint_eq(phase.ops.at[1].mem_count, 1);
    ck_assert_uint_eq(phase.ops.at[1].dep_count, 1);
    ck_assert_uint_eq(phase.deps.at[phase.ops.at[1].first_dep], first);
    ck_assert_uint_eq(phase.mem.count, 4);
    ck_assert_int_eq(phase.mem.at[3].verb, VS_MEM_GIVE);
    ck_assert_uint_eq(vs_emit_last(&e, VS_LANE_H2D), first);
    ck_assert_uint_eq(vs_emit_last(&e, VS_LANE_COMPUTE), second);
    ck_assert_uint_eq(vs_emit_last(&e, VS_LANE_CPU), VS_NO_OP);
    ck_assert_uint_eq(plan.buffers.at[a].home, VS_HOME_GPU);
    ck_assert_uint_eq(plan.buffers.at[b].bytes, 200);
    ck_assert_int_eq(plan.buffers.at[b].layer, 2);
    /* A new beginning empties the phase. */
    vs_emit_begin(&e, &plan, &phase, "q");
    ck_assert_str_eq(phase.name, "q");
    ck_assert_uint_eq(phase.ops.count + phase.mem.count + phase.deps.count, 0);
}
END_TEST

START_TEST(nothing_is_no_buffer) {
    struct vs_emit e;
    struct vs_err err = {0};
    sim_plan(&plan, TOY_GENERATE);
    vs_emit_begin(&e, &plan, &phase, "p");
    size_t buffers = plan.buffers.count;
    ck_assert_uint_eq(vs_emit_take(&e, VS_TAG_OTHER, "nothing", -1, 0), VS_NO_BUFFER);
    vs_emit_give(&e, VS_NO_BUFFER);
    vs_emit_touch(&e, VS_NO_BUFFER);
    vs_emit_ensure(&e, VS_NO_BUFFER);
    vs_emit_retake(&e, VS_NO_BUFFER);
    vs_emit_accumulate(&e, VS_NO_BUFFER);
    ck_assert(vs_emit_end(&e, &err));
    ck_assert_uint_eq(phase.mem.count, 0);
    ck_assert_uint_eq(plan.buffers.count, buffers);
}
END_TEST

/* When memory runs out everything after does nothing, and the end says so. */
START_TEST(emit_after_a_failure) {
    struct vs_emit e;
    struct vs_err err = {0};
    sim_plan(&plan, TOY_GENERATE);
    vs_emit_begin(&e, &plan, &phase, "p");
    e.failed = true;
    ck_assert_uint_eq(vs_emit_take(&e, VS_TAG_OTHER, "a", -1, 10), VS_NO_BUFFER);
    ck_assert_uint_eq(vs_emit_op(&e, &KERNEL), VS_NO_OP);
    vs_emit_after(&e, 0);
    ck_assert_uint_eq(phase.ops.count + phase.mem.count + phase.deps.count, 0);
    ck_assert(!vs_emit_end(&e, &err));
    ck_assert_int_eq(err.status, VS_ERR_NOMEM);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("plan");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, NULL, end);
    tcase_add_test(tests, layout_of_the_toy);
    tcase_add_test(tests, formats);
    tcase_add_test(tests, nf4_bytes);
    tcase_add_test(tests, kbit_upcast);
    tcase_add_test(tests, adapters);
    tcase_add_test(tests, checkpoints);
    tcase_add_test(tests, precisions);
    tcase_add_test(tests, optimizers);
    tcase_add_test(tests, layers_on_the_gpu);
    tcase_add_test(tests, llamacpp_keeps_embeddings);
    tcase_add_test(tests, streamed_layers);
    tcase_add_test(tests, offloaded_parameters);
    tcase_add_test(tests, stages_are_in_order);
    tcase_add_test(tests, kv_bytes);
    tcase_add_test(tests, kv_padding);
    tcase_add_test(tests, compute_buffers);
    tcase_add_test(tests, emit_in_program_order);
    tcase_add_test(tests, nothing_is_no_buffer);
    tcase_add_test(tests, emit_after_a_failure);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
