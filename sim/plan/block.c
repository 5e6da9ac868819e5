#include "plan/block.h"

#include "hw/machine.h"

enum part { PART_EMBED, PART_ATTENTION, PART_MLP, PART_HEAD };

struct block {
    struct vs_pass *p;
    const struct vs_block *policy;
    uint32_t parts, batches;
    uint64_t sequences;   /* of the whole block */
    uint64_t per_seq;     /* new tokens of each */
    vs_op_id sync;        /* what everything issued since then waits for */
    vs_op_id blocking;    /* a pageable copy of this step: arithmetic is issued after it */
    vs_buffer_id held[2]; /* streamed weights of the current part and the next */
    double put_out;       /* bytes of new cache that the batch before left for the host */
};

static enum part part_of(const struct block *b, uint32_t at) {
    return at == 0              ? PART_EMBED
           : at + 1 == b->parts ? PART_HEAD
           : at % 2 == 1        ? PART_ATTENTION
                                : PART_MLP;
}

static int32_t layer_of(const struct block *b, uint32_t at) {
    return at == 0 || at + 1 == b->parts ? -1 : (int32_t)((at - 1) / 2);
}

static bool belongs(const struct block *b, const struct vs_weight *w, uint32_t at) {
    enum vs_role role = w->tensor->role;
    if (w->tensor->layer != layer_of(b, at))
        return false;
    switch (part_of(b, at)) {
    case PART_EMBED:
        return role == VS_ROLE_EMBED || role == VS_ROLE_POSITIONS;
    case PART_HEAD:
        return w == &b->p->plan->weights[vs_plan_head(b->p->plan)];
    case PART_ATTENTION:
        return !vs_role_is_mlp(role);
    case PART_MLP:
        break;
    }
    return vs_role_is_mlp(role);
}

/* The weights of a part: bytes by where they live, and what multiplying by them takes. */
struct load {
    double host, disk, params, packed_bytes, packed_params;
};

static struct load load_of(const struct block *b, uint32_t at) {
    const struct vs_plan *plan = b->p->plan;
    int32_t layer = layer_of(b, at);
    size_t first = layer < 0 ? 0 : plan->layers[layer].first_weight;
    size_t end = layer < 0 ? plan->weight_count : first + plan->layers[layer].weight_count;
    struct load l = {0};
    for (size_t i = first; i < end; i++) {
        const struct vs_weight *w = &plan->weights[i];
        if (!belongs(b, w, at))
            continue;
        double params = (double)vs_tensor_params(w->tensor);
        if (!vs_on_gpu(w->home))
            *(w->home == VS_HOME_STORAGE ? &l.disk : &l.host) += (double)w->bytes;
        l.params += params;
        if (w->type->class_of != VS_CLASS_FLOAT) {
            l.packed_bytes += (double)w->bytes;
            l.packed_params += params;
        }
    }
    return l;
}

static vs_op_id move(struct block *b, enum vs_lane lane, const char *what, int32_t layer,
                     double bytes, bool pinned) {
    if (bytes <= 0)
        return VS_NO_OP;
    vs_emit_after(&b->p->e, b->sync);
    bool disk = lane == VS_LANE_STORAGE;
    vs_op_id id =
        vs_emit_op(&b->p->e, &(struct vs_op){.kind = disk ? VS_WORK_STORAGE_READ : VS_WORK_COPY,
                                             .lane = lane,
                                             .what = what,
                                             .layer = layer,
                                             .pinned = pinned,
                                             .bytes = bytes});
    if (lane == VS_LANE_H2D && !pinned)
        b->blocking = id;
    return id;
}

/* Threads of their own read from disk into page-locked memory, and copy from there. */
static void load_weights(struct block *b, uint32_t at) {
    if (at >= b->parts)
        return;
    int32_t layer = layer_of(b, at);
    struct load l = load_of(b, at);
    b->held[at % 2] =
        vs_emit_take(&b->p->e, VS_TAG_STREAMED, "weights", layer, (uint64_t)(l.host + l.disk));
    move(b, VS_LANE_H2D, "weights", layer, l.host, b->p->plan->pinned);
    vs_emit_after(&b->p->e, move(b, VS_LANE_STORAGE, "read weights", layer, l.disk, false));
    move(b, VS_LANE_H2D, "weights from disk", layer, l.disk, true);
}

static uint64_t batch_of(const struct block *b, uint32_t k) {
    return b->sequences / b->batches + (k < b->sequences % b->batches);
}

/* Attention over a cache in host memory by the device wants it there: it is pageable, as the cache
 * is too large to be locked. */
