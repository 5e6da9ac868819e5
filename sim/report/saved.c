#include "report/saved.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/file.h"

static const char EXPECTED[] =
    "expected what sweep, run, limit or validate wrote as JSON or CSV, or the lists of a replay";

/* The file that is being read. */
struct reader {
    struct vs_arena *arena;
    const char *file;
    struct vs_err *err;
};

static bool refuse(struct reader *r, const struct vs_json *node) {
    return vs_err_at(r->err, r->file, node->line, node->column, "%s", EXPECTED);
}

bool vs_saved_sweep(struct vs_arena *arena, const struct vs_outcome *const *points, size_t count,
                    struct vs_sweep **sweep, struct vs_err *err) {
    struct vs_sweep *s = VS_NEW(arena, struct vs_sweep);
    const struct vs_outcome **ranked = VS_NEW_ARRAY(arena, const struct vs_outcome *, count + 1);
    size_t n = 0;
    if (!s || !ranked)
        return vs_err_nomem(err);
    for (int fits = 1; fits >= 0; fits--)
        for (size_t i = 0; i < count; i++)
            if (points[i]->fits == (fits == 1))
                ranked[n++] = points[i];
    *s = (struct vs_sweep){.points = ranked, .point_count = count, .best = -1};
    s->fastest_fewer_bits = -1;
    while (s->fit_count < count && ranked[s->fit_count]->fits)
        s->fit_count++;
    if (count > 0) {
        s->hw = ranked[0]->hw;
        s->machine = ranked[0]->machine;
        s->model = ranked[0]->model;
        s->task = ranked[0]->task;
        s->rank_by = vs_result_speed(ranked[0]);
    }
    *sweep = s;
    return true;
}

/* An array of points. */
static bool read_points(struct reader *r, const struct vs_json *array,
                        const struct vs_outcome ***points) {
    size_t n = 0;
    *points = VS_NEW_ARRAY(r->arena, const struct vs_outcome *, array->count + 1);
    if (!*points)
        return vs_err_nomem(r->err);
    for (const struct vs_json *p = array->child; p; p = p->next)
        if (!vs_saved_outcome(r->arena, r->file, p, &(*points)[n++], r->err))
            return false;
    return true;
}

/* Along what the sweep went: files of older programs don't say. */
static bool read_axes(struct reader *r, const struct vs_json *root, struct vs_sweep *sweep) {
    const struct vs_json *list = vs_json_member(root, "axes");
    if (!list || list->kind != VS_JSON_ARRAY)
        return true;
    struct vs_sweep_axis *axes = VS_NEW_ARRAY(r->arena, struct vs_sweep_axis, list->count + 1);
    if (!axes)
        return vs_err_nomem(r->err);
    for (const struct vs_json *a = list->child; a; a = a->next) {
        const struct vs_json *listed = vs_json_member(a, "listed");
        const char *name = a->kind == VS_JSON_OBJECT ? vs_saved_text(a, "name") : NULL;
        if (name)
            axes[sweep->axis_count++] = (struct vs_sweep_axis){
                name, listed && listed->kind == VS_JSON_BOOL && listed->boolean};
    }
    sweep->axes = axes;
    return true;
}

static bool read_sweep(struct reader *r, const struct vs_json *root, struct vs_result *result) {
    const struct vs_json *array = vs_json_member(root, "points");
    const struct vs_outcome **points;
    struct vs_sweep *sweep;
    if (array->kind != VS_JSON_ARRAY)
        return refuse(r, array);
    if (!read_points(r, array, &points) ||
        !vs_saved_sweep(r->arena, points, array->count, &sweep, r->err) ||
        !read_axes(r, root, sweep))
        return false;
    sweep->workload = vs_saved_text(root, "workload");
    const double best = vs_saved_number(root, "best");
    if (best >= 0 && best < (double)sweep->fit_count)
        sweep->best = (long)best;
    result->sweep = sweep;
    return true;
}

static bool read_limit(struct reader *r, const struct vs_json *node,
                       const struct vs_limit **limit) {
    struct vs_limit *out = VS_NEW(r->arena, struct vs_limit);
    if (!out)
        return vs_err_nomem(r->err);
    const double value =
        node->kind == VS_JSON_OBJECT ? vs_saved_number(node, "value") : (double)NAN;
    const struct vs_json *at = vs_json_member(node, "at"), *beyond = vs_json_member(node, "beyond");
    const struct vs_json *open = vs_json_member(node, "open");
    out->axis = vs_saved_text(node, "axis");
    if (!out->axis || !(value >= 0 && value < 9e15))
        return refuse(r, node);
    out->value = (int64_t)value;
    out->open = open && open->kind == VS_JSON_BOOL && open->boolean;
    *limit = out;
    return (!at || at->kind == VS_JSON_NULL ||
            vs_saved_outcome(r->arena, r->file, at, &out->at, r->err)) &&
           (!beyond || beyond->kind == VS_JSON_NULL ||
            vs_saved_outcome(r->arena, r->file, beyond, &out->beyond, r->err));
}

