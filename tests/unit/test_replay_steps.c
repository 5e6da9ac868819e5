/* Training driven by the lengths of a trace. */
#include <string.h>

#include "import/steps.h"
#include "run/replay_steps.h"
#include "sim_helpers.h"

/* PyTorch's allocator needs an engine that has it. */
#define HF "--hw toy --model toy --engine hf --task train "

static struct vs_step_trace trace;
static struct vs_step_options how;

static void begin(void) {
    trace = (struct vs_step_trace){.form = NULL};
    how = (struct vs_step_options){.packed = false};
}

static void end(void) {
    vs_step_trace_release(&trace);
    sim_end();
}

static bool try_read(const char *text, bool skip_bad, struct vs_err *err) {
    struct vs_input *in = vs_input_over(text, strlen(text), "t", err);
    ck_assert_ptr_nonnull(in);
    bool ok = vs_step_trace_read(in, skip_bad, &trace, err);
    vs_input_close(in);
    return ok;
}

static void read_text(const char *text) {
    struct vs_err err = {.status = VS_OK};
    ck_assert(vs_step_trace_looks_like(text, strlen(text)));
    ck_assert_msg(try_read(text, false, &err), "%s", err.text);
}

static void refuse(const char *text, const char *message) {
    struct vs_err err = {.status = VS_OK};
    ck_assert(!try_read(text, false, &err));
    ck_assert_int_eq(err.status, VS_ERR_INPUT);
    ck_assert_str_eq(err.text, message);
    vs_step_trace_release(&trace);
}

static const struct vs_outcome *replay_with(const char *words,
                                            const struct vs_run_options *options) {
    struct vs_err err = {.status = VS_OK};
    struct vs_request request;
    const struct vs_outcome *outcome = NULL;
    ck_assert_msg(sim_request(words, &request, &err) &&
                      vs_replay_steps(&sim_arena, &request, &trace, &how, options, &outcome, &err),
                  "%s", err.text);
    ck_assert_ptr_nonnull(outcome->steps);
    return outcome;
}

static const struct vs_outcome *replay(const char *words) {
    const struct vs_run_options options = {.timeline = false};
    return replay_with(words, &options);
}

/* ---- reading ---- */

static void expect_two_steps(uint64_t first, uint64_t second) {
    ck_assert_uint_eq(trace.steps.count, 2);
    ck_assert_uint_eq(trace.steps.at[0].number, first);
    ck_assert_uint_eq(trace.steps.at[0].count, 2);
    ck_assert_uint_eq(trace.steps.at[1].number, second);
    ck_assert_uint_eq(trace.steps.at[1].first, 2);
    ck_assert_uint_eq(trace.steps.at[1].count, 1);
    ck_assert_uint_eq(trace.lengths.count, 3);
    ck_assert_uint_eq(trace.lengths.at[0], 512);
    ck_assert_uint_eq(trace.lengths.at[1], 97);
    ck_assert_uint_eq(trace.lengths.at[2], 2048);
    vs_step_trace_release(&trace);
}

START_TEST(test_forms) {
    read_text("step,lengths\n7,512 97\n8,\" 2048 \"\n");
    expect_two_steps(7, 8);
    read_text("length,step\r\n512,1\r\n97,1\r\n2048,2");
    expect_two_steps(1, 2);
    read_text("{\"lengths\": [512, 97], \"lr\": 0.1}\n{\"step\": 5, \"lengths\": [2048]}\n");
    expect_two_steps(0, 5);
}
END_TEST

