/* What holds memory at the peak of each bar's point, by pool and tag, and the pool's capacity. */
#include <math.h>
#include <stdlib.h>

#include "base/units.h"
#include "report/common.h"
#include "report/plot/rows.h"
#include "report/plot/tags.h"

static double gib(uint64_t bytes) { return (double)bytes / (double)VS_GIB; }

/* The device that is fullest, or ran out; the host's pool where `host`. NULL = it has none. */
static const struct vs_pool_outcome *pool_of(const struct vs_outcome *point, bool host) {
    const struct vs_pool_outcome *found = NULL;
    for (size_t i = 0; i < point->pool_count; i++) {
        const struct vs_pool_outcome *pool = &point->pools[i];
        if (vs_streq(pool->name, "host") != host)
            continue;
        if (!host && !point->fits && point->oom && vs_streq(point->oom->pool, pool->name))
            return pool;
        if (!found || pool->peak_bytes > found->peak_bytes)
            found = pool;
    }
    return found;
}

/* Reserved by the allocator but in nobody's hands at the peak: the rest of what the driver sees. */
static void put_pool(struct vs_book *book, const struct vs_plot_tags *tags,
                     const struct vs_pool_outcome *pool) {
    uint64_t sum = 0;
    for (size_t i = 0; i < tags->count; i++) {
        const uint64_t bytes = vs_report_tag_bytes(pool, tags->at[i]);
        vs_book_number(book, gib(bytes));
        sum += bytes;
    }
    vs_book_number(book, pool->peak_bytes > sum ? gib(pool->peak_bytes - sum) : 0);
}

static void put_row(struct vs_book *book, const struct vs_plot_tags *tags,
                    const struct vs_plot_rows *rows, size_t i, bool host) {
    struct vs_book_extent extent = {0, 0};
    const struct vs_outcome *point = rows->at[i].point;
    const struct vs_pool_outcome *pool = point ? pool_of(point, host) : NULL;
    const bool out_here =
        pool && !point->fits && point->oom && vs_streq(point->oom->pool, pool->name);
    if (point && !pool)
        return;
    vs_book_number(book, (double)i + 1);
    vs_book_number(book, !point ? 0 : out_here ? 2 : 1);
    vs_book_number(book, host ? 2 : 1);
    vs_book_number(book, pool && pool->capacity_bytes != UINT64_MAX ? gib(pool->capacity_bytes)
                                                                    : (double)NAN);
    vs_book_number(book, pool ? gib(pool->peak_bytes) : 0);
    vs_book_lines(book, point ? vs_report_label(point) : rows->families[rows->at[i].family],
                  point ? VS_PLOT_LABEL_COLUMNS : SIZE_MAX, &extent);
    if (pool) {
        put_pool(book, tags, pool);
        return;
    }
    for (size_t k = 0; k <= tags->count; k++)
        vs_book_number(book, 0);
}

/* The most that the panel of a pool must show. */
static double widest(const struct vs_plot_rows *rows, bool host) {
    double most = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const struct vs_pool_outcome *pool =
            rows->at[i].point ? pool_of(rows->at[i].point, host) : NULL;
        if (!pool)
            continue;
        most = fmax(most, gib(pool->peak_bytes));
        if (pool->capacity_bytes != UINT64_MAX)
            most = fmax(most, gib(pool->capacity_bytes));
    }
    return most;
}

static void write(struct vs_book *book) {
    struct vs_plot_rows rows;
    struct vs_plot_tags tags;
    if (!vs_plot_rows_make(book, &rows) || !vs_plot_tags_of_rows(book, &rows, &tags)) {
        book->failed = true;
        return;
    }
    const char *columns =
        vs_plot_tags_columns(book, &tags, "place\tkind\tpool\tcapacity\tpeak\tlabel", "unused");
    if (rows.count == 0 || !columns)
        return;
    vs_book_begin(book, "memory", columns);
    for (int host = 0; host < 2; host++)
        for (size_t i = 0; i < rows.count; i++)
            put_row(book, &tags, &rows, i, host == 1);
    vs_book_value(book, "memory_rows", (double)rows.count);
    vs_book_value(book, "memory_device", widest(&rows, false));
    vs_book_value(book, "memory_host", widest(&rows, true));
    vs_book_list(book, "memory_tags", tags.at, tags.count);
    vs_book_value(book, "memory_tag_count", (double)tags.count);
}

const struct vs_plot_table vs_plot_table_memory = {write};
