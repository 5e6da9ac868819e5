/* What was written is read back: the same tables come from it as from the result itself. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "report/common.h"
#include "report/report.h"
#include "report/saved.h"
#include "sim_helpers.h"

static char path[] = "/tmp/vramsim-saved-XXXXXX";
static struct vs_text first, second;

static void setup(void) {
    memcpy(path + sizeof path - 7, "XXXXXX", 6);
    const int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(close(file), 0);
}

static void teardown(void) {
    (void)unlink(path);
    vs_text_release(&first);
    vs_text_release(&second);
    sim_end();
}

static void save(const char *text, size_t length) {
    struct vs_err err;
    ck_assert_msg(vs_file_write(path, text, length, &err), "%s", err.text);
}

static struct vs_result load(void) {
    struct vs_result result;
    struct vs_err err;
    ck_assert_msg(vs_saved_load(&sim_arena, path, &result, &err), "%s", err.text);
    return result;
}

static void refused(const char *text, const char *why) {
    struct vs_result result;
    struct vs_err err = {0};
    save(text, strlen(text));
    ck_assert_msg(!vs_saved_load(&sim_arena, path, &result, &err), "'%s' was read", text);
    ck_assert_int_eq(err.status, VS_ERR_INPUT);
    ck_assert_msg(strstr(err.text, why) != NULL, "%s", err.text);
}

static void same(void) {
    ck_assert_str_eq(vs_text_str(&first), vs_text_str(&second));
    ck_assert_uint_gt(first.length, 0);
}

/* Points that fit and that do not, their metrics, words and misses; memory by tag; the axes. */
START_TEST(a_sweep) {
    const struct vs_sweep *made =
        sim_sweep("--hw rtx4090,rtx3060 --workload chat8b --weights fp16,q4_k_m --gpu-layers all");
    struct vs_text json = {0};
    vs_report_sweep_json(&json, made);
    save(json.at, json.length);
    vs_text_release(&json);
    const struct vs_result result = load();
    const struct vs_sweep *read = result.sweep;
    ck_assert_str_eq(vs_result_kind(&result), "sweep");
    vs_report_points_csv(&first, made->points, made->point_count, made->fit_count, NULL);
    vs_report_points_csv(&second, read->points, read->point_count, read->fit_count, NULL);
    same();
    ck_assert_uint_gt(read->point_count, read->fit_count);
    ck_assert_int_eq(read->best, made->best);
    ck_assert_str_eq(read->workload, "chat8b");
    ck_assert_uint_eq(read->axis_count, made->axis_count);
    ck_assert_str_eq(read->axes[0].name, "hw");
    ck_assert(read->axes[0].listed);
    ck_assert_double_eq_tol(read->points[0]->interval_low[VS_METRIC_DECODE_TPS],
                            made->points[0]->interval_low[VS_METRIC_DECODE_TPS], 1e-6);
}
END_TEST

START_TEST(a_run) {
    const struct vs_run_options options = {.intervals = true};
    const struct vs_outcome *run =
        sim_outcome("--hw rtx4090 --workload qlora70b --engine hf", &options);
    vs_report_run_csv(&first, run);
    struct vs_text json = {0};
    vs_report_run_json(&json, run);
    save(json.at, json.length);
    vs_text_release(&json);
    const struct vs_result result = load();
    ck_assert_str_eq(vs_result_kind(&result), "run");
    vs_report_run_csv(&second, result.run);
    same();
    ck_assert_uint_eq(result.run->pool_count, run->pool_count);
    ck_assert_uint_eq(result.run->pools[0].by_tag[0].bytes, run->pools[0].by_tag[0].bytes);
}
END_TEST

START_TEST(points_as_csv) {
    const struct vs_sweep *made = sim_sweep("--hw toy --model toy --engine ideal --task generate "
                                            "--weights fp16,q8_0 --kv fp16,q8_0 --gpu-layers all");
    vs_report_points_csv(&first, made->points, made->point_count, made->fit_count, NULL);
    save(first.at, first.length);
    const struct vs_result result = load();
    vs_report_points_csv(&second, result.sweep->points, result.sweep->point_count,
                         result.sweep->fit_count, NULL);
    same();
}
END_TEST

