/* LoRA and QLoRA: the base is frozen, low-rank adapters stand beside the matrices that
 * --lora-targets names. Full fine-tuning: everything is trained. */
#include "strategy/strategy.h"

static const struct {
    const char *word;
    enum vs_role roles[6];
    size_t count;
} TARGETS[] = {
    {"q", {VS_ROLE_Q}, 1},
    {"k", {VS_ROLE_K}, 1},
    {"v", {VS_ROLE_V}, 1},
    {"o", {VS_ROLE_O}, 1},
    {"gate", {VS_ROLE_GATE}, 1},
    {"up", {VS_ROLE_UP}, 1},
    {"down", {VS_ROLE_DOWN}, 1},
    {"qv", {VS_ROLE_Q, VS_ROLE_V}, 2},
    {"qkv", {VS_ROLE_Q, VS_ROLE_K, VS_ROLE_V}, 3},
};

static bool targeted(const struct vs_values *axes, enum vs_role role) {
    if (vs_has_word(axes, VS_AXIS_LORA_TARGETS, "all"))
        return role >= VS_ROLE_Q && role <= VS_ROLE_DOWN;
    for (size_t i = 0; i < sizeof TARGETS / sizeof *TARGETS; i++)
        for (size_t k = 0; k < TARGETS[i].count; k++)
            if (TARGETS[i].roles[k] == role &&
                vs_has_word(axes, VS_AXIS_LORA_TARGETS, TARGETS[i].word))
                return true;
    return false;
}

static bool apply(struct vs_plan *plan, struct vs_err *err) {
    const struct vs_values *axes = &plan->c->axes;
    (void)err;
    if (plan->c->task != VS_TASK_TRAIN)
        return true;
    plan->adapters = !vs_is(axes, VS_AXIS_METHOD, "full");
    plan->lora_dropout = vs_real(axes, VS_AXIS_LORA_DROPOUT);
    for (size_t i = 0; i < plan->weight_count; i++) {
        struct vs_weight *w = &plan->weights[i];
        w->trainable = !plan->adapters;
        if (plan->adapters && targeted(axes, w->tensor->role))
            w->adapter_rank = (uint32_t)vs_count(axes, VS_AXIS_LORA_RANK);
    }
    return true;
}

const struct vs_strategy vs_strategy_adapters = {
    .name = "adapters", .help = "full fine-tuning, LoRA, QLoRA", .stage = "adapt", .apply = apply};
