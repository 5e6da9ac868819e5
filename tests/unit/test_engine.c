/* Engine files: releases laid over, words and numbers looked up, and what is refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "engine/engine.h"
#include "unit/suite.h"

static struct vs_arena arena;
static char folder[64], file[96];

static void setup(void) {
    vs_arena_init(&arena);
    snprintf(folder, sizeof folder, "/tmp/vs_test_engine_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/e.json", folder);
}

static void teardown(void) {
    unlink(file);
    rmdir(folder);
    vs_arena_release(&arena);
}

static void write_text(const char *text) {
    FILE *out = fopen(file, "w");
    ck_assert_ptr_nonnull(out);
    fputs(text, out);
    ck_assert_int_eq(fclose(out), 0);
}

#define HEAD "{\"schema\":\"vramsim-engine/1\",\"name\":\"e\",\"title\":\"E\","
#define TASKS "\"tasks\":[\"generate\",\"train\"]"
#define NUMBER(value) "{\"value\":" #value ",\"method\":\"measured\",\"source\":\"s" #value "\"}"

static const char text[] = HEAD TASKS
    ","
    "\"about\":\"for tests\",\"source\":\"file\",\"aliases\":[\"ee\"],"
    "\"supports\":{\"generate\":{\"kv\":[\"fp16\",\"q8_0\"],\"ctx\":true,\"tp\":[1,2]},"
    "             \"train\":{\"ckpt\":[\"none\",\"every\"]}},"
    "\"defaults\":{\"generate\":{\"kv\":\"fp16\",\"attn\":\"naive\",\"ubatch\":512,"
    "              \"cpu-threads\":{\"value\":\"8\",\"source\":\"own\"}}},"
    "\"rules\":{\"allocator\":\"bump\"},"
    "\"numbers\":{\"launch_s\":" NUMBER(5e-6) ",\"launch_s@ada\":" NUMBER(
        4e-6) ",\"context_bytes\":" NUMBER(100) "},"
                                                "\"releases\":["
                                                " {\"from\":\"0.6.1\",\"source\":\"r1\","
                                                "\"defaults\":{\"generate\":{\"attn\":\"sdpa\"}},"
                                                "  \"numbers\":{\"launch_s\":" NUMBER(
                                                    3e-6) "}},"
                                                          " {\"from\":\"0.6.3\",\"rules\":{"
                                                          "\"allocator\":\"caching\",\"graphs\":"
                                                          "\"on\"},"
                                                          "  "
                                                          "\"supports\":{\"generate\":{\"kv\":["
                                                          "\"fp16\",\"q8_0\",\"q4_0\"]}}},"
                                                          " {\"from\":\"1.0rc1\",\"defaults\":{"
                                                          "\"generate\":{\"attn\":\"flash\"}}}"
                                                          "]}";

static const struct vs_engine *engine_of(const char *version) {
    const struct vs_engine *engine = NULL;
    struct vs_err err = {0};
    write_text(text);
    ck_assert_msg(vs_engine_load(&arena, file, version, NULL, &engine, &err), "%s", err.text);
    return engine;
}

START_TEST(versions_compare) {
    static const char *const rising[] = {
        "0.4",         "0.6.3",       "0.17.1",         "1.0.0.dev5",     "1.0.0a1",   "1.0.0b2",
        "1.0.0rc2",    "1.0.0rc3",    "1.0.0rc3.post0", "1.0.0rc3.post2", "1.0.0rc10", "1.0.0",
        "1.0.0.post1", "1.0.0.post2", "1.0.1",          "b1500",          "b2824"};
    const size_t count = sizeof rising / sizeof *rising;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count; k++) {
            const int order = vs_version_compare(rising[i], rising[k]);
            ck_assert_msg((i < k) == (order < 0) && (i > k) == (order > 0), "%s %s", rising[i],
                          rising[k]);
        }
    ck_assert_int_eq(vs_version_compare("1.0", "1.0.0"), 0);
    ck_assert_int_eq(vs_version_compare("v1.2", "1.2"), 0);
    ck_assert_int_eq(vs_version_compare("2.1.0+cu121", "2.1.0"), 0);
    ck_assert_int_gt(vs_version_compare("99999999999999999999999", "1"), 0);
}
END_TEST

START_TEST(newest_when_not_asked) {
    const struct vs_engine *e = engine_of(NULL);
    ck_assert_str_eq(e->name, "e");
    ck_assert_str_eq(e->title, "E");
    ck_assert_ptr_null(e->version);
    ck_assert_str_eq(e->release, "1.0rc1");
    ck_assert_str_eq(vs_engine_default(e, "generate", "attn"), "flash");
    ck_assert_str_eq(vs_engine_rule(e, "allocator", NULL), "caching");
}
END_TEST

START_TEST(releases_up_to_a_version) {
    static const struct {
        const char *version, *release, *attn, *allocator;
    } want[] = {
        {"0.6.0", NULL, "naive", "bump"},      {"0.6.1", "0.6.1", "sdpa", "bump"},
        {"0.6.2", "0.6.1", "sdpa", "bump"},    {"0.6", "0.6.3", "sdpa", "caching"},
        {"0.6rc1", NULL, "naive", "bump"},     {"0", "0.6.3", "sdpa", "caching"},
        {"0.9", "0.6.3", "sdpa", "caching"},   {"1.0rc0", "0.6.3", "sdpa", "caching"},
        {"1.0", "1.0rc1", "flash", "caching"}, {"1", "1.0rc1", "flash", "caching"},
    };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        const struct vs_engine *e = engine_of(want[i].version);
        ck_assert_str_eq(e->version, want[i].version);
        ck_assert_pstr_eq(e->release, want[i].release);
        ck_assert_str_eq(vs_engine_default(e, "generate", "attn"), want[i].attn);
        ck_assert_str_eq(vs_engine_rule(e, "allocator", NULL), want[i].allocator);
    }
}
END_TEST

START_TEST(what_is_supported) {
    const struct vs_engine *e = engine_of("0.6.1");
    ck_assert(vs_engine_has_task(e, "train"));
    ck_assert(!vs_engine_has_task(e, "serve"));
    ck_assert(vs_engine_supports(e, "generate", "kv", "q8_0"));
    ck_assert(!vs_engine_supports(e, "generate", "kv", "q4_0"));
    ck_assert(!vs_engine_supports(e, "generate", "kv", "q8"));
    ck_assert(vs_engine_supports(e, "generate", "ctx", "12345"));
    ck_assert(vs_engine_supports(e, "generate", "tp", "2")); /* a number is a word */
    ck_assert(vs_engine_supports(e, "train", "ckpt", "every:3"));
    ck_assert(!vs_engine_supports(e, "train", "ckpt", "everything"));
    /* not named: the default and no other */
    ck_assert(vs_engine_supports(e, "generate", "attn", "sdpa"));
    ck_assert(!vs_engine_supports(e, "generate", "attn", "naive"));
    ck_assert(!vs_engine_supports(e, "train", "attn", "sdpa"));
    ck_assert(!vs_engine_supports(e, "serve", "kv", "fp16"));
    ck_assert_uint_eq(vs_engine_support(e, "generate", "kv")->count, 2);
    ck_assert_uint_eq(vs_engine_support(engine_of("0.6.3"), "generate", "kv")->count, 3);
    ck_assert_ptr_null(vs_engine_support(e, "generate", "ctx"));
    ck_assert_ptr_null(vs_engine_support(e, "generate", "attn"));
}
END_TEST

