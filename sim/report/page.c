#include "report/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/data.h"
#include "base/file.h"
#include "base/json.h"
#include "report/common.h"
#include "report/misfits.h"
#include "report/report.h"

enum { TEMPLATE_BYTES_MOST = 1 << 20, POINTS_MOST = 1000 };
static const char TEMPLATE[] = "reports/html/page.html";
static const char MARK[] = "{{data}}";

/* A text that a function appends. */
static void member_made(struct vs_json_writer *w, const char *key, struct vs_text *text) {
    w->out->failed = w->out->failed || text->failed;
    vs_json_member_string(w, key, vs_text_str(text));
    vs_text_release(text);
}

static void put_tags(struct vs_json_writer *w, const char *key, const struct vs_tag_bytes *tags,
                     size_t count) {
    vs_json_key(w, key);
    vs_json_object(w);
    for (size_t i = 0; i < count; i++) {
        vs_json_member_u64(w, tags[i].tag, tags[i].bytes);
    }
    vs_json_end(w, '}');
}

static void put_pools(struct vs_json_writer *w, const struct vs_outcome *p) {
    vs_json_key(w, "pools");
    vs_json_array(w);
    for (size_t i = 0; i < p->pool_count; i++) {
        const struct vs_pool_outcome *pool = &p->pools[i];
        vs_json_object(w);
        vs_json_member_string(w, "name", pool->name);
        vs_json_member_number(w, "capacity",
                              pool->capacity_bytes == UINT64_MAX ? (double)NAN
                                                                 : (double)pool->capacity_bytes);
        vs_json_member_u64(w, "peak", pool->peak_bytes);
        put_tags(w, "tags", pool->by_tag, pool->by_tag_count);
        vs_json_end(w, '}');
    }
    vs_json_end(w, ']');
}

static void put_oom(struct vs_json_writer *w, const struct vs_oom_outcome *oom) {
    struct vs_text place = {0};
    vs_json_key(w, "oom");
    if (!oom) {
        vs_json_null(w);
        return;
    }
    vs_json_object(w);
    vs_json_member_string(w, "pool", oom->pool);
    vs_report_place(&place, oom);
    member_made(w, "place", &place);
    vs_json_member_u64(w, "short", vs_report_short_bytes(oom));
    put_tags(w, "held", oom->by_tag, oom->by_tag_count);
    vs_json_end(w, '}');
}

static void put_point(struct vs_json_writer *w, const struct vs_outcome *p) {
    const enum vs_metric speed = vs_result_speed(p);
    struct vs_text command = {0};
    vs_json_object(w);
    vs_json_member_string(w, "label",
                          !p->label             ? "this run"
                          : p->label[0] != '\0' ? p->label
                                                : "plain");
    vs_json_member_string(w, "hw", p->hw);
    vs_json_member_string(w, "engine", p->engine);
    vs_json_member_boolean(w, "fits", p->fits);
    vs_json_member_boolean(w, "bound", p->bound);
    vs_json_member_number(w, "speed", p->fits ? p->metrics[speed] : (double)NAN);
    vs_json_member_number(w, "low", p->fits ? p->interval_low[speed] : (double)NAN);
    vs_json_member_number(w, "high", p->fits ? p->interval_high[speed] : (double)NAN);
    vs_json_member_number(w, "vram", p->metrics[VS_METRIC_PEAK_VRAM_GIB]);
    vs_json_member_number(w, "ram", p->metrics[VS_METRIC_PEAK_RAM_GIB]);
    vs_json_member_number(w, "longest", p->oom_point > 0 ? (double)p->oom_point : (double)NAN);
    vs_json_member_string(w, "bound_by", p->bound_by);
    put_pools(w, p);
    put_oom(w, p->fits ? NULL : p->oom);
    vs_report_command(&command, p);
    member_made(w, "command", &command);
    vs_json_end(w, '}');
}

/* "nf4, full checkpointing (fsdp): 223 tok/s, 9.94 GiB of device memory" */
static void put_choice(struct vs_text *out, const struct vs_outcome *p) {
    char text[VS_UNIT_TEXT];
    const enum vs_metric speed = vs_result_speed(p);
    vs_text_printf(out, "%s (%s): ", p->label && p->label[0] != '\0' ? p->label : "this run",
                   p->engine ? p->engine : "-");
    if (isfinite(p->metrics[speed]))
        vs_text_printf(out, "%s tok/s, ", vs_print_speed(text, p->metrics[speed]));
    vs_text_printf(out, "%s GiB of device memory",
                   vs_report_gib_value(text, p->metrics[VS_METRIC_PEAK_VRAM_GIB]));
}

/* What the reader came for, in one sentence. */
static void put_answer(struct vs_text *out, const struct vs_result *result,
                       const struct vs_outcome *const *points, size_t count) {
    char text[VS_UNIT_TEXT];
    const struct vs_sweep *sweep = result->sweep;
    const struct vs_outcome *first = count > 0 ? points[0] : NULL;
    if (!first) {
        vs_text_add(out, "no strategy to try");
    } else if (sweep && sweep->best >= 0) {
        vs_text_add(out, "best: ");
        put_choice(out, points[sweep->best]);
    } else if (first->fits && !sweep) {
        vs_text_add(out, "it fits: ");
        put_choice(out, first);
    } else if (first->fits) {
        vs_text_add(out,
                    "no recommendation: what fits needs fewer bits than the workload's format, "
                    "or an engine that is not known");
    } else if (first->oom) {
        vs_text_printf(out, "nothing fits: at least %s short on %s",
                       vs_print_bytes(text, vs_report_short_bytes(first->oom)), first->oom->pool);
    } else {
        vs_text_add(out, "nothing fits");
    }
}

