/* Points, limits, cases, and the lists of a replay as CSV: kinds are told by their first columns.
 * CSV has no memory by tag and no intervals: plots that need them are not drawn from it. */
#include <math.h>
#include <string.h>

#include "base/csv.h"
#include "base/units.h"
#include "base/vec.h"
#include "report/saved.h"
#include "work/axis.h"

static const char *cell(const struct vs_csv *csv, const char *column) {
    const int at = vs_csv_column(csv, column);
    return at < 0 ? "" : vs_csv_field(csv, (size_t)at);
}

/* A copy; NULL for an empty cell, and (with `failed`) when memory runs out. */
static const char *text(struct vs_arena *arena, const struct vs_csv *csv, const char *column,
                        bool *failed) {
    const char *word = cell(csv, column);
    const char *copy = word[0] != '\0' ? vs_arena_strdup(arena, word) : NULL;
    *failed = *failed || (word[0] != '\0' && !copy);
    return copy;
}

static double number(const char *word) {
    char why[VS_WHY_SIZE];
    double value;
    return word[0] != '\0' && vs_parse_number(word, &value, why) ? value : (double)NAN;
}

static uint64_t bytes(const struct vs_csv *csv, const char *column) {
    const double value = number(cell(csv, column));
    return value > 0 && value < 1e18 ? (uint64_t)value : 0;
}

static bool read_oom(struct vs_arena *arena, const struct vs_csv *csv, struct vs_outcome *out) {
    bool failed = false;
    struct vs_oom_outcome *oom = VS_NEW(arena, struct vs_oom_outcome);
    if (!oom)
        return false;
    *oom = (struct vs_oom_outcome){.pool = text(arena, csv, "oom_pool", &failed),
                                   .phase = text(arena, csv, "oom_phase", &failed),
                                   .operation = text(arena, csv, "oom_operation", &failed),
                                   .tensor = text(arena, csv, "oom_tensor", &failed),
                                   .at_s = (double)NAN,
                                   .requested_bytes = bytes(csv, "oom_requested_bytes"),
                                   .in_use_bytes = bytes(csv, "oom_in_use_bytes"),
                                   .capacity_bytes = bytes(csv, "oom_capacity_bytes"),
                                   .short_bytes = bytes(csv, "oom_short_bytes"),
                                   .needed_bytes = bytes(csv, "oom_needed_bytes")};
    if (oom->pool)
        out->oom = oom;
    return !failed;
}

/* Columns that are axes, and columns that are metrics. */
static bool read_words(struct vs_arena *arena, const struct vs_csv *csv, struct vs_outcome *out) {
    const size_t columns = vs_csv_columns(csv);
    struct vs_axis_word *words = VS_NEW_ARRAY(arena, struct vs_axis_word, columns + 1);
    bool failed = words == NULL;
    for (size_t i = 0; !failed && i < columns; i++) {
        const char *name = vs_csv_header(csv, i), *word = vs_csv_field(csv, i);
        enum vs_metric metric;
        enum vs_axis axis;
        if (vs_metric_find(name, &metric))
            out->metrics[metric] = number(word);
        else if (word[0] != '\0' && vs_axis_find(name, &axis) &&
                 !vs_streq(vs_axis_info(axis)->group, "what"))
            words[out->strategy_count++] =
                (struct vs_axis_word){vs_axis_info(axis)->name, text(arena, csv, name, &failed)};
    }
    out->strategy = words;
    return !failed;
}

static struct vs_outcome *read_point(struct vs_arena *arena, const struct vs_csv *csv) {
    bool failed = false;
    struct vs_outcome *out = vs_saved_blank(arena);
    if (!out)
        return NULL;
    out->label = text(arena, csv, "label", &failed);
    out->hw = text(arena, csv, "hw", &failed);
    out->machine = text(arena, csv, "machine", &failed);
    out->model = text(arena, csv, "model", &failed);
    out->engine = text(arena, csv, "engine", &failed);
    out->engine_version = text(arena, csv, "engine_version", &failed);
    out->task = text(arena, csv, "task", &failed);
    out->bound_by = text(arena, csv, "bound_by", &failed);
    out->fits = vs_streq(cell(csv, "fits"), "1");
    out->bound = vs_streq(cell(csv, "bound"), "1");
    failed = failed || !read_words(arena, csv, out) || (!out->fits && !read_oom(arena, csv, out));
    return failed ? NULL : out;
}

