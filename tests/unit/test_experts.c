/* Mixtures of experts, latent attention, context parallelism, device maps and 4-bit products in
 * training, in closed form on published models. */
#include "plan_helpers.h"
#include "unit/suite.h"

#define MEGATRON                                                                                   \
    "--hw b200-sxm --engine megatron --task train --method full --precision mixed-bf16 "
#define QWEN MEGATRON "--model qwen3-30b-a3b --seq 4096 "
#define MOONLIGHT MEGATRON "--model moonlight-16b-a3b --seq 4096 "
#define LLAMA MEGATRON "--model llama-3-8b --seq 4096 "

/* Sums over the operations of one layer of a micro-step that are of a kind, per token. */
struct sums {
    double bytes, flops, count;
};
static struct sums sum_of(const char *words, enum vs_work_kind kind, const char *what,
                          int32_t layer) {
    struct sums s = {0};
    forget();
    sim_plan(&plan, words);
    sim_micro_step(&plan, &phase);
    for (size_t i = 0; i < phase.ops.count; i++) {
        const struct vs_op *op = &phase.ops.at[i];
        if (op->kind != kind || op->layer != layer || (what && !strstr(op->what, what)))
            continue;
        s.bytes += op->bytes;
        s.flops += op->flops;
        s.count++;
    }
    return s;
}

/* Hidden 2048, Q 4096, KV 512, 32 heads, 8 of 128 experts of width 768. */
START_TEST(kept_by_experts) {
    const double d = 2048, q = 4096, kv = 512, k = 8, f = 768;
    const double attention =
        2 * d + 2 * (q + kv) + 4 * q + 4 * kv + 4 * 32; /* with norms of q and k */
    const double router = 2 * d + 4 * 128;
    const double dense = 2 * 2 * d + attention + router;
    ck_assert_near(plan_kept(QWEN, 4096), dense + k * (2 * d + 3 * 2 * f), 1e-9);
    /* 8-bit products keep their own inputs instead: one byte, also of attention's output. */
    const char *eight = "--hw b200-sxm --engine megatron --task train --precision mixed-fp8 "
                        "--model qwen3-30b-a3b --seq 4096";
    ck_assert_near(plan_kept(eight, 4096), dense - d + q + k * (d + 2 * 2 * f + f), 1e-9);
}
END_TEST

/* 4 exchanges of k vectors of 2d bytes; without ranks to share the experts none. */
START_TEST(sent_to_experts) {
    struct sums s = sum_of(QWEN "--gpus 8 --ep 8", VS_WORK_ALL_TO_ALL, NULL, 9);
    ck_assert_double_eq(s.count, 4);
    ck_assert_double_eq(s.bytes, 4 * 4096.0 * 8 * 2 * 2048);
    ck_assert_double_eq(sum_of(QWEN "--gpus 8", VS_WORK_ALL_TO_ALL, NULL, 9).count, 0);
}
END_TEST

/* Each rank holds an eighth of the experts and all else; their optimizer states are split over the
 * ranks that hold the same ones. */
START_TEST(experts_of_ranks) {
    const double experts = 48.0 * 128 * 3 * 2048 * 768;
    const struct vs_outcome *one = sim_memory(QWEN "--gpus 16 --zero 1");
    const struct vs_outcome *eight = sim_memory(QWEN "--gpus 16 --zero 1 --ep 8");
    double fewer = sim_bytes(one, VS_METRIC_WEIGHTS_GIB) - sim_bytes(eight, VS_METRIC_WEIGHTS_GIB);
    double same =
        sim_bytes(one, VS_METRIC_OPTIMIZER_GIB) / sim_bytes(eight, VS_METRIC_OPTIMIZER_GIB);
    ck_assert_near(fewer, 2 * experts * 7 / 8, 1e-3);
    ck_assert_near(same, 1, 1e-3);
}
END_TEST

/* Three products for each chosen expert, once forward and twice backward, and half a tile of 128
 * rows to each expert on average. */
START_TEST(flops_of_experts) {
    double rows = 4096 * 8 + 128 * 64;
    struct sums s = sum_of(QWEN, VS_WORK_GEMM, "experts", 9);
    ck_assert_near(s.flops, 3 * 3 * 2 * rows * 2048 * 768, 1e-9);
}
END_TEST

/* One copy crosses to another node for all experts of a token that live there: of two nodes half
 * the experts are on each, so that a token with 8 of them sends its vector over with 1 - 1/2^8. */
START_TEST(exchange_between_nodes) {
    struct vs_rates r;
    vs_rates_init(&r, sim_case(QWEN "--gpus 16 --ep 16"), 0);
    const struct vs_op op = {
        .kind = VS_WORK_ALL_TO_ALL, .bytes = 8e9, .copies = 8, .ring = {16, 1}};
    ck_assert_double_eq(vs_cost(&r, &op).needs[0].amount, 8 * 1e9 * (1 - 1.0 / 256));
}
END_TEST

/* 16 heads with keys of 128 + 64 and values of 128. */
START_TEST(latent_attention) {
    struct sums forward = sum_of(MOONLIGHT, VS_WORK_ATTENTION, NULL, 9);
    ck_assert_double_eq(forward.flops, 3.5 * 2 * 4096 * 2048.0 * 16 * (192 + 128));
    struct sums matrices = sum_of(MOONLIGHT, VS_WORK_GEMM, "latent", 9);
    double narrow = 2048.0 * (512 + 64) + 512.0 * 16 * (128 + 128);
    ck_assert_double_eq(matrices.flops, 3 * 2 * 4096 * narrow);
}
END_TEST

