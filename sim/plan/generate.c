#include "plan/generate.h"

#include "engine/engine.h"
#include "hw/machine.h"
#include "plan/fetch.h"
#include "plan/rules/compute_buffer.h"

/* A pass while it is being written. Sizes are per pass: all sequences of the batch together. */
struct pass {
    struct vs_emit e;
    struct vs_plan *plan;
    const struct vs_model *m;
    const struct vs_engine *engine;
    const char *arch;
    uint64_t batch, tokens /* new, all sequences */, cells /* of one sequence, after this pass */;
    uint64_t past;
    bool few;        /* matrix-vector kernels */
    bool torch;      /* activations through the allocator, one by one */
    double launches; /* per operation of a layer */
    struct vs_fetch fetch;
};

enum { FEW_TOKENS = 8 /* llama.cpp: mmvq up to 8 columns */, OPS_PER_LAYER = 5 };

static double number(const struct pass *p, const char *name, double fallback) {
    return vs_engine_number(p->engine, name, p->arch, fallback);
}

static bool rule(const struct vs_plan *plan, const char *name, const char *word) {
    return vs_streq(vs_engine_rule(plan->c->engine, name, ""), word);
}

static uint64_t kv_bytes(const struct vs_plan *plan, uint32_t layer, uint64_t cells) {
    return vs_kv_layer_bytes(plan->c->model, layer, cells, plan->kv_k, plan->kv_v);
}

bool vs_emit_provision(struct vs_plan *plan, struct vs_phase *phase, struct vs_err *err) {
    struct vs_emit e;
    vs_emit_begin(&e, plan, phase, "provision");
    uint64_t batch = (uint64_t)vs_count(&plan->c->axes, VS_AXIS_BATCH);
    bool grows = vs_is(&plan->c->axes, VS_AXIS_KV_ALLOC, "dynamic");
    for (uint32_t l = 0; l < plan->c->model->layers && !grows; l++) {
        bool host = plan->layers[l].on_cpu;
        struct vs_buffer b = {.what = "KV cache",
                              .layer = (int32_t)l,
                              .home = host ? VS_HOME_HOST : VS_HOME_GPU,
                              .tag = VS_TAG_KV,
                              .bytes = batch * kv_bytes(plan, l, plan->kv_cells)};
        vs_emit_take_in(&e, &b);
    }
    if (rule(plan, "compute_buffer", "graph")) {
        struct vs_compute_buffers c = vs_compute_buffers(plan);
        vs_emit_take(&e, VS_TAG_WORKSPACE, "compute buffer", -1, c.gpu_bytes);
        vs_emit_take(&e, VS_TAG_DEQUANT, "run-time pool", -1, c.pool_bytes);
        struct vs_buffer host = {.what = "compute buffer",
                                 .layer = -1,
                                 .home = VS_HOME_HOST,
                                 .tag = VS_TAG_WORKSPACE,
                                 .bytes = c.host_bytes};
        vs_emit_take_in(&e, &host);
    }
    vs_emit_op(&e, &(struct vs_op){.kind = VS_WORK_NOTHING,
                                   .lane = VS_LANE_COMPUTE,
                                   .what = "KV cache and compute buffer",
                                   .layer = -1});
    return vs_emit_end(&e, err);
}

/* Several types can stand in one layer (GGUF mixes): one matrix-vector operation for each. */
static void gemv(struct pass *p, const struct vs_weight *w, size_t count, int32_t layer,
                 bool on_cpu, const char *what) {
    for (size_t i = 0; i < count; i++) {
        const struct vs_type *type = w[i].type;
        bool seen = false;
        for (size_t k = 0; k < i; k++)
            seen |= w[k].type == type && vs_role_is_linear(w[k].tensor->role);
        if (seen || (!vs_role_is_linear(w[i].tensor->role) && layer >= 0))
            continue;
        double bytes = 0, params = 0, kernels = 0;
        for (size_t k = i; k < count; k++) {
            if (w[k].type != type || (layer >= 0 && !vs_role_is_linear(w[k].tensor->role)))
                continue;
            bytes += (double)w[k].bytes;
            params += (double)vs_tensor_params(w[k].tensor);
            kernels++;
        }
        vs_emit_op(&p->e, &(struct vs_op){.kind = on_cpu ? VS_WORK_CPU_GEMV : VS_WORK_GEMV,
                                          .lane = on_cpu ? VS_LANE_CPU : VS_LANE_COMPUTE,
                                          .what = what,
                                          .layer = layer,
                                          .type = type,
                                          .flops = 2 * params * (double)p->tokens,
                                          .bytes = bytes,
                                          .kernels = kernels,
                                          .launches = on_cpu ? 0 : p->launches});
    }
}

