/* llama.cpp's split between GPUs and CPU: the last N layers live on the GPUs, the others in host
 * memory, where the CPU computes them unless they are streamed. N = layers + 1 moves the output
 * matrix too; token embeddings stay on the host, or where they are the output matrix go where that
 * goes.
 * --gpu-layers auto is resolved before a plan is made. */
#include "strategy/strategy.h"

#include "engine/engine.h"
#include "hw/machine.h"

static uint32_t layers_on_gpu(const struct vs_case *c) {
    if (c->machine->device_count == 0)
        return 0;
    if (vs_is(&c->axes, VS_AXIS_GPU_LAYERS, "all"))
        return c->model->layers + 1;
    return (uint32_t)vs_count(&c->axes, VS_AXIS_GPU_LAYERS);
}

static bool apply(struct vs_plan *plan, struct vs_err *err) {
    const struct vs_case *c = plan->c;
    if (c->task == VS_TASK_TRAIN || plan->mapped)
        return true;
    bool embed_on_host = vs_streq(vs_engine_rule(c->engine, "embeddings", "gpu"), "host");
    bool streams =
        vs_is(&c->axes, VS_AXIS_OFFLOAD, "stream") || vs_is(&c->axes, VS_AXIS_OFFLOAD, "disk");
    bool cpu = !streams || vs_plan_maps_weights(c);
    uint32_t layers = c->model->layers, on_gpu = layers_on_gpu(c);
    uint32_t first = on_gpu < layers ? layers - on_gpu : 0;
    if (first > 0 && cpu && !vs_engine_supports(c->engine, "generate", "offload", "cpu"))
        return vs_err_at(err, NULL, 0, 0,
                         "--gpu-layers %u: engine '%s' computes no layers on the CPU; expected "
                         "--offload stream or disk for the others",
                         on_gpu, c->engine->name);
    for (uint32_t l = 0; l < first; l++) {
        plan->layers[l].home = VS_HOME_HOST;
        plan->layers[l].on_cpu = cpu;
    }
    for (size_t i = 0; i < plan->weight_count; i++) {
        struct vs_weight *w = &plan->weights[i];
        bool lookup = w->tensor->role == VS_ROLE_EMBED && !c->model->tied_embeddings;
        if (w->tensor->layer >= 0 ? w->tensor->layer < (int32_t)first
            : lookup              ? embed_on_host
                                  : cpu && on_gpu <= layers)
            w->home = VS_HOME_HOST;
    }
    return true;
}

const struct vs_strategy vs_strategy_gpu_layers = {
    .name = "layer offload",
    .help = "the last N layers on the GPUs, the others on the CPU",
    .stage = "place",
    .apply = apply};
