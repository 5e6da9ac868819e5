/* CSV: reading by RFC 4180, what is refused, writing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/csv.h"
#include "base/file.h"
#include "unit/suite.h"

static char path[64];
static struct vs_err err;

static void setup(void) {
    (void)snprintf(path, sizeof path, "/tmp/vramsim-test-XXXXXX");
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(close(fd), 0);
}

static void teardown(void) { (void)unlink(path); }

static struct vs_csv *open_text(const char *text, size_t length) {
    memset(&err, 0, sizeof err);
    ck_assert_msg(vs_file_write(path, text, length, &err), "%s", err.text);
    return vs_csv_open(path, &err);
}

/* The first error of a file, without its path. */
static const char *error_of(const char *text, size_t length) {
    struct vs_csv *csv = open_text(text, length);
    bool more = csv != NULL;
    while (more && vs_csv_next(csv, &more, &err))
        continue;
    vs_csv_close(csv);
    ck_assert_int_eq(err.status, VS_ERR_INPUT);
    ck_assert(strncmp(err.text, path, strlen(path)) == 0);
    return err.text + strlen(path);
}

static void check_row(struct vs_csv *csv, int line, const char *first, const char *second) {
    bool more = false;
    ck_assert_msg(vs_csv_next(csv, &more, &err), "%s", err.text);
    ck_assert(more);
    ck_assert_int_eq(vs_csv_line(csv), line);
    ck_assert_str_eq(vs_csv_field(csv, 0), first);
    ck_assert_str_eq(vs_csv_field(csv, 1), second);
}

static void check_end(struct vs_csv *csv) {
    for (int i = 0; i < 2; i++) {
        bool more = true;
        ck_assert_msg(vs_csv_next(csv, &more, &err), "%s", err.text);
        ck_assert(!more);
    }
    vs_csv_close(csv);
}

START_TEST(rows_and_columns) {
    static const char TEXT[] = "id,note\r\n1,plain\r\n2,\"a, \"\"b\"\"\r\nc\"\n3,\n\"\",last";
    struct vs_csv *csv = open_text(TEXT, sizeof TEXT - 1);
    ck_assert_msg(csv != NULL, "%s", err.text);
    ck_assert_uint_eq(vs_csv_columns(csv), 2);
    ck_assert_str_eq(vs_csv_header(csv, 1), "note");
    ck_assert_int_eq(vs_csv_column(csv, "note"), 1);
    ck_assert_int_eq(vs_csv_column(csv, "Note"), -1);
    check_row(csv, 2, "1", "plain");
    check_row(csv, 3, "2", "a, \"b\"\r\nc");
    check_row(csv, 5, "3", "");
    check_row(csv, 6, "", "last");
    ck_assert_str_eq(vs_csv_field(csv, 2), "");
    ck_assert_str_eq(vs_csv_header(csv, 2), "");
    check_end(csv);
}
END_TEST

START_TEST(byte_order_mark_is_skipped) {
    static const char TEXT[] = "\xEF\xBB\xBF\"a\",b\n1,2\n";
    struct vs_csv *csv = open_text(TEXT, sizeof TEXT - 1);
    ck_assert_msg(csv != NULL, "%s", err.text);
    ck_assert_int_eq(vs_csv_column(csv, "a"), 0);
    check_row(csv, 2, "1", "2");
    check_end(csv);
}
END_TEST

START_TEST(header_alone_has_no_rows) {
    struct vs_csv *csv = open_text("a", 1);
    ck_assert_ptr_nonnull(csv);
    check_end(csv);
}
END_TEST

