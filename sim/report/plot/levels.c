/* What holds memory over time, pool by pool: steps, a row before and a row behind each. */
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "memory/pool.h"
#include "report/plot/book.h"
#include "report/plot/tags.h"

/* Steps that are closer than a picture can show are one: the highest of them and the last. */
enum { BUCKETS = 1200 };

struct state {
    double at_s;
    uint64_t by_tag[VS_TAG_COUNT], sum;
};

struct writer {
    struct vs_book *book;
    const struct vs_plot_tags *tags;
    size_t pool; /* from 1 */
    struct state shown;
    bool any;
    uint64_t highest; /* of the pool */
};

static void put_state(struct writer *w, double at_s, const struct state *state) {
    vs_book_number(w->book, (double)w->pool);
    vs_book_number(w->book, at_s);
    for (size_t i = 0; i < w->tags->count; i++)
        vs_book_number(w->book, (double)state->by_tag[i] / (double)VS_GIB);
}

static void put_step(struct writer *w, const struct state *state) {
    if (w->any && state->at_s > w->shown.at_s)
        put_state(w, state->at_s, &w->shown);
    put_state(w, state->at_s, state);
    w->shown = *state;
    w->highest = state->sum > w->highest ? state->sum : w->highest;
    w->any = true;
}

static size_t tag_place(const struct vs_plot_tags *tags, const char *tag) {
    size_t i = 0;
    while (i < tags->count && !vs_streq(tags->at[i], tag))
        i++;
    return i;
}

static void put_pool(struct writer *w, const struct vs_outcome *run, const char *pool,
                     double end_s) {
    struct state now = {0}, highest = {0};
    double bucket = -1;
    for (size_t i = 0; i < run->tag_level_count; i++) {
        const struct vs_level *level = &run->tag_levels[i];
        const size_t tag = tag_place(w->tags, level->tag);
        if (!vs_streq(level->pool, pool) || tag == w->tags->count)
            continue;
        const double here = end_s > 0 ? floor(level->at_s / end_s * BUCKETS) : 0;
        if (here > bucket && bucket >= 0) {
            put_step(w, &highest);
            if (now.at_s > highest.at_s || now.sum != highest.sum)
                put_step(w, &now);
            highest.sum = 0;
        }
        bucket = here;
        now.sum += level->bytes - now.by_tag[tag];
        now.by_tag[tag] = level->bytes;
        now.at_s = level->at_s;
        if (now.sum >= highest.sum)
            highest = now;
    }
    if (bucket < 0)
        return;
    put_step(w, &highest);
    put_step(w, &now);
    now.at_s = end_s;
    put_step(w, &now);
}

static double end_of(const struct vs_outcome *run) {
    double end_s = 0;
    for (size_t i = 0; i < run->phase_count; i++)
        end_s = fmax(end_s, run->phases[i].end_s);
    for (size_t i = 0; i < run->tag_level_count; i++)
        end_s = fmax(end_s, run->tag_levels[i].at_s);
    return end_s;
}

/* A load that would take more than half of the plot is shown from near its end on. */
static double from_of(const struct vs_outcome *run) {
    double load_s = 0;
    const double end_s = end_of(run);
    for (size_t i = 0; i < run->phase_count; i++)
        if (vs_streq(run->phases[i].name, "load"))
            load_s = run->phases[i].end_s;
    return load_s > 0.5 * end_s && load_s < end_s ? fmax(0, load_s - 0.15 * (end_s - load_s)) : 0;
}

/* Pools in which anything is held. */
static bool has_levels(const struct vs_outcome *run, const char *pool) {
    for (size_t i = 0; i < run->tag_level_count; i++)
        if (run->tag_levels[i].bytes > 0 && vs_streq(run->tag_levels[i].pool, pool))
            return true;
    return false;
}

static void put_values(struct vs_book *book, const struct vs_outcome *run,
                       const struct vs_plot_tags *tags, const char *const *names, size_t count,
                       const double *capacities, const double *highest) {
    vs_book_value(book, "levels", (double)count);
    vs_book_list(book, "levels_pools", names, count);
    vs_book_numbers(book, "levels_capacities", capacities, count);
    vs_book_numbers(book, "levels_highest", highest, count);
    vs_book_list(book, "levels_tags", tags->at, tags->count);
    vs_book_value(book, "levels_tag_count", (double)tags->count);
    vs_book_value(book, "levels_from", from_of(run));
    vs_book_value(book, "levels_end", end_of(run));
    vs_book_value(book, "levels_oom", run->fits || !run->oom ? (double)NAN : run->oom->at_s);
    vs_book_words(book, "levels_oom_pool", run->fits || !run->oom ? "" : run->oom->pool);
}

static void write(struct vs_book *book) {
    enum { POOLS_MOST = 4 };
    const struct vs_outcome *run = book->result->run;
    struct vs_plot_tags tags;
    const char *names[POOLS_MOST];
    double capacities[POOLS_MOST], highest[POOLS_MOST];
    struct writer w = {.book = book, .tags = &tags};
    if (!run || run->replayed || run->tag_level_count == 0)
        return; /* what a server holds stays as the load left it: see its KV cache */
    if (!vs_plot_tags_of_levels(book, run, &tags)) {
        book->failed = true;
        return;
    }
    const char *columns = vs_plot_tags_columns(book, &tags, "pool\ttime", NULL);
    if (!columns)
        return;
    vs_book_begin(book, "levels", columns);
    for (size_t i = 0; i < run->pool_count && w.pool < POOLS_MOST; i++) {
        const struct vs_pool_outcome *pool = &run->pools[i];
        if (!has_levels(run, pool->name))
            continue;
        names[w.pool] = pool->name;
        capacities[w.pool++] = pool->capacity_bytes == UINT64_MAX
                                   ? (double)NAN
                                   : (double)pool->capacity_bytes / (double)VS_GIB;
        w.any = false;
        w.highest = 0;
        put_pool(&w, run, pool->name, end_of(run));
        highest[w.pool - 1] = (double)w.highest / (double)VS_GIB;
    }
    put_values(book, run, &tags, names, w.pool, capacities, highest);
}

const struct vs_plot_table vs_plot_table_levels = {write};