/* One document, or an array of them: a grid. */
static bool read_limits(struct reader *r, const struct vs_json *root, struct vs_result *result) {
    const struct vs_json *first = root->kind == VS_JSON_ARRAY ? root->child : root;
    size_t count = 0;
    for (const struct vs_json *d = first; d; d = root->kind == VS_JSON_ARRAY ? d->next : NULL) {
        const struct vs_json *list = d->kind == VS_JSON_OBJECT ? vs_json_member(d, "limits") : NULL;
        if (!list || list->kind != VS_JSON_ARRAY)
            return refuse(r, d);
        count += list->count;
    }
    const struct vs_limit **limits = VS_NEW_ARRAY(r->arena, const struct vs_limit *, count + 1);
    if (!limits)
        return vs_err_nomem(r->err);
    for (const struct vs_json *d = first; d; d = root->kind == VS_JSON_ARRAY ? d->next : NULL)
        for (const struct vs_json *l = vs_json_member(d, "limits")->child; l; l = l->next)
            if (!read_limit(r, l, &limits[result->limit_count++]))
                return false;
    result->limits = limits;
    return count > 0 || refuse(r, root);
}

static bool read_case(struct reader *r, const struct vs_json *node, struct vs_case_row *row) {
    if (node->kind != VS_JSON_OBJECT)
        return refuse(r, node);
    const char *engine = vs_saved_text(node, "engine");
    row->file = r->file;
    row->line = node->line;
    row->id = vs_saved_text(node, "id");
    row->metric = vs_saved_text(node, "metric");
    row->group = vs_saved_text(node, "group");
    row->trust = vs_saved_text(node, "trust");
    row->failure = vs_saved_text(node, "failure");
    row->engine = engine ? engine : "";
    row->group = row->group ? row->group : "";
    row->trust = row->trust ? row->trust : "";
    row->measured = vs_saved_number(node, "measured");
    row->predicted = vs_saved_number(node, "predicted");
    row->error = vs_saved_number(node, "error");
    row->signed_error = row->predicted / row->measured - 1;
    row->low = vs_saved_number(node, "low");
    row->high = vs_saved_number(node, "high");
    row->low_trust = vs_streq(row->trust, "low");
    return (row->id && row->metric) || refuse(r, node);
}

static bool read_validation(struct reader *r, const struct vs_json *root,
                            struct vs_result *result) {
    const struct vs_json *list = vs_json_member(root, "cases");
    struct vs_validation *v = VS_NEW(r->arena, struct vs_validation);
    struct vs_case_row *rows = VS_NEW_ARRAY(r->arena, struct vs_case_row, list->count + 1);
    if (!v || !rows)
        return vs_err_nomem(r->err);
    if (list->kind != VS_JSON_ARRAY)
        return refuse(r, list);
    for (const struct vs_json *c = list->child; c; c = c->next)
        if (!read_case(r, c, &rows[v->row_count++]))
            return false;
    v->rows = rows;
    result->validation = v;
    return true;
}

static bool read_json(struct reader *r, const struct vs_json *root, struct vs_result *result) {
    if (root->kind == VS_JSON_ARRAY)
        return read_limits(r, root, result);
    if (root->kind != VS_JSON_OBJECT)
        return refuse(r, root);
    if (vs_json_member(root, "points"))
        return read_sweep(r, root, result);
    if (vs_json_member(root, "limits"))
        return read_limits(r, root, result);
    if (vs_json_member(root, "cases"))
        return read_validation(r, root, result);
    if (vs_json_member(root, "metrics"))
        return vs_saved_outcome(r->arena, r->file, root, &result->run, r->err);
    return refuse(r, root);
}

/* JSON begins with a bracket, and no name of a column does. */
static bool is_json(const char *path, bool *json, struct vs_err *err) {
    FILE *stream;
    int c;
    if (!vs_file_open(path, &stream, err))
        return false;
    do
        c = getc(stream);
    while (c != EOF && isspace(c));
    *json = c == '{' || c == '[';
    (void)fclose(stream);
    return c != EOF || vs_err_at(err, path, 1, 1, "found nothing, %s", EXPECTED);
}

bool vs_saved_load(struct vs_arena *arena, const char *path, struct vs_result *result,
                   struct vs_err *err) {
    struct reader r = {arena, path, err};
    const struct vs_json *root;
    bool json = false;
    *result = (struct vs_result){.command = NULL};
    if (!is_json(path, &json, err))
        return false;
    if (!json)
        return vs_saved_csv(arena, path, result, err);
    return vs_json_load(arena, path, &root, err) && read_json(&r, root, result);
}
