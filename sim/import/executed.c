#include "import/executed.h"

#include <math.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

#define NUMBER_MOST 1e18
enum { ROUNDS_MOST = 1000, FILE_MOST = 1 << 30 };

struct reading {
    struct vs_arena *arena;
    const char *path;
    struct vs_executed *out;
    struct vs_err *err;
};

/* Opens the place of a list; its path is for messages. */
static bool open_item(const struct reading *in, struct vs_json_reader *r, const char *list,
                      size_t place, const struct vs_json *node) {
    const char *path = vs_arena_printf(in->arena, "$.%s[%zu]", list, place);
    return path ? vs_json_open(r, in->path, path, node, in->err) : vs_err_nomem(in->err);
}

static bool read_seconds(const struct reading *in, struct vs_json_reader *r,
                         struct vs_executed_phase *phase) {
    const struct vs_json *list = NULL;
    if (!vs_json_get_array(r, "seconds", true, &list, in->err))
        return false;
    if (list->count > ROUNDS_MOST)
        return vs_json_fail(r, list, in->err, "found %zu rounds, expected at most %d", list->count,
                            ROUNDS_MOST);
    double *seconds = VS_NEW_ARRAY(in->arena, double, list->count + 1);
    if (!seconds)
        return vs_err_nomem(in->err);
    for (const struct vs_json *node = list->child; node; node = node->next) {
        if (node->kind != VS_JSON_NUMBER || !(node->number >= 0) || node->number > NUMBER_MOST)
            return vs_json_fail(r, node, in->err, "expected seconds of at least 0");
        seconds[phase->count++] = node->number;
    }
    phase->seconds = seconds;
    return true;
}

static bool read_phases(const struct reading *in, struct vs_json_reader *root) {
    const struct vs_json *list = NULL;
    if (!vs_json_get_array(root, "phases", true, &list, in->err))
        return false;
    struct vs_executed_phase *phases =
        VS_NEW_ARRAY(in->arena, struct vs_executed_phase, list->count + 1);
    if (!phases)
        return vs_err_nomem(in->err);
    in->out->phases = phases;
    for (const struct vs_json *node = list->child; node; node = node->next) {
        struct vs_executed_phase *phase = &phases[in->out->phase_count];
        struct vs_json_reader r;
        phase->predicted_s = (double)NAN;
        if (!open_item(in, &r, "phases", in->out->phase_count++, node) ||
            !vs_json_get_string(&r, "name", true, &phase->name, in->err) ||
            !vs_json_get_bool(&r, "once", true, &phase->once, in->err) ||
            !vs_json_get_number(&r, "predicted_s", false, 0, NUMBER_MOST, &phase->predicted_s,
                                in->err) ||
            !read_seconds(in, &r, phase) || !vs_json_close(&r, in->err))
            return false;
    }
    return true;
}

static bool read_span(const struct reading *in, struct vs_json_reader *r,
                      struct vs_executed_span *span) {
    double phase = 0, layer = -1;
    double phases = (double)in->out->phase_count;
    if (!vs_json_get_number(r, "phase", true, 0, phases > 0 ? phases - 1 : 0, &phase, in->err) ||
        !vs_json_get_string(r, "lane", true, &span->lane, in->err) ||
        !vs_json_get_string(r, "kind", true, &span->kind, in->err) ||
        !vs_json_get_string(r, "what", true, &span->what, in->err) ||
        !vs_json_get_number(r, "layer", false, 0, 1e6, &layer, in->err) ||
        !vs_json_get_number(r, "start_s", true, -1, NUMBER_MOST, &span->start_s, in->err) ||
        !vs_json_get_number(r, "end_s", true, span->start_s, NUMBER_MOST, &span->end_s, in->err))
        return false;
    span->phase = (size_t)phase;
    span->layer = (int)layer;
    return true;
}

static bool read_spans(const struct reading *in, struct vs_json_reader *root) {
    const struct vs_json *list = NULL;
    if (!vs_json_get_array(root, "spans", true, &list, in->err))
        return false;
    struct vs_executed_span *spans =
        VS_NEW_ARRAY(in->arena, struct vs_executed_span, list->count + 1);
    if (!spans)
        return vs_err_nomem(in->err);
    in->out->spans = spans;
    for (const struct vs_json *node = list->child; node; node = node->next) {
        struct vs_json_reader r;
        if (!open_item(in, &r, "spans", in->out->span_count, node) ||
            !read_span(in, &r, &spans[in->out->span_count++]) || !vs_json_close(&r, in->err))
            return false;
    }
    return in->out->span_count == 0 || in->out->phase_count > 0 ||
           vs_json_fail(root, list, in->err, "found spans of no phase");
}

static bool read_memory(const struct reading *in, struct vs_json_reader *root) {
    struct vs_json_reader r;
    bool present;
    double peak = 0, own = 0;
    if (!vs_json_open_member(root, "memory", true, &r, &present, in->err) ||
        !vs_json_get_number(&r, "device_peak_bytes", true, 0, NUMBER_MOST, &peak, in->err) ||
        !vs_json_get_number(&r, "device_own_bytes", true, 0, NUMBER_MOST, &own, in->err) ||
        !vs_json_get_number(&r, "host_peak_bytes", true, 0, NUMBER_MOST, &in->out->host_peak_bytes,
                            in->err))
        return false;
    in->out->device_peak_bytes = peak > own ? peak - own : 0;
    return vs_json_close(&r, in->err);
}

static bool read_oom(const struct reading *in, struct vs_json_reader *root) {
    struct vs_json_reader r;
    bool present;
    return vs_json_open_member(root, "oom", false, &r, &present, in->err) &&
           (!present || (vs_json_get_string(&r, "phase", true, &in->out->oom_phase, in->err) &&
                         vs_json_get_string(&r, "buffer", true, &in->out->oom_buffer, in->err) &&
                         vs_json_close(&r, in->err)));
}

static bool read_root(const struct reading *in, const struct vs_json *root) {
    struct vs_json_reader r;
    const char *schema = NULL, *program = NULL;
    if (!vs_json_open(&r, in->path, "$", root, in->err) ||
        !vs_json_get_string(&r, "schema", true, &schema, in->err))
        return false;
    if (!vs_streq(schema, "vramsim-executed/1"))
        return vs_json_fail(&r, vs_json_member(root, "schema"), in->err,
                            "found schema '%.60s', expected 'vramsim-executed/1'", schema);
    return vs_json_get_string(&r, "program", true, &program, in->err) &&
           vs_json_get_string(&r, "date", true, &in->out->date, in->err) &&
           vs_json_get_string(&r, "device", true, &in->out->device, in->err) &&
           read_phases(in, &r) && read_memory(in, &r) && read_oom(in, &r) && read_spans(in, &r) &&
           vs_json_close(&r, in->err);
}

bool vs_executed_over(struct vs_arena *arena, const char *path, const char *text, size_t length,
                      struct vs_executed *executed, struct vs_err *err) {
    const struct reading in = {arena, path, executed, err};
    const struct vs_json *root = NULL;
    *executed = (struct vs_executed){0};
    return vs_json_parse(arena, path, text, length, &root, err) && read_root(&in, root);
}

bool vs_executed_read(struct vs_arena *arena, const char *path, struct vs_executed *executed,
                      struct vs_err *err) {
    char *text = NULL;
    size_t length = 0;
    return vs_file_read(arena, path, FILE_MOST, &text, &length, err) &&
           vs_executed_over(arena, path, text, length, executed, err);
}
