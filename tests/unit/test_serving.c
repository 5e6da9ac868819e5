/* Tensor parallelism and the start of engines with a paged cache, against closed forms. The toy
 * model has 4 heads and 4 KV heads of 64 in each of 4 layers. */
#include <stdio.h>
#include <string.h>

#include "plan/startup.h"
#include "run/lower.h"
#include "sim_helpers.h"

#define TOY2 "--hw h100 --gpus 2 --model toy --engine vllm --task generate --weights fp16 "
#define LLAMA "--hw h100 --model llama-3.1-8b --engine vllm --task serve --weights bf16 "

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

/* 2 (K and V) x 4 heads x 64 x 2 bytes = 1,024 bytes per token and layer; half with two ranks. With
 * 16 ranks each of Llama 3's 8 KV heads (of 128) is on two of them. */
START_TEST(cache_of_a_rank) {
    sim_plan(&plan, TOY2 "--tp 2");
    ck_assert_uint_eq(vs_plan_kv_bytes(&plan, 0, 100), 100 * 1024 / 2);
    ck_assert_uint_eq(vs_kv_block_bytes(&plan, 0), 16 * 4 * 1024 / 2);
    forget();
    sim_plan(&plan, "--hw h100 --gpus 16 --model llama-3-8b --engine vllm --task generate --tp 16");
    ck_assert_uint_eq(vs_plan_kv_bytes(&plan, 0, 1), 2 * 128 * 2);
}
END_TEST

/* Matrices, embedding and head are halved, norms are not. */
START_TEST(weights_of_a_rank) {
    const struct vs_outcome *o = sim_memory(TOY2 "--split tensor");
    double halves = (4.0 * TOY_LINEAR + 2.0 * TOY_LINEAR) / 2, norms = (4 * 2 + 1) * 256.0;
    ck_assert_double_eq(nearbyint(sim_bytes(o, VS_METRIC_WEIGHTS_GIB)), 2 * (halves + norms));
    ck_assert_uint_eq(o->device_count, 1);
}
END_TEST

/* Two to a layer, of a hidden state of 256 in 16 bit for each of 3 sequences. */
START_TEST(all_reduces) {
    unsigned count = 0;
    double flops = 0;
    sim_plan(&plan, TOY2 "--tp 2 --batch 3");
    sim_decode(&plan, &phase, 10);
    for (size_t i = 0; i < phase.ops.count; i++) {
        const struct vs_op *op = &phase.ops.at[i];
        flops += op->kind == VS_WORK_GEMV ? op->flops : 0;
        if (op->kind != VS_WORK_ALL_REDUCE)
            continue;
        ck_assert_double_eq(op->bytes, 2 * 3 * 256);
        count++;
    }
    ck_assert_uint_eq(count, 2 * 4);
    /* 4 layers and the head, half of each */
    ck_assert_double_eq(flops, 2.0 * 3 * 5 * TOY_LINEAR / 2);
}
END_TEST

/* Four ranks: 11 us + 3 x 1 us, and of 4 MB 2 x 3/4 cross each link of 450 GB/s x 0.61. */
START_TEST(time_of_an_all_reduce) {
    struct vs_rates rates;
    const struct vs_op op = {.kind = VS_WORK_ALL_REDUCE, .lane = VS_LANE_COMM, .bytes = 4e6};
    vs_rates_init(&rates,
                  sim_case("--hw h100 --gpus 4 --model toy --engine vllm --tp 4 "
                           "--task generate"),
                  0);
    struct vs_cost cost = vs_cost(&rates, &op);
    ck_assert_near(cost.latency_s, 14e-6, 1e-9);
    ck_assert_uint_eq(cost.need_count, 1);
    ck_assert_double_eq(cost.needs[0].amount, 6e6);
    ck_assert_near(rates.capacity[VS_PART_PEER], 450e9 * 0.61, 1e-9);
}
END_TEST

/* Reading and computing for 1 s each take 2^(1/3) s; where one of them is nothing, the other. */
START_TEST(ridge_of_the_roofline) {
    struct vs_rates rates = {
        .ridge = true, .read_fraction[VS_CLASS_FLOAT] = 1, .gemm[VS_CLASS_FLOAT] = 10};
    rates.capacity[VS_PART_COMPUTE] = 10;
    rates.capacity[VS_PART_MEMORY] = 4;
    struct vs_op op = {.kind = VS_WORK_GEMV, .flops = 10, .bytes = 4};
    struct vs_cost cost = vs_cost(&rates, &op);
    ck_assert_uint_eq(cost.need_count, 2);
    for (size_t i = 0; i < 2; i++)
        ck_assert_near(cost.needs[i].amount / rates.capacity[cost.needs[i].part], cbrt(2), 1e-12);
    op.flops = 0;
    cost = vs_cost(&rates, &op);
    ck_assert_near(cost.needs[0].amount, 4, 1e-12);
}
END_TEST

