/* The public interface. What a number is worth is for other tests: here a result must be that of
 * the command, errors must come back, and nothing may depend on the order of calls. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/data.h"
#include "cli/cli.h"
#include "unit/suite.h"
#include "vramsim.h"

static struct vramsim *sim;
static struct vramsim_request *request;
static struct vramsim_error err;

static void set(const char *option, const char *value) {
    ck_assert_msg(vramsim_set(request, option, value, &err), "%s", err.text);
}

static void setup(void) {
    sim = vramsim_open(NULL, &err);
    ck_assert_msg(sim != NULL, "%s", err.text);
    request = vramsim_request_new(sim, &err);
    ck_assert_ptr_nonnull(request);
    set("hw", "rtx4090");
    set("workload", "chat8b");
}

static void teardown(void) {
    vramsim_request_free(request);
    vramsim_close(sim);
}

static struct vramsim_result *run(void) {
    struct vramsim_result *result = vramsim_run(request, &err);
    ck_assert_msg(result != NULL, "%s", err.text);
    return result;
}

static double metric(const struct vramsim_result *result, const char *name) {
    double value = -1;
    ck_assert_msg(vramsim_result_metric(result, name, &value, &err), "%s", err.text);
    return value;
}

static double run_metric(const char *name) {
    struct vramsim_result *result = run();
    double value = metric(result, name);
    vramsim_result_free(result);
    return value;
}

START_TEST(fits_and_metrics) {
    struct vramsim_result *result = run();
    struct vramsim_oom oom = {.pool = "untouched"};
    ck_assert(vramsim_result_fits(result));
    ck_assert(!vramsim_result_oom(result, &oom));
    ck_assert_str_eq(oom.pool, "untouched");
    ck_assert(metric(result, "decode_tps") > 1);
    ck_assert(metric(result, "fits") == 1);
    ck_assert(isnan(metric(result, "train_tps"))); /* no training here */
    vramsim_result_free(result);
}
END_TEST

/* `vramsim run --json` prints the same bytes. */
START_TEST(json_is_that_of_the_command) {
    static const char *const WORDS[] = {"--hw", "rtx4090", "--workload", "chat8b", "--json"};
    struct vs_arena arena = {0};
    struct vs_err inner = {0};
    struct vs_cli cli = {.command = &vs_command_run, .arena = &arena};
    ck_assert_msg(vs_cli_parse(&cli, WORDS, sizeof WORDS / sizeof *WORDS, &inner) &&
                      cli.command->run(&cli, &inner),
                  "%s", inner.text);
    struct vramsim_result *result = run();
    size_t length = 0;
    const char *json = vramsim_result_json(result, &length);
    ck_assert_str_eq(json, vs_text_str(&cli.out));
    ck_assert_uint_eq(length, strlen(json));
    ck_assert_str_eq(vramsim_result_json(result, NULL), json);
    vramsim_result_free(result);
    vs_text_release(&cli.out);
    vs_cli_values_release(&cli.values);
    vs_arena_release(&arena);
}
END_TEST

/* An 8B model in fp16 is 15 GiB of weights: too much for 12 GiB, and the load says so. */
START_TEST(does_not_fit) {
    struct vramsim_oom oom = {0};
    set("hw", "rtx3060");
    set("weights", "fp16");
    struct vramsim_result *result = run();
    ck_assert(!vramsim_result_fits(result));
    ck_assert(metric(result, "fits") == 0);
    ck_assert(vramsim_result_oom(result, &oom));
    ck_assert_str_eq(oom.pool, "gpu0");
    ck_assert(oom.phase && oom.operation && oom.tensor);
    ck_assert_uint_ge(oom.short_bytes, 1);
    ck_assert_uint_ge(oom.in_use_bytes + oom.requested_bytes, oom.capacity_bytes);
    ck_assert_uint_ge(oom.needed_bytes, UINT64_C(15) << 30);
    vramsim_result_free(result);
}
END_TEST

START_TEST(set_replaces_and_takes_back) {
    double at_default = run_metric("kv_gib");
    set("ctx", "8k");
    double at_8k = run_metric("kv_gib");
    set("ctx", "16k");
    ck_assert_double_eq_tol(run_metric("kv_gib"), 2 * at_8k, 1e-9);
    set("ctx", NULL);
    set("ctx", NULL);
    ck_assert(run_metric("kv_gib") == at_default);
    set("ngl", "all"); /* an alias, as on the command line */
}
END_TEST

/* Memory twice as fast, and the decode that waits for it is faster; taken back, it's as before. */
START_TEST(overrides) {
    double before = run_metric("decode_tps");
    ck_assert(vramsim_override(request, "device.memory.bandwidth", "100GB/s", &err));
    double slow = run_metric("decode_tps");
    ck_assert(slow < before / 2);
    ck_assert(vramsim_override(request, "device.memory.bandwidth", "200GB/s", &err));
    double twice = run_metric("decode_tps");
    ck_assert(twice > 1.7 * slow && twice < 2.01 * slow);
    ck_assert(vramsim_override(request, "device.memory.bandwidth", NULL, &err));
    ck_assert(vramsim_override(request, "never.given", NULL, &err));
    ck_assert(run_metric("decode_tps") == before);
    ck_assert(!vramsim_override(request, "", "1", &err));
    ck_assert(vramsim_override(request, "device.memory.bandwith", "1GB/s", &err));
    ck_assert_ptr_null(vramsim_run(request, &err)); /* paths are looked up there */
    ck_assert_int_eq(err.status, VRAMSIM_BAD_INPUT);
}
END_TEST

