/* The optimizer on the CPU (ZeRO-Offload, FSDP's CPU offload): states and master copies in host
 * memory, gradients copied down as they are made, the update bound by host memory; where weights
 * stay on the GPU the new ones are copied up at the end. */
#include "strategy/strategy.h"

#include "hw/machine.h"

static bool apply(struct vs_plan *plan, struct vs_err *err) {
    const struct vs_case *c = plan->c;
    bool with_params = vs_is(&c->axes, VS_AXIS_OFFLOAD_PARAM, "cpu");
    if (c->task != VS_TASK_TRAIN ||
        (!vs_is(&c->axes, VS_AXIS_OFFLOAD_OPTIM, "cpu") && !with_params))
        return true;
    if (c->machine->unified)
        return vs_err_at(err, NULL, 0, 0, "--offload-optim cpu: %s has one memory for CPU and GPU",
                         c->machine->hw);
    if (plan->optimizer.eight_bit || plan->optimizer.paged)
        return vs_err_at(
            err, NULL, 0, 0,
            "--offload-%s cpu updates parameters on the CPU, and --optim %s runs on a GPU only "
            "(bitsandbytes); expected adamw, sgd or sgd-momentum",
            with_params ? "param" : "optim", c->axes.at[VS_AXIS_OPTIM].text);
    plan->optimizer_on_cpu = true;
    plan->pinned = !vs_is(&c->axes, VS_AXIS_PIN_MEMORY, "off");
    return true;
}

const struct vs_strategy vs_strategy_offload_optim = {
    .name = "optimizer offload",
    .help = "optimizer states in host memory, the update on the CPU",
    .stage = "place",
    .apply = apply};
