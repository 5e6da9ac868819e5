/* A sweep, for people: what fits, ranked; what does not, by where it runs out; the best choice. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/common.h"
#include "report/misfits.h"
#include "report/report.h"
#include "report/result.h"
#include "report/table.h"

enum {
    WIDTH = 120,
    TOP = 20,
    GROUPS_SHOWN = 10,
    ASSUMED_SHOWN = 8,
    INDENT = 2,
    USE = 4,
    NARROW = 100
};

struct page {
    struct vs_text *out;
    const struct vs_sweep *sweep;
    bool color;
    size_t width, top;
};

enum field { RANK, STRATEGY, ENGINE, VRAM, USED, RAM, SPEED, STEP, TTFT, TPOT, LONGEST, BOUND_BY };

/* The columns; a narrow terminal leaves some to the other formats. */
static const struct column {
    struct vs_table_column shown;
    enum field field;
    bool train, inference, narrow;
} COLUMNS[] = {
    {{"#", "", true, false}, RANK, true, true, true},
    {{"strategy", "", false, true}, STRATEGY, true, true, true},
    {{"engine", "", false, false}, ENGINE, true, true, true},
    {{"VRAM", "GiB", true, false}, VRAM, true, true, true},
    {{"used", "", false, false}, USED, true, true, true},
    {{"RAM", "GiB", true, false}, RAM, true, true, false},
    {{"tok/s", "", true, false}, SPEED, true, true, true},
    {{"step", "", true, false}, STEP, true, false, false},
    {{"TTFT", "", true, false}, TTFT, false, true, false},
    {{"TPOT", "", true, false}, TPOT, false, true, false},
    {{"longest", "seq", true, false}, LONGEST, true, false, true},
    {{"longest", "ctx", true, false}, LONGEST, false, true, true},
    {{"bound by", "", false, false}, BOUND_BY, true, true, false},
};
enum { COLUMN_COUNT = sizeof COLUMNS / sizeof COLUMNS[0], CELL = 64 };

struct layout {
    struct vs_table_column columns[COLUMN_COUNT];
    enum field fields[COLUMN_COUNT];
    size_t count;
};

static bool is_train(const struct vs_sweep *sweep) {
    return sweep->task && vs_streq(sweep->task, "train");
}

static const char *speed_text(char out[VS_UNIT_TEXT], const struct vs_outcome *point,
                              enum vs_metric metric) {
    return isfinite(point->metrics[metric]) ? vs_report_figure(out, metric, point->metrics[metric])
                                            : "-";
}

static void oom_point_text(char out[VS_UNIT_TEXT], const struct vs_outcome *point) {
    if (point->oom_point == 0)
        (void)snprintf(out, VS_UNIT_TEXT, "-");
    else if (point->oom_point < 0)
        (void)snprintf(out, VS_UNIT_TEXT, "none");
    else
        (void)snprintf(out, VS_UNIT_TEXT, "%s%" PRId64, point->oom_point_open ? ">=" : "",
                       point->oom_point);
}

/* "###-": how much of the fullest device is taken; "" where it has no end. */
static void use_text(char out[CELL], const struct vs_outcome *point) {
    double most = 0;
    for (size_t i = 0; i < point->device_count && i < point->pool_count; i++) {
        const struct vs_pool_outcome *pool = &point->pools[i];
        if (pool->capacity_bytes != UINT64_MAX && pool->capacity_bytes > 0)
            most = fmax(most, (double)pool->peak_bytes / (double)pool->capacity_bytes);
    }
    const size_t marks = most > 0 ? (size_t)(fmin(most, 1) * USE + 0.5) : 0;
    memset(out, '-', USE);
    memset(out, '#', marks > 0 ? marks : 1);
    out[most > 0 ? USE : 0] = '\0';
}