static void load_cache(struct block *b, uint32_t at, uint32_t k) {
    if (k == b->batches) {
        at++;
        k = 0;
    }
    if (!b->p->few || b->p->past == 0 || at >= b->parts || part_of(b, at) != PART_ATTENTION)
        return;
    int32_t layer = layer_of(b, at);
    double bytes =
        (double)(batch_of(b, k) * vs_plan_kv_bytes(b->p->plan, (uint32_t)layer, b->p->past));
    double disk = b->policy->cache_disk * bytes, host = b->policy->cache_host * bytes;
    vs_op_id read = move(b, VS_LANE_STORAGE, "read cache", layer, disk, false);
    if (b->policy->attention_on_cpu)
        return;
    vs_emit_after(&b->p->e, read);
    move(b, VS_LANE_H2D, "cache", layer, host + disk, false);
}

static void dequantize(struct block *b, int32_t layer, double packed, double elements,
                       const struct vs_type *type) {
    if (elements > 0)
        vs_emit_op(&b->p->e, &(struct vs_op){.kind = VS_WORK_DEQUANT,
                                             .lane = VS_LANE_COMPUTE,
                                             .what = "dequantize",
                                             .layer = layer,
                                             .type = type,
                                             .bytes = packed + 2 * elements});
}

/* Packed weights are unpacked whole for each GPU batch. */
static void multiply(struct block *b, uint32_t at, const struct load *l) {
    struct vs_pass *p = b->p;
    int32_t layer = layer_of(b, at);
    vs_buffer_id unpacked = vs_emit_take(&p->e, VS_TAG_DEQUANT, "unpacked weights", layer,
                                         2 * (uint64_t)l->packed_params);
    dequantize(b, layer, l->packed_bytes, l->packed_params, p->plan->format.base);
    double tokens = (double)p->tokens;
    double width = (double)(p->m->hidden + (part_of(b, at) == PART_MLP ? p->m->ffn : p->m->hidden));
    vs_emit_op(&p->e, &(struct vs_op){.kind = VS_WORK_GEMM,
                                      .lane = VS_LANE_COMPUTE,
                                      .what = "linear layers",
                                      .layer = layer,
                                      .flops = 2 * tokens * l->params,
                                      .bytes = 2 * (l->params + tokens * width)});
    vs_emit_give(&p->e, unpacked);
}

/* Attention of the sequences whose cache one processor holds. */
static void attend(struct block *b, uint32_t layer, bool on_cpu, double share) {
    struct vs_pass *p = b->p;
    uint64_t batch = p->batch, tokens = p->tokens;
    p->batch = (uint64_t)(share * (double)batch + 0.5);
    p->tokens = p->batch * b->per_seq;
    p->on_cpu = on_cpu;
    if (p->batch > 0) {
        if (on_cpu)
            vs_emit_after(&p->e, vs_emit_last(&p->e, VS_LANE_COMPUTE));
        vs_pass_mix(p, layer);
    }
    p->on_cpu = false;
    p->batch = batch;
    p->tokens = tokens;
}

/* In decoding the device works on a 16-bit copy of what it did not hold in 16 bit. */
static void attention(struct block *b, uint32_t layer) {
    struct vs_pass *p = b->p;
    double away = p->few && b->policy->attention_on_cpu ? 1 - b->policy->cache_gpu : 0;
    double cache = (1 - away) * (double)(p->batch * vs_plan_kv_bytes(p->plan, layer, p->cells));
    bool packed = p->few && p->plan->kv_k->class_of != VS_CLASS_FLOAT;
    double elements = cache * p->plan->kv_k->block_elements / p->plan->kv_k->block_bytes;
    double copied = packed ? 2 * elements : p->few ? (1 - b->policy->cache_gpu) * cache : 0;
    double scores = p->few ? 0 : 4.0 * (double)p->tokens * (double)p->cells * p->m->heads;
    vs_buffer_id work = vs_emit_take(&p->e, VS_TAG_WORKSPACE, "attention", (int32_t)layer,
                                     (uint64_t)(copied + scores));
    if (packed)
        dequantize(b, (int32_t)layer, cache, elements, p->plan->kv_k);
    attend(b, layer, false, 1 - away);
    attend(b, layer, true, away);
    vs_emit_give(&p->e, work);
}

static void compute(struct block *b, uint32_t at, const struct load *l) {
    struct vs_pass *p = b->p;
    enum part part = part_of(b, at);
    uint64_t width = part == PART_MLP    ? p->m->ffn + p->m->hidden
                     : part == PART_HEAD ? p->m->vocab
                                         : 4 * (uint64_t)p->m->hidden;
    vs_buffer_id out = vs_emit_take(&p->e, part == PART_HEAD ? VS_TAG_LOGITS : VS_TAG_WORKSPACE,
                                    "outputs", layer_of(b, at), 2 * p->tokens * width);
    vs_emit_after(&p->e, b->sync);
    vs_emit_after(&p->e, b->blocking);
    if (part != PART_EMBED)
        multiply(b, at, l);
    if (part == PART_ATTENTION)
        attention(b, (uint32_t)layer_of(b, at));
    vs_emit_give(&p->e, out);
}

