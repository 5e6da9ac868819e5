/* Weights on their way: loading tensor by tensor, and layers that are fetched before each use. */
#include <string.h>

#include "plan/fetch.h"
#include "run/lower.h"
#include "sim_helpers.h"

static struct vs_plan plan;
static struct vs_phase phase;
static struct vs_executor x;

static void end(void) {
    vs_executor_release(&x);
    vs_plan_release(&plan);
    vs_phase_release(&phase);
    memset(&plan, 0, sizeof plan);
    memset(&phase, 0, sizeof phase);
    sim_end();
}

static struct vs_pool_stats stats(enum vs_home home) { return vs_pool_stats(x.pools[home]); }

/* ---- loading ---- */

static void load(const char *words, struct vs_load_needs needs) {
    struct vs_err err = {0};
    sim_plan(&plan, words);
    sim_executor(&x, &plan);
    ck_assert_msg(vs_emit_load(&plan, &needs, &phase, &err), "%s", err.text);
    sim_walk(&x, &phase);
}

static double read_bytes(void) {
    double bytes = 0;
    for (size_t i = 0; i < phase.ops.count; i++)
        bytes += phase.ops.at[i].kind == VS_WORK_STORAGE_READ ? phase.ops.at[i].bytes : 0;
    return bytes;
}

/* 12,587,520 bytes at the storage's 1 GB/s; the last norm's and the head's copies over the link
 * come behind: 2 MiB at pageable 5 GB/s, 0.4194 ms. */
START_TEST(sixteen_bit) {
    load(TOY_GENERATE, (struct vs_load_needs){0});
    ck_assert_str_eq(phase.name, "load");
    ck_assert_uint_eq(stats(VS_HOME_GPU).allocated_bytes, 2 * TOY_PARAMS);
    ck_assert_uint_eq(stats(VS_HOME_GPU).peak_allocated_bytes, 2 * TOY_PARAMS);
    ck_assert_double_eq(read_bytes(), 2.0 * TOY_PARAMS);
    ck_assert_near(sim_time(&x, &phase), 2.0 * TOY_PARAMS / 1e9 + 2.0 * TOY_LINEAR / 5e9, 1e-9);
}
END_TEST

/* One of all ranks; by the rule one more for each group that a rank is in: of data, tensor and
 * pipeline, and of the last two. The toy's embedding is not tied: its pipeline's ends have none. */
static const struct {
    const char *words;
    unsigned count;
} COMMUNICATORS[] = {{"--engine megatron-deepspeed --gpus 1", 0},
                     {"--engine deepspeed --precision mixed-bf16 --gpus 8", 1},
                     {"--engine megatron-deepspeed --gpus 8", 1},
                     {"--engine megatron-deepspeed --gpus 4 --tp 4", 1},
                     {"--engine megatron-deepspeed --gpus 8 --tp 4", 3},
                     {"--engine megatron-deepspeed --gpus 8 --tp 2 --pp 2", 5},
                     {"--engine megatron --gpus 8 --tp 2 --pp 2", 1}};

START_TEST(communicators) {
    load(vs_arena_printf(&sim_arena, "--hw h100-sxm --model toy --task train --method full %s",
                         COMMUNICATORS[_i].words),
         (struct vs_load_needs){.communicator_bytes = MIB});
    ck_assert_uint_eq(stats(VS_HOME_GPU).raw_bytes, COMMUNICATORS[_i].count * MIB);
}
END_TEST

/* The context comes first and past the allocator, the BLAS workspace stays behind the weights. */
START_TEST(context_and_workspace) {
    load(TOY_GENERATE,
         (struct vs_load_needs){.context_bytes = 100 * MIB, .workspace_bytes = 8519680});
    ck_assert_uint_eq(stats(VS_HOME_GPU).raw_bytes, 100 * MIB);
    ck_assert_uint_eq(stats(VS_HOME_GPU).by_tag[VS_TAG_CONTEXT], 100 * MIB);
    ck_assert_uint_eq(stats(VS_HOME_GPU).by_tag[VS_TAG_WORKSPACE], 8519680);
    ck_assert_uint_eq(plan.buffers.at[phase.mem.at[0].buffer].tag, VS_TAG_CONTEXT);
}
END_TEST