START_TEST(refused) {
    static const struct {
        const char *text, *message;
    } CASES[] = {
        {"", ":1:1: found an empty file, expected a header"},
        {"a,b,a\n", ":1: column 'a' stands twice in the header"},
        {"a,b\n1\n", ":2: found 1 field, expected 2 as in the header"},
        {"a,b\n1,2,3\n", ":2: found 3 fields, expected 2 as in the header"},
        {"a,b\n1,2\n\n", ":3: found 1 field, expected 2 as in the header"},
        {"a,b\n1,\"2\n", ":2:3: found the end of the file, expected a quote that closes this one"},
        {"a,b\n1,\"2\"x\n",
         ":2:6: found text after a closing quote, expected a comma or the end of the line"},
        {"a,b\n1,2\"\n",
         ":2:4: found a quote within a field, expected a field that is quoted as a whole"},
        {"a,b\n\xC3\xA9,\r2\n",
         ":2:3: found a carriage return, expected one before a line break only"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++)
        ck_assert_str_eq(error_of(CASES[i].text, strlen(CASES[i].text)), CASES[i].message);
    ck_assert_str_eq(error_of("a,b\n1,2\0\n", 9), ":2:4: found a NUL byte, expected text");
    ck_assert_str_eq(error_of("a,b\n1,\"\0\n", 9), ":2:4: found a NUL byte, expected text");
}
END_TEST

START_TEST(missing_file_is_bad_input) {
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_ptr_null(vs_csv_open(path, &err));
    ck_assert_int_eq(err.status, VS_ERR_INPUT);
    ck_assert_ptr_null(vs_csv_open("/tmp", &err));
    ck_assert_int_eq(err.status, VS_ERR_INPUT);
    vs_csv_close(NULL);
}
END_TEST

START_TEST(fields_are_bounded) {
    enum { MIB = 1024 * 1024 };
    char *text = malloc(MIB + 16);
    ck_assert_ptr_nonnull(text);
    memcpy(text, "a\n", 2);
    memset(text + 2, 'x', MIB + 1);
    struct vs_csv *csv = open_text(text, MIB + 2); /* exactly 1 MiB: taken */
    bool more = false;
    ck_assert(vs_csv_next(csv, &more, &err));
    ck_assert_uint_eq(strlen(vs_csv_field(csv, 0)), MIB);
    check_end(csv);
    ck_assert_str_eq(error_of(text, MIB + 3), ":2: field 1 is over 1 MiB");
    memset(text, ',', 5000);
    ck_assert_str_eq(error_of(text, 5000), ":1: found more than 4096 fields");
    free(text);
}
END_TEST

START_TEST(what_is_written_is_read_back) {
    static const char *const FIELDS[] = {"plain", "a,b", "say \"hi\"", "two\nlines", "\r", "", " "};
    enum { COUNT = sizeof FIELDS / sizeof FIELDS[0] };
    struct vs_text out = {0};
    for (size_t i = 0; i < COUNT; i++) {
        vs_csv_put(&out, "x", false);
        vs_csv_put(&out, FIELDS[i], true);
    }
    ck_assert_str_eq(vs_text_str(&out), "x,plain\nx,\"a,b\"\nx,\"say \"\"hi\"\"\"\n"
                                        "x,\"two\nlines\"\nx,\"\r\"\nx,\nx, \n");
    struct vs_csv *csv = open_text(out.at, out.length);
    ck_assert_str_eq(vs_csv_header(csv, 1), FIELDS[0]);
    for (size_t i = 1; i < COUNT; i++)
        check_row(csv, i < 4 ? (int)i + 1 : (int)i + 2, "x", FIELDS[i]);
    check_end(csv);
    vs_text_release(&out);
    vs_csv_put(&out, NULL, true);
    ck_assert_str_eq(vs_text_str(&out), "\n");
    vs_text_release(&out);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("csv");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, rows_and_columns);
    tcase_add_test(tests, byte_order_mark_is_skipped);
    tcase_add_test(tests, header_alone_has_no_rows);
    tcase_add_test(tests, refused);
    tcase_add_test(tests, missing_file_is_bad_input);
    tcase_add_test(tests, fields_are_bounded);
    tcase_add_test(tests, what_is_written_is_read_back);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
