#include <math.h>
#include <string.h>

#include "report/saved.h"

const char *vs_saved_text(const struct vs_json *object, const char *key) {
    const struct vs_json *value = vs_json_member(object, key);
    return value && value->kind == VS_JSON_STRING ? value->string : NULL;
}

double vs_saved_number(const struct vs_json *object, const char *key) {
    const struct vs_json *value = vs_json_member(object, key);
    return value && value->kind == VS_JSON_NUMBER ? value->number : (double)NAN;
}

/* Bytes; `missing` where the key is not there or null. */
static uint64_t bytes_of(const struct vs_json *object, const char *key, uint64_t missing) {
    const struct vs_json *value = vs_json_member(object, key);
    return value && value->is_integer ? value->integer : missing;
}

static bool flag(const struct vs_json *object, const char *key) {
    const struct vs_json *value = vs_json_member(object, key);
    return value && value->kind == VS_JSON_BOOL && value->boolean;
}

/* Members of an object, or none; the count of children is room enough. */
static const struct vs_json *members(const struct vs_json *object, const char *key, size_t *count) {
    const struct vs_json *value = vs_json_member(object, key);
    const bool there = value && (value->kind == VS_JSON_OBJECT || value->kind == VS_JSON_ARRAY);
    *count = there ? value->count : 0;
    return there ? value->child : NULL;
}

static bool read_tags(struct vs_arena *arena, const struct vs_json *object,
                      const struct vs_tag_bytes **tags, size_t *count) {
    size_t room;
    const struct vs_json *tag = members(object, "by_tag", &room);
    struct vs_tag_bytes *list = VS_NEW_ARRAY(arena, struct vs_tag_bytes, room + 1);
    *count = 0;
    for (; list && tag; tag = tag->next)
        if (tag->is_integer && tag->key)
            list[(*count)++] = (struct vs_tag_bytes){tag->key, tag->integer};
    *tags = list;
    return list != NULL;
}

static bool read_pools(struct vs_arena *arena, const struct vs_json *object,
                       struct vs_outcome *out) {
    size_t room;
    const struct vs_json *pool = members(object, "memory", &room);
    struct vs_pool_outcome *list = VS_NEW_ARRAY(arena, struct vs_pool_outcome, room + 1);
    for (; list && pool; pool = pool->next) {
        if (pool->kind != VS_JSON_OBJECT || !pool->key)
            continue;
        struct vs_pool_outcome *p = &list[out->pool_count++];
        p->name = pool->key;
        p->capacity_bytes = bytes_of(pool, "capacity_bytes", UINT64_MAX);
        p->peak_bytes = bytes_of(pool, "peak_bytes", 0);
        p->peak_allocated_bytes = bytes_of(pool, "peak_allocated_bytes", 0);
        if (!read_tags(arena, pool, &p->by_tag, &p->by_tag_count))
            return false;
    }
    out->pools = list;
    return list != NULL;
}

static bool read_oom(struct vs_arena *arena, const struct vs_json *object, struct vs_outcome *out) {
    const struct vs_json *value = vs_json_member(object, "oom");
    if (!value || value->kind != VS_JSON_OBJECT)
        return true;
    struct vs_oom_outcome *oom = VS_NEW(arena, struct vs_oom_outcome);
    if (!oom)
        return false;
    const char *pool = vs_saved_text(value, "pool");
    *oom = (struct vs_oom_outcome){.pool = pool ? pool : "-",
                                   .phase = vs_saved_text(value, "phase"),
                                   .operation = vs_saved_text(value, "operation"),
                                   .tensor = vs_saved_text(value, "tensor"),
                                   .at_s = vs_saved_number(value, "at_s"),
                                   .requested_bytes = bytes_of(value, "requested_bytes", 0),
                                   .in_use_bytes = bytes_of(value, "in_use_bytes", 0),
                                   .capacity_bytes = bytes_of(value, "capacity_bytes", 0),
                                   .short_bytes = bytes_of(value, "short_bytes", 0),
                                   .needed_bytes = bytes_of(value, "needed_bytes", 0)};
    out->oom = oom;
    return read_tags(arena, value, &oom->by_tag, &oom->by_tag_count);
}

