/* Reading objects key by key, and writing JSON. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "unit/suite.h"

static struct vs_arena arena;
static struct vs_err err;
static struct vs_json_reader reader;

static void teardown(void) { vs_arena_release(&arena); }

static const struct vs_json *parse(const char *text) {
    const struct vs_json *root = NULL;
    memset(&err, 0, sizeof err);
    ck_assert_msg(vs_json_parse(&arena, "f.json", text, strlen(text), &root, &err), "%s", err.text);
    return root;
}

static void open_text(const char *text) {
    ck_assert_msg(vs_json_open(&reader, "f.json", "$", parse(text), &err), "%s", err.text);
}

START_TEST(getters_read) {
    const char *string = NULL;
    bool flag = false;
    double number = 0;
    uint64_t integer = 0;
    const struct vs_json *array = NULL, *any = NULL;
    const char *const *strings = NULL;
    size_t count = 0;
    open_text(
        "{\"s\": \"x\", \"b\": true, \"n\": -2.5, \"u\": 18446744073709551615, \"a\": [1, 2], "
        "\"y\": {}, \"l\": [\"p\", \"q\"], \"e\": []}");
    ck_assert(vs_json_get_string(&reader, "s", true, &string, &err));
    ck_assert_str_eq(string, "x");
    ck_assert(vs_json_get_bool(&reader, "b", true, &flag, &err));
    ck_assert(flag);
    ck_assert(vs_json_get_number(&reader, "n", true, -10, 10, &number, &err));
    ck_assert_double_eq(number, -2.5);
    ck_assert(vs_json_get_u64(&reader, "u", true, 0, UINT64_MAX, &integer, &err));
    ck_assert_uint_eq(integer, UINT64_MAX);
    ck_assert(vs_json_get_array(&reader, "a", true, &array, &err));
    ck_assert_uint_eq(array->count, 2);
    ck_assert(vs_json_get_any(&reader, "y", true, &any, &err));
    ck_assert_int_eq(any->kind, VS_JSON_OBJECT);
    ck_assert(vs_json_get_strings(&reader, "l", true, &arena, &strings, &count, &err));
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(strings[1], "q");
    ck_assert(vs_json_get_strings(&reader, "e", true, &arena, &strings, &count, &err));
    ck_assert_uint_eq(count, 0);
    ck_assert(vs_json_close(&reader, &err));
}
END_TEST

START_TEST(missing_and_null_leave_the_default) {
    static const char *const KEYS[] = {"missing", "null"};
    for (size_t i = 0; i < 2; i++) {
        const char *string = "old";
        bool flag = true, present = true;
        double number = 7;
        uint64_t integer = 7;
        const struct vs_json *array = NULL, *any = NULL;
        const char *const *strings = NULL;
        size_t count = 7;
        struct vs_json_reader inner = {0};
        open_text("{\"null\": null}");
        ck_assert(vs_json_get_string(&reader, KEYS[i], false, &string, &err));
        ck_assert(vs_json_get_bool(&reader, KEYS[i], false, &flag, &err));
        ck_assert(vs_json_get_number(&reader, KEYS[i], false, 0, 1, &number, &err));
        ck_assert(vs_json_get_u64(&reader, KEYS[i], false, 0, 1, &integer, &err));
        ck_assert(vs_json_get_array(&reader, KEYS[i], false, &array, &err));
        ck_assert(vs_json_get_any(&reader, KEYS[i], false, &any, &err));
        ck_assert(vs_json_get_strings(&reader, KEYS[i], false, &arena, &strings, &count, &err));
        ck_assert(vs_json_open_member(&reader, KEYS[i], false, &inner, &present, &err));
        ck_assert_str_eq(string, "old");
        ck_assert(flag && !present);
        ck_assert_double_eq(number, 7);
        ck_assert_uint_eq(integer, 7);
        ck_assert(!array && !any && !strings);
        ck_assert_uint_eq(count, 7);
    }
    const char *string = "old";
    ck_assert(!vs_json_get_string(&reader, "missing", true, &string, &err));
    ck_assert_str_eq(err.text, "f.json:1:1: at $: found no key 'missing', expected a string");
    ck_assert(!vs_json_get_string(&reader, "null", true, &string, &err));
    ck_assert_str_eq(err.text, "f.json:1:10: at $.null: found null, expected a string");
    ck_assert_str_eq(string, "old");
}
END_TEST

START_TEST(wrong_kinds) {
    const char *string = NULL;
    bool flag = false;
    double number = 0;
    uint64_t integer = 0;
    const struct vs_json *array = NULL;
    const char *const *strings = NULL;
    size_t count = 0;
    struct vs_json_reader inner = {0};
    open_text("{\"n\": 1,\n \"s\": \"1\", \"b\": false, \"l\": [\"x\", 2]}");
    ck_assert(!vs_json_get_string(&reader, "n", false, &string, &err));
    ck_assert_str_eq(err.text, "f.json:1:7: at $.n: found a number, expected a string");
    ck_assert(!vs_json_get_bool(&reader, "n", false, &flag, &err));
    ck_assert_str_eq(err.text, "f.json:1:7: at $.n: found a number, expected true or false");
    ck_assert(!vs_json_get_number(&reader, "s", false, 0, 1, &number, &err));
    ck_assert_str_eq(err.text, "f.json:2:7: at $.s: found a string, expected a number");
    ck_assert(!vs_json_get_u64(&reader, "b", false, 0, 1, &integer, &err));
    ck_assert_str_eq(err.text, "f.json:2:17: at $.b: found false, expected a number");
    ck_assert(!vs_json_get_array(&reader, "n", false, &array, &err));
    ck_assert_str_eq(err.text, "f.json:1:7: at $.n: found a number, expected an array");
    ck_assert(!vs_json_get_strings(&reader, "l", false, &arena, &strings, &count, &err));
    ck_assert_str_eq(err.text, "f.json:2:35: at $.l[1]: found a number, expected a string");
    ck_assert(!vs_json_open_member(&reader, "l", false, &inner, NULL, &err));
    ck_assert_str_eq(err.text, "f.json:2:29: at $.l: found an array, expected an object");
    ck_assert(!vs_json_open(&inner, "f.json", "$.l", vs_json_member(reader.object, "l"), &err));
    ck_assert_str_eq(err.text, "f.json:2:29: at $.l: found an array, expected an object");
    ck_assert(!vs_json_open(&inner, "f.json", NULL, NULL, &err));
    ck_assert_str_eq(err.text, "f.json: at $: found nothing, expected an object");
}
END_TEST

START_TEST(ranges) {
    double number = 7;
    uint64_t integer = 7;
    open_text("{\"n\": 1.5, \"u\": 12, \"m\": -1}");
    ck_assert(!vs_json_get_number(&reader, "n", true, 0, 1, &number, &err));
    ck_assert_str_eq(err.text, "f.json:1:7: at $.n: found 1.5, expected a number from 0 to 1");
    ck_assert(!vs_json_get_number(&reader, "n", true, 2, DBL_MAX, &number, &err));
    ck_assert_str_eq(err.text, "f.json:1:7: at $.n: found 1.5, expected a number of at least 2");
    ck_assert(!vs_json_get_number(&reader, "n", true, -(double)INFINITY, 1, &number, &err));
    ck_assert_str_eq(err.text, "f.json:1:7: at $.n: found 1.5, expected a number of at most 1");
    ck_assert(vs_json_get_number(&reader, "n", true, 1.5, 1.5, &number, &err));
    ck_assert_double_eq(number, 1.5);
    ck_assert(!vs_json_get_u64(&reader, "n", true, 0, 9, &integer, &err));
    ck_assert_str_eq(err.text,
                     "f.json:1:7: at $.n: found 1.5, expected a whole number from 0 to 9");
    ck_assert(!vs_json_get_u64(&reader, "u", true, 0, 11, &integer, &err));
    ck_assert(!vs_json_get_u64(&reader, "m", true, 1, UINT64_MAX, &integer, &err));
    ck_assert_str_eq(err.text,
                     "f.json:1:26: at $.m: found -1, expected a whole number of at least 1");
    ck_assert_uint_eq(integer, 7);
    ck_assert(vs_json_get_u64(&reader, "u", true, 12, 12, &integer, &err));
    ck_assert_uint_eq(integer, 12);
}
END_TEST

START_TEST(unknown_keys) {
    double number = 0;
    const char *string = NULL;
    struct vs_json_reader inner;
    bool present = false;
    open_text("{\"memory\": {\n    \"kind\": \"gddr6x\",\n    \"bandwith\": 1}}");
    ck_assert(vs_json_open_member(&reader, "memory", true, &inner, &present, &err));
    ck_assert(present);
    ck_assert_str_eq(inner.path, "$.memory");
    ck_assert(vs_json_close(&reader, &err));
    ck_assert(vs_json_get_string(&inner, "kind", true, &string, &err));
    ck_assert(vs_json_get_number(&inner, "bandwidth", false, 0, 1, &number, &err));
    ck_assert(!vs_json_close(&inner, &err));
    ck_assert_int_eq(err.status, VS_ERR_INPUT);
    ck_assert_str_eq(err.text,
                     "f.json:3:5: unknown key 'bandwith', expected one of: bandwidth, kind");
    open_text("{\"x\": 1}");
    ck_assert(!vs_json_close(&reader, &err));
    ck_assert_str_eq(err.text, "f.json:1:2: unknown key 'x', expected no key");
    open_text("{}");
    ck_assert(vs_json_close(&reader, &err));
}
END_TEST

START_TEST(nested_paths) {
    struct vs_json_reader memory, deep;
    bool present = false;
    double number = 0;
    open_text("{\"memory\": {\"deep\": {\"x\": \"\"}, \"curve\": [[1, 2], [3]]}}");
    ck_assert(vs_json_open_member(&reader, "memory", true, &memory, &present, &err));
    ck_assert(vs_json_open_member(&memory, "deep", true, &deep, &present, &err));
    ck_assert(!vs_json_get_number(&deep, "x", true, 0, 1, &number, &err));
    ck_assert_str_eq(err.text,
                     "f.json:1:27: at $.memory.deep.x: found a string, expected a number");
    const struct vs_json *curve = vs_json_member(memory.object, "curve");
    ck_assert(!vs_json_fail(&memory, curve->child->next, &err, "found %d numbers, expected 2", 1));
    ck_assert_str_eq(err.text, "f.json:1:50: at $.memory.curve[1]: found 1 numbers, expected 2");
    ck_assert(!vs_json_fail(&memory, curve, &err, "bad"));
    ck_assert_str_eq(err.text, "f.json:1:41: at $.memory.curve: bad");
    ck_assert(!vs_json_fail(&memory, NULL, &err, "bad"));
    ck_assert_str_eq(err.text, "f.json:1:12: at $.memory: bad");
}
END_TEST

START_TEST(long_names_are_bounded) {
    struct vs_json_reader inner;
    struct vs_text text = {0};
    vs_text_add(&text, "{\"");
    for (int i = 0; i < 5000; i++)
        vs_text_add(&text, "\xC3\xA9");
    vs_text_add(&text, "\": {}}");
    open_text(vs_text_str(&text));
    ck_assert(!vs_json_close(&reader, &err));
    ck_assert(strstr(err.text, "', expected no key") != NULL);
    ck_assert(vs_json_open_member(&reader, reader.object->child->key, true, &inner, NULL, &err));
    ck_assert_uint_eq(strlen(inner.path), sizeof inner.path - 1);
    ck_assert_str_eq(inner.path + sizeof inner.path - 4, "...");
    vs_text_release(&text);
}
END_TEST

START_TEST(keys_asked_for_are_bounded) {
    bool flag = false;
    open_text("{}");
    for (int i = 0; i < 96; i++)
        ck_assert(vs_json_get_bool(&reader, vs_arena_printf(&arena, "k%d", i), false, &flag, &err));
    ck_assert(vs_json_get_bool(&reader, "k5", false, &flag, &err)); /* counts once */
    ck_assert(!vs_json_get_bool(&reader, "one more", false, &flag, &err));
    ck_assert_str_eq(err.text, "f.json:1:1: at $: more than 96 keys are asked for");
}
END_TEST

