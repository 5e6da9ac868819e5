/* LoRA and QLoRA: the base is frozen, low-rank adapters stand beside the matrices that
 * --lora-targets names. Modules of --lora-save are trained in full: a copy in the model's type
 * beside the frozen one (PEFT's modules_to_save). Full fine-tuning: everything is trained. */
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
    {"head", {VS_ROLE_HEAD}, 1},
    {"qv", {VS_ROLE_Q, VS_ROLE_V}, 2},
    {"qkv", {VS_ROLE_Q, VS_ROLE_K, VS_ROLE_V}, 3},
};

static bool targeted(const struct vs_values *axes, enum vs_role role) {
    if (vs_has_word(axes, VS_AXIS_LORA_TARGETS, "all") && role >= VS_ROLE_Q && role <= VS_ROLE_DOWN)
        return true;
    for (size_t i = 0; i < sizeof TARGETS / sizeof *TARGETS; i++)
        for (size_t k = 0; k < TARGETS[i].count; k++)
            if (TARGETS[i].roles[k] == role &&
                vs_has_word(axes, VS_AXIS_LORA_TARGETS, TARGETS[i].word))
                return true;
    return false;
}

/* A tied head is the embedding's tensor. */
static enum vs_role adapted_role(const struct vs_plan *plan, const struct vs_weight *w) {
    bool tied = plan->c->model->tied_embeddings && w->tensor->role == VS_ROLE_EMBED;
    return tied ? VS_ROLE_HEAD : w->tensor->role;
}

static bool saved(const struct vs_values *axes, enum vs_role role) {
    return (role == VS_ROLE_EMBED && vs_has_word(axes, VS_AXIS_LORA_SAVE, "embed")) ||
           (role == VS_ROLE_HEAD && vs_has_word(axes, VS_AXIS_LORA_SAVE, "head"));
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
        enum vs_role role = adapted_role(plan, w);
        w->saved = plan->adapters && (saved(axes, role) || saved(axes, w->tensor->role));
        w->trainable = !plan->adapters || w->saved;
        if (plan->adapters && !w->saved && targeted(axes, role))
            w->adapter_rank = (uint32_t)vs_count(axes, VS_AXIS_LORA_RANK);
    }
    return true;
}

const struct vs_strategy vs_strategy_adapters = {
    .name = "adapters", .help = "full fine-tuning, LoRA, QLoRA", .stage = "adapt", .apply = apply};
