/* run/validate and the reports about it, with a stand-in for the simulator whose answers are in the
 * arguments: decode_tps = batch, kv_gib = ctx / 1024, out of memory from batch 1000 on, no run at
 * all at batch 666. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "report/errors.h"
#include "report/report.h"
#include "run/predictor.h"
#include "run/validate.h"
#include "unit/suite.h"

#define HEADER "id,args,metric,value,unit,tolerance,trust,group,source,notes\n"

static char folder[64];
static struct vs_arena arena;
static struct vs_text out;
static struct vs_err err;

static void path_of(char path[128], const char *name) {
    (void)snprintf(path, 128, "%s/%s", folder, name);
}

static void write_file(const char *name, const char *text) {
    char path[128];
    path_of(path, name);
    ck_assert_msg(vs_file_write(path, text, strlen(text), &err), "%s", err.text);
}

static void setup(void) {
    (void)snprintf(folder, sizeof folder, "/tmp/vramsim-validate-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    vs_arena_init(&arena);
    out = (struct vs_text){0};
}

static void teardown(void) {
    static const char *const names[] = {"a.csv", "b.csv", "other.csv", "note.txt"};
    char path[128];
    for (size_t i = 0; i < 4; i++) {
        path_of(path, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(folder);
    vs_arena_release(&arena);
    vs_text_release(&out);
}

static bool fake_run(struct vs_arena *run_arena, const struct vs_request *request,
                     const struct vs_run_options *options, const struct vs_outcome **outcome,
                     struct vs_err *why) {
    const double batch = (double)vs_count(&request->user, VS_AXIS_BATCH);
    struct vs_outcome *o = VS_NEW(run_arena, struct vs_outcome);
    if (!o)
        return vs_err_nomem(why);
    if (batch == 666)
        return vs_err_set(why, VS_ERR_INPUT, "no such machine");
    for (int i = 0; i < VS_METRIC_COUNT; i++)
        o->metrics[i] = o->interval_low[i] = o->interval_high[i] = (double)NAN;
    o->fits = batch < 1000;
    if (!options->capacity_only && o->fits) {
        o->metrics[VS_METRIC_DECODE_TPS] = batch;
        o->interval_low[VS_METRIC_DECODE_TPS] = 0.5 * batch;
        o->interval_high[VS_METRIC_DECODE_TPS] = 2 * batch;
    }
    o->metrics[VS_METRIC_KV_GIB] = (double)vs_count(&request->user, VS_AXIS_CTX) / 1024;
    o->metrics[VS_METRIC_WEIGHTS_HOST_GIB] = 3;
    o->device_count = vs_given(&request->user, VS_AXIS_GPUS) ? 2 : 1;
    struct vs_device_outcome *devices = VS_NEW_ARRAY(run_arena, struct vs_device_outcome, 2);
    if (!devices)
        return vs_err_nomem(why);
    for (size_t d = 0; d < o->device_count; d++)
        memcpy(devices[d].metrics, o->metrics, sizeof o->metrics);
    devices[1].metrics[VS_METRIC_KV_GIB] = 1;
    o->devices = devices;
    *outcome = o;
    return true;
}

/* ctx: 4096; gpu-layers: 40; micro-batch: 8; batch: 16. */
static bool fake_limit(struct vs_arena *run_arena, const struct vs_request *request,
                       enum vs_axis axis, const struct vs_limit **limit, struct vs_err *why) {
    struct vs_limit *l = VS_NEW(run_arena, struct vs_limit);
    (void)request;
    if (!l)
        return vs_err_nomem(why);
    if (axis == VS_AXIS_SEQ)
        return vs_err_set(why, VS_ERR_INPUT, "no limit of seq");
    l->value = axis == VS_AXIS_CTX           ? 4096
               : axis == VS_AXIS_GPU_LAYERS  ? 40
               : axis == VS_AXIS_MICRO_BATCH ? 8
                                             : 16;
    *limit = l;
    return true;
}