START_TEST(writer_indents) {
    struct vs_text out = {0};
    struct vs_json_writer w;
    vs_json_begin(&w, &out);
    vs_json_object(&w);
    vs_json_key(&w, "a");
    vs_json_array(&w);
    vs_json_u64(&w, 1);
    vs_json_object(&w);
    vs_json_end(&w, '}');
    vs_json_array(&w);
    vs_json_end(&w, ']');
    vs_json_end(&w, ']');
    vs_json_key(&w, "b");
    vs_json_boolean(&w, true);
    vs_json_key(&w, "c");
    vs_json_null(&w);
    vs_json_end(&w, '}');
    ck_assert_str_eq(
        vs_text_str(&out),
        "{\n  \"a\": [\n    1,\n    {},\n    []\n  ],\n  \"b\": true,\n  \"c\": null\n}");
    ck_assert_ptr_nonnull(parse(vs_text_str(&out)));
    vs_text_release(&out);
}
END_TEST

static void check_number(double value, const char *expected) {
    struct vs_text out = {0};
    struct vs_json_writer w;
    vs_json_begin(&w, &out);
    vs_json_number(&w, value);
    ck_assert_str_eq(vs_text_str(&out), expected);
    vs_text_release(&out);
}

START_TEST(writer_numbers) {
    struct vs_text out = {0};
    struct vs_json_writer w;
    check_number(1.0 / 3, "0.333333333");
    check_number(107814649856, "107814649856"); /* whole: every digit */
    check_number(-2, "-2");
    check_number(-0.0, "0");
    check_number(1.5e-7, "1.5e-07");
    check_number(1e300, "1e+300");
    check_number((double)NAN, "null");
    check_number(-(double)INFINITY, "null");
    vs_json_begin(&w, &out);
    vs_json_u64(&w, UINT64_MAX);
    ck_assert_str_eq(vs_text_str(&out), "18446744073709551615");
    vs_text_release(&out);
}
END_TEST

