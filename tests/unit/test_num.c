/* Numbers with method and source, read, set and printed through one table. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "unit/suite.h"

#define COUNT_OF(table) (sizeof(table) / sizeof(table)[0])

struct thing {
    struct {
        struct vs_num size_bytes, rate_bytes_per_s;
        struct {
            struct vs_num peak_flops;
        } deep;
    } part;
    struct vs_num time_s, clock_hz, power_w, share;
};

static const struct vs_field FIELDS[] = {
    {"part.size_bytes", offsetof(struct thing, part.size_bytes), true, 1024, 1e15},
    {"part.rate_bytes_per_s", offsetof(struct thing, part.rate_bytes_per_s), false, 1e6, 1e13},
    {"part.deep.peak_flops", offsetof(struct thing, part.deep.peak_flops), false, 1e6, 1e18},
    {"time_s", offsetof(struct thing, time_s), false, 0, 1},
    {"clock_hz", offsetof(struct thing, clock_hz), false, 1e6, 1e10},
    {"power_w", offsetof(struct thing, power_w), false, 1, 1e4},
    {"share", offsetof(struct thing, share), false, 0, 1},
};

#define NUM(value) "{\"value\": " value ", \"method\": \"measured\", \"source\": \"here\"}"

static struct vs_arena arena;
static struct vs_err err;

static void setup(void) { vs_arena_init(&arena); }

static void teardown(void) { vs_arena_release(&arena); }

static bool read_thing(const char *text, const char *const *other, struct thing *out) {
    const struct vs_json *root = NULL;
    struct vs_json_reader reader;
    err = (struct vs_err){0};
    return vs_json_parse(&arena, "t.json", text, strlen(text), &root, &err) &&
           vs_json_open(&reader, "t.json", "$", root, &err) &&
           vs_fields_read(&arena, &reader, FIELDS, COUNT_OF(FIELDS), out, other, &err) &&
           vs_json_close(&reader, &err);
}

START_TEST(reads_what_the_paths_say) {
    struct thing x;
    ck_assert(
        read_thing("{\"part\": {\"size_bytes\": " NUM("2048") ", \"deep\": {\"peak_flops\": " NUM(
                       "1e12") "}}, \"share\": " NUM("0.5") "}",
                   NULL, &x));
    ck_assert_double_eq(x.part.size_bytes.value, 2048);
    ck_assert_str_eq(x.part.size_bytes.method, "measured");
    ck_assert_str_eq(x.part.size_bytes.source, "here");
    ck_assert_double_eq(x.part.deep.peak_flops.value, 1e12);
    ck_assert_double_eq(x.share.value, 0.5);
    /* The rest is unknown, not zero. */
    ck_assert(!vs_num_known(x.time_s));
    ck_assert_ptr_null(x.time_s.method);
    ck_assert(!vs_num_known(x.part.rate_bytes_per_s));
    ck_assert_double_eq(vs_num_or(x.time_s, 7), 7);
    ck_assert_double_eq(vs_num_or(x.share, 7), 0.5);
}
END_TEST

START_TEST(other_keys_are_refused_unless_listed) {
    static const char *const OTHER[] = {"part.kind", "name", "extra.inner", NULL};
    const char *text = "{\"name\": \"n\", \"extra\": {\"inner\": 1}, \"part\": {\"kind\": \"k\", "
                       "\"size_bytes\": " NUM("2048") "}}";
    struct thing x;
    ck_assert(read_thing(text, OTHER, &x));
    ck_assert(!read_thing(text, NULL, &x));
    ck_assert_int_eq(err.status, VS_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(err.text, "kind"));
}
END_TEST

START_TEST(bad_numbers_are_refused) {
    static const struct {
        const char *text, *message;
    } BAD[] = {
        {"{}", "'part'"},
        {"{\"part\": {}}", "'size_bytes'"},
        {"{\"part\": 1}", "t.json:1:10: at $.part: found a number, expected an object"},
        {"{\"part\": {\"size_bytes\": 2048}}", "$.part.size_bytes: found a number"},
        {"{\"part\": {\"size_bytes\": " NUM("-1") "}}", "$.part.size_bytes.value"},
        {"{\"part\": {\"size_bytes\": " NUM("1e300") "}}", "$.part.size_bytes.value"},
        {"{\"part\": {\"size_bytes\": " NUM("\"2048\"") "}}", "found a string, expected a number"},
        {"{\"part\": {\"size_bytes\": {\"value\": 2048, \"source\": \"s\"}}}", "'method'"},
        {"{\"part\": {\"size_bytes\": {\"value\": 2048, \"method\": \"measured\"}}}", "'source'"},
        {"{\"part\": {\"size_bytes\": {\"value\": 2048, \"method\": \"guessed\", \"source\": "
         "\"s\"}}}",
         "unknown method 'guessed', expected one of: datasheet"},
        {"{\"part\": {\"size_bytes\": {\"value\": 2048, \"method\": \"assumed\", \"source\": "
         "\"\"}}}",
         "empty source"},
        {"{\"part\": {\"size_bytes\": {\"value\": 2048, \"method\": \"assumed\", \"source\": \"s\","
         " \"unit\": \"B\"}}}",
         "'unit'"},
        {"{\"part\": {\"size_bytes\": " NUM("2048") "}, \"shore\": " NUM("1") "}", "share"},
    };
    for (size_t i = 0; i < COUNT_OF(BAD); i++) {
        struct thing x;
        ck_assert_msg(!read_thing(BAD[i].text, NULL, &x), "%s", BAD[i].text);
        ck_assert_int_eq(err.status, VS_ERR_INPUT);
        ck_assert_msg(strstr(err.text, BAD[i].message), "%s\n%s", BAD[i].text, err.text);
    }
}
END_TEST

