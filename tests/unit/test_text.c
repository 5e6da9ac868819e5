/* Text builder, nearest words, splitting. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "unit/suite.h"

START_TEST(builder_appends) {
    struct vs_text text = {0};
    ck_assert_str_eq(vs_text_str(&text), "");
    vs_text_add(&text, "");
    ck_assert_str_eq(vs_text_str(&text), "");
    vs_text_add(&text, "ab");
    vs_text_addn(&text, "cdef", 2);
    vs_text_printf(&text, "-%d%s", 12, "");
    ck_assert_str_eq(vs_text_str(&text), "abcd-12");
    ck_assert_uint_eq(text.length, 7);
    for (int i = 0; i < 10000; i++)
        vs_text_add(&text, "0123456789");
    ck_assert_uint_eq(text.length, 100007);
    ck_assert_uint_eq(strlen(text.at), 100007);
    ck_assert(!text.failed);
    vs_text_release(&text);
    ck_assert_ptr_null(text.at);
    ck_assert_uint_eq(text.length, 0);
    vs_text_release(&text);
}
END_TEST

START_TEST(builder_is_bounded) {
    /* The length alone decides: no gigabyte has to be written to reach the bound. */
    struct vs_text text = {0};
    vs_text_add(&text, "ab");
    vs_text_addn(&text, "x", 1024UL * 1024 * 1024 - 1);
    ck_assert(text.failed);
    vs_text_add(&text, "cd");
    vs_text_printf(&text, "%d", 1);
    ck_assert_str_eq(vs_text_str(&text), "ab");
    vs_text_release(&text);
}
END_TEST

START_TEST(comparisons) {
    ck_assert(vs_streq("a", "a"));
    ck_assert(!vs_streq("a", "A"));
    ck_assert(!vs_streq("a", NULL));
    ck_assert(vs_streq(NULL, NULL));
    ck_assert(vs_starts("prefix", "pre"));
    ck_assert(vs_starts("prefix", ""));
    ck_assert(!vs_starts("pre", "prefix"));
}
END_TEST

START_TEST(nearest_words) {
    static const char *const WORDS[] = {"rtx3060", "rtx3090", "rtx4090", "rtx4090-d", "a100"};
    char out[64];
    /* one edit to rtx3090 and rtx4090, two to rtx3060 */
    vs_nearest("rtx5090", WORDS, 5, out, sizeof out);
    ck_assert_str_eq(out, "rtx3090, rtx4090, rtx3060");
    /* swapped neighbours are one edit, not two */
    vs_nearest("a010", WORDS, 5, out, sizeof out);
    ck_assert(strncmp(out, "a100, ", 6) == 0);
    /* words that begin with it come first, the nearer before the longer; case costs nothing */
    vs_nearest("RTX4", WORDS, 5, out, sizeof out);
    ck_assert_str_eq(out, "rtx4090, rtx4090-d, rtx3060");
    vs_nearest("x", WORDS, 0, out, sizeof out);
    ck_assert_str_eq(out, "");
    vs_nearest("x", WORDS, 1, out, sizeof out);
    ck_assert_str_eq(out, "rtx3060");
}
END_TEST

START_TEST(nearest_words_are_bounded) {
    static const char *const WORDS[] = {"rtx3060", "rtx3090", ""};
    char word[10001], out[12];
    memset(word, 'r', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    /* only whole words are written */
    vs_nearest(word, WORDS, 3, out, sizeof out);
    ck_assert_str_eq(out, "rtx3060");
    vs_nearest("rtx3060", WORDS, 2, out, 8);
    ck_assert_str_eq(out, "rtx3060");
    vs_nearest("rtx3060", WORDS, 2, out, 7);
    ck_assert_str_eq(out, "");
    vs_nearest("rtx3060", WORDS, 2, out, 0);
    const char *const long_words[] = {word, word};
    vs_nearest(word, long_words, 2, out, sizeof out);
    ck_assert_str_eq(out, "");
}
END_TEST

START_TEST(split_keeps_empty_pieces) {
    struct vs_arena arena = {0};
    size_t count = 0;
    char **pieces = vs_split(&arena, "a,,b,", ',', &count);
    ck_assert_uint_eq(count, 4);
    ck_assert_str_eq(pieces[0], "a");
    ck_assert_str_eq(pieces[1], "");
    ck_assert_str_eq(pieces[2], "b");
    ck_assert_str_eq(pieces[3], "");
    pieces = vs_split(&arena, "", ',', &count);
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(pieces[0], "");
    vs_arena_release(&arena);
}
END_TEST

START_TEST(shell_words) {
    static const struct {
        const char *text;
        size_t count;
        const char *words[4];
    } CASES[] = {
        {"", 0, {0}},
        {" \t\n ", 0, {0}},
        {"run --hw  rtx4090 ", 3, {"run", "--hw", "rtx4090"}},
        {"a'b c'd", 1, {"ab cd"}},
        {"'' \"\"", 2, {"", ""}},
        {"'a\\b'", 1, {"a\\b"}},
        {"\"a\\\"b\\x\\\\\"", 1, {"a\"b\\x\\"}}, /* "a\"b\x\\" */
        {"\"it's\"", 1, {"it's"}},
        {"a\\ b \\'", 2, {"a b", "'"}},
        {"a \\\n b\\\nc", 2, {"a", "bc"}}, /* a backslash joins lines */
        {"$HOME *", 2, {"$HOME", "*"}},
    };
    struct vs_arena arena = {0};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct vs_err err = {0};
        char **words = NULL;
        size_t count = 99;
        ck_assert_msg(vs_shell_split(&arena, CASES[i].text, &words, &count, &err), "%s", err.text);
        ck_assert_uint_eq(count, CASES[i].count);
        for (size_t k = 0; k < count; k++)
            ck_assert_str_eq(words[k], CASES[i].words[k]);
        ck_assert_ptr_null(words[count]);
    }
    vs_arena_release(&arena);
}
END_TEST

START_TEST(shell_words_refused) {
    static const struct {
        const char *text, *message;
    } CASES[] = {
        {"a 'b", "found the end of the line, expected a closing \"'\" in: a 'b"},
        {"a \"b\\\"", "found the end of the line, expected a closing '\"' in: a \"b\\\""},
        {"a\\", "found the end of the line, expected a character after the last '\\' in: a\\"},
        {"\"a\\", "found the end of the line, expected a closing '\"' in: \"a\\"},
    };
    struct vs_arena arena = {0};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct vs_err err = {0};
        char **words = NULL;
        size_t count = 99;
        ck_assert(!vs_shell_split(&arena, CASES[i].text, &words, &count, &err));
        ck_assert_int_eq(err.status, VS_ERR_INPUT);
        ck_assert_str_eq(err.text, CASES[i].message);
        ck_assert_ptr_null(words);
        ck_assert_uint_eq(count, 99);
    }
    vs_arena_release(&arena);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("text");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, builder_appends);
    tcase_add_test(tests, builder_is_bounded);
    tcase_add_test(tests, comparisons);
    tcase_add_test(tests, nearest_words);
    tcase_add_test(tests, nearest_words_are_bounded);
    tcase_add_test(tests, split_keeps_empty_pieces);
    tcase_add_test(tests, shell_words);
    tcase_add_test(tests, shell_words_refused);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
