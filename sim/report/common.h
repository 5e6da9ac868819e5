/* Words and figures that several formats share. */
#ifndef VS_REPORT_COMMON_H
#define VS_REPORT_COMMON_H

#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "run/outcome.h"

/* The resolved word of an axis, or NULL. */
const char *vs_report_word(const struct vs_outcome *outcome, const char *axis);

/* "qlora70b: llama-3-70b, QLoRA training, seq 2048, ..., on rtx4090 in desktop-64g": what is asked
 * of what machine. Only what all points share is said; workload may be NULL. No line break at the
 * end. */
void vs_report_ask(struct vs_text *out, const char *workload,
                   const struct vs_outcome *const *points, size_t count);

/* Whether a metric is a speed of this task (null in JSON where the run did not fit). */
bool vs_report_is_speed(enum vs_metric metric, const char *task);
/* "115 tok/s" parts: the figure as people read it, its unit apart ("" for times, which carry
 * theirs). */
char *vs_report_figure(char out[VS_UNIT_TEXT], enum vs_metric metric, double value);
const char *vs_report_unit(enum vs_metric metric);

/* "23.64": GiB with two decimals; "-" for no ceiling. */
char *vs_report_gib(char out[VS_UNIT_TEXT], uint64_t bytes);
char *vs_report_gib_value(char out[VS_UNIT_TEXT], double gib); /* "-" for NaN */

/* Held under a tag at the peak of a pool. */
uint64_t vs_report_tag_bytes(const struct vs_pool_outcome *pool, const char *tag);
/* All that is missing in the pool that ran out: what the run needed less what there is. */
uint64_t vs_report_short_bytes(const struct vs_oom_outcome *oom);
/* "while loading, layer 51, mlp.down": phase, operation and tensor, those that are known. */
void vs_report_place(struct vs_text *out, const struct vs_oom_outcome *oom);

/* The memory of each device as ggml's programs print it; nothing for other engines, or where the
 * run did not fit. */
void vs_report_breakdown(struct vs_text *out, const struct vs_outcome *outcome);

/* The members of one point, without the braces: the caller has the object open. */
void vs_report_outcome_json(struct vs_json_writer *w, const struct vs_outcome *outcome);
void vs_report_oom_json(struct vs_json_writer *w,
                        const struct vs_oom_outcome *oom); /* a value; null for NULL */

/* Header and rows of points as CSV; rank 0 = none. `oom_axis` NULL = no column of OOM points. */
void vs_report_points_csv(struct vs_text *out, const struct vs_outcome *const *points, size_t count,
                          size_t ranked, const char *oom_axis);

/* The strategy in words; "plain" where nothing differs. */
const char *vs_report_label(const struct vs_outcome *point);

#endif
