/* Parsing JSON: values with their places, and what is refused. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "unit/suite.h"

static struct vs_arena arena;
static struct vs_err err;

static void teardown(void) { vs_arena_release(&arena); }

/* Parses a copy of exactly `length` bytes, so that a sanitizer sees any read behind it. */
static const struct vs_json *parse_bytes(const char *text, size_t length) {
    const struct vs_json *root = NULL;
    char *copy = malloc(length > 0 ? length : 1);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, text, length);
    memset(&err, 0, sizeof err);
    bool done = vs_json_parse(&arena, "f.json", copy, length, &root, &err);
    free(copy);
    ck_assert(done == (root != NULL));
    ck_assert(done == (err.status == VS_OK));
    return root;
}

static const struct vs_json *parse(const char *text) { return parse_bytes(text, strlen(text)); }

static void check_error(const char *text, const char *message) {
    ck_assert_msg(parse(text) == NULL, "%s", text);
    ck_assert_int_eq(err.status, VS_ERR_INPUT);
    ck_assert_str_eq(err.text, message);
}

START_TEST(values) {
    const struct vs_json *root = parse(
        " {\"n\": null, \"t\": true, \"f\": false, \"x\": -1.5e2,\n"
        "  \"s\": \"a\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00\", \"a\": [1, [], {}]}\n");
    ck_assert_msg(root != NULL, "%s", err.text);
    ck_assert_int_eq(root->kind, VS_JSON_OBJECT);
    ck_assert_uint_eq(root->count, 6);
    ck_assert_ptr_null(root->key);
    ck_assert_int_eq(vs_json_member(root, "n")->kind, VS_JSON_NULL);
    ck_assert_int_eq(vs_json_member(root, "t")->kind, VS_JSON_BOOL);
    ck_assert(vs_json_member(root, "t")->boolean);
    ck_assert(!vs_json_member(root, "f")->boolean);
    ck_assert_double_eq(vs_json_member(root, "x")->number, -150);
    ck_assert(!vs_json_member(root, "x")->is_integer);
    ck_assert_str_eq(vs_json_member(root, "s")->string, "a\"\\/\b\f\n\r\t\xC3\xA9\xF0\x9F\x98\x80");
    const struct vs_json *array = vs_json_member(root, "a");
    ck_assert_uint_eq(array->count, 3);
    ck_assert_uint_eq(array->child->integer, 1);
    ck_assert_int_eq(array->child->next->kind, VS_JSON_ARRAY);
    ck_assert_uint_eq(array->child->next->count, 0);
    ck_assert_int_eq(array->child->next->next->kind, VS_JSON_OBJECT);
    ck_assert_ptr_null(array->child->next->next->next);
    /* keys mind their case; members are in order */
    ck_assert_ptr_null(vs_json_member(root, "N"));
    ck_assert_ptr_null(vs_json_member(array, "n"));
    ck_assert_ptr_null(vs_json_member(NULL, "n"));
    ck_assert_str_eq(root->child->key, "n");
    ck_assert_str_eq(root->child->next->key, "t");
}
END_TEST

START_TEST(places) {
    /* a tab is one column, and so is a character of two bytes */
    const struct vs_json *root = parse("{\n\t\"\xC3\xA9\": 1, \"b\":\r\n  [true]\n}");
    ck_assert_msg(root != NULL, "%s", err.text);
    ck_assert_int_eq(root->line, 1);
    ck_assert_int_eq(root->column, 1);
    const struct vs_json *first = root->child, *second = first->next;
    ck_assert_int_eq(first->key_line, 2);
    ck_assert_int_eq(first->key_column, 2);
    ck_assert_int_eq(first->line, 2);
    ck_assert_int_eq(first->column, 7);
    ck_assert_int_eq(second->key_line, 2);
    ck_assert_int_eq(second->key_column, 10);
    ck_assert_int_eq(second->line, 3);
    ck_assert_int_eq(second->column, 3);
    ck_assert_int_eq(second->child->column, 4);
}
END_TEST