/* bitsandbytes quantizes tensor by tensor: the 16-bit tensor stands beside its NF4 form, one at a
 * time, and nothing of it stays. */
START_TEST(quantized_on_the_way) {
    load(TOY_TRAIN "--method qlora --weights nf4", (struct vs_load_needs){0});
    uint64_t stays = 0;
    for (size_t i = 0; i < plan.weight_count; i++)
        stays += plan.weights[i].bytes;
    ck_assert_uint_eq(stats(VS_HOME_GPU).by_tag[VS_TAG_WEIGHTS], stays);
    ck_assert_uint_eq(stats(VS_HOME_GPU).by_tag[VS_TAG_IO], 0);
    ck_assert_uint_eq(stats(VS_HOME_GPU).peak_by_tag[VS_TAG_IO],
                      2 * 256 * 1024);                   /* gate, up, down */
    ck_assert_double_eq(read_bytes(), 2.0 * TOY_PARAMS); /* a 16-bit checkpoint */
}
END_TEST

/* PEFT's upcast follows once all is loaded: each 16-bit tensor stands beside its fp32 form. */
START_TEST(upcast_after_loading) {
    load(TOY_TRAIN "--method qlora --weights nf4 --kbit-upcast on", (struct vs_load_needs){0});
    uint64_t rest = 4 * (2 * TOY_LINEAR + 9 * 256); /* embedding, head, norms */
    uint64_t linear = 0;
    for (size_t i = 0; i < plan.weight_count; i++)
        linear += vs_role_is_linear(plan.weights[i].tensor->role) ? plan.weights[i].bytes : 0;
    ck_assert_uint_eq(stats(VS_HOME_GPU).by_tag[VS_TAG_WEIGHTS], linear + rest);
    /* Worst when the embedding, the first, is cast: everything in 16 bit and its own fp32 form; or
     * the head, the last: everything in fp32 and its own 16-bit form, 2 MiB more than what stays.
     */
    ck_assert_uint_eq(stats(VS_HOME_GPU).peak_by_tag[VS_TAG_WEIGHTS],
                      linear + rest + 2 * TOY_LINEAR);
}
END_TEST

/* llama.cpp: one buffer on each side, the embedding's on the host. */
START_TEST(one_buffer) {
    load("--hw toy --model toy --engine llamacpp --task generate --weights fp16",
         (struct vs_load_needs){0});
    size_t taken = 0;
    for (size_t i = 0; i < phase.mem.count; i++)
        taken += phase.mem.at[i].verb == VS_MEM_TAKE;
    ck_assert_uint_eq(taken, 2);
    ck_assert_uint_eq(stats(VS_HOME_HOST).by_tag[VS_TAG_WEIGHTS], 2 * TOY_LINEAR);
    ck_assert_uint_ge(stats(VS_HOME_GPU).by_tag[VS_TAG_WEIGHTS], 2 * (TOY_PARAMS - TOY_LINEAR));
}
END_TEST

/* What is trained beside the base is there when loading ends: adapters of rank 16 in fp32 (all
 * seven matrices of a layer: 16 x 5888 parameters), and fp32 master copies of mixed precision. */
START_TEST(adapters_and_masters) {
    load(TOY_TRAIN "--method lora --lora-rank 16", (struct vs_load_needs){0});
    ck_assert_uint_eq(stats(VS_HOME_GPU).by_tag[VS_TAG_ADAPTERS], 4ULL * 4 * 16 * 5888);
    end();
    load(TOY_TRAIN "--method full --precision mixed-bf16", (struct vs_load_needs){0});
    ck_assert_uint_eq(stats(VS_HOME_GPU).by_tag[VS_TAG_OPTIMIZER], 4 * TOY_PARAMS);
}
END_TEST

