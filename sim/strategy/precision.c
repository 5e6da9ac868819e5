/* What training keeps of each number: weights, activations, gradients, master copies and states.
 *   bf16        everything in 16 bit                      2 + 2 + 4     bytes per parameter
 *   amp         16-bit weights as bf16; fp32 weights: fp32 states, 16-bit casts
 *   mixed-*     16-bit weights and gradients, fp32 master and states   2 + 2 + 4 + 8
 *   mixed-fp8*  and mixed-mxfp8: as mixed-bf16, matrices of the layers multiplied in 8 bit
 *   mixed-nvfp4 the same in 4 bit
 *   fp32        4 + 4 + 8
 * DeepSpeed updates flat copies of its own, in 16 bit too: 2 more bytes with bf16. Adapters are
 * fp32 (PEFT's autocast_adapter_dtype) unless the engine keeps them in the model's type. */
#include "strategy/strategy.h"

#include "base/text.h"
#include "engine/engine.h"
#include "hw/machine.h"

static bool check_fp8(const struct vs_case *c, bool fp8, struct vs_err *err) {
    if (!fp8 || vs_num_or(c->machine->devices[0]->compute.fp8_flops, 0) > 0)
        return true;
    return vs_err_at(err, NULL, 0, 0,
                     "--precision %s: %s has no 8-bit floating point; expected mixed-bf16 or a "
                     "device with fp8_flops",
                     c->axes.at[VS_AXIS_PRECISION].text, c->machine->hw);
}

static bool check_fp4(const struct vs_case *c, bool fp4, struct vs_err *err) {
    if (!fp4 || vs_num_or(c->machine->devices[0]->compute.fp4_flops, 0) > 0)
        return true;
    return vs_err_at(
        err, NULL, 0, 0,
        "--precision %s: %s has no 4-bit floating point; expected mixed-fp8, mixed-bf16 "
        "or a device with fp4_flops",
        c->axes.at[VS_AXIS_PRECISION].text, c->machine->hw);
}

/* Of gradients while they are added up; optimizers for bf16 may use a wider type than for fp16. */
static unsigned grad_bytes(const struct vs_case *c) {
    double bytes = vs_engine_number(c->engine, "grad_bytes", NULL, 2);
    if (vs_is(&c->axes, VS_AXIS_PRECISION, "mixed-bf16"))
        bytes = vs_engine_number(c->engine, "grad_bytes_bf16", NULL, bytes);
    return (unsigned)bytes;
}

static bool apply(struct vs_plan *plan, struct vs_err *err) {
    const struct vs_values *axes = &plan->c->axes;
    if (plan->c->task != VS_TASK_TRAIN)
        return true;
    struct vs_precision *p = &plan->precision;
    bool fp32 = vs_is(axes, VS_AXIS_PRECISION, "fp32");
    bool amp = vs_is(axes, VS_AXIS_PRECISION, "amp");
    bool mixed = vs_starts(axes->at[VS_AXIS_PRECISION].text, "mixed-");
    bool wide = vs_type_bytes(plan->rest, 1, 1) == 4;
    p->compute = fp32 ? 4 : 2;
    p->residual = fp32 || plan->kbit_upcast || (amp && wide) ? 4 : 2;
    p->grad = wide ? 4 : 2;
    if (mixed && !wide)
        p->grad = grad_bytes(plan->c);
    if (vs_given(axes, VS_AXIS_GRAD_DTYPE))
        p->grad = vs_is(axes, VS_AXIS_GRAD_DTYPE, "fp32") ? 4 : 2;
    p->state = wide || mixed ? 4 : 2;
    p->master = mixed && !wide ? 4 : 0;
    bool always = vs_streq(vs_engine_rule(plan->c->engine, "master", "mixed"), "always");
    if (always && !wide && !mixed)
        p->master = 2;
    p->cast_cache = amp && wide;
    p->adapter = (unsigned)vs_engine_number(plan->c->engine, "adapter_bytes", NULL, 4);
    p->fp8 = vs_is(axes, VS_AXIS_PRECISION, "mixed-fp8") ||
             vs_is(axes, VS_AXIS_PRECISION, "mixed-fp8-row") ||
             vs_is(axes, VS_AXIS_PRECISION, "mixed-mxfp8");
    p->fp4 = vs_is(axes, VS_AXIS_PRECISION, "mixed-nvfp4");
    return check_fp8(plan->c, p->fp8, err) && check_fp4(plan->c, p->fp4, err);
}

const struct vs_strategy vs_strategy_precision = {
    .name = "precision",
    .help = "types of weights, gradients, master copies and states",
    .stage = "train",
    .apply = apply};