START_TEST(integers_are_exact) {
    static const struct {
        const char *text;
        bool is_integer;
        uint64_t integer;
    } CASES[] = {
        {"0", true, 0},
        {"9007199254740993", true, 9007199254740993}, /* 2^53 + 1: no double holds it */
        {"18446744073709551615", true, UINT64_MAX},
        {"18446744073709551616", false, 0},
        {"-1", false, 0},
        {"-0", false, 0},
        {"1.0", false, 0},
        {"1e3", false, 0},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        const struct vs_json *root = parse(CASES[i].text);
        ck_assert_msg(root != NULL, "%s", err.text);
        ck_assert_int_eq(root->kind, VS_JSON_NUMBER);
        ck_assert(root->is_integer == CASES[i].is_integer);
        ck_assert_uint_eq(root->integer, CASES[i].integer);
    }
    ck_assert_double_eq(parse("18446744073709551616")->number, 18446744073709551616.0);
    ck_assert_double_eq(parse("1e-999")->number, 0);
}
END_TEST

START_TEST(broken_syntax) {
    static const struct {
        const char *text, *message;
    } CASES[] = {
        {"", "f.json:1:1: found the end of the text, expected a value"},
        {" \n ", "f.json:2:2: found the end of the text, expected a value"},
        {"{\n  \"a\": 1,\n}", "f.json:3:1: found '}', expected a key in double quotes"},
        {"{\"a\": 1", "f.json:1:8: found the end of the text, expected ',' or '}'"},
        {"{\"a\" 1}", "f.json:1:6: found '1', expected ':' after the key"},
        {"{\"a\": 1 \"b\": 2}", "f.json:1:9: found '\"', expected ',' or '}'"},
        {"{a: 1}", "f.json:1:2: found 'a', expected a key in double quotes"},
        {"{'a': 1}", "f.json:1:2: found ''', expected a key in double quotes"},
        {"[1,]", "f.json:1:4: found ']', expected a value"},
        {"[1 2]", "f.json:1:4: found '2', expected ',' or ']'"},
        {"[1}", "f.json:1:3: found '}', expected ',' or ']'"},
        {"[", "f.json:1:2: found the end of the text, expected a value"},
        {"nul", "f.json:1:1: found 'nul', expected a value"},
        {"True", "f.json:1:1: found 'True', expected a value"},
        {"NaN", "f.json:1:1: found 'NaN', expected a value"},
        {"[Infinity]", "f.json:1:2: found 'Infinity', expected a value"},
        {"// no", "f.json:1:1: found '/', expected a value"},
        {"1 2", "f.json:1:3: found '2', expected nothing after the value"},
        {"{}\n}", "f.json:2:1: found '}', expected nothing after the value"},
        {"\xC3\xA9", "f.json:1:1: found '\xC3\xA9', expected a value"},
        {"\x01", "f.json:1:1: found byte 0x01, expected a value"},
        {"\xFF", "f.json:1:1: found invalid UTF-8 (byte 0xff), expected a value"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++)
        check_error(CASES[i].text, CASES[i].message);
}
END_TEST

START_TEST(broken_numbers) {
    static const char *const TEXTS[] = {"01", "-",   "1.",   "1.e3",  "1e",  "1e+",  "-01",
                                        "1x", "1-2", "0x10", "1.2.3", "-.5", "1_000"};
    static const char *const WORDS[] = {"+1", ".5", "-Infinity"};
    char message[128];
    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++) {
        (void)snprintf(message, sizeof message,
                       "f.json:1:1: found '%s', expected a number as JSON writes it, such as 12, "
                       "-0.5 or 1e9",
                       TEXTS[i]);
        check_error(TEXTS[i], message);
    }
    for (size_t i = 0; i < sizeof WORDS / sizeof WORDS[0]; i++)
        ck_assert_ptr_null(parse(WORDS[i]));
    check_error("[1, 1e999]", "f.json:1:5: found a number that is too large, expected one below "
                              "1.8e308");
    check_error("-1e999", "f.json:1:1: found a number that is too large, expected one below "
                          "1.8e308");
    /* 63 characters are read, more are refused; nothing is cut off silently */
    char digits[80] = "0.";
    memset(digits + 2, '1', 61);
    ck_assert_ptr_nonnull(parse(digits));
    ck_assert_double_eq_tol(parse(digits)->number, 1.0 / 9, 1e-15);
    memset(digits + 2, '1', 62);
    check_error(digits, "f.json:1:1: found '0.111111111111111111111111111111...', expected a "
                        "number of at most 63 characters");
}
END_TEST

