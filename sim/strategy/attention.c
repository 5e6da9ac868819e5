/* The attention kernel, and fused or compiled element-wise kernels. */
#include "strategy/strategy.h"

static bool apply(struct vs_plan *plan, struct vs_err *err) {
    const struct vs_values *axes = &plan->c->axes;
    (void)err;
    plan->attention = vs_is(axes, VS_AXIS_ATTN, "naive")  ? VS_ATTENTION_NAIVE
                      : vs_is(axes, VS_AXIS_ATTN, "sdpa") ? VS_ATTENTION_SDPA
                                                          : VS_ATTENTION_FLASH;
    plan->fused_kernels = vs_is(axes, VS_AXIS_KERNELS, "fused");
    plan->compiled = vs_is(axes, VS_AXIS_COMPILE, "on");
    return true;
}

const struct vs_strategy vs_strategy_attention = {
    .name = "attention",
    .help = "naive, memory-efficient or flash attention; fused kernels",
    .stage = "train",
    .apply = apply};
