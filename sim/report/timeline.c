/* Chrome trace-event JSON: devices and the host are processes, their streams are threads, what an
 * operation waited for on another stream is a flow, memory by tag and the use of links are
 * counters. A server is a process with its steps, its queue and its cache. One event a line. Times
 * are whole nanoseconds, printed as microseconds. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "import/executed.h"
#include "memory/pool.h"
#include "report/common.h"
#include "report/report.h"
#include "run/replayed.h"

/* More than a viewer takes with ease: of a longer run the longest operations are shown,
 * and of memory that changes more often what is highest. */
enum { SPANS_MOST = 60000, COUNTERS_MOST = 20000 };
enum { RUN_PROCESS = 1 }; /* the phases; devices and host follow */

struct stream {
    const char *device, *name;
    size_t process, thread;
};

struct trace {
    struct vs_text *out;
    const struct vs_outcome *outcome;
    VS_VEC(struct stream) streams;
    size_t processes;
    int64_t least_ns; /* shorter spans are left out */
    int64_t tick_ns;  /* of counters: 1 = every change is said */
    size_t flows;
    bool first;
};

static int64_t nanoseconds(double seconds) {
    return isfinite(seconds) && seconds > 0 ? (int64_t)llround(seconds * 1e9) : 0;
}

static int64_t duration(const struct vs_span *span) {
    return nanoseconds(span->end_s) - nanoseconds(span->start_s);
}

/* A JSON string; names come from models and may hold anything. */
static void put_string(struct vs_text *out, const char *text) {
    struct vs_json_writer w;
    vs_json_begin(&w, out);
    vs_json_string(&w, text);
}

static void begin(struct trace *t, const char *type, size_t process) {
    vs_text_printf(t->out, "%s{\"ph\": \"%s\", \"pid\": %zu", t->first ? "\n" : ",\n", type,
                   process);
    t->first = false;
}

static void put_time(struct trace *t, const char *key, int64_t ns) {
    vs_text_printf(t->out, ", \"%s\": %" PRId64 ".%03" PRId64, key, ns / 1000, ns % 1000);
}

static void put_label(struct trace *t, const char *what, size_t process, size_t thread,
                      const char *name) {
    begin(t, "M", process);
    vs_text_printf(t->out, ", \"tid\": %zu, \"name\": \"%s\", \"args\": {\"name\": ", thread, what);
    put_string(t->out, name);
    vs_text_add(t->out, "}}");
}

/* The thread of a span, named when it is first met; NULL when memory runs out. */
static const struct stream *stream_of(struct trace *t, const struct vs_span *span) {
    struct stream new = {span->device, span->stream, 0, 1};
    for (size_t i = 0; i < t->streams.count; i++) {
        const struct stream *s = &t->streams.at[i];
        if (!vs_streq(s->device, span->device))
            continue;
        if (vs_streq(s->name, span->stream))
            return s;
        new.process = s->process;
        new.thread++;
    }
    if (new.process == 0) {
        new.process = RUN_PROCESS + ++t->processes;
        put_label(t, "process_name", new.process, 0, span->device);
    }
    put_label(t, "thread_name", new.process, new.thread, span->stream);
    return vs_vec_push(&t->streams, new) ? &t->streams.at[t->streams.count - 1] : NULL;
}

/* "layer 3 mlp.up_proj"; the checkpoint's own names have their layer in them. */
static void put_what(struct trace *t, const struct vs_span *span) {
    struct vs_text name = {0};
    const char *what = span->what ? span->what : "";
    if (span->layer >= 0 && !vs_starts(what, "model."))
        vs_text_printf(&name, "layer %d ", span->layer);
    vs_text_add(&name, what);
    put_string(t->out, vs_text_str(&name));
    t->out->failed = t->out->failed || name.failed;
    vs_text_release(&name);
}

static void put_args(struct trace *t, const struct vs_span *span) {
    char number[VS_UNIT_TEXT];
    vs_text_add(t->out, ", \"args\": {");
    if (span->layer >= 0)
        vs_text_printf(t->out, "\"layer\": %d", span->layer);
    if (span->flops > 0)
        vs_text_printf(t->out, "%s\"flops\": %s", span->layer >= 0 ? ", " : "",
                       vs_print_g9(number, span->flops));
    if (span->bytes > 0)
        vs_text_printf(t->out, "%s\"bytes\": %s", span->layer >= 0 || span->flops > 0 ? ", " : "",
                       vs_print_g9(number, span->bytes));
    vs_text_add(t->out, "}");
}

