/* Releases as numbers: "0.17.1", "b2824", "v1.0.0rc3", "1.2.0.post1", "1.2.0rc2.post2". */
#include "engine/version.h"

#include <string.h>

#include "base/text.h"

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Digits to a number that stops growing before it overflows. */
static const char *read_number(const char *text, uint64_t *number) {
    *number = 0;
    for (; is_digit(*text); text++)
        if (*number < UINT64_MAX / 100)
            *number = *number * 10 + (uint64_t)(*text - '0');
    return text;
}

/* Pre-releases in the order in which they appear, then what follows the release. */
static const struct suffix {
    const char *word;
    int rank;
} suffixes[] = {{"dev", -4}, {"a", -3}, {"b", -2}, {"rc", -1}, {"post", 1}};

static const char *read_suffix(const char *text, struct vs_version *version) {
    if (*text == '.' || *text == '-')
        text++;
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        const size_t length = strlen(suffixes[i].word);
        if (!vs_starts(text, suffixes[i].word))
            continue;
        version->rank = suffixes[i].rank;
        return read_number(text + length, &version->rank_number);
    }
    return text;
}

static const char *read_post(const char *text, struct vs_version *version) {
    static const char POST[] = ".post";
    if (!vs_starts(text, POST) || version->rank >= 0)
        return text;
    text = read_number(text + sizeof POST - 1, &version->post);
    version->post++;
    return text;
}

bool vs_version_parse(const char *text, struct vs_version *version) {
    *version = (struct vs_version){0};
    if (*text == 'b' || *text == 'v')
        text++;
    if (!is_digit(*text))
        return false;
    for (;;) {
        uint64_t part;
        text = read_number(text, &part);
        if (version->part_count == VS_VERSION_PARTS)
            return false;
        version->parts[version->part_count++] = part;
        if (text[0] != '.' || !is_digit(text[1]))
            break;
        text++;
    }
    if (*text && *text != '+')
        text = read_post(read_suffix(text, version), version);
    return *text == '\0' || *text == '+'; /* "+cu121": a build, not a release */
}

static int compare_u64(uint64_t a, uint64_t b) { return a < b ? -1 : a > b; }

static int compare(const struct vs_version *a, const struct vs_version *b) {
    for (size_t i = 0; i < VS_VERSION_PARTS; i++)
        if (a->parts[i] != b->parts[i])
            return compare_u64(a->parts[i], b->parts[i]);
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->rank_number != b->rank_number)
        return compare_u64(a->rank_number, b->rank_number);
    return compare_u64(a->post, b->post);
}

int vs_version_compare(const char *a, const char *b) {
    struct vs_version left, right;
    vs_version_parse(a, &left);
    vs_version_parse(b, &right);
    return compare(&left, &right);
}

bool vs_version_reaches(const char *asked, const char *from) {
    struct vs_version want, rule;

    vs_version_parse(asked, &want);
    vs_version_parse(from, &rule);
    if (compare(&rule, &want) <= 0)
        return true;
    if (want.rank != 0 || want.part_count >= rule.part_count)
        return false;
    for (size_t i = 0; i < want.part_count; i++)
        if (want.parts[i] != rule.parts[i])
            return false;
    return true;
}
