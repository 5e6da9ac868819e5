#include "plan/generate.h"

#include "engine/engine.h"
#include "hw/machine.h"
#include "plan/block.h"
#include "plan/managed.h"
#include "plan/pass.h"
#include "plan/rules/compute_buffer.h"

/* A cache in host memory has its room from the start. */
static bool grows(const struct vs_plan *plan) {
    return vs_is(&plan->c->axes, VS_AXIS_KV_ALLOC, "dynamic") && !plan->attention_on_cpu;
}

static uint8_t kv_home(const struct vs_plan *plan, uint32_t layer) {
    const struct vs_layer *l = &plan->layers[layer];
    if (l->on_cpu || plan->attention_on_cpu)
        return VS_HOME_HOST;
    return (uint8_t)(VS_HOME_GPU + l->device);
}

static void take_cache(struct vs_emit *e) {
    const struct vs_plan *plan = e->plan;
    struct vs_managed_laid laid[VS_HOME_COUNT] = {0};
    for (uint32_t l = 0; l < plan->c->model->layers; l++) {
        struct vs_buffer b = {.what = "KV cache",
                              .layer = (int32_t)l,
                              .home = kv_home(plan, l),
                              .tag = VS_TAG_KV,
                              .managed = plan->managed.on && vs_on_gpu(kv_home(plan, l)),
                              .bytes = plan->sequences * vs_plan_kv_bytes(plan, l, plan->kv_cells)};
        if (b.managed)
            b.bytes = vs_managed_lay(&laid[b.home], b.bytes);
        plan->kv_held[2 * l] = vs_emit_take_in(e, &b);
    }
}

/* What a layer with a recurrence keeps of all sequences. */
static uint64_t state_bytes(const struct vs_plan *plan, uint32_t layer) {
    uint64_t batch = (uint64_t)vs_count(&plan->c->axes, VS_AXIS_BATCH);
    return batch * vs_plan_state_layer_bytes(plan, layer);
}

uint64_t vs_plan_state_bytes(const struct vs_plan *plan) {
    uint64_t bytes = 0;
    for (uint32_t l = 0; l < plan->c->model->layers; l++)
        bytes += state_bytes(plan, l);
    return bytes;
}

static void take_states(struct vs_emit *e) {
    const struct vs_plan *plan = e->plan;
    for (uint32_t l = 0; l < plan->c->model->layers; l++) {
        struct vs_buffer b = {.what = "recurrent state",
                              .layer = (int32_t)l,
                              .home = kv_home(plan, l),
                              .tag = VS_TAG_KV,
                              .bytes = state_bytes(plan, l)};
        vs_emit_take_in(e, &b);
    }
}

static vs_buffer_id take_in(struct vs_emit *e, unsigned home, enum vs_tag tag, const char *what,
                            uint64_t bytes) {
    bool workspace = vs_on_gpu(home) && tag == VS_TAG_WORKSPACE;
    struct vs_buffer b = {.what = what,
                          .layer = -1,
                          .home = (uint8_t)home,
                          .tag = (uint8_t)tag,
                          .managed = e->plan->managed.on && workspace,
                          .bytes = bytes};
    return vs_emit_take_in(e, &b);
}

/* ik_llama.cpp makes the halves of the matrix behind a latent when it loads a model: that for keys
 * transposed and in q8_0, that for values in the type of the whole. */
static void take_latent_halves(struct vs_emit *e) {
    const struct vs_plan *plan = e->plan;
    const struct vs_model *m = plan->c->model;
    for (size_t i = 0; plan->latent_split && i < plan->weight_count; i++) {
        const struct vs_weight *w = &plan->weights[i];
        if (w->tensor->role != VS_ROLE_KV_B)
            continue;
        uint64_t width = (uint64_t)m->mla_nope_dim + m->mla_v_dim;
        const struct vs_type *key =
            w->type->class_of == VS_CLASS_FLOAT ? w->type : vs_type_find("q8_0");
        uint64_t keys = vs_type_bytes(key, (uint64_t)m->heads * m->mla_nope_dim, m->mla_kv_rank);
        struct vs_buffer b = {.what = w->tensor->name,
                              .layer = w->tensor->layer,
                              .home = (uint8_t)w->home,
                              .tag = VS_TAG_WEIGHTS,
                              .bytes = keys + w->bytes * m->mla_v_dim / width};
        vs_emit_take_in(e, &b);
    }
}

