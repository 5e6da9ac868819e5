/* Streaming: layers live in page-locked host memory and are copied over the link at each use, some
 * ahead. */
#include "strategy/strategy.h"

#include "hw/machine.h"

static bool apply(struct vs_plan *plan, struct vs_err *err) {
    const struct vs_case *c = plan->c;
    if (!vs_is(&c->axes, VS_AXIS_OFFLOAD, "stream"))
        return true;
    if (c->machine->unified)
        return vs_err_at(err, NULL, 0, 0,
                         "--offload stream: %s has one memory for CPU and GPU, there is no "
                         "link to stream over",
                         c->machine->hw);
    if (vs_is(&c->axes, VS_AXIS_METHOD, "full") && c->task == VS_TASK_TRAIN)
        return vs_err_at(err, NULL, 0, 0,
                         "--offload stream holds frozen layers in host memory; with "
                         "--method full every layer is trained: expected lora or qlora");
    plan->streaming = plan->pinned = true;
    plan->prefetch =
        vs_given(&c->axes, VS_AXIS_PREFETCH) ? (unsigned)vs_count(&c->axes, VS_AXIS_PREFETCH) : 1;
    bool all = c->task == VS_TASK_TRAIN || vs_is(&c->axes, VS_AXIS_GPU_LAYERS, "all");
    for (size_t i = 0; i < plan->weight_count; i++) {
        struct vs_weight *w = &plan->weights[i];
        if (w->tensor->layer >= 0 && (all || plan->layers[w->tensor->layer].home == VS_HOME_HOST))
            w->home = VS_HOME_PINNED;
    }
    return true;
}

const struct vs_strategy vs_strategy_stream = {.name = "weight streaming",
                                               .help = "layers copied from host memory at each use",
                                               .stage = "place",
                                               .apply = apply};
