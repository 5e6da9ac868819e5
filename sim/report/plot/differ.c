#include "report/plot/differ.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "report/common.h"

const char *vs_differ_word(const struct vs_outcome *point, enum vs_axis axis) {
    const char *word = axis == VS_AXIS_HW       ? point->hw
                       : axis == VS_AXIS_MODEL  ? point->model
                       : axis == VS_AXIS_ENGINE ? point->engine
                                                : vs_report_word(point, vs_axis_info(axis)->name);
    return word ? word : "";
}

static bool number_of(const char *word, double *number) {
    char why[VS_WHY_SIZE];
    return vs_parse_number(word, number, why);
}

static int by_number(const void *a, const void *b) {
    double x = 0, y = 0;
    (void)number_of(*(const char *const *)a, &x);
    (void)number_of(*(const char *const *)b, &y);
    return x < y ? -1 : x > y;
}

bool vs_differ_words(struct vs_arena *arena, const struct vs_outcome *const *points, size_t count,
                     enum vs_axis axis, struct vs_differ_words *words) {
    double number;
    *words = (struct vs_differ_words){VS_NEW_ARRAY(arena, const char *, count + 1), 0, true};
    if (!words->at)
        return false;
    for (size_t i = 0; i < count; i++) {
        const char *word = vs_differ_word(points[i], axis);
        size_t k = 0;
        while (k < words->count && !vs_streq(words->at[k], word))
            k++;
        if (k < words->count)
            continue;
        words->at[words->count++] = word;
        words->numbers = words->numbers && number_of(word, &number);
    }
    if (words->numbers)
        qsort(words->at, words->count, sizeof *words->at, by_number);
    return true;
}

size_t vs_differ_axes(struct vs_arena *arena, const struct vs_outcome *const *points, size_t count,
                      enum vs_axis axes[VS_AXIS_COUNT]) {
    size_t n = 0;
    for (int i = 0; i < VS_AXIS_COUNT; i++) {
        struct vs_differ_words words;
        if (vs_differ_words(arena, points, count, (enum vs_axis)i, &words) && words.count > 1)
            axes[n++] = (enum vs_axis)i;
    }
    return n;
}

/* "" for the word that an axis has by itself. */
static const char *word_label(struct vs_arena *arena, enum vs_axis axis, const char *word) {
    const struct vs_axis_info *info = vs_axis_info(axis);
    struct vs_value value;
    struct vs_err ignored;
    if (word[0] == '\0' || info->label[0] == '@')
        return word;
    if (!vs_axis_parse(arena, axis, word, info->name, &value, &ignored))
        return word;
    return vs_axis_label(arena, axis, &value);
}

const char *vs_differ_label(struct vs_arena *arena, const struct vs_outcome *point,
                            const enum vs_axis *axes, size_t count) {
    struct vs_text text = {0};
    for (size_t i = 0; i < count; i++) {
        const char *words = word_label(arena, axes[i], vs_differ_word(point, axes[i]));
        if (words && words[0] != '\0')
            vs_text_printf(&text, "%s%s", text.length > 0 ? ", " : "", words);
    }
    const char *label = text.failed ? NULL : vs_arena_strdup(arena, vs_text_str(&text));
    vs_text_release(&text);
    return label;
}
