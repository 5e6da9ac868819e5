/* What training keeps of each number: weights, activations, gradients, master copies and states.
 *   bf16        everything in 16 bit                      2 + 2 + 4     bytes per parameter
 *   amp         16-bit weights as bf16; fp32 weights: fp32 states, 16-bit casts
 *   mixed-*     16-bit weights and gradients, fp32 master and states   2 + 2 + 4 + 8
 *   fp32        4 + 4 + 8 */
#include "strategy/strategy.h"

static bool apply(struct vs_plan *plan, struct vs_err *err) {
    const struct vs_values *axes = &plan->c->axes;
    (void)err;
    if (plan->c->task != VS_TASK_TRAIN)
        return true;
    struct vs_precision *p = &plan->precision;
    bool fp32 = vs_is(axes, VS_AXIS_PRECISION, "fp32");
    bool amp = vs_is(axes, VS_AXIS_PRECISION, "amp");
    bool mixed = vs_is(axes, VS_AXIS_PRECISION, "mixed-bf16") ||
                 vs_is(axes, VS_AXIS_PRECISION, "mixed-fp16");
    bool wide = vs_type_bytes(plan->rest, 1, 1) == 4;
    p->compute = fp32 ? 4 : 2;
    p->residual = fp32 || plan->kbit_upcast || (amp && wide) ? 4 : 2;
    p->grad = wide ? 4 : 2;
    p->state = wide || mixed ? 4 : 2;
    p->master = mixed && !wide ? 4 : 0;
    p->cast_cache = amp && wide;
    p->adapter = 4;
    return true;
}

const struct vs_strategy vs_strategy_precision = {
    .name = "precision",
    .help = "types of weights, gradients, master copies and states",
    .stage = "train",
    .apply = apply};