/* An arrow: from the last nanosecond of what was waited for to the begin of what waited. */
static void put_flow(struct trace *t, const struct vs_span *from, const struct vs_span *to) {
    const struct vs_span *const ends[] = {from, to};
    t->flows++;
    for (int end = 0; end < 2; end++) {
        const struct stream *s = stream_of(t, ends[end]);
        if (!s) {
            t->out->failed = true;
            return;
        }
        begin(t, end == 0 ? "s" : "f", s->process);
        vs_text_printf(t->out, ", \"tid\": %zu", s->thread);
        put_time(t, "ts",
                 end == 0 ? nanoseconds(from->end_s) - (duration(from) > 0)
                          : nanoseconds(to->start_s));
        vs_text_printf(t->out, ", \"cat\": \"waits\", \"name\": \"waits for\", \"id\": %zu%s}",
                       t->flows, end == 0 ? "" : ", \"bp\": \"e\"");
    }
}

static void put_span(struct trace *t, const struct vs_span *span) {
    const struct stream *s = stream_of(t, span);
    if (!s) {
        t->out->failed = true;
        return;
    }
    begin(t, "X", s->process);
    vs_text_printf(t->out, ", \"tid\": %zu", s->thread);
    put_time(t, "ts", nanoseconds(span->start_s));
    put_time(t, "dur", duration(span));
    vs_text_printf(t->out, ", \"cat\": \"%s\", \"name\": ", span->kind ? span->kind : "");
    put_what(t, span);
    put_args(t, span);
    vs_text_add(t->out, "}");
    for (size_t i = 0; i < span->wait_count; i++) {
        const struct vs_span *from = &t->outcome->spans[t->outcome->waits[span->first_wait + i]];
        if (duration(from) >= t->least_ns)
            put_flow(t, from, span);
    }
}

static void put_phase(struct trace *t, const struct vs_phase_time *phase) {
    struct vs_text name = {0};
    vs_text_add(&name, phase->name);
    if (phase->repeats > 1)
        vs_text_printf(&name, " (1 of %.0f alike)", phase->repeats);
    begin(t, "X", RUN_PROCESS);
    vs_text_add(t->out, ", \"tid\": 1");
    put_time(t, "ts", nanoseconds(phase->start_s));
    put_time(t, "dur", nanoseconds(phase->end_s) - nanoseconds(phase->start_s));
    vs_text_add(t->out, ", \"cat\": \"phase\", \"name\": ");
    put_string(t->out, vs_text_str(&name));
    vs_text_add(t->out, "}");
    t->out->failed = t->out->failed || name.failed;
    vs_text_release(&name);
}

/* What all tags hold of one pool, said whenever one of them changes: a viewer stacks them. */
enum { TAGS_MOST = VS_TAG_COUNT };
struct holdings {
    struct {
        const char *tag;
        uint64_t bytes;
    } at[TAGS_MOST];
    size_t count;
    uint64_t sum;
    int64_t ns;
};

/* A tag holds so much now; those beyond the most are left out. */
static void holdings_set(struct holdings *h, const struct vs_level *level) {
    size_t k = 0;
    while (k < h->count && !vs_streq(h->at[k].tag, level->tag))
        k++;
    if (k == TAGS_MOST)
        return;
    if (k == h->count) {
        h->count++;
        h->at[k].bytes = 0;
    }
    h->sum += level->bytes - h->at[k].bytes;
    h->at[k].tag = level->tag;
    h->at[k].bytes = level->bytes;
}

static void put_holdings(struct trace *t, const char *pool, const struct holdings *h) {
    begin(t, "C", RUN_PROCESS);
    put_time(t, "ts", h->ns);
    vs_text_add(t->out, ", \"name\": ");
    struct vs_text name = {0};
    vs_text_printf(&name, "%s memory, MiB", pool);
    put_string(t->out, vs_text_str(&name));
    t->out->failed = t->out->failed || name.failed;
    vs_text_release(&name);
    vs_text_add(t->out, ", \"args\": {");
    for (size_t i = 0; i < h->count; i++) {
        vs_text_add(t->out, i > 0 ? ", " : "");
        put_string(t->out, h->at[i].tag);
        vs_text_printf(t->out, ": %.3f", (double)h->at[i].bytes / (double)VS_MIB);
    }
    vs_text_add(t->out, "}}");
}