static void refused(const char *option, const char *value, const char *text) {
    err = (struct vramsim_error){VRAMSIM_OK, ""};
    ck_assert(!vramsim_set(request, option, value, &err));
    ck_assert_int_eq(err.status, VRAMSIM_BAD_INPUT);
    ck_assert_msg(strstr(err.text, text) != NULL, "%s", err.text);
    ck_assert(!vramsim_set(request, option, value, NULL));
}

START_TEST(errors) {
    double value = 3;
    refused("contxt", "8k", "unknown option 'contxt'; nearest: config, ctx");
    refused("--ctx", "8k", "unknown option '--ctx'");
    refused("batch", "0", "batch");
    refused("batch", "1,2", "found a list '1,2', expected one value");
    refused("attn", "flesh", "flash");
    refused("hw", "", "hw");
    struct vramsim_result *result = run(); /* what was refused left nothing behind */
    ck_assert(!vramsim_result_metric(result, "decode_tsp", &value, &err));
    ck_assert_ptr_nonnull(strstr(err.text, "nearest: decode_tps"));
    ck_assert(!vramsim_result_metric(result, "decode_tsp", &value, NULL));
    ck_assert(value == 3);
    vramsim_result_free(result);
    set("hw", "rtx4900");
    ck_assert_ptr_null(vramsim_run(request, &err));
    ck_assert_int_eq(err.status, VRAMSIM_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(err.text, "unknown device 'rtx4900'"));
    ck_assert_ptr_null(vramsim_run(request, NULL));
    vramsim_request_free(NULL);
    vramsim_result_free(NULL);
    vramsim_close(NULL);
}
END_TEST

/* A folder that is given comes first, for its own requests only, and must hold data. */
START_TEST(data_root) {
    struct vs_arena arena = {0};
    ck_assert_ptr_null(vramsim_open("/nowhere", &err));
    ck_assert_ptr_nonnull(strstr(err.text, "no data in '/nowhere'"));
    const char *before = vs_data_root_swap("/first");
    ck_assert_ptr_null(before);
    ck_assert_str_eq(vs_data_root_swap(before), "/first");
    const char *folder = vs_data_path(&arena, "hwprofiles");
    ck_assert_ptr_nonnull(folder);
    char *root = vs_arena_strndup(&arena, folder, strlen(folder) - strlen("/hwprofiles"));
    struct vramsim *own = vramsim_open(root, &err);
    ck_assert_msg(own != NULL, "%s", err.text);
    memset(root, 'x', strlen(root)); /* it was copied */
    struct vramsim_request *other = vramsim_request_new(own, NULL);
    ck_assert(vramsim_set(other, "hw", "toy", NULL) &&
              vramsim_set(other, "workload", "chat8b", NULL));
    struct vramsim_result *result = vramsim_run(other, &err);
    ck_assert_msg(result != NULL, "%s", err.text);
    vramsim_request_free(other);
    vramsim_close(own);
    ck_assert_ptr_nonnull(strstr(vramsim_result_json(result, NULL), "toy")); /* outlives both */
    vramsim_result_free(result);
    vs_arena_release(&arena);
}
END_TEST

static void *in_thread(void *ctx) {
    const char *device = ctx;
    struct vramsim_request *own = vramsim_request_new(sim, NULL);
    struct vramsim_result *result = NULL;
    double *value = calloc(1, sizeof *value);
    if (own && value && vramsim_set(own, "hw", device, NULL) &&
        vramsim_set(own, "workload", "chat8b", NULL))
        result = vramsim_run(own, NULL);
    if (result)
        (void)vramsim_result_metric(result, "decode_tps", value, NULL);
    vramsim_result_free(result);
    vramsim_request_free(own);
    return value;
}

START_TEST(threads) {
    static const char *const DEVICES[] = {"rtx4090", "rtx3090", "rtx4090", "a100"};
    enum { THREADS = sizeof DEVICES / sizeof *DEVICES };
    pthread_t ids[THREADS];
    double *speeds[THREADS];
    double alone = run_metric("decode_tps");
    for (int i = 0; i < THREADS; i++) {
        union {
            const char *in;
            void *out;
        } device = {DEVICES[i]};
        ck_assert_int_eq(pthread_create(&ids[i], NULL, in_thread, device.out), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *found = NULL;
        ck_assert_int_eq(pthread_join(ids[i], &found), 0);
        speeds[i] = found;
    }
    ck_assert(*speeds[0] == alone && *speeds[2] == alone);
    ck_assert(*speeds[1] > 0 && *speeds[1] < alone);
    for (int i = 0; i < THREADS; i++)
        free(speeds[i]);
}
END_TEST

START_TEST(version) {
    struct vs_text text = {0};
    vs_version(&text);
    ck_assert_ptr_eq(strstr(vs_text_str(&text), vramsim_version()), vs_text_str(&text) + 8);
    vs_text_release(&text);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("vramsim");
    TCase *tests = tcase_create("vramsim");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, fits_and_metrics);
    tcase_add_test(tests, json_is_that_of_the_command);
    tcase_add_test(tests, does_not_fit);
    tcase_add_test(tests, set_replaces_and_takes_back);
    tcase_add_test(tests, overrides);
    tcase_add_test(tests, errors);
    tcase_add_test(tests, data_root);
    tcase_add_test(tests, threads);
    tcase_add_test(tests, version);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
