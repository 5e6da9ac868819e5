/* Streaming: layers live in host memory, or on disk, and are copied over the link at each use, some
 * ahead. What comes from disk passes through host memory. What a device map (device_map.c) left off
 * the GPUs stays where that put it.
 *
 * With --offload-size tensors of the layers leave the GPU in order, until so many bytes have left
 * (vllm-project/vllm: maybe_offload_to_cpu; the tensor that passes the mark leaves too). */
#include "strategy/strategy.h"

#include "engine/engine.h"
#include "hw/machine.h"

static bool check(const struct vs_case *c, struct vs_err *err) {
    const char *word = c->axes.at[VS_AXIS_OFFLOAD].text;
    if (c->machine->unified)
        return vs_err_at(err, NULL, 0, 0,
                         "--offload %s: %s has one memory for CPU and GPU, there is no "
                         "link to stream over",
                         word, c->machine->hw);
    if (vs_streq(word, "disk") && !c->machine->storage)
        return vs_err_at(
            err, NULL, 0, 0,
            "--offload disk: the machine of %s has no storage; expected stream, or --storage NAME",
            c->machine->hw);
    if (c->task == VS_TASK_TRAIN && vs_streq(word, "disk"))
        return vs_err_at(err, NULL, 0, 0,
                         "--offload disk is not modelled for --task train; expected none or "
                         "stream");
    if (vs_is(&c->axes, VS_AXIS_METHOD, "full") && c->task == VS_TASK_TRAIN)
        return vs_err_at(err, NULL, 0, 0,
                         "--offload stream holds frozen layers in host memory; with "
                         "--method full every layer is trained: expected lora or qlora");
    return true;
}

static bool any_away(const struct vs_plan *plan) {
    for (size_t i = 0; i < plan->weight_count; i++)
        if (!vs_on_gpu(plan->weights[i].home))
            return true;
    return false;
}

static void place(struct vs_plan *plan, uint32_t layer, enum vs_home home) {
    const struct vs_layer *l = &plan->layers[layer];
    for (uint32_t i = 0; i < l->weight_count; i++)
        plan->weights[l->first_weight + i].home = home;
}

static void place_bytes(struct vs_plan *plan, double bytes, enum vs_home home) {
    for (size_t i = 0; i < plan->weight_count && bytes > 0; i++) {
        struct vs_weight *w = &plan->weights[i];
        if (w->tensor->layer < 0)
            continue;
        w->home = home;
        bytes -= (double)w->bytes;
    }
}

static bool apply(struct vs_plan *plan, struct vs_err *err) {
    const struct vs_case *c = plan->c;
    bool disk = vs_is(&c->axes, VS_AXIS_OFFLOAD, "disk");
    if ((!disk && !vs_is(&c->axes, VS_AXIS_OFFLOAD, "stream")) || vs_plan_maps_weights(c))
        return true;
    if (!check(c, err))
        return false;
    if (plan->mapped && !any_away(plan))
        return true;
    plan->streaming = true;
    plan->prefetch =
        vs_given(&c->axes, VS_AXIS_PREFETCH) ? (unsigned)vs_count(&c->axes, VS_AXIS_PREFETCH) : 1;
    if (plan->mapped)
        return true;
    bool all = c->task == VS_TASK_TRAIN || vs_is(&c->axes, VS_AXIS_GPU_LAYERS, "all");
    enum vs_home host = vs_copied_home(plan);
    if (vs_given(&c->axes, VS_AXIS_OFFLOAD_SIZE)) {
        place_bytes(plan, vs_real(&c->axes, VS_AXIS_OFFLOAD_SIZE), host);
        return true;
    }
    for (uint32_t l = 0; l < c->model->layers; l++) {
        if (!all && plan->layers[l].home != VS_HOME_HOST)
            continue;
        place(plan, l, disk ? VS_HOME_STORAGE : host);
    }
    return true;
}

const struct vs_strategy vs_strategy_stream = {
    .name = "weight streaming",
    .help = "layers copied from host memory or disk at each use",
    .stage = "place",
    .apply = apply};