static void gemm(struct pass *p, const struct vs_weight *w, size_t count, int32_t layer,
                 double tokens, const char *what) {
    double flops = 0, bytes = 0, packed = 0, params = 0, kernels = 0;
    const struct vs_type *type = NULL;
    for (size_t i = 0; i < count; i++) {
        if (layer >= 0 && !vs_role_is_linear(w[i].tensor->role))
            continue;
        double rows = (double)w[i].tensor->rows, cols = (double)w[i].tensor->cols;
        flops += 2 * tokens * rows * cols;
        bytes += (double)w[i].bytes + 2 * tokens * (rows + cols);
        if (w[i].type->class_of != VS_CLASS_FLOAT) {
            params += rows * cols;
            packed += (double)w[i].bytes;
        }
        if (!type || w[i].type->class_of != VS_CLASS_FLOAT)
            type = w[i].type;
        kernels++;
    }
    if (params > 0 && rule(p->plan, "prefill_gemm", "dequantize"))
        vs_emit_op(&p->e, &(struct vs_op){.kind = VS_WORK_DEQUANT,
                                          .lane = VS_LANE_COMPUTE,
                                          .what = "dequantize",
                                          .layer = layer,
                                          .bytes = packed + 2 * params,
                                          .launches = p->launches});
    vs_emit_op(&p->e, &(struct vs_op){.kind = VS_WORK_GEMM,
                                      .lane = VS_LANE_COMPUTE,
                                      .what = what,
                                      .layer = layer,
                                      .type = type,
                                      .flops = flops,
                                      .bytes = bytes,
                                      .kernels = kernels,
                                      .launches = p->launches});
}

/* Decode reads the cache: some kernels once per query head, others once per KV head. */
static double cache_traffic(const struct pass *p, uint32_t layer) {
    double heads = number(p, "kv_reads_per_query_head", 0) > 0
                       ? (double)p->m->heads / (double)p->m->kv_heads
                       : 1;
    uint32_t window = vs_layer_window(p->m, layer);
    uint64_t cells = p->cells;
    if (window > 0 && cells > window && rule(p->plan, "window", "sliding"))
        cells = window;
    return heads * (double)(p->batch * kv_bytes(p->plan, layer, cells));
}

static void attention(struct pass *p, uint32_t layer) {
    bool on_cpu = p->plan->layers[layer].on_cpu;
    bool naive = p->plan->attention == VS_ATTENTION_NAIVE;
    double width = (double)p->m->heads * p->m->head_dim;
    double reach =
        naive ? (double)p->cells : (double)p->past + ((double)p->cells - (double)p->past) / 2;
    double flops = 4 * width * (double)p->tokens * reach;
    double scores = naive ? (double)(p->tokens * p->cells * p->m->heads) : 0;
    struct vs_op op = {.what = "self_attn",
                       .layer = (int32_t)layer,
                       .flops = flops,
                       .kernels = 1,
                       .launches = on_cpu ? 0 : p->launches};
    op.lane = on_cpu ? VS_LANE_CPU : VS_LANE_COMPUTE;
    if (on_cpu) {
        op.kind = VS_WORK_CPU_ATTENTION;
        op.bytes = (double)(p->batch * kv_bytes(p->plan, layer, p->cells));
    } else if (p->few) {
        op.kind = naive ? VS_WORK_KV_READ_NAIVE : VS_WORK_KV_READ;
        op.bytes = cache_traffic(p, layer);
    } else {
        op.kind = naive ? VS_WORK_NAIVE_ATTENTION : VS_WORK_ATTENTION;
        op.bytes = (double)p->tokens * 4 * width;
    }
    vs_emit_op(&p->e, &op);
    if (naive && !p->few && !on_cpu)
        vs_emit_op(&p->e, &(struct vs_op){.kind = VS_WORK_ELEMENT,
                                          .lane = VS_LANE_COMPUTE,
                                          .what = "attention scores",
                                          .layer = (int32_t)layer,
                                          .bytes = number(p, "score_passes", 4) * 4 * scores});
}

/* Small kernels of a layer: a fixed cost, and traffic of element-wise work that counts in prefill.
 */
static void small_kernels(struct pass *p, uint32_t layer) {
    double d = (double)p->m->hidden, f = (double)p->m->ffn, tokens = (double)p->tokens;
    double cost = number(p, p->few ? "layer_s" : "prefill_layer_s", 0);
    if (cost > 0)
        vs_emit_op(&p->e, &(struct vs_op){.kind = VS_WORK_FIXED,
                                          .lane = VS_LANE_COMPUTE,
                                          .what = "small kernels",
                                          .layer = (int32_t)layer,
                                          .cost_s = cost});
    double bytes = p->few ? 0 : tokens * (80 * d + 24 * f) * number(p, "element_scale", 1);
    vs_emit_op(&p->e, &(struct vs_op){.kind = VS_WORK_ELEMENT,
                                      .lane = VS_LANE_COMPUTE,
                                      .what = "norms and activation",
                                      .layer = (int32_t)layer,
                                      .bytes = bytes,
                                      .launches = p->launches});
}