static bool read_points(struct vs_arena *arena, struct vs_csv *csv, const char *path,
                        struct vs_result *result, struct vs_err *err) {
    VS_VEC(const struct vs_outcome *) points = {0};
    struct vs_sweep *sweep = NULL;
    bool ok = true, more = true;
    while (ok && (ok = vs_csv_next(csv, &more, err)) && more) {
        const struct vs_outcome *point = read_point(arena, csv);
        if (!point || !vs_vec_push(&points, point))
            ok = vs_err_nomem(err);
        else if (!point->hw || !point->model || !point->task)
            ok =
                vs_err_at(err, path, vs_csv_line(csv), 1, "expected hw, model and task of a point");
    }
    ok = ok && vs_saved_sweep(arena, points.at, points.count, &sweep, err);
    vs_vec_release(&points);
    result->sweep = sweep;
    return ok;
}

static bool read_limit(struct vs_arena *arena, const struct vs_csv *csv, const char *path,
                       struct vs_limit *limit, struct vs_err *err) {
    const double value = number(cell(csv, "value")), most = number(cell(csv, "model_maximum"));
    bool failed = false;
    struct vs_outcome *at = read_point(arena, csv), *beyond = read_point(arena, csv);
    *limit = (struct vs_limit){.axis = text(arena, csv, "axis", &failed),
                               .open = vs_streq(cell(csv, "open"), "1"),
                               .not_monotone = vs_streq(cell(csv, "not_monotone"), "1"),
                               .model_maximum = most > 0 && most < 9e15 ? (int64_t)most : 0};
    if (!at || !beyond || failed)
        return vs_err_nomem(err);
    if (!limit->axis || !(value >= 0 && value < 9e15))
        return vs_err_at(err, path, vs_csv_line(csv), 1, "expected axis and value of a limit");
    if (!at->hw || !at->model || !at->task)
        return vs_err_at(err, path, vs_csv_line(csv), 1, "expected hw, model and task of a limit");
    limit->value = (int64_t)value;
    at->fits = true;
    at->oom = NULL;
    limit->at = limit->value > 0 ? at : NULL;
    limit->beyond = beyond->oom ? beyond : NULL;
    return true;
}

static bool read_limits(struct vs_arena *arena, struct vs_csv *csv, const char *path,
                        struct vs_result *result, struct vs_err *err) {
    VS_VEC(const struct vs_limit *) limits = {0};
    bool ok = true, more = true;
    while (ok && (ok = vs_csv_next(csv, &more, err)) && more) {
        struct vs_limit *limit = VS_NEW(arena, struct vs_limit);
        if (!limit || !vs_vec_push(&limits, limit))
            ok = vs_err_nomem(err);
        ok = ok && read_limit(arena, csv, path, limit, err);
    }
    const struct vs_limit **copy = vs_arena_copy(arena, limits.at, limits.count, sizeof *limits.at);
    result->limits = copy;
    result->limit_count = limits.count;
    vs_vec_release(&limits);
    return ok && (copy != NULL || vs_err_nomem(err));
}

static bool read_case(struct vs_arena *arena, const struct vs_csv *csv, struct vs_case_row *row) {
    bool failed = false;
    const char *engine = text(arena, csv, "engine", &failed);
    *row = (struct vs_case_row){.id = text(arena, csv, "id", &failed),
                                .metric = text(arena, csv, "metric", &failed),
                                .trust = text(arena, csv, "trust", &failed),
                                .failure = text(arena, csv, "failure", &failed),
                                .engine = engine ? engine : "",
                                .measured = number(cell(csv, "measured")),
                                .predicted = number(cell(csv, "predicted")),
                                .error = number(cell(csv, "error")),
                                .low = (double)NAN,
                                .high = (double)NAN};
    row->group = "";
    row->trust = row->trust ? row->trust : "";
    row->signed_error = row->predicted / row->measured - 1;
    row->low_trust = vs_streq(row->trust, "low");
    return !failed;
}