START_TEST(broken_strings) {
    static const struct {
        const char *text, *message;
    } CASES[] = {
        {"\"abc", "f.json:1:5: found the end of the text, expected '\"' at the end of the string"},
        {"\"abc\\", "f.json:1:6: found the end of the text, expected one of \" \\ / b f n r t u "
                    "after '\\'"},
        {"\"\\q\"", "f.json:1:3: found 'q', expected one of \" \\ / b f n r t u after '\\'"},
        {"\"\\u12\"", "f.json:1:6: found '\"', expected four hexadecimal digits after '\\u'"},
        {"\"\\u0000\"", "f.json:1:3: found 'u0000', expected no NUL character in a string"},
        {"\"\\udc00\"", "f.json:1:3: found 'udc00', expected a high surrogate before a low one"},
        {"\"\\ud800\"",
         "f.json:1:8: found '\"', expected '\\u' with the low surrogate of the pair"},
        {"\"\\ud800\\n\"",
         "f.json:1:8: found '\\', expected '\\u' with the low surrogate of the pair"},
        {"\"\\ud800\\u0041\"",
         "f.json:1:9: found 'u0041', expected a low surrogate (dc00 to dfff)"},
        {"\"\\ud800", "f.json:1:8: found the end of the text, expected '\\u' with the low "
                      "surrogate of the pair"},
        {"\"a\nb\"", "f.json:1:3: found a line break, expected '\"' at the end of the string "
                     "(control characters need an escape)"},
        {"\"a\tb\"", "f.json:1:3: found byte 0x09, expected '\"' at the end of the string "
                     "(control characters need an escape)"},
        {"\"\xC3\"", "f.json:1:2: found invalid UTF-8 (byte 0xc3), expected valid UTF-8"},
        {"\"\xED\xA0\x80\"", "f.json:1:2: found invalid UTF-8 (byte 0xed), expected valid UTF-8"},
        {"\"\xC0\x80\"", "f.json:1:2: found invalid UTF-8 (byte 0xc0), expected valid UTF-8"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++)
        check_error(CASES[i].text, CASES[i].message);
    ck_assert_ptr_null(parse_bytes("\"a\0b\"", 5));
    ck_assert_str_eq(err.text, "f.json:1:3: found byte 0x00, expected '\"' at the end of the "
                               "string (control characters need an escape)");
    ck_assert_ptr_null(parse_bytes("1\0", 2));
    ck_assert_str_eq(err.text, "f.json:1:2: found byte 0x00, expected nothing after the value");
    ck_assert_ptr_null(parse_bytes("\0", 1));
}
END_TEST

START_TEST(byte_order_mark_is_skipped) {
    ck_assert_ptr_nonnull(parse("\xEF\xBB\xBF"
                                "1"));
    ck_assert_ptr_nonnull(parse("\xEF\xBB\xBF{\"a\": 1}"));
    ck_assert_ptr_null(parse("\xEF\xBB\xBF"));
    ck_assert_ptr_null(parse("\xEF\xBB\xBF\xEF\xBB\xBF"
                             "1"));
}
END_TEST

START_TEST(duplicate_keys) {
    check_error("{\"a\": 1,\n \"b\": 2,\n \"a\": 3}",
                "f.json:3:2: duplicate key 'a', first given in line 1");
    /* an escape makes no other key; the first repetition is reported */
    check_error("{\"z\": 1, \"a\": 1, \"\\u007a\": 2, \"a\": 2}",
                "f.json:1:18: duplicate key 'z', first given in line 1");
    check_error("[{\"o\": {\"k\": 1, \"k\": 1}}]",
                "f.json:1:17: duplicate key 'k', first given in line 1");
    ck_assert_ptr_nonnull(parse("{\"a\": 1, \"A\": 2, \"\": 3, \"o\": {\"a\": 1}}"));
}
END_TEST

START_TEST(nesting_is_bounded) {
    char text[256];
    memset(text, '[', 64);
    memset(text + 64, ']', 64);
    text[128] = '\0';
    ck_assert_msg(parse(text) != NULL, "%s", err.text);
    memset(text, '[', 65);
    memset(text + 65, ']', 65);
    text[130] = '\0';
    check_error(text, "f.json:1:65: found '[', expected no more than 64 levels of nesting");
    char *deep = malloc(1000000);
    ck_assert_ptr_nonnull(deep);
    for (size_t i = 0; i < 1000000; i += 5)
        memcpy(deep + i, "{\"a\":", 5);
    ck_assert_ptr_null(parse_bytes(deep, 1000000));
    ck_assert_int_eq(err.status, VS_ERR_INPUT);
    free(deep);
}
END_TEST

/* 100,000 equal-looking keys must not take a quadratic time. */
START_TEST(large_objects_are_cheap) {
    struct vs_text text = {0};
    vs_text_add(&text, "{");
    for (int i = 0; i < 100000; i++)
        vs_text_printf(&text, "%s\"key%d\":%d", i > 0 ? "," : "", i, i);
    vs_text_add(&text, "}");
    const struct vs_json *root = parse_bytes(text.at, text.length);
    ck_assert_msg(root != NULL, "%s", err.text);
    ck_assert_uint_eq(root->count, 100000);
    text.length--;
    vs_text_add(&text, ",\"key7\":0}");
    ck_assert_ptr_null(parse_bytes(text.at, text.length));
    ck_assert(strstr(err.text, "duplicate key 'key7'") != NULL);
    vs_text_release(&text);
}
END_TEST

START_TEST(size_is_bounded) {
    const struct vs_json *root = NULL;
    /* the length is refused before anything is read */
    ck_assert(!vs_json_parse(&arena, "f.json", "1", 64UL * 1024 * 1024 + 1, &root, &err));
    ck_assert_str_eq(err.text, "f.json: found 67108865 bytes, expected at most 64 MiB");
    ck_assert_ptr_null(root);
}
END_TEST

/* Every prefix and every change of one byte is read or refused, never anything else: the sanitizers
 * watch. */
START_TEST(broken_texts_do_no_harm) {
    static const char TEXT[] = "{\"a\": [1, -2.5e+3, true, null], \"\\ud83d\\ude00\": {\"b\": "
                               "\"x\\n\xC3\xA9\"}, \"c\": 18446744073709551615}";
    static const char BYTES[] = "\0\n\"\\{}[],:-+.eE09au \x80\xC3\xED\xF0\xFF";
    char text[sizeof TEXT];
    size_t length = sizeof TEXT - 1;
    ck_assert_msg(parse(TEXT) != NULL, "%s", err.text);
    for (size_t i = 0; i < length; i++) {
        ck_assert_ptr_null(parse_bytes(TEXT, i));
        for (size_t k = 0; k < sizeof BYTES - 1; k++) {
            memcpy(text, TEXT, sizeof text);
            text[i] = BYTES[k];
            (void)parse_bytes(text, length);
        }
        vs_arena_reset(&arena);
    }
}
END_TEST

START_TEST(files_are_loaded) {
    const struct vs_json *root = NULL;
    char path[] = "/tmp/vramsim-test-XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(close(fd), 0);
    ck_assert(vs_file_write(path, "{\"a\": \"b\"}\n", 11, &err));
    ck_assert(vs_json_load(&arena, path, &root, &err));
    ck_assert_str_eq(root->child->string, "b");
    ck_assert(vs_file_write(path, "{\"a\": \"b\"\n", 10, &err));
    ck_assert(!vs_json_load(&arena, path, &root, &err));
    ck_assert_str_eq(
        err.text,
        vs_arena_printf(&arena, "%s:2:1: found the end of the text, expected ',' or '}'", path));
    ck_assert_int_eq(unlink(path), 0);
    ck_assert(!vs_json_load(&arena, path, &root, &err));
    ck_assert_int_eq(err.status, VS_ERR_INPUT);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("json");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, NULL, teardown);
    tcase_add_test(tests, values);
    tcase_add_test(tests, places);
    tcase_add_test(tests, integers_are_exact);
    tcase_add_test(tests, broken_syntax);
    tcase_add_test(tests, broken_numbers);
    tcase_add_test(tests, broken_strings);
    tcase_add_test(tests, byte_order_mark_is_skipped);
    tcase_add_test(tests, duplicate_keys);
    tcase_add_test(tests, nesting_is_bounded);
    tcase_add_test(tests, large_objects_are_cheap);
    tcase_add_test(tests, size_is_bounded);
    tcase_add_test(tests, broken_texts_do_no_harm);
    tcase_add_test(tests, files_are_loaded);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
