/* Where data files are found. Two roots in a folder of our own, before those that the build knows.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/data.h"
#include "base/file.h"
#include "unit/suite.h"

static struct vs_arena arena;
static struct vs_err err;
static char home[64];

static const char *at(const char *relative) {
    const char *path = vs_arena_printf(&arena, "%s/%s", home, relative);
    ck_assert_ptr_nonnull(path);
    return path;
}

static void put(const char *relative, const char *text) {
    ck_assert_msg(vs_file_write(at(relative), text, strlen(text), &err), "%s", err.text);
}

static const char *const FILES[] = {"one/things/apple.json", "one/things/pear.json",
                                    "two/things/apple.json", "two/things/plum.json",
                                    "two/things/broken.json"};
static const char *const DIRS[] = {"one/things", "two/things", "one", "two", ""};

static void setup(void) {
    vs_arena_init(&arena);
    err = (struct vs_err){0};
    memcpy(home, "/tmp/vramsim-data-XXXXXX", sizeof "/tmp/vramsim-data-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(home));
    ck_assert(vs_dir_make(at("one/things"), &err) && vs_dir_make(at("two/things"), &err));
    put("one/things/apple.json", "{\"aliases\": [\"a\", \"Org/Apple-1\"]}");
    put("one/things/pear.json", "{}");
    put("two/things/apple.json", "{\"aliases\": [\"hidden\"]}");
    put("two/things/plum.json", "{\"aliases\": [\"prune\"]}");
    setenv("VRAMSIM_PATH", vs_arena_printf(&arena, "%s:%s", at("one"), at("two")), 1);
}

static void teardown(void) {
    for (size_t i = 0; i < sizeof FILES / sizeof *FILES; i++)
        (void)remove(at(FILES[i]));
    for (size_t i = 0; i < sizeof DIRS / sizeof *DIRS; i++)
        (void)rmdir(at(DIRS[i]));
    unsetenv("VRAMSIM_PATH");
    vs_arena_release(&arena);
}

static void expect(const char *word, const char *relative) {
    const char *path = NULL;
    ck_assert_msg(vs_data_find(&arena, "things", "thing", word, &path, &err), "%s", err.text);
    ck_assert_str_eq(path, at(relative));
}

static void expect_error(const char *word, const char *message) {
    const char *path = NULL;
    err = (struct vs_err){0};
    ck_assert(!vs_data_find(&arena, "things", "thing", word, &path, &err));
    ck_assert_int_eq(err.status, VS_ERR_INPUT);
    ck_assert_str_eq(err.text, message);
    ck_assert_ptr_null(path);
}

START_TEST(names_and_aliases) {
    expect("apple", "one/things/apple.json"); /* the first root wins */
    expect("Apple", "one/things/apple.json");
    expect("plum", "two/things/plum.json");
    expect("a", "one/things/apple.json");
    expect("org/apple-1", "one/things/apple.json");
    expect("PRUNE", "two/things/plum.json");
}
END_TEST

START_TEST(paths) {
    expect(at("two/things/apple.json"), "two/things/apple.json");
    expect_error("nowhere/x.json", "cannot find the thing file 'nowhere/x.json'");
    expect_error("x.json", "cannot find the thing file 'x.json'");
}
END_TEST

START_TEST(unknown_words) {
    expect_error("aple", "unknown thing 'aple'; nearest: apple, plum, pear");
    expect_error("", "empty name of a thing");
    expect_error("hidden", "unknown thing 'hidden'; nearest: apple, pear, plum"); /* shadowed */
    expect_error("org/appel", "unknown thing 'org/appel'; nearest: apple, pear, plum");
    expect_error("../things/apple", "unknown thing '../things/apple'; nearest: apple, pear, plum");
}
END_TEST

START_TEST(a_broken_file_is_named_where_it_may_be_meant) {
    const char *path = NULL;
    put("two/things/broken.json", "{\"aliases\": [");
    expect("prune", "two/things/plum.json");
    expect("pear", "one/things/pear.json");
    ck_assert(!vs_data_find(&arena, "things", "thing", "lemon", &path, &err));
    ck_assert_ptr_nonnull(strstr(err.text, "two/things/broken.json:1:"));
}
END_TEST

START_TEST(no_data_at_all) {
    const char *path = NULL;
    ck_assert(!vs_data_find(&arena, "no-such-folder", "thing", "x", &path, &err));
    ck_assert_str_eq(err.text, "unknown thing 'x'; no data files found (VRAMSIM_PATH)");
}
END_TEST

START_TEST(lists) {
    const char *const *names = NULL;
    size_t count = 0;
    ck_assert(vs_data_list(&arena, "things", &names, &count, &err));
    ck_assert_uint_eq(count, 3);
    ck_assert_str_eq(names[0], "apple");
    ck_assert_str_eq(names[1], "pear");
    ck_assert_str_eq(names[2], "plum");
}
END_TEST

START_TEST(relative_paths) {
    ck_assert_str_eq(vs_data_path(&arena, "things/plum.json"), at("two/things/plum.json"));
    ck_assert_str_eq(vs_data_path(&arena, "things"), at("one/things"));
    ck_assert_ptr_null(vs_data_path(&arena, "things/lemon.json"));
    /* Empty entries are skipped, and the source tree stays a root. */
    setenv("VRAMSIM_PATH", "::", 1);
    ck_assert_ptr_nonnull(vs_data_path(&arena, "hwprofiles/devices/toy.json"));
    unsetenv("VRAMSIM_PATH");
    ck_assert_ptr_nonnull(vs_data_path(&arena, "hwprofiles/devices/toy.json"));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("data");
    TCase *tests = tcase_create("data");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, names_and_aliases);
    tcase_add_test(tests, paths);
    tcase_add_test(tests, unknown_words);
    tcase_add_test(tests, a_broken_file_is_named_where_it_may_be_meant);
    tcase_add_test(tests, no_data_at_all);
    tcase_add_test(tests, lists);
    tcase_add_test(tests, relative_paths);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
