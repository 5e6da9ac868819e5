/* Model parallelism in training: the order of a pipeline's steps, its bubbles, what ranks that
 * share a layer keep and send each other, in closed form on the toy model and on published ones. */
#include "plan/pipeline.h"

#include "plan_helpers.h"
#include "unit/suite.h"

#define MEGATRON "--hw a100-80g-sxm --engine megatron --task train --method full "
#define GPT "--model megatron-22b --precision mixed-fp16 --attn naive --seq 2048 "
#define TINY MEGATRON "--model toy --precision mixed-bf16 "
#define PIPE TINY "--seq 64 "
#define PAIR "--gpus 4 --pp 2 --accum 4"

static const char *words_of(const struct vs_parallel *p, uint32_t stage, uint32_t micro) {
    struct vs_pipeline_step steps[64];
    const char *words = "";
    ck_assert_uint_le(vs_pipeline_steps(p, micro), 64);
    vs_pipeline_order(p, stage, micro, steps);
    for (uint32_t i = 0; i < vs_pipeline_steps(p, micro); i++)
        words = vs_arena_printf(&sim_arena, "%s %c%u%s", words, steps[i].forward ? 'F' : 'B',
                                steps[i].micro, steps[i].chunk == 1 ? "'" : "");
    return words;
}

/* Warm-up, one forward and one backward, cool-down. */
START_TEST(one_forward_one_backward) {
    const struct vs_parallel p = {.stages = 3, .chunks = 1};
    ck_assert_str_eq(words_of(&p, 0, 4), " F0 F1 F2 B0 F3 B1 B2 B3");
    ck_assert_str_eq(words_of(&p, 1, 4), " F0 F1 B0 F2 B1 F3 B2 B3");
    ck_assert_str_eq(words_of(&p, 2, 4), " F0 B0 F1 B1 F2 B2 F3 B3");
    ck_assert_str_eq(words_of(&p, 0, 1), " F0 B0");
}
END_TEST

/* Two stages of two chunks each (the second marked '): rounds of two micro-batches. */
START_TEST(interleaved) {
    const struct vs_parallel p = {.stages = 2, .chunks = 2};
    ck_assert_str_eq(words_of(&p, 0, 4),
                     " F0 F1 F0' F1' F2 B0' F3 B1' F2' B0 F3' B1 B2' B3' B2 B3");
    ck_assert_str_eq(words_of(&p, 1, 4),
                     " F0 F1 F0' B0' F1' B1' F2 B0 F3 B1 F2' B2' F3' B3' B2 B3");
    ck_assert_str_eq(words_of(&p, 1, 2), " F0 F1 F0' F1' B0' B1' B0 B1");
}
END_TEST

static double step_time(const char *more) {
    return sim_run(sim_words(PIPE, more))->metrics[VS_METRIC_STEP_TIME_S];
}

/* Once the pipeline is full each further micro-batch takes what the slowest stage takes; filling it
 * costs time that one stage alone does not have, and chunks shorten. */
START_TEST(bubbles) {
    double four = step_time("--gpus 4 --pp 4 --accum 4"),
           eight = step_time("--gpus 4 --pp 4 --accum 8");
    double twelve = step_time("--gpus 4 --pp 4 --accum 12");
    ck_assert_near(twelve - eight, eight - four, 1e-6);
    ck_assert_double_gt(four, 1.2 * (eight - four));
    /* Beyond 16 rounds of 4 the schedule is carried on by its last round. */
    double last = step_time("--gpus 4 --pp 4 --accum 64") - step_time("--gpus 4 --pp 4 --accum 56");
    double more = step_time("--gpus 4 --pp 4 --accum 81") - step_time("--gpus 4 --pp 4 --accum 73");
    ck_assert_near(more, last, 1e-9);
    const char *large = MEGATRON "--model llama-3-8b --gpus 4 --pp 4 --accum 4 --zero 0";
    double plain = sim_run(large)->metrics[VS_METRIC_STEP_TIME_S];
    double chunks = sim_run(sim_words(large, "--pp-interleave 4"))->metrics[VS_METRIC_STEP_TIME_S];
    ck_assert_double_lt(chunks, plain);
}
END_TEST

/* A stage holds as many micro-batches as stages stand behind it, and its own. */
START_TEST(in_flight) {
    const char *words = sim_words(PIPE, "--gpus 4 --pp 4 --accum 8 --ckpt full");
    const struct vs_device_outcome *d = sim_run(words)->devices;
    const double one = 2 * 256 * 64; /* the input of a layer: 2 bytes, 256 wide, 64 tokens */
    double first = d[0].metrics[VS_METRIC_ACTIVATIONS_GIB] * (double)GIB;
    double second = d[1].metrics[VS_METRIC_ACTIVATIONS_GIB] * (double)GIB;
    double last = d[3].metrics[VS_METRIC_ACTIVATIONS_GIB] * (double)GIB;
    ck_assert_double_eq(first - second, one);
    ck_assert_double_eq(second - last, 2 * one);
}
END_TEST

