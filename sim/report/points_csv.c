/* Points as CSV: one row each, every column named with its unit. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/csv.h"
#include "base/vec.h"
#include "report/common.h"
#include "report/report.h"

struct columns {
    VS_VEC(const char *) axes; /* each that a point has, in the order met */
    bool metrics[VS_METRIC_COUNT];
    const char *oom_axis;
};

static bool axis_listed(const struct columns *columns, const char *axis) {
    for (size_t i = 0; i < columns->axes.count; i++) {
        if (vs_streq(columns->axes.at[i], axis))
            return true;
    }
    return false;
}

static bool columns_find(struct columns *columns, const struct vs_outcome *const *points,
                         size_t count) {
    for (size_t p = 0; p < count; p++) {
        const struct vs_outcome *point = points[p];
        for (size_t i = 0; i < point->strategy_count; i++) {
            const char *axis = point->strategy[i].axis;
            if (!axis_listed(columns, axis) && !vs_vec_push(&columns->axes, axis))
                return false;
        }
        for (int m = 0; m < VS_METRIC_COUNT; m++)
            columns->metrics[m] = columns->metrics[m] || isfinite(point->metrics[m]);
        columns->metrics[VS_METRIC_FITS] = false; /* has a column of its own */
    }
    return true;
}

static const char *const OOM_COLUMNS[] = {
    "oom_pool",           "oom_phase",           "oom_operation",
    "oom_tensor",         "oom_requested_bytes", "oom_in_use_bytes",
    "oom_capacity_bytes", "oom_short_bytes",     "oom_needed_bytes"};
enum { OOM_COLUMN_COUNT = sizeof OOM_COLUMNS / sizeof OOM_COLUMNS[0] };

static void put_header(struct vs_text *out, const struct columns *columns) {
    vs_text_add(out, "rank,label,hw,machine,model,engine,engine_version,task,fits,bound,");
    for (int m = 0; m < VS_METRIC_COUNT; m++) {
        if (columns->metrics[m])
            vs_csv_put(out, vs_metric_info((enum vs_metric)m)->name, false);
    }
    if (columns->oom_axis)
        vs_text_printf(out, "max_%s,max_%s_open,", columns->oom_axis, columns->oom_axis);
    vs_text_add(out, "bound_by,");
    for (size_t i = 0; i < columns->axes.count; i++)
        vs_csv_put(out, columns->axes.at[i], false);
    for (size_t i = 0; i < OOM_COLUMN_COUNT; i++)
        vs_csv_put(out, OOM_COLUMNS[i], i + 1 == OOM_COLUMN_COUNT);
}

static void put_u64(struct vs_text *out, bool known, uint64_t number, bool last) {
    char text[VS_UNIT_TEXT] = "";
    if (known && number != UINT64_MAX)
        (void)snprintf(text, sizeof text, "%" PRIu64, number);
    vs_csv_put(out, text, last);
}

static void put_oom(struct vs_text *out, const struct vs_oom_outcome *oom) {
    static const struct vs_oom_outcome none = {.pool = NULL};
    const bool known = oom != NULL;
    const struct vs_oom_outcome *o = known ? oom : &none;
    vs_csv_put(out, o->pool, false);
    vs_csv_put(out, o->phase, false);
    vs_csv_put(out, o->operation, false);
    vs_csv_put(out, o->tensor, false);
    put_u64(out, known, o->requested_bytes, false);
    put_u64(out, known, o->in_use_bytes, false);
    put_u64(out, known, o->capacity_bytes, false);
    put_u64(out, known, o->short_bytes, false);
    put_u64(out, known, o->needed_bytes, true);
}

static void put_metric(struct vs_text *out, const struct vs_outcome *point, enum vs_metric metric) {
    char text[VS_UNIT_TEXT] = "";
    const bool lost = !point->fits && vs_report_is_speed(metric, point->task);
    if (isfinite(point->metrics[metric]) && !lost)
        (void)vs_print_g9(text, point->metrics[metric]);
    vs_csv_put(out, text, false);
}

static void put_point(struct vs_text *out, const struct columns *columns,
                      const struct vs_outcome *point, size_t rank) {
    const char *const names[] = {point->label, point->hw,     point->machine,
                                 point->model, point->engine, point->engine_version,
                                 point->task};
    put_u64(out, rank > 0, rank, false);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        vs_csv_put(out, names[i], false);
    vs_text_add(out, point->fits ? "1," : "0,");
    vs_text_add(out, point->bound ? "1," : "0,");
    for (int m = 0; m < VS_METRIC_COUNT; m++) {
        if (columns->metrics[m])
            put_metric(out, point, (enum vs_metric)m);
    }
    if (columns->oom_axis) {
        const bool known = point->oom_point != 0;
        put_u64(out, known, point->oom_point > 0 ? (uint64_t)point->oom_point : 0, false);
        vs_csv_put(out, !known ? "" : point->oom_point_open ? "1" : "0", false);
    }
    vs_csv_put(out, point->bound_by, false);
    for (size_t i = 0; i < columns->axes.count; i++)
        vs_csv_put(out, vs_report_word(point, columns->axes.at[i]), false);
    put_oom(out, point->fits ? NULL : point->oom);
}

void vs_report_points_csv(struct vs_text *out, const struct vs_outcome *const *points, size_t count,
                          size_t ranked, const char *oom_axis) {
    struct columns columns = {.oom_axis = oom_axis};
    if (columns_find(&columns, points, count)) {
        put_header(out, &columns);
        for (size_t i = 0; i < count; i++)
            put_point(out, &columns, points[i], i < ranked ? i + 1 : 0);
    } else {
        out->failed = true;
    }
    vs_vec_release(&columns.axes);
}

void vs_report_run_csv(struct vs_text *out, const struct vs_outcome *outcome) {
    vs_report_points_csv(out, &outcome, 1, outcome->fits ? 1 : 0, NULL);
}

void vs_report_sweep_csv(struct vs_text *out, const struct vs_sweep *sweep) {
    vs_report_points_csv(out, sweep->points, sweep->point_count, sweep->fit_count, sweep->oom_axis);
}
