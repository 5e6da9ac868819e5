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

/* What one layer in the middle keeps for backward, in bytes per token, from the micro-step that
 * `words` say. All buffers come back. */
static inline double plan_kept(const char *words, uint64_t seq) {
    uint64_t held = 0, most = 0;
    forget();
    sim_plan(&plan, words);
    sim_micro_step(&plan, &phase);
    int32_t layer = (int32_t)plan.c->model->layers / 2;
    for (size_t i = 0; i < phase.mem.count; i++) {
        const struct vs_buffer *b = &plan.buffers.at[phase.mem.at[i].buffer];
        if (b->tag != VS_TAG_ACTIVATIONS || b->layer != layer)
            continue;
        held += phase.mem.at[i].verb == VS_MEM_TAKE ? b->bytes : -b->bytes;
        most = held > most ? held : most;
    }
    ck_assert_uint_eq(held, 0);
    return (double)most / (double)seq;
}

#endif