/* What forward of a chunk takes and does not give back, its backward does, whatever is kept. */
START_TEST(all_comes_back) {
    static const char *const WORDS[] = {"--ckpt full",
                                        "--ckpt none",
                                        "--ckpt selective",
                                        "--ckpt full --tp 2",
                                        "--tp 2 --seq-parallel on",
                                        "--cp 2"};
    for (size_t i = 0; i < 2 * sizeof WORDS / sizeof *WORDS; i++)
        for (uint32_t n = 0; n < 2; n++) {
            struct vs_chunk chunk = {0};
            struct vs_err err = {0};
            double held = 0, most = 0;
            forget();
            sim_plan(&plan, sim_words(i % 2 == 0 ? PIPE PAIR : MEGATRON GPT PAIR, WORDS[i / 2]));
            size_t first = plan.buffers.count;
            ck_assert(vs_emit_chunk(&plan, n, &chunk, &err));
            const struct vs_phase *phases[] = {&chunk.forward, &chunk.backward};
            for (size_t k = 0; k < 2; k++) {
                for (size_t m = 0; m < phases[k]->mem.count; m++) {
                    const struct vs_mem_action *a = &phases[k]->mem.at[m];
                    double bytes = (double)plan.buffers.at[a->buffer].bytes;
                    if (a->buffer >= first)
                        held += a->verb == VS_MEM_TAKE ? bytes : -bytes;
                }
                most = k == 0 ? held : most;
            }
            ck_assert_msg(held == 0 && most > 0, "%s, chunk %u: %g left", WORDS[i / 2], n, held);
            if (i == 0 && n == 0)
                ck_assert_double_eq(most, 3 * 2 * 256 * 64); /* two inputs, and what was sent */
            vs_chunk_release(&chunk);
        }
}
END_TEST

/* Bytes per token and layer that autograd keeps: h(10 + 24/t + 5 a s/(h t)) by tensor parallelism,
 * a t-th of h(34 + 5 a s/h) with sequence parallelism, without the last term where the core of
 * attention runs again (arXiv 2205.05198, table 2); mean and deviation of two norms are 16 bytes.
 */
START_TEST(kept_by_tensor_ranks) {
    const double h = 6144, scores = 5 * 64 * 2048, t = 8;
    const char *base = MEGATRON GPT "--gpus 8 --tp 8 ";
    ck_assert_near(plan_kept(sim_words(base, ""), 2048), 10 * h + (24 * h + scores) / t + 16, 1e-9);
    ck_assert_near(plan_kept(sim_words(base, "--seq-parallel on"), 2048),
                   (34 * h + scores) / t + 16, 1e-9);
    ck_assert_near(plan_kept(sim_words(base, "--seq-parallel on --ckpt selective"), 2048),
                   34 * h / t + 16, 1e-9);
    ck_assert_near(plan_kept(MEGATRON GPT, 2048), 34 * h + scores + 16, 1e-9);
}
END_TEST

static double sent(const char *words, int32_t layer) {
    double bytes = 0;
    forget();
    sim_plan(&plan, words);
    sim_micro_step(&plan, &phase);
    for (size_t i = 0; i < phase.ops.count; i++) {
        const struct vs_op *op = &phase.ops.at[i];
        bool sum = op->kind == VS_WORK_ALL_REDUCE, gather = op->kind == VS_WORK_GATHER;
        if (op->layer == layer && op->ring.members == 8 && (sum || gather))
            bytes += (sum ? 2 : 1) * op->bytes;
    }
    return bytes / 2048;
}

/* Two sums of 2h bytes per token forward and two backward, each worth two rounds of a ring; by
 * sequence parallelism each is two of one round, and backward gathers the inputs of its matrices
 * again. Full checkpointing repeats forward's. */
START_TEST(sent_by_tensor_ranks) {
    const double h = 6144;
    const char *base = MEGATRON GPT "--gpus 8 --tp 8 ";
    ck_assert_double_eq(sent(base, 20), 4 * 2 * 2 * h);
    ck_assert_double_eq(sent(sim_words(base, "--ckpt full"), 20), 6 * 2 * 2 * h);
    ck_assert_double_eq(sent(sim_words(base, "--seq-parallel on"), 20), 4 * 2 * 2 * h + 2 * 2 * h);
}
END_TEST

/* Eight tensor ranks hold an eighth of each matrix, and norms whole. */
START_TEST(weights_of_tensor_ranks) {
    const double h = 6144, layer = 12 * h * h, t = 8; /* 13h to a layer: norms and biases */
    const char *base = MEGATRON GPT "--gpus 8 --zero 0 ";
    double part = sim_bytes(sim_memory(sim_words(base, "--tp 8")), VS_METRIC_WEIGHTS_GIB);
    ck_assert_near(part, 2 * ((48 * layer + 51200 * h) / t + (2048 + 48 * 13 + 2) * h), 3e-4);
}
END_TEST