START_TEST(refused) {
    sim_refused("--hw h100 --gpus 3 --model toy --engine vllm --task generate --tp 3",
                "--tp 3: toy has 4 attention heads, which tensor parallelism deals out whole and "
                "evenly; expected a divisor of 4");
    sim_refused("--hw h100 --model toy --engine vllm --task generate --tp 2",
                "found devices: 1, expected as many as ranks");
    sim_refused(TOY2 "--tp 2 --split layer", "--tp 2 does not apply to --split layer");
    sim_refused("--hw h100 --gpus 2 --model toy --engine hf --task generate --tp 2", "hf");
    sim_refused(LLAMA "--gpu-util 0", "found '0', expected a number from 0.01 to 1");
    sim_refused(LLAMA "--gpu-util 1.5", "found '1.5', expected a number from 0.01 to 1");
    sim_refused(LLAMA "--kv-block 0", "found '0', expected a whole number from 1");
    sim_refused(LLAMA "--max-seqs 0", "found '0', expected a whole number from 1");
}
END_TEST

/* vLLM 0.19 on 79.18 GiB, as logged: 1.89 GiB of activations, 58.11 GiB of cache. */
START_TEST(start_as_logged) {
    const struct vs_outcome *o =
        sim_memory(LLAMA "--engine-version 0.19.0 --ctx 8192 --gpu-util 0.95");
    ck_assert(o->fits);
    ck_assert_near(o->metrics[VS_METRIC_ACTIVATIONS_GIB], 1.89, 0.01);
    ck_assert_near(o->metrics[VS_METRIC_KV_GIB], 58.11, 0.002);
    ck_assert_near(o->metrics[VS_METRIC_KV_TOKENS], 476000, 0.002);
    ck_assert_double_eq(o->metrics[VS_METRIC_MAX_BATCH],
                        floor(o->metrics[VS_METRIC_KV_TOKENS] / 8192));
    double kv = o->metrics[VS_METRIC_KV_TOKENS];
    o = sim_memory(LLAMA "--engine-version 0.19.0 --ctx 8192 --gpu-util 0.95 --kv fp8");
    ck_assert_near(o->metrics[VS_METRIC_KV_TOKENS], 2 * kv, 1e-4);
}
END_TEST

/* The whole prompt is tried until it is cut: a longer context can start where a shorter one cannot
 * (one card of 24 GB, as logged). */
START_TEST(longer_contexts_can_start) {
#define CARD "--hw rtx3090 --model llama-3.1-8b --engine vllm --engine-version 0.6.4 --task serve "
    ck_assert(sim_memory(CARD "--weights bf16 --ctx 20000")->fits);
    const struct vs_outcome *o = sim_memory(CARD "--weights bf16 --ctx 29000");
    ck_assert(!o->fits);
    ck_assert_str_eq(o->oom->phase, "start-up");
    ck_assert_str_eq(o->oom->pool, "gpu0");
    ck_assert_double_gt(o->metrics[VS_METRIC_KV_TOKENS], 0);
    ck_assert_double_lt(o->metrics[VS_METRIC_KV_TOKENS], 29000);
    ck_assert(sim_memory(CARD "--weights bf16 --ctx 35000")->fits);
}
END_TEST

/* Eight sequences in a pool that holds two of them take four turns. */
START_TEST(waves) {
#define STATIC "--hw h100 --model toy --engine vllm --task generate --prompt 100 --gen 100 "
    const struct vs_outcome *two = sim_run(STATIC "--batch 2");
    const struct vs_outcome *eight = sim_run(STATIC "--batch 8 --max-seqs 2");
    double turn = 2 * 100 / two->metrics[VS_METRIC_E2E_TPS];
    ck_assert_near(eight->metrics[VS_METRIC_E2E_TPS], two->metrics[VS_METRIC_E2E_TPS], 1e-6);
    ck_assert_near(eight->metrics[VS_METRIC_TPOT_S], two->metrics[VS_METRIC_TPOT_S], 1e-6);
    ck_assert_near(eight->metrics[VS_METRIC_TTFT_S],
                   two->metrics[VS_METRIC_TTFT_S] + (0 + 1 + 2 + 3) / 4.0 * turn, 1e-6);
    /* seven: three pairs, and one alone */
    const struct vs_outcome *seven = sim_run(STATIC "--batch 7 --max-seqs 2");
    double alone = 100 / sim_run(STATIC "--batch 1")->metrics[VS_METRIC_E2E_TPS];
    ck_assert_near(700 / seven->metrics[VS_METRIC_E2E_TPS], 3 * turn + alone, 1e-6);
}
END_TEST

