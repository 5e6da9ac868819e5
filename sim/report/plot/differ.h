/* In what points differ: the axes whose words are not the same in all of them. */
#ifndef VS_REPORT_PLOT_DIFFER_H
#define VS_REPORT_PLOT_DIFFER_H

#include "base/arena.h"
#include "run/outcome.h"
#include "work/axis.h"

/* The word of a point on an axis: hardware, model and engine have theirs too; "" = none. */
const char *vs_differ_word(const struct vs_outcome *point, enum vs_axis axis);

/* Distinct words of an axis in the order met, or from small to large where all are numbers. */
struct vs_differ_words {
    const char **at;
    size_t count;
    bool numbers;
};
bool vs_differ_words(struct vs_arena *arena, const struct vs_outcome *const *points, size_t count,
                     enum vs_axis axis, struct vs_differ_words *words);

/* Axes with more than one word, in the order of the table; `axes` has room for VS_AXIS_COUNT. */
size_t vs_differ_axes(struct vs_arena *arena, const struct vs_outcome *const *points, size_t count,
                      enum vs_axis axes[VS_AXIS_COUNT]);

/* A point in the words of some axes, as labels say them: "q8_0 KV, layers streamed from RAM"; ""
 * where they say nothing. NULL when memory runs out. */
const char *vs_differ_label(struct vs_arena *arena, const struct vs_outcome *point,
                            const enum vs_axis *axes, size_t count);

#endif
