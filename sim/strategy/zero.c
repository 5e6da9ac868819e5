/* Data-parallel ranks, and what ZeRO and FSDP split over them: stage 1 optimizer states, 2
 * gradients too, 3 weights too. One device shards nothing, whatever the stage. Units are gathered
 * before use; those that train get theirs one unit ahead in backward (FSDP's BACKWARD_PRE), frozen
 * ones just in time. */
#include "strategy/strategy.h"

#include "hw/machine.h"

static bool apply(struct vs_plan *plan, struct vs_err *err) {
    const struct vs_case *c = plan->c;
    (void)err;
    if (c->task != VS_TASK_TRAIN || c->machine->device_count < 2)
        return true;
    int64_t stage = vs_count(&c->axes, VS_AXIS_ZERO);
    plan->ranks = (uint32_t)c->machine->device_count;
    plan->shard.states = stage >= 1;
    plan->shard.grads = stage >= 2;
    plan->shard.weights = stage >= 3;
    if (plan->shard.weights) {
        plan->gather_units = true;
        plan->prefetch = vs_is(&c->axes, VS_AXIS_METHOD, "full") ? 1 : 0;
        plan->overlap = 1;
    }
    return true;
}

const struct vs_strategy vs_strategy_zero = {
    .name = "ZeRO and FSDP",
    .help = "states, gradients and weights sharded over data-parallel ranks",
    .stage = "shard",
    .apply = apply};
