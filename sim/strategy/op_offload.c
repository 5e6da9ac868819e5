/* Batches over host weights: from how many tokens on a device copies them in and multiplies them,
 * instead of the CPU (llama.cpp: min_batch_size of a backend). Engines whose rule
 * "op_offload_experts" is "by_share" wait at routed experts for more than as many tokens of an
 * expert (ik_llama.cpp pull 520: tokens x experts / experts used; measured buffers of a batch just
 * as large are still the CPU's). Weights of llama.cpp's own types that were repacked for the CPU
 * stay with it: devices have no kernels for the interleaved rows of these (measured: compute
 * buffers and speeds of batches of 2048). */
#include "strategy/strategy.h"

#include "engine/engine.h"
#include "model/model.h"

static uint64_t tokens_of(const struct vs_case *c) {
    const struct vs_values *axes = &c->axes;
    if (vs_is(axes, VS_AXIS_OP_OFFLOAD, "off"))
        return 0;
    if (vs_count(axes, VS_AXIS_OP_OFFLOAD) > 0)
        return (uint64_t)vs_count(axes, VS_AXIS_OP_OFFLOAD);
    return (uint64_t)vs_engine_number(c->engine, "op_offload_tokens", NULL, 0);
}

static bool repacked(const struct vs_plan *plan, enum vs_axis axis) {
    const char *word = plan->c->axes.at[axis].text;
    struct vs_format format = plan->format;
    struct vs_err ignored;
    return vs_is(&plan->c->axes, VS_AXIS_REPACK, "on") &&
           (!word || vs_format_parse(word, &format, &ignored)) && format.kind == VS_FORMAT_GGUF;
}

static bool apply(struct vs_plan *plan, struct vs_err *err) {
    const struct vs_case *c = plan->c;
    (void)err;
    if (c->task == VS_TASK_TRAIN)
        return true;
    plan->offload_tokens = plan->offload_expert_tokens = tokens_of(c);
    bool by_share = vs_streq(vs_engine_rule(c->engine, "op_offload_experts", ""), "by_share");
    if (by_share && c->model->experts > 0 && plan->offload_tokens > 0)
        plan->offload_expert_tokens =
            plan->offload_tokens * c->model->experts / c->model->experts_active + 1;
    if (repacked(plan, VS_AXIS_WEIGHTS))
        plan->offload_tokens = 0;
    if (repacked(plan, VS_AXIS_WEIGHTS_EXPERTS))
        plan->offload_expert_tokens = 0;
    return true;
}

const struct vs_strategy vs_strategy_op_offload = {
    .name = "large batches over host weights",
    .help = "from how many tokens on a device takes over weights in host memory",
    .stage = "place",
    .apply = apply};
