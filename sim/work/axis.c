#include "work/axis.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"

/* The table names types without their prefix. */
#define COUNT VS_TYPE_COUNT
#define BYTES VS_TYPE_BYTES
#define RATE VS_TYPE_RATE
#define REAL VS_TYPE_REAL
#define WORD VS_TYPE_WORD
#define WORDS VS_TYPE_WORDS
#define NAME VS_TYPE_NAME
#define TEXT VS_TYPE_TEXT
static const struct vs_axis_info AXES[VS_AXIS_COUNT] = {
#define X(id, name, type, low, high, words, fallback, tasks, group, label, help)                   \
    [VS_AXIS_##id] = {name, type, low, high, words, fallback, tasks, group, label, help},
#include "work/axes.def"
#undef X
};
#undef COUNT
#undef BYTES
#undef RATE
#undef REAL
#undef WORD
#undef WORDS
#undef NAME
#undef TEXT

static const struct {
    const char *name;
    enum vs_axis axis;
} ALIASES[] = {
    {"ngl", VS_AXIS_GPU_LAYERS},
};

enum {
    WORD_SIZE = 48,     /* room for one word of the table */
    FOUND_SHOWN = 80,   /* characters of a wrong value that a message repeats */
    NAME_LONGEST = 4096 /* a path */
};

/* The number behind a word's colon: whole ("every:4") or real ("exl2:4.65"). */
#define PARAMETER_HIGHEST 1e6

const struct vs_axis_info *vs_axis_info(enum vs_axis axis) { return &AXES[axis]; }

bool vs_axis_applies(enum vs_axis axis, const char *task) {
    return strchr(AXES[axis].tasks, task[0]) != NULL;
}

bool vs_axis_find(const char *name, enum vs_axis *axis) {
    for (size_t i = 0; i < sizeof ALIASES / sizeof ALIASES[0]; i++) {
        if (vs_streq(name, ALIASES[i].name)) {
            *axis = ALIASES[i].axis;
            return true;
        }
    }
    for (int i = 0; i < VS_AXIS_COUNT; i++) {
        if (vs_streq(name, AXES[i].name)) {
            *axis = (enum vs_axis)i;
            return true;
        }
    }
    return false;
}

/* Steps through the blank-separated words of the table; false at the end. */
static bool next_word(const char **at, char word[WORD_SIZE]) {
    while (**at == ' ')
        (*at)++;
    size_t length = strcspn(*at, " ");
    if (length == 0 || length >= WORD_SIZE)
        return false;
    memcpy(word, *at, length);
    word[length] = '\0';
    *at += length;
    return true;
}

/* Messages */

/* What the axis takes, in words: "a whole number from 1 to 65536, or one of all, auto". */
static void describe(const struct vs_axis_info *info, char *out, size_t out_size) {
    char low[VS_UNIT_TEXT], high[VS_UNIT_TEXT], numbers[120] = "", words[200] = "";
    switch (info->type) {
    case VS_TYPE_COUNT:
    case VS_TYPE_REAL:
        (void)snprintf(numbers, sizeof numbers, "%s from %s to %s",
                       info->type == VS_TYPE_COUNT ? "a whole number" : "a number",
                       vs_print_g9(low, info->low), vs_print_g9(high, info->high));
        break;
    case VS_TYPE_BYTES:
        (void)snprintf(numbers, sizeof numbers, "a size from %s to %s",
                       vs_print_bytes(low, (uint64_t)info->low),
                       vs_print_bytes(high, (uint64_t)info->high));
        break;
    case VS_TYPE_RATE:
        (void)snprintf(numbers, sizeof numbers, "a rate from %s to %s",
                       vs_print_rate(low, info->low), vs_print_rate(high, info->high));
        break;
    case VS_TYPE_NAME:
        (void)snprintf(numbers, sizeof numbers, "a name");
        break;
    case VS_TYPE_WORD:
    case VS_TYPE_WORDS:
    case VS_TYPE_TEXT:
        break;
    }
    char word[WORD_SIZE];
    size_t used = 0;
    for (const char *at = info->words; next_word(&at, word) && used + WORD_SIZE < sizeof words;) {
        size_t stem = strcspn(word, "=#%");
        const char *parameter = word[stem] == '#' ? "N" : word[stem] == '%' ? "X" : "";
        int n = snprintf(words + used, sizeof words - used, "%s%.*s%s", used > 0 ? ", " : "",
                         (int)stem, word, parameter);
        used += n > 0 ? (size_t)n : 0;
    }
    bool both = numbers[0] != '\0' && words[0] != '\0';
    (void)snprintf(out, out_size, "%s%s%s%s", numbers, both ? ", or " : "",
                   !both && words[0] != '\0' ? "one of " : "", words);
}

static bool refuse(const struct vs_axis_info *info, const char *text, const char *where,
                   struct vs_err *err) {
    char expected[360];
    describe(info, expected, sizeof expected);
    return vs_err_set(err, VS_ERR_INPUT, "%s: found '%.*s', expected %s%s", where, FOUND_SHOWN,
                      text, expected, info->type == VS_TYPE_WORDS ? ", joined by '+'" : "");
}

/* A text that is no number at all: `why` knows how one is written. */
static bool refuse_form(const struct vs_axis_info *info, const char *text, const char *where,
                        const char *why, struct vs_err *err) {
    char word[WORD_SIZE];
    const char *at = info->words;
    if (next_word(&at, word))
        return refuse(info, text, where, err);
    return vs_err_set(err, VS_ERR_INPUT, "%s: found '%.*s', %s", where, FOUND_SHOWN, text, why);
}

/* Words */

/* Does `text` match this word of the table? "every:#" matches "every:4", "qv=q+v" matches "qv". */
static bool match_word(const char *text, const char *word, struct vs_value *value) {
    size_t stem = strcspn(word, ":=");
    if (strncmp(text, word, stem) != 0)
        return false;
    if (word[stem] != ':')
        return text[stem] == '\0';
    char why[VS_WHY_SIZE];
    int64_t count = 0;
    double number = 0;
    if (text[stem] != ':')
        return false;
    if (word[stem + 1] == '#') {
        if (!vs_parse_count(text + stem + 1, &count, why))
            return false;
        number = (double)count;
    } else if (!vs_parse_number(text + stem + 1, &number, why)) {
        return false;
    }
    if (!(number > 0) || number > PARAMETER_HIGHEST)
        return false;
    value->count = count;
    value->number = number;
    return true;
}

/* Finds the word of the table that `text` is; `found` receives it as the table spells it. */
static bool find_word(const char *words, const char *text, char found[WORD_SIZE],
                      struct vs_value *value) {
    for (const char *at = words; next_word(&at, found);) {
        if (match_word(text, found, value))
            return true;
    }
    return false;
}

/* Fills text and word for a word of the table; with a number behind its colon where it takes one.
 */
static bool take_word(struct vs_arena *arena, const char *found, struct vs_value *value,
                      struct vs_err *err) {
    size_t stem = strcspn(found, ":=");
    const char *word = vs_arena_strndup(arena, found, stem);
    const char *text = word;
    char number[VS_UNIT_TEXT];
    if (word && found[stem] == ':')
        text = vs_arena_printf(arena, "%s:%s", word, vs_print_g9(number, value->number));
    if (!word || !text)
        return vs_err_nomem(err);
    value->word = word;
    value->text = text;
    return true;
}

/* Counts how often `word` stands in a text of words joined by '+'. */
static unsigned joined_count(const char *joined, const char *word) {
    size_t length = strlen(word);
    unsigned count = 0;
    for (const char *at = joined;;) {
        size_t piece = strcspn(at, "+");
        count += piece == length && memcmp(at, word, length) == 0;
        if (at[piece] == '\0')
            return count;
        at += piece + 1;
    }
}

/* Writes abbreviations in full: "qv+o" becomes "q+v+o". False where a piece is no word. */
static bool expand_words(const struct vs_axis_info *info, char **pieces, size_t count,
                         struct vs_text *out) {
    for (size_t i = 0; i < count; i++) {
        char found[WORD_SIZE];
        struct vs_value ignored = {0};
        if (!find_word(info->words, pieces[i], found, &ignored))
            return false;
        const char *full = strchr(found, '=');
        vs_text_printf(out, "%s%s", i > 0 ? "+" : "", full ? full + 1 : found);
    }
    return true;
}

/* "v+q" and "qv" both become "q+v": each word once, in the order of the table. */
static bool parse_words(struct vs_arena *arena, const struct vs_axis_info *info, const char *text,
                        const char *where, struct vs_value *value, struct vs_err *err) {
    bool done = false;
    struct vs_text full = {0}, ordered = {0};
    size_t count = 0;
    char word[WORD_SIZE];
    char **pieces = vs_split(arena, text, '+', &count);
    if (!pieces) {
        (void)vs_err_nomem(err);
        goto out;
    }
    if (!expand_words(info, pieces, count, &full)) {
        (void)refuse(info, text, where, err);
        goto out;
    }
    for (const char *at = info->words; next_word(&at, word);) {
        unsigned times = strchr(word, '=') ? 0 : joined_count(vs_text_str(&full), word);
        if (times > 1) {
            (void)vs_err_set(err, VS_ERR_INPUT, "%s: '%s' stands twice in '%.*s', expected it once",
                             where, word, FOUND_SHOWN, text);
            goto out;
        }
        if (times > 0)
            vs_text_printf(&ordered, "%s%s", ordered.length > 0 ? "+" : "", word);
    }
    value->text = vs_arena_strdup(arena, vs_text_str(&ordered));
    done = !full.failed && !ordered.failed && value->text;
    if (!done)
        (void)vs_err_nomem(err);
out:
    vs_text_release(&full);
    vs_text_release(&ordered);
    return done;
}

/* Numbers */

/* The shortest exact spelling: 24GiB, 500MB, 1025B. */
static const char *bytes_text(struct vs_arena *arena, uint64_t bytes) {
    static const struct {
        uint64_t factor;
        const char *name;
    } UNITS[] = {
        {VS_KIB * VS_GIB, "TiB"}, {1000000000000, "TB"}, {VS_GIB, "GiB"}, {1000000000, "GB"},
        {VS_MIB, "MiB"},          {1000000, "MB"},       {VS_KIB, "KiB"}, {1000, "KB"},
    };
    uint64_t count = bytes;
    const char *name = "B";
    for (size_t i = 0; i < sizeof UNITS / sizeof UNITS[0]; i++) {
        if (bytes % UNITS[i].factor == 0 && bytes / UNITS[i].factor < count) {
            count = bytes / UNITS[i].factor;
            name = UNITS[i].name;
        }
    }
    return vs_arena_printf(arena, "%" PRIu64 "%s", count, name);
}

static const char *rate_text(struct vs_arena *arena, double bytes_per_s) {
    static const char *const NAMES[] = {"B/s", "KB/s", "MB/s", "GB/s"};
    char number[VS_UNIT_TEXT];
    size_t i = 0;
    for (; i < 3 && bytes_per_s >= 1000; i++)
        bytes_per_s /= 1000;
    return vs_arena_printf(arena, "%s%s", vs_print_g9(number, bytes_per_s), NAMES[i]);
}

static bool in_bounds(const struct vs_axis_info *info, double number) {
    return number >= info->low && number <= info->high;
}

/* Reads the number alone: value->number and ->count, without its text. */
static bool read_number(enum vs_axis_type type, const char *text, struct vs_value *value,
                        char why[VS_WHY_SIZE]) {
    uint64_t bytes = 0;
    switch (type) {
    case VS_TYPE_COUNT:
        if (!vs_parse_count(text, &value->count, why))
            return false;
        value->number = (double)value->count;
        return true;
    case VS_TYPE_BYTES:
        if (!vs_parse_bytes(text, &bytes, why))
            return false;
        value->count = bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes;
        value->number = (double)bytes;
        return true;
    case VS_TYPE_RATE:
        return vs_parse_rate(text, &value->number, why);
    default:
        return vs_parse_number(text, &value->number, why);
    }
}

static bool parse_number(struct vs_arena *arena, const struct vs_axis_info *info, const char *text,
                         const char *where, struct vs_value *value, struct vs_err *err) {
    char why[VS_WHY_SIZE], number[VS_UNIT_TEXT];
    struct vs_value parsed = {0};
    if (!read_number(info->type, text, &parsed, why))
        return info->type == VS_TYPE_COUNT || info->type == VS_TYPE_REAL
                   ? refuse(info, text, where, err)
                   : refuse_form(info, text, where, why, err);
    if (!in_bounds(info, parsed.number))
        return refuse(info, text, where, err);
    if (info->type == VS_TYPE_COUNT)
        parsed.text = vs_arena_printf(arena, "%" PRId64, parsed.count);
    else if (info->type == VS_TYPE_BYTES)
        parsed.text = bytes_text(arena, (uint64_t)parsed.count);
    else if (info->type == VS_TYPE_RATE)
        parsed.text = rate_text(arena, parsed.number);
    else
        parsed.text = vs_arena_strdup(arena, vs_print_g9(number, parsed.number));
    if (!parsed.text)
        return vs_err_nomem(err);
    *value = parsed;
    return true;
}

/* Names and free texts: anything that can be printed on one line. */
static bool parse_text(struct vs_arena *arena, const struct vs_axis_info *info, const char *text,
                       const char *where, struct vs_value *value, struct vs_err *err) {
    size_t length = strlen(text);
    if (length == 0)
        return vs_err_set(err, VS_ERR_INPUT, "%s: found nothing, expected %s", where,
                          info->type == VS_TYPE_NAME ? "a name" : "a value");
    if (length > NAME_LONGEST)
        return vs_err_set(err, VS_ERR_INPUT, "%s: found %zu characters, expected at most %d", where,
                          length, NAME_LONGEST);
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
            return vs_err_set(err, VS_ERR_INPUT, "%s: found a control character, expected a name",
                              where);
    }
    value->text = vs_arena_strndup(arena, text, length);
    return value->text ? true : vs_err_nomem(err);
}

