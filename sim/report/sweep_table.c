/* A sweep, for people: what fits, ranked; what does not, by where it runs out; the best choice. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/common.h"
#include "report/misfits.h"
#include "report/report.h"
#include "report/table.h"

enum { WIDTH = 120, TOP = 20, GROUPS_SHOWN = 10, ASSUMED_SHOWN = 8, INDENT = 2 };

struct page {
    struct vs_text *out;
    const struct vs_sweep *sweep;
    bool color;
    size_t width, top;
};

static const char *label_of(const struct vs_outcome *point) {
    return point->label && point->label[0] != '\0' ? point->label : "plain";
}

static const struct vs_table_column train_columns[] = {
    {"#", "", true, false},       {"strategy", "", false, true},   {"engine", "", false, false},
    {"VRAM", "GiB", true, false}, {"RAM", "GiB", true, false},     {"tok/s", "", true, false},
    {"step", "", true, false},    {"longest", "seq", true, false}, {"bound by", "", false, false}};
static const struct vs_table_column generate_columns[] = {
    {"#", "", true, false},        {"strategy", "", false, true}, {"engine", "", false, false},
    {"VRAM", "GiB", true, false},  {"RAM", "GiB", true, false},   {"tok/s", "", true, false},
    {"TTFT", "", true, false},     {"TPOT", "", true, false},     {"longest", "ctx", true, false},
    {"bound by", "", false, false}};

static bool is_serve(const struct vs_sweep *sweep) {
    return sweep->task && vs_streq(sweep->task, "serve");
}

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

static void add_row(struct vs_table *table, const struct vs_sweep *sweep, size_t index) {
    const struct vs_outcome *p = sweep->points[index];
    char rank[VS_UNIT_TEXT], engine[64], vram[VS_UNIT_TEXT], ram[VS_UNIT_TEXT], limit[VS_UNIT_TEXT];
    char speed[VS_UNIT_TEXT], first[VS_UNIT_TEXT], second[VS_UNIT_TEXT];
    (void)snprintf(rank, sizeof rank, "%zu", index + 1);
    (void)snprintf(engine, sizeof engine, "%.60s%s", p->engine ? p->engine : "",
                   p->bound ? "*" : "");
    (void)vs_report_gib_value(vram, p->metrics[VS_METRIC_PEAK_VRAM_GIB]);
    (void)vs_report_gib_value(ram, p->metrics[VS_METRIC_PEAK_RAM_GIB]);
    oom_point_text(limit, p);
    const char *bound_by = p->bound_by ? p->bound_by : "-";
    const char *paint = (long)index == sweep->best ? "1;32" : NULL;
    if (is_train(sweep)) {
        const char *const cells[] = {rank,
                                     label_of(p),
                                     engine,
                                     vram,
                                     ram,
                                     speed_text(speed, p, VS_METRIC_TRAIN_TPS),
                                     speed_text(first, p, VS_METRIC_STEP_TIME_S),
                                     limit,
                                     bound_by};
        vs_table_add(table, cells, paint);
    } else {
        const char *const cells[] = {
            rank,
            label_of(p),
            engine,
            vram,
            ram,
            speed_text(speed, p, is_serve(sweep) ? VS_METRIC_OUT_TPS : VS_METRIC_DECODE_TPS),
            speed_text(first, p, VS_METRIC_TTFT_S),
            speed_text(second, p, VS_METRIC_TPOT_S),
            limit,
            bound_by};
        vs_table_add(table, cells, paint);
    }
}

/* The first `count` rows that fit. */
static void table_make(struct vs_table *table, const struct vs_sweep *sweep, size_t count) {
    if (is_train(sweep))
        vs_table_init(table, train_columns, sizeof train_columns / sizeof train_columns[0]);
    else
        vs_table_init(table, generate_columns,
                      sizeof generate_columns / sizeof generate_columns[0]);
    for (size_t i = 0; i < count && i < sweep->fit_count; i++)
        add_row(table, sweep, i);
}

static void put_fits(const struct page *page) {
    const struct vs_sweep *sweep = page->sweep;
    struct vs_text *out = page->out;
    struct vs_table table;
    bool bounds = false;
    const size_t shown = sweep->fit_count < page->top ? sweep->fit_count : page->top;
    vs_text_printf(out, "\n%zu of %zu strategies fit, ranked by %s", sweep->fit_count,
                   sweep->point_count, vs_metric_info(sweep->rank_by)->name);
    if (sweep->merged > 0)
        vs_text_printf(out, " (%zu more lead to one of these plans)", sweep->merged);
    vs_text_add(out, "\n\n");
    table_make(&table, sweep, shown);
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
    vs_text_printf(&who, "%s: %s", point->engine ? point->engine : "-", label_of(point));
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
    vs_text_printf(&line, "%s (%s): ", label_of(point), point->engine ? point->engine : "-");
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
    if (sweep->point_count == 0)
        return;
    vs_report_ask(out, sweep->workload, sweep->points, sweep->point_count);
    vs_text_add(out, "\n\n");
    table_make(&table, sweep, sweep->fit_count);
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
        const char *const cells[] = {label_of(p), p->engine, vs_text_str(&place), missing};
        vs_table_add(&table, cells, NULL);
        out->failed = out->failed || place.failed;
        vs_text_release(&place);
    }
    vs_text_add(out, "\n");
    vs_table_markdown(&table, out);
    vs_table_release(&table);
}
