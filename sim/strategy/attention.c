/* The attention kernel, and fused or compiled element-wise kernels. */
#include "strategy/strategy.h"

#include "engine/engine.h"

/* Kernels of fused attention exist for heads of up to so many elements, in eights; code that pads
 * none to that writes attention out (NVIDIA/TransformerEngine: attention backends). */
static bool has_fused_kernel(const struct vs_plan *plan) {
    enum { WIDEST_HEAD = 256 };
    uint32_t head = plan->c->model->head_dim;
    bool strict = vs_streq(vs_engine_rule(plan->c->engine, "fused_attention", "padded"), "aligned");
    return !strict || (head <= WIDEST_HEAD && head % 8 == 0);
}

static bool apply(struct vs_plan *plan, struct vs_err *err) {
    const struct vs_values *axes = &plan->c->axes;
    (void)err;
    plan->attention = vs_is(axes, VS_AXIS_ATTN, "naive")  ? VS_ATTENTION_NAIVE
                      : vs_is(axes, VS_AXIS_ATTN, "sdpa") ? VS_ATTENTION_SDPA
                                                          : VS_ATTENTION_FLASH;
    if (plan->attention == VS_ATTENTION_FLASH && !has_fused_kernel(plan))
        plan->attention = VS_ATTENTION_NAIVE;
    plan->fused_kernels = vs_is(axes, VS_AXIS_KERNELS, "fused");
    plan->compiled = vs_is(axes, VS_AXIS_COMPILE, "on");
    return true;
}

const struct vs_strategy vs_strategy_attention = {
    .name = "attention",
    .help = "naive, memory-efficient or flash attention; fused kernels",
    .stage = "train",
    .apply = apply};
