#include "report/plot/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

static const enum vs_axis NUMBERS[] = {VS_AXIS_CTX,  VS_AXIS_DEPTH,       VS_AXIS_PROMPT,
                                       VS_AXIS_SEQ,  VS_AXIS_BATCH,       VS_AXIS_MICRO_BATCH,
                                       VS_AXIS_RATE, VS_AXIS_CONCURRENCY, VS_AXIS_GEN,
                                       VS_AXIS_GPUS, VS_AXIS_GPU_LAYERS};
enum { NUMBER_COUNT = sizeof NUMBERS / sizeof NUMBERS[0] };

/* A context is made of the others: a search for one of them changes all. */
static bool is_length(enum vs_axis axis) {
    return axis == VS_AXIS_CTX || axis == VS_AXIS_PROMPT || axis == VS_AXIS_GEN ||
           axis == VS_AXIS_DEPTH;
}

static bool same_kind(enum vs_axis a, enum vs_axis b) {
    return a == b || (is_length(a) && is_length(b));
}

static bool choose_axis(struct vs_book *book, const struct vs_outcome *const *points, size_t count,
                        enum vs_axis searched, struct vs_series *series) {
    for (size_t i = 0; i < NUMBER_COUNT; i++) {
        struct vs_differ_words words;
        if (same_kind(NUMBERS[i], searched) ||
            !vs_differ_words(&book->arena, points, count, NUMBERS[i], &words) || words.count < 2 ||
            !words.numbers)
            continue;
        series->axis = NUMBERS[i];
        return true;
    }
    return false;
}

/* Axes that name lines: all that differ but the one along the plot, the one searched, and what
 * engines take by themselves. */
static size_t name_axes(struct vs_book *book, const struct vs_outcome *const *points, size_t count,
                        enum vs_axis along, enum vs_axis searched,
                        enum vs_axis axes[VS_AXIS_COUNT]) {
    const size_t all = vs_differ_axes(&book->arena, points, count, axes);
    size_t n = 0;
    for (size_t i = 0; i < all; i++) {
        if (!same_kind(axes[i], along) && !same_kind(axes[i], searched) &&
            !vs_streq(vs_axis_info(axes[i])->group, "engine"))
            axes[n++] = axes[i];
    }
    return n;
}

/* The line of a name; VS_SERIES_MOST = there are too many. */
static size_t line_of(struct vs_series *series, const char *name) {
    size_t line = 0;
    while (line < series->count && !vs_streq(series->names[line], name))
        line++;
    if (line == series->count && series->count < VS_SERIES_MOST)
        series->names[series->count++] = name;
    return line;
}

static int by_place(const void *a, const void *b) {
    const struct vs_series_node *p = a, *q = b;
    if (p->line != q->line)
        return p->line < q->line ? -1 : 1;
    return p->x < q->x ? -1 : p->x > q->x;
}

/* Of points at one place the best counts. */
static void keep_best(struct vs_series *series) {
    size_t n = 0;
    for (size_t i = 0; i < series->nodes.count; i++) {
        const struct vs_series_node *node = &series->nodes.at[i];
        struct vs_series_node *last = n > 0 ? &series->nodes.at[n - 1] : NULL;
        if (!last || last->line != node->line || last->x != node->x)
            series->nodes.at[n++] = *node;
        else if (isnan(last->y) || node->y > last->y)
            *last = *node;
    }
    series->nodes.count = n;
}