static const struct vs_engine_word *word_of(const struct vs_engine *e, const char *key) {
    for (size_t i = 0; i < e->default_count; i++)
        if (vs_streq(e->defaults[i].key, key))
            return &e->defaults[i];
    ck_abort_msg("no default %s", key);
    return NULL;
}

START_TEST(defaults_and_their_sources) {
    const struct vs_engine *e = engine_of("0.6.1");
    ck_assert_str_eq(word_of(e, "ubatch")->word, "512");
    ck_assert_str_eq(word_of(e, "ubatch")->source, "file");
    ck_assert_str_eq(word_of(e, "attn")->source, "r1");
    ck_assert_str_eq(word_of(e, "cpu-threads")->word, "8");
    ck_assert_str_eq(word_of(e, "cpu-threads")->source, "own");
    ck_assert_ptr_null(vs_engine_default(e, "train", "attn"));
    ck_assert_str_eq(vs_engine_rule(e, "kv_pool", "fallback"), "fallback");
    ck_assert_str_eq(vs_engine_rule(e, "multi_node", "?"), "on");
}
END_TEST

START_TEST(numbers_by_arch) {
    const struct vs_engine *e = engine_of(NULL);
    ck_assert_double_eq(vs_engine_number(e, "launch_s", NULL, 1), 3e-6); /* the release's */
    ck_assert_double_eq(vs_engine_number(e, "launch_s", "ampere", 1), 3e-6);
    ck_assert_double_eq(vs_engine_number(e, "launch_s", "ada", 1), 4e-6);
    ck_assert_double_eq(vs_engine_number(e, "context_bytes", "ada", 1), 100);
    ck_assert_double_eq(vs_engine_number(e, "nothing", "ada", 7), 7);
    for (size_t i = 1; i < e->number_count; i++)
        ck_assert_int_lt(strcmp(e->numbers[i - 1].name, e->numbers[i].name), 0);
    ck_assert_str_eq(e->numbers[0].num.source, "s100");
}
END_TEST

