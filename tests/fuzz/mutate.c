#include "fuzz/fuzz.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    SLOW_S = 20
}; /* of processor time, with sanitizers on a machine that is busy with other things */

static uint64_t state;
static unsigned long round_number, accepted;

/* SplitMix64 (Steele, Lea, Flood 2014). */
uint64_t fuzz_draw(void) {
    uint64_t z = (state += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

size_t fuzz_below(size_t n) { return (size_t)(fuzz_draw() % n); }

static const char *const NUMBERS[] = {
    "0",
    "-1",
    "1",
    "2",
    "3",
    "7",
    "64",
    "4096",
    "65536",
    "1e3",
    "0.5",
    "-0.0",
    "1e-320",
    "1e308",
    "1e309",
    "-1e308",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "0x10",
    "1e",
    "00",
    "+1",
    "NaN",
    "Infinity",
    "0.30000000000000000000000000000000000000000000000000000000000000000001",
};
static const char *const VALUES[] = {
    "null",     "true",  "false",   "\"\"",       "\"x\"",       "[]",          "{}",
    "[[[[]]]]", "[1,2]", "[\"a\"]", "{\"a\":1}",  "\"\\u0000\"", "\"\\ud800\"", "\"\\u00e9\"",
    "\"\\n\"",  "-",     "\"@\"",   "\"source\"", "1 2",
};
static const char *const PIECES[] = {
    "\"",           "\\",   ",",  ":", "{", "}",    "[",    "]",        "\n",
    "\r",           "\r\n", "\t", " ", "=", "+",    ";",    "/",        "..",
    "--",           "%s%n", "'",  "#", "*", "\xff", "\xc3", "\xc3\xa9", "\xed\xa0\x80",
    "\xef\xbb\xbf", "\x01",
};
#define ANY(list) (list)[fuzz_below(sizeof(list) / sizeof *(list))]

/* Puts `with` in the place of `length` bytes. */
static void replace(struct vs_text *text, size_t at, size_t length, const char *with) {
    struct vs_text changed = {0};
    const char *old = vs_text_str(text);
    vs_text_addn(&changed, old, at);
    vs_text_add(&changed, with);
    vs_text_addn(&changed, old + at + length, text->length - at - length);
    vs_text_release(text);
    *text = changed;
}

static bool is_word(char c) { return isalnum((unsigned char)c) || strchr("._-+", c) != NULL; }

/* A random token: a number, or a string with its quotes. False where there is none. */
static bool find_token(const struct vs_text *text, bool number, size_t *at, size_t *length) {
    const char *s = vs_text_str(text);
    size_t found = 0;
    for (size_t i = 0; i < text->length;) {
        size_t end = i + 1;
        const bool quoted = s[i] == '"';
        if (quoted) {
            while (end < text->length && s[end] != '"')
                end += s[end] == '\\' && end + 1 < text->length ? 2 : 1;
            end += end < text->length;
        } else {
            while (is_word(s[i]) && end < text->length && is_word(s[end]))
                end++;
        }
        const bool wanted = number ? isdigit((unsigned char)s[i]) || s[i] == '-' : quoted;
        if (wanted && fuzz_below(++found) == 0) {
            *at = i;
            *length = end - i;
        }
        i = end;
    }
    return found > 0;
}

static void change_bytes(struct vs_text *text) {
    char byte[2] = {(char)(1 + fuzz_below(255)), '\0'};
    const size_t at = fuzz_below(text->length);
    if (fuzz_below(4) == 0)
        replace(text, at, text->length - at, "");
    else if (fuzz_below(2))
        replace(text, at, 1, byte);
    else
        replace(text, at, 0, ANY(PIECES));
}

/* Takes a range out, and sometimes puts it in elsewhere, once or often. */
static void change_range(struct vs_text *text) {
    const size_t most = fuzz_below(8) ? 24 : text->length;
    const size_t at = fuzz_below(text->length);
    size_t length = 1 + fuzz_below(most);
    length = length < text->length - at ? length : text->length - at;
    char *range = malloc(length + 1);
    if (!range)
        exit(2);
    memcpy(range, text->at + at, length);
    range[length] = '\0';
    const size_t times = fuzz_below(4) ? fuzz_below(3) : fuzz_below(1 + 16384 / length);
    if (fuzz_below(2))
        replace(text, at, length, "");
    const size_t to = text->length > 0 ? fuzz_below(text->length) : 0;
    for (size_t i = 0; i < times; i++)
        replace(text, to, 0, range);
    free(range);
}

static void change_token(struct vs_text *text, const char *const *words, size_t word_count) {
    size_t at, length, from, from_length;
    const bool number = fuzz_below(2);
    if (!find_token(text, number, &at, &length))
        return;
    if (number && fuzz_below(4)) {
        replace(text, at, length, ANY(NUMBERS));
    } else if (word_count > 0 && fuzz_below(2)) {
        replace(text, at, length, words[fuzz_below(word_count)]);
    } else if (fuzz_below(2)) {
        replace(text, at, length, ANY(VALUES));
    } else if (find_token(text, fuzz_below(2), &from, &from_length)) {
        char token[256];
        (void)snprintf(token, sizeof token, "%.*s", (int)(from_length < 200 ? from_length : 200),
                       text->at + from);
        replace(text, at, length, token);
    }
}

void fuzz_mutate(struct vs_text *text, const char *const *words, size_t word_count) {
    const size_t most = fuzz_below(2) ? 1 : 4;
    for (size_t left = 1 + fuzz_below(most); left > 0 && text->length > 0; left--) {
        switch (fuzz_below(8)) {
        case 0:
            change_bytes(text);
            break;
        case 1:
            change_range(text);
            break;
        default:
            change_token(text, words, word_count);
            break;
        }
    }
    if (text->failed)
        exit(2);
}

static void fail(const char *what, const char *why) {
    printf("fuzz: round %lu: %s: %s\n", round_number, what, why);
    exit(1);
}

void fuzz_check(bool done, const struct vs_err *err, const char *what) {
    accepted += done;
    if (done)
        return;
    if (err->status != VS_ERR_INPUT)
        fail(what, err->status == VS_OK ? "failed without an error" : err->text);
    if (err->text[0] == '\0')
        fail(what, "an error without a text");
    for (const char *c = err->text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            fail(what, "control characters in an error");
}

static double processor_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double wall_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double run_round(unsigned long number, void (*one_round)(void)) {
    const double began_s = processor_s();
    round_number = number;
    state = number * 0x632be59bd9b4e019U;
    one_round();
    const double spent_s = processor_s() - began_s;
    if (spent_s > SLOW_S)
        fail("time", "a round takes too long");
    return spent_s;
}

int fuzz_main(int count, char **words, void (*one_round)(void)) {
    const double seconds = count > 1 ? strtod(words[1], NULL) : FUZZ_SECONDS;
    const double end_s = wall_s() + seconds;
    double slowest_s = 0;
    unsigned long slowest = 0, done = 0;
    if (count > 2) {
        run_round(strtoul(words[2], NULL, 10), one_round);
        return 0;
    }
    for (; done == 0 || wall_s() < end_s; done++) {
        const double spent_s = run_round(done, one_round);
        slowest = spent_s > slowest_s ? done : slowest;
        slowest_s = spent_s > slowest_s ? spent_s : slowest_s;
    }
    printf("fuzz: %lu rounds, %lu of them accepted; the slowest, %lu, took %.3f s\n", done,
           accepted, slowest, slowest_s);
    return 0;
}
