#include "plan/rules/compute_buffer.h"

#include "engine/engine.h"
#include "hw/machine.h"

/* Numbers that the closed forms share. */
struct shape {
    uint64_t u, cells, d, vocab, heads, mask;
    uint64_t expert_rows; /* activations of the routed experts of a token */
    uint64_t scores;      /* of naive attention */
    uint64_t unpacked;    /* keys and values of all heads, made from latents */
    uint64_t copies;      /* of a pipeline's inputs */
    bool flash, pipeline;
};

static uint64_t max(uint64_t a, uint64_t b) { return a > b ? a : b; }

static bool is_matrix(const struct vs_weight *w) { return vs_role_is_linear(w->tensor->role); }

/* Copies of a pipeline's inputs are kept where several devices hold everything. */
static bool pipelined(const struct vs_plan *plan) {
    if (plan->c->machine->device_count < 2 || plan->attention_on_cpu || plan->row_split ||
        plan->tensor_parallel)
        return false;
    for (size_t i = 0; i < plan->weight_count; i++)
        if (is_matrix(&plan->weights[i]) && !vs_on_gpu(plan->weights[i].home))
            return false;
    return true;
}

/* Numbers of `head` for each head, of as many heads at once as --attn-buffer has room for in fp32.
 */
static uint64_t bounded(const struct vs_plan *plan, uint64_t head, uint64_t heads) {
    uint64_t room = plan->attn_buffer > 0 ? plan->attn_buffer / (4 * head) : heads;
    return head * (room < 1 ? 1 : room < heads ? room : heads);
}

/* ik_llama.cpp: K and V of all heads in fp16, beside the product of some heads in fp32 that they
 * are copied from, the mask in fp16, queries and output. In numbers of 4 bytes. */
static uint64_t unpacked(const struct vs_plan *plan, const struct shape *s) {
    const struct vs_model *m = plan->c->model;
    uint64_t key = (uint64_t)m->mla_nope_dim + m->mla_rope_dim, value = m->mla_v_dim;
    return s->cells * s->heads * (key + value) / 2 +
           bounded(plan, s->cells * (m->mla_nope_dim + value), s->heads) + s->mask / 2 +
           s->u * s->heads * (key + value);
}

static struct shape shape_of(const struct vs_plan *plan) {
    const struct vs_model *m = plan->c->model;
    uint32_t parts = vs_plan_parts(plan);
    struct shape s = {.d = m->hidden, .vocab = m->vocab / parts, .heads = m->heads / parts};
    uint64_t batch = (uint64_t)vs_count(&plan->c->axes, VS_AXIS_BATCH);
    s.cells = plan->kv_cells * batch;
    s.u = plan->ubatch < s.cells ? plan->ubatch : s.cells;
    uint64_t kept = plan->window.kept > 0 && plan->window.kept < plan->kv_cells ? plan->window.kept
                                                                                : plan->kv_cells;
    s.mask = s.u * (s.cells + (plan->window.masked ? kept * batch : 0));
    s.flash = plan->attention == VS_ATTENTION_FLASH;
    s.pipeline = pipelined(plan);
    s.copies = vs_given(&plan->c->axes, VS_AXIS_PIPELINE_COPIES)
                   ? (uint64_t)vs_count(&plan->c->axes, VS_AXIS_PIPELINE_COPIES)
                   : 4;
    s.scores = s.flash ? 0 : bounded(plan, s.u * s.cells, s.heads);
    if (vs_plan_unpacks(plan, s.u) && vs_model_mixers(m, VS_MIXER_LATENT))
        s.unpacked = unpacked(plan, &s);
    if (m->experts > 0)
        s.expert_rows = (uint64_t)m->experts_active * (m->hidden + m->moe_ffn);
    return s;
}

/* A host weight that a device multiplies in large batches is staged there; the largest one counts.
 */