START_TEST(limits) {
    const struct vs_limit *limit;
    struct vs_request request;
    struct vs_err err;
    ck_assert(sim_request("--hw rtx4090 --workload chat8b", &request, &err));
    ck_assert(vs_limit_run(&sim_arena, &request, VS_AXIS_BATCH, &limit, &err));
    vs_report_limit_json(&first, &limit, 1);
    save(first.at, first.length);
    const struct vs_result result = load();
    ck_assert_uint_eq(result.limit_count, 1);
    ck_assert_int_eq(result.limits[0]->value, limit->value);
    ck_assert_str_eq(result.limits[0]->axis, "batch");
    ck_assert_ptr_nonnull(result.limits[0]->beyond->oom);
}
END_TEST

/* From CSV: rows say which point they are of, as far as points differ, and where they run out. */
START_TEST(limits_csv) {
    static const char *const WORDS[] = {"--hw rtx4090 --workload chat8b --ctx 4096",
                                        "--hw rtx4090 --workload chat8b --ctx 8192"};
    const struct vs_limit *found[2];
    struct vs_request request;
    struct vs_err err;
    for (size_t i = 0; i < 2; i++) {
        ck_assert(sim_request(WORDS[i], &request, &err));
        ck_assert(vs_limit_run(&sim_arena, &request, VS_AXIS_BATCH, &found[i], &err));
    }
    vs_report_limit_csv(&first, found, 2);
    save(first.at, first.length);
    const struct vs_result result = load();
    ck_assert_uint_eq(result.limit_count, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct vs_limit *limit = result.limits[i];
        ck_assert_str_eq(limit->axis, "batch");
        ck_assert_int_eq(limit->value, found[i]->value);
        ck_assert_str_eq(limit->at->hw, "rtx4090");
        ck_assert_str_eq(limit->beyond->oom->pool, "gpu0");
    }
    vs_report_limit_csv(&second, result.limits, 2);
    const size_t head = strcspn(first.at, "\n");
    ck_assert_uint_eq(strcspn(second.at, "\n") + strlen(",batch"), head);
    ck_assert(strstr(second.at, ",8192"));
}
END_TEST

START_TEST(cases) {
    static const struct vs_case_row rows[] = {{.id = "a",
                                               .metric = "decode_tps",
                                               .engine = "hf",
                                               .group = "g",
                                               .trust = "high",
                                               .measured = 10,
                                               .predicted = 11,
                                               .error = 0.1,
                                               .low = (double)NAN,
                                               .high = (double)NAN},
                                              {.id = "b",
                                               .metric = "decode_tps",
                                               .engine = "hf",
                                               .group = "g",
                                               .trust = "low",
                                               .measured = 10,
                                               .predicted = (double)NAN,
                                               .error = 1,
                                               .failure = "why",
                                               .low_trust = true,
                                               .low = (double)NAN,
                                               .high = (double)NAN}};
    const struct vs_validation v = {.rows = rows, .row_count = 2, .distinct_args = 2};
    vs_report_validate_csv(&first, &v);
    save(first.at, first.length);
    struct vs_result result = load();
    vs_report_validate_csv(&second, result.validation);
    same();
    vs_text_release(&second);
    struct vs_text json = {0};
    vs_report_validate_json(&json, &v);
    save(json.at, json.length);
    vs_text_release(&json);
    result = load();
    vs_report_validate_csv(&second, result.validation);
    same();
    ck_assert(result.validation->rows[1].low_trust && !result.validation->rows[0].low_trust);
}
END_TEST

START_TEST(other_files) {
    refused("", "found nothing");
    refused("  \n", "found nothing");
    refused("{", "");
    refused("[]", "expected what sweep");
    refused("{}", "expected what sweep");
    refused("[3]", "expected what sweep");
    refused("{\"points\": 3}", ":1:12: expected what sweep");
    refused("{\"points\": [3]}", ":1:13: expected a point");
    refused("{\"points\": [{\"metrics\": {}}]}", "expected a point with hw, model and task");
    refused("{\"limits\": {}}", "expected what sweep");
    refused("{\"limits\": [{\"axis\": \"ctx\", \"value\": -1}]}", "expected what sweep");
    refused("{\"cases\": [{}]}", "expected what sweep");
    refused("a,b\n1,2\n", "found other columns");
    refused("label,fits\nx,1\n", ":2:1: expected hw, model and task");
    refused("measured,predicted\n1,2\n", ":2:1: expected id and metric");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("saved");
    TCase *tests = tcase_create("saved");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, a_sweep);
    tcase_add_test(tests, a_run);
    tcase_add_test(tests, points_as_csv);
    tcase_add_test(tests, limits);
    tcase_add_test(tests, limits_csv);
    tcase_add_test(tests, cases);
    tcase_add_test(tests, other_files);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
