/* Speed against device memory: every point that fits, and those that no other point beats in both.
 */
#include <math.h>
#include <stdlib.h>

#include "base/units.h"
#include "report/common.h"
#include "report/plot/book.h"

static double vram(const struct vs_outcome *p) { return p->metrics[VS_METRIC_PEAK_VRAM_GIB]; }
static double speed(const struct vs_outcome *p) { return p->metrics[vs_result_speed(p)]; }

static bool shown(const struct vs_outcome *p) {
    return p->fits && isfinite(vram(p)) && isfinite(speed(p));
}

/* A bound beats nobody: no engine reaches it. */
static bool beaten(const struct vs_outcome *const *points, size_t count, size_t i) {
    for (size_t k = 0; k < count; k++) {
        const struct vs_outcome *a = points[k], *b = points[i];
        if (k == i || !shown(a) || a->bound)
            continue;
        const bool better = vram(a) < vram(b) || speed(a) > speed(b) || k < i;
        if (vram(a) <= vram(b) && speed(a) >= speed(b) && better)
            return true;
    }
    return false;
}

static int by_memory(const void *a, const void *b) {
    const struct vs_outcome *const *x = a, *const *y = b;
    if (vram(*x) != vram(*y))
        return vram(*x) < vram(*y) ? -1 : 1;
    return speed(*x) < speed(*y) ? -1 : speed(*x) > speed(*y);
}

struct range {
    double least, most;
};

static void widen(struct range *range, double value) {
    range->least = fmin(range->least, value);
    range->most = fmax(range->most, value);
}

/* "1  223 tok/s, 9.94 GiB: nf4, full checkpointing (fsdp)" */
static const char *name_of(struct vs_book *book, const struct vs_outcome *p, size_t place) {
    char fast[VS_UNIT_TEXT], memory[VS_UNIT_TEXT];
    return vs_arena_printf(&book->arena, "%zu   %s tok/s, %s GiB:  %s (%s)", place,
                           vs_print_speed(fast, speed(p)), vs_report_gib_value(memory, vram(p)),
                           vs_report_label(p), p->engine ? p->engine : "-");
}

static void put_row(struct vs_book *book, const struct vs_outcome *p, int part, size_t place) {
    vs_book_number(book, part);
    vs_book_number(book, (double)place);
    vs_book_number(book, vram(p));
    vs_book_number(book, speed(p));
    vs_book_number(book, p->bound);
}

static void put_values(struct vs_book *book, const struct vs_outcome *const *front, size_t count,
                       const struct range *speeds, const struct range *sizes) {
    const char **names = VS_NEW_ARRAY(&book->arena, const char *, count + 1);
    bool ok = names != NULL;
    for (size_t i = 0; ok && i < count; i++)
        ok = (names[i] = name_of(book, front[i], i + 1)) != NULL;
    book->failed = book->failed || !ok;
    if (!ok)
        return;
    vs_book_list(book, "front_names", names, count);
    vs_book_value(book, "front", (double)count);
    vs_book_value(book, "front_fastest", speeds->most);
    vs_book_value(book, "front_narrowest", sizes->least);
    vs_book_value(book, "front_widest", sizes->most);
}

/* Those of the front in the order of memory (part 1), then all points (part 2). */
static void write(struct vs_book *book) {
    size_t count, n = 0;
    struct range speeds = {(double)INFINITY, 0}, sizes = {(double)INFINITY, 0};
    const struct vs_outcome *const *points = vs_result_points(book->result, &count);
    const struct vs_outcome **front =
        VS_NEW_ARRAY(&book->arena, const struct vs_outcome *, count + 1);
    if (!front) {
        book->failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (!shown(points[i]))
            continue;
        widen(&speeds, speed(points[i]));
        widen(&sizes, vram(points[i]));
        if (!points[i]->bound && !beaten(points, count, i))
            front[n++] = points[i];
    }
    qsort(front, n, sizeof(const struct vs_outcome *), by_memory);
    vs_book_begin(book, "front", "part\tplace\tvram\tspeed\tbound");
    for (size_t i = 0; i < n; i++)
        put_row(book, front[i], 1, i + 1);
    for (size_t i = 0; i < count; i++)
        if (shown(points[i]))
            put_row(book, points[i], 2, 0);
    put_values(book, front, n, &speeds, &sizes);
}

const struct vs_plot_table vs_plot_table_front = {write};
