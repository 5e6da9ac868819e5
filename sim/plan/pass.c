#include "plan/pass.h"

#include "engine/engine.h"
#include "hw/machine.h"
#include "plan/block.h"
#include "plan/managed.h"

/* Behind attention. */
static bool is_mlp(const struct vs_weight *w) {
    return vs_role_is_mlp(w->tensor->role) || w->tensor->role == VS_ROLE_ROUTER;
}

static bool host_matrix(const struct vs_weight *w) {
    return vs_role_is_linear(w->tensor->role) && !is_mlp(w) && !vs_on_gpu(w->home);
}

static bool host_mlp(const struct vs_weight *w) {
    return vs_role_is_linear(w->tensor->role) && is_mlp(w) && !vs_is_expert(w) &&
           !vs_on_gpu(w->home);
}

static bool device_matrix(const struct vs_weight *w) {
    return vs_role_is_linear(w->tensor->role) && !vs_is_expert(w) && vs_on_gpu(w->home);
}

static bool any_matrix(const struct vs_weight *w) {
    return vs_role_is_linear(w->tensor->role) && !vs_is_expert(w);
}

static bool host_expert(const struct vs_weight *w) {
    return vs_is_expert(w) && !vs_on_gpu(w->home);
}

static bool device_expert(const struct vs_weight *w) {
    return vs_is_expert(w) && vs_on_gpu(w->home);
}

static bool any(const struct vs_weight *w) { return w != NULL; }

/* Bytes of a layer's weights that the filter takes. */
static double bytes_of(const struct vs_pass *p, uint32_t layer, vs_weight_filter wanted) {
    const struct vs_layer *l = &p->plan->layers[layer];
    double bytes = 0;
    for (uint32_t i = 0; i < l->weight_count; i++)
        if (wanted(&p->plan->weights[l->first_weight + i]))
            bytes += (double)p->plan->weights[l->first_weight + i].bytes;
    return bytes;
}

/* The hidden state crosses the link where work moves between processors; the side that goes on
 * waits, and the host spends its time on it. */
void vs_pass_go_to_cpu(struct vs_pass *p, bool cpu, int32_t layer) {
    if (p->on_cpu == cpu)
        return;
    vs_emit_after(&p->e, vs_emit_last(&p->e, cpu ? VS_LANE_COMPUTE : VS_LANE_CPU));
    vs_op_id copied =
        vs_emit_op(&p->e, &(struct vs_op){.kind = VS_WORK_COPY,
                                          .lane = cpu ? VS_LANE_D2H : VS_LANE_H2D,
                                          .what = "hidden state",
                                          .layer = layer,
                                          .bytes = 4.0 * (double)(p->tokens * p->m->hidden),
                                          .cost_s = vs_pass_number(p, "switch_s", 0)});
    vs_emit_after(&p->e, copied);
    p->on_cpu = cpu;
}

/* From one device to the next. */
static void hop(struct vs_pass *p, uint8_t device, int32_t layer) {
    vs_op_id before = vs_emit_last(&p->e, VS_LANE_COMPUTE);
    if (p->e.device == device)
        return;
    p->e.device = device;
    vs_emit_after(&p->e, before);
    vs_op_id done =
        vs_emit_op(&p->e, &(struct vs_op){.kind = VS_WORK_HOP,
                                          .lane = VS_LANE_H2D,
                                          .what = "hidden state to the next device",
                                          .layer = layer,
                                          .bytes = 4.0 * (double)(p->tokens * p->m->hidden),
                                          .cost_s = p->few ? vs_pass_number(p, "hop_s", 0) : 0});
    vs_emit_after(&p->e, done);
}

/* Growth by concatenation: the longer copy is taken before the old one goes; all of it is read and
 * written. A cache that is handed from pass to pass as a whole keeps its old copies of all layers
 * until the pass is over. */
static void grow_cache(struct vs_pass *p, uint32_t layer) {
    uint64_t half = p->batch * vs_plan_kv_bytes(p->plan, layer, p->cells) / 2;
    for (uint32_t i = 0; i < 2; i++) {
        vs_buffer_id old = p->plan->kv_held[2 * layer + i];
        p->plan->kv_held[2 * layer + i] =
            vs_emit_take(&p->e, VS_TAG_KV, "KV cache", (int32_t)layer, half);
        if (p->outgrown)
            p->outgrown[2 * layer + i] = old;
        else
            vs_emit_give(&p->e, old);
    }
    if (p->past > 0)
        vs_emit_op(&p->e, &(struct vs_op){.kind = VS_WORK_ELEMENT,
                                          .lane = VS_LANE_COMPUTE,
                                          .what = "KV concatenation",
                                          .layer = (int32_t)layer,
                                          .bytes = 4.0 * (double)half,
                                          .launches = vs_pass_launches(p)});
}