static void take_compute_buffers(struct vs_emit *e) {
    const struct vs_plan *plan = e->plan;
    size_t devices = plan->ranks > 1 ? 1 : plan->c->machine->device_count;
    for (size_t d = 0; d < devices; d++) {
        struct vs_compute_buffer b = vs_compute_buffer(plan, (uint8_t)d);
        vs_buffer_id id =
            take_in(e, VS_HOME_GPU + (unsigned)d, VS_TAG_WORKSPACE, "compute buffer", b.bytes);
        if (plan->managed.on)
            plan->managed.workspace[d] = id;
        take_in(e, VS_HOME_GPU + (unsigned)d, VS_TAG_DEQUANT, "run-time pool", b.pool_bytes);
    }
    take_in(e, VS_HOME_HOST, VS_TAG_WORKSPACE, "compute buffer", vs_host_compute_buffer(plan));
}

bool vs_emit_provision(struct vs_plan *plan, struct vs_phase *phase, struct vs_err *err) {
    struct vs_emit e;
    vs_emit_begin(&e, plan, phase, "provision");
    if (plan->block.batches > 0)
        vs_block_take_cache(&e);
    else if (!grows(plan) && plan->kv_block == 0)
        take_cache(&e);
    if (plan->kv_block == 0)
        take_states(&e); /* otherwise they are in the pool */
    take_latent_halves(&e);
    if (vs_streq(vs_engine_rule(plan->c->engine, "compute_buffer", ""), "graph"))
        take_compute_buffers(&e);
    vs_emit_op(&e, &(struct vs_op){.kind = VS_WORK_NOTHING,
                                   .lane = VS_LANE_COMPUTE,
                                   .what = "KV cache and compute buffer",
                                   .layer = -1});
    return vs_emit_end(&e, err);
}

static void set_pass(struct vs_pass *p, uint64_t tokens, uint64_t past, bool decode) {
    p->tokens = tokens * p->batch;
    p->past = past;
    p->cells = past + tokens;
    p->few = p->batched ? decode : p->tokens <= VS_FEW_TOKENS;
}

static bool begin(struct vs_pass *p, struct vs_plan *plan, struct vs_phase *phase, const char *name,
                  struct vs_err *err) {
    *p = (struct vs_pass){.plan = plan,
                          .m = plan->c->model,
                          .engine = plan->c->engine,
                          .share = 1,
                          .layers = plan->c->model->layers};
    p->batch = plan->sequences;
    p->batched = vs_pass_rule(p, "decode", "batched");
    p->torch = vs_pass_rule(p, "activations", "torch");
    p->grows = grows(plan);
    vs_emit_begin(&p->e, plan, phase, name);
    if (p->grows && vs_pass_rule(p, "kv_growth", "whole")) {
        p->outgrown = VS_NEW_ARRAY(plan->arena, vs_buffer_id, 2 * (size_t)p->m->layers);
        if (!p->outgrown)
            return vs_err_nomem(err);
        for (size_t i = 0; i < 2 * (size_t)p->m->layers; i++)
            p->outgrown[i] = VS_NO_BUFFER;
    }
    return vs_fetch_begin(&p->fetch, plan, false, err);
}

/* Programs that generate, or have provisioned room for it, count what their first batch warms up;
 * benchmarks of the prompt alone provision just that and have warmed up before. */
static bool goes_on(const struct vs_values *axes, uint64_t cells) {
    return vs_count(axes, VS_AXIS_GEN) > 0 || (uint64_t)vs_count(axes, VS_AXIS_CTX) > cells;
}

/* The host waits for the token that was sampled before it issues the next step; servers schedule
 * between steps and handle each sequence's token. */
