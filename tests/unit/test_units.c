/* Quantities: what is read, what is refused, what is printed. */
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "unit/suite.h"

#define COUNT_OF(table) (sizeof(table) / sizeof(table)[0])

static const struct {
    const char *text;
    uint64_t bytes;
} GOOD_BYTES[] = {
    {"0", 0},
    {"1024", 1024},
    {"14B", 14},
    {"2e8B", 200000000},
    {"1KB", 1000},
    {"1kB", 1000},
    {"500MB", 500000000},
    {"24GB", 24000000000},
    {"2TB", 2000000000000},
    {"1KiB", 1024},
    {"3MiB", 3145728},
    {"24GiB", 25769803776},
    {"1TiB", 1099511627776},
    {"1.5KiB", 1536},
    {"0.1GB", 100000000},
    {".5KiB", 512},
    {"24 GiB", 25769803776}, /* as we print it */
    {"18446744073709551615", UINT64_MAX},
    {"9007199254740993", 9007199254740993}, /* 2^53 + 1: no double holds it */
};

static const struct {
    const char *text, *why;
} BAD_BYTES[] = {
    {"", "expected a size such as 24GiB or 500MB"},
    {"GiB", "expected a size such as 24GiB or 500MB"},
    {"-1GB", "expected a size such as 24GiB or 500MB"},
    {"-0", "expected a size such as 24GiB or 500MB"},
    {"+1", "expected a size such as 24GiB or 500MB"},
    {" 1", "expected a size such as 24GiB or 500MB"},
    {"1 ", "expected a size such as 24GiB or 500MB"},
    {"1  GB", "expected a size such as 24GiB or 500MB"},
    {"12parsecs", "expected a size such as 24GiB or 500MB"},
    {"24G", "expected a size such as 24GiB or 500MB"},
    {"24gib", "expected a size such as 24GiB or 500MB"},
    {"24Gb", "expected a size such as 24GiB or 500MB"},
    {"0x10", "expected a size such as 24GiB or 500MB"},
    {"nan", "expected a size such as 24GiB or 500MB"},
    {"inf", "expected a size such as 24GiB or 500MB"},
    {"1e999", "expected a size such as 24GiB or 500MB"},
    {"1e", "expected a size such as 24GiB or 500MB"},
    {"1,5GB", "expected a size such as 24GiB or 500MB"},
    {"1.5", "expected a whole number of bytes"},
    {"0.5B", "expected a whole number of bytes"},
    {"18446744073709551616", "expected a size below 2^64 bytes"},
    {"16777216TiB", "expected a size below 2^64 bytes"},
    {"1e30", "expected a size below 2^64 bytes"},
};

START_TEST(bytes) {
    for (size_t i = 0; i < COUNT_OF(GOOD_BYTES); i++) {
        uint64_t got = 77;
        char why[VS_WHY_SIZE];
        ck_assert_msg(vs_parse_bytes(GOOD_BYTES[i].text, &got, why), "%s: %s", GOOD_BYTES[i].text,
                      why);
        ck_assert_msg(got == GOOD_BYTES[i].bytes, "%s", GOOD_BYTES[i].text);
    }
    for (size_t i = 0; i < COUNT_OF(BAD_BYTES); i++) {
        uint64_t got = 77;
        char why[VS_WHY_SIZE] = "";
        ck_assert_msg(!vs_parse_bytes(BAD_BYTES[i].text, &got, why), "%s", BAD_BYTES[i].text);
        ck_assert_str_eq(why, BAD_BYTES[i].why);
        ck_assert_uint_eq(got, 77);
    }
}
END_TEST

