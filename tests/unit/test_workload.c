/* Named workloads: the built-in ones, and what a wrong file is told. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/data.h"
#include "base/file.h"
#include "base/text.h"
#include "model/model.h"
#include "unit/suite.h"
#include "work/workload.h"

static struct vs_arena arena;

static const char *text_of(const struct vs_workload *workload, enum vs_axis axis) {
    const char *text = workload->values.at[axis].text;
    return text ? text : "";
}

START_TEST(flagship) {
    struct vs_workload w;
    struct vs_err err = {0};
    ck_assert_msg(vs_workload_load(&arena, "qlora70b", &w, &err), "%s", err.text);
    ck_assert_str_eq(w.name, "qlora70b");
    ck_assert_uint_eq(w.engine_count, 3);
    ck_assert_str_eq(w.engines[0], "hf");
    ck_assert_str_eq(w.engines[1], "fsdp");
    ck_assert_str_eq(w.engines[2], "ideal");
    static const struct {
        enum vs_axis axis;
        const char *text;
    } WANTED[] = {
        {VS_AXIS_MODEL, "llama-3-70b"},
        {VS_AXIS_TASK, "train"},
        {VS_AXIS_METHOD, "qlora"},
        {VS_AXIS_WEIGHTS, "nf4-dq"},
        {VS_AXIS_LORA_RANK, "16"},
        {VS_AXIS_LORA_TARGETS, "all"},
        {VS_AXIS_OPTIM, "paged-adamw8bit"},
        {VS_AXIS_PRECISION, "bf16"},
        {VS_AXIS_ATTN, "sdpa"},
        {VS_AXIS_CKPT, "full"},
        {VS_AXIS_SEQ, "2048"},
        {VS_AXIS_MICRO_BATCH, "1"},
        {VS_AXIS_ACCUM, "16"},
    };
    size_t given = 0;
    for (size_t i = 0; i < sizeof WANTED / sizeof WANTED[0]; i++) {
        ck_assert_str_eq(text_of(&w, WANTED[i].axis), WANTED[i].text);
        ck_assert_int_eq(w.values.origin[WANTED[i].axis], VS_FROM_WORKLOAD);
    }
    for (int i = 0; i < VS_AXIS_COUNT; i++)
        given += vs_given(&w.values, (enum vs_axis)i);
    ck_assert_uint_eq(given, sizeof WANTED / sizeof WANTED[0]);
}
END_TEST

START_TEST(all_built_in_load) {
    const char *const *names = NULL;
    size_t count = 0;
    struct vs_err err = {0};
    ck_assert(vs_data_list(&arena, "workloads", &names, &count, &err));
    ck_assert_uint_ge(count, 17);
    for (size_t i = 0; i < count; i++) {
        const struct vs_model *model = NULL;
        struct vs_workload w;
        ck_assert_msg(vs_workload_load(&arena, names[i], &w, &err), "%s", err.text);
        ck_assert_msg(vs_model_load(&arena, text_of(&w, VS_AXIS_MODEL), &model, &err), "%s",
                      err.text);
        ck_assert_str_eq(w.name, names[i]);
        ck_assert_str_ne(w.about, "");
        ck_assert_str_eq(w.engines[w.engine_count - 1], "ideal");
    }
}
END_TEST

START_TEST(unknown_name) {
    struct vs_workload w = {.name = "kept"};
    struct vs_err err = {0};
    ck_assert(!vs_workload_load(&arena, "qlora7b", &w, &err));
    ck_assert_int_eq(err.status, VS_ERR_INPUT);
    ck_assert(vs_starts(err.text, "unknown workload 'qlora7b'; nearest: "));
    ck_assert_str_eq(w.name, "kept");
    ck_assert(!vs_workload_load(&arena, "no-such.json", &w, &err));
    ck_assert_int_eq(err.status, VS_ERR_INPUT);
}
END_TEST

static char path[64];

static bool load_text(const char *text, struct vs_workload *w, struct vs_err *err) {
    ck_assert(vs_file_write(path, text, strlen(text), err));
    bool loaded = vs_workload_load(&arena, path, w, err);
    ck_assert_int_eq(remove(path), 0);
    return loaded;
}

#define HEAD                                                                                       \
    "{\"schema\": \"vramsim-workload/1\", \"name\": \"w\", \"about\": \"a\",\n"                    \
    " \"model\": \"m\", \"task\": \"generate\", \"engines\": [\"e\"],\n"

/* Numbers may stand without quotes; texts are those of the command line. */
START_TEST(own_file) {
    struct vs_workload w;
    struct vs_err err = {0};
    ck_assert_msg(load_text(HEAD "\"aliases\": [\"v\"],\n"
                                 "\"axes\": {\"ctx\": \"8k\", \"batch\": 4, \"ngl\": \"all\"}}",
                            &w, &err),
                  "%s", err.text);
    ck_assert_int_eq(vs_count(&w.values, VS_AXIS_CTX), 8192);
    ck_assert_int_eq(vs_count(&w.values, VS_AXIS_BATCH), 4);
    ck_assert_str_eq(text_of(&w, VS_AXIS_GPU_LAYERS), "all");
    ck_assert_msg(load_text(HEAD "\"axes\": {}}", &w, &err), "%s", err.text);
}
END_TEST

