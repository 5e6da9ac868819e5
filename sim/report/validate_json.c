#include "report/common.h"
#include "report/errors.h"
#include "report/report.h"

/* One entry of the statistics; metric or engine null = all. Entries without a case are left out. */
static void put_entry(struct vs_json_writer *w, const struct vs_validation *validation,
                      const char *metric, const char *engine, bool low) {
    const struct vs_pick pick = {metric, engine, low};
    struct vs_errors e;
    if (!vs_errors_find(validation, &pick, &e)) {
        w->out->failed = true;
        return;
    }
    if (e.cases == 0)
        return;
    vs_json_object(w);
    vs_json_member_string(w, "metric", metric);
    vs_json_member_string(w, "engine", engine);
    vs_json_member_u64(w, "cases", e.cases);
    vs_json_member_u64(w, "failures", e.failures);
    if (!metric || !vs_streq(metric, "fits")) {
        vs_json_member_u64(w, "compared", e.compared);
        vs_json_member_number(w, "median", e.median);
        vs_json_member_number(w, "p90", e.p90);
        vs_json_member_u64(w, "groups", e.groups);
        vs_json_member_number(w, "group_median", e.group_median);
        vs_json_member_number(w, "bias", e.bias);
    }
    if (!metric || vs_streq(metric, "fits")) {
        vs_json_member_u64(w, "fits_predicted_fits_measured", e.fit_fit);
        vs_json_member_u64(w, "fits_predicted_oom_measured", e.fit_oom);
        vs_json_member_u64(w, "oom_predicted_fits_measured", e.oom_fit);
        vs_json_member_u64(w, "oom_predicted_oom_measured", e.oom_oom);
    }
    vs_json_end(w, '}');
}

static void put_entries(struct vs_json_writer *w, const struct vs_validation *validation,
                        const struct vs_names *metrics, const struct vs_names *engines, bool low) {
    vs_json_array(w);
    put_entry(w, validation, NULL, NULL, low);
    for (size_t e = 0; e < engines->count; e++)
        put_entry(w, validation, NULL, engines->at[e], low);
    for (size_t m = 0; m < metrics->count; m++) {
        put_entry(w, validation, metrics->at[m], NULL, low);
        for (size_t e = 0; e < engines->count; e++)
            put_entry(w, validation, metrics->at[m], engines->at[e], low);
    }
    vs_json_end(w, ']');
}

static void put_summary(struct vs_json_writer *w, struct vs_arena *arena,
                        const struct vs_validation *v) {
    struct vs_names metrics, engines;
    const struct vs_reason *reasons;
    size_t reason_count, failures = 0;
    if (!vs_errors_metrics(arena, v, &metrics) || !vs_errors_engines(arena, v, &engines) ||
        !vs_errors_reasons(arena, v, &reasons, &reason_count)) {
        w->out->failed = true;
        return;
    }
    for (size_t i = 0; i < reason_count; i++)
        failures += reasons[i].count;
    vs_json_object(w);
    vs_json_member_u64(w, "cases", v->row_count);
    vs_json_member_u64(w, "distinct_args", v->distinct_args);
    vs_json_member_u64(w, "failures", failures);
    vs_json_key(w, "errors");
    put_entries(w, v, &metrics, &engines, false);
    vs_json_key(w, "low_trust");
    put_entries(w, v, &metrics, &engines, true);
    vs_json_key(w, "failure_reasons");
    vs_json_array(w);
    for (size_t i = 0; i < reason_count; i++) {
        vs_json_object(w);
        vs_json_member_string(w, "reason", reasons[i].text);
        vs_json_member_u64(w, "cases", reasons[i].count);
        vs_json_end(w, '}');
    }
    vs_json_end(w, ']');
    vs_json_key(w, "skipped_files");
    vs_json_array(w);
    for (size_t i = 0; i < v->skipped_count; i++)
        vs_json_string(w, v->skipped_files[i]);
    vs_json_end(w, ']');
    vs_json_end(w, '}');
}

static void put_case(struct vs_json_writer *w, const struct vs_case_row *row) {
    vs_json_object(w);
    vs_json_member_string(w, "id", row->id);
    vs_json_member_string(w, "metric", row->metric);
    vs_json_member_string(w, "engine", row->engine);
    vs_json_member_string(w, "group", row->group);
    vs_json_member_string(w, "trust", row->trust);
    vs_json_member_number(w, "measured", row->measured);
    vs_json_member_number(w, "predicted", row->predicted);
    vs_json_member_number(w, "error", row->error);
    vs_json_member_number(w, "low", row->low);
    vs_json_member_number(w, "high", row->high);
    vs_json_member_string(w, "failure", row->failure);
    vs_json_end(w, '}');
}

void vs_report_validate_json(struct vs_text *out, const struct vs_validation *validation) {
    struct vs_json_writer w;
    struct vs_arena arena;
    vs_arena_init(&arena);
    vs_json_begin(&w, out);
    vs_json_object(&w);
    vs_json_key(&w, "summary");
    put_summary(&w, &arena, validation);
    vs_json_key(&w, "cases");
    vs_json_array(&w);
    for (size_t i = 0; i < validation->row_count; i++)
        put_case(&w, &validation->rows[i]);
    vs_json_end(&w, ']');
    vs_json_end(&w, '}');
    vs_text_add(out, "\n");
    vs_arena_release(&arena);
}