START_TEST(very_long_numbers_are_refused) {
    char text[300], why[VS_WHY_SIZE];
    uint64_t got = 77;
    memset(text, '0', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    ck_assert(!vs_parse_bytes(text, &got, why));
    text[100] = '\0'; /* 100 zeros are still a number */
    ck_assert(vs_parse_bytes(text, &got, why));
    ck_assert_uint_eq(got, 0);
}
END_TEST

typedef bool parser(const char *text, double *value, char why[VS_WHY_SIZE]);

static void check_double(parser *parse, const char *text, double expected) {
    double got = -1;
    char why[VS_WHY_SIZE] = "";
    ck_assert_msg(parse(text, &got, why), "%s: %s", text, why);
    ck_assert_msg(!(got < expected) && !(got > expected), "%s: %.17g", text, got);
}

static void check_refused(parser *parse, const char *text, const char *why_expected) {
    double got = 77;
    char why[VS_WHY_SIZE] = "";
    ck_assert_msg(!parse(text, &got, why), "%s", text);
    ck_assert_str_eq(why, why_expected);
    ck_assert_double_eq(got, 77);
}

START_TEST(rates) {
    static const char WHY[] = "expected a rate such as 900GB/s, 25GiB/s or 200Gb/s";
    check_double(vs_parse_rate, "900GB/s", 9e11);
    check_double(vs_parse_rate, "1.008TB/s", 1.008e12);
    check_double(vs_parse_rate, "25GiB/s", 26843545600.0);
    check_double(vs_parse_rate, "200Gb/s", 25e9); /* bits */
    check_double(vs_parse_rate, "8b/s", 1);
    check_double(vs_parse_rate, "0B/s", 0);
    check_refused(vs_parse_rate, "900GB", WHY);
    check_refused(vs_parse_rate, "900", WHY);
    check_refused(vs_parse_rate, "-1GB/s", WHY);
    check_refused(vs_parse_rate, "1e308TB/s", WHY);
    check_refused(vs_parse_rate, "1GB/h", WHY);
}
END_TEST

START_TEST(flops) {
    static const char WHY[] = "expected a computing rate such as 165.2TFLOPS";
    check_double(vs_parse_flops, "165.2TFLOPS", 165.2e12);
    check_double(vs_parse_flops, "2GFLOPS", 2e9);
    check_double(vs_parse_flops, "1PFLOP/s", 1e15);
    check_refused(vs_parse_flops, "165.2", WHY);
    check_refused(vs_parse_flops, "165.2T", WHY);
    check_refused(vs_parse_flops, "nanTFLOPS", WHY);
}
END_TEST

START_TEST(seconds) {
    static const char WHY[] = "expected a time such as 0.35s, 3ms or 10us";
    check_double(vs_parse_seconds, "0.35s", 0.35);
    check_double(vs_parse_seconds, "10us", 1e-5);
    check_double(vs_parse_seconds, "3ms", 3e-3);
    check_double(vs_parse_seconds, "40ns", 40e-9);
    check_double(vs_parse_seconds, "2", 2);
    check_double(vs_parse_seconds, "4.56 ms", 4.56e-3);
    check_refused(vs_parse_seconds, "-1s", WHY);
    check_refused(vs_parse_seconds, "3m", WHY);
    check_refused(vs_parse_seconds, "", WHY);
}
END_TEST

START_TEST(numbers) {
    check_double(vs_parse_number, "-2.5e-3", -2.5e-3);
    check_double(vs_parse_number, "7", 7);
    check_double(vs_parse_number, "5.", 5);
    check_refused(vs_parse_number, "7x", "expected a number such as 0.9");
    check_refused(vs_parse_number, "7 ", "expected a number such as 0.9");
    check_refused(vs_parse_number, "1e309", "expected a number such as 0.9");
    check_refused(vs_parse_number, ".", "expected a number such as 0.9");
    check_refused(vs_parse_number, "-", "expected a number such as 0.9");
    check_refused(vs_parse_number, "--1", "expected a number such as 0.9");
    check_refused(vs_parse_number, "1.2.3", "expected a number such as 0.9");
}
END_TEST

START_TEST(counts) {
    static const struct {
        const char *text;
        int64_t count;
    } GOOD[] = {
        {"2048", 2048},
        {"8k", 8192},
        {"8K", 8192},
        {"1M", 1048576},
        {"0", 0},
        {"-1", -1},
        {"1.5k", 1536},
        {"2e3", 2000},
        {"-2k", -2048},
        {"128k", 131072},
        {"9223372036854775807", INT64_MAX},
    };
    static const struct {
        const char *text, *why;
    } BAD[] = {
        {"", "expected a whole number such as 2048 or 8k"},
        {"1.5", "expected a whole number such as 2048 or 8k"},
        {"8 k", "expected a whole number such as 2048 or 8k"},
        {"8KB", "expected a whole number such as 2048 or 8k"},
        {"1e-3", "expected a whole number such as 2048 or 8k"},
        {"1e30", "expected a whole number below 2^63"},
        {"9223372036854775808", "expected a whole number below 2^63"},
        {"18446744073709551615k", "expected a whole number below 2^63"},
    };
    for (size_t i = 0; i < COUNT_OF(GOOD); i++) {
        int64_t got = 77;
        char why[VS_WHY_SIZE] = "";
        ck_assert_msg(vs_parse_count(GOOD[i].text, &got, why), "%s: %s", GOOD[i].text, why);
        ck_assert_int_eq(got, GOOD[i].count);
    }
    for (size_t i = 0; i < COUNT_OF(BAD); i++) {
        int64_t got = 77;
        char why[VS_WHY_SIZE] = "";
        ck_assert_msg(!vs_parse_count(BAD[i].text, &got, why), "%s", BAD[i].text);
        ck_assert_str_eq(why, BAD[i].why);
        ck_assert_int_eq(got, 77);
    }
}
END_TEST

START_TEST(printed_bytes) {
    char out[VS_UNIT_TEXT];
    ck_assert_str_eq(vs_print_bytes(out, 0), "0 B");
    ck_assert_str_eq(vs_print_bytes(out, 14), "14 B");
    ck_assert_str_eq(vs_print_bytes(out, 1023), "1023 B");
    ck_assert_str_eq(vs_print_bytes(out, 512 * VS_MIB), "512 MiB");
    ck_assert_str_eq(vs_print_bytes(out, 25383256719), "23.64 GiB");
    ck_assert_str_eq(vs_print_bytes(out, 1536), "1.5 KiB");
    ck_assert_str_eq(vs_print_bytes(out, VS_GIB - 1), "1 GiB"); /* not "1024 MiB" */
    ck_assert_str_eq(vs_print_bytes(out, 1023 * VS_MIB), "1023 MiB");
    ck_assert_str_eq(vs_print_bytes(out, UINT64_MAX), "16777216 TiB");
}
END_TEST

START_TEST(printed_rates) {
    char out[VS_UNIT_TEXT];
    ck_assert_str_eq(vs_print_rate(out, 1008e9), "1008 GB/s");
    ck_assert_str_eq(vs_print_rate(out, 3350e9), "3350 GB/s");
    ck_assert_str_eq(vs_print_rate(out, 26.3e9), "26.3 GB/s");
    ck_assert_str_eq(vs_print_rate(out, 12.5e6), "12.5 MB/s");
    ck_assert_str_eq(vs_print_rate(out, 0), "0 B/s");
    ck_assert_str_eq(vs_print_rate(out, 576e12), "576 TB/s");
    ck_assert_str_eq(vs_print_rate(out, DBL_MAX), "1.798e+296 TB/s");
    ck_assert_str_eq(vs_print_rate(out, (double)INFINITY), "inf");
}
END_TEST

START_TEST(printed_times) {
    char out[VS_UNIT_TEXT];
    ck_assert_str_eq(vs_print_seconds(out, 0), "0 s");
    ck_assert_str_eq(vs_print_seconds(out, 40e-9), "40 ns");
    ck_assert_str_eq(vs_print_seconds(out, 10e-6), "10 us");
    ck_assert_str_eq(vs_print_seconds(out, 4.56e-3), "4.56 ms");
    ck_assert_str_eq(vs_print_seconds(out, 0.9996), "1 s"); /* not "1e+03 ms" */
    ck_assert_str_eq(vs_print_seconds(out, 12.3), "12.3 s");
    ck_assert_str_eq(vs_print_seconds(out, 59.99), "1 min 0 s");
    ck_assert_str_eq(vs_print_seconds(out, 90), "1 min 30 s");
    ck_assert_str_eq(vs_print_seconds(out, 3599.7), "1 h 0 min");
    ck_assert_str_eq(vs_print_seconds(out, 4320), "1 h 12 min");
    ck_assert_str_eq(vs_print_seconds(out, 100000), "1 d 4 h");
    ck_assert_str_eq(vs_print_seconds(out, 1e300), "1.16e+295 d");
    ck_assert_str_eq(vs_print_seconds(out, -0.5), "-500 ms");
    ck_assert_str_eq(vs_print_seconds(out, (double)NAN), "nan");
}
END_TEST

START_TEST(printed_speeds_and_numbers) {
    char out[VS_UNIT_TEXT];
    ck_assert_str_eq(vs_print_tokens(out, 131072), "131072");
    ck_assert_str_eq(vs_print_speed(out, 115.2), "115");
    ck_assert_str_eq(vs_print_speed(out, 0.0321), "0.0321");
    ck_assert_str_eq(vs_print_speed(out, 1.5), "1.50");
    ck_assert_str_eq(vs_print_speed(out, 9.996), "10.0");
    ck_assert_str_eq(vs_print_speed(out, 12345), "12300");
    ck_assert_str_eq(vs_print_speed(out, 0), "0");
    ck_assert_str_eq(vs_print_speed(out, 1e-9), "1e-09");
    ck_assert_str_eq(vs_print_speed(out, 1e20), "1e+20");
    ck_assert_str_eq(vs_print_g9(out, 1.0 / 3), "0.333333333");
    ck_assert_str_eq(vs_print_g9(out, 123456789), "123456789");
    ck_assert_str_eq(vs_print_g9(out, -0.0), "0");
    ck_assert_str_eq(vs_print_g9(out, -(double)NAN), "nan");
    ck_assert_str_eq(vs_print_g9(out, -(double)INFINITY), "-inf");
    ck_assert_str_eq(vs_print_g9(out, -DBL_MAX), "-1.79769313e+308");
}
END_TEST

/* A host program may have set a locale with a decimal comma; where none is installed this checks
 * nothing new. */
START_TEST(locale_has_no_say) {
    static const char *const NAMES[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR"};
    char out[VS_UNIT_TEXT];
    for (size_t i = 0; i < COUNT_OF(NAMES) && !setlocale(LC_NUMERIC, NAMES[i]); i++)
        continue;
    check_double(vs_parse_seconds, "0.35s", 0.35);
    ck_assert_str_eq(vs_print_bytes(out, 1536), "1.5 KiB");
    ck_assert_str_eq(vs_print_speed(out, 1.5), "1.50");
    ck_assert_str_eq(vs_print_g9(out, 0.25), "0.25");
    setlocale(LC_NUMERIC, "C");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("units");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, bytes);
    tcase_add_test(tests, very_long_numbers_are_refused);
    tcase_add_test(tests, rates);
    tcase_add_test(tests, flops);
    tcase_add_test(tests, seconds);
    tcase_add_test(tests, numbers);
    tcase_add_test(tests, counts);
    tcase_add_test(tests, printed_bytes);
    tcase_add_test(tests, printed_rates);
    tcase_add_test(tests, printed_times);
    tcase_add_test(tests, printed_speeds_and_numbers);
    tcase_add_test(tests, locale_has_no_say);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
