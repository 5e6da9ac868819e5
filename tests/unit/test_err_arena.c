/* Errors, UTF-8, arenas and vectors. */
#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "unit/suite.h"

START_TEST(error_has_status_and_text) {
    struct vs_err err = {0};
    ck_assert(!vs_err_set(&err, VS_ERR_IO, "cannot write '%s'", "x"));
    ck_assert_int_eq(err.status, VS_ERR_IO);
    ck_assert_str_eq(err.text, "cannot write 'x'");
    ck_assert(!vs_err_nomem(&err));
    ck_assert_int_eq(err.status, VS_ERR_NOMEM);
    ck_assert_str_eq(err.text, "out of memory");
    ck_assert(!vs_err_set(NULL, VS_ERR_IO, "nobody listens"));
    ck_assert(!vs_err_at(NULL, "f", 1, 1, "nobody listens"));
}
END_TEST

START_TEST(error_place) {
    static const struct {
        const char *file;
        int line, column;
        const char *text;
    } CASES[] = {
        {"a.json", 12, 5, "a.json:12:5: bad 'x'"},
        {"a.json", 12, 0, "a.json:12: bad 'x'"},
        {"a.json", 0, 0, "a.json: bad 'x'"},
        {NULL, 12, 5, "bad 'x'"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct vs_err err = {0};
        ck_assert(!vs_err_at(&err, CASES[i].file, CASES[i].line, CASES[i].column, "bad '%s'", "x"));
        ck_assert_int_eq(err.status, VS_ERR_INPUT);
        ck_assert_str_eq(err.text, CASES[i].text);
    }
}
END_TEST

START_TEST(error_text_is_one_clean_line) {
    struct vs_err err = {0};
    vs_err_set(&err, VS_ERR_INPUT, "a\nb\tc\x1b[31m\x7f");
    ck_assert_str_eq(err.text, "a?b?c?[31m?");
    /* a good character stays, a C1 control and a broken byte don't */
    vs_err_set(&err, VS_ERR_INPUT, "%s", "\xC3\xA9 \xC2\x9B \xFF");
    ck_assert_str_eq(err.text, "\xC3\xA9 ?? ?");
    /* the new text may quote the old one */
    vs_err_set(&err, VS_ERR_INPUT, "in");
    vs_err_set(&err, VS_ERR_INPUT, "out: %s", err.text);
    ck_assert_str_eq(err.text, "out: in");
}
END_TEST

START_TEST(error_text_is_bounded) {
    struct vs_err err = {0};
    char word[1000];
    memset(word, 'w', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    vs_err_set(&err, VS_ERR_INPUT, "%s", word);
    ck_assert_uint_eq(strlen(err.text), sizeof err.text - 1);
    ck_assert_str_eq(err.text + sizeof err.text - 5, "w...");
    /* a long file name leaves room for the message */
    vs_err_at(&err, word, 3, 4, "bad 'x'");
    ck_assert(strncmp(err.text, "...w", 4) == 0);
    ck_assert(strstr(err.text, "w:3:4: bad 'x'") != NULL);
    /* a cut within a character leaves no broken UTF-8 */
    for (size_t i = 0; i + 1 < sizeof word; i++)
        word[i] = i % 2 == 0 ? '\xC3' : '\xA9';
    vs_err_set(&err, VS_ERR_INPUT, "%s", word);
    for (size_t i = 0; err.text[i] != '\0';) {
        size_t size = vs_utf8_size(err.text + i, strlen(err.text + i));
        ck_assert_uint_gt(size, 0);
        i += size;
    }
}
END_TEST

START_TEST(utf8_sizes) {
    static const struct {
        const char *text;
        size_t size;
    } CASES[] = {
        {"a", 1},
        {"\xC3\xA9", 2},
        {"\xE2\x82\xAC", 3},
        {"\xF0\x9F\x98\x80", 4},
        {"\xC3", 0},             /* cut off */
        {"\xA9", 0},             /* begins in the middle */
        {"\xC0\xAF", 0},         /* overlong */
        {"\xE0\x80\xAF", 0},     /* overlong */
        {"\xF0\x80\x80\xAF", 0}, /* overlong */
        {"\xED\xA0\x80", 0},     /* a surrogate */
        {"\xF4\x90\x80\x80", 0}, /* over U+10FFFF */
        {"\xFF", 0},             /* no lead byte */
        {"\xE2\x82(", 0},        /* third byte missing */
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++)
        ck_assert_uint_eq(vs_utf8_size(CASES[i].text, strlen(CASES[i].text)), CASES[i].size);
    ck_assert_uint_eq(vs_utf8_size("", 1), 1);
    ck_assert_uint_eq(vs_utf8_size("a", 0), 0);
}
END_TEST

START_TEST(arena_memory_is_zeroed_and_aligned) {
    struct vs_arena arena;
    vs_arena_init(&arena);
    for (size_t n = 0; n < 3000; n += 7) {
        unsigned char *memory = vs_arena_alloc(&arena, n, 1);
        ck_assert_ptr_nonnull(memory);
        ck_assert_uint_eq((uintptr_t)memory % alignof(max_align_t), 0);
        for (size_t i = 0; i < n; i++)
            ck_assert_uint_eq(memory[i], 0);
        memset(memory, 0xAA, n);
    }
    vs_arena_release(&arena);
    ck_assert_ptr_null(arena.blocks);
    ck_assert_uint_eq(arena.used_bytes, 0);
}
END_TEST

START_TEST(arena_counts_and_reuses) {
    struct vs_arena arena = {0};
    double *x = VS_NEW_ARRAY(&arena, double, 10);
    ck_assert_ptr_nonnull(x);
    ck_assert_uint_eq(arena.used_bytes, 80);
    /* a big block is kept by the reset, so that the same request gets the same memory again, zeroed
     */
    ck_assert_ptr_nonnull(vs_arena_alloc(&arena, 1000000, 1));
    vs_arena_reset(&arena);
    ck_assert_uint_eq(arena.used_bytes, 0);
    unsigned char *first = vs_arena_alloc(&arena, 1000000, 1);
    ck_assert_ptr_nonnull(first);
    memset(first, 1, 1000000);
    vs_arena_reset(&arena);
    unsigned char *again = vs_arena_alloc(&arena, 1000000, 1);
    ck_assert_ptr_eq(first, again);
    ck_assert_uint_eq(again[999999], 0);
    vs_arena_release(&arena);
    vs_arena_reset(&arena);
    vs_arena_release(&arena);
}
END_TEST

START_TEST(arena_refuses_what_cannot_be) {
    struct vs_arena arena = {0};
    ck_assert_ptr_null(vs_arena_alloc(&arena, SIZE_MAX, 2));
    ck_assert_ptr_null(vs_arena_alloc(&arena, 1, SIZE_MAX));
    ck_assert_ptr_nonnull(vs_arena_alloc(&arena, 0, 8));
    ck_assert_ptr_nonnull(vs_arena_alloc(&arena, 8, 0));
    vs_arena_release(&arena);
}
END_TEST

START_TEST(arena_strings) {
    struct vs_arena arena = {0};
    ck_assert_str_eq(vs_arena_strdup(&arena, "abc"), "abc");
    ck_assert_str_eq(vs_arena_strndup(&arena, "abc", 2), "ab");
    ck_assert_str_eq(vs_arena_strndup(&arena, "abc", 9), "abc");
    ck_assert_str_eq(vs_arena_strndup(&arena, "abc", 0), "");
    ck_assert_str_eq(vs_arena_printf(&arena, "%s-%d", "x", 7), "x-7");
    vs_arena_release(&arena);
}
END_TEST

START_TEST(vector_grows) {
    VS_VEC(int) v = {0};
    for (int i = 0; i < 1000; i++)
        ck_assert(vs_vec_push(&v, i * 2));
    ck_assert_uint_eq(v.count, 1000);
    ck_assert_uint_ge(v.room, 1000);
    for (int i = 0; i < 1000; i++)
        ck_assert_int_eq(v.at[i], i * 2);
    size_t room = v.room;
    ck_assert(vs_vec_reserve(&v, 10));
    ck_assert_uint_ge(v.room, 1010);
    /* what cannot be leaves the vector unchanged */
    room = v.room;
    const int *at = v.at;
    ck_assert(!vs_vec_reserve(&v, SIZE_MAX / 2));
    ck_assert_uint_eq(v.room, room);
    ck_assert_ptr_eq(v.at, at);
    vs_vec_release(&v);
    ck_assert_ptr_null(v.at);
    ck_assert_uint_eq(v.count, 0);
    ck_assert_uint_eq(v.room, 0);
    vs_vec_release(&v);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("err_arena");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, error_has_status_and_text);
    tcase_add_test(tests, error_place);
    tcase_add_test(tests, error_text_is_one_clean_line);
    tcase_add_test(tests, error_text_is_bounded);
    tcase_add_test(tests, utf8_sizes);
    tcase_add_test(tests, arena_memory_is_zeroed_and_aligned);
    tcase_add_test(tests, arena_counts_and_reuses);
    tcase_add_test(tests, arena_refuses_what_cannot_be);
    tcase_add_test(tests, arena_strings);
    tcase_add_test(tests, vector_grows);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