/* Without a fraction of its own an engine gives its pool all that is free: 10 GiB less the
 * weights, in blocks of 16 tokens. */
START_TEST(pool_of_all_that_is_free) {
    const struct vs_outcome *o = sim_memory(TOY_GENERATE "--kv-alloc paged");
    double free = 10 * (double)GIB - 2.0 * TOY_PARAMS;
    ck_assert(o->fits);
    ck_assert_double_eq(o->metrics[VS_METRIC_KV_TOKENS], 16 * floor(free / (16 * 4 * 1024)));
    sim_refused("--hw cpu --model toy --engine ideal --task generate --kv-alloc paged",
                "--kv-alloc paged: blocks of 16 tokens on cpu; expected at least 1, on a device");
}
END_TEST

/* Steps take two prompts: of four sequences two have their first token after one step. */
START_TEST(prompts_by_steps) {
    const struct vs_outcome *two = sim_run(STATIC "--batch 2");
    const struct vs_outcome *four = sim_run(STATIC "--batch 4 --max-batched-tokens 250");
    ck_assert_near(four->metrics[VS_METRIC_TTFT_S], 1.5 * two->metrics[VS_METRIC_TTFT_S], 1e-6);
    ck_assert_near(four->metrics[VS_METRIC_PREFILL_TPS], two->metrics[VS_METRIC_PREFILL_TPS], 1e-6);
}
END_TEST

/* TurboMind before it had one pass for both: a prompt of one token has no pass of its own, its
 * first token is a step of decoding.
 */
START_TEST(first_token_is_decoded) {
    const struct vs_outcome *o =
        sim_run("--hw a100 --model toy --engine lmdeploy --engine-version 0.1.0a1 --task generate "
                "--prompt 1 --gen 1 --batch 1");
    ck_assert_near(o->metrics[VS_METRIC_TTFT_S], o->metrics[VS_METRIC_TPOT_S], 1e-9);
    ck_assert(isnan(o->metrics[VS_METRIC_PREFILL_TPS]));
}
END_TEST

/* Two layers to a stage; embedding before the first, last norm and head behind the last. */
START_TEST(stages) {
    const struct vs_outcome *o = sim_memory(TOY2 "--pp 2");
    double first = 2.0 * (2 * TOY_LAYER + TOY_LINEAR);
    ck_assert_uint_eq(o->device_count, 2);
    ck_assert_double_eq(nearbyint(o->devices[0].metrics[VS_METRIC_WEIGHTS_GIB] * (double)GIB),
                        first);
    ck_assert_double_eq(nearbyint(o->devices[1].metrics[VS_METRIC_WEIGHTS_GIB] * (double)GIB),
                        first + 2 * 256);
    ck_assert_double_eq(o->devices[0].metrics[VS_METRIC_KV_GIB],
                        o->devices[1].metrics[VS_METRIC_KV_GIB]);
    sim_refused(TOY2 "--pp 4", "--pp 4 on h100: found devices: 2, expected as many as");
    sim_refused(TOY2 "--pp 2 --tp 2", "--pp 2 does not apply to --split tensor");
}
END_TEST

/* A fraction of what is free, of what is there, and of both. */
START_TEST(pools_by_rule) {
    const struct vs_memory_seen seen = {
        .capacity = 80 * GIB, .in_use = 20 * GIB, .peak = 30 * GIB, .before = 0};
    static const struct {
        const char *engine;
        double part, bytes;
    } CASES[] = {{"vllm", 0.5, 10.0}, {"trtllm", 0.5, 30.0}, {"sglang", 0.5, 20.0}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        char words[200];
        snprintf(words, sizeof words,
                 "--hw h100 --model toy --task serve --engine %s --gpu-util %g", CASES[i].engine,
                 CASES[i].part);
        sim_plan(&plan, words);
        double bytes = (double)(vs_kv_pool_blocks(&plan, 0, &seen) * vs_kv_block_bytes(&plan, 0));
        ck_assert_near(bytes, CASES[i].bytes * (double)GIB, 1e-4);
        forget();
    }
}
END_TEST

/* The first layer's norm of 512 bytes and its q of 131,072 leave: what passes the mark goes too. A
 * profile run of a release that copies holds the copy of that layer; what is mapped is read as it
 * is. A step brings them over the link. */
