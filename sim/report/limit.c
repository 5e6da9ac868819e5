/* The OOM points of a request: table, JSON. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "report/common.h"
#include "report/report.h"
#include "report/table.h"

enum { WIDTH = 100, LIMITS_MOST = 16 };

/* Every run behind the limits: what they share is what was asked. */
static size_t runs_collect(const struct vs_limit *const *limits, size_t count,
                           const struct vs_outcome *runs[2 * LIMITS_MOST]) {
    size_t n = 0;
    for (size_t i = 0; i < count && i < LIMITS_MOST; i++) {
        if (limits[i]->at)
            runs[n++] = limits[i]->at;
        if (limits[i]->beyond)
            runs[n++] = limits[i]->beyond;
    }
    return n;
}

static const char *unit_of(const char *axis) {
    if (vs_streq(axis, "ctx") || vs_streq(axis, "seq"))
        return "tokens";
    if (vs_streq(axis, "gpu-layers"))
        return "layers";
    return vs_streq(axis, "micro-batch") ? "samples" : "sequences";
}

static void put_remark(struct vs_text *out, const char *text, size_t width) {
    vs_put_wrapped(out, "               ", text, width);
}

static void put_limit(struct vs_text *out, const struct vs_limit *limit, bool color, size_t width) {
    struct vs_text line = {0};
    char text[VS_UNIT_TEXT], value[VS_UNIT_TEXT + 4];
    (void)snprintf(value, sizeof value, "%s%" PRId64, limit->open ? ">= " : "", limit->value);
    vs_text_printf(out, "  %-11s  ", limit->axis);
    if (limit->value > 0)
        vs_put_paint(out, color, "1;32", value);
    else
        vs_put_paint(out, color, "1;31", "nothing fits");
    vs_text_printf(out, "%s%s\n", limit->value > 0 ? " " : "",
                   limit->value > 0 ? unit_of(limit->axis) : "");
    if (limit->at)
        vs_text_printf(&line, "peak there: %s GiB of VRAM",
                       vs_report_gib_value(text, limit->at->metrics[VS_METRIC_PEAK_VRAM_GIB]));
    if (line.length > 0)
        put_remark(out, vs_text_str(&line), width);
    vs_text_release(&line);
    if (limit->beyond && limit->beyond->oom) {
        const struct vs_oom_outcome *oom = limit->beyond->oom;
        vs_text_printf(&line, "%s: OOM on %s: ", limit->value > 0 ? "beyond" : "at 1", oom->pool);
        vs_report_place(&line, oom);
        vs_text_printf(&line, "; %s short", vs_print_bytes(text, vs_report_short_bytes(oom)));
        put_remark(out, vs_text_str(&line), width);
    } else if (limit->open) {
        put_remark(out, "the search ended here, not the memory", width);
    }
    if (limit->not_monotone)
        put_remark(out, "not monotone: some larger values fit again", width);
    if (limit->model_maximum > 0)
        vs_text_printf(out, "               the model's own maximum is %" PRId64 "\n",
                       limit->model_maximum);
    out->failed = out->failed || line.failed;
    vs_text_release(&line);
}

void vs_report_limit_table(struct vs_text *out, const struct vs_limit *const *limits, size_t count,
                           const struct vs_report_style *style) {
    const struct vs_outcome *runs[2 * LIMITS_MOST];
    const size_t n = runs_collect(limits, count, runs),
                 width = style->columns > 0 ? style->columns : WIDTH;
    if (n > 0) {
        struct vs_text line = {0};
        vs_report_ask(&line, NULL, runs, n);
        vs_put_wrapped(out, "", vs_text_str(&line), width);
        vs_text_release(&line);
        vs_text_printf(out, "engine %s%s%s\n", runs[0]->engine ? runs[0]->engine : "-",
                       runs[0]->engine_version ? " " : "",
                       runs[0]->engine_version ? runs[0]->engine_version : "");
        for (size_t i = 0; i < runs[0]->assumed_count; i++)
            vs_put_wrapped(out, "assumed: ", runs[0]->assumed[i], width);
    }
    vs_text_add(out, "\nthe most that fits\n");
    for (size_t i = 0; i < count; i++)
        put_limit(out, limits[i], style->color, width);
}

static void member_outcome(struct vs_json_writer *w, const char *key,
                           const struct vs_outcome *outcome) {
    vs_json_key(w, key);
    if (!outcome) {
        vs_json_null(w);
        return;
    }
    vs_json_object(w);
    vs_report_outcome_json(w, outcome);
    vs_json_end(w, '}');
}

static void limit_json(struct vs_json_writer *w, const struct vs_limit *limit) {
    vs_json_object(w);
    vs_json_member_string(w, "axis", limit->axis);
    vs_json_member_number(w, "value", (double)limit->value);
    vs_json_member_boolean(w, "open", limit->open);
    vs_json_member_boolean(w, "not_monotone", limit->not_monotone);
    vs_json_member_number(w, "model_maximum",
                          limit->model_maximum > 0 ? (double)limit->model_maximum : (double)NAN);
    member_outcome(w, "at", limit->at);
    member_outcome(w, "beyond", limit->beyond);
    vs_json_end(w, '}');
}

void vs_report_limit_json(struct vs_text *out, const struct vs_limit *const *limits, size_t count) {
    const struct vs_outcome *runs[2 * LIMITS_MOST];
    const size_t n = runs_collect(limits, count, runs);
    struct vs_json_writer w;
    vs_json_begin(&w, out);
    vs_json_object(&w);
    vs_json_member_string(&w, "hw", n > 0 ? runs[0]->hw : NULL);
    vs_json_member_string(&w, "model", n > 0 ? runs[0]->model : NULL);
    vs_json_member_string(&w, "engine", n > 0 ? runs[0]->engine : NULL);
    vs_json_key(&w, "limits");
    vs_json_array(&w);
    for (size_t i = 0; i < count; i++)
        limit_json(&w, limits[i]);
    vs_json_end(&w, ']');
    vs_json_end(&w, '}');
    vs_text_add(out, "\n");
}