/* Where points run out, the nearest miss first. */
static void put_misfits(struct vs_json_writer *w, const struct vs_result *result) {
    struct vs_misfits *groups = NULL;
    size_t count = 0;
    vs_json_key(w, "misfits");
    vs_json_array(w);
    if (result->sweep && !vs_misfits_find(result->sweep, &groups, &count))
        w->out->failed = true;
    for (size_t g = 0; g < count; g++) {
        vs_json_object(w);
        vs_json_member_u64(w, "point", groups[g].first);
        vs_json_member_u64(w, "count", groups[g].count);
        vs_json_end(w, '}');
    }
    if (result->run && result->run->oom && !result->run->fits) {
        vs_json_object(w);
        vs_json_member_u64(w, "point", 0);
        vs_json_member_u64(w, "count", 1);
        vs_json_end(w, '}');
    }
    vs_json_end(w, ']');
    free(groups);
}

/* The profile of each machine once, with the sentences that it rests on. */
static void put_machine(struct vs_json_writer *w, const struct vs_outcome *p) {
    vs_json_object(w);
    vs_json_member_string(w, "machine", p->machine);
    vs_json_key(w, "assumed");
    vs_json_array(w);
    for (size_t i = 0; i < p->assumed_count; i++)
        vs_json_string(w, p->assumed[i]);
    vs_json_end(w, ']');
    vs_json_key(w, "figures");
    vs_json_array(w);
    for (size_t i = 0; i < p->profile_count; i++) {
        const struct vs_figure *f = &p->profile[i];
        const char *const cells[] = {f->part, f->name, f->value, f->method, f->source};
        vs_json_array(w);
        for (size_t k = 0; k < sizeof cells / sizeof cells[0]; k++)
            vs_json_string(w, cells[k] ? cells[k] : "");
        vs_json_end(w, ']');
    }
    vs_json_end(w, ']');
    vs_json_end(w, '}');
}

static void put_machines(struct vs_json_writer *w, const struct vs_outcome *const *points,
                         size_t count) {
    vs_json_key(w, "machines");
    vs_json_array(w);
    for (size_t i = 0; i < count; i++) {
        bool seen = false;
        for (size_t k = 0; k < i && !seen; k++)
            seen = vs_streq(points[k]->machine, points[i]->machine);
        if (!seen)
            put_machine(w, points[i]);
    }
    vs_json_end(w, ']');
}

static void put_data(struct vs_text *out, const struct vs_result *result) {
    struct vs_json_writer w;
    struct vs_text headline = {0}, answer = {0};
    size_t count;
    const struct vs_outcome *const *points = vs_result_points(result, &count);
    const size_t shown = count < POINTS_MOST ? count : POINTS_MOST;
    vs_json_begin(&w, out);
    vs_json_object(&w);
    if (count > 0)
        vs_report_ask(&headline, result->sweep ? result->sweep->workload : NULL, points, count);
    member_made(&w, "question", &headline);
    put_answer(&answer, result, points, count);
    member_made(&w, "answer", &answer);
    vs_json_member_string(&w, "command", result->command);
    vs_json_member_string(&w, "speed_title",
                          count > 0 ? vs_metric_info(vs_result_speed(points[0]))->help : "");
    vs_json_member_string(&w, "longest_title",
                          result->sweep && result->sweep->oom_axis ? result->sweep->oom_axis : "");
    vs_json_member_number(&w, "best", result->sweep ? (double)result->sweep->best : 0);
    vs_json_member_number(&w, "left_out", (double)(count - shown));
    vs_json_key(&w, "points");
    vs_json_array(&w);
    for (size_t i = 0; i < shown; i++)
        put_point(&w, points[i]);
    vs_json_end(&w, ']');
    put_misfits(&w, result);
    put_machines(&w, points, count);
    out->failed = !vs_report_page_served(&w, result->replay) || out->failed;
    vs_json_end(&w, '}');
}

/* JSON inside of a script element: nothing in it may look like a tag or a comment. */
static void put_escaped(struct vs_text *out, const struct vs_text *json) {
    for (size_t i = 0; i < json->length; i++) {
        const char c = json->at[i];
        if (c == '<' || c == '>' || c == '&')
            vs_text_printf(out, "\\u%04x", (unsigned)c);
        else if (c != '\n' && !(c == ' ' && i > 0 && (json->at[i - 1] == '\n')))
            vs_text_addn(out, &c, 1);
        else
            i += strspn(json->at + i + 1, " "); /* indentation */
    }
}

bool vs_report_page(struct vs_text *out, const struct vs_result *result, struct vs_err *err) {
    struct vs_arena arena;
    struct vs_text json = {0};
    char *text;
    size_t length;
    bool done = false;
    vs_arena_init(&arena);
    const char *path = vs_data_path(&arena, TEMPLATE);
    if (!path) {
        (void)vs_err_set(err, VS_ERR_IO, "--html: %s is not in the data folders", TEMPLATE);
        goto out;
    }
    if (!vs_file_read(&arena, path, TEMPLATE_BYTES_MOST, &text, &length, err))
        goto out;
    const char *mark = strstr(text, MARK);
    if (!mark) {
        (void)vs_err_at(err, path, 0, 0, "expected %s, where the values go", MARK);
        goto out;
    }
    put_data(&json, result);
    vs_text_addn(out, text, (size_t)(mark - text));
    put_escaped(out, &json);
    vs_text_add(out, mark + strlen(MARK));
    out->failed = out->failed || json.failed;
    done = !out->failed || vs_err_nomem(err);
out:
    vs_text_release(&json);
    vs_arena_release(&arena);
    return done;
}