bool vs_series_make(struct vs_book *book, const struct vs_series_point *points, size_t count,
                    enum vs_axis searched, struct vs_series *series) {
    enum vs_axis axes[VS_AXIS_COUNT];
    char why[VS_WHY_SIZE];
    *series = (struct vs_series){.count = 0};
    const struct vs_outcome **list =
        VS_NEW_ARRAY(&book->arena, const struct vs_outcome *, count + 1);
    if (!list)
        return false;
    for (size_t i = 0; i < count; i++)
        list[i] = points[i].point;
    if (!choose_axis(book, list, count, searched, series))
        return true;
    const size_t axis_count = name_axes(book, list, count, series->axis, searched, axes);
    for (size_t i = 0; i < count; i++) {
        const char *name = vs_differ_label(&book->arena, list[i], axes, axis_count);
        struct vs_series_node node = {.y = points[i].y};
        if (!name)
            return false;
        node.line = line_of(series, name[0] != '\0' ? name : "plain");
        series->left_out += node.line == VS_SERIES_MOST;
        (void)vs_parse_number(vs_differ_word(list[i], series->axis), &node.x, why);
        if (node.line < VS_SERIES_MOST && !vs_vec_push(&series->nodes, node))
            return false;
    }
    if (series->nodes.count > 0)
        qsort(series->nodes.at, series->nodes.count, sizeof *series->nodes.at, by_place);
    keep_best(series);
    return true;
}

void vs_series_release(struct vs_series *series) { vs_vec_release(&series->nodes); }

/* Where the axis has marks: each number once. */
static void write_numbers(struct vs_book *book, const char *name, const struct vs_series *series) {
    const char **numbers = VS_NEW_ARRAY(&book->arena, const char *, series->nodes.count + 1);
    const char *list = vs_arena_printf(&book->arena, "%s_numbers", name);
    const char *size = vs_arena_printf(&book->arena, "%s_number_count", name);
    size_t count = 0;
    bool ok = numbers && list && size;
    for (size_t i = 0; ok && i < series->nodes.count; i++) {
        char text[VS_UNIT_TEXT];
        size_t k = 0;
        (void)vs_print_g9(text, series->nodes.at[i].x);
        while (k < count && !vs_streq(numbers[k], text))
            k++;
        if (k == count)
            ok = (numbers[count++] = vs_arena_strdup(&book->arena, text)) != NULL;
    }
    if (!ok) {
        book->failed = true;
        return;
    }
    vs_book_list(book, list, numbers, count);
    vs_book_value(book, size, (double)count);
}

/* "ctx: context to provision for (tokens)" */
static void write_title(struct vs_book *book, const char *name, enum vs_axis axis) {
    const struct vs_axis_info *info = vs_axis_info(axis);
    const char *unit = is_length(axis) || axis == VS_AXIS_SEQ ? " (tokens)"
                       : axis == VS_AXIS_RATE                 ? " (1/s)"
                                                              : ""; /* help names what it counts */
    const char *value = vs_arena_printf(&book->arena, "%s_title", name);
    const char *title = vs_arena_printf(&book->arena, "%s: %.*s%s", info->name,
                                        (int)strcspn(info->help, ";"), info->help, unit);
    if (value && title)
        vs_book_words(book, value, title);
    else
        book->failed = true;
}

void vs_series_write(struct vs_book *book, const char *name, const struct vs_series *series) {
    const char *names = vs_arena_printf(&book->arena, "%s_names", name);
    const char *axis = vs_arena_printf(&book->arena, "%s_axis", name);
    const char *highest = vs_arena_printf(&book->arena, "%s_highest", name);
    double most = 0;
    if (!names || !axis || !highest) {
        book->failed = true;
        return;
    }
    if (series->count == 0)
        return;
    vs_book_begin(book, name, "line\tx\ty");
    for (size_t i = 0; i < series->nodes.count; i++) {
        const struct vs_series_node *node = &series->nodes.at[i];
        vs_book_number(book, (double)node->line + 1);
        vs_book_number(book, node->x);
        vs_book_number(book, node->y);
        most = node->y > most ? node->y : most;
    }
    write_numbers(book, name, series);
    vs_book_value(book, highest, most);
    vs_book_value(book, name, (double)series->count);
    vs_book_list(book, names, series->names, series->count);
    vs_book_words(book, axis, vs_axis_info(series->axis)->name);
    write_title(book, name, series->axis);
}
