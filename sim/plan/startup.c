#include "plan/startup.h"

#include "engine/engine.h"
#include "hw/machine.h"
#include "plan/fetch.h"

static double number(const struct vs_plan *plan, const char *name, double fallback) {
    const struct vs_machine *m = plan->c->machine;
    const char *arch = m->device_count > 0 ? m->devices[0]->arch.name : NULL;
    return vs_engine_number(plan->c->engine, name, arch, fallback);
}

static bool rule_is(const struct vs_plan *plan, const char *rule, const char *word) {
    return vs_streq(vs_engine_rule(plan->c->engine, rule, ""), word);
}

/* A number that an axis may state; on large cards an engine may have another one. */
static uint64_t limit(const struct vs_plan *plan, enum vs_axis axis, const char *name,
                      const char *large) {
    const struct vs_machine *m = plan->c->machine;
    double bytes = m->device_count > 0 ? vs_num_or(m->devices[0]->memory.usable_bytes, 0) : 0;
    if (vs_given(&plan->c->axes, axis))
        return (uint64_t)vs_count(&plan->c->axes, axis);
    double small = number(plan, name, 1);
    bool is_large = bytes >= number(plan, "large_card_bytes", (double)UINT64_MAX);
    return (uint64_t)(is_large ? number(plan, large, small) : small);
}

/* Engines that take prompts whole cut them on demand, and where the context is long unless told not
 * to. */
static bool cuts_prompts(const struct vs_plan *plan) {
    const struct vs_values *axes = &plan->c->axes;
    bool is_long = (double)vs_count(axes, VS_AXIS_CTX) > number(plan, "whole_prompt_tokens", 32768);
    return vs_is(axes, VS_AXIS_CHUNKED_PREFILL, "on") ||
           (rule_is(plan, "prompts", "whole") && is_long &&
            !vs_is(axes, VS_AXIS_CHUNKED_PREFILL, "off"));
}

/* The step that is tried out. Engines that do not cut prompts must take the longest one whole;
 * those that cut them nevertheless try no sampling. */
struct step {
    uint64_t tokens, rows;
};

static struct step largest_step(const struct vs_plan *plan) {
    const struct vs_values *axes = &plan->c->axes;
    uint64_t ctx = (uint64_t)vs_count(axes, VS_AXIS_CTX);
    struct step s = {
        .tokens = limit(plan, VS_AXIS_MAX_BATCHED_TOKENS, "step_tokens", "step_tokens_large"),
        .rows = limit(plan, VS_AXIS_MAX_SEQS, "step_sequences", "step_sequences_large")};
    if (rule_is(plan, "prompts", "whole") && !vs_given(axes, VS_AXIS_MAX_BATCHED_TOKENS)) {
        bool cut = cuts_prompts(plan);
        if (!cut && ctx > s.tokens)
            s.tokens = ctx;
        if (cut)
            s = (struct step){.tokens = (uint64_t)number(plan, "chunk_tokens", 512)};
    }
    if (s.rows > s.tokens)
        s.rows = s.tokens;
    return s;
}

struct vs_step_limits vs_step_limits(const struct vs_plan *plan) {
    return (struct vs_step_limits){
        .tokens = largest_step(plan).tokens,
        .cut = cuts_prompts(plan),
        .sequences = limit(plan, VS_AXIS_MAX_SEQS, "step_sequences", "step_sequences_large")};
}

/* The widest moment of a dense layer: gate, up and their product, and three hidden states. */
static uint64_t layer_bytes(const struct vs_plan *plan, uint64_t tokens, uint32_t parts) {
    const struct vs_model *m = plan->c->model;
    return 2 * tokens * (3 * (uint64_t)m->ffn / parts + 3 * (uint64_t)m->hidden);
}

/* Buffers of fused expert kernels: inputs or outputs of all chosen experts, and what is between.
 * Kernels on microscaled weights need none. */
static uint64_t expert_bytes(const struct vs_plan *plan, uint64_t tokens) {
    const struct vs_model *m = plan->c->model;
    uint64_t k = m->experts_active, between = k * m->moe_ffn / vs_plan_expert_parts(plan);
    uint64_t ends = k * m->hidden;
    if (m->experts == 0 || plan->format.kind == VS_FORMAT_MX)
        return 0;
    return 2 * tokens * ((2 * between > ends ? 2 * between : ends) + between);
}