/* Tokens are those of data-parallel ranks: 8 devices by 2 x 2 are two of them. */
START_TEST(data_ranks) {
    const struct vs_outcome *o =
        sim_run(sim_words(PIPE, "--gpus 8 --pp 2 --tp 2 --accum 4 --micro-batch 3"));
    double tokens = o->metrics[VS_METRIC_TRAIN_TPS] * o->metrics[VS_METRIC_STEP_TIME_S];
    ck_assert_near(tokens, 2 * 4 * 3 * 64, 1e-9);
}
END_TEST

static double on_a_host(const char *words) {
    forget();
    sim_plan(&plan, words);
    return vs_node_ranks(plan.c);
}

/* Ranks of one stage share a node's memory and processors; a device map is one process. */
START_TEST(ranks_of_a_host) {
    ck_assert_double_eq(on_a_host(TINY "--gpus 4"), 4);
    ck_assert_double_eq(on_a_host(TINY "--gpus 16"), 8);
    ck_assert_double_eq(on_a_host(TINY "--gpus 4 --tp 2"), 4);
    ck_assert_double_eq(on_a_host(TINY "--gpus 4 --tp 2 --pp 2"), 2);
    ck_assert_double_eq(on_a_host(TINY "--gpus 32 --tp 2 --pp 2"), 8);
    ck_assert_double_eq(
        on_a_host("--hw a100-80g-sxm --gpus 2 --engine hf --task train --model toy --split layer"),
        1);
}
END_TEST

/* Ranks that share a copy of the model, or a sample, take no samples of their own. */
START_TEST(ranks_that_take_samples) {
    forget();
    sim_plan(&plan, TINY "--gpus 16 --tp 2 --pp 2 --cp 2");
    ck_assert_uint_eq(vs_train_copies(plan.c->machine, &plan.c->axes), 2);
    ck_assert_uint_eq(vs_train_stages(plan.c->machine, &plan.c->axes), 2);
    ck_assert_uint_eq(plan.ranks, 4); /* context ranks hold the same weights */
}
END_TEST

START_TEST(refused) {
    sim_refused(PIPE "--gpus 8 --tp 3", "--tp 3, --pp 1 and --cp 1 spread one copy over 3 devices; "
                                        "found 8");
    sim_refused(PIPE "--gpus 6 --pp 4", "found 6");
    sim_refused(PIPE "--gpus 8 --tp 8", "toy has 4 attention heads");
    sim_refused(PIPE "--gpus 8 --pp 8", "toy has 4 layers");
    sim_refused(PIPE "--gpus 4 --pp 4 --pp-interleave 2 --accum 4", "toy has 4 layers");
    sim_refused(PIPE "--gpus 2 --pp-interleave 2", "expected --pp of at least 2");
    sim_refused(PIPE "--gpus 2 --pp 2 --pp-interleave 2 --accum 3", "found --accum 3");
    sim_refused(PIPE "--gpus 8 --pp 2 --zero 3", "expected --zero 0 or 1 with --pp 2");
    sim_refused(PIPE "--gpus 4 --cp 3", "spread one copy over 3 devices");
    sim_refused(TINY "--gpus 4 --cp 4 --seq 36", "expected a multiple of 8");
    sim_refused(PIPE "--gpus 8 --cp 8 --cp-kind ulysses", "deals out the 4 heads of toy");
    sim_refused(TINY "--gpus 4 --tp 4 --seq-parallel on --seq 66", "--seq-parallel on splits 66");
    sim_refused(PIPE "--gpus 4 --ep 4", "toy has no experts");
    sim_refused("--hw a100-80g-sxm --engine fsdp --task train --model toy --gpus 4 --tp 2",
                "engine 'fsdp' does not support it");
    sim_refused("--hw a100-80g-sxm --engine fsdp --task train --model toy --gpus 4 --split layer",
                "engine 'fsdp' does not support it");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("pipeline");
    TCase *orders = tcase_create("orders"), *all = tcase_create("all");
    tcase_add_checked_fixture(orders, NULL, sim_end);
    tcase_add_test(orders, one_forward_one_backward);
    tcase_add_test(orders, interleaved);
    suite_add_tcase(suite, orders);
    tcase_add_checked_fixture(all, NULL, end);
    tcase_add_test(all, bubbles);
    tcase_add_test(all, in_flight);
    tcase_add_test(all, all_comes_back);
    tcase_add_test(all, kept_by_tensor_ranks);
    tcase_add_test(all, sent_by_tensor_ranks);
    tcase_add_test(all, weights_of_tensor_ranks);
    tcase_add_test(all, data_ranks);
    tcase_add_test(all, ranks_of_a_host);
    tcase_add_test(all, ranks_that_take_samples);
    tcase_add_test(all, refused);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
