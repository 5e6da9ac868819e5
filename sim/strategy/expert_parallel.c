/* Expert parallelism: the experts of a layer are dealt out over --ep ranks; each token's vectors go
 * to the ranks of its experts and come back, all to all. Experts are not split by --tp, as in the
 * published recipes of Megatron-LM (--expert-tensor-parallel-size 1). */
#include "strategy/strategy.h"

static bool apply(struct vs_plan *plan, struct vs_err *err) {
    (void)err;
    if (plan->c->task != VS_TASK_TRAIN)
        return true;
    for (size_t i = 0; i < plan->weight_count; i++)
        if (vs_is_expert(&plan->weights[i]))
            plan->weights[i].parts = plan->parallel.experts;
    return true;
}

const struct vs_strategy vs_strategy_expert_parallel = {
    .name = "expert parallelism",
    .help = "experts dealt out over ranks, tokens sent to them",
    .stage = "shard",
    .apply = apply};