/* Scores of naive attention in 16 bit, each step a copy of its own (transformers,
 * modeling_llama.py: eager_attention_forward): scaled, masked, their softmax in fp32, and that in
 * 16 bit again. Masked scores, fp32 and 16 bit are there at once: 8 bytes for each score. */
static void scores(struct vs_pass *p, uint32_t layer) {
    static const struct {
        const char *what;
        unsigned bytes;
    } STEPS[] = {{"attention scores", 2},
                 {"scaled scores", 2},
                 {"masked scores", 2},
                 {"softmax in fp32", 4},
                 {"attention weights", 2}};
    enum { STEP_COUNT = sizeof STEPS / sizeof *STEPS, MASKED = 2 };
    uint64_t count = p->tokens * p->cells * p->m->heads;
    vs_buffer_id made[STEP_COUNT];
    for (size_t i = 0; i < STEP_COUNT; i++) {
        made[i] = vs_emit_take(&p->e, VS_TAG_WORKSPACE, STEPS[i].what, (int32_t)layer,
                               STEPS[i].bytes * count);
        if (i > 0 && i <= MASKED)
            vs_emit_give(&p->e, made[i - 1]);
    }
    for (size_t i = MASKED; i < STEP_COUNT; i++)
        vs_emit_give(&p->e, made[i]);
}

/* Activations of one layer through PyTorch's allocator: the largest moments are attention and the
 * MLP. */
static void activations(struct vs_pass *p, uint32_t layer, bool mlp) {
    const struct vs_model *m = p->m;
    uint64_t bytes = mlp ? 2 * 3 * p->tokens * m->ffn
                         : 2 * p->tokens * (uint64_t)(2 * m->heads + 2 * m->kv_heads) * m->head_dim;
    vs_buffer_id a =
        vs_emit_take(&p->e, VS_TAG_WORKSPACE, mlp ? "mlp" : "attention", (int32_t)layer, bytes);
    if (!mlp && p->plan->attention == VS_ATTENTION_NAIVE)
        scores(p, layer);
    vs_emit_give(&p->e, a);
}

/* Small kernels of a layer: a fixed cost, and traffic of element-wise work that counts in prefill.
 */
static void small_kernels(struct vs_pass *p, uint32_t layer) {
    double d = (double)p->m->hidden, f = (double)p->m->ffn, tokens = (double)p->tokens;
    double per_hidden =
        vs_pass_number(p, p->few ? "element_decode" : "element_prefill", p->few ? 0 : 80);
    double per_ffn = p->few ? 0 : vs_pass_number(p, "element_prefill_ffn", 24);
    double cost = vs_pass_number(p, p->few ? "layer_s" : "prefill_layer_s", 0);
    if (p->m->experts > 0 && bytes_of(p, layer, vs_is_expert) > 0) {
        cost *= vs_pass_number(p, "expert_layer_scale", 1);
        f = (double)p->m->moe_ffn * p->m->experts_active;
    }
    if (p->few && p->m->layer[layer].mixer == VS_MIXER_LATENT)
        cost += vs_pass_number(p, "latent_layer_s", 0);
    if (cost > 0)
        vs_emit_op(&p->e, &(struct vs_op){.kind = VS_WORK_FIXED,
                                          .lane = VS_LANE_COMPUTE,
                                          .what = "small kernels",
                                          .layer = (int32_t)layer,
                                          .cost_s = cost});
    vs_emit_op(&p->e, &(struct vs_op){.kind = VS_WORK_ELEMENT,
                                      .lane = VS_LANE_COMPUTE,
                                      .what = "norms and activation",
                                      .layer = (int32_t)layer,
                                      .bytes = tokens * (per_hidden * d + per_ffn * f),
                                      .launches = vs_pass_launches(p)});
}

static void small_operations(struct vs_pass *p, uint32_t layer) {
    if (!p->on_cpu) {
        small_kernels(p, layer);
        return;
    }
    vs_emit_op(&p->e, &(struct vs_op){.kind = VS_WORK_FIXED,
                                      .lane = VS_LANE_CPU,
                                      .what = "small operations",
                                      .layer = (int32_t)layer,
                                      .cost_s = vs_pass_number(p, "cpu_layer_s", 0)});
}

/* A collective on the hidden state of all tokens: it follows what was computed, and what follows
 * waits for it. Its launch is one of the layer's. */
static void over_ranks(struct vs_pass *p, enum vs_work_kind kind, int32_t layer,
                       double element_bytes, const char *what) {
    double elements = (double)p->tokens * (double)p->m->hidden;
    vs_emit_after(&p->e, vs_emit_last(&p->e, VS_LANE_COMPUTE));
    vs_emit_after(&p->e, vs_emit_op(&p->e, &(struct vs_op){.kind = kind,
                                                           .lane = VS_LANE_COMM,
                                                           .what = what,
                                                           .layer = layer,
                                                           .bytes = element_bytes * elements}));
}