/* Growth by concatenation: the longer copy is taken before the old one goes; all of it is read and
 * written. */
static void grow_cache(struct pass *p, uint32_t layer, vs_buffer_id *held) {
    uint64_t half = p->batch * kv_bytes(p->plan, layer, p->cells) / 2;
    for (int i = 0; i < 2; i++) {
        vs_buffer_id old = held[2 * layer + (uint32_t)i];
        held[2 * layer + (uint32_t)i] =
            vs_emit_take(&p->e, VS_TAG_KV, "KV cache", (int32_t)layer, half);
        vs_emit_give(&p->e, old);
    }
    if (p->past > 0)
        vs_emit_op(&p->e, &(struct vs_op){.kind = VS_WORK_ELEMENT,
                                          .lane = VS_LANE_COMPUTE,
                                          .what = "KV concatenation",
                                          .layer = (int32_t)layer,
                                          .bytes = 4.0 * (double)half,
                                          .launches = p->launches});
}

/* Activations of one layer through PyTorch's allocator: the largest moments are attention and the
 * MLP. */
static void activations(struct pass *p, uint32_t layer, bool mlp) {
    const struct vs_model *m = p->m;
    uint64_t bytes = mlp ? 2 * 3 * p->tokens * m->ffn
                         : 2 * p->tokens * (uint64_t)(2 * m->heads + 2 * m->kv_heads) * m->head_dim;
    vs_buffer_id a =
        vs_emit_take(&p->e, VS_TAG_WORKSPACE, mlp ? "mlp" : "attention", (int32_t)layer, bytes);
    vs_buffer_id scores = VS_NO_BUFFER;
    if (!mlp && p->plan->attention == VS_ATTENTION_NAIVE)
        scores = vs_emit_take(&p->e, VS_TAG_WORKSPACE, "attention scores", (int32_t)layer,
                              8 * p->tokens * p->cells * m->heads);
    vs_emit_give(&p->e, scores);
    vs_emit_give(&p->e, a);
}

/* Host layers in a large batch: weights are copied in and multiplied on the GPU, one after the
 * other. */
static void copy_host_layer(struct pass *p, uint32_t layer) {
    uint64_t bytes = 0;
    const struct vs_layer *l = &p->plan->layers[layer];
    for (uint32_t i = 0; i < l->weight_count; i++)
        bytes += p->plan->weights[l->first_weight + i].bytes;
    vs_emit_after(&p->e, p->e.last[VS_LANE_COMPUTE]);
    vs_op_id copied = vs_emit_op(&p->e, &(struct vs_op){.kind = VS_WORK_COPY,
                                                        .lane = VS_LANE_H2D,
                                                        .what = "host weights",
                                                        .layer = (int32_t)layer,
                                                        .bytes = (double)bytes});
    vs_emit_after(&p->e, copied);
}

/* The hidden state crosses the link where work moves between processors; both sides wait. */
static void hand_over(struct pass *p, bool to_cpu, int32_t layer) {
    enum vs_lane from = to_cpu ? VS_LANE_COMPUTE : VS_LANE_CPU;
    vs_emit_after(&p->e, p->e.last[from]);
    vs_op_id copied =
        vs_emit_op(&p->e, &(struct vs_op){.kind = VS_WORK_COPY,
                                          .lane = to_cpu ? VS_LANE_D2H : VS_LANE_H2D,
                                          .what = "hidden state",
                                          .layer = layer,
                                          .bytes = 4.0 * (double)(p->tokens * p->m->hidden)});
    vs_emit_after(&p->e, copied);
}

static void layer_pass(struct pass *p, uint32_t layer, vs_buffer_id *kv) {
    struct vs_plan *plan = p->plan;
    const struct vs_layer *l = &plan->layers[layer];
    const struct vs_weight *w = &plan->weights[l->first_weight];
    bool was_cpu = layer > 0 ? plan->layers[layer - 1].on_cpu : l->on_cpu;
    bool copied_in = l->on_cpu && plan->c->machine->device_count > 0 &&
                     p->tokens >= (uint64_t)number(p, "op_offload_tokens", 1e18);
    if (l->on_cpu != was_cpu)
        hand_over(p, l->on_cpu, (int32_t)layer);
    if (p->torch)
        activations(p, layer, false);
    if (kv)
        grow_cache(p, layer, kv);
    if (p->few || (l->on_cpu && !copied_in)) {
        gemv(p, w, l->weight_count, (int32_t)layer, l->on_cpu, "linear layers");
    } else {
        if (l->on_cpu)
            copy_host_layer(p, layer);
        gemm(p, w, l->weight_count, (int32_t)layer, (double)p->tokens, "linear layers");
        if (l->on_cpu)
            vs_emit_after(&p->e, p->e.last[VS_LANE_COMPUTE]);
    }
    attention(p, layer);
    if (p->torch)
        activations(p, layer, true);
    if (!l->on_cpu) {
        small_kernels(p, layer);
    } else {
        vs_emit_op(&p->e, &(struct vs_op){.kind = VS_WORK_FIXED,
                                          .lane = VS_LANE_CPU,
                                          .what = "small operations",
                                          .layer = (int32_t)layer,
                                          .cost_s = number(p, "cpu_layer_s", 0)});
    }
}

