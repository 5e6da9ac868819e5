/* The optimizer on the CPU (ZeRO-Offload, FSDP's CPU offload): states and master copies in host
 * memory, gradients copied down as they are made, the update bound by host memory; where weights
 * stay on the GPU the new ones are copied up at the end. With "nvme" (ZeRO-Infinity) states and
 * master copies live on storage and pass through host buffers, tile by tile. */
#include "strategy/strategy.h"

#include "base/text.h"
#include "engine/engine.h"
#include "hw/machine.h"

static bool check(const struct vs_plan *plan, const char *axis, const char *word,
                  struct vs_err *err) {
    const struct vs_case *c = plan->c;
    bool sharded_only = vs_streq(vs_engine_rule(c->engine, "offload", "any"), "sharded");
    if (c->machine->unified)
        return vs_err_at(err, NULL, 0, 0, "--%s %s: %s has one memory for CPU and GPU", axis, word,
                         c->machine->hw);
    const struct vs_optimizer *o = &plan->optimizer;
    if (o->eight_bit || o->paged || o->factored || o->orthogonal)
        return vs_err_at(err, NULL, 0, 0,
                         "--%s %s updates parameters on the CPU, and --optim %s runs on a GPU "
                         "only; expected adamw, lion, sgd or sgd-momentum",
                         axis, word, c->axes.at[VS_AXIS_OPTIM].text);
    if (sharded_only && vs_count(&c->axes, VS_AXIS_ZERO) < 1)
        return vs_err_at(err, NULL, 0, 0,
                         "--%s %s is part of ZeRO's stages 1 to 3; expected --zero 1, 2 or 3", axis,
                         word);
    if (sharded_only && vs_streq(word, "nvme") && vs_count(&c->axes, VS_AXIS_ZERO) < 3)
        return vs_err_at(err, NULL, 0, 0,
                         "--%s nvme is part of ZeRO's stage 3; expected --zero 3, or cpu", axis);
    if (vs_streq(word, "nvme") && !c->machine->storage)
        return vs_err_at(
            err, NULL, 0, 0,
            "--%s nvme: the machine of %s has no storage; expected cpu, or --storage NAME", axis,
            c->machine->hw);
    return true;
}

static bool apply(struct vs_plan *plan, struct vs_err *err) {
    const struct vs_case *c = plan->c;
    const struct vs_value *optim = &c->axes.at[VS_AXIS_OFFLOAD_OPTIM];
    const struct vs_value *param = &c->axes.at[VS_AXIS_OFFLOAD_PARAM];
    bool own = optim->text && !vs_streq(optim->text, "none");
    bool with_params = param->text && !vs_streq(param->text, "none");
    if (c->task != VS_TASK_TRAIN || (!own && !with_params))
        return true;
    if (!check(plan, own ? "offload-optim" : "offload-param", own ? optim->text : param->text, err))
        return false;
    plan->optimizer_on_cpu = true;
    plan->optimizer_on_disk = own && vs_streq(optim->text, "nvme");
    return true;
}

const struct vs_strategy vs_strategy_offload_optim = {
    .name = "optimizer offload",
    .help = "optimizer states in host memory or on storage, the update on the CPU",
    .stage = "place",
    .apply = apply};
