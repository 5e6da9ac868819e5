/* Activation checkpointing: which layers keep only their input and are run again in backward.
 *
 * - full: every layer by itself
 * - selective: every layer keeps all but what the core of attention makes from q, k and v, which
 *   runs again
 * - every:K: each K-th layer by itself, the others keep everything
 * - op: every layer keeps its input and what its matrices and attention put out, except the last
 *   matrix, and runs the rest again
 * - sqrt: segments of about sqrt(layers) layers that keep one input between them
 *
 * With --ckpt-offload cpu inputs wait in host memory: copied down behind the layer, up before its
 * backward. */
#include "strategy/strategy.h"

#include "hw/machine.h"

static uint32_t sqrt_up(uint32_t n) {
    uint32_t k = 1;
    while (k * k < n)
        k++;
    return k;
}

static void checkpoint(struct vs_plan *plan, uint32_t every, uint32_t length) {
    uint32_t layers = plan->c->model->layers;
    for (uint32_t first = 0; first < layers; first += every) {
        uint32_t n = length < layers - first ? length : layers - first;
        plan->layers[first].segment = n;
        for (uint32_t i = 0; i < n; i++)
            plan->layers[first + i].checkpointed = true;
    }
}

static bool check_offload(const struct vs_plan *plan, struct vs_err *err) {
    const struct vs_case *c = plan->c;
    if (!plan->checkpoints_on_host)
        return true;
    if (c->machine->unified)
        return vs_err_at(err, NULL, 0, 0, "--ckpt-offload cpu: %s has one memory for CPU and GPU",
                         c->machine->hw);
    if (vs_is(&c->axes, VS_AXIS_CKPT, "full") || c->axes.at[VS_AXIS_CKPT].count > 0)
        return true;
    return vs_err_at(err, NULL, 0, 0,
                     "--ckpt-offload cpu moves inputs of single layers, which --ckpt %s does not "
                     "keep; expected --ckpt full or every:K",
                     c->axes.at[VS_AXIS_CKPT].text);
}

static bool apply(struct vs_plan *plan, struct vs_err *err) {
    const struct vs_values *axes = &plan->c->axes;
    uint32_t layers = plan->c->model->layers;
    if (plan->c->task != VS_TASK_TRAIN)
        return true;
    plan->checkpoints_on_host = vs_is(axes, VS_AXIS_CKPT_OFFLOAD, "cpu");
    if (!check_offload(plan, err))
        return false;
    if (vs_is(axes, VS_AXIS_CKPT, "none"))
        return true;
    plan->checkpoint_attention = vs_is(axes, VS_AXIS_CKPT, "selective");
    if (plan->checkpoint_attention)
        return true;
    plan->checkpoint_ops = vs_is(axes, VS_AXIS_CKPT, "op");
    if (vs_is(axes, VS_AXIS_CKPT, "full") || plan->checkpoint_ops) {
        checkpoint(plan, 1, 1);
    } else if (vs_is(axes, VS_AXIS_CKPT, "sqrt")) {
        if (!vs_is(axes, VS_AXIS_OFFLOAD, "none") || vs_is(axes, VS_AXIS_OFFLOAD_PARAM, "cpu"))
            return vs_err_at(err, NULL, 0, 0,
                             "--ckpt sqrt runs several layers again at once, which "
                             "streamed layers cannot; expected --ckpt none, full or every:K");
        uint32_t k = sqrt_up(layers);
        checkpoint(plan, k, k);
    } else {
        int64_t every = axes->at[VS_AXIS_CKPT].count;
        if (every < 1 || every > layers)
            return vs_err_at(err, NULL, 0, 0,
                             "--ckpt every:%lld: expected 1 to %u, the layers of the model",
                             (long long)every, layers);
        checkpoint(plan, (uint32_t)every, 1);
    }
    return true;
}

const struct vs_strategy vs_strategy_checkpointing = {.name = "activation checkpointing",
                                                      .help = "layers that keep only their input",
                                                      .stage = "checkpoint",
                                                      .apply = apply};
