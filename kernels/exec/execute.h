/* Executes a plan: its memory actions and operations in the order of issue, each on its lane,
 * behind what it waits for. */
#ifndef VRAMSIM_EXEC_EXECUTE_H
#define VRAMSIM_EXEC_EXECUTE_H

#include "plan.h"

/* An operation as it ran; seconds since its phase began. */
struct span {
    uint32_t phase, operation;
    double start_s, end_s;
};

struct executed {
    double *seconds; /* by phase and round: `rounds` to a phase; negative = did not run */
    unsigned rounds;
    struct span *spans; /* of one more round, which is not timed; only where they were asked for */
    size_t span_count;
    size_t device_peak, device_own, host_peak;
    /* where memory ran out, else NULL: the plan's words */
    const char *oom_phase, *oom_buffer;
};

struct execute_options {
    unsigned rounds, warm_ups;
    bool spans;
    unsigned threads; /* of the processor */
};

/* False with a line when something other than memory was missing. Release in either case. */
bool execute(const struct plan *plan, const struct execute_options *options, struct executed *out,
             char line[LINE_SIZE]);
void executed_release(struct executed *executed);

#endif