static uint64_t largest_host_weight(const struct vs_plan *plan, uint64_t tokens) {
    uint64_t largest = 0;
    for (size_t i = 0; i < plan->weight_count; i++) {
        const struct vs_weight *w = &plan->weights[i];
        if (is_matrix(w) && !vs_on_gpu(w->home) &&
            vs_plan_takes_over(plan, tokens, vs_is_expert(w)))
            largest = max(largest, w->bytes);
    }
    return largest;
}

static uint64_t largest_matrix_params(const struct vs_plan *plan, uint8_t device) {
    uint64_t largest = 0;
    for (size_t i = 0; i < plan->weight_count; i++) {
        const struct vs_weight *w = &plan->weights[i];
        if (is_matrix(w) && vs_gpu_home(device) == w->home && w->type->class_of != VS_CLASS_FLOAT)
            largest = max(largest, w->tensor->rows * w->tensor->cols);
    }
    return largest;
}

static bool holds_layers(const struct vs_plan *plan, uint8_t device) {
    for (uint32_t l = 0; l < plan->c->model->layers; l++)
        if (!plan->layers[l].on_cpu && plan->layers[l].device == device)
            return true;
    return false;
}

struct vs_compute_buffer vs_compute_buffer(const struct vs_plan *plan, uint8_t device) {
    struct shape s = shape_of(plan);
    struct vs_compute_buffer out = {0};
    const struct vs_weight *w = &plan->weights[vs_plan_head(plan)];
    bool has_head = vs_gpu_home(device) == w->home;
    uint64_t staged = device == 0 ? largest_host_weight(plan, s.u) : 0;
    if (!holds_layers(plan, device) && !has_head && staged == 0)
        return out;
    uint64_t layers =
        s.scores + (s.pipeline ? s.copies * s.mask + 8 * s.u * s.d : s.mask + 4 * s.u * s.d);
    if (s.expert_rows > 0)
        layers = max(s.pipeline ? layers : 0,
                     s.scores + s.mask + (s.flash ? s.mask / 2 : 0) + s.u * (s.expert_rows + s.d));
    layers = max(layers, s.unpacked);
    bool twice = vs_streq(vs_engine_rule(plan->c->engine, "logits_buffer", ""), "two_inputs");
    uint64_t logits = has_head ? s.u * ((twice ? 2 : 1) * s.d + s.vocab) : 0;
    out.bytes = 4 * max(layers, logits);
    if (staged > 0) {
        uint64_t rest =
            s.expert_rows > 0 ? 4 * s.u * s.expert_rows + 6 * s.mask : 4 * s.u * (s.d + s.vocab);
        out.bytes = max(out.bytes, staged + rest);
    }
    if (vs_streq(vs_engine_rule(plan->c->engine, "prefill_gemm", "direct"), "dequantize")) {
        uint64_t params = largest_matrix_params(plan, device);
        if (params > 0)
            out.pool_bytes = 2 * params + 4 * s.u * (s.d + plan->c->model->ffn);
    }
    return out;
}

static bool host_experts(const struct vs_plan *plan) {
    for (size_t i = 0; i < plan->weight_count; i++)
        if (plan->weights[i].tensor->role == VS_ROLE_EXPERT_DOWN &&
            !vs_on_gpu(plan->weights[i].home))
            return true;
    return false;
}

uint64_t vs_host_compute_buffer(const struct vs_plan *plan) {
    struct shape s = shape_of(plan);
    if (plan->c->machine->device_count == 0)
        return 4 * max(s.scores + s.mask + 4 * s.u * s.d, s.u * (s.d + s.vocab));
    uint64_t masks = (s.pipeline ? s.copies : 1) * s.mask, own = 0;
    /* The CPU's experts: their inputs and outputs, or their outputs beside the mask. */
    if (host_experts(plan) && !vs_plan_takes_over(plan, s.u, true))
        own = max(s.u * (s.expert_rows + s.d), masks + s.u * plan->c->model->experts_active * s.d);
    return 4 * max(masks + s.u * s.d, own);
}