START_TEST(test_bad) {
    refuse("step,lengths\n", "t: found no step, expected at least one");
    refuse("step,lengths\n0,\n", "t:2: expected 1 to 65536 samples in a step");
    refuse("step,lengths\n0,1 2\n1,3,4\n",
           "t:3: found another number of fields than the header has");
    refuse("step,lengths\n0,1;2\n",
           "t:2: found lengths that are not whole numbers with blanks between");
    refuse("step,length\n0,0\n", "t:2: found a length that is no whole number from 1 to 4194304");
    refuse("step,length\n0,9999999999\n",
           "t:2: found a length that is no whole number from 1 to 4194304");
    refuse("step,length\n-1,5\n",
           "t:2: found a number of a step, or a count, that is no whole number");
    refuse("{\"lengths\": [5]}\n{\"lengths\": [5.5]}\n",
           "t:2: found a length that is no whole number from 1 to 4194304");
    refuse("{\"lengths\": [5]}\n[]\n", "t:2: expected an array under 'lengths'");
    refuse("{\"lengths\": [5]}\n{\n", "t:2: expected one JSON object a line");
    refuse("length,count\n5,0\n", "t: found no step, expected at least one");
    refuse("a,b\n", "t:1: expected a header with step and lengths, step and length, or length and "
                    "count, or a JSON object with 'lengths'");
    struct vs_err err = {.status = VS_OK};
    ck_assert(try_read("step,lengths\n0,512 x\n1,5 6\n\n2,0\n", true, &err));
    ck_assert_uint_eq(trace.skipped, 3);
    ck_assert_uint_eq(trace.steps.count, 1);
    ck_assert_uint_eq(trace.lengths.count, 2);
}
END_TEST

/* Three of four samples have 100 tokens: of 4000 drawn about 3000, the same ones for a seed. */
START_TEST(test_histogram) {
    struct vs_step_trace drawn = {.form = NULL}, again = {.form = NULL};
    read_text("length,count\n100,3\n200,1\n");
    ck_assert(vs_step_trace_is_histogram(&trace));
    ck_assert(vs_step_trace_draw(&trace, 1, 1000, 4, &drawn));
    ck_assert(vs_step_trace_draw(&trace, 1, 1000, 4, &again));
    ck_assert_uint_eq(drawn.steps.count, 1000);
    ck_assert_uint_eq(drawn.lengths.count, 4000);
    ck_assert_mem_eq(drawn.lengths.at, again.lengths.at, 4000 * sizeof *again.lengths.at);
    size_t short_ones = 0;
    for (size_t i = 0; i < drawn.lengths.count; i++)
        short_ones += drawn.lengths.at[i] == 100;
    ck_assert_uint_gt(short_ones, 2900);
    ck_assert_uint_lt(short_ones, 3100);
    vs_step_trace_release(&drawn);
    vs_step_trace_release(&again);
    how.steps = 5;
    const struct vs_outcome *o = replay(HF "--micro-batch 2 --accum 3");
    ck_assert_uint_eq(o->steps->step_count, 5);
    ck_assert_uint_eq(o->steps->steps[0].samples, 6);
    ck_assert_uint_eq(o->steps->steps[0].micro_steps, 3);
}
END_TEST

/* ---- steps ---- */

/* Steps that are all alike are those of a run. */
START_TEST(test_equal_steps) {
    read_text("step,lengths\n0,512 512\n1,512 512\n2,512 512\n3,512 512\n");
    const struct vs_outcome *o = replay(HF "--accum 2");
    const struct vs_outcome *run = sim_run(HF "--seq 512 --accum 2");
    ck_assert(o->fits);
    ck_assert_uint_eq(o->steps->step_count, 4);
    ck_assert_near(o->metrics[VS_METRIC_STEP_TIME_S], run->metrics[VS_METRIC_STEP_TIME_S], 1e-9);
    ck_assert_near(o->metrics[VS_METRIC_TRAIN_TPS], run->metrics[VS_METRIC_TRAIN_TPS], 1e-9);
    ck_assert_near(o->metrics[VS_METRIC_MFU], run->metrics[VS_METRIC_MFU], 1e-9);
    ck_assert_uint_eq(o->pools[0].peak_bytes, run->pools[0].peak_bytes);
    ck_assert_uint_eq(o->pools[0].peak_allocated_bytes, run->pools[0].peak_allocated_bytes);
    ck_assert_double_eq_tol(o->steps->steps[3].start_s, 3 * o->steps->steps[0].seconds, 1e-9);
    ck_assert_str_eq(o->bound_by, run->bound_by);
}
END_TEST