/* Engines that copy an offloaded layer before they run it do so while they try a step out. */
static uint64_t copied_bytes(const struct vs_plan *plan) {
    uint64_t most = 0;
    for (uint32_t l = 0; plan->streaming && l < plan->c->model->layers; l++) {
        uint64_t bytes = vs_unit_fetch_bytes(plan, (int32_t)l);
        most = bytes > most ? bytes : most;
    }
    return rule_is(plan, "offloaded", "copied") ? most : 0;
}

static void nothing(struct vs_emit *e, const char *what) {
    vs_emit_op(e, &(struct vs_op){
                      .kind = VS_WORK_NOTHING, .lane = VS_LANE_COMPUTE, .what = what, .layer = -1});
}

/* Stages of a pipeline hold hidden states to hand on, and try no sampling (as logged). */
static void try_step(struct vs_emit *e, const struct step *s) {
    const struct vs_plan *plan = e->plan;
    const struct vs_model *m = plan->c->model;
    bool stage = vs_devices_written(plan) > 1;
    uint64_t workspace =
        (uint64_t)number(plan, "step_workspace_bytes", 0) + (stage ? 4 * s->tokens * m->hidden : 0);
    uint64_t logits =
        (uint64_t)((double)(s->rows * m->vocab) * number(plan, "sampler_bytes_per_logit", 0));
    vs_buffer_id copied =
        vs_emit_take(e, VS_TAG_ACTIVATIONS, "offloaded layer", -1, copied_bytes(plan));
    vs_buffer_id experts =
        vs_emit_take(e, VS_TAG_ACTIVATIONS, "experts", -1, expert_bytes(plan, s->tokens));
    vs_buffer_id layer = vs_emit_take(e, VS_TAG_ACTIVATIONS, "widest layer", -1,
                                      layer_bytes(plan, s->tokens, 1) + workspace);
    nothing(e, "profile run: layers");
    vs_emit_give(e, layer);
    vs_buffer_id sampler = VS_NO_BUFFER;
    if (s->rows > 0 && !stage)
        sampler = vs_emit_take(e, VS_TAG_ACTIVATIONS, "logits and sampler", -1,
                               logits + 2 * s->tokens * m->hidden + workspace);
    nothing(e, "profile run: sampler");
    vs_emit_give(e, sampler);
    vs_emit_give(e, experts);
    vs_emit_give(e, copied);
}

bool vs_emit_profile(struct vs_plan *plan, struct vs_phase *phase, struct vs_err *err) {
    struct vs_emit e;
    struct step s = largest_step(plan);
    vs_emit_begin(&e, plan, phase, "profile run");
    for (unsigned d = 0; d < vs_devices_written(plan); d++) {
        e.device = (uint8_t)d;
        if (rule_is(plan, "profile", "run"))
            try_step(&e, &s);
        if (rule_is(plan, "profile", "buffers"))
            vs_emit_take(&e, VS_TAG_ACTIVATIONS, "activation buffers", -1,
                         2 * layer_bytes(plan, s.tokens, vs_plan_parts(plan)));
        nothing(&e, "ready to measure");
    }
    return vs_emit_end(&e, err);
}

uint64_t vs_kv_block_bytes(const struct vs_plan *plan, unsigned device) {
    uint64_t bytes = 0;
    for (uint32_t l = 0; l < plan->c->model->layers; l++)
        if (plan->layers[l].device == device)
            bytes += vs_plan_kv_bytes(plan, l, plan->kv_block);
    return bytes;
}

uint64_t vs_state_blocks(const struct vs_plan *plan) {
    uint64_t most = 0;
    for (unsigned d = 0; d < vs_devices_written(plan); d++) {
        uint64_t bytes = 0, block = vs_kv_block_bytes(plan, d);
        for (uint32_t l = 0; l < plan->c->model->layers; l++)
            if (plan->layers[l].device == d)
                bytes += vs_plan_state_layer_bytes(plan, l);
        uint64_t blocks = block > 0 ? (bytes + block - 1) / block : 0;
        most = blocks > most ? blocks : most;
    }
    return most;
}