/* A cell's text, in `out` where it has to be made. */
static const char *cell_text(char out[CELL], const struct vs_sweep *sweep, size_t index,
                             enum field field) {
    const struct vs_outcome *p = sweep->points[index];
    const char *bound_by = p->bound_by ? p->bound_by : "-";
    switch (field) {
    case RANK:
        (void)snprintf(out, CELL, "%zu", index + 1);
        return out;
    case STRATEGY:
        return vs_report_label(p);
    case ENGINE:
        (void)snprintf(out, CELL, "%.60s%s", p->engine ? p->engine : "", p->bound ? "*" : "");
        return out;
    case VRAM:
        return vs_report_gib_value(out, p->metrics[VS_METRIC_PEAK_VRAM_GIB]);
    case USED:
        use_text(out, p);
        return out;
    case RAM:
        return vs_report_gib_value(out, p->metrics[VS_METRIC_PEAK_RAM_GIB]);
    case SPEED:
        return speed_text(out, p, vs_result_speed(p));
    case STEP:
        return speed_text(out, p, VS_METRIC_STEP_TIME_S);
    case TTFT:
        return speed_text(out, p, VS_METRIC_TTFT_S);
    case TPOT:
        return speed_text(out, p, VS_METRIC_TPOT_S);
    case LONGEST:
        oom_point_text(out, p);
        return out;
    case BOUND_BY:
        break;
    }
    return bound_by;
}

static void add_row(struct vs_table *table, const struct layout *layout,
                    const struct vs_sweep *sweep, size_t index) {
    char texts[COLUMN_COUNT][CELL];
    const char *cells[COLUMN_COUNT];
    for (size_t i = 0; i < layout->count; i++)
        cells[i] = cell_text(texts[i], sweep, index, layout->fields[i]);
    vs_table_add(table, cells, (long)index == sweep->best ? "1;32" : NULL);
}

/* The first `count` rows that fit; the layout must outlive the table. */
static void table_make(struct vs_table *table, struct layout *layout, const struct vs_sweep *sweep,
                       size_t count, size_t width) {
    layout->count = 0;
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        const struct column *c = &COLUMNS[i];
        if (!(is_train(sweep) ? c->train : c->inference) || (width < NARROW && !c->narrow))
            continue;
        layout->columns[layout->count] = c->shown;
        layout->fields[layout->count++] = c->field;
    }
    vs_table_init(table, layout->columns, layout->count);
    for (size_t i = 0; i < count && i < sweep->fit_count; i++)
        add_row(table, layout, sweep, i);
}

static void put_fits(const struct page *page) {
    const struct vs_sweep *sweep = page->sweep;
    struct vs_text *out = page->out;
    struct vs_table table;
    struct layout layout;
    bool bounds = false;
    const size_t shown = sweep->fit_count < page->top ? sweep->fit_count : page->top;
    vs_text_printf(out, "\n%zu of %zu strategies fit, ranked by %s", sweep->fit_count,
                   sweep->point_count, vs_metric_info(sweep->rank_by)->name);
    if (sweep->merged > 0)
        vs_text_printf(out, " (%zu more lead to one of these plans)", sweep->merged);
    vs_text_add(out, "\n\n");
    table_make(&table, &layout, sweep, shown, page->width);
    vs_table_print(&table, out, INDENT, page->width, page->color);
    vs_table_release(&table);
    if (sweep->fit_count > shown)
        vs_text_printf(out, "  ... and %zu more (--top)\n", sweep->fit_count - shown);
    for (size_t i = 0; i < shown; i++)
        bounds = bounds || sweep->points[i]->bound;
    if (bounds)
        vs_text_add(out,
                    "  * no engine known: a bound that the hardware sets, not a recommendation\n");
}