/* Of the states within a tick the highest and the last are said. */
static void put_pool(struct trace *t, const char *pool) {
    const struct vs_outcome *o = t->outcome;
    struct holdings now = {.ns = -1}, highest = {.ns = -1};
    for (size_t i = 0; i < o->tag_level_count; i++) {
        const struct vs_level *level = &o->tag_levels[i];
        const int64_t ns = nanoseconds(level->at_s);
        if (!vs_streq(level->pool, pool))
            continue;
        if (now.ns >= 0 && ns > now.ns && now.sum >= highest.sum)
            highest = now;
        if (now.ns >= 0 && ns / t->tick_ns > now.ns / t->tick_ns) {
            put_holdings(t, pool, &highest);
            if (now.ns > highest.ns)
                put_holdings(t, pool, &now);
            highest = (struct holdings){.ns = -1};
        }
        holdings_set(&now, level);
        now.ns = ns;
    }
    if (now.ns < 0)
        return;
    if (highest.sum > now.sum && highest.ns >= 0)
        put_holdings(t, pool, &highest);
    put_holdings(t, pool, &now);
}

static void put_level(struct trace *t, const struct vs_level *level) {
    struct vs_text name = {0};
    vs_text_printf(&name, "%s memory taken from the driver, MiB", level->pool);
    begin(t, "C", RUN_PROCESS);
    put_time(t, "ts", nanoseconds(level->at_s));
    vs_text_add(t->out, ", \"name\": ");
    put_string(t->out, vs_text_str(&name));
    vs_text_printf(t->out, ", \"args\": {\"taken\": %.3f}}", (double)level->bytes / (double)VS_MIB);
    t->out->failed = t->out->failed || name.failed;
    vs_text_release(&name);
}

/* As put_pool: of the levels of a pool within a tick the highest and the last. */
static void put_taken(struct trace *t, const char *pool) {
    const struct vs_outcome *o = t->outcome;
    const struct vs_level *highest = NULL, *last = NULL;
    for (size_t i = 0; i < o->level_count; i++) {
        const struct vs_level *level = &o->levels[i];
        if (!vs_streq(level->pool, pool))
            continue;
        const int64_t ns = nanoseconds(level->at_s);
        if (last && ns / t->tick_ns > nanoseconds(last->at_s) / t->tick_ns) {
            put_level(t, highest);
            if (last != highest)
                put_level(t, last);
            highest = NULL;
        }
        last = level;
        if (!highest || level->bytes >= highest->bytes)
            highest = level;
    }
    if (highest)
        put_level(t, highest);
    if (last && last != highest)
        put_level(t, last);
}

/* The resource that a stream of copies uses: "link0.h2d"; NULL for other streams. */
static const struct vs_rate *link_of(const struct vs_outcome *o, const struct stream *s) {
    const char *suffix = vs_streq(s->name, "copy in")    ? ".h2d"
                         : vs_streq(s->name, "copy out") ? ".d2h"
                         : vs_streq(s->name, "storage")  ? ".read"
                                                         : NULL;
    struct vs_text name = {0};
    const struct vs_rate *found = NULL;
    if (!suffix)
        return NULL;
    if (vs_starts(s->device, "gpu"))
        vs_text_printf(&name, "link%s%s", s->device + strlen("gpu"), suffix);
    else
        vs_text_printf(&name, "%s%s", s->name, suffix);
    for (size_t i = 0; i < o->rate_count && !found; i++)
        found = vs_streq(o->rates[i].resource, vs_text_str(&name)) ? &o->rates[i] : NULL;
    vs_text_release(&name);
    return found;
}

static void put_use(struct trace *t, const struct vs_rate *rate, int64_t ns, double percent) {
    begin(t, "C", RUN_PROCESS);
    put_time(t, "ts", ns);
    vs_text_printf(t->out, ", \"name\": \"%s use, %% of %.4g GB/s\", \"args\": {\"use\": %.1f}}",
                   rate->resource, rate->per_s / 1e9, percent);
}

