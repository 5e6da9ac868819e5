/* Latent attention: what is cached of it, and how large batches attend. ik_llama.cpp's modes: 0
 * caches keys and values of all heads; 1 the latent and a transposed copy of it; 2 and 3 the latent
 * alone, from which fused kernels make keys and values of all heads again where a batch is large
 * (build_deepseek2 there: from 128 tokens on). Other engines cache the latent. --attn-buffer bounds
 * what exists of scores, or of such keys and values, at once. */
#include "strategy/strategy.h"

#include "engine/engine.h"
#include "model/model.h"

static bool apply(struct vs_plan *plan, struct vs_err *err) {
    const struct vs_values *axes = &plan->c->axes;
    (void)err;
    if (plan->c->task == VS_TASK_TRAIN)
        return true;
    plan->attn_buffer = (uint64_t)vs_count(axes, VS_AXIS_ATTN_BUFFER);
    if (!vs_given(axes, VS_AXIS_MLA))
        return true;
    int64_t mode = vs_count(axes, VS_AXIS_MLA);
    plan->latent = mode == 0   ? VS_LATENT_EXPANDED
                   : mode == 1 ? VS_LATENT_TRANSPOSED
                               : VS_LATENT_ONLY;
    plan->latent_split = mode > 0;
    plan->latent_unpacked = mode >= 2 && vs_is(axes, VS_AXIS_ATTN, "flash");
    return true;
}

const struct vs_strategy vs_strategy_latent = {
    .name = "latent attention",
    .help = "latents cached as they are, with a transposed copy, or as keys and values",
    .stage = "kv",
    .apply = apply};