static void put_group(const struct page *page, const struct vs_misfits *group) {
    const struct vs_outcome *point = page->sweep->points[group->first];
    struct vs_text where = {0}, who = {0}, first = {0};
    char text[VS_UNIT_TEXT];
    vs_put(&where, point->oom->pool);
    vs_text_add(&where, ": ");
    vs_report_place(&where, point->oom);
    vs_text_printf(&first, "  %10s short  ", vs_print_bytes(text, group->least));
    vs_put_wrapped(page->out, vs_text_str(&first), vs_text_str(&where), page->width);
    vs_text_printf(&who, "%s: %s", point->engine ? point->engine : "-", vs_report_label(point));
    if (group->count > 1)
        vs_text_printf(&who, "; and %zu more here, up to %s short", group->count - 1,
                       vs_print_bytes(text, group->most));
    vs_put_wrapped(page->out, "                    ", vs_text_str(&who), page->width);
    page->out->failed = page->out->failed || where.failed || who.failed || first.failed;
    vs_text_release(&where);
    vs_text_release(&who);
    vs_text_release(&first);
}

static void put_misfits(const struct page *page) {
    const struct vs_sweep *sweep = page->sweep;
    const size_t misfits = sweep->point_count - sweep->fit_count;
    struct vs_misfits *groups;
    size_t count, rest = 0;
    if (misfits == 0)
        return;
    if (!vs_misfits_find(sweep, &groups, &count)) {
        page->out->failed = true;
        return;
    }
    vs_text_printf(page->out, "\n%zu do%s not fit; where each runs out, the nearest miss first\n\n",
                   misfits, misfits == 1 ? "es" : "");
    for (size_t g = 0; g < count && g < GROUPS_SHOWN; g++)
        put_group(page, &groups[g]);
    for (size_t g = GROUPS_SHOWN; g < count; g++)
        rest += groups[g].count;
    if (rest > 0)
        vs_text_printf(page->out, "  ... and %zu more at %zu other places (--json lists all)\n",
                       rest, count - GROUPS_SHOWN);
    free(groups);
}

static void put_choice(const struct page *page, const char *title, const struct vs_outcome *point) {
    const struct vs_sweep *sweep = page->sweep;
    struct vs_text line = {0};
    char text[VS_UNIT_TEXT];
    const double speed = point->metrics[sweep->rank_by];
    vs_text_printf(&line, "%s (%s): ", vs_report_label(point), point->engine ? point->engine : "-");
    if (isfinite(speed)) {
        const char *unit = vs_report_unit(sweep->rank_by);
        vs_text_printf(&line, "%s%s%s, ", vs_report_figure(text, sweep->rank_by, speed),
                       unit[0] ? " " : "", unit);
    }
    vs_text_printf(&line, "%s GiB of VRAM",
                   vs_report_gib_value(text, point->metrics[VS_METRIC_PEAK_VRAM_GIB]));
    vs_put_wrapped(page->out, title, vs_text_str(&line), page->width);
    page->out->failed = page->out->failed || line.failed;
    vs_text_release(&line);
}

static void put_explain(const struct page *page, const struct vs_outcome *point) {
    vs_text_add(page->out, "explain it: ");
    vs_report_command(page->out, point);
    vs_text_add(page->out, "\n");
}

static const struct vs_outcome *nearest_miss(const struct vs_sweep *sweep) {
    const struct vs_outcome *best = NULL;
    for (size_t i = sweep->fit_count; i < sweep->point_count; i++) {
        const struct vs_outcome *point = sweep->points[i];
        if (point->oom &&
            (!best || vs_report_short_bytes(point->oom) < vs_report_short_bytes(best->oom)))
            best = point;
    }
    return best;
}

static void put_nothing_fits(const struct page *page) {
    const struct vs_outcome *miss = nearest_miss(page->sweep);
    char text[VS_UNIT_TEXT];
    vs_text_add(page->out, "\n");
    vs_put_paint(page->out, page->color, "1;31", "nothing fits");
    if (!miss) {
        vs_text_add(page->out, "\n");
        return;
    }
    vs_text_printf(page->out, "; the smallest miss is %s short on %s:\n",
                   vs_print_bytes(text, vs_report_short_bytes(miss->oom)), miss->oom->pool);
    put_choice(page, "  ", miss);
    put_explain(page, miss);
}

