#include "report/misfits.h"

#include <stdlib.h>

#include "report/common.h"

static bool same(const char *a, const char *b) { return vs_streq(a ? a : "", b ? b : ""); }

static bool same_place(const struct vs_outcome *a, const struct vs_outcome *b) {
    return same(a->engine, b->engine) && same(a->oom->pool, b->oom->pool) &&
           same(a->oom->phase, b->oom->phase) && same(a->oom->operation, b->oom->operation) &&
           same(a->oom->tensor, b->oom->tensor);
}

static int group_order(const void *a, const void *b) {
    const struct vs_misfits *x = a, *y = b;
    if (x->least != y->least)
        return x->least < y->least ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

static void group_add(struct vs_misfits *groups, size_t *count, const struct vs_sweep *sweep,
                      size_t index) {
    const struct vs_outcome *point = sweep->points[index];
    const uint64_t missing = vs_report_short_bytes(point->oom);
    size_t g = 0;
    while (g < *count && !same_place(sweep->points[groups[g].first], point))
        g++;
    if (g == *count)
        groups[(*count)++] = (struct vs_misfits){.first = index, .least = missing, .most = missing};
    groups[g].count++;
    if (missing < groups[g].least) {
        groups[g].least = missing;
        groups[g].first = index;
    }
    groups[g].most = missing > groups[g].most ? missing : groups[g].most;
}

bool vs_misfits_find(const struct vs_sweep *sweep, struct vs_misfits **groups, size_t *count) {
    struct vs_misfits *found = calloc(sweep->point_count - sweep->fit_count + 1, sizeof *found);
    size_t n = 0;
    if (!found)
        return false;
    for (size_t i = sweep->fit_count; i < sweep->point_count; i++) {
        if (sweep->points[i]->oom)
            group_add(found, &n, sweep, i);
    }
    qsort(found, n, sizeof *found, group_order);
    *groups = found;
    *count = n;
    return true;
}
