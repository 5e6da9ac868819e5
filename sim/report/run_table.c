/* One point, for people. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/allocator.h"
#include "report/common.h"
#include "report/executed.h"
#include "report/report.h"
#include "report/steps.h"
#include "report/table.h"

enum { WIDTH = 100, BAR = 24 };

struct page {
    struct vs_text *out;
    bool color;
    size_t width;
};

static void heading(const struct page *page, const char *text) {
    vs_text_add(page->out, "\n");
    vs_put_paint(page->out, page->color, "1", text);
    vs_text_add(page->out, "\n");
}

/* "####----": `part` of `whole`, rounded to the nearest mark; what is there at all has one mark. */
static void bar(char text[BAR + 1], double part, double whole, char rest) {
    size_t marks = whole > 0 && part > 0 ? (size_t)(fmin(part / whole, 1) * BAR + 0.5) : 0;
    if (marks == 0 && part > 0)
        marks = 1;
    memset(text, '#', marks);
    memset(text + marks, rest, BAR - marks);
    text[rest == ' ' ? marks : BAR] = '\0';
}

static void put_oom(const struct page *page, const struct vs_oom_outcome *oom) {
    struct vs_text *out = page->out, place = {0};
    char text[VS_UNIT_TEXT], other[VS_UNIT_TEXT];
    vs_put_paint(out, page->color, "1;31", "does not fit");
    vs_text_add(out, ": OOM on ");
    vs_put(out, oom->pool);
    vs_text_add(out, "\n");
    vs_report_place(&place, oom);
    vs_put_wrapped(out, "  where      ", vs_text_str(&place), page->width);
    out->failed = out->failed || place.failed;
    vs_text_release(&place);
    if (isfinite(oom->at_s))
        vs_text_printf(out, "  when       after %s\n", vs_print_seconds(text, oom->at_s));
    vs_text_printf(out, "  requested  %s, with %s in use",
                   vs_print_bytes(text, oom->requested_bytes),
                   vs_print_bytes(other, oom->in_use_bytes));
    vs_text_printf(out, " of %s\n", vs_print_bytes(text, oom->capacity_bytes));
    vs_text_printf(out, "  short      %s for this request, %s in all\n",
                   vs_print_bytes(text, oom->short_bytes),
                   vs_print_bytes(other, vs_report_short_bytes(oom)));
    for (size_t i = 0; i < oom->by_tag_count; i++) {
        vs_text_add(out, i == 0 ? "  held by    " : "             ");
        vs_text_printf(out, "%10s  ", vs_print_bytes(text, oom->by_tag[i].bytes));
        vs_put(out, oom->by_tag[i].tag);
        vs_text_add(out, "\n");
    }
}

/* One change that is enough, the mildest first. */
static void put_remedies(const struct page *page, const struct vs_outcome *outcome) {
    if (outcome->remedies && outcome->remedy_count == 0)
        vs_text_add(page->out, "  no single change that was tried makes it fit\n");
    for (size_t i = 0; i < outcome->remedy_count; i++) {
        vs_text_add(page->out, i == 0 ? "  fits with  " : "         or  ");
        vs_put(page->out, outcome->remedies[i]);
        vs_text_add(page->out, "\n");
    }
}

static void put_verdict(const struct page *page, const struct vs_outcome *outcome) {
    vs_text_add(page->out, "\n");
    if (!outcome->fits && outcome->oom) {
        put_oom(page, outcome->oom);
        if (outcome->allocator)
            vs_report_allocator_oom(page->out, outcome);
        if (outcome->steps)
            vs_report_steps_oom(page->out, outcome);
        put_remedies(page, outcome);
        return;
    }
    vs_put_paint(page->out, page->color, outcome->fits ? "1;32" : "1;31",
                 outcome->fits ? "fits" : "does not fit");
    if (outcome->bound)
        vs_text_add(page->out,
                    " (a bound that the hardware sets, no engine known: not a recommendation)");
    vs_text_add(page->out, "\n");
}

static bool in_memory_block(enum vs_metric metric) {
    return vs_streq(vs_metric_info(metric)->unit, "GiB") || metric == VS_METRIC_FITS;
}

