/* Parts of a point's report that only a replayed step trace has (outcome->steps). */
#ifndef VS_REPORT_STEPS_H
#define VS_REPORT_STEPS_H

#include "report/common.h"
#include "run/replay_steps.h"

/* The member "steps" of an open object: totals, what ran out at which sample, the allocator with
 * either setting of expandable segments. */
void vs_report_steps_json(struct vs_json_writer *w, const struct vs_outcome *outcome);
/* Lines below a failure: the step, the micro-step, the sample. */
void vs_report_steps_oom(struct vs_text *out, const struct vs_outcome *outcome);
/* Lines below a heading. */
void vs_report_steps_table(struct vs_text *out, const struct vs_outcome *outcome, size_t width);

#endif
