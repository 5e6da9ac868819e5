/* The KV cache: types of keys and values, and the cells that an engine provisions. */
#include "strategy/strategy.h"

#include "engine/engine.h"
#include "hw/machine.h"

static const struct vs_type *type_of(const struct vs_values *axes, enum vs_axis own) {
    const char *word = vs_given(axes, own) ? axes->at[own].text : axes->at[VS_AXIS_KV].text;
    return word ? vs_type_find(word) : NULL;
}

static uint64_t given_or(const struct vs_plan *plan, enum vs_axis axis, const char *name,
                         double fallback) {
    if (vs_given(&plan->c->axes, axis))
        return (uint64_t)vs_count(&plan->c->axes, axis);
    return (uint64_t)vs_engine_number(plan->c->engine, name, NULL, fallback);
}

static bool page(struct vs_plan *plan, struct vs_err *err) {
    plan->kv_block = given_or(plan, VS_AXIS_KV_BLOCK, "kv_block", 16);
    if (plan->kv_block > 0 && plan->c->machine->device_count > 0)
        return true;
    return vs_err_at(err, NULL, 0, 0,
                     "--kv-alloc paged: blocks of %llu tokens on %s; expected at least 1, on a "
                     "device",
                     (unsigned long long)plan->kv_block, plan->c->machine->hw);
}

/* llama.cpp's -b: prompts come in batches of so many tokens, which are cut to -ub. */
static void bound_ubatch(struct vs_plan *plan) {
    if (plan->step_tokens > 0 && plan->step_tokens < plan->ubatch)
        plan->ubatch = plan->step_tokens;
    plan->step_tokens = 0;
}

static bool apply(struct vs_plan *plan, struct vs_err *err) {
    const struct vs_values *axes = &plan->c->axes;
    if (plan->c->task == VS_TASK_TRAIN)
        return true;
    plan->kv_k = type_of(axes, VS_AXIS_KV_K);
    plan->kv_v = type_of(axes, VS_AXIS_KV_V);
    if (!plan->kv_k || !plan->kv_v)
        return vs_err_at(err, NULL, 0, 0,
                         "--kv %s: expected a type of the KV cache such as fp16, q8_0 or q4_0",
                         axes->at[VS_AXIS_KV].text ? axes->at[VS_AXIS_KV].text : "");
    bool flash = vs_is(axes, VS_AXIS_ATTN, "flash");
    uint64_t pad =
        (uint64_t)vs_engine_number(plan->c->engine, flash ? "kv_pad_flash" : "kv_pad", NULL, 1);
    uint64_t cells = (uint64_t)vs_count(axes, VS_AXIS_CTX);
    plan->kv_cells = (cells + pad - 1) / pad * pad;
    plan->sequences = (uint64_t)vs_count(axes, VS_AXIS_BATCH);
    plan->attention_on_cpu = vs_is(axes, VS_AXIS_KV_PLACE, "cpu");
    /* A server's contiguous caches are pieces of the same pool. */
    bool pieces = vs_is(axes, VS_AXIS_KV_ALLOC, "contiguous") && plan->c->task == VS_TASK_SERVE;
    if ((vs_is(axes, VS_AXIS_KV_ALLOC, "paged") || pieces) && !page(plan, err))
        return false;
    plan->step_tokens = given_or(plan, VS_AXIS_MAX_BATCHED_TOKENS, "prefill_tokens", 0);
    plan->ubatch = (uint64_t)vs_count(axes, VS_AXIS_UBATCH);
    if (vs_streq(vs_engine_rule(plan->c->engine, "batch", ""), "bounds_ubatch"))
        bound_ubatch(plan);
    plan->kv_held = VS_NEW_ARRAY(plan->arena, vs_buffer_id, 2 * (size_t)plan->c->model->layers);
    if (!plan->kv_held)
        return vs_err_nomem(err);
    for (size_t i = 0; i < 2 * (size_t)plan->c->model->layers; i++)
        plan->kv_held[i] = VS_NO_BUFFER;
    return true;
}

const struct vs_strategy vs_strategy_kv_cache = {
    .name = "KV cache",
    .help = "16-bit and quantized keys and values, contiguous, growing or paged",
    .stage = "kv",
    .apply = apply};