static void put_speeds(const struct page *page, const struct vs_outcome *outcome) {
    static const struct vs_table_column columns[] = {{"", "", false, false},
                                                     {"", "", true, false},
                                                     {"", "", false, false},
                                                     {"", "", false, false},
                                                     {"", "", false, true}};
    struct vs_table table;
    bool intervals = false;
    vs_table_init(&table, columns, sizeof columns / sizeof columns[0]);
    for (int i = 0; i < VS_METRIC_COUNT; i++) {
        const enum vs_metric metric = (enum vs_metric)i;
        char value[VS_UNIT_TEXT], low[VS_UNIT_TEXT], high[VS_UNIT_TEXT],
            interval[2 * VS_UNIT_TEXT + 8] = "";
        const bool lost = !outcome->fits && vs_report_is_speed(metric, outcome->task);
        if (in_memory_block(metric) || !isfinite(outcome->metrics[metric]) || lost)
            continue;
        if (isfinite(outcome->interval_low[i]) && isfinite(outcome->interval_high[i])) {
            (void)snprintf(interval, sizeof interval, "(%s .. %s)",
                           vs_report_figure(low, metric, outcome->interval_low[i]),
                           vs_report_figure(high, metric, outcome->interval_high[i]));
            intervals = true;
        }
        const char *const cells[] = {
            vs_metric_info(metric)->name, vs_report_figure(value, metric, outcome->metrics[metric]),
            vs_report_unit(metric), interval, vs_metric_info(metric)->help};
        vs_table_add(&table, cells, NULL);
    }
    if (table.rows.count > 0 || table.failed) {
        heading(page, intervals ? "speed (80 % interval)" : "speed");
        vs_table_print(&table, page->out, 2, page->width, page->color);
    }
    if (outcome->extrapolating)
        vs_text_add(page->out, "  extrapolating: no measured case is like this one\n");
    vs_table_release(&table);
}

/* In whole sentences: most of them are zero in most runs. */
static void put_requests(const struct page *page, const struct vs_outcome *outcome) {
    const struct vs_request_counts *r = outcome->requests;
    if (!r)
        return;
    const struct {
        uint64_t count;
        const char *what;
    } lines[] = {{r->rejected, "turned away, longer than the context or the KV cache"},
                 {r->preempted, "preemptions, from a KV cache that was full"},
                 {r->unanswered, "rows of requests that had failed, not sent"},
                 {r->skipped, "bad rows, not sent; the first: "}};
    heading(page, "requests");
    vs_text_printf(page->out, "  %llu served of %llu\n", (unsigned long long)r->served,
                   (unsigned long long)r->arrived);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        if (lines[i].count == 0)
            continue;
        vs_text_printf(page->out, "  %llu %s", (unsigned long long)lines[i].count, lines[i].what);
        if (lines[i].what[strlen(lines[i].what) - 1] == ' ')
            vs_put(page->out, r->first_skipped);
        vs_text_add(page->out, "\n");
    }
}

static void put_pool(const struct page *page, const struct vs_pool_outcome *pool) {
    struct vs_text *out = page->out;
    char marks[BAR + 1], text[VS_UNIT_TEXT], name[24];
    const double peak = (double)pool->peak_bytes;
    const bool open = pool->capacity_bytes == UINT64_MAX;
    const double capacity = open ? peak : (double)pool->capacity_bytes;
    const double scale = fmax(peak, capacity);
    (void)snprintf(name, sizeof name, "%s", pool->name);
    vs_text_add(out, "  ");
    vs_put_paint(out, page->color, "1", name);
    vs_put_blanks(out, strlen(name) < 18 ? 18 - strlen(name) : 1);
    vs_text_printf(out, "%9s GiB", vs_report_gib(text, pool->peak_bytes));
    if (!open) {
        bar(marks, peak, scale, '-');
        vs_text_printf(out, "  %4.0f %%  [%s] of ", capacity > 0 ? 100 * peak / capacity : 0.0,
                       marks);
        vs_text_printf(out, "%s GiB", vs_report_gib(text, pool->capacity_bytes));
    }
    if (pool->peak_allocated_bytes != pool->peak_bytes && pool->peak_allocated_bytes > 0)
        vs_text_printf(out, ", %s live", vs_report_gib(text, pool->peak_allocated_bytes));
    vs_text_add(out, "\n");
    for (size_t i = 0; i < pool->by_tag_count; i++) {
        const struct vs_tag_bytes *tag = &pool->by_tag[i];
        (void)snprintf(name, sizeof name, "%s", tag->tag);
        bar(marks, (double)tag->bytes, scale, ' ');
        vs_text_printf(out, "    %-16s%9s GiB", name, vs_report_gib(text, tag->bytes));
        vs_text_printf(out, "  %4.0f %%   %s\n",
                       capacity > 0 ? 100 * (double)tag->bytes / capacity : 0.0, marks);
    }
}

static void put_memory(const struct page *page, const struct vs_outcome *outcome) {
    heading(page,
            outcome->fits ? "memory at the peak" : "memory at the peak, had there been no ceiling");
    for (size_t i = 0; i < outcome->pool_count; i++) {
        if (outcome->pools[i].peak_bytes > 0)
            put_pool(page, &outcome->pools[i]);
    }
}