/* The ranks add up their parts of the hidden state, in 16 bit. */
static void all_reduce(struct vs_pass *p, int32_t layer, const char *what) {
    if (vs_plan_parts(p->plan) > 1)
        over_ranks(p, VS_WORK_ALL_REDUCE, layer, 2, what);
}

/* Where each rank has tokens of its own, experts that all share see those of all ranks: hidden
 * states are gathered before them, and parts of sums scattered back to whom they belong. */
static void exchange(struct vs_pass *p, int32_t layer, double element_bytes, const char *what) {
    over_ranks(p, VS_WORK_GATHER, layer, element_bytes, what);
}

/* Does the device take over host weights, copying them in for this pass? */
static bool takes_over(const struct vs_pass *p) {
    return vs_plan_takes_over(p->plan, p->tokens, false);
}

/* Weights in host memory: copied in and multiplied on the device, one after the other, in a large
 * batch; multiplied by the CPU otherwise. */
static void host_work(struct vs_pass *p, uint32_t layer, vs_weight_filter wanted, double share,
                      const char *what) {
    const struct vs_layer *l = &p->plan->layers[layer];
    double bytes = bytes_of(p, layer, wanted);
    bool experts = wanted == host_expert;
    double missing = vs_pass_missing(p, experts);
    if (bytes <= 0)
        return;
    if (!vs_plan_takes_over(p->plan, p->tokens, experts)) {
        vs_pass_go_to_cpu(p, true, (int32_t)layer);
        vs_pass_page_in(p, (int32_t)layer, bytes * share * missing);
        vs_pass_matrices(p, l->first_weight, l->weight_count, wanted, what);
        return;
    }
    vs_pass_go_to_cpu(p, false, (int32_t)layer);
    vs_pass_page_in(p, (int32_t)layer, bytes * share * missing);
    vs_emit_after(&p->e, vs_emit_last(&p->e, VS_LANE_COMPUTE));
    vs_op_id copied = vs_emit_op(&p->e, &(struct vs_op){.kind = VS_WORK_COPY,
                                                        .lane = VS_LANE_H2D,
                                                        .what = "host weights",
                                                        .layer = (int32_t)layer,
                                                        .bytes = bytes * share});
    vs_emit_after(&p->e, copied);
    vs_pass_matrices(p, l->first_weight, l->weight_count, wanted, what);
}

/* Some stacks attend to the prompt on the device and move its keys and values out behind it. */
static bool attention_on_cpu(const struct vs_pass *p) {
    return p->plan->attention_on_cpu && (p->few || !vs_pass_rule(p, "prefill_attention", "gpu"));
}

static void cache_to_host(struct vs_pass *p, uint32_t layer) {
    vs_emit_after(&p->e, vs_emit_last(&p->e, VS_LANE_COMPUTE));
    vs_emit_op(&p->e, &(struct vs_op){
                          .kind = VS_WORK_COPY,
                          .lane = VS_LANE_D2H,
                          .what = "new keys and values",
                          .layer = (int32_t)layer,
                          .pinned = true,
                          .bytes = (double)p->batch *
                                   (double)vs_plan_kv_bytes(p->plan, layer, p->cells - p->past)});
}

/* In a large batch whose matrices a device takes over, attention goes where the matrices beside it
 * are, in engines whose rule "host_cache_batches" says so. */
static bool attends_on_cpu(const struct vs_pass *p, uint32_t layer) {
    bool follows = vs_pass_rule(p, "host_cache_batches", "device") && takes_over(p);
    return attention_on_cpu(p) || (p->plan->layers[layer].on_cpu && !follows);
}

/* Engines quantize activations before they gather them, where experts take them so. */
static double gathered_bytes(const struct vs_weight *expert) {
    const struct vs_type *type = expert->type;
    return type->class_of >= VS_CLASS_FP8 ? (double)type->block_bytes / type->block_elements : 2;
}

static void device_experts(struct vs_pass *p, uint32_t layer) {
    const struct vs_layer *l = &p->plan->layers[layer];
    const struct vs_weight *first = NULL;
    uint64_t own = p->tokens;
    for (uint32_t i = 0; i < l->weight_count && !first; i++)
        if (vs_is_expert(&p->plan->weights[l->first_weight + i]))
            first = &p->plan->weights[l->first_weight + i];
    if (!first)
        return;
    p->tokens =
        (own - p->chunk.tokens) * vs_plan_groups(p->plan) + p->chunk.tokens + p->chunk.others;
    if (p->plan->attention_dp)
        exchange(p, (int32_t)layer, gathered_bytes(first), "all-gather of tokens");
    vs_pass_matrices(p, l->first_weight, l->weight_count,
                     p->plan->streaming ? vs_is_expert : device_expert, "experts");
    if (p->plan->attention_dp)
        exchange(p, (int32_t)layer, 2, "reduce-scatter of tokens");
    p->tokens = own;
}

