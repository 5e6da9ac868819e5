/* Parts of a point's report that only a replayed allocator trace has (outcome->allocator). */
#ifndef VS_REPORT_ALLOCATOR_H
#define VS_REPORT_ALLOCATOR_H

#include "report/common.h"
#include "run/replay_memory.h"

/* The member "allocator" of an open object. */
void vs_report_allocator_json(struct vs_json_writer *w, const struct vs_outcome *outcome);
/* One line below a failure: what the cache held. */
void vs_report_allocator_oom(struct vs_text *out, const struct vs_outcome *outcome);
/* Lines below a heading. */
void vs_report_allocator_table(struct vs_text *out, const struct vs_outcome *outcome, size_t width);

#endif