/* What a cache holds beside tokens; nothing where that is less than 0.05 %. */
static void put_kv_waste(const struct page *page, const struct vs_kv_waste *kv) {
    if (!kv)
        return;
    const struct {
        const char *name, *help;
        double bytes;
    } LINES[] = {{"used", "by tokens, on average", kv->used_bytes},
                 {"reservation", "slots kept for tokens to come", kv->reservation_bytes},
                 {"internal", "rests of blocks, padding, rounding", kv->internal_bytes},
                 {"external", "free in the allocator's segments", kv->external_bytes},
                 {"outgrown", "old copies beside new ones, at the peak", kv->outgrown_bytes}};
    const double all = kv->held_bytes + kv->external_bytes;
    heading(page, "KV cache");
    for (size_t i = 0; i < sizeof LINES / sizeof *LINES; i++) {
        char text[VS_UNIT_TEXT];
        if (i > 0 && LINES[i].bytes < 5e-4 * all)
            continue;
        vs_text_printf(page->out, "  %-18s%9s GiB  %4.0f %%  %s\n", LINES[i].name,
                       vs_report_gib(text, (uint64_t)LINES[i].bytes), 100 * LINES[i].bytes / all,
                       LINES[i].help);
    }
}

static void put_replay(const struct page *page, const struct vs_outcome *outcome) {
    if (outcome->steps) {
        heading(page, "steps");
        vs_report_steps_table(page->out, outcome, page->width);
    }
    if (outcome->allocator) {
        heading(page, "allocator");
        vs_report_allocator_table(page->out, outcome, page->width);
    }
}

static void put_executed(const struct page *page, const struct vs_outcome *outcome) {
    if (outcome->executed)
        vs_report_executed_table(page->out, outcome, page->width, page->color);
}

static void put_utilization(const struct page *page, const struct vs_outcome *outcome) {
    char marks[BAR + 1], name[24];
    if (!outcome->bound_by && outcome->utilization_count == 0)
        return;
    heading(page, "utilization in the main phase");
    for (size_t i = 0; i < outcome->utilization_count; i++) {
        const struct vs_utilization *use = &outcome->utilization[i];
        const bool bound = outcome->bound_by && vs_streq(outcome->bound_by, use->resource);
        (void)snprintf(name, sizeof name, "%s", use->resource);
        bar(marks, use->fraction, 1, '-');
        vs_text_printf(page->out, "  %-18s  %5.1f %%  [%s]%s\n", name, 100 * use->fraction, marks,
                       bound ? "  bounds it" : "");
    }
    if (outcome->bound_by) {
        vs_text_add(page->out, "  bound by ");
        vs_put(page->out, outcome->bound_by);
        vs_text_add(page->out, "\n");
    }
}

static void put_strategy(const struct page *page, const struct vs_outcome *outcome) {
    struct vs_text line = {0};
    if (outcome->strategy_count == 0)
        return;
    for (size_t i = 0; i < outcome->strategy_count; i++) {
        vs_text_add(&line, i > 0 ? ", " : "");
        vs_text_add(&line, outcome->strategy[i].axis);
        vs_text_add(&line, " ");
        vs_text_add(&line, outcome->strategy[i].word);
    }
    heading(page, "strategy");
    vs_put_wrapped(page->out, "  ", vs_text_str(&line), page->width);
    page->out->failed = page->out->failed || line.failed;
    vs_text_release(&line);
}

static void put_list(const struct page *page, const char *title, const char *const *texts,
                     size_t count) {
    if (count == 0)
        return;
    heading(page, title);
    for (size_t i = 0; i < count; i++)
        vs_put_wrapped(page->out, "  - ", texts[i], page->width);
}

static void put_first_lines(const struct page *page, const struct vs_outcome *outcome) {
    struct vs_text line = {0};
    vs_report_ask(&line, NULL, &outcome, 1);
    vs_put_wrapped(page->out, "", vs_text_str(&line), page->width);
    page->out->failed = page->out->failed || line.failed;
    vs_text_release(&line);
    if (!outcome->engine)
        return;
    vs_text_add(page->out, "engine ");
    vs_put(page->out, outcome->engine);
    if (outcome->engine_version && outcome->engine_version[0] != '\0') {
        vs_text_add(page->out, " ");
        vs_put(page->out, outcome->engine_version);
    }
    if (outcome->label && outcome->label[0] != '\0') {
        vs_text_add(page->out, ": ");
        vs_put(page->out, outcome->label);
    }
    vs_text_add(page->out, "\n");
}

void vs_report_run_table(struct vs_text *out, const struct vs_outcome *outcome,
                         const struct vs_report_style *style) {
    const struct page page = {out, style->color, style->columns > 0 ? style->columns : WIDTH};
    put_first_lines(&page, outcome);
    put_verdict(&page, outcome);
    put_speeds(&page, outcome);
    put_executed(&page, outcome);
    put_requests(&page, outcome);
    put_memory(&page, outcome);
    vs_report_breakdown(out, outcome);
    put_kv_waste(&page, outcome->kv_waste);
    put_replay(&page, outcome);
    put_utilization(&page, outcome);
    put_strategy(&page, outcome);
    put_list(&page, "notes", outcome->notes, outcome->note_count);
    put_list(&page, "assumed", outcome->assumed, outcome->assumed_count);
}
