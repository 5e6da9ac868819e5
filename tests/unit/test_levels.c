/* Memory levels of a timeline: the driver's view, in the order of issue, only when asked for. */
#include <string.h>

#include "sim_helpers.h"

static const struct vs_outcome *timeline(const char *words) {
    const struct vs_run_options options = {.timeline = true};
    return sim_outcome(words, &options);
}

static uint64_t highest(const struct vs_outcome *o, const char *pool) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < o->level_count; i++)
        if (strcmp(o->levels[i].pool, pool) == 0 && o->levels[i].bytes > bytes)
            bytes = o->levels[i].bytes;
    return bytes;
}

static double last_end(const struct vs_outcome *o) {
    double end_s = 0;
    for (size_t i = 0; i < o->span_count; i++)
        end_s = o->spans[i].end_s > end_s ? o->spans[i].end_s : end_s;
    return end_s;
}

static void run_in_order(const struct vs_outcome *o) {
    ck_assert_uint_gt(o->level_count, 0);
    ck_assert_double_ge(o->levels[0].at_s, 0);
    for (size_t i = 1; i < o->level_count; i++)
        ck_assert_double_ge(o->levels[i].at_s, o->levels[i - 1].at_s);
    ck_assert_double_le(o->levels[o->level_count - 1].at_s, last_end(o) + 1e-9);
}

START_TEST(only_when_asked_for) {
    const struct vs_outcome *o = sim_run(TOY_GENERATE "--prompt 64 --gen 4");
    ck_assert_uint_eq(o->level_count, 0);
    ck_assert_uint_eq(o->span_count, 0);
}
END_TEST

/* Every tensor of the load, in order: embedding, then the layers' 36 tensors, norm and head. The
 * n-th level is the sum of the first n tensors, and stands where its copy begins. */
START_TEST(loading_fills_the_device) {
    const struct vs_outcome *o = timeline(TOY_GENERATE "--prompt 64 --gen 4");
    run_in_order(o);
    ck_assert_str_eq(o->levels[0].pool, "gpu0");
    ck_assert_uint_eq(o->levels[0].bytes, 2 * TOY_LINEAR);
    ck_assert_uint_eq(o->levels[38].bytes, 2 * TOY_PARAMS);
    for (size_t i = 1; i < 39; i++)
        ck_assert_uint_gt(o->levels[i].bytes, o->levels[i - 1].bytes);
    ck_assert_uint_eq(highest(o, "gpu0"), o->pools[0].peak_bytes);
}
END_TEST

/* The step that is shown is the settled one, so it reaches the run's peak; what the clock and the
 * pools find does not change by being recorded. */
START_TEST(training_reaches_its_peak) {
    static const char *const ENGINES[] = {"ideal", "hf"};
    for (size_t i = 0; i < 2; i++) {
        const char *words = vs_arena_printf(
            &sim_arena, "--hw toy --model toy --engine %s --task train --seq 128 --accum 3",
            ENGINES[i]);
        const struct vs_outcome *o = timeline(words), *plain = sim_run(words);
        run_in_order(o);
        ck_assert_uint_eq(highest(o, "gpu0"), o->pools[0].peak_bytes);
        ck_assert_uint_eq(o->pools[0].peak_bytes, plain->pools[0].peak_bytes);
        ck_assert_double_eq(o->metrics[VS_METRIC_STEP_TIME_S],
                            plain->metrics[VS_METRIC_STEP_TIME_S]);
    }
}
END_TEST

/* Pools are told apart: streamed layers rest in host memory. */
START_TEST(each_pool_has_its_own) {
    const struct vs_outcome *o = timeline(TOY_GENERATE "--prompt 64 --gen 4 --offload stream");
    run_in_order(o);
    ck_assert_uint_eq(highest(o, "host"), o->pools[1].peak_bytes);
    ck_assert_uint_eq(highest(o, "gpu0"), o->pools[0].peak_bytes);
}
END_TEST

/* Behind the operation that ran out there is nothing to see. */
START_TEST(levels_end_where_it_runs_out) {
    const struct vs_outcome *o =
        timeline("--hw toy --model llama-3-8b --engine ideal --task generate --weights fp16");
    ck_assert(!o->fits);
    run_in_order(o);
    ck_assert_uint_le(highest(o, "gpu0"), o->pools[0].capacity_bytes);
    ck_assert_uint_gt(highest(o, "gpu0"), o->pools[0].capacity_bytes / 10 * 9);
}
END_TEST

/* A phase that is timed twice, the second time not walked, records its levels once. */
START_TEST(a_walk_can_be_forgotten) {
    struct vs_plan plan;
    struct vs_executor x;
    struct vs_phase phase = {0};
    struct vs_err err = {0};
    sim_plan(&plan, TOY_GENERATE);
    sim_executor(&x, &plan);
    x.record = &sim_arena;
    const struct vs_load_needs needs = {0};
    ck_assert(vs_emit_load(&plan, &needs, &phase, &err));
    sim_walk(&x, &phase);
    sim_time(&x, &phase);
    size_t count = x.levels.count;
    ck_assert_uint_eq(count, 39);
    vs_forget_walk(&x);
    sim_time(&x, &phase);
    ck_assert_uint_eq(x.levels.count, count);
    vs_phase_release(&phase);
    vs_executor_release(&x);
    vs_plan_release(&plan);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("levels");
    TCase *tests = tcase_create("levels");
    tcase_add_checked_fixture(tests, NULL, sim_end);
    tcase_add_test(tests, only_when_asked_for);
    tcase_add_test(tests, loading_fills_the_device);
    tcase_add_test(tests, training_reaches_its_peak);
    tcase_add_test(tests, each_pool_has_its_own);
    tcase_add_test(tests, levels_end_where_it_runs_out);
    tcase_add_test(tests, a_walk_can_be_forgotten);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
