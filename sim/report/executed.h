/* Parts of a point's report that only an executed plan has (outcome->executed). */
#ifndef VS_REPORT_EXECUTED_H
#define VS_REPORT_EXECUTED_H

#include "import/executed.h"
#include "report/common.h"

/* The member "executed" of an open object. */
void vs_report_executed_json(struct vs_json_writer *w, const struct vs_outcome *outcome);
/* The device, and predicted against measured for each phase, and memory. */
void vs_report_executed_table(struct vs_text *out, const struct vs_outcome *outcome, size_t width,
                              bool color);
void vs_report_executed_markdown(struct vs_text *out, const struct vs_outcome *outcome);

#endif