/* So are those of ranks, which sum gradients once a step: the last micro-step is another phase. */
START_TEST(test_equal_steps_of_ranks) {
    read_text("step,lengths\n0,512 512\n1,512 512\n2,512 512\n");
    const struct vs_outcome *o = replay(HF "--accum 2 --gpus 4");
    const struct vs_outcome *run = sim_run(HF "--seq 512 --accum 2 --gpus 4");
    ck_assert_near(o->metrics[VS_METRIC_TRAIN_TPS], run->metrics[VS_METRIC_TRAIN_TPS], 1e-9);
    ck_assert_uint_eq(o->pools[0].peak_bytes, run->pools[0].peak_bytes);
#define PAIRS                                                                                      \
    "--hw a100-80g-sxm --gpus 4 --tp 2 --model toy --task train --engine megatron --accum 2 "
    o = replay(PAIRS);
    run = sim_run(PAIRS "--seq 512");
    ck_assert_near(o->metrics[VS_METRIC_TRAIN_TPS], run->metrics[VS_METRIC_TRAIN_TPS], 1e-9);
    ck_assert_near(o->metrics[VS_METRIC_MFU], run->metrics[VS_METRIC_MFU], 1e-9);
}
END_TEST

/* Two samples are padded to the longer one; the third has a micro-step of its own. */
START_TEST(test_padding) {
    read_text("step,lengths\n0,100 300 50\n");
    const struct vs_outcome *o = replay(HF "--micro-batch 2");
    const struct vs_step_outcome *step = &o->steps->steps[0];
    ck_assert_uint_eq(step->samples, 3);
    ck_assert_uint_eq(step->tokens, 450);
    ck_assert_uint_eq(step->computed_tokens, 650);
    ck_assert_uint_eq(step->longest, 300);
    ck_assert_uint_eq(step->micro_steps, 2);
    ck_assert_uint_eq(o->steps->cut, 0);
    const struct vs_outcome *cut = replay(HF "--micro-batch 2 --seq 200");
    ck_assert_uint_eq(cut->steps->steps[0].computed_tokens, 450);
    ck_assert_uint_eq(cut->steps->steps[0].tokens, 350);
    ck_assert_uint_eq(cut->steps->cut, 1);
    ck_assert_double_gt(o->steps->seconds, cut->steps->seconds);
}
END_TEST

/* Rows of 512: 200 + 200, 200 + 300, 512 (of 900): three rows, of which two go together. */
START_TEST(test_packing) {
    read_text("step,lengths\n0,200 200 200 300 900\n");
    how.packed = true;
    const struct vs_outcome *o = replay(HF "--micro-batch 2 --seq 512");
    const struct vs_step_outcome *step = &o->steps->steps[0];
    ck_assert_uint_eq(step->micro_steps, 2);
    ck_assert_uint_eq(step->tokens, 900 + 512);
    ck_assert_uint_eq(step->computed_tokens, 3 * 512);
    ck_assert_uint_eq(o->steps->cut, 1);
}
END_TEST

/* The longest sample that a run of equal steps finds room for runs, twice as many tokens do not:
 * step 12, its second sample, in the first micro-step. */
START_TEST(test_oom) {
    read_text("step,lengths\n10,64 64\n11,256 128\n12,64 40000\n13,64\n");
    const struct vs_outcome *o = replay(HF "--micro-batch 2 --set device.memory.usable=1GiB");
    ck_assert(!o->fits);
    ck_assert_uint_eq(o->steps->step_count, 2);
    ck_assert_uint_eq(o->steps->oom_step, 12);
    ck_assert_uint_eq(o->steps->oom_micro_step, 1);
    ck_assert_uint_eq(o->steps->oom_sample, 2);
    ck_assert_uint_eq(o->steps->oom_tokens, 40000);
    ck_assert_uint_gt(o->oom->needed_bytes, GIB);
    ck_assert_str_eq(o->oom->phase, "micro-step");
    ck_assert_double_ge(o->oom->at_s, o->steps->seconds);
    ck_assert(isnan(o->metrics[VS_METRIC_TRAIN_TPS]));
    ck_assert_uint_eq(o->steps->memory.steps, 2);
    ck_assert_ptr_nonnull(o->steps->other);
    ck_assert(!o->steps->other->fits);
}
END_TEST