/* More numbers than a reader of one object remembers keys. */
START_TEST(many_numbers) {
    const struct vs_engine *e = NULL;
    struct vs_err err = {0};
    struct vs_text t = {0};
    char name[16];
    vs_text_add(&t, HEAD TASKS ",\"numbers\":{");
    for (int i = 0; i < 300; i++)
        vs_text_printf(&t, "%s\"n%d\":" NUMBER(1), i ? "," : "", i);
    vs_text_add(&t, "}}");
    write_text(vs_text_str(&t));
    vs_text_release(&t);
    ck_assert_msg(vs_engine_load(&arena, file, NULL, NULL, &e, &err), "%s", err.text);
    ck_assert_uint_eq(e->number_count, 300);
    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof name, "n%d", i);
        ck_assert_double_eq(vs_engine_number(e, name, NULL, 0), 1);
    }
    ck_assert_ptr_null(e->release);
}
END_TEST

START_TEST(one_node_only) {
    const struct vs_engine *e = NULL;
    struct vs_err err = {0};
    write_text(HEAD TASKS ",\"multi_node\":false}");
    ck_assert(vs_engine_load(&arena, file, NULL, NULL, &e, &err));
    ck_assert_str_eq(vs_engine_rule(e, "multi_node", "?"), "off");
    ck_assert_double_eq(vs_engine_number(e, "none", NULL, 2), 2);
}
END_TEST

START_TEST(backends_are_laid_over_releases) {
    static const char *const backends[] = {NULL, "hip", "vulkan", "cuda"};
    static const double speeds[] = {2, 3, 4, 2};
    static const char *const vendors[] = {"any", "amd", "any", "any"};
    write_text(HEAD TASKS ",\"numbers\":{\"x\":" NUMBER(
        1) "},"
           "\"releases\":[{\"from\":\"1\",\"numbers\":{\"x\":" NUMBER(
               2) "}}],"
                  "\"backends\":[{\"name\":\"hip\",\"rules\":{\"vendors\":\"amd\"},"
                  "\"numbers\":{\"x\":" NUMBER(3) "}},"
                                                  "{\"name\":\"vulkan\",\"numbers\":{\"x\":" NUMBER(
                                                      4) "}}]}");
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++) {
        const struct vs_engine *e = NULL;
        struct vs_err err = {0};
        ck_assert_msg(vs_engine_load(&arena, file, NULL, backends[i], &e, &err), "%s", err.text);
        ck_assert_double_eq(vs_engine_number(e, "x", NULL, 0), speeds[i]);
        ck_assert_str_eq(vs_engine_rule(e, "vendors", "any"), vendors[i]);
    }
}
END_TEST

static void refused(const char *bad, const char *version, const char *says) {
    const struct vs_engine *engine = NULL;
    struct vs_err err = {0};
    write_text(bad);
    ck_assert_msg(!vs_engine_load(&arena, file, version, NULL, &engine, &err), "taken: %s", bad);
    ck_assert_int_eq((int)err.status, (int)VS_ERR_INPUT);
    ck_assert_msg(strstr(err.text, says) != NULL, "%s\n  for %s", err.text, bad);
    ck_assert_ptr_null(engine);
}

#define UNDER                                                                                      \
    "{\"schema\":\"vramsim-engine/1\",\"name\":\"under\",\"title\":\"U\","                         \
    "\"tasks\":[\"generate\"],\"source\":\"under\","

static void write_under(const char *body) {
    char under[sizeof file + 8];
    snprintf(under, sizeof under, "%s/under.json", folder);
    FILE *out = fopen(under, "w");
    ck_assert_ptr_nonnull(out);
    fprintf(out, UNDER "%s}", body);
    ck_assert_int_eq(fclose(out), 0);
}

/* A file that is like another takes all that it doesn't say itself from that one's newest release,
 * whatever version is asked of it; name, tasks, version and release are its own. */
