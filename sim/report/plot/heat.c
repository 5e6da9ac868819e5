/* Two axes against each other: the best of the points at each pair of words. */
#include <math.h>
#include <stdlib.h>

#include "report/plot/book.h"
#include "report/plot/differ.h"

enum { WORDS_MOST = 24 };

struct map {
    const struct vs_outcome *const *points;
    size_t count;
    enum vs_axis axes[2];
    struct vs_differ_words words[2];
    double slowest, fastest;
};

struct candidate {
    enum vs_axis axis;
    bool listed;
    double effect;
    struct vs_differ_words words;
};

/* The best speed at one word of an axis; 0 where nothing fits. */
static double best_of(const struct map *map, enum vs_axis axis, const char *word) {
    double best = 0;
    for (size_t i = 0; i < map->count; i++) {
        const struct vs_outcome *p = map->points[i];
        if (p->fits && vs_streq(vs_differ_word(p, axis), word))
            best = fmax(best, p->metrics[vs_result_speed(p)]);
    }
    return best;
}

/* What the choice of a word can cost: 1 = everything, as some do not fit. */
static double effect_of(const struct map *map, const struct candidate *c) {
    double least = (double)INFINITY, most = 0;
    for (size_t w = 0; w < c->words.count; w++) {
        const double best = best_of(map, c->axis, c->words.at[w]);
        least = fmin(least, best);
        most = fmax(most, best);
    }
    return most > 0 ? 1 - least / most : 0;
}

/* Axes that were asked for come first, then those that matter more, then those with more words; of
 * equals the first in the table. */
static int by_interest(const void *a, const void *b) {
    const struct candidate *x = a, *y = b;
    if (x->listed != y->listed)
        return x->listed ? -1 : 1;
    if (x->effect != y->effect)
        return x->effect > y->effect ? -1 : 1;
    if (x->words.count != y->words.count)
        return x->words.count > y->words.count ? -1 : 1;
    return x->axis < y->axis ? -1 : 1;
}

/* Whether the sweep went along the axis; a result that does not say so went along all that differ.
 */
static bool went_along(const struct vs_sweep *sweep, enum vs_axis axis, bool *listed) {
    *listed = false;
    for (size_t i = 0; i < sweep->axis_count; i++) {
        if (!vs_streq(sweep->axes[i].name, vs_axis_info(axis)->name))
            continue;
        *listed = sweep->axes[i].listed;
        return true;
    }
    return sweep->axis_count == 0;
}

static bool choose(struct vs_book *book, struct map *map) {
    enum vs_axis axes[VS_AXIS_COUNT];
    struct candidate candidates[VS_AXIS_COUNT];
    const size_t n = vs_differ_axes(&book->arena, map->points, map->count, axes);
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        struct candidate *c = &candidates[count];
        c->axis = axes[i];
        if (axes[i] != VS_AXIS_ENGINE && went_along(book->result->sweep, axes[i], &c->listed) &&
            vs_differ_words(&book->arena, map->points, map->count, axes[i], &c->words)) {
            c->effect = effect_of(map, c);
            count += c->words.count <= WORDS_MOST;
        }
    }
    if (count < 2)
        return false;
    qsort(candidates, count, sizeof *candidates, by_interest);
    for (size_t i = 0; i < 2; i++) {
        map->axes[i] = candidates[i].axis;
        map->words[i] = candidates[i].words;
    }
    return true;
}

/* The fastest point there, or one that does not fit, or NULL. */
static const struct vs_outcome *best_at(const struct map *map, size_t x, size_t y) {
    const struct vs_outcome *best = NULL;
    for (size_t i = 0; i < map->count; i++) {
        const struct vs_outcome *p = map->points[i];
        if (!vs_streq(vs_differ_word(p, map->axes[0]), map->words[0].at[x]) ||
            !vs_streq(vs_differ_word(p, map->axes[1]), map->words[1].at[y]))
            continue;
        const enum vs_metric speed = vs_result_speed(p);
        if (!best || (p->fits && (!best->fits || p->metrics[speed] > best->metrics[speed])))
            best = p;
    }
    return best;
}

/* Kinds: 0 no such point, 1 fits, 2 runs out. */
static void put_cell(struct vs_book *book, struct map *map, size_t x, size_t y) {
    const struct vs_outcome *p = best_at(map, x, y);
    const double speed = p && p->fits ? p->metrics[vs_result_speed(p)] : (double)NAN;
    map->slowest = fmin(map->slowest, speed); /* NaN is passed over */
    map->fastest = fmax(map->fastest, speed);
    vs_book_number(book, (double)x + 1);
    vs_book_number(book, (double)y + 1);
    vs_book_number(book, !p ? 0 : p->fits ? 1 : 2);
    vs_book_number(book, speed);
}

static void write(struct vs_book *book) {
    struct map map;
    if (!book->result->sweep)
        return;
    map.points = vs_result_points(book->result, &map.count);
    if (!choose(book, &map))
        return;
    map.slowest = (double)INFINITY;
    map.fastest = 0;
    vs_book_begin(book, "heat", "x\ty\tkind\tspeed");
    for (size_t y = 0; y < map.words[1].count; y++)
        for (size_t x = 0; x < map.words[0].count; x++)
            put_cell(book, &map, x, y);
    vs_book_value(book, "heat_slowest", map.fastest > 0 ? map.slowest : 0);
    vs_book_value(book, "heat_fastest", map.fastest);
    vs_book_value(book, "heat_columns", (double)map.words[0].count);
    vs_book_value(book, "heat_rows", (double)map.words[1].count);
    vs_book_words(book, "heat_x", vs_axis_info(map.axes[0])->name);
    vs_book_words(book, "heat_y", vs_axis_info(map.axes[1])->name);
    vs_book_list(book, "heat_x_words", map.words[0].at, map.words[0].count);
    vs_book_list(book, "heat_y_words", map.words[1].at, map.words[1].count);
}

const struct vs_plot_table vs_plot_table_heat = {write};