static bool read_cases(struct vs_arena *arena, struct vs_csv *csv, const char *path,
                       struct vs_result *result, struct vs_err *err) {
    VS_VEC(struct vs_case_row) rows = {0};
    struct vs_validation *v = VS_NEW(arena, struct vs_validation);
    bool ok = v != NULL || vs_err_nomem(err), more = true;
    while (ok && (ok = vs_csv_next(csv, &more, err)) && more) {
        struct vs_case_row row;
        if (!read_case(arena, csv, &row) || !vs_vec_push(&rows, row))
            ok = vs_err_nomem(err);
        else if (!row.id || !row.metric)
            ok = vs_err_at(err, path, vs_csv_line(csv), 1, "expected id and metric of a case");
    }
    struct vs_case_row *copy =
        ok ? vs_arena_copy(arena, rows.at, rows.count, sizeof *rows.at) : NULL;
    if (copy) {
        *v = (struct vs_validation){.rows = copy, .row_count = rows.count};
        result->validation = v;
    }
    vs_vec_release(&rows);
    return ok && (copy != NULL || vs_err_nomem(err));
}

static double of(const struct vs_csv *csv, const char *column) { return number(cell(csv, column)); }

static struct vs_replayed_request read_request(const struct vs_csv *csv) {
    return (struct vs_replayed_request){of(csv, "arrived_s"), of(csv, "prompt"), of(csv, "gen"),
                                        of(csv, "ttft_s"),    of(csv, "tpot_s"), of(csv, "e2e_s")};
}

static struct vs_replayed_moment read_moment(const struct vs_csv *csv) {
    return (struct vs_replayed_moment){of(csv, "t_s"),        of(csv, "running"),
                                       of(csv, "waiting"),    of(csv, "kv_pct"),
                                       of(csv, "prompt_tps"), of(csv, "out_tps")};
}

/* One of the lists of a replay: moments have a time, requests have latencies. */
static bool read_replay(struct vs_arena *arena, struct vs_csv *csv, struct vs_result *result,
                        struct vs_err *err) {
    VS_VEC(struct vs_replayed_request) requests = {0};
    VS_VEC(struct vs_replayed_moment) moments = {0};
    struct vs_replayed *replay = VS_NEW(arena, struct vs_replayed);
    const bool timed = vs_csv_column(csv, "t_s") >= 0;
    bool ok = replay != NULL || vs_err_nomem(err), more = true;
    while (ok && (ok = vs_csv_next(csv, &more, err)) && more) {
        if (!(timed ? vs_vec_push(&moments, read_moment(csv))
                    : vs_vec_push(&requests, read_request(csv))))
            ok = vs_err_nomem(err);
    }
    if (ok) {
        replay->requests = vs_arena_copy(arena, requests.at, requests.count, sizeof *requests.at);
        replay->moments = vs_arena_copy(arena, moments.at, moments.count, sizeof *moments.at);
        replay->request_count = requests.count;
        replay->moment_count = moments.count;
        result->replay = replay;
        ok = (replay->requests && replay->moments) || vs_err_nomem(err);
    }
    vs_vec_release(&requests);
    vs_vec_release(&moments);
    return ok;
}

bool vs_saved_csv(struct vs_arena *arena, const char *path, struct vs_result *result,
                  struct vs_err *err) {
    bool ok;
    struct vs_csv *csv = vs_csv_open(path, err);
    if (!csv)
        return false;
    if (vs_csv_column(csv, "label") >= 0 && vs_csv_column(csv, "fits") >= 0)
        ok = read_points(arena, csv, path, result, err);
    else if (vs_csv_column(csv, "axis") >= 0 && vs_csv_column(csv, "value") >= 0)
        ok = read_limits(arena, csv, path, result, err);
    else if (vs_csv_column(csv, "measured") >= 0 && vs_csv_column(csv, "predicted") >= 0)
        ok = read_cases(arena, csv, path, result, err);
    else if (vs_csv_column(csv, "ttft_s") >= 0 || vs_csv_column(csv, "t_s") >= 0)
        ok = read_replay(arena, csv, result, err);
    else
        ok = vs_err_at(err, path, 1, 1,
                       "found other columns, expected those of sweep, run, limit, validate or a "
                       "replay");
    vs_csv_close(csv);
    return ok;
}
