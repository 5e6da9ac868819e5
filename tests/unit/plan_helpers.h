/* For tests that look into a plan: one plan, one phase and one executor, released between cases. */
#ifndef VS_TESTS_PLAN_HELPERS_H
#define VS_TESTS_PLAN_HELPERS_H

#include <string.h>

#include "run/lower.h"
#include "sim_helpers.h"

static struct vs_plan plan;
static struct vs_phase phase;
static struct vs_executor x;

static inline void forget(void) {
    vs_executor_release(&x);
    vs_plan_release(&plan);
    vs_phase_release(&phase);
    memset(&plan, 0, sizeof plan);
    memset(&phase, 0, sizeof phase);
}

static inline void end(void) {
    forget();
    sim_end();
}

#endif