START_TEST(like_another) {
    const struct vs_engine *e = NULL;
    struct vs_err err = {0};
    char words[1024], under[sizeof file + 8];
    snprintf(under, sizeof under, "%s/under.json", folder);
    write_under(
        "\"rules\":{\"allocator\":\"bump\",\"window\":\"full\"},"
        "\"numbers\":{\"x\":" NUMBER(1) ",\"y\":" NUMBER(
            2) "},"
               "\"releases\":[{\"from\":\"b5\",\"numbers\":{\"x\":" NUMBER(
                   3) "}}],"
                      "\"backends\":[{\"name\":\"hip\",\"numbers\":{\"z\":" NUMBER(4) "}}]");
    snprintf(words, sizeof words,
             HEAD TASKS ",\"like\":\"%s\",\"rules\":{\"window\":\"sliding\"},"
                        "\"releases\":[{\"from\":\"2\",\"numbers\":{\"y\":" NUMBER(7) "}}]}",
             under);
    write_text(words);
    ck_assert_msg(vs_engine_load(&arena, file, "1", "hip", &e, &err), "%s", err.text);
    ck_assert_str_eq(e->name, "e");
    ck_assert_str_eq(e->file, file);
    ck_assert_str_eq(e->version, "1");
    ck_assert_ptr_null(e->release);
    ck_assert(vs_engine_has_task(e, "train"));
    ck_assert_str_eq(vs_engine_rule(e, "allocator", "?"), "bump");
    ck_assert_str_eq(vs_engine_rule(e, "window", "?"), "sliding");
    ck_assert_double_eq(vs_engine_number(e, "x", NULL, 0), 3);
    ck_assert_double_eq(vs_engine_number(e, "y", NULL, 0), 2);
    ck_assert_double_eq(vs_engine_number(e, "z", NULL, 0), 4);
    ck_assert_msg(vs_engine_load(&arena, file, NULL, NULL, &e, &err), "%s", err.text);
    ck_assert_double_eq(vs_engine_number(e, "y", NULL, 0), 7);
    ck_assert_str_eq(e->release, "2");
    unlink(under);
}
END_TEST

/* The same of a release that the file names; its own versions are its own all the same. */
START_TEST(like_an_earlier_release) {
    const struct vs_engine *e = NULL;
    struct vs_err err = {0};
    char words[512], under[sizeof file + 8];
    snprintf(under, sizeof under, "%s/under.json", folder);
    write_under("\"numbers\":{\"x\":" NUMBER(1) "},\"releases\":["
                                                "{\"from\":\"5\",\"numbers\":{\"x\":" NUMBER(
                                                    5) "}},"
                                                       "{\"from\":\"6\",\"numbers\":{\"x\":" NUMBER(
                                                           6) "}}]");
    static const struct {
        const char *release;
        double x;
    } CASES[] = {{"4", 1}, {"5", 5}, {"5.3", 5}, {"6", 6}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        snprintf(words, sizeof words, HEAD TASKS ",\"like\":\"%s\",\"like_release\":\"%s\"}", under,
                 CASES[i].release);
        write_text(words);
        ck_assert_msg(vs_engine_load(&arena, file, "9", NULL, &e, &err), "%s", err.text);
        ck_assert_double_eq(vs_engine_number(e, "x", NULL, 0), CASES[i].x);
        ck_assert_str_eq(e->version, "9");
    }
    unlink(under);
}
END_TEST

