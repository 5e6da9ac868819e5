/* What each stream does when: the steps behind the load, and a few layers of them close up. What
 * lies closer together than a picture can show is one bar. */
#include <math.h>

#include "report/plot/book.h"

enum { STREAMS_MOST = 16, BARS = 1000 };

struct window {
    double from_s, to_s;
};

struct chart {
    struct vs_book *book;
    const struct vs_outcome *run;
    const char *streams[STREAMS_MOST]; /* "gpu0 compute" */
    const struct vs_span *first[STREAMS_MOST];
    size_t stream_count;
};

static bool same_stream(const struct vs_span *a, const struct vs_span *b) {
    return vs_streq(a->device, b->device) && vs_streq(a->stream, b->stream);
}

/* What happens behind the load, or the load where nothing does. */
static struct window steps_of(const struct vs_outcome *run) {
    struct window w = {0, 0};
    for (size_t i = 0; i < run->phase_count; i++) {
        const struct vs_phase_time *p = &run->phases[i];
        const bool load = vs_streq(p->name, "load");
        w.from_s = load ? p->end_s : w.from_s;
        w.to_s = fmax(w.to_s, p->end_s);
    }
    if (w.to_s <= w.from_s)
        w.from_s = 0;
    return w;
}

static bool inside(const struct vs_span *s, const struct window *w) {
    return s->end_s > w->from_s && s->start_s < w->to_s;
}

/* Where each layer is first worked on; NaN where it is not. False when memory runs out. */
static bool starts_find(struct chart *c, struct window steps, double **starts, int *count) {
    *count = 0;
    for (size_t i = 0; i < c->run->span_count; i++)
        if (c->run->spans[i].layer >= *count)
            *count = c->run->spans[i].layer + 1;
    *starts = VS_NEW_ARRAY(&c->book->arena, double, (size_t)*count + 1);
    for (int k = 0; *starts && k <= *count; k++)
        (*starts)[k] = (double)NAN;
    for (size_t i = 0; *starts && i < c->run->span_count; i++) {
        const struct vs_span *s = &c->run->spans[i];
        const bool works = vs_streq(s->stream, "compute") || vs_streq(s->stream, "CPU compute");
        if (works && s->layer >= 0 && s->start_s >= steps.from_s && isnan((*starts)[s->layer]))
            (*starts)[s->layer] = s->start_s;
    }
    return *starts != NULL;
}

static size_t streams_in(const struct chart *c, const struct window *w) {
    bool busy[STREAMS_MOST] = {false};
    size_t count = 0;
    for (size_t i = 0; i < c->run->span_count; i++)
        for (size_t k = 0; inside(&c->run->spans[i], w) && k < c->stream_count; k++)
            if (!busy[k] && same_stream(c->first[k], &c->run->spans[i])) {
                busy[k] = true;
                count++;
            }
    return count;
}

/* Two layers as they are first worked on: those with the most streams at work, of these the ones
 * nearest to the middle. All where there are no two. */
static bool layers_find(struct chart *c, struct window steps, struct window *near) {
    double *starts;
    int count;
    size_t most = 0;
    *near = steps;
    if (!starts_find(c, steps, &starts, &count))
        return false;
    for (int i = 0; i + 2 < count; i++) {
        const int k = count / 2 - 1 + (i % 2 == 0 ? -(i / 2) : i / 2 + 1);
        if (k < 0 || k + 2 >= count || !(starts[k + 2] > starts[k]))
            continue;
        const struct window w = {starts[k], starts[k + 2]};
        const size_t streams = streams_in(c, &w);
        if (streams <= most)
            continue;
        most = streams;
        *near = w;
    }
    return true;
}

static bool streams_find(struct chart *c, const struct window *w) {
    for (size_t i = 0; i < c->run->span_count; i++) {
        const struct vs_span *s = &c->run->spans[i];
        size_t k = 0;
        while (k < c->stream_count && !same_stream(c->first[k], s))
            k++;
        if (k < c->stream_count || k == STREAMS_MOST || !inside(s, w))
            continue;
        c->first[k] = s;
        c->streams[k] = vs_arena_printf(&c->book->arena, "%s %s", s->device, s->stream);
        c->stream_count++;
        if (!c->streams[k])
            return false;
    }
    return true;
}