static void head_pass(struct pass *p) {
    const struct vs_plan *plan = p->plan;
    const struct vs_weight *head = NULL;
    for (size_t i = 0; i < plan->weight_count; i++) {
        enum vs_role role = plan->weights[i].tensor->role;
        if (role == VS_ROLE_HEAD || (role == VS_ROLE_EMBED && plan->c->model->tied_embeddings))
            head = &plan->weights[i];
    }
    bool host = plan->layers[p->m->layers - 1].on_cpu;
    bool on_cpu = head->home != VS_HOME_GPU && !plan->streaming;
    if (host != on_cpu)
        hand_over(p, on_cpu, -1);
    vs_buffer_id logits = VS_NO_BUFFER;
    uint64_t rows = rule(plan, "prefill_logits", "all") ? p->tokens : p->batch;
    if (p->torch)
        logits = vs_emit_take(&p->e, VS_TAG_LOGITS, "logits", -1, rows * p->m->vocab * 6);
    uint64_t tokens = p->tokens;
    p->tokens = rows;
    if (rows <= FEW_TOKENS || on_cpu)
        gemv(p, head, 1, -1, on_cpu, "lm_head");
    else
        gemm(p, head, 1, -1, (double)rows, "lm_head");
    p->tokens = tokens;
    vs_emit_give(&p->e, logits);
}

/* Programs that go on to generate count what their first batch warms up; benchmarks of the prompt
 * alone have warmed up before. */
static double first_batch_s(const struct pass *p) {
    bool goes_on = vs_count(&p->plan->c->axes, VS_AXIS_GEN) > 0;
    return !p->few && p->past == 0 && goes_on ? number(p, "first_batch_s", 0) : 0;
}

/* The host waits for the token that was sampled before it issues the next step. */
static void sample(struct pass *p) {
    vs_emit_after(&p->e, p->e.last[VS_LANE_COMPUTE]);
    vs_emit_after(&p->e, p->e.last[VS_LANE_CPU]);
    vs_emit_op(&p->e, &(struct vs_op){.kind = VS_WORK_SYNC,
                                      .lane = VS_LANE_ISSUE,
                                      .what = "sample",
                                      .layer = -1,
                                      .cost_s = first_batch_s(p)});
}

static bool begin(struct pass *p, struct vs_plan *plan, const struct vs_pass *pass,
                  struct vs_phase *phase, struct vs_err *err) {
    const struct vs_machine *machine = plan->c->machine;
    *p = (struct pass){.plan = plan, .m = plan->c->model, .engine = plan->c->engine};
    p->arch = machine->device_count > 0 ? machine->devices[0]->arch.name : NULL;
    p->batch = (uint64_t)vs_count(&plan->c->axes, VS_AXIS_BATCH);
    p->tokens = pass->tokens * p->batch;
    p->past = pass->past;
    p->cells = pass->past + pass->tokens;
    p->few = p->tokens <= FEW_TOKENS;
    p->torch = rule(plan, "activations", "torch");
    p->launches = number(p, "layer_launches", 0) / OPS_PER_LAYER;
    vs_emit_begin(&p->e, plan, phase, p->few && pass->past > 0 ? "decode" : "prefill");
    return vs_fetch_begin(&p->fetch, plan, false, err);
}

bool vs_emit_pass(struct vs_plan *plan, const struct vs_pass *pass, struct vs_phase *phase,
                  struct vs_err *err) {
    struct pass p;
    if (!begin(&p, plan, pass, phase, err))
        return false;
    bool grows = vs_is(&plan->c->axes, VS_AXIS_KV_ALLOC, "dynamic");
    for (uint32_t layer = 0; layer < p.m->layers && !p.e.failed; layer++) {
        vs_fetch_need(&p.fetch, &p.e, layer);
        layer_pass(&p, layer, grows ? plan->kv_held : NULL);
        vs_fetch_done(&p.fetch, &p.e, layer, p.e.last[VS_LANE_COMPUTE]);
    }
    if (pass->last && !p.e.failed)
        head_pass(&p);
    sample(&p);
    return vs_emit_end(&p.e, err);
}
