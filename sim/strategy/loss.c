/* How logits and cross-entropy are computed. */
#include "strategy/strategy.h"

static bool apply(struct vs_plan *plan, struct vs_err *err) {
    static const char *const WORDS[] = {[VS_LOSS_FULL] = "full",
                                        [VS_LOSS_KERNEL] = "kernel",
                                        [VS_LOSS_CHUNKED] = "chunked",
                                        [VS_LOSS_FUSED] = "fused"};
    (void)err;
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        if (vs_is(&plan->c->axes, VS_AXIS_LOSS, WORDS[i]))
            plan->loss = (enum vs_loss_kind)i;
    return true;
}

const struct vs_strategy vs_strategy_loss = {.name = "loss",
                                             .help = "full, kernel, chunked or fused cross-entropy",
                                             .stage = "train",
                                             .apply = apply};
