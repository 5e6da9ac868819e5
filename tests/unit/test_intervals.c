/* Intervals from an error table: worked examples, on tables of our own in a data folder that comes
 * first. */
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "run/intervals.h"
#include "sim_helpers.h"

static char folder[64];

static const char *path_of(const char *name) {
    return vs_arena_printf(&sim_arena, "%s/%s", folder, name);
}

static void begin(void) {
    struct vs_err err = {0};
    (void)snprintf(folder, sizeof folder, "/tmp/vramsim-intervals-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert(vs_dir_make(path_of("workloads/accuracy"), &err));
    ck_assert_int_eq(setenv("VRAMSIM_PATH", folder, 1), 0);
}

static void end(void) {
    (void)unlink(path_of("workloads/accuracy/table.json"));
    (void)rmdir(path_of("workloads/accuracy"));
    (void)rmdir(path_of("workloads"));
    (void)rmdir(folder);
    (void)unsetenv("VRAMSIM_PATH");
    sim_end();
}

#define TABLE(entries) "{\"schema\": \"vramsim-accuracy/1\", \"entries\": [" entries "]}"
#define ENTRY(engine, metric, groups, arch, ratios)                                                \
    "{\"engine\": \"" engine "\", \"metric\": \"" metric "\", \"n\": 40, \"groups\": " groups      \
    ", \"archs\": [\"other\", \"" arch "\"], " ratios "}"
#define RATIOS "\"q10\": 0.8, \"q90\": 1.25, \"left_out_coverage\": 0.7, \"widen\": 2"

static bool load(const char *text, const struct vs_intervals **table, struct vs_err *err) {
    *table = NULL;
    return vs_file_write(path_of("workloads/accuracy/table.json"), text, strlen(text), err) &&
           vs_intervals_load(&sim_arena, table, err);
}

/* Decodes 100 tokens a second, one every 0.01 s. */
static struct vs_outcome decoding(void) {
    struct vs_outcome o = {.engine = "e", .task = "generate", .arch = "a", .fits = true};
    for (int i = 0; i < VS_METRIC_COUNT; i++)
        o.metrics[i] = o.interval_low[i] = o.interval_high[i] = (double)NAN;
    o.metrics[VS_METRIC_DECODE_TPS] = 100;
    o.metrics[VS_METRIC_TPOT_S] = 0.01;
    o.metrics[VS_METRIC_PEAK_VRAM_GIB] = 4;
    return o;
}

static const struct vs_outcome *with(const char *text, const struct vs_outcome *o) {
    const struct vs_intervals *table;
    struct vs_err err = {0};
    ck_assert_msg(load(text, &table, &err), "%s", err.text);
    ck_assert(vs_intervals_add(&sim_arena, table, &o, &err));
    return o;
}

static void is(const struct vs_outcome *o, enum vs_metric metric, double low, double high) {
    ck_assert_double_eq_tol(o->interval_low[metric], low, 1e-12 * high);
    ck_assert_double_eq_tol(o->interval_high[metric], high, 1e-12 * high);
}

static void has_none(const struct vs_outcome *o, enum vs_metric metric) {
    ck_assert(isnan(o->interval_low[metric]) && isnan(o->interval_high[metric]));
}

/* 0.8 / 2 and 1.25 * 2 times what was predicted; the time per token is the inverse, and the
 * outcome that was given stays as it is. */
START_TEST(quantiles_stretch_the_prediction) {
    const struct vs_outcome plain = decoding();
    const struct vs_outcome *o = with(TABLE(ENTRY("e", "decode_tps", "5", "a", RATIOS)), &plain);
    is(o, VS_METRIC_DECODE_TPS, 40, 250);
    is(o, VS_METRIC_TPOT_S, 0.004, 0.025);
    has_none(o, VS_METRIC_PREFILL_TPS);
    has_none(o, VS_METRIC_PEAK_VRAM_GIB);
    ck_assert(!o->extrapolating);
    has_none(&plain, VS_METRIC_DECODE_TPS);
}
END_TEST

/* Rows of the figure itself go first. */
START_TEST(own_rows_before_those_of_a_twin) {
    const struct vs_outcome plain = decoding();
    const struct vs_outcome *o =
        with(TABLE(ENTRY("e", "decode_tps", "5", "a", RATIOS) "," ENTRY(
                 "e", "tpot_s", "6", "a", "\"q10\": 0.5, \"q90\": 2, \"widen\": 1")),
             &plain);
    is(o, VS_METRIC_TPOT_S, 0.005, 0.02);
}
END_TEST

START_TEST(serving_has_no_twins) {
    struct vs_outcome plain = decoding();
    plain.task = "serve";
    const struct vs_outcome *o = with(TABLE(ENTRY("e", "decode_tps", "5", "a", RATIOS)), &plain);
    is(o, VS_METRIC_DECODE_TPS, 40, 250);
    has_none(o, VS_METRIC_TPOT_S);
}
END_TEST

/* Step time is inverse to trained tokens, utilization goes with them. */
START_TEST(training) {
    struct vs_outcome plain = decoding();
    plain.task = "train";
    plain.metrics[VS_METRIC_DECODE_TPS] = plain.metrics[VS_METRIC_TPOT_S] = (double)NAN;
    plain.metrics[VS_METRIC_TRAIN_TPS] = 1000;
    plain.metrics[VS_METRIC_STEP_TIME_S] = 2;
    plain.metrics[VS_METRIC_MFU] = 0.4;
    const struct vs_outcome *o = with(TABLE(ENTRY("e", "train_tps", "9", "a", RATIOS)), &plain);
    is(o, VS_METRIC_TRAIN_TPS, 400, 2500);
    is(o, VS_METRIC_STEP_TIME_S, 0.8, 5);
    is(o, VS_METRIC_MFU, 0.16, 1);
}
END_TEST

START_TEST(too_few_groups_say_nothing) {
    const struct vs_outcome plain = decoding();
    const struct vs_outcome *o = with(TABLE(ENTRY("e", "decode_tps", "4", "a", RATIOS)), &plain);
    has_none(o, VS_METRIC_DECODE_TPS);
    has_none(o, VS_METRIC_TPOT_S);
    ck_assert(!o->extrapolating); /* but there are measurements */
}
END_TEST

/* Without left-out groups nothing is known about what was not measured. */
START_TEST(no_interval_without_a_judgement) {
    const struct vs_outcome plain = decoding();
    const struct vs_outcome *o =
        with(TABLE(ENTRY("e", "decode_tps", "9", "a", "\"q10\": 1, \"q90\": 1, \"widen\": null")),
             &plain);
    has_none(o, VS_METRIC_DECODE_TPS);
}
END_TEST

/* Another engine, another generation: nothing like it was measured. On another generation the
 * interval stays, with the word. */
START_TEST(extrapolating) {
    struct vs_outcome plain = decoding();
    const char *text = TABLE(ENTRY("e", "decode_tps", "5", "a", RATIOS));
    plain.arch = "b";
    const struct vs_outcome *o = with(text, &plain);
    ck_assert(o->extrapolating);
    is(o, VS_METRIC_DECODE_TPS, 40, 250);
    plain.arch = "a";
    plain.engine = "f";
    o = with(text, &plain);
    ck_assert(o->extrapolating);
    has_none(o, VS_METRIC_DECODE_TPS);
    plain.bound = true; /* a bound is no prediction */
    ck_assert(!with(text, &plain)->extrapolating);
    plain.bound = false;
    plain.metrics[VS_METRIC_DECODE_TPS] = (double)NAN; /* out of memory */
    ck_assert(!with(text, &plain)->extrapolating);
}
END_TEST

static void refused(const char *text, const char *message) {
    const struct vs_intervals *table;
    struct vs_err err = {0};
    ck_assert(!load(text, &table, &err));
    ck_assert_int_eq(err.status, VS_ERR_INPUT);
    ck_assert_msg(strstr(err.text, message) != NULL, "'%s', expected '%s'", err.text, message);
}

START_TEST(damaged_tables) {
    refused("{\"schema\": \"vramsim-accuracy/2\", \"entries\": []}",
            "expected 'vramsim-accuracy/1'");
    refused(TABLE("3"), "$.entries[0]");
    refused(TABLE(ENTRY("e", "decode_tsp", "5", "a", RATIOS)), "unknown metric 'decode_tsp'");
    refused(TABLE(ENTRY("e", "decode_tps", "0", "a", RATIOS)), "$.entries[0].groups");
    refused(TABLE(ENTRY("e", "decode_tps", "5", "a", "\"q10\": 2, \"q90\": 1, \"widen\": 1")),
            "$.entries[0].q90");
    refused(TABLE(ENTRY("e", "decode_tps", "5", "a", RATIOS ", \"q95\": 3")), "q95");
    refused("{", "table.json:1:");
}
END_TEST

/* Options decide: a run without them is silent; one with them reads the table of the first data
 * folder. */
START_TEST(runs_take_them) {
    const char *words = "--hw toy --model toy --engine hf --task train --seq 64";
    const struct vs_intervals *table;
    struct vs_err err = {0};
    ck_assert(load(TABLE(ENTRY("hf", "train_tps", "5", "toy", RATIOS)), &table, &err));
    const struct vs_outcome *plain = sim_run(words);
    has_none(plain, VS_METRIC_TRAIN_TPS);
    ck_assert_str_eq(plain->arch, "toy");
    const struct vs_run_options options = {.intervals = true};
    const struct vs_outcome *o = sim_outcome(words, &options);
    double speed = plain->metrics[VS_METRIC_TRAIN_TPS];
    is(o, VS_METRIC_TRAIN_TPS, 0.4 * speed, 2.5 * speed);
    ck_assert(!o->extrapolating);
}
END_TEST

START_TEST(sweeps_take_them) {
    struct vs_err err = {0};
    const struct vs_intervals *table;
    ck_assert(load(TABLE(ENTRY("hf", "train_tps", "5", "toy", RATIOS)), &table, &err));
    const struct vs_sweep *sweep =
        sim_sweep("--hw toy --model toy --engine hf --task train --seq 64,128 --method lora "
                  "--weights bf16 --ckpt none --optim adamw --loss full --offload-param none");
    ck_assert_uint_ge(sweep->point_count, 2);
    for (size_t i = 0; i < sweep->point_count; i++) {
        double speed = sweep->points[i]->metrics[VS_METRIC_TRAIN_TPS];
        is(sweep->points[i], VS_METRIC_TRAIN_TPS, 0.4 * speed, 2.5 * speed);
    }
}
END_TEST

/* The committed table is one that can be read. */
START_TEST(the_committed_table) {
    const struct vs_intervals *table = NULL;
    struct vs_err err = {0};
    (void)unsetenv("VRAMSIM_PATH");
    ck_assert_msg(vs_intervals_load(&sim_arena, &table, &err), "%s", err.text);
    struct vs_outcome plain = decoding();
    plain.engine = "llamacpp";
    plain.arch = "ada";
    const struct vs_outcome *o = &plain;
    ck_assert(vs_intervals_add(&sim_arena, table, &o, &err));
    ck_assert(!o->extrapolating);
    ck_assert(o->interval_low[VS_METRIC_DECODE_TPS] > 50);
    ck_assert(o->interval_high[VS_METRIC_DECODE_TPS] < 200);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("intervals");
    TCase *tests = tcase_create("intervals");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, quantiles_stretch_the_prediction);
    tcase_add_test(tests, own_rows_before_those_of_a_twin);
    tcase_add_test(tests, serving_has_no_twins);
    tcase_add_test(tests, training);
    tcase_add_test(tests, too_few_groups_say_nothing);
    tcase_add_test(tests, no_interval_without_a_judgement);
    tcase_add_test(tests, extrapolating);
    tcase_add_test(tests, damaged_tables);
    tcase_add_test(tests, runs_take_them);
    tcase_add_test(tests, sweeps_take_them);
    tcase_add_test(tests, the_committed_table);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
