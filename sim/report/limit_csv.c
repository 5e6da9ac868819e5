/* OOM points as CSV: a row each: what was found, and of which point. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/csv.h"
#include "base/vec.h"
#include "report/common.h"
#include "report/report.h"

/* Axes that the points have, in the order met. */
struct columns {
    VS_VEC(const char *) axes;
};

/* The run that tells what was asked. */
static const struct vs_outcome *run_of(const struct vs_limit *limit) {
    return limit->at ? limit->at : limit->beyond;
}

static bool columns_find(struct columns *columns, const struct vs_limit *const *limits,
                         size_t count) {
    for (size_t i = 0; i < count; i++) {
        const struct vs_outcome *run = run_of(limits[i]);
        for (size_t k = 0; run && k < run->strategy_count; k++) {
            bool listed = false;
            for (size_t c = 0; c < columns->axes.count && !listed; c++)
                listed = vs_streq(columns->axes.at[c], run->strategy[k].axis);
            if (!listed && !vs_vec_push(&columns->axes, run->strategy[k].axis))
                return false;
        }
    }
    return true;
}

static void put_found(struct vs_text *out, const struct vs_limit *limit) {
    const struct vs_oom_outcome *oom = limit->beyond ? limit->beyond->oom : NULL;
    char text[VS_UNIT_TEXT] = "";
    vs_text_printf(out, "%s,%" PRId64 ",%d,%d,%" PRId64 ",", limit->axis, limit->value, limit->open,
                   limit->not_monotone, limit->model_maximum);
    if (limit->at && isfinite(limit->at->metrics[VS_METRIC_PEAK_VRAM_GIB]))
        (void)vs_print_g9(text, limit->at->metrics[VS_METRIC_PEAK_VRAM_GIB]);
    vs_csv_put(out, text, false);
    vs_csv_put(out, oom ? oom->pool : "", false);
    vs_csv_put(out, oom ? oom->phase : "", false);
    vs_csv_put(out, oom ? oom->operation : "", false);
    vs_csv_put(out, oom ? oom->tensor : "", false);
    if (oom)
        vs_text_printf(out, "%" PRIu64, vs_report_short_bytes(oom));
    vs_text_add(out, ",");
}

/* The searched axis has a column of its own: it stays empty among those of the point. */
static void put_point(struct vs_text *out, const struct vs_limit *limit,
                      const struct columns *columns) {
    static const struct vs_outcome none = {.hw = NULL};
    const struct vs_outcome *run = run_of(limit) ? run_of(limit) : &none;
    const char *const names[] = {run->hw,     run->machine,        run->model,
                                 run->engine, run->engine_version, run->task};
    const size_t count = sizeof names / sizeof names[0], axes = columns->axes.count;
    for (size_t i = 0; i < count; i++)
        vs_csv_put(out, names[i], axes == 0 && i + 1 == count);
    for (size_t i = 0; i < axes; i++) {
        const char *axis = columns->axes.at[i];
        vs_csv_put(out, vs_streq(axis, limit->axis) ? "" : vs_report_word(run, axis),
                   i + 1 == axes);
    }
}

void vs_report_limit_csv(struct vs_text *out, const struct vs_limit *const *limits, size_t count) {
    struct columns columns = {.axes = {0}};
    if (!columns_find(&columns, limits, count))
        out->failed = true;
    vs_text_add(out, "axis,value,open,not_monotone,model_maximum,peak_vram_gib,oom_pool,oom_phase,"
                     "oom_operation,oom_tensor,oom_short_bytes,hw,machine,model,engine,"
                     "engine_version,task");
    for (size_t i = 0; i < columns.axes.count; i++) {
        vs_text_add(out, ",");
        vs_text_add(out, columns.axes.at[i]);
    }
    vs_text_add(out, "\n");
    for (size_t i = 0; i < count; i++) {
        put_found(out, limits[i]);
        put_point(out, limits[i], &columns);
    }
    vs_vec_release(&columns.axes);
}
