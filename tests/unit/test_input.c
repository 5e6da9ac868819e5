/* Input as a stream: plain, gzip, zstd; lines. */
#define ZLIB_CONST

#include <stdlib.h>
#include <string.h>

#include <zlib.h>
#include <zstd.h>

#include "base/input.h"
#include "unit/suite.h"

static struct vs_err err;
static char packed[1 << 16];

enum packing { PLAIN, GZIP, ZSTD, PACKINGS };

static size_t pack(enum packing how, const char *text, size_t length, char *out) {
    if (how == PLAIN) {
        memcpy(out, text, length);
        return length;
    }
    if (how == ZSTD)
        return ZSTD_compress(out, sizeof packed / 2, text, length, 3);
    z_stream z = {.next_in = (const unsigned char *)text,
                  .avail_in = (uInt)length,
                  .next_out = (unsigned char *)out,
                  .avail_out = sizeof packed / 2};
    ck_assert_int_eq(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY), Z_OK);
    ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    ck_assert_int_eq(deflateEnd(&z), Z_OK);
    return z.total_out;
}

static void expect(struct vs_input *in, const char *wanted) {
    const char *line;
    size_t length;
    ck_assert_msg(vs_input_line(in, &line, &length, &err), "%s", err.text);
    if (!wanted) {
        ck_assert_ptr_null(line);
        return;
    }
    ck_assert_ptr_nonnull(line);
    ck_assert_str_eq(line, wanted);
    ck_assert_uint_eq(length, strlen(wanted));
}

/* A byte order mark, both line ends, an empty line, a last line without an end. */
START_TEST(lines) {
    static const char TEXT[] = "\xEF\xBB\xBFone\r\ntwo\n\nlast";
    for (int how = 0; how < PACKINGS; how++) {
        size_t n = pack((enum packing)how, TEXT, sizeof TEXT - 1, packed);
        struct vs_input *in = vs_input_over(packed, n, "x", &err);
        ck_assert_ptr_nonnull(in);
        expect(in, "one");
        expect(in, "two");
        ck_assert_int_eq(vs_input_line_number(in), 2);
        expect(in, "");
        expect(in, "last");
        ck_assert_int_eq(vs_input_line_number(in), 4);
        expect(in, NULL);
        expect(in, NULL);
        vs_input_close(in);
    }
}
END_TEST

/* What was looked at is still there, for lines and for bytes. */
START_TEST(peek) {
    static const char TEXT[] = "one\ntwo\nrest";
    for (int how = 0; how < PACKINGS; how++) {
        size_t n = pack((enum packing)how, TEXT, sizeof TEXT - 1, packed);
        struct vs_input *in = vs_input_over(packed, n, "x", &err);
        const char *head;
        char bytes[16];
        ck_assert_ptr_nonnull(in);
        ck_assert(vs_input_peek(in, &head, &n, &err));
        ck_assert_uint_eq(n, sizeof TEXT - 1);
        ck_assert_mem_eq(head, TEXT, n);
        expect(in, "one");
        ck_assert(vs_input_peek(in, &head, &n, &err));
        ck_assert_uint_eq(n, strlen("two\nrest"));
        ck_assert(vs_input_read(in, bytes, 4, &n, &err));
        ck_assert_uint_eq(n, 4);
        ck_assert_mem_eq(bytes, "two\n", 4);
        expect(in, "rest");
        ck_assert(vs_input_peek(in, &head, &n, &err));
        ck_assert_uint_eq(n, 0);
        expect(in, NULL);
        vs_input_close(in);
    }
}
END_TEST

/* Streams one behind the other are one, as their programs have it. */
START_TEST(members) {
    for (int how = GZIP; how < PACKINGS; how++) {
        size_t n = pack((enum packing)how, "one\nt", 5, packed);
        n += pack((enum packing)how, "wo\n", 3, packed + n);
        struct vs_input *in = vs_input_over(packed, n, "x", &err);
        expect(in, "one");
        expect(in, "two");
        expect(in, NULL);
        vs_input_close(in);
    }
}
END_TEST

static const char *error_of(size_t length) {
    struct vs_input *in = vs_input_over(packed, length, "x", &err);
    const char *line = "";
    size_t n;
    ck_assert_ptr_nonnull(in);
    while (line && vs_input_line(in, &line, &n, &err))
        continue;
    vs_input_close(in);
    ck_assert_ptr_nonnull(line);
    ck_assert_int_eq(err.status, VS_ERR_INPUT);
    return err.text;
}

START_TEST(refused) {
    static const char TEXT[] = "one two three four five six seven eight nine ten\n";
    for (int how = GZIP; how < PACKINGS; how++) {
        size_t n = pack((enum packing)how, TEXT, sizeof TEXT - 1, packed);
        ck_assert_ptr_nonnull(strstr(error_of(n - 3), "data is damaged: found the end"));
        packed[n / 2] ^= 0x55;
        packed[n / 2 + 1] ^= 0x55;
        if (how == GZIP) /* whose checksum is not a matter of choice */
            ck_assert_ptr_nonnull(strstr(error_of(n), "data is damaged"));
        n = pack((enum packing)how, TEXT, sizeof TEXT - 1, packed);
        memcpy(packed + n, "garbage behind the stream", 20);
        ck_assert_ptr_nonnull(strstr(error_of(n + 20), "data is damaged"));
    }
    memcpy(packed, "a\nb\0c\n", 6);
    ck_assert_str_eq(error_of(6), "x:2: found a NUL byte, expected text");
    ck_assert_ptr_null(vs_input_open("/nowhere/at all", &err));
    ck_assert_int_eq(err.status, VS_ERR_INPUT);
}
END_TEST

/* A line over 16 MiB, from a few kilobytes of zstd. */
START_TEST(long_line) {
    const size_t bytes = 17 << 20;
    char *text = calloc(bytes, 1);
    ck_assert_ptr_nonnull(text);
    memset(text, 'a', bytes);
    size_t n = ZSTD_compress(packed, sizeof packed, text, bytes, 1);
    ck_assert(!ZSTD_isError(n));
    free(text);
    ck_assert_str_eq(error_of(n), "x:1: the line is over 16 MiB");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("input");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, lines);
    tcase_add_test(tests, peek);
    tcase_add_test(tests, members);
    tcase_add_test(tests, refused);
    tcase_add_test(tests, long_line);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
