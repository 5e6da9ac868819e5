#include "work/workload.h"

#include <inttypes.h>
#include <string.h>

#include "base/data.h"
#include "base/json.h"
#include "base/text.h"
#include "base/units.h"

static const char SCHEMA[] = "vramsim-workload/1";

enum { ENGINES_MOST = 16, NEAREST_SIZE = 200 };

/* Parses the value of an axis that stands at `node`, a member of the object that `reader` has open;
 * messages begin "x.json:3:5: at $.axes.ctx". */
static bool give(struct vs_arena *arena, const struct vs_json_reader *reader,
                 const struct vs_json *node, enum vs_axis axis, const char *text,
                 struct vs_values *values, struct vs_err *err) {
    const char *where = vs_arena_printf(arena, "%s:%d:%d: at %s.%s", reader->file, node->line,
                                        node->column, reader->path, node->key);
    if (!where || !text)
        return vs_err_nomem(err);
    if (!vs_axis_parse(arena, axis, text, where, &values->at[axis], err))
        return false;
    values->origin[axis] = VS_FROM_WORKLOAD;
    return true;
}

/* A word as on the command line; whole and real numbers may stand without quotes. */
static const char *word_of(struct vs_arena *arena, const struct vs_json *node) {
    char number[VS_UNIT_TEXT];
    if (node->kind == VS_JSON_STRING)
        return node->string;
    if (node->is_integer)
        return vs_arena_printf(arena, "%" PRIu64, node->integer);
    return vs_arena_strdup(arena, vs_print_g9(number, node->number));
}

static bool unknown_axis(const struct vs_json_reader *reader, const struct vs_json *node,
                         struct vs_err *err) {
    const char *names[VS_AXIS_COUNT];
    char nearest[NEAREST_SIZE];
    for (int i = 0; i < VS_AXIS_COUNT; i++)
        names[i] = vs_axis_info((enum vs_axis)i)->name;
    vs_nearest(node->key, names, VS_AXIS_COUNT, nearest, sizeof nearest);
    return vs_json_fail(reader, node, err, "unknown axis '%s'; nearest: %s", node->key, nearest);
}

static bool read_axis(struct vs_arena *arena, const struct vs_json_reader *reader,
                      const struct vs_json *node, struct vs_values *values, struct vs_err *err) {
    enum vs_axis axis;
    if (!vs_axis_find(node->key, &axis))
        return unknown_axis(reader, node, err);
    const struct vs_axis_info *info = vs_axis_info(axis);
    if (vs_streq(info->group, "what"))
        return vs_json_fail(reader, node, err,
                            "'%s' is no axis of a workload, expected shape or strategy", node->key);
    if (!strchr(info->tasks, values->at[VS_AXIS_TASK].text[0]))
        return vs_json_fail(reader, node, err, "'%s' does not apply to task %s", node->key,
                            values->at[VS_AXIS_TASK].text);
    if (vs_given(values, axis))
        return vs_json_fail(reader, node, err, "'%s' is given twice", info->name);
    if (node->kind != VS_JSON_STRING && node->kind != VS_JSON_NUMBER)
        return vs_json_fail(reader, node, err,
                            "found neither a string nor a number, expected a "
                            "value as on the command line");
    return give(arena, reader, node, axis, word_of(arena, node), values, err);
}

/* Not closed: every key was looked up in the table of axes. */
static bool read_axes(struct vs_arena *arena, struct vs_json_reader *outer,
                      struct vs_values *values, struct vs_err *err) {
    struct vs_json_reader reader;
    bool present = false;
    if (!vs_json_open_member(outer, "axes", false, &reader, &present, err))
        return false;
    if (!present)
        return true;
    for (const struct vs_json *node = reader.object->child; node; node = node->next)
        if (!read_axis(arena, &reader, node, values, err))
            return false;
    return true;
}

static bool read_engines(struct vs_arena *arena, struct vs_json_reader *reader,
                         struct vs_workload *w, struct vs_err *err) {
    const struct vs_json *node = vs_json_member(reader->object, "engines");
    if (!vs_json_get_strings(reader, "engines", true, arena, &w->engines, &w->engine_count, err))
        return false;
    if (w->engine_count == 0 || w->engine_count > ENGINES_MOST)
        return vs_json_fail(reader, node, err, "found %zu engines, expected 1 to %d",
                            w->engine_count, ENGINES_MOST);
    for (size_t i = 1; i < w->engine_count; i++) {
        for (size_t k = 0; k < i; k++) {
            if (vs_streq(w->engines[i], w->engines[k]))
                return vs_json_fail(reader, node, err, "engine '%s' stands twice", w->engines[i]);
        }
    }
    return true;
}

/* The keys outside "axes"; model and task are axes too. */
static bool read_head(struct vs_arena *arena, struct vs_json_reader *reader, struct vs_workload *w,
                      struct vs_err *err) {
    const char *schema = NULL, *model = NULL;
    const char *const *aliases = NULL;
    size_t alias_count = 0;
    if (!vs_json_get_string(reader, "schema", true, &schema, err) ||
        !vs_json_get_string(reader, "name", true, &w->name, err) ||
        !vs_json_get_strings(reader, "aliases", false, arena, &aliases, &alias_count, err) ||
        !vs_json_get_string(reader, "about", true, &w->about, err) ||
        !vs_json_get_string(reader, "model", true, &model, err) ||
        !vs_json_get_string(reader, "task", true, &w->task, err))
        return false;
    if (!vs_streq(schema, SCHEMA))
        return vs_json_fail(reader, vs_json_member(reader->object, "schema"), err,
                            "found '%s', expected '%s'", schema, SCHEMA);
    return give(arena, reader, vs_json_member(reader->object, "model"), VS_AXIS_MODEL, model,
                &w->values, err) &&
           give(arena, reader, vs_json_member(reader->object, "task"), VS_AXIS_TASK, w->task,
                &w->values, err);
}

bool vs_workload_load(struct vs_arena *arena, const char *name_or_file,
                      struct vs_workload *workload, struct vs_err *err) {
    struct vs_workload w = {0};
    struct vs_json_reader reader;
    const struct vs_json *root = NULL;
    if (!vs_data_find(arena, "workloads", "workload", name_or_file, &w.file, err) ||
        !vs_json_load(arena, w.file, &root, err) ||
        !vs_json_open(&reader, w.file, "$", root, err) || !read_head(arena, &reader, &w, err) ||
        !read_engines(arena, &reader, &w, err) || !read_axes(arena, &reader, &w.values, err) ||
        !vs_json_close(&reader, err))
        return false;
    *workload = w;
    return true;
}