bool vs_axis_parse(struct vs_arena *arena, enum vs_axis axis, const char *text, const char *where,
                   struct vs_value *value, struct vs_err *err) {
    const struct vs_axis_info *info = &AXES[axis];
    struct vs_value parsed = {0};
    char found[WORD_SIZE];
    bool good = false;
    switch (info->type) {
    case VS_TYPE_NAME:
    case VS_TYPE_TEXT:
        good = parse_text(arena, info, text, where, &parsed, err);
        break;
    case VS_TYPE_WORDS:
        good = parse_words(arena, info, text, where, &parsed, err);
        break;
    default:
        if (find_word(info->words, text, found, &parsed))
            good = take_word(arena, found, &parsed, err);
        else if (info->type == VS_TYPE_WORD)
            good = refuse(info, text, where, err);
        else
            good = parse_number(arena, info, text, where, &parsed, err);
    }
    if (good)
        *value = parsed;
    return good;
}

/* Labels */

/* The WORDS of "VALUE=WORDS" in a label spec; NULL where the value is not listed. */
static const char *spec_find(const char *spec, const char *value, size_t *length) {
    size_t value_length = strlen(value);
    for (const char *at = spec; *at != '\0';) {
        size_t entry = strcspn(at, "|");
        if (entry > value_length && at[value_length] == '=' &&
            memcmp(at, value, value_length) == 0) {
            *length = entry - value_length - 1;
            return at + value_length + 1;
        }
        at += entry + (at[entry] == '|');
    }
    return NULL;
}