/* A long run of varying lengths: segments that fit no later request pile up, which pages do not. */
START_TEST(test_fragmentation) {
    how.steps = 200;
    how.seed = 3;
    read_text("length,count\n64,1\n100,1\n181,1\n300,1\n555,1\n777,1\n1024,1\n1500,1\n1999,1\n"
              "2500,1\n3000,1\n3333,1\n4000,1\n");
    const struct vs_outcome *o = replay(HF "--micro-batch 4");
    const struct vs_step_memory *off = &o->steps->memory, *on = o->steps->other;
    ck_assert_str_eq(off->expandable, "off");
    ck_assert_str_eq(on->expandable, "on");
    ck_assert_uint_eq(on->steps, 200);
    /* The same requests; a large block may keep up to 1 MiB of rest where segments don't expand. */
    ck_assert_uint_le(on->peak_allocated_bytes, off->peak_allocated_bytes);
    ck_assert_uint_lt(on->peak_reserved_bytes, off->peak_reserved_bytes);
    ck_assert_uint_le(o->steps->steps[0].peak_reserved_bytes,
                      o->steps->steps[199].peak_reserved_bytes);
    const struct vs_outcome *expandable = replay(HF "--micro-batch 4 --expandable-segments on");
    ck_assert_uint_eq(expandable->steps->memory.peak_reserved_bytes, on->peak_reserved_bytes);
    ck_assert_uint_eq(expandable->steps->other->peak_reserved_bytes, off->peak_reserved_bytes);
}
END_TEST

/* Times taken behind each walk, as a timeline needs them, are those of the shapes. */
START_TEST(test_timeline) {
    const struct vs_run_options timeline = {.timeline = true};
    read_text("step,lengths\n0,100 300 50\n1,300 100 50\n2,7\n");
    const struct vs_outcome *apart = replay(HF), *direct = replay_with(HF, &timeline);
    ck_assert_near(direct->steps->seconds, apart->steps->seconds, 1e-9);
    ck_assert_uint_gt(direct->span_count, 0);
    ck_assert_uint_gt(direct->level_count, 0);
    for (size_t i = 0; i < 3; i++)
        ck_assert_near(direct->steps->steps[i].seconds, apart->steps->steps[i].seconds, 1e-9);
}
END_TEST

/* Pages of a paged optimizer move; checkpoints in host memory do not pile up. */
START_TEST(test_other_memories) {
    read_text("step,lengths\n0,100 300 50\n1,300 100 50\n2,7\n3,300\n");
    const struct vs_outcome *paged = replay(HF "--optim paged-adamw");
    ck_assert(paged->fits);
    ck_assert_uint_eq(paged->steps->step_count, 4);
    const struct vs_outcome *host = replay(
        "--hw toy --model toy --engine torchtune --task train --ckpt full --ckpt-offload cpu");
    const struct vs_outcome *run = sim_run("--hw toy --model toy --engine torchtune --task train "
                                           "--ckpt full --ckpt-offload cpu --seq 300");
    ck_assert_double_eq(host->metrics[VS_METRIC_PEAK_RAM_GIB],
                        run->metrics[VS_METRIC_PEAK_RAM_GIB]);
}
END_TEST

START_TEST(test_wrong_task) {
    struct vs_err err = {.status = VS_OK};
    struct vs_request request;
    const struct vs_run_options options = {.timeline = false};
    const struct vs_outcome *outcome = NULL;
    read_text("step,lengths\n0,100\n");
    ck_assert(sim_request(TOY_GENERATE, &request, &err));
    ck_assert(!vs_replay_steps(&sim_arena, &request, &trace, &how, &options, &outcome, &err));
    ck_assert_str_eq(err.text, "--task generate has no use for a trace of training steps");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("replay of steps");
    TCase *tcase = tcase_create("all");
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, begin, end);
    tcase_add_test(tcase, test_forms);
    tcase_add_test(tcase, test_bad);
    tcase_add_test(tcase, test_histogram);
    tcase_add_test(tcase, test_equal_steps);
    tcase_add_test(tcase, test_equal_steps_of_ranks);
    tcase_add_test(tcase, test_padding);
    tcase_add_test(tcase, test_packing);
    tcase_add_test(tcase, test_oom);
    tcase_add_test(tcase, test_fragmentation);
    tcase_add_test(tcase, test_timeline);
    tcase_add_test(tcase, test_other_memories);
    tcase_add_test(tcase, test_wrong_task);
    return run_suite(suite);
}