static void put_best(const struct page *page) {
    const struct vs_sweep *sweep = page->sweep;
    if (sweep->fit_count == 0) {
        put_nothing_fits(page);
        return;
    }
    vs_text_add(page->out, "\n");
    if (sweep->best >= 0) {
        put_choice(page, "best: ", sweep->points[sweep->best]);
        put_explain(page, sweep->points[sweep->best]);
    } else {
        vs_text_add(
            page->out,
            "no recommendation: what fits needs fewer bits than the workload's format, or an "
            "engine that is not known\n");
    }
    if (sweep->fastest_fewer_bits >= 0)
        put_choice(page,
                   "a trade, faster with fewer bits: ", sweep->points[sweep->fastest_fewer_bits]);
}

/* What any of the points that fit, or of all where none does, took for granted: each once. */
static void put_assumed(const struct page *page) {
    const struct vs_sweep *sweep = page->sweep;
    const size_t count = sweep->fit_count > 0 ? sweep->fit_count : sweep->point_count;
    const char *seen[ASSUMED_SHOWN];
    size_t shown = 0;
    for (size_t p = 0; p < count; p++) {
        for (size_t i = 0; i < sweep->points[p]->assumed_count && shown < ASSUMED_SHOWN; i++) {
            const char *text = sweep->points[p]->assumed[i];
            size_t s = 0;
            while (s < shown && !vs_streq(seen[s], text))
                s++;
            if (s < shown)
                continue;
            vs_put_wrapped(page->out, "assumed: ", text, page->width);
            seen[shown++] = text;
        }
    }
}

static void put_ask(const struct page *page) {
    struct vs_text line = {0};
    vs_report_ask(&line, page->sweep->workload, page->sweep->points, page->sweep->point_count);
    vs_put_wrapped(page->out, "", vs_text_str(&line), page->width);
    page->out->failed = page->out->failed || line.failed;
    vs_text_release(&line);
}

void vs_report_sweep_table(struct vs_text *out, const struct vs_sweep *sweep,
                           const struct vs_report_style *style) {
    const struct page page = {out, sweep, style->color, style->columns > 0 ? style->columns : WIDTH,
                              style->top > 0 ? style->top : TOP};
    if (sweep->point_count == 0) {
        vs_text_add(
            out, "no strategy to try: no engine of this workload supports the values asked for\n");
        return;
    }
    put_ask(&page);
    put_assumed(&page);
    if (sweep->fit_count > 0)
        put_fits(&page);
    put_misfits(&page);
    put_best(&page);
}

void vs_report_sweep_markdown(struct vs_text *out, const struct vs_sweep *sweep) {
    struct vs_table table;
    struct layout layout;
    if (sweep->point_count == 0)
        return;
    vs_report_ask(out, sweep->workload, sweep->points, sweep->point_count);
    vs_text_add(out, "\n\n");
    table_make(&table, &layout, sweep, sweep->fit_count, WIDTH);
    vs_table_markdown(&table, out);
    vs_table_release(&table);
    if (sweep->fit_count == sweep->point_count)
        return;
    static const struct vs_table_column columns[] = {{"does not fit", "", false, false},
                                                     {"engine", "", false, false},
                                                     {"where", "", false, false},
                                                     {"short", "GiB", true, false}};
    vs_table_init(&table, columns, sizeof columns / sizeof columns[0]);
    for (size_t i = sweep->fit_count; i < sweep->point_count; i++) {
        const struct vs_outcome *p = sweep->points[i];
        struct vs_text place = {0};
        char missing[VS_UNIT_TEXT] = "-";
        if (p->oom) {
            vs_text_printf(&place, "%s: ", p->oom->pool);
            vs_report_place(&place, p->oom);
            (void)vs_report_gib(missing, vs_report_short_bytes(p->oom));
        }
        const char *const cells[] = {vs_report_label(p), p->engine, vs_text_str(&place), missing};
        vs_table_add(&table, cells, NULL);
        out->failed = out->failed || place.failed;
        vs_text_release(&place);
    }
    vs_text_add(out, "\n");
    vs_table_markdown(&table, out);
    vs_table_release(&table);
}
