#include "report/plot/rows.h"

#include <stdlib.h>

#include "report/common.h"
#include "report/misfits.h"
#include "report/plot/differ.h"

enum { TOP = 20, MISSES = 3 }; /* a third of the rows, and those that nothing else fills */

/* Axes that say where things are. */
static const enum vs_axis PLACES[] = {
    VS_AXIS_HW,           VS_AXIS_OFFLOAD,     VS_AXIS_OFFLOAD_PARAM, VS_AXIS_OFFLOAD_OPTIM,
    VS_AXIS_CKPT_OFFLOAD, VS_AXIS_EXPERTS_CPU, VS_AXIS_KV_PLACE,      VS_AXIS_SPLIT,
    VS_AXIS_TP,           VS_AXIS_PP,          VS_AXIS_ZERO,
};
enum { PLACE_COUNT = sizeof PLACES / sizeof PLACES[0] };

static const char *family_of(struct vs_book *book, const struct vs_outcome *point,
                             const enum vs_axis *axes, size_t count) {
    const char *where = vs_differ_label(&book->arena, point, axes, count);
    const char *engine = point->engine ? point->engine : "-";
    if (!where)
        return NULL;
    return vs_arena_printf(&book->arena, "%s%s%s%s", engine,
                           point->bound ? " (a bound, no engine known)" : "",
                           where[0] != '\0' ? ", " : "", where);
}

/* The family's number; SIZE_MAX when memory runs out. */
static size_t family_find(struct vs_plot_rows *rows, const char *family, bool bound) {
    size_t i = 0;
    if (!family)
        return SIZE_MAX;
    while (i < rows->family_count && !vs_streq(rows->families[i], family))
        i++;
    if (i == rows->family_count) {
        rows->families[i] = family;
        rows->bounds[i] = bound;
        rows->family_count++;
    }
    return i;
}

/* Those of PLACES in which the points differ. */
static size_t places_find(struct vs_book *book, enum vs_axis axes[PLACE_COUNT]) {
    size_t count, n = 0;
    const struct vs_outcome *const *points = vs_result_points(book->result, &count);
    for (size_t i = 0; i < PLACE_COUNT; i++) {
        struct vs_differ_words words;
        if (vs_differ_words(&book->arena, points, count, PLACES[i], &words) && words.count > 1)
            axes[n++] = PLACES[i];
    }
    return n;
}

/* What does not fit: of a run itself, of a sweep the nearest miss of each place. */
static bool misfits_find(const struct vs_result *result, struct vs_misfits **groups,
                         size_t *count) {
    if (result->sweep)
        return vs_misfits_find(result->sweep, groups, count);
    const struct vs_oom_outcome *oom = result->run->oom;
    const uint64_t bytes = oom ? vs_report_short_bytes(oom) : 0;
    *count = result->run->fits || !oom ? 0 : 1;
    *groups = calloc(1, sizeof **groups);
    if (*groups)
        **groups = (struct vs_misfits){0, 1, bytes, bytes};
    return *groups != NULL;
}

/* Rows as ranked, without headings. */
static bool pick(struct vs_book *book, struct vs_plot_rows *rows, const struct vs_misfits *groups,
                 size_t group_count) {
    enum vs_axis axes[PLACE_COUNT];
    const size_t axis_count = places_find(book, axes), top = book->top > 0 ? book->top : TOP;
    size_t count;
    const struct vs_outcome *const *points = vs_result_points(book->result, &count);
    const size_t spare = top > rows->fits ? top - rows->fits : 0;
    size_t misses = spare > top / MISSES ? spare : top / MISSES > 0 ? top / MISSES : 1;
    misses = misses < group_count ? misses : group_count;
    rows->fits_shown = top > misses ? top - misses : 0;
    rows->fits_shown = rows->fits_shown < rows->fits ? rows->fits_shown : rows->fits;
    for (size_t i = 0; i < rows->fits_shown + misses; i++) {
        const struct vs_misfits *group =
            i < rows->fits_shown ? NULL : &groups[i - rows->fits_shown];
        const struct vs_outcome *point = points[group ? group->first : i];
        struct vs_plot_row row = {.point = point};
        row.family = family_find(rows, family_of(book, point, axes, axis_count), point->bound);
        if (group) {
            row.short_bytes = group->least;
            row.alike = group->count;
        }
        if (row.family == SIZE_MAX)
            return false;
        rows->at[rows->count++] = row;
    }
    return true;
}

/* Families in the order of their best, those that are only bounds last, each below its heading. */
static bool group(struct vs_book *book, struct vs_plot_rows *rows) {
    const size_t n = rows->count;
    struct vs_plot_row *out = VS_NEW_ARRAY(&book->arena, struct vs_plot_row, 2 * n + 1);
    size_t count = 0;
    if (!out)
        return false;
    for (int bound = 0; bound < 2; bound++) {
        for (size_t f = 0; f < rows->family_count; f++) {
            if (rows->bounds[f] != (bound == 1))
                continue;
            out[count++] = (struct vs_plot_row){.family = f};
            for (size_t i = 0; i < n; i++)
                if (rows->at[i].family == f)
                    out[count++] = rows->at[i];
        }
    }
    rows->at = out;
    rows->count = count;
    return true;
}

bool vs_plot_rows_make(struct vs_book *book, struct vs_plot_rows *rows) {
    struct vs_misfits *groups = NULL;
    size_t count, group_count = 0;
    const struct vs_outcome *const *points = vs_result_points(book->result, &count);
    *rows = (struct vs_plot_rows){
        .at = VS_NEW_ARRAY(&book->arena, struct vs_plot_row, count + 1),
        .families = VS_NEW_ARRAY(&book->arena, const char *, count + 1),
        .bounds = VS_NEW_ARRAY(&book->arena, bool, count + 1),
    };
    if (!rows->at || !rows->families || !rows->bounds)
        return false;
    if (count == 0)
        return true;
    for (size_t i = 0; i < count; i++)
        rows->fits += points[i]->fits;
    rows->misfits = count - rows->fits;
    const bool ok = misfits_find(book->result, &groups, &group_count) &&
                    pick(book, rows, groups, group_count) && group(book, rows);
    free(groups);
    return ok;
}