/* New keys and values, and hidden states, that the host holds between uses. */
static void move_states(struct block *b, uint32_t at) {
    struct vs_pass *p = b->p;
    int32_t layer = layer_of(b, at);
    double hidden = (1 - b->policy->hidden_gpu) * 2 * (double)(p->tokens * p->m->hidden);
    move(b, VS_LANE_H2D, "hidden states", layer, hidden, true);
    move(b, VS_LANE_D2H, "hidden states", layer, hidden, true);
    move(b, VS_LANE_D2H, "new cache", layer, b->put_out, true);
    b->put_out =
        part_of(b, at) == PART_ATTENTION
            ? (1 - b->policy->cache_gpu) *
                  (double)(p->batch * vs_plan_kv_bytes(p->plan, (uint32_t)layer, b->per_seq))
            : 0;
}

static void wait_for_all(struct block *b) {
    static const enum vs_lane LANES[] = {VS_LANE_COMPUTE, VS_LANE_CPU, VS_LANE_H2D, VS_LANE_D2H,
                                         VS_LANE_STORAGE};
    struct vs_emit *e = &b->p->e;
    for (size_t i = 0; i < sizeof LANES / sizeof *LANES; i++)
        vs_emit_after(e, vs_emit_last(e, LANES[i]));
    b->sync = vs_emit_op(e, &(struct vs_op){.kind = VS_WORK_SYNC,
                                            .lane = VS_LANE_ISSUE,
                                            .what = "wait for the batch",
                                            .layer = -1,
                                            .cost_s = vs_pass_number(b->p, "block_step_s", 0)});
    b->blocking = VS_NO_OP;
}

void vs_block_pass(struct vs_pass *p, bool head) {
    const struct vs_block *policy = &p->plan->block;
    struct block b = {.p = p,
                      .policy = policy,
                      .parts = 2 * p->m->layers + 2,
                      .sequences = p->batch,
                      .per_seq = p->cells - p->past,
                      .sync = VS_NO_OP,
                      .blocking = VS_NO_OP,
                      .held = {VS_NO_BUFFER, VS_NO_BUFFER}};
    b.batches = policy->batches < b.sequences ? policy->batches : (uint32_t)b.sequences;
    vs_buffer_id hidden =
        vs_emit_take(&p->e, VS_TAG_WORKSPACE, "hidden states", -1,
                     (uint64_t)(policy->hidden_gpu * 2 * (double)(p->tokens * p->m->hidden)));
    load_weights(&b, 0);
    wait_for_all(&b);
    for (uint32_t at = 0; at < b.parts && !p->e.failed; at++) {
        struct load l = load_of(&b, at);
        if (at + 1 == b.parts && !head)
            break;
        for (uint32_t k = 0; k < b.batches; k++) {
            p->batch = batch_of(&b, k);
            p->tokens = p->batch * b.per_seq;
            if (k == 0)
                load_weights(&b, at + 1);
            load_cache(&b, at, k + 1);
            compute(&b, at, &l);
            move_states(&b, at);
            wait_for_all(&b);
        }
        vs_emit_give(&p->e, b.held[at % 2]);
        b.held[at % 2] = VS_NO_BUFFER;
    }
    vs_emit_give(&p->e, b.held[0]);
    vs_emit_give(&p->e, b.held[1]);
    vs_emit_give(&p->e, hidden);
    p->batch = b.sequences;
    p->tokens = b.sequences * b.per_seq;
}

void vs_block_take_cache(struct vs_emit *e) {
    const struct vs_plan *plan = e->plan;
    const struct vs_block *k = &plan->block;
    const struct {
        double share;
        enum vs_home home;
    } parts[] = {{k->cache_gpu, VS_HOME_GPU},
                 {k->cache_host, VS_HOME_HOST},
                 {k->cache_disk, VS_HOME_STORAGE}};
    for (uint32_t l = 0; l < plan->c->model->layers; l++)
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
            double bytes = (double)(plan->sequences * vs_plan_kv_bytes(plan, l, plan->kv_cells));
            struct vs_buffer b = {.what = "KV cache",
                                  .layer = (int32_t)l,
                                  .home = (uint8_t)parts[i].home,
                                  .tag = VS_TAG_KV,
                                  .bytes = (uint64_t)(parts[i].share * bytes)};
            vs_emit_take_in(e, &b);
        }
}