START_TEST(writer_strings) {
    struct vs_text out = {0};
    struct vs_json_writer w;
    vs_json_begin(&w, &out);
    vs_json_array(&w);
    vs_json_string(&w, "a\"\\/\b\f\n\r\t\x01\x1F\x7F\xC3\xA9");
    vs_json_string(&w, "\xFF(");
    vs_json_string(&w, "");
    vs_json_string(&w, NULL);
    vs_json_end(&w, ']');
    ck_assert_str_eq(vs_text_str(&out), "[\n  \"a\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7F\xC3\xA9"
                                        "\",\n  \"\xEF\xBF\xBD(\",\n  \"\",\n  null\n]");
    const struct vs_json *root = parse(vs_text_str(&out));
    ck_assert_str_eq(root->child->string, "a\"\\/\b\f\n\r\t\x01\x1F\x7F\xC3\xA9");
    vs_text_release(&out);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("json_objects");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, NULL, teardown);
    tcase_add_test(tests, getters_read);
    tcase_add_test(tests, missing_and_null_leave_the_default);
    tcase_add_test(tests, wrong_kinds);
    tcase_add_test(tests, ranges);
    tcase_add_test(tests, unknown_keys);
    tcase_add_test(tests, nested_paths);
    tcase_add_test(tests, long_names_are_bounded);
    tcase_add_test(tests, keys_asked_for_are_bounded);
    tcase_add_test(tests, writer_indents);
    tcase_add_test(tests, writer_numbers);
    tcase_add_test(tests, writer_strings);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
