#include <math.h>

#include "report/common.h"
#include "report/executed.h"
#include "report/report.h"
#include "report/table.h"

void vs_report_run_markdown(struct vs_text *out, const struct vs_outcome *outcome) {
    static const struct vs_table_column columns[] = {{"metric", "", false, false},
                                                     {"value", "", true, false},
                                                     {"unit", "", false, false},
                                                     {"meaning", "", false, false}};
    struct vs_table table;
    vs_report_ask(out, NULL, &outcome, 1);
    vs_text_add(out, "\n\n");
    if (!outcome->fits && outcome->oom) {
        char text[VS_UNIT_TEXT];
        vs_text_printf(out, "**OOM** on %s: ", outcome->oom->pool);
        vs_report_place(out, outcome->oom);
        vs_text_printf(out, "; %s short\n\n",
                       vs_print_bytes(text, vs_report_short_bytes(outcome->oom)));
    }
    vs_table_init(&table, columns, sizeof columns / sizeof columns[0]);
    for (int i = 0; i < VS_METRIC_COUNT; i++) {
        const enum vs_metric metric = (enum vs_metric)i;
        char value[VS_UNIT_TEXT];
        const bool lost = !outcome->fits && vs_report_is_speed(metric, outcome->task);
        if (!isfinite(outcome->metrics[metric]) || lost)
            continue;
        const struct vs_metric_info *info = vs_metric_info(metric);
        const char *const cells[] = {info->name,
                                     vs_report_figure(value, metric, outcome->metrics[metric]),
                                     vs_report_unit(metric), info->help};
        vs_table_add(&table, cells, NULL);
    }
    vs_table_markdown(&table, out);
    vs_table_release(&table);
    if (outcome->executed)
        vs_report_executed_markdown(out, outcome);
}
