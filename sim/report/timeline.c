/* Chrome trace-event JSON: lanes are threads, pools are counters. One event a line: a timeline has
 * many. */
#include <math.h>
#include <string.h>

#include "base/vec.h"
#include "report/common.h"
#include "report/report.h"

struct lanes {
    VS_VEC(const char *) names; /* in the order met: the thread number is the place + 1 */
};

static size_t lane_find(struct lanes *lanes, const char *lane) {
    for (size_t i = 0; i < lanes->names.count; i++) {
        if (vs_streq(lanes->names.at[i], lane))
            return i + 1;
    }
    return vs_vec_push(&lanes->names, lane) ? lanes->names.count : 0;
}

/* A JSON string; names come from models and may hold anything. */
static void put_string(struct vs_text *out, const char *text) {
    struct vs_json_writer w;
    vs_json_begin(&w, out);
    vs_json_string(&w, text);
}

/* Microseconds, to the nanosecond. */
static double micro(double seconds) { return isfinite(seconds) ? seconds * 1e6 : 0; }

static void put_begin(struct vs_text *out, bool *first) {
    vs_text_add(out, *first ? "\n" : ",\n");
    *first = false;
}

static void put_name(struct vs_text *out, bool *first, const char *what, size_t lane,
                     const char *name) {
    put_begin(out, first);
    vs_text_printf(
        out,
        "{\"ph\": \"M\", \"pid\": 1, \"tid\": %zu, \"name\": \"%s\", \"args\": {\"name\": ", lane,
        what);
    put_string(out, name);
    vs_text_add(out, "}}");
}

/* "layer 3 mlp.up_proj"; the checkpoint's own names have their layer in them. */
static void put_what(struct vs_text *out, const struct vs_span *span) {
    struct vs_text name = {0};
    const char *what = span->what ? span->what : "";
    if (span->layer >= 0 && !vs_starts(what, "model."))
        vs_text_printf(&name, "layer %d ", span->layer);
    vs_text_add(&name, what);
    out->failed = out->failed || name.failed;
    put_string(out, vs_text_str(&name));
    vs_text_release(&name);
}

static void put_span(struct vs_text *out, bool *first, const struct vs_span *span, size_t lane) {
    put_begin(out, first);
    vs_text_printf(
        out,
        "{\"ph\": \"X\", \"pid\": 1, \"tid\": %zu, \"ts\": %.3f, \"dur\": %.3f, \"name\": ", lane,
        micro(span->start_s), fmax(0, micro(span->end_s) - micro(span->start_s)));
    put_what(out, span);
    if (span->layer >= 0)
        vs_text_printf(out, ", \"args\": {\"layer\": %d}", span->layer);
    vs_text_add(out, "}");
}

static void put_level(struct vs_text *out, bool *first, const struct vs_level *level) {
    put_begin(out, first);
    vs_text_printf(out, "{\"ph\": \"C\", \"pid\": 1, \"ts\": %.3f, \"name\": ", micro(level->at_s));
    put_string(out, level->pool);
    vs_text_printf(out, ", \"args\": {\"MiB\": %.3f}}", (double)level->bytes / (1024.0 * 1024));
}

void vs_report_timeline(struct vs_text *out, const struct vs_outcome *outcome) {
    struct lanes lanes = {.names = {.count = 0}};
    struct vs_text title = {0};
    bool first = true;
    vs_report_ask(&title, NULL, &outcome, 1);
    vs_text_add(out, "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [");
    put_name(out, &first, "process_name", 0, vs_text_str(&title));
    for (size_t i = 0; i < outcome->span_count; i++) {
        const size_t before = lanes.names.count;
        const size_t lane = lane_find(&lanes, outcome->spans[i].lane);
        if (lane == 0)
            out->failed = true;
        if (lanes.names.count > before)
            put_name(out, &first, "thread_name", lane, outcome->spans[i].lane);
        put_span(out, &first, &outcome->spans[i], lane);
    }
    for (size_t i = 0; i < outcome->level_count; i++)
        put_level(out, &first, &outcome->levels[i]);
    vs_text_add(out, "\n]}\n");
    out->failed = out->failed || title.failed;
    vs_text_release(&title);
    vs_vec_release(&lanes.names);
}
