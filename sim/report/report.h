/* Output formats: one file each. They read what a run found (outcome.h), sweeps and limits (run.h)
 * and validations (validate.h), nothing else, and append to a text. When memory runs out the text's
 * `failed` is set: check it once, at the end. Functions that return bool do more than append (they
 * touch files, start gnuplot).
 *
 * Tables are ASCII; control characters in names become '?'. JSON has 9 significant digits and the
 * keys of the command line's contract, which never change. The same input gives the same bytes. */
#ifndef VS_REPORT_REPORT_H
#define VS_REPORT_REPORT_H

#include "base/err.h"
#include "base/text.h"
#include "run/outcome.h"
#include "run/run.h"
#include "run/validate.h"

/* All-zero = plain text, 100 columns (sweep: 120), 20 rows. */
struct vs_report_style {
    bool color;     /* ANSI colors */
    size_t columns; /* width at which tables wrap; 0 = the default above */
    size_t top;     /* rows of a sweep, worst cases of a validation; 0 = 20 */
};

/* run (and replay): one point. */
void vs_report_run_table(struct vs_text *out, const struct vs_outcome *outcome,
                         const struct vs_report_style *style);
void vs_report_run_json(struct vs_text *out, const struct vs_outcome *outcome);
void vs_report_run_csv(struct vs_text *out,
                       const struct vs_outcome *outcome); /* header and one row */
void vs_report_run_markdown(struct vs_text *out, const struct vs_outcome *outcome);
/* A replayed step trace (outcome->steps): a row a step. */
void vs_report_steps_csv(struct vs_text *out, const struct vs_outcome *outcome);
/* Chrome trace-event JSON (Perfetto opens it) of spans and levels. */
void vs_report_timeline(struct vs_text *out, const struct vs_outcome *outcome);

/* sweep: JSON, CSV and Markdown hold all points; the table holds `top` and groups what does not
 * fit. */
void vs_report_sweep_table(struct vs_text *out, const struct vs_sweep *sweep,
                           const struct vs_report_style *style);
void vs_report_sweep_json(struct vs_text *out, const struct vs_sweep *sweep);
void vs_report_sweep_csv(struct vs_text *out, const struct vs_sweep *sweep);
void vs_report_sweep_markdown(struct vs_text *out, const struct vs_sweep *sweep);

/* limit: the OOM points of one request, one entry per axis searched. */
void vs_report_limit_table(struct vs_text *out, const struct vs_limit *const *limits, size_t count,
                           const struct vs_report_style *style);
void vs_report_limit_json(struct vs_text *out, const struct vs_limit *const *limits, size_t count);
void vs_report_limit_csv(struct vs_text *out, const struct vs_limit *const *limits, size_t count);

/* validate. */
void vs_report_validate_table(struct vs_text *out, const struct vs_validation *validation,
                              const struct vs_report_style *style);
void vs_report_validate_json(struct vs_text *out, const struct vs_validation *validation);
/* One line per case, for the committed table of predictions:
 * id,metric,measured,predicted,error,failure,engine,trust. */
void vs_report_validate_csv(struct vs_text *out, const struct vs_validation *validation);
/* --write-accuracy: per (engine, metric) the 10 % and 90 % quantiles of measured/predicted, as
 * JSON. */
void vs_report_accuracy(struct vs_text *out, const struct vs_validation *validation);

/* Words as a shell takes them, parted by blanks. */
void vs_report_words(struct vs_text *out, const char *const *words, size_t count);

/* The command that reproduces a point: outcome->command, or one written from its resolved axes. */
void vs_report_command(struct vs_text *out, const struct vs_outcome *outcome);

#endif
