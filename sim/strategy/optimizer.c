/* The optimizer's states and its way over the parameters. */
#include "strategy/strategy.h"

static bool apply(struct vs_plan *plan, struct vs_err *err) {
    static const struct {
        const char *word;
        struct vs_optimizer o;
    } KINDS[] = {
        {"adamw", {.states = 2}},
        {"adamw8bit", {.states = 2, .eight_bit = true}},
        {"paged-adamw", {.states = 2, .paged = true}},
        {"paged-adamw8bit", {.states = 2, .eight_bit = true, .paged = true}},
        {"adafactor", {.states = 1, .factored = true}},
        {"lion", {.states = 1}},
        {"lion8bit", {.states = 1, .eight_bit = true}},
        {"sgd", {.states = 0}},
        {"sgd-momentum", {.states = 1}},
        {"muon", {.states = 2, .orthogonal = true}},
    };
    const struct vs_values *axes = &plan->c->axes;
    if (plan->c->task != VS_TASK_TRAIN)
        return true;
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
        if (vs_is(axes, VS_AXIS_OPTIM, KINDS[i].word))
            plan->optimizer = KINDS[i].o;
    bool torch = !plan->optimizer.eight_bit && !plan->optimizer.paged;
    plan->optimizer.foreach = torch && vs_is(axes, VS_AXIS_OPTIM_IMPL, "foreach");
    plan->optimizer.fused = !torch || vs_is(axes, VS_AXIS_OPTIM_IMPL, "fused");
    if (plan->optimizer.factored || plan->optimizer.orthogonal) /* tensor by tensor, in Python */
        plan->optimizer.foreach = plan->optimizer.fused = false;
    plan->optimizer.in_backward = vs_is(axes, VS_AXIS_OPTIM_IN_BWD, "on");
    if (plan->optimizer.in_backward && vs_count(axes, VS_AXIS_ACCUM) > 1)
        return vs_err_at(err, NULL, 0, 0,
                         "--optim-in-bwd on frees each gradient within its micro-step, so --accum "
                         "%lld cannot add them up; expected --accum 1",
                         (long long)vs_count(axes, VS_AXIS_ACCUM));
    return true;
}

const struct vs_strategy vs_strategy_optimizer = {
    .name = "optimizer",
    .help = "AdamW and Lion in fp32, 8 bit and paged, Adafactor, Muon, SGD; foreach, fused, looped",
    .stage = "train",
    .apply = apply};