/* How much of a link's rate each copy had; nothing between two of them. */
static void put_link(struct trace *t, const struct stream *stream) {
    const struct vs_rate *rate = link_of(t->outcome, stream);
    int64_t until = -1;
    double shown = 0;
    for (size_t i = 0; rate && i < t->outcome->span_count; i++) {
        const struct vs_span *span = &t->outcome->spans[i];
        if (!vs_streq(span->device, stream->device) || !vs_streq(span->stream, stream->name) ||
            span->bytes <= 0 || duration(span) < t->least_ns)
            continue;
        const double seconds = span->end_s - span->start_s;
        const double percent = fmin(100, 100 * span->bytes / seconds / rate->per_s);
        if (until >= 0 && nanoseconds(span->start_s) > until)
            put_use(t, rate, until, shown = 0);
        if (fabs(percent - shown) >= 0.05)
            put_use(t, rate, nanoseconds(span->start_s), shown = percent);
        until = nanoseconds(span->end_s);
    }
    if (until >= 0)
        put_use(t, rate, until, 0);
}

/* A step, or several with what they come to together. */
static void put_stretch(struct trace *t, size_t process, const struct vs_server_stretch *s,
                        int64_t start_ns, int64_t end_ns) {
    const char *what = s->prompt_tokens <= 0 ? "decode"
                       : s->decoded <= 0     ? "prompts"
                                             : "prompts and decode";
    begin(t, "X", process);
    vs_text_add(t->out, ", \"tid\": 1");
    put_time(t, "ts", start_ns);
    put_time(t, "dur", end_ns - start_ns);
    vs_text_printf(t->out, ", \"cat\": \"server\", \"name\": \"%s\"", what);
    vs_text_printf(t->out,
                   ", \"args\": {\"steps\": %" PRIu64
                   ", \"prompt tokens\": %.0f, \"output tokens\": %.0f}}",
                   s->steps, s->prompt_tokens, s->out_tokens);
}

static void put_server_counters(struct trace *t, size_t process, int64_t ns, double running,
                                double waiting, double kv_percent) {
    begin(t, "C", process);
    put_time(t, "ts", ns);
    vs_text_printf(t->out,
                   ", \"name\": \"requests\", \"args\": {\"running\": %.4g, \"waiting\": %.4g}}",
                   running, waiting);
    begin(t, "C", process);
    put_time(t, "ts", ns);
    vs_text_printf(t->out, ", \"name\": \"KV cache in use, %%\", \"args\": {\"in use\": %.4g}}",
                   kv_percent);
}

static void put_server(struct trace *t) {
    const struct vs_replayed *r = t->outcome->replayed;
    if (!r || r->stretch_count == 0)
        return;
    const size_t process = RUN_PROCESS + ++t->processes;
    put_label(t, "process_name", process, 0, "server");
    put_label(t, "thread_name", process, 1, "steps");
    for (size_t i = 0; i < r->stretch_count; i++) {
        const struct vs_server_stretch *s = &r->stretches[i];
        const int64_t start_ns = nanoseconds(r->start_s + s->from_s);
        if (s->steps > 0)
            put_stretch(t, process, s, start_ns, nanoseconds(r->start_s + s->to_s));
        put_server_counters(t, process, start_ns, s->running, s->waiting, s->kv_from);
    }
    const struct vs_server_stretch *last = &r->stretches[r->stretch_count - 1];
    put_server_counters(t, process, nanoseconds(r->start_s + last->to_s), 0, 0, last->kv_to);
}

/* What was really executed, phase after phase, as a process of its own. Clocks of a device are
 * read to a microsecond: what begins before its lane's last has ended begins with it. */
static void put_executed(struct trace *t) {
    enum { LANES_MOST = 16 };
    const struct vs_executed *e = t->outcome->executed;
    double phase_s = 0, end_s = 0;
    struct {
        const char *lane;
        double end_s;
    } lanes[LANES_MOST] = {{0}};
    for (size_t i = 0; e && i < e->span_count; i++) {
        const struct vs_executed_span *from = &e->spans[i];
        size_t k = 0;
        if (i > 0 && from->phase != e->spans[i - 1].phase)
            phase_s = end_s;
        while (k < LANES_MOST - 1 && lanes[k].lane && !vs_streq(lanes[k].lane, from->lane))
            k++;
        struct vs_span span = {.device = "measured",
                               .stream = from->lane,
                               .kind = from->kind,
                               .what = from->what,
                               .layer = from->layer,
                               .start_s = fmax(phase_s + from->start_s, lanes[k].end_s)};
        span.end_s = fmax(phase_s + from->end_s, span.start_s);
        lanes[k].lane = from->lane;
        lanes[k].end_s = span.end_s;
        end_s = fmax(end_s, span.end_s);
        if (duration(&span) >= t->least_ns)
            put_span(t, &span);
    }
}