/* The device with the least of them: others have its blocks too. */
static double window_part(const struct vs_plan *plan) {
    double least = 1;
    for (unsigned d = 0; d < vs_devices_written(plan); d++) {
        uint64_t all = vs_kv_block_bytes(plan, d), windows = 0;
        for (uint32_t l = 0; l < plan->c->model->layers; l++)
            if (plan->layers[l].device == d && vs_layer_window(plan->c->model, l) > 0)
                windows += vs_plan_kv_bytes(plan, l, plan->kv_block);
        double part = all > 0 ? (double)windows / (double)all : 1;
        least = part < least ? part : least;
    }
    return least;
}

struct vs_paged vs_kv_paged(const struct vs_plan *plan) {
    return (struct vs_paged){.block_tokens = plan->kv_block,
                             .window_blocks = plan->window.kept / plan->kv_block,
                             .window_part = window_part(plan)};
}

uint64_t vs_kv_sequence_blocks(const struct vs_plan *plan) {
    const struct vs_paged paged = vs_kv_paged(plan);
    return vs_paged_blocks(&paged, (uint64_t)vs_count(&plan->c->axes, VS_AXIS_CTX)) +
           vs_state_blocks(plan);
}

uint64_t vs_kv_host_bytes(const struct vs_plan *plan) {
    const struct vs_values *axes = &plan->c->axes;
    size_t devices = plan->c->machine->device_count;
    if (vs_given(axes, VS_AXIS_KV_HOST))
        return (uint64_t)vs_count(axes, VS_AXIS_KV_HOST);
    return vs_is(axes, VS_AXIS_PREEMPT, "swap")
               ? (uint64_t)number(plan, "swap_bytes", 0) * (uint64_t)devices
               : 0;
}

uint64_t vs_kv_pool_blocks(const struct vs_plan *plan, unsigned device,
                           const struct vs_memory_seen *seen) {
    bool stated = vs_given(&plan->c->axes, VS_AXIS_GPU_UTIL);
    double part = stated ? vs_real(&plan->c->axes, VS_AXIS_GPU_UTIL) : 1,
           all = (double)seen->capacity;
    double left = all - (double)seen->in_use, bytes = 0;
    if (rule_is(plan, "kv_pool", "total"))
        bytes = part * all - (double)seen->peak;
    else if (rule_is(plan, "kv_pool", "static"))
        bytes = left - (1 - part) * (all - (double)seen->before);
    else if (rule_is(plan, "kv_pool", "share"))
        bytes = part * all < left ? part * all : left;
    else
        bytes = part * left;
    uint64_t block = vs_kv_block_bytes(plan, device);
    return bytes > 0 && block > 0 ? (uint64_t)(bytes / (double)block) : 0;
}

bool vs_emit_kv_pool(struct vs_plan *plan, uint64_t blocks, uint64_t sequences,
                     struct vs_phase *phase, struct vs_err *err) {
    struct vs_emit e;
    uint64_t needed = sequences * vs_kv_sequence_blocks(plan);
    vs_emit_begin(&e, plan, phase, "start-up");
    for (unsigned d = 0; d < vs_devices_written(plan); d++) {
        uint64_t block = vs_kv_block_bytes(plan, d);
        e.device = (uint8_t)d;
        vs_emit_take(&e, VS_TAG_KV, "KV pool", -1, blocks * block);
        nothing(&e, "KV pool");
        if (blocks < needed)
            vs_emit_take(&e, VS_TAG_OTHER,
                         sequences > 1 ? "KV blocks of the batch" : "KV blocks of one sequence", -1,
                         (needed - blocks) * block);
        nothing(&e, "check of the context");
    }
    struct vs_buffer host = {.what = "KV blocks in host memory",
                             .layer = -1,
                             .home = VS_HOME_PINNED,
                             .tag = VS_TAG_KV,
                             .bytes = vs_kv_host_bytes(plan)};
    vs_emit_take_in(&e, &host);
    nothing(&e, "room for KV blocks in host memory");
    return vs_emit_end(&e, err);
}