/* The same in a whole run: what loading takes is not forgotten. */
START_TEST(adapters_in_a_run) {
    const struct vs_outcome *o = sim_memory(TOY_TRAIN "--method lora --lora-rank 16 --seq 16");
    ck_assert_uint_eq(sim_tag(o, "gpu0", "adapters"), 4ULL * 4 * 16 * 5888);
    o = sim_memory(TOY_TRAIN "--method lora --lora-rank 16 --seq 16 --offload-param cpu");
    ck_assert_uint_eq(sim_tag(o, "host", "adapters"), 4ULL * 4 * 16 * 5888);
}
END_TEST

/* Page-locked weights are one flat buffer a layer, and one for what stands outside. */
START_TEST(flat_buffers) {
    load(TOY_TRAIN "--offload-param cpu", (struct vs_load_needs){0});
    size_t buffers = 0;
    for (size_t i = 0; i < plan.weight_count; i++)
        buffers += plan.weights[i].buffer != VS_NO_BUFFER;
    ck_assert_uint_eq(buffers, 5);
    ck_assert_uint_eq(stats(VS_HOME_HOST).by_tag[VS_TAG_WEIGHTS], 2 * TOY_PARAMS);
    ck_assert_uint_eq(stats(VS_HOME_GPU).allocated_bytes, 0);
}
END_TEST

/* ---- fetching ---- */

/* Uses the layers once (forward), or there and back, with a kernel of us[use] for each; returns the
 * microseconds. A layer's copy takes 209.8176 us at the toy's 10 GB/s. */
static double use_layers(const char *more, bool backward, const double *us) {
    struct vs_fetch f;
    struct vs_emit e;
    struct vs_err err = {0};
    end();
    sim_plan(&plan, sim_words(TOY_GENERATE "--offload stream", more));
    sim_executor(&x, &plan);
    vs_emit_begin(&e, &plan, &phase, "uses");
    ck_assert(vs_fetch_begin(&f, &plan, backward, &err));
    ck_assert_uint_eq(f.use_count, backward ? 8 : 4);
    for (uint32_t use = 0; use < f.use_count; use++) {
        vs_fetch_need(&f, &e, use);
        vs_op_id k = vs_emit_op(&e, &(struct vs_op){.kind = VS_WORK_FIXED,
                                                    .lane = VS_LANE_COMPUTE,
                                                    .what = "use",
                                                    .layer = (int32_t)use,
                                                    .cost_s = us[use] * 1e-6});
        vs_fetch_done(&f, &e, use, k);
    }
    ck_assert(vs_emit_end(&e, &err));
    sim_walk(&x, &phase);
    return sim_time(&x, &phase) * 1e6;
}

static size_t copies(void) {
    size_t n = 0;
    for (size_t i = 0; i < phase.ops.count; i++)
        n += phase.ops.at[i].kind == VS_WORK_COPY;
    return n;
}

static const double K = TOY_LAYER_BYTES / 10e9 * 1e6; /* 209.8176 us */

/* One way, four layers. No prefetch: nothing overlaps. One ahead: all but the first copy is hidden
 * by longer kernels (4 C + K), all but the last kernel by longer copies (4 K + C). */
START_TEST(prefetch) {
    static const double LONG[] = {500, 500, 500, 500}, SHORT[] = {50, 50, 50, 50};
    ck_assert_double_eq_tol(use_layers("--prefetch 0", false, LONG), 4 * (K + 500), 1e-3);
    ck_assert_double_eq_tol(use_layers("--prefetch 0", false, SHORT), 4 * (K + 50), 1e-3);
    ck_assert_double_eq_tol(use_layers("--prefetch 1", false, LONG), K + 4 * 500, 1e-3);
    ck_assert_double_eq_tol(use_layers("--prefetch 1", false, SHORT), 4 * K + 50, 1e-3);
    ck_assert_double_eq_tol(use_layers("--prefetch 2", false, LONG), K + 4 * 500, 1e-3);
    ck_assert_double_eq_tol(use_layers("--prefetch 2", false, SHORT), 4 * K + 50, 1e-3);
}
END_TEST

