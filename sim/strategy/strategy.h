/* Strategies: each file here edits the layout of a plan in one of the fixed stages. A strategy
 * reads the axes of the case that concern it and does nothing where they say nothing; what runs
 * below knows no strategy. The stages are those of list.def, in order; two strategies of one stage
 * never set the same field. */
#ifndef VS_STRATEGY_STRATEGY_H
#define VS_STRATEGY_STRATEGY_H

#include "plan/plan.h"

struct vs_strategy {
    const char *name, *help;
    const char *stage; /* shard, adapt, quantize, checkpoint, train, kv, place */
    bool (*apply)(struct vs_plan *plan, struct vs_err *err);
};

/* All of them, in the order in which they apply. */
const struct vs_strategy *const *vs_strategies(size_t *count);

/* Applies all to a plan. */
bool vs_strategies_apply(struct vs_plan *plan, struct vs_err *err);

#endif