static const struct vs_predictor fake = {fake_run, fake_limit};

static const struct vs_validation *validate(const char *name, const struct vs_where *where,
                                            size_t where_count, unsigned threads) {
    char path[128];
    const struct vs_validation *validation = NULL;
    path_of(path, name);
    const char *const paths[] = {path};
    const struct vs_validate_options options = {.paths = paths,
                                                .path_count = 1,
                                                .where = where,
                                                .where_count = where_count,
                                                .threads = threads,
                                                .predictor = &fake};
    return vs_validate_run(&arena, &options, &validation, &err) ? validation : NULL;
}

static const struct vs_case_row *row(const struct vs_validation *v, const char *id) {
    for (size_t i = 0; i < v->row_count; i++) {
        if (strcmp(v->rows[i].id, id) == 0)
            return &v->rows[i];
    }
    ck_abort_msg("no row %s", id);
    return NULL;
}

static void predicts(const struct vs_validation *v, const char *id, double predicted,
                     double error) {
    const struct vs_case_row *r = row(v, id);
    ck_assert_msg(r->failure == NULL, "%s: %s", id, r->failure);
    ck_assert_double_eq_tol(r->predicted, predicted, 1e-12);
    ck_assert_double_eq_tol(r->error, error, 1e-12);
}

static void fails(const struct vs_validation *v, const char *id, const char *why) {
    const struct vs_case_row *r = row(v, id);
    ck_assert_ptr_nonnull(r->failure);
    ck_assert_msg(strstr(r->failure, why) != NULL, "%s", r->failure);
    ck_assert(isnan(r->predicted) && isnan(r->error));
}

static const char cases[] =
    HEADER "exact,--engine llamacpp --batch 100,decode_tps,100,tok/s,,high,m1|x,s,\n"
           "slow,--engine llamacpp --batch 100,decode_tps,80,tok/s,,high,m1|x,s,\n"
           "kv,--engine=hf --ctx 2048,kv_gib,1.6,GiB,,medium,m2|x,s,\n"
           "host,--engine hf --ctx 2048,weights_gib@host,3,GiB,,high,m2|x,s,\n"
           "first,--engine hf --ctx 2048,kv_gib@gpu0,2,GiB,,high,m2|x,s,\n"
           "second,--engine hf --ctx 2048,kv_gib@gpu1,2,GiB,,high,m2|x,s,\n"
           "several,--engine hf --ctx 2048 --gpus 2,kv_gib@gpu1,2,GiB,,high,m2|x,s,\n"
           "oomspeed,--engine hf --batch 2000,decode_tps,55,tok/s,,high,m3|x,s,\n"
           "oomfits,--engine hf --batch 2000,fits,0,,,high,m3|x,s,\n"
           "wrongfits,--engine hf --batch 20,fits,0,,,high,m3|x,s,\n"
           "zero,--engine hf --ctx 1024 --batch 3,kv_gib,0,GiB,,high,m3|x,s,\n"
           "norun,--engine hf --batch 666,decode_tps,5,tok/s,,high,m3|x,s,\n"
           "nooption,--engine hf --nonsense 3,decode_tps,5,tok/s,,high,m3|x,s,\n"
           "noquote,--engine hf --model 'x,decode_tps,5,tok/s,,high,m3|x,s,\n"
           "nolist,\"--engine hf --batch 1,2\",decode_tps,5,tok/s,,high,m3|x,s,\n"
           "nometric,--engine hf --batch 1,out_tps,5,tok/s,,high,m3|x,s,\n"
           "nofigure,--engine hf --batch 1,prefill_tps,5,tok/s,,high,m3|x,s,\n"
           "maxctx,--engine hf --batch 1,max_ctx,8192,,,high,m3|x,s,\n"
           "maxbatch,--engine hf --task generate,max_batch,16,,,high,m3|x,s,\n"
           "maxmicro,--engine hf --task train,max_batch,16,,,high,m3|x,s,\n"
           "maxlayers,--engine hf --task generate,max_gpu_layers,40,,,high,m3|x,s,\n"
           "maxseq,--engine hf --task train,max_seq,40,,,high,m3|x,s,\n"
           "shy,--engine hf --batch 100,decode_tps,50,tok/s,,low,m3|x,s,\n";