START_TEST(sets_by_unit) {
    static const struct {
        const char *path, *value;
        double expected;
        size_t field;
    } GOOD[] = {
        {"part.size", "24GiB", 25769803776.0, 0},
        {"part.rate", "900GB/s", 900e9, 1},
        {"part.deep.peak", "165.2TFLOPS", 165.2e12, 2},
        {"time", "10us", 10e-6, 3},
        {"clock", "2520MHz", 2520e6, 4},
        {"clock", "1.4GHz", 1.4e9, 4},
        {"power", "450W", 450, 5},
        {"power", "1kW", 1000, 5},
        {"share", "0.25", 0.25, 6},
        {"part.size_bytes", "2048", 2048, 0}, /* the full path is understood too */
    };
    for (size_t i = 0; i < COUNT_OF(GOOD); i++) {
        struct thing x = {0};
        bool found = false;
        ck_assert_msg(
            vs_fields_set(FIELDS, COUNT_OF(FIELDS), &x, GOOD[i].path, GOOD[i].value, &found, &err),
            "%s", err.text);
        ck_assert(found);
        struct vs_num n;
        memcpy(&n, (const char *)&x + FIELDS[GOOD[i].field].offset, sizeof n);
        ck_assert_double_eq_tol(n.value, GOOD[i].expected, 1e-12 * GOOD[i].expected);
        ck_assert_str_eq(n.method, "set");
        ck_assert_str_eq(n.source, "command line");
    }
}
END_TEST

START_TEST(bad_settings_leave_the_number) {
    static const struct {
        const char *path, *value, *message;
    } BAD[] = {
        {"part.size", "12parsecs", "'12parsecs' for part.size: expected a size"},
        {"part.size", "1B", "out of range, expected 1 KiB to"},
        {"part.rate", "900GB", "'900GB' for part.rate: expected a rate"},
        {"part.rate", "-1GB/s", "part.rate"},
        {"clock", "2520", "expected a frequency such as 2520MHz"},
        {"clock", "MHz", "expected a frequency"},
        {"clock", "-5MHz", "out of range, expected 1 MHz to 10000 MHz"},
        {"power", "x W", "power"},
        {"share", "nan", "share"},
        {"share", "1.5", "'1.5' for share is out of range, expected 0 to 1"},
        {"share", "", "share"},
    };
    for (size_t i = 0; i < COUNT_OF(BAD); i++) {
        struct thing x = {.share = {.value = 0.5}};
        bool found = false;
        err = (struct vs_err){0};
        ck_assert_msg(
            !vs_fields_set(FIELDS, COUNT_OF(FIELDS), &x, BAD[i].path, BAD[i].value, &found, &err),
            "%s=%s", BAD[i].path, BAD[i].value);
        ck_assert_int_eq(err.status, VS_ERR_INPUT);
        ck_assert_msg(strstr(err.text, BAD[i].message), "%s", err.text);
        ck_assert_double_eq(x.share.value, 0.5);
    }
    struct thing x = {0};
    bool found = true;
    ck_assert(vs_fields_set(FIELDS, COUNT_OF(FIELDS), &x, "shore", "1", &found, &err));
    ck_assert(!found);
}
END_TEST

START_TEST(names_for_the_command_line) {
    ck_assert_uint_eq(vs_field_name_length(&FIELDS[0]), strlen("part.size"));
    ck_assert_uint_eq(vs_field_name_length(&FIELDS[1]), strlen("part.rate"));
    ck_assert_uint_eq(vs_field_name_length(&FIELDS[6]), strlen("share"));
}
END_TEST

START_TEST(prints_with_the_unit) {
    static const struct {
        size_t field;
        double value;
        const char *text;
    } CASES[] = {
        {0, 25383256719.0, "23.64 GiB"},
        {1, 1008e9, "1008 GB/s"},
        {2, 165.2e12, "165.2 TFLOPS"},
        {2, 78e9, "78 GFLOPS"},
        {4, 2520e6, "2520 MHz"},
        {5, 450, "450 W"},
        {6, 0.717, "0.717"},
        {6, (double)NAN, "unknown"},
    };
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        char text[64];
        vs_field_print(&FIELDS[CASES[i].field], (struct vs_num){.value = CASES[i].value}, text,
                       sizeof text);
        ck_assert_str_eq(text, CASES[i].text);
    }
    char little[5]; /* cut, not overrun */
    vs_field_print(&FIELDS[1], (struct vs_num){.value = 1008e9}, little, sizeof little);
    ck_assert_str_eq(little, "1008");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("num");
    TCase *tests = tcase_create("num");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, reads_what_the_paths_say);
    tcase_add_test(tests, other_keys_are_refused_unless_listed);
    tcase_add_test(tests, bad_numbers_are_refused);
    tcase_add_test(tests, sets_by_unit);
    tcase_add_test(tests, bad_settings_leave_the_number);
    tcase_add_test(tests, names_for_the_command_line);
    tcase_add_test(tests, prints_with_the_unit);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