/* A second layer ahead pays where kernels differ: uses of 5 K, K/2, K/2, K/2.
 *   prefetch 1: copies end at 1, 2, then wait for use 0 (6 K): 7, 8; uses end at 6, 6.5, 7.5, 8.5 K
 *   prefetch 2: copies end at 1, 2, 3, then wait for use 0: 7; uses end at 6, 6.5, 7, 7.5 K
 *   prefetch 3: copies end at 1, 2, 3, 4; uses end at 6, 6.5, 7, 7.5 K */
START_TEST(prefetch_of_uneven_layers) {
    const double uneven[] = {5 * K, K / 2, K / 2, K / 2};
    ck_assert_double_eq_tol(use_layers("--prefetch 0", false, uneven), 10.5 * K, 1e-3);
    ck_assert_double_eq_tol(use_layers("--prefetch 1", false, uneven), 8.5 * K, 1e-3);
    ck_assert_double_eq_tol(use_layers("--prefetch 2", false, uneven), 7.5 * K, 1e-3);
    ck_assert_double_eq_tol(use_layers("--prefetch 3", false, uneven), 7.5 * K, 1e-3);
}
END_TEST

/* At most prefetch + 1 layers are on the GPU; nothing stays. There and back the layer at the turn
 * stays: 7 copies for 8 uses. */
START_TEST(layers_held) {
    static const double US[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    static const struct {
        const char *more;
        uint64_t layers;
    } CASES[] = {
        {"--prefetch 0", 1}, {"--prefetch 1", 2}, {"--prefetch 2", 3}, {"--prefetch 9", 4}};
    for (size_t i = 0; i < 4; i++) {
        use_layers(CASES[i].more, false, US);
        ck_assert_uint_eq(copies(), 4);
        ck_assert_uint_eq(stats(VS_HOME_GPU).peak_by_tag[VS_TAG_STREAMED],
                          CASES[i].layers * TOY_LAYER_BYTES);
        ck_assert_uint_eq(stats(VS_HOME_GPU).allocated_bytes, 0);
        use_layers(CASES[i].more, true, US);
        ck_assert_uint_eq(copies(), 7);
        if (i < 3)
            ck_assert_uint_eq(stats(VS_HOME_GPU).peak_by_tag[VS_TAG_STREAMED],
                              CASES[i].layers * TOY_LAYER_BYTES);
        ck_assert_uint_eq(stats(VS_HOME_GPU).allocated_bytes, 0);
    }
}
END_TEST

/* Resident layers need no copy, and nobody waits for one. */
START_TEST(resident_layers) {
    static const double US[] = {10, 10, 10, 10};
    ck_assert_double_eq_tol(use_layers("--gpu-layers 4", false, US), 40, 1e-3);
    ck_assert_uint_eq(copies(), 0);
    /* Layers 0 and 1 are streamed, 2 and 3 stay. */
    ck_assert_double_eq_tol(use_layers("--gpu-layers 2", false, US), 2 * K + 10 + 20, 1e-3);
    ck_assert_uint_eq(copies(), 2);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("fetch and load");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, NULL, end);
    tcase_add_test(tests, sixteen_bit);
    tcase_add_test(tests, context_and_workspace);
    tcase_add_loop_test(tests, communicators, 0, sizeof COMMUNICATORS / sizeof *COMMUNICATORS);
    tcase_add_test(tests, quantized_on_the_way);
    tcase_add_test(tests, upcast_after_loading);
    tcase_add_test(tests, one_buffer);
    tcase_add_test(tests, adapters_and_masters);
    tcase_add_test(tests, adapters_in_a_run);
    tcase_add_test(tests, flat_buffers);
    tcase_add_test(tests, prefetch);
    tcase_add_test(tests, prefetch_of_uneven_layers);
    tcase_add_test(tests, layers_held);
    tcase_add_test(tests, resident_layers);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