START_TEST(each_kind_of_row) {
    write_file("a.csv", cases);
    const struct vs_validation *v = validate("a.csv", NULL, 0, 1);
    ck_assert_msg(v != NULL, "%s", err.text);
    ck_assert_uint_eq(v->row_count, 23);
    predicts(v, "exact", 100, 0);
    predicts(v, "slow", 100, 0.25);
    ck_assert_double_eq_tol(row(v, "slow")->low, 50, 1e-12);
    ck_assert_double_eq_tol(row(v, "slow")->signed_error, 0.25, 1e-12);
    predicts(v, "kv", 2, 0.25);
    predicts(v, "host", 3, 0);
    predicts(v, "first", 2, 0);
    fails(v, "second", "no gpu1");
    predicts(v, "several", 1, 0.5);
    predicts(v, "oomfits", 0, 0);
    predicts(v, "wrongfits", 1, 1);
    predicts(v, "zero", 1, 1);
    predicts(v, "maxctx", 4096, 0.5);
    predicts(v, "maxbatch", 16, 0);
    predicts(v, "maxmicro", 8, 0.5);
    predicts(v, "maxlayers", 40, 0);
    fails(v, "maxseq", "no limit of seq");
    fails(v, "norun", "no such machine");
    fails(v, "nooption", "nonsense");
    fails(v, "noquote", "");
    fails(v, "nolist", "");
    fails(v, "nometric", "out_tps");
    fails(v, "nofigure", "prefill_tps");
    ck_assert_str_eq(row(v, "kv")->engine, "hf");
    ck_assert(row(v, "shy")->low_trust && !row(v, "kv")->low_trust);
    ck_assert_int_eq(row(v, "slow")->line, 3);
}
END_TEST

/* A measured speed where we predict OOM is wrong by all of it, but no failure. */
START_TEST(speed_of_a_predicted_oom) {
    write_file("a.csv", cases);
    const struct vs_validation *v = validate("a.csv", NULL, 0, 1);
    ck_assert_msg(v != NULL, "%s", err.text);
    const struct vs_case_row *r = row(v, "oomspeed");
    ck_assert_ptr_null(r->failure);
    ck_assert(isnan(r->predicted));
    ck_assert_double_eq_tol(r->error, 1, 1e-12);
}
END_TEST

START_TEST(equal_arguments_run_once) {
    write_file("a.csv",
               HEADER "a,--batch 1,decode_tps,1,,,high,g,s,\nb,--batch 2,decode_tps,1,,,high,g,s,\n"
                      "c,--batch 1,fits,1,,,high,g,s,\n");
    const struct vs_validation *v = validate("a.csv", NULL, 0, 0);
    ck_assert_msg(v != NULL, "%s", err.text);
    ck_assert_uint_eq(v->distinct_args, 2);
    ck_assert_str_eq(v->rows[0].id, "a"); /* the order of the file */
    ck_assert_str_eq(v->rows[2].id, "c");
}
END_TEST

START_TEST(where_filters) {
    write_file("a.csv", cases);
    const struct vs_where where[] = {{"metric", "^decode_tps$", false},
                                     {"args", "--batch (666|2000)", true},
                                     {"engine", "^hf$", false},
                                     {"trust", "low", true}};
    const struct vs_validation *v = validate("a.csv", where, 4, 1);
    ck_assert_msg(v != NULL, "%s", err.text);
    ck_assert_uint_eq(v->row_count, 2); /* nooption, nolist; no engine is read from broken quotes */
    ck_assert_uint_eq(validate("a.csv", &(struct vs_where){"id", "^m", false}, 1, 1)->row_count, 5);
    ck_assert_uint_eq(validate("a.csv", &(struct vs_where){"group", "m1", false}, 1, 1)->row_count,
                      2);
    ck_assert_uint_eq(
        validate("a.csv", &(struct vs_where){"group", "nowhere", false}, 1, 1)->row_count, 0);
    ck_assert_ptr_null(validate("a.csv", &(struct vs_where){"grp", "x", false}, 1, 1));
    ck_assert_ptr_nonnull(strstr(err.text, "group"));
    ck_assert_ptr_null(validate("a.csv", &(struct vs_where){"id", "(", false}, 1, 1));
    ck_assert_int_eq(err.status, VS_ERR_INPUT);
}
END_TEST