/* The shortest that is shown, so that not too many are; how many are not. */
static size_t sample(struct trace *t) {
    size_t kept = t->outcome->span_count;
    for (t->least_ns = 0; kept > SPANS_MOST; t->least_ns = t->least_ns > 0 ? 2 * t->least_ns : 1) {
        kept = 0;
        for (size_t i = 0; i < t->outcome->span_count; i++)
            kept += duration(&t->outcome->spans[i]) >= (t->least_ns > 0 ? 2 * t->least_ns : 1);
    }
    return t->outcome->span_count - kept;
}

/* Names of pools are few, and all are met early. */
static bool first_of_pool(const struct vs_outcome *o, size_t place) {
    for (size_t i = 0; i < place; i++)
        if (vs_streq(o->levels[i].pool, o->levels[place].pool))
            return false;
    return true;
}

/* The tick that leaves so many states of memory that all pools have COUNTERS_MOST together. */
static int64_t tick_of(const struct vs_outcome *o) {
    double end_s = 0;
    if (o->tag_level_count + o->level_count <= COUNTERS_MOST)
        return 1;
    for (size_t i = 0; i < o->tag_level_count; i++)
        end_s = fmax(end_s, o->tag_levels[i].at_s);
    for (size_t i = 0; i < o->level_count; i++)
        end_s = fmax(end_s, o->levels[i].at_s);
    const int64_t tick_ns =
        nanoseconds(end_s) * 4 * (int64_t)(o->pool_count > 0 ? o->pool_count : 1) / COUNTERS_MOST;
    return tick_ns > 1 ? tick_ns : 1;
}

static void put_counters(struct trace *t) {
    const struct vs_outcome *o = t->outcome;
    for (size_t i = 0; i < o->pool_count; i++)
        put_pool(t, o->pools[i].name);
    for (size_t i = 0; i < o->level_count; i++)
        if (first_of_pool(o, i))
            put_taken(t, o->levels[i].pool);
    for (size_t i = 0; i < t->streams.count; i++)
        put_link(t, &t->streams.at[i]);
}

void vs_report_timeline(struct vs_text *out, const struct vs_outcome *outcome) {
    struct trace t = {.out = out, .outcome = outcome, .first = true};
    struct vs_text title = {0};
    const size_t left_out = sample(&t);
    vs_report_ask(&title, NULL, &outcome, 1);
    if (left_out > 0)
        vs_text_printf(&title, " (sampled: %zu operations shorter than %.3f us are left out)",
                       left_out, (double)t.least_ns / 1000);
    t.tick_ns = tick_of(outcome);
    if (t.tick_ns > 1)
        vs_text_printf(&title, " (sampled: of memory what is highest in each %.4g ms)",
                       (double)t.tick_ns / 1e6);
    if (outcome->replayed && outcome->replayed->resolution_s > 0)
        vs_text_printf(&title, " (sampled: steps of the server shorter than %.4g ms are joined)",
                       1000 * outcome->replayed->resolution_s);
    vs_text_add(out, "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [");
    put_label(&t, "process_name", RUN_PROCESS, 0, vs_text_str(&title));
    put_label(&t, "thread_name", RUN_PROCESS, 1, "phases");
    for (size_t i = 0; i < outcome->phase_count; i++)
        put_phase(&t, &outcome->phases[i]);
    for (size_t i = 0; i < outcome->span_count; i++)
        if (duration(&outcome->spans[i]) >= t.least_ns)
            put_span(&t, &outcome->spans[i]);
    put_executed(&t);
    put_counters(&t);
    put_server(&t);
    vs_text_add(out, "\n]}\n");
    out->failed = out->failed || title.failed;
    vs_text_release(&title);
    vs_vec_release(&t.streams);
}