static bool read_strategy(struct vs_arena *arena, const struct vs_json *object,
                          struct vs_outcome *out) {
    size_t room;
    const struct vs_json *word = members(object, "strategy", &room);
    struct vs_axis_word *list = VS_NEW_ARRAY(arena, struct vs_axis_word, room + 1);
    for (; list && word; word = word->next)
        if (word->kind == VS_JSON_STRING && word->key)
            list[out->strategy_count++] = (struct vs_axis_word){word->key, word->string};
    out->strategy = list;
    return list != NULL;
}

static bool read_utilization(struct vs_arena *arena, const struct vs_json *object,
                             struct vs_outcome *out) {
    size_t room;
    const struct vs_json *use = members(object, "utilization", &room);
    struct vs_utilization *list = VS_NEW_ARRAY(arena, struct vs_utilization, room + 1);
    for (; list && use; use = use->next)
        if (use->kind == VS_JSON_NUMBER && use->key)
            list[out->utilization_count++] = (struct vs_utilization){use->key, use->number};
    out->utilization = list;
    return list != NULL;
}

static bool read_sentences(struct vs_arena *arena, const struct vs_json *object,
                           struct vs_outcome *out) {
    size_t room;
    const struct vs_json *text = members(object, "assumed", &room);
    const char **list = VS_NEW_ARRAY(arena, const char *, room + 1);
    for (; list && text; text = text->next)
        if (text->kind == VS_JSON_STRING)
            list[out->assumed_count++] = text->string;
    out->assumed = list;
    return list != NULL;
}

static void read_metrics(const struct vs_json *object, struct vs_outcome *out) {
    size_t room;
    enum vs_metric metric;
    const struct vs_json *value = members(object, "metrics", &room);
    for (; value; value = value->next)
        if (value->kind == VS_JSON_NUMBER && value->key && vs_metric_find(value->key, &metric))
            out->metrics[metric] = value->number;
    value = members(object, "interval80", &room);
    for (; value; value = value->next) {
        const bool pair = value->kind == VS_JSON_ARRAY && value->count == 2 &&
                          value->child->kind == VS_JSON_NUMBER &&
                          value->child->next->kind == VS_JSON_NUMBER;
        if (!pair || !value->key || !vs_metric_find(value->key, &metric))
            continue;
        out->interval_low[metric] = value->child->number;
        out->interval_high[metric] = value->child->next->number;
    }
}

struct vs_outcome *vs_saved_blank(struct vs_arena *arena) {
    struct vs_outcome *out = VS_NEW(arena, struct vs_outcome);
    for (int i = 0; out && i < VS_METRIC_COUNT; i++)
        out->metrics[i] = out->interval_low[i] = out->interval_high[i] = (double)NAN;
    return out;
}

bool vs_saved_outcome(struct vs_arena *arena, const char *file, const struct vs_json *object,
                      const struct vs_outcome **outcome, struct vs_err *err) {
    struct vs_outcome *out = vs_saved_blank(arena);
    if (!out)
        return vs_err_nomem(err);
    if (object->kind != VS_JSON_OBJECT || !vs_json_member(object, "metrics"))
        return vs_err_at(err, file, object->line, object->column,
                         "expected a point with its metrics");
    out->hw = vs_saved_text(object, "hw");
    out->machine = vs_saved_text(object, "machine");
    out->model = vs_saved_text(object, "model");
    out->engine = vs_saved_text(object, "engine");
    out->engine_version = vs_saved_text(object, "engine_version");
    out->task = vs_saved_text(object, "task");
    out->label = vs_saved_text(object, "label");
    out->bound_by = vs_saved_text(object, "bound_by");
    out->bound = flag(object, "bound");
    out->fits = flag(object, "fits");
    out->extrapolating = flag(object, "extrapolating");
    read_metrics(object, out);
    if (!out->hw || !out->model || !out->task)
        return vs_err_at(err, file, object->line, object->column,
                         "expected a point with hw, model and task");
    if (!read_strategy(arena, object, out) || !read_pools(arena, object, out) ||
        !read_oom(arena, object, out) || !read_utilization(arena, object, out) ||
        !read_sentences(arena, object, out))
        return vs_err_nomem(err);
    *outcome = out;
    return true;
}