START_TEST(folders_leave_other_files_out) {
    write_file("b.csv", HEADER "two,--batch 1,decode_tps,1,,,high,g,s,\n");
    write_file("a.csv", HEADER "one,--batch 1,decode_tps,1,,,high,g,s,\n");
    write_file("other.csv", "x,y\n1,2\n");
    write_file("note.txt", "no table\n");
    const struct vs_validation *v = validate("", NULL, 0, 1);
    ck_assert_msg(v != NULL, "%s", err.text);
    ck_assert_uint_eq(v->row_count, 2);
    ck_assert_str_eq(v->rows[0].id, "one");
    ck_assert_uint_eq(v->skipped_count, 1);
    ck_assert_ptr_nonnull(strstr(v->skipped_files[0], "other.csv"));
    ck_assert_ptr_null(validate("other.csv", NULL, 0, 1)); /* named itself: an error */
    ck_assert_ptr_nonnull(strstr(err.text, "expected the header"));
    ck_assert_ptr_null(validate("missing.csv", NULL, 0, 1));
}
END_TEST

START_TEST(bad_rows_name_their_place) {
    write_file("a.csv", HEADER
               "a,--batch 1,decode_tps,1,,,high,g,s,\nb,--batch 1,decode_tps,many,,,high,g,s,\n");
    ck_assert_ptr_null(validate("a.csv", NULL, 0, 1));
    ck_assert_msg(strstr(err.text, "a.csv:3: case 'b': value 'many'") != NULL, "%s", err.text);
    write_file("a.csv", HEADER "a,--batch 1,decode_tps,1,,,higher,g,s,\n");
    ck_assert_ptr_null(validate("a.csv", NULL, 0, 1));
    ck_assert_ptr_nonnull(strstr(err.text, "high, medium or low"));
}
END_TEST

START_TEST(threads_change_nothing) {
    write_file("a.csv", cases);
    struct vs_text other = {0};
    vs_report_validate_json(&out, validate("a.csv", NULL, 0, 1));
    vs_report_validate_json(&other, validate("a.csv", NULL, 0, 4));
    ck_assert_str_eq(vs_text_str(&out), vs_text_str(&other));
    vs_text_release(&other);
}
END_TEST

/* Group a has errors 0.1 0.2 0.3, group b 0.5: by row the median is 0.25, by group (0.2 + 0.5) / 2.
 */
static const struct vs_case_row few[] = {
    {.id = "1",
     .metric = "decode_tps",
     .group = "a",
     .arch = "ada",
     .engine = "e",
     .measured = 10,
     .predicted = 11,
     .error = 0.1,
     .signed_error = 0.1},
    {.id = "2",
     .metric = "decode_tps",
     .group = "b",
     .arch = "ada",
     .engine = "e",
     .measured = 10,
     .predicted = 5,
     .error = 0.5,
     .signed_error = -0.5},
    {.id = "3",
     .metric = "decode_tps@gpu0",
     .group = "a",
     .engine = "f",
     .measured = 10,
     .predicted = 12,
     .error = 0.2,
     .signed_error = 0.2},
    {.id = "4",
     .metric = "decode_tps",
     .group = "a",
     .arch = "ampere",
     .engine = "e",
     .measured = 10,
     .predicted = 13,
     .error = 0.3,
     .signed_error = 0.3},
    {.id = "5",
     .metric = "decode_tps",
     .group = "c",
     .engine = "e",
     .measured = 10,
     .failure = "no b"},
    {.id = "6",
     .metric = "decode_tps",
     .group = "c",
     .engine = "e",
     .measured = 10,
     .failure = "no a"},
    {.id = "7",
     .metric = "decode_tps",
     .group = "c",
     .engine = "e",
     .measured = 10,
     .failure = "no b"},
    {.id = "8",
     .metric = "decode_tps",
     .group = "c",
     .engine = "e",
     .measured = 10,
     .predicted = 90,
     .error = 8,
     .signed_error = 8,
     .low_trust = true},
    {.id = "9",
     .metric = "fits",
     .group = "c",
     .engine = "e",
     .measured = 1,
     .predicted = 0,
     .error = 1,
     .signed_error = -1},
    {.id = "10", .metric = "fits", .group = "c", .engine = "e", .measured = 1, .predicted = 1}};