/* Half of the tokens, all of their attention; keys and values of 8 heads of 128 come from the other
 * rank, and their gradients go back with them. */
START_TEST(context_ranks) {
    struct sums whole = sum_of(LLAMA, VS_WORK_ATTENTION, NULL, 9);
    struct sums half = sum_of(LLAMA "--gpus 2 --cp 2", VS_WORK_ATTENTION, NULL, 9);
    ck_assert_double_eq(half.flops, whole.flops / 2);
    struct sums ring = sum_of(LLAMA "--gpus 2 --cp 2 --zero 0", VS_WORK_GATHER, "go round", 9);
    ck_assert_double_eq(ring.bytes, 3 * 4096.0 * 2 * 2 * 1024);
    struct sums swap =
        sum_of(LLAMA "--gpus 2 --cp 2 --cp-kind ulysses", VS_WORK_ALL_TO_ALL, NULL, 9);
    ck_assert_double_eq(swap.bytes, 2048.0 * 2 * 2 * (4096 + 4096 + 2 * 1024));
    const struct vs_outcome *o = sim_run(LLAMA "--gpus 2 --cp 2");
    ck_assert_near(o->metrics[VS_METRIC_TRAIN_TPS] * o->metrics[VS_METRIC_STEP_TIME_S], 4096, 1e-9);
}
END_TEST

/* Two devices hold half of the layers each, the hidden state goes over once, its gradient back. */
START_TEST(device_map) {
    const char *words =
        "--hw a100-80g-sxm --gpus 2 --engine hf --task train --model toy --method lora "
        "--seq 64 --split layer";
    struct sums over = sum_of(words, VS_WORK_SEND, NULL, 2);
    ck_assert_double_eq(over.count, 1);
    ck_assert_double_eq(over.bytes, 64 * 2 * 256);
    ck_assert_double_eq(sum_of(words, VS_WORK_SEND, NULL, 1).count, 1);
    const struct vs_outcome *o = sim_run(words);
    ck_assert_uint_eq(o->device_count, 2);
    for (size_t d = 0; d < 2; d++)
        ck_assert_double_ge(o->devices[d].metrics[VS_METRIC_WEIGHTS_GIB] * (double)GIB,
                            2 * (2 * TOY_LAYER + TOY_LINEAR));
    ck_assert_near(o->metrics[VS_METRIC_TRAIN_TPS] * o->metrics[VS_METRIC_STEP_TIME_S], 64, 1e-9);
}
END_TEST

/* bf16 weights and gradients, fp32 master and moments: 16 bytes; 32 of each hidden element to a
 * token and layer, mean and deviation of two norms, and a number for each of 25 heads. */
START_TEST(llm_c) {
    const char *words = "--hw a100-80g-sxm --engine llmc --task train --model gpt2-xl --seq 1024";
    const struct vs_outcome *o = sim_memory(words);
    double bytes = sim_bytes(o, VS_METRIC_WEIGHTS_GIB) + sim_bytes(o, VS_METRIC_GRADIENTS_GIB) +
                   sim_bytes(o, VS_METRIC_OPTIMIZER_GIB);
    ck_assert_near(bytes, 16 * 1557611200.0, 1e-4);
    ck_assert_near(plan_kept(words, 1024), 32 * 1600 + 16 + 4 * 25, 1e-9);
}
END_TEST

START_TEST(four_bits) {
    struct vs_rates r;
    vs_rates_init(&r, sim_case(LLAMA), 0);
    const struct vs_op sixteen = {.kind = VS_WORK_GEMM, .flops = 1e12};
    const struct vs_op four = {.kind = VS_WORK_GEMM, .flops = 1e12, .fp4 = true};
    ck_assert_near(vs_cost(&r, &sixteen).needs[0].amount / vs_cost(&r, &four).needs[0].amount,
                   9000.0 / 2250, 1e-9);
    sim_refused("--hw h100-sxm --engine megatron --task train --model toy --precision mixed-nvfp4",
                "has no 4-bit floating point");
}
END_TEST

START_TEST(refused) {
    sim_refused(QWEN "--gpus 6 --ep 3", "--ep 3 does not divide the 128 experts");
    sim_refused(QWEN "--gpus 8 --ep 16", "--ep 16 does not divide the 8 ranks");
    sim_refused(QWEN "--gpus 8 --pp 4 --ep 4 --accum 4", "--ep 4 does not divide the 2 ranks");
    sim_refused("--hw a100 --gpus 2 --engine hf --task train --model toy --split layer --zero 3",
                "--zero 3 shards over data-parallel ranks");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("experts");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, NULL, end);
    tcase_add_test(all, kept_by_experts);
    tcase_add_test(all, sent_to_experts);
    tcase_add_test(all, experts_of_ranks);
    tcase_add_test(all, flops_of_experts);
    tcase_add_test(all, exchange_between_nodes);
    tcase_add_test(all, latent_attention);
    tcase_add_test(all, context_ranks);
    tcase_add_test(all, device_map);
    tcase_add_test(all, llm_c);
    tcase_add_test(all, four_bits);
    tcase_add_test(all, refused);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
