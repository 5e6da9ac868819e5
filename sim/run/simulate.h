/* One case through plan, pools and clock to an outcome. */
#ifndef VS_RUN_SIMULATE_H
#define VS_RUN_SIMULATE_H

#include "plan/generate.h"
#include "plan/load.h"
#include "run/lower.h"
#include "run/run.h"

/* What the task drivers work on. */
struct vs_simulation {
    const struct vs_case *c;
    const struct vs_run_options *options;
    struct vs_plan plan;
    struct vs_executor x;
    struct vs_outcome *out;
    double main_s; /* simulated seconds to which the executor's sums belong */
};

/* Fills `out` (zeroed, in the arena). */
bool vs_simulate(struct vs_arena *arena, const struct vs_case *c,
                 const struct vs_run_options *options, struct vs_outcome *out, struct vs_err *err);

/* Walks optimizer steps until one ends in the state in which it began. */
bool vs_walk_until_steady(struct vs_simulation *s, bool (*walk_step)(void *of, struct vs_err *err),
                          void *of, struct vs_err *err);

/* Task drivers: everything behind the load phase. They stop at an OOM where only the fit is asked.
 */
bool vs_drive_train(struct vs_simulation *s, struct vs_err *err);
/* Speed and MFU of all devices, where one rank took `tokens` in `seconds`. */
void vs_report_training(struct vs_simulation *s, double tokens, double seconds);
/* Steps of a pipeline; *seconds: of a settled step, 0 where no time was asked for or it did not
 * fit.
 */
bool vs_drive_pipeline(struct vs_simulation *s, double *seconds, struct vs_err *err);
/* Training with the steps of options->steps. */
bool vs_drive_steps(struct vs_simulation *s, struct vs_err *err);
bool vs_drive_generate(struct vs_simulation *s, struct vs_err *err);

/* The start of an engine with a paged cache, behind the load phase; sets how many sequences run at
 * once. */
bool vs_start_paged(struct vs_simulation *s, struct vs_phase *phase, struct vs_err *err);

/* Serves the requests of the case, behind the start; without requests there is nothing to do. */
bool vs_drive_serve(struct vs_simulation *s, struct vs_phase *phase, struct vs_err *err);

/* What loading needs beside the weights. */
struct vs_load_needs vs_load_needs_of(const struct vs_case *c);

/* Is nothing more to be learnt? (capacity only, and out of memory) */
bool vs_is_over(const struct vs_simulation *s);

/* Pools, OOM record and memory metrics of a finished walk. */
bool vs_collect(struct vs_simulation *s, struct vs_arena *arena, struct vs_err *err);

#endif