static const struct vs_validation small = {.rows = few, .row_count = 10, .distinct_args = 10};

START_TEST(statistics_by_row_and_group) {
    struct vs_errors e;
    ck_assert(vs_errors_find(&small, &(struct vs_pick){.metric = "decode_tps"}, &e));
    ck_assert_uint_eq(e.cases, 7);
    ck_assert_uint_eq(e.failures, 3);
    ck_assert_uint_eq(e.compared, 4);
    ck_assert_uint_eq(e.groups, 2);
    ck_assert_double_eq_tol(e.median, 0.25, 1e-12);
    ck_assert_double_eq_tol(e.p90, 0.44, 1e-12); /* 0.3 + 0.7 x 0.2 */
    ck_assert_double_eq_tol(e.group_median, 0.35, 1e-12);
    ck_assert_double_eq_tol(e.bias, 0.15, 1e-12);
    ck_assert(vs_errors_find(&small, &(struct vs_pick){.engine = "f"}, &e));
    ck_assert_uint_eq(e.cases, 1);
    ck_assert(vs_errors_find(&small, &(struct vs_pick){.metric = "fits"}, &e));
    ck_assert_uint_eq(e.fit_fit, 1);
    ck_assert_uint_eq(e.oom_fit, 1);
    ck_assert(isnan(e.median));
    ck_assert(vs_errors_find(&small, &(struct vs_pick){.low_trust = true}, &e));
    ck_assert_double_eq_tol(e.median, 8, 1e-12);
}
END_TEST

static void has(const char *piece) {
    ck_assert_msg(strstr(vs_text_str(&out), piece) != NULL, "'%s' is not in:\n%s", piece,
                  vs_text_str(&out));
}

static void has_order(const char *first, const char *second) {
    const char *a = strstr(vs_text_str(&out), first), *b = strstr(vs_text_str(&out), second);
    ck_assert_msg(a && b && a < b, "'%s' is not before '%s'", first, second);
}

START_TEST(table_of_a_validation) {
    const struct vs_report_style style = {0};
    vs_report_validate_table(&out, &small, &style);
    has("10 cases of 10 command lines: 7 predicted, 3 could not be simulated; 1 of low trust\n");
    has("  decode_tps   all         7       3  25.0 %  44.0 %    35.0 %  +15.0 %\n");
    has("               f           1       0  20.0 %  20.0 %    20.0 %  +20.0 %\n");
    has("  fits    all         2       0  50.0 %      1        0       1      0\n");
    has("cases of low trust");
    has("      2  no b\n      1  no a\n");
    has("  9     fits ");
    has_order("  9     fits", "  2     decode_tps");
    const char *worst = strstr(vs_text_str(&out), "worst cases");
    ck_assert(worst && strstr(worst, "-50.0 %") && !strstr(worst, "800"));
}
END_TEST

