#include "strategy/strategy.h"

#define X(file) extern const struct vs_strategy vs_strategy_##file;
#include "strategy/list.def"
#undef X

static const struct vs_strategy *const STRATEGIES[] = {
#define X(file) &vs_strategy_##file,
#include "strategy/list.def"
#undef X
};

const struct vs_strategy *const *vs_strategies(size_t *count) {
    *count = sizeof STRATEGIES / sizeof *STRATEGIES;
    return STRATEGIES;
}

bool vs_strategies_apply(struct vs_plan *plan, struct vs_err *err) {
    for (size_t i = 0; i < sizeof STRATEGIES / sizeof *STRATEGIES; i++)
        if (!STRATEGIES[i]->apply(plan, err))
            return false;
    return true;
}
