/* FSDP with CPU offload on one rank: every unit (a layer; embeddings and head) lives in host memory
 * and is gathered over the link before forward and again before backward, one unit ahead; gradients
 * go back and the optimizer runs on the CPU. */
#include "strategy/strategy.h"

#include "hw/machine.h"

static bool apply(struct vs_plan *plan, struct vs_err *err) {
    const struct vs_case *c = plan->c;
    if (c->task != VS_TASK_TRAIN || !vs_is(&c->axes, VS_AXIS_OFFLOAD_PARAM, "cpu"))
        return true;
    if (plan->streaming)
        return vs_err_at(err, NULL, 0, 0,
                         "--offload stream and --offload-param cpu both place the layers; "
                         "expected one of them");
    if (c->machine->unified)
        return vs_err_at(err, NULL, 0, 0, "--offload-param cpu: %s has one memory for CPU and GPU",
                         c->machine->hw);
    plan->streaming = plan->gather_units = true;
    plan->pinned = !vs_is(&c->axes, VS_AXIS_PIN_MEMORY, "off");
    plan->prefetch = plan->ranks > 1 ? plan->prefetch : 1;
    plan->overlap = 1;
    for (size_t i = 0; i < plan->weight_count; i++)
        plan->weights[i].home = plan->pinned ? VS_HOME_PINNED : VS_HOME_HOST;
    return true;
}

const struct vs_strategy vs_strategy_offload_param = {
    .name = "parameter offload",
    .help = "FSDP units gathered from host memory, optimizer on the CPU",
    .stage = "place",
    .apply = apply};