START_TEST(json_of_a_validation) {
    const struct vs_json *root = NULL;
    vs_report_validate_json(&out, &small);
    ck_assert_msg(vs_json_parse(&arena, "out", vs_text_str(&out), out.length, &root, &err), "%s",
                  err.text);
    const struct vs_json *summary = vs_json_member(root, "summary"),
                         *list = vs_json_member(root, "cases");
    ck_assert_uint_eq(list->count, 10);
    ck_assert_uint_eq(vs_json_member(summary, "failures")->integer, 3);
    ck_assert_str_eq(
        vs_json_member(vs_json_member(summary, "failure_reasons")->child, "reason")->string,
        "no b");
    const struct vs_json *all = vs_json_member(summary, "errors")->child;
    ck_assert_int_eq(vs_json_member(all, "metric")->kind, VS_JSON_NULL);
    ck_assert_uint_eq(vs_json_member(all, "cases")->integer, 9);
    ck_assert_double_eq_tol(vs_json_member(list->child, "error")->number, 0.1, 1e-12);
}
END_TEST

START_TEST(csv_of_a_validation) {
    vs_report_validate_csv(&out, &small);
    has("id,metric,measured,predicted,error,failure,engine,trust\n1,decode_tps,10,11,0.1,,e,\n");
    has("5,decode_tps,10,0,0,no b,e,\n");
}
END_TEST

/* measured/predicted of engine e: 10/11 and 10/13 in group a, 10/5 in group b. Each group is
 * outside of what the other spans: a's rows 2.2 and 2.6 times below 2, b's by 2/0.895 above the q90
 * of a. */
START_TEST(accuracy_table) {
    const struct vs_json *root = NULL;
    vs_report_accuracy(&out, &small);
    ck_assert_msg(vs_json_parse(&arena, "out", vs_text_str(&out), out.length, &root, &err), "%s",
                  err.text);
    const struct vs_json *entries = vs_json_member(root, "entries"), *e = entries->child;
    ck_assert_uint_eq(entries->count, 2);
    ck_assert_str_eq(vs_json_member(e, "engine")->string, "e");
    ck_assert_uint_eq(vs_json_member(e, "n")->integer, 3);
    ck_assert_uint_eq(vs_json_member(e, "groups")->integer, 2);
    const double first = 10.0 / 13, second = 10.0 / 11;
    ck_assert_double_eq_tol(vs_json_member(e, "q10")->number, first + 0.2 * (second - first), 1e-6);
    ck_assert_double_eq_tol(vs_json_member(e, "q90")->number, second + 0.8 * (2 - second), 1e-6);
    ck_assert_double_eq_tol(vs_json_member(e, "left_out_coverage")->number, 0, 1e-12);
    const double above = 2 / (first + 0.9 * (second - first)); /* 2.2 < above < 2.6 */
    ck_assert_double_eq_tol(vs_json_member(e, "widen")->number, above + 0.6 * (2.6 - above), 1e-6);
    const struct vs_json *archs = vs_json_member(e, "archs");
    ck_assert_uint_eq(archs->count, 2);
    ck_assert_str_eq(archs->child->string, "ada");
    ck_assert_str_eq(archs->child->next->string, "ampere");
    e = e->next; /* one group: nothing was left out */
    ck_assert_int_eq(vs_json_member(e, "widen")->kind, VS_JSON_NULL);
    ck_assert_uint_eq(vs_json_member(e, "archs")->count, 0);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("validate");
    TCase *tests = tcase_create("cases");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, each_kind_of_row);
    tcase_add_test(tests, speed_of_a_predicted_oom);
    tcase_add_test(tests, equal_arguments_run_once);
    tcase_add_test(tests, where_filters);
    tcase_add_test(tests, folders_leave_other_files_out);
    tcase_add_test(tests, bad_rows_name_their_place);
    tcase_add_test(tests, threads_change_nothing);
    tcase_add_test(tests, statistics_by_row_and_group);
    tcase_add_test(tests, table_of_a_validation);
    tcase_add_test(tests, json_of_a_validation);
    tcase_add_test(tests, csv_of_a_validation);
    tcase_add_test(tests, accuracy_table);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