static void sample(struct vs_pass *p, bool first_batch) {
    double host = vs_pass_number(p, "step_s", 0) +
                  vs_pass_number(p, "sequence_s", 0) * (double)(p->batch + p->chunk.sequences);
    vs_emit_after(&p->e, vs_emit_last(&p->e, VS_LANE_COMPUTE));
    vs_emit_after(&p->e, vs_emit_last(&p->e, VS_LANE_CPU));
    vs_emit_op(&p->e,
               &(struct vs_op){
                   .kind = VS_WORK_SYNC,
                   .lane = VS_LANE_ISSUE,
                   .what = "sample",
                   .layer = -1,
                   .cost_s = host + (first_batch ? vs_pass_number(p, "first_batch_s", 0) : 0)});
}

bool vs_emit_prefill(struct vs_plan *plan, uint64_t prompt, uint64_t depth, struct vs_phase *phase,
                     struct vs_err *err) {
    struct vs_pass p;
    uint64_t step = plan->ubatch > 0 && plan->ubatch < prompt ? plan->ubatch : prompt;
    if (!begin(&p, plan, phase, "prefill", err))
        return false;
    for (uint64_t at = 0; at < prompt && !p.e.failed; at += step) {
        uint64_t n = prompt - at < step ? prompt - at : step;
        set_pass(&p, n, depth + at, false);
        if (at > 0 && !vs_fetch_begin(&p.fetch, plan, false, err))
            return false;
        vs_pass_layers(&p, at + n == prompt);
    }
    sample(&p, depth == 0 && goes_on(&plan->c->axes, prompt));
    return vs_emit_end(&p.e, err);
}

bool vs_emit_decode(struct vs_plan *plan, uint64_t past, struct vs_phase *phase,
                    struct vs_err *err) {
    struct vs_pass p;
    if (!begin(&p, plan, phase, "decode", err))
        return false;
    set_pass(&p, 1, past, true);
    /* A host thread that attends brings no layers meanwhile, where one thread does both. */
    if (plan->attention_on_cpu && vs_pass_rule(&p, "cpu_attention", "blocks"))
        p.fetch.ahead = p.fetch.overlap = 0;
    vs_pass_layers(&p, true);
    sample(&p, false);
    return vs_emit_end(&p.e, err);
}

bool vs_emit_step(struct vs_plan *plan, const struct vs_serve_step *step, struct vs_phase *phase,
                  struct vs_err *err) {
    struct vs_pass p;
    if (!begin(&p, plan, phase, "step", err))
        return false;
    p.batch = step->decodes;
    p.chunk = (struct vs_chunk){.tokens = step->prompt_tokens,
                                .reach = step->reach,
                                .sequences = step->prompts,
                                .others = step->other_tokens};
    set_pass(&p, 1, step->cells > 0 ? step->cells - 1 : 0, true);
    p.tokens += p.chunk.tokens;
    p.few &= p.chunk.tokens == 0;
    p.layers = step->layers > 0 ? step->layers : p.layers;
    vs_pass_layers(&p, true);
    sample(&p, false);
    return vs_emit_end(&p.e, err);
}

bool vs_emit_kv_copy(struct vs_plan *plan, uint64_t blocks, bool to_host, struct vs_phase *phase,
                     struct vs_err *err) {
    struct vs_emit e;
    double each = vs_engine_number(plan->c->engine, "kv_copy_launches", NULL, 0);
    vs_emit_begin(&e, plan, phase, "KV copy");
    for (uint32_t l = 0; l < plan->c->model->layers; l++) {
        e.device = plan->layers[l].device;
        vs_emit_op(&e, &(struct vs_op){
                           .kind = VS_WORK_COPY,
                           .lane = to_host ? VS_LANE_D2H : VS_LANE_H2D,
                           .what = "KV blocks",
                           .layer = (int32_t)l,
                           .pinned = true,
                           .bytes = (double)(blocks * vs_plan_kv_bytes(plan, l, plan->kv_block)),
                           .launches = 2 + each * (double)blocks});
    }
    return vs_emit_end(&e, err);
}
