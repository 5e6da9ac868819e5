/* FSDP with CPU offload, ZeRO-Infinity: every unit (a layer; embeddings and head) lives in host
 * memory, or on storage, and is gathered over the link before forward and again before backward,
 * one unit ahead; gradients go back and the optimizer runs on the CPU. What lives on storage passes
 * through host buffers (run ahead of the copy to the GPU). */
#include "strategy/strategy.h"

#include "base/text.h"
#include "engine/engine.h"
#include "hw/machine.h"

static bool check(const struct vs_plan *plan, const char *word, struct vs_err *err) {
    const struct vs_case *c = plan->c;
    bool sharded_only = vs_streq(vs_engine_rule(c->engine, "offload", "any"), "sharded");
    if (plan->streaming)
        return vs_err_at(err, NULL, 0, 0,
                         "--offload stream and --offload-param %s both place the layers; "
                         "expected one of them",
                         word);
    if (c->machine->unified)
        return vs_err_at(err, NULL, 0, 0, "--offload-param %s: %s has one memory for CPU and GPU",
                         word, c->machine->hw);
    if (sharded_only && vs_count(&c->axes, VS_AXIS_ZERO) < 3)
        return vs_err_at(err, NULL, 0, 0,
                         "--offload-param %s is part of ZeRO's stage 3; expected --zero 3", word);
    if (vs_streq(word, "nvme") && !c->machine->storage)
        return vs_err_at(err, NULL, 0, 0,
                         "--offload-param nvme: the machine of %s has no storage; expected cpu, or "
                         "--storage NAME",
                         c->machine->hw);
    return true;
}

static bool apply(struct vs_plan *plan, struct vs_err *err) {
    const struct vs_case *c = plan->c;
    const char *word = c->axes.at[VS_AXIS_OFFLOAD_PARAM].text;
    if (c->task != VS_TASK_TRAIN || !word || vs_streq(word, "none"))
        return true;
    if (!check(plan, word, err))
        return false;
    plan->streaming = plan->gather_units = true;
    plan->prefetch = plan->ranks > 1 ? plan->prefetch : 1;
    plan->overlap = 1;
    enum vs_home home = vs_streq(word, "nvme") ? VS_HOME_STORAGE : vs_copied_home(plan);
    for (size_t i = 0; i < plan->weight_count; i++)
        plan->weights[i].home = home;
    return true;
}

const struct vs_strategy vs_strategy_offload_param = {
    .name = "parameter offload",
    .help = "units gathered from host memory or storage, the optimizer on the CPU",
    .stage = "place",
    .apply = apply};