START_TEST(wrong_files) {
    static const struct {
        const char *text, *message; /* behind "PATH:" */
    } CASES[] = {
        {HEAD "\"axes\": {\"ctx\": 0}}",
         "3:17: at $.axes.ctx: found '0', expected a whole number from 1 to 4194304"},
        {HEAD "\"axes\": {\"btach\": 4}}",
         "3:19: at $.axes.btach: unknown axis 'btach'; nearest: batch, ubatch, task"},
        {HEAD "\"axes\": {\"hw\": \"rtx4090\"}}",
         "3:16: at $.axes.hw: 'hw' is no axis of a workload, expected shape or strategy"},
        {HEAD "\"axes\": {\"seq\": 4}}",
         "3:17: at $.axes.seq: 'seq' does not apply to task generate"},
        {HEAD "\"axes\": {\"ctx\": true}}",
         "3:17: at $.axes.ctx: found neither a string nor a number, "
         "expected a value as on the command line"},
        {HEAD "\"axes\": {\"ngl\": 1, \"gpu-layers\": 2}}",
         "3:34: at $.axes.gpu-layers: 'gpu-layers' is given twice"},
        {HEAD "\"axes\": 3}", "3:9: at $.axes: found a number, expected an object"},
        {"{\"schema\": \"vramsim-workload/1\", \"name\": \"w\", \"about\": \"a\", \"model\": "
         "\"m\",\n\"task\": \"sleep\", \"engines\": [\"e\"]}",
         "2:9: at $.task: found 'sleep', expected one of generate, serve, train"},
        {"{\"schema\": \"vramsim-workload/2\", \"name\": \"w\", \"about\": \"a\", \"model\": "
         "\"m\",\n\"task\": \"train\", \"engines\": [\"e\"]}",
         "1:12: at $.schema: found 'vramsim-workload/2', expected 'vramsim-workload/1'"},
        {"{\"schema\": \"vramsim-workload/1\", \"name\": \"w\", \"about\": \"a\", \"model\": "
         "\"m\",\n\"task\": \"train\", \"engines\": []}",
         "2:29: at $.engines: found 0 engines, expected 1 to 16"},
        {"{\"schema\": \"vramsim-workload/1\", \"name\": \"w\", \"about\": \"a\", \"model\": "
         "\"m\",\n\"task\": \"train\", \"engines\": [\"a\", \"a\"]}",
         "2:29: at $.engines: engine 'a' stands twice"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct vs_workload w;
        struct vs_err err = {0};
        ck_assert_msg(!load_text(CASES[i].text, &w, &err), "took %s", CASES[i].text);
        ck_assert_int_eq(err.status, VS_ERR_INPUT);
        ck_assert(vs_starts(err.text, path));
        ck_assert_str_eq(err.text + strlen(path) + 1, CASES[i].message);
    }
}
END_TEST

/* What the JSON layer refuses, it refuses here too. */
START_TEST(wrong_json) {
    static const char *const TEXTS[] = {
        "",
        "[]",
        "{",
        HEAD "\"axes\": {}} x",
        HEAD "\"axes\": {\"ctx\": 1, \"ctx\": 2}}",
        HEAD "\"axis\": {}}",
        "{\"name\": \"w\"}",
    };
    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++) {
        struct vs_workload w;
        struct vs_err err = {0};
        ck_assert_msg(!load_text(TEXTS[i], &w, &err), "took %s", TEXTS[i]);
        ck_assert_int_eq(err.status, VS_ERR_INPUT);
        ck_assert_ptr_nonnull(strstr(err.text, path));
    }
}
END_TEST

int main(void) {
    (void)snprintf(path, sizeof path, "/tmp/vramsim-test-workload-%ld.json", (long)getpid());
    Suite *suite = suite_create("workload");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, flagship);
    tcase_add_test(tests, all_built_in_load);
    tcase_add_test(tests, unknown_name);
    tcase_add_test(tests, own_file);
    tcase_add_test(tests, wrong_files);
    tcase_add_test(tests, wrong_json);
    suite_add_tcase(suite, tests);
    int status = run_suite(suite);
    vs_arena_release(&arena);
    return status;
}