START_TEST(offloaded_bytes) {
#define HELD "--hw h100 --model toy --engine vllm --task serve --weights fp16 "
    const struct vs_outcome *o = sim_memory(HELD "--offload-size 1000B");
    double host = sim_bytes(o, VS_METRIC_WEIGHTS_HOST_GIB);
    double all = sim_bytes(sim_memory(HELD), VS_METRIC_WEIGHTS_GIB);
    ck_assert_double_eq(nearbyint(host), 512 + 131072);
    ck_assert_double_eq(nearbyint(all - sim_bytes(o, VS_METRIC_WEIGHTS_GIB)), 512 + 131072);
#define OLD HELD "--engine-version 0.6.3 "
    double old = sim_bytes(sim_memory(OLD "--offload-size 1000B"), VS_METRIC_ACTIVATIONS_GIB) -
                 sim_bytes(sim_memory(OLD), VS_METRIC_ACTIVATIONS_GIB);
    ck_assert_double_eq(nearbyint(old), 512 + 131072);
    sim_plan(&plan, HELD "--offload-size 1000B");
    sim_decode(&plan, &phase, 10);
    double copied = 0;
    for (size_t i = 0; i < phase.ops.count; i++)
        copied += phase.ops.at[i].kind == VS_WORK_COPY ? phase.ops.at[i].bytes : 0;
    ck_assert_double_eq(copied, 512 + 131072);
    sim_refused(HELD "--offload-size 1GiB --offload none", "--offload-size does not apply to");
}
END_TEST

/* Recurrent states share the pool: a sequence holds blocks for them beside those of its tokens. */
START_TEST(states_in_the_pool) {
#define HYBRID                                                                                     \
    "--hw h100 --gpus 2 --tp 2 --engine vllm --task serve --weights nvfp4 "                        \
    "--model nvidia-nemotron-3-super-120b-a12b "
    sim_plan(&plan, HYBRID "--ctx 16");
    uint64_t states = 0;
    const struct vs_type *fp32 = vs_type_find("fp32");
    for (uint32_t l = 0; l < plan.c->model->layers; l++)
        states += vs_state_layer_bytes(plan.c->model, l, fp32, fp32) / 2;
    uint64_t block = vs_kv_block_bytes(&plan, 0), blocks = vs_state_blocks(&plan);
    ck_assert(blocks * block >= states && (blocks - 1) * block < states);
    ck_assert_uint_eq(vs_kv_sequence_blocks(&plan), 1 + blocks);
}
END_TEST

static double recurrence_bytes(void) {
    double bytes = 0;
    for (size_t i = 0; i < phase.ops.count; i++)
        if (vs_streq(phase.ops.at[i].what, "recurrence"))
            bytes += phase.ops.at[i].bytes;
    return bytes;
}

/* Each of two ranks keeps, reads and writes half of the states. Qwen3-Next: 36 layers, each with 3
 * x 8192 inputs of its convolution and 32 heads of 128 x 128. */
START_TEST(states_by_rank) {
    for (int ranks = 1; ranks <= 2; ranks++) {
        const char *split = ranks > 1 ? "--gpus 2 --tp 2 --split tensor" : "";
        sim_plan(&plan,
                 sim_words("--hw h200 --engine llamacpp --task generate --model qwen3-next-80b-a3b",
                           split));
        double states = 36.0 * 4 * (3 * 8192 + 32 * 128 * 128) / ranks;
        ck_assert_double_eq((double)vs_plan_state_bytes(&plan), states);
        sim_decode(&plan, &phase, 10);
        ck_assert_double_eq(recurrence_bytes(), 2 * states);
        forget();
    }
}
END_TEST

/* A limit asks for sequences that run at once, not for those that come in waves. */
START_TEST(batches_at_once) {
#define START_UP LLAMA "--ctx 8192"
    double most = sim_memory(START_UP)->metrics[VS_METRIC_MAX_BATCH];
    struct vs_arena scratch = {0};
    struct vs_err err = {0};
    for (int64_t more = 0; more < 2; more++) {
        struct vs_fit fit;
        ck_assert(vs_point_fits_at(&scratch, sim_case(START_UP), VS_AXIS_BATCH,
                                   (int64_t)most + more, 0, &fit, &err));
        ck_assert(fit.fits == (more == 0));
    }
    vs_arena_release(&scratch);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("serving");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, NULL, end);
    tcase_add_test(all, cache_of_a_rank);
    tcase_add_test(all, weights_of_a_rank);
    tcase_add_test(all, all_reduces);
    tcase_add_test(all, time_of_an_all_reduce);
    tcase_add_test(all, ridge_of_the_roofline);
    tcase_add_test(all, refused);
    tcase_add_test(all, start_as_logged);
    tcase_add_test(all, longer_contexts_can_start);
    tcase_add_test(all, waves);
    tcase_add_test(all, pool_of_all_that_is_free);
    tcase_add_test(all, prompts_by_steps);
    tcase_add_test(all, first_token_is_decoded);
    tcase_add_test(all, stages);
    tcase_add_test(all, pools_by_rule);
    tcase_add_test(all, offloaded_bytes);
    tcase_add_test(all, states_in_the_pool);
    tcase_add_test(all, states_by_rank);
    tcase_add_test(all, batches_at_once);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