static void put_bar(struct chart *c, int panel, size_t stream, const struct vs_span *bar) {
    vs_book_number(c->book, panel);
    vs_book_number(c->book, (double)stream + 1);
    vs_book_number(c->book, bar->start_s);
    vs_book_number(c->book, bar->end_s);
    vs_book_text(c->book, bar->kind);
}

/* Bars of one kind with less than a pixel between them are one. */
static void put_stream(struct chart *c, int panel, size_t stream, const struct window *w) {
    const double pixel_s = (w->to_s - w->from_s) / BARS;
    struct vs_span bar = {.kind = NULL};
    for (size_t i = 0; i < c->run->span_count; i++) {
        const struct vs_span *s = &c->run->spans[i];
        if (!same_stream(s, c->first[stream]) || !inside(s, w))
            continue;
        const double start_s = fmax(s->start_s, w->from_s), end_s = fmin(s->end_s, w->to_s);
        if (bar.kind && vs_streq(bar.kind, s->kind) && start_s - bar.end_s < pixel_s) {
            bar.end_s = end_s;
            continue;
        }
        if (bar.kind && bar.end_s - bar.start_s >= pixel_s / 8)
            put_bar(c, panel, stream, &bar);
        bar = *s;
        bar.start_s = start_s;
        bar.end_s = end_s;
    }
    if (bar.kind)
        put_bar(c, panel, stream, &bar);
}

/* Each kind once, for a legend. */
static void put_kinds(struct chart *c, const struct window *w) {
    const char *kinds[32];
    size_t count = 0;
    for (size_t i = 0; i < c->run->span_count; i++) {
        size_t k = 0;
        if (!inside(&c->run->spans[i], w))
            continue;
        while (k < count && !vs_streq(kinds[k], c->run->spans[i].kind))
            k++;
        if (k == count && count < sizeof kinds / sizeof kinds[0])
            kinds[count++] = c->run->spans[i].kind;
    }
    vs_book_list(c->book, "spans_kinds", kinds, count);
    vs_book_value(c->book, "spans_kind_count", (double)count);
}

static void put_phases(struct chart *c, const struct window *w) {
    vs_book_begin(c->book, "phases", "start\tend\trepeats\tname");
    for (size_t i = 0; i < c->run->phase_count; i++) {
        const struct vs_phase_time *p = &c->run->phases[i];
        if (p->end_s <= w->from_s)
            continue;
        vs_book_number(c->book, p->start_s);
        vs_book_number(c->book, p->end_s);
        vs_book_number(c->book, p->repeats);
        vs_book_text(c->book, p->name);
    }
}

static void write(struct vs_book *book) {
    struct chart c = {.book = book, .run = book->result->run};
    if (!c.run || c.run->replayed || c.run->span_count == 0)
        return; /* of a server the load alone has spans */
    const struct window steps = steps_of(c.run);
    struct window layers;
    if (!streams_find(&c, &steps) || !layers_find(&c, steps, &layers)) {
        book->failed = true;
        return;
    }
    put_phases(&c, &steps);
    vs_book_begin(book, "spans", "panel\tstream\tstart\tend\tkind");
    for (size_t i = 0; i < c.stream_count; i++) {
        put_stream(&c, 1, i, &steps);
        put_stream(&c, 2, i, &layers);
    }
    vs_book_value(book, "spans", (double)c.stream_count);
    vs_book_list(book, "spans_streams", c.streams, c.stream_count);
    vs_book_value(book, "spans_from", steps.from_s);
    vs_book_value(book, "spans_to", steps.to_s);
    vs_book_value(book, "spans_near_from", layers.from_s);
    vs_book_value(book, "spans_near_to", layers.to_s);
    put_kinds(&c, &steps);
}

const struct vs_plot_table vs_plot_table_spans = {write};