static void layer_pass(struct vs_pass *p, uint32_t layer) {
    const struct vs_layer *l = &p->plan->layers[layer];
    bool streamed = p->plan->streaming;
    if (!l->on_cpu)
        hop(p, l->device, (int32_t)layer);
    vs_pass_go_to_cpu(p, l->on_cpu && !takes_over(p), (int32_t)layer);
    if (p->torch)
        activations(p, layer, false);
    if (p->grows)
        grow_cache(p, layer);
    vs_managed_use_layer(p, layer);
    vs_pass_matrices(p, l->first_weight, l->weight_count, streamed ? any_matrix : device_matrix,
                     "linear layers");
    if (!streamed)
        host_work(p, layer, host_matrix, 1, "linear layers");
    vs_pass_go_to_cpu(p, attends_on_cpu(p, layer), (int32_t)layer);
    vs_managed_use_cache(p, layer);
    vs_pass_mix(p, layer);
    if (p->plan->attention_on_cpu && !attention_on_cpu(p))
        cache_to_host(p, layer);
    all_reduce(p, (int32_t)layer, "all-reduce of attention");
    vs_pass_go_to_cpu(p, l->on_cpu && !takes_over(p), (int32_t)layer);
    vs_managed_use_experts(p, layer);
    device_experts(p, layer);
    if (!streamed) {
        host_work(p, layer, host_mlp, 1, "mlp");
        host_work(p, layer, host_expert, vs_pass_touched(p), "experts");
    }
    if (p->torch)
        activations(p, layer, true);
    vs_pass_go_to_cpu(p, l->on_cpu && !takes_over(p), (int32_t)layer);
    all_reduce(p, (int32_t)layer, "all-reduce of the MLP");
    small_operations(p, layer);
}

static void head_pass(struct vs_pass *p) {
    size_t head = vs_plan_head(p->plan);
    const struct vs_weight *w = &p->plan->weights[head];
    if (vs_on_gpu(w->home) || p->plan->streaming)
        hop(p, vs_on_gpu(w->home) ? (uint8_t)(w->home - VS_HOME_GPU) : 0, -1);
    vs_pass_go_to_cpu(p, !vs_on_gpu(w->home) && !p->plan->streaming, -1);
    if (p->on_cpu)
        vs_pass_page_in(p, -1, (double)w->bytes * vs_pass_missing(p, false));
    uint64_t rows =
        vs_pass_rule(p, "prefill_logits", "all") ? p->tokens : p->batch + p->chunk.sequences;
    uint64_t tokens = p->tokens;
    vs_buffer_id logits = VS_NO_BUFFER, copy = vs_emit_weight_copy(&p->e, w);
    if (p->torch)
        logits = vs_emit_take(&p->e, VS_TAG_LOGITS, "logits", -1, rows * p->m->vocab * 6);
    p->tokens = rows;
    vs_managed_use_head(p);
    vs_pass_matrices(p, head, 1, any, "lm_head");
    p->tokens = tokens;
    vs_emit_give(&p->e, logits);
    vs_emit_give(&p->e, copy);
}

/* Token embeddings that live elsewhere come whole, as modules do. */
static void embedding_pass(struct vs_pass *p) {
    for (size_t i = 0; i < p->plan->weight_count; i++) {
        const struct vs_weight *w = &p->plan->weights[i];
        if (w->tensor->role == VS_ROLE_EMBED)
            vs_emit_give(&p->e, vs_emit_weight_copy(&p->e, w));
    }
}

void vs_pass_layers(struct vs_pass *p, bool head) {
    if (p->plan->block.batches > 0) {
        vs_block_pass(p, head);
        return;
    }
    p->on_cpu = p->plan->layers[0].on_cpu && !takes_over(p);
    p->e.device = 0;
    embedding_pass(p);
    for (uint32_t layer = 0; layer < p->layers && !p->e.failed; layer++) {
        vs_fetch_need(&p->fetch, &p->e, layer);
        layer_pass(p, layer);
        vs_fetch_done(&p->fetch, &p->e, layer, vs_emit_last(&p->e, VS_LANE_COMPUTE));
    }
    if (head && !p->e.failed)
        head_pass(p);
    for (uint32_t i = 0; p->outgrown && i < 2 * p->m->layers; i++)
        vs_emit_give(&p->e, p->outgrown[i]);
}