const char *vs_axis_label(struct vs_arena *arena, enum vs_axis axis, const struct vs_value *value) {
    const struct vs_axis_info *info = &AXES[axis];
    size_t length = 0;
    char number[VS_UNIT_TEXT];
    if (!value->text)
        return "";
    if (info->label[0] == '@')
        return value->text;
    const char *words = spec_find(info->label, value->text, &length);
    if (!words)
        words = spec_find(info->label, value->word ? value->word : "#", &length);
    if (!words)
        return vs_arena_printf(arena, "%s %s", info->name, value->text);
    const char *hash = memchr(words, '#', length);
    if (!hash)
        return vs_arena_strndup(arena, words, length);
    size_t before = (size_t)(hash - words);
    return vs_arena_printf(arena, "%.*s%s%.*s", (int)before, words,
                           vs_print_g9(number, value->number), (int)(length - before - 1),
                           hash + 1);
}

/* Shorthands */

bool vs_is(const struct vs_values *v, enum vs_axis axis, const char *word) {
    const struct vs_value *value = &v->at[axis];
    return value->text && (vs_streq(value->text, word) || vs_streq(value->word, word));
}

bool vs_given(const struct vs_values *v, enum vs_axis axis) { return v->at[axis].text != NULL; }

int64_t vs_count(const struct vs_values *v, enum vs_axis axis) {
    return v->at[axis].text ? v->at[axis].count : 0;
}

double vs_real(const struct vs_values *v, enum vs_axis axis) {
    return v->at[axis].text ? v->at[axis].number : 0;
}

bool vs_has_word(const struct vs_values *v, enum vs_axis axis, const char *word) {
    return v->at[axis].text && joined_count(v->at[axis].text, word) > 0;
}
