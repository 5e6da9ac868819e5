/* How the devices of a training run are dealt out: --tp ranks share each matrix, --cp ranks the
 * tokens of each sample, --pp stages the layers, and what remains is data parallel. --ep ranks, out
 * of those of all tensor, context and data ranks of a stage, share the experts of a layer
 * (Megatron-LM: megatron/core/parallel_state.py).
 *
 * Only the numbers are found and checked here; the strategies of each dimension edit the layout. */
#include "strategy/strategy.h"

#include "engine/engine.h"
#include "hw/machine.h"

static uint32_t number_of(const struct vs_values *axes, enum vs_axis axis) {
    int64_t n = vs_count(axes, axis);
    return n > 1 ? (uint32_t)n : 1;
}

/* Where nothing is said: what the stack's recipes for this generation of devices do. */
static bool is_sequence_parallel(const struct vs_case *c) {
    const char *arch = c->machine->devices[0]->arch.name;
    if (vs_given(&c->axes, VS_AXIS_SEQ_PARALLEL))
        return vs_is(&c->axes, VS_AXIS_SEQ_PARALLEL, "on");
    return vs_engine_number(c->engine, "sequence_parallel", arch, 0) > 0;
}

/* A device map over all devices, each working while the others wait: a pipeline of one micro-batch.
 */
static bool take_device_map(struct vs_plan *plan, struct vs_err *err) {
    const struct vs_case *c = plan->c;
    struct vs_parallel *p = &plan->parallel;
    if (!vs_is(&c->axes, VS_AXIS_SPLIT, "layer") || c->machine->device_count < 2)
        return true;
    if (!vs_engine_supports(c->engine, "train", "split", "layer"))
        return vs_err_at(err, NULL, 0, 0,
                         "--split layer: engine '%s' does not support it for train; expected "
                         "data-parallel ranks, which several devices are without it",
                         c->engine->name);
    if (vs_count(&c->axes, VS_AXIS_ZERO) > 0 && c->axes.origin[VS_AXIS_ZERO] > VS_FROM_ENGINE)
        return vs_err_at(err, NULL, 0, 0,
                         "--zero %lld shards over data-parallel ranks, and --split layer has one; "
                         "expected --zero 0",
                         (long long)vs_count(&c->axes, VS_AXIS_ZERO));
    p->naive = true;
    return true;
}

static bool check_devices(const struct vs_plan *plan, struct vs_err *err) {
    const struct vs_parallel *p = &plan->parallel;
    size_t devices = plan->c->machine->device_count;
    uint64_t share = (uint64_t)p->tensor * p->stages * p->context;
    if (devices % share == 0)
        return true;
    return vs_err_at(err, NULL, 0, 0,
                     "--tp %u, --pp %u and --cp %u spread one copy over %llu devices; found %zu "
                     "(%s), expected a multiple",
                     p->tensor, p->stages, p->context, (unsigned long long)share, devices,
                     plan->c->machine->hw);
}

static bool check_experts(const struct vs_plan *plan, struct vs_err *err) {
    const struct vs_model *m = plan->c->model;
    const struct vs_parallel *p = &plan->parallel;
    size_t ranks = plan->c->machine->device_count / p->stages;
    if (p->experts == 1)
        return true;
    if (m->experts == 0)
        return vs_err_at(err, NULL, 0, 0,
                         "--ep %u: %s has no experts; expected a mixture of experts", p->experts,
                         m->name);
    if (m->experts % p->experts != 0)
        return vs_err_at(err, NULL, 0, 0,
                         "--ep %u does not divide the %u experts of %s; expected a divisor",
                         p->experts, m->experts, m->name);
    if (ranks % p->experts != 0)
        return vs_err_at(err, NULL, 0, 0,
                         "--ep %u does not divide the %zu ranks that hold the same layers (%s%s); "
                         "expected a divisor",
                         p->experts, ranks, plan->c->machine->hw,
                         p->stages > 1 ? ", by stages" : "");
    return true;
}

/* Ring attention gives each rank an early and a late part of the sample, so that causal work is
 * even (Megatron-LM: get_batch_on_this_cp_rank); Ulysses deals out heads. */
static bool check_tokens(const struct vs_plan *plan, struct vs_err *err) {
    const struct vs_parallel *p = &plan->parallel;
    int64_t seq = vs_count(&plan->c->axes, VS_AXIS_SEQ);
    uint32_t parts = p->context > 1 && !p->ulysses ? 2 * p->context : p->context;
    uint32_t heads = plan->c->model->heads;
    if (seq % parts != 0)
        return vs_err_at(err, NULL, 0, 0,
                         "--cp %u deals out a sample in %u equal parts; found --seq %lld, expected "
                         "a multiple of %u",
                         p->context, parts, (long long)seq, parts);
    if (p->ulysses && heads % (p->tensor * p->context) != 0)
        return vs_err_at(err, NULL, 0, 0,
                         "--cp %u --cp-kind ulysses deals out the %u heads of %s (--tp %u); "
                         "expected a divisor",
                         p->context, heads, plan->c->model->name, p->tensor);
    if (p->sequence && seq / p->context % p->tensor != 0)
        return vs_err_at(err, NULL, 0, 0,
                         "--seq-parallel on splits %lld tokens over --tp %u; expected a multiple",
                         (long long)(seq / p->context), p->tensor);
    return true;
}

static bool apply(struct vs_plan *plan, struct vs_err *err) {
    const struct vs_values *axes = &plan->c->axes;
    struct vs_parallel *p = &plan->parallel;
    if (plan->c->task != VS_TASK_TRAIN)
        return true;
    p->tensor = number_of(axes, VS_AXIS_TP);
    p->context = number_of(axes, VS_AXIS_CP);
    p->stages = vs_train_stages(plan->c->machine, axes);
    p->chunks = number_of(axes, VS_AXIS_PP_INTERLEAVE);
    p->experts = number_of(axes, VS_AXIS_EP);
    p->sequence = p->tensor > 1 && is_sequence_parallel(plan->c);
    p->ulysses = p->context > 1 && vs_is(axes, VS_AXIS_CP_KIND, "ulysses");
    return take_device_map(plan, err) && check_devices(plan, err) && check_experts(plan, err) &&
           check_tokens(plan, err);
}

const struct vs_strategy vs_strategy_parallelism = {
    .name = "model parallelism",
    .help = "devices dealt out to tensor, context, pipeline, expert and data ranks",
    .stage = "shard",
    .apply = apply};
