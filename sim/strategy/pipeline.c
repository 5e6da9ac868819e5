/* Pipeline parallelism in training: consecutive layers on each stage, or several chunks of them
 * (interleaved: chunk k of all goes to stage k modulo the stages). Embedding and head stand at the
 * ends, and count as a layer each where layers alone do not divide evenly (Megatron-LM:
 * --account-for-embedding-in-pipeline-split and its counterpart for the loss). A tied embedding is
 * held by both ends.
 *
 * A device map (Accelerate: "balanced") is dealt out in the same way, over all devices. */
#include "strategy/strategy.h"

#include <string.h>

#include "hw/machine.h"

static bool check(const struct vs_plan *plan, struct vs_err *err) {
    const struct vs_case *c = plan->c;
    const struct vs_parallel *p = &plan->parallel;
    int64_t accum = vs_count(&c->axes, VS_AXIS_ACCUM);
    if (p->chunks > 1 && (p->stages < 2 || p->naive))
        return vs_err_at(err, NULL, 0, 0,
                         "--pp-interleave %u deals out chunks of layers to the stages of a "
                         "pipeline; expected --pp of at least 2",
                         p->chunks);
    if (p->stages > VS_DEVICES_PLANNED || (uint64_t)p->stages * p->chunks > c->model->layers)
        return vs_err_at(err, NULL, 0, 0,
                         "%s %u x %u chunks: %s has %u layers; expected a chunk for each at most",
                         p->naive ? "--split layer, devices:" : "--pp", p->stages, p->chunks,
                         c->model->name, c->model->layers);
    if (p->chunks > 1 && accum % p->stages != 0)
        return vs_err_at(
            err, NULL, 0, 0,
            "--pp-interleave %u runs micro-batches in rounds of --pp %u; found --accum "
            "%lld, expected a multiple",
            p->chunks, p->stages, (long long)accum);
    if (!p->naive && vs_count(&c->axes, VS_AXIS_ZERO) >= 2)
        return vs_err_at(err, NULL, 0, 0,
                         "--zero %lld reduces gradients in every micro-step, which a pipeline does "
                         "not; expected --zero 0 or 1 with --pp %u",
                         (long long)vs_count(&c->axes, VS_AXIS_ZERO), p->stages);
    return true;
}

/* The first layer of the n-th of `parts` equal parts: of the layers where they divide, else of
 * embedding, layers and head. */
static uint32_t first_of(uint32_t layers, uint32_t parts, uint32_t n) {
    if (layers % parts == 0)
        return layers / parts * n;
    uint64_t units = (uint64_t)(layers + 2) * n / parts;
    return units == 0 ? 0 : units > layers ? layers : (uint32_t)units - 1;
}

static void deal_out(struct vs_plan *plan) {
    uint32_t layers = plan->c->model->layers;
    uint32_t parts = plan->parallel.stages * plan->parallel.chunks;
    for (uint32_t n = 0; n < parts; n++)
        for (uint32_t l = first_of(layers, parts, n); l < first_of(layers, parts, n + 1); l++) {
            plan->layers[l].chunk = n;
            plan->layers[l].device = (uint8_t)(n % plan->parallel.stages);
            plan->layers[l].home = vs_gpu_home(plan->layers[l].device);
        }
}

/* The head's own copy of a tied embedding, on the last stage. */
static bool add_head_copy(struct vs_plan *plan, struct vs_err *err) {
    struct vs_weight *more = VS_NEW_ARRAY(plan->arena, struct vs_weight, plan->weight_count + 1);
    if (!more)
        return vs_err_nomem(err);
    memcpy(more, plan->weights, plan->weight_count * sizeof *more);
    more[plan->weight_count] = more[vs_plan_head(plan)];
    plan->weights = more;
    plan->weight_count++;
    return true;
}

static bool apply(struct vs_plan *plan, struct vs_err *err) {
    if (plan->c->task != VS_TASK_TRAIN || (plan->parallel.stages < 2 && plan->parallel.chunks < 2))
        return true;
    if (!check(plan, err))
        return false;
    deal_out(plan);
    if (plan->c->model->tied_embeddings && !plan->parallel.naive && !add_head_copy(plan, err))
        return false;
    size_t head = vs_plan_head(plan);
    for (size_t i = 0; i < plan->weight_count; i++) {
        struct vs_weight *w = &plan->weights[i];
        bool enters =
            i != head && (w->tensor->role == VS_ROLE_EMBED || w->tensor->role == VS_ROLE_POSITIONS);
        w->home = w->tensor->layer >= 0 ? plan->layers[w->tensor->layer].home
                  : enters              ? VS_HOME_GPU
                                        : vs_gpu_home(plan->parallel.stages - 1);
    }
    return true;
}

const struct vs_strategy vs_strategy_pipeline = {
    .name = "pipeline parallelism",
    .help = "layers in stages, micro-batches one behind the other",
    .stage = "shard",
    .apply = apply};