START_TEST(bad_files) {
    refused("", NULL, "e.json");
    refused("[1]", NULL, "object");
    refused("{\"name\":\"e\"}", NULL, "schema");
    refused("{\"schema\":\"vramsim-model/1\"}", NULL, "vramsim-engine/1");
    refused(HEAD "\"tasks\":\"generate\"}", NULL, "array");
    refused(HEAD TASKS ",\"like_release\":\"5\"}", NULL, "expected 'like' beside it");
    refused(HEAD TASKS ",\"task\":1}", NULL, "unknown key 'task'");
    refused(HEAD TASKS ",\"supports\":[]}", NULL, "object");
    refused(HEAD TASKS ",\"supports\":{\"generate\":[]}}", NULL, "object");
    refused(HEAD TASKS ",\"supports\":{\"generat\":{}}}", NULL, "'generat' is not a task");
    refused(HEAD TASKS ",\"supports\":{\"train\":{\"kv\":false}}}", NULL, "expected true");
    refused(HEAD TASKS ",\"supports\":{\"train\":{\"kv\":[[]]}}}", NULL, "a word or a number");
    refused(HEAD TASKS ",\"defaults\":{\"train\":{\"kv\":\"\"}}}", NULL, "a word or a number");
    refused(HEAD TASKS ",\"defaults\":{\"train\":{\"kv\":null}}}", NULL, "a word or a number");
    refused(HEAD TASKS ",\"defaults\":{\"train\":{\"kv\":{\"value\":{\"value\":1}}}}}", NULL,
            "source");
    refused(HEAD TASKS ",\"defaults\":{\"train\":{\"kv\":1,\"kv\":2}}}", NULL, "kv");
    refused(HEAD TASKS ",\"rules\":{\"allocator\":[\"bump\"]}}", NULL, "a word or a number");
    refused(HEAD TASKS ",\"numbers\":{\"x\":5}}", NULL, "object");
    refused(HEAD TASKS ",\"numbers\":{\"x\":" NUMBER(-1) "}}", NULL,
            "found -1, expected a number from 0 to 1e+15");
    refused(HEAD TASKS ",\"numbers\":{\"\":" NUMBER(1) "}}", NULL, "1 to 127 bytes");
    refused(HEAD TASKS ",\"numbers\":{\"x\":{\"value\":1,\"method\":\"guess\",\"source\":\"s\"}}}",
            NULL, "guess");
    refused(HEAD TASKS ",\"releases\":{}}", NULL, "array");
    refused(HEAD TASKS ",\"releases\":[3]}", NULL, "object");
    refused(HEAD TASKS ",\"releases\":[{}]}", NULL, "from");
    refused(HEAD TASKS ",\"releases\":[{\"from\":\"new\"}]}", NULL, "$.releases[0]");
    refused(HEAD TASKS ",\"releases\":[{\"from\":\"2\"},{\"from\":\"1.9\"}]}", NULL,
            "'1.9' stands after '2'");
    refused(HEAD TASKS ",\"releases\":[{\"from\":\"2\"},{\"from\":\"2.0\"}]}", NULL,
            "stands after");
    refused(HEAD TASKS ",\"backends\":[{}]}", NULL, "name");
    refused(HEAD TASKS ",\"backends\":[{\"name\":\"b\"},{\"name\":\"a\"}]}", NULL,
            "'a' stands after 'b'");
    refused(HEAD TASKS ",\"backends\":[{\"name\":\"b\",\"rule\":{}}]}", NULL, "unknown key 'rule'");
    refused(HEAD TASKS ",\"like\":\"lama.cpp\"}", NULL, "unknown engine 'lama.cpp'");
    refused(HEAD TASKS ",\"like\":\"llamacpp\",\"like_release\":\"new\"}", NULL,
            "found 'new', expected a release");
    refused(HEAD TASKS ",\"like\":\"ikllama\"}", NULL, "is itself like 'llamacpp'");
    /* a mistake in a release that isn't asked for is found as well */
    refused(HEAD TASKS ",\"releases\":[{\"from\":\"2\",\"rule\":{}}]}", "1.0",
            "unknown key 'rule'");
}
END_TEST

START_TEST(bad_versions) {
    static const char *const bad[] = {"",     "new",  "1.x",   "1..2",         "1.0rcx",
                                      "-1.0", "1.0 ", "rc1.0", "1.2.3.4.5.6.7"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refused(text, bad[i], "expected a release such as");
}
END_TEST

START_TEST(unknown_engine) {
    const struct vs_engine *engine = NULL;
    struct vs_err err = {0};
    ck_assert(!vs_engine_load(&arena, "lama.cpp", NULL, NULL, &engine, &err));
    ck_assert_msg(strstr(err.text, "unknown engine 'lama.cpp'") != NULL, "%s", err.text);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("engine");
    TCase *tests = tcase_create("all");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, versions_compare);
    tcase_add_test(tests, newest_when_not_asked);
    tcase_add_test(tests, releases_up_to_a_version);
    tcase_add_test(tests, what_is_supported);
    tcase_add_test(tests, defaults_and_their_sources);
    tcase_add_test(tests, numbers_by_arch);
    tcase_add_test(tests, many_numbers);
    tcase_add_test(tests, one_node_only);
    tcase_add_test(tests, backends_are_laid_over_releases);
    tcase_add_test(tests, like_another);
    tcase_add_test(tests, like_an_earlier_release);
    tcase_add_test(tests, bad_files);
    tcase_add_test(tests, bad_versions);
    tcase_add_test(tests, unknown_engine);
    suite_add_tcase(suite, tests);

    return run_suite(suite);
}
