#include "report/common.h"
#include "report/report.h"

void vs_report_sweep_json(struct vs_text *out, const struct vs_sweep *sweep) {
    struct vs_json_writer w;
    vs_json_begin(&w, out);
    vs_json_object(&w);
    vs_json_member_string(&w, "hw", sweep->hw);
    vs_json_member_string(&w, "workload", sweep->workload);
    vs_json_key(&w, "axes");
    vs_json_array(&w);
    for (size_t i = 0; i < sweep->axis_count; i++) {
        vs_json_object(&w);
        vs_json_member_string(&w, "name", sweep->axes[i].name);
        vs_json_member_boolean(&w, "listed", sweep->axes[i].listed);
        vs_json_end(&w, '}');
    }
    vs_json_end(&w, ']');
    vs_json_key(&w, "points");
    vs_json_array(&w);
    for (size_t i = 0; i < sweep->point_count; i++) {
        vs_json_object(&w);
        vs_json_member_string(&w, "label", sweep->points[i]->label ? sweep->points[i]->label : "");
        vs_json_key(&w, "rank");
        if (i < sweep->fit_count)
            vs_json_u64(&w, i + 1);
        else
            vs_json_null(&w);
        vs_report_outcome_json(&w, sweep->points[i]);
        vs_json_end(&w, '}');
    }
    vs_json_end(&w, ']');
    vs_json_key(&w, "best");
    if (sweep->best >= 0)
        vs_json_u64(&w, (uint64_t)sweep->best);
    else
        vs_json_null(&w);
    vs_json_end(&w, '}');
    vs_text_add(out, "\n");
}
