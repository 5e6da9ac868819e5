/* A mixture of experts in training: the router chooses experts for each token, vectors go to them,
 * through the experts' matrices, and come back as a weighted sum.
 *
 * Of T tokens with k experts each, forward makes: the router's logits; T k vectors in the order of
 * experts; with expert parallelism as many again, sent by the other ranks (all to all); gate, up
 * and their product, k times the width of an expert; T k vectors back, in the order of tokens.
 * Backward goes the same way with gradients. Ranks are taken to be balanced.
 *
 * Each expert multiplies its own tokens: rows that fill no tile are multiplied all the same, half a
 * tile to an expert on average. Fused kernels take all experts of a matrix at once ("grouped");
 * code that loops over experts issues some kernels for each ("loop"). Where vectors are sent, the
 * host must learn how many before it can go on (Megatron-LM:
 * megatron/core/transformer/moe/token_dispatcher.py, MoEAlltoAllTokenDispatcher). */
#include "engine/engine.h"
#include "plan/train.h"

/* Reads and writes of 16 bits per element of what is sent, beside the exchange: into the order of
 * experts and, of several local ones, once more; of the product of gate and up. */
enum { ORDER_BYTES = 4, GATED_BYTES = 6, PLAIN_BYTES = 4 };

static const enum vs_role IN[] = {VS_ROLE_EXPERT_GATE, VS_ROLE_EXPERT_UP};
static const enum vs_role OUT[] = {VS_ROLE_EXPERT_DOWN};

static double number(const struct vs_train *t, const char *name, double fallback) {
    return vs_engine_number(t->plan->c->engine, name, NULL, fallback);
}

static bool loops(const struct vs_train *t) {
    return vs_streq(vs_engine_rule(t->plan->c->engine, "experts", "loop"), "loop");
}

/* Experts that a token takes: all of them where the family's own code multiplies every token by
 * each and masks the rest. */
static uint32_t taken(const struct vs_train *t) {
    return vs_train_has(t, VS_CODE_ALL_EXPERTS) ? t->m->experts : t->m->experts_active;
}

/* Elements of `width` to each of a token's experts, on this rank, per token. */
static uint64_t routed(const struct vs_train *t, uint64_t width) {
    return width * taken(t) * t->stream / t->d;
}

static uint32_t local_experts(const struct vs_train *t) {
    return t->m->experts / t->plan->parallel.experts;
}

static vs_buffer_id take(struct vs_train *t, const char *what, uint32_t layer,
                         uint64_t bytes_per_token) {
    return vs_train_take(t, what, (int32_t)layer, bytes_per_token);
}

/* One matrix of every local expert: a 16-bit copy of one expert's where it is packed, then the
 * products. */
static void multiply(struct vs_train *t, const char *what, uint32_t layer,
                     const enum vs_role *roles, size_t count, double passes) {
    double flops = 0, bytes = 0, unpacked = 0, experts = local_experts(t);
    double tokens = (double)t->tokens * (double)routed(t, 1);
    double padded = tokens + experts * number(t, "expert_tile", 0) / 2;
    const struct vs_type *packed = NULL;
    for (size_t i = 0; i < count; i++) {
        struct vs_weight *w = vs_layer_weight(t->plan, layer, roles[i]);
        if (!w)
            continue;
        double matrix = (double)w->tensor->rows * (double)w->tensor->cols;
        flops += 2 * padded * matrix * passes;
        bytes += (experts * matrix + tokens * (double)(w->tensor->rows + w->tensor->cols)) * t->cb *
                 passes;
        if (w->type != t->plan->rest && vs_format_is_quantized(&t->plan->format)) {
            packed = w->type;
            unpacked += (double)w->bytes + experts * matrix * t->cb;
            vs_buffer_id copy = vs_emit_take(&t->e, VS_TAG_DEQUANT, "dequantized expert",
                                             (int32_t)layer, (uint64_t)matrix * t->cb);
            vs_emit_give(&t->e, copy);
        }
    }
    double casts = t->fp8_cast_bytes > 0 ? 2 : 1; /* a cast to each product */
    double each = loops(t) ? number(t, "expert_loop_launches", 0) : number(t, "expert_launches", 0);
    if (unpacked > 0)
        vs_emit_op(&t->e, &(struct vs_op){.kind = VS_WORK_DEQUANT,
                                          .lane = VS_LANE_COMPUTE,
                                          .what = "dequantize",
                                          .layer = (int32_t)layer,
                                          .type = packed,
                                          .bytes = unpacked});
    if (t->fp8_cast_bytes > 0)
        vs_train_element(t, "cast to 8 bit", (int32_t)layer,
                         t->fp8_cast_bytes * (bytes / t->cb / passes) / (double)t->tokens);
    vs_emit_op(&t->e, &(struct vs_op){.kind = VS_WORK_GEMM,
                                      .lane = VS_LANE_COMPUTE,
                                      .what = what,
                                      .layer = (int32_t)layer,
                                      .fp32 = t->cb == 4,
                                      .fp8 = t->plan->precision.fp8,
                                      .fp4 = t->plan->precision.fp4,
                                      .flops = flops,
                                      .efficiency = number(t, "expert_gemm_fraction", 1),
                                      .bytes = bytes,
                                      .kernels = (loops(t) ? experts : 1) * (double)count * passes,
                                      .launches = t->launches + each * casts * experts * passes});
}

/* To the ranks of the experts, or back from them. */
static vs_buffer_id exchange(struct vs_train *t, uint32_t layer, const char *what,
                             vs_buffer_id vectors) {
    const struct vs_parallel *p = &t->plan->parallel;
    if (p->experts < 2)
        return vectors;
    uint64_t bytes = t->cb * routed(t, t->d);
    vs_buffer_id received = take(t, what, layer, bytes);
    vs_emit_after(&t->e, vs_emit_last(&t->e, VS_LANE_COMPUTE));
    vs_emit_after(&t->e, vs_emit_op(&t->e, &(struct vs_op){.kind = VS_WORK_ALL_TO_ALL,
                                                           .lane = VS_LANE_COMM,
                                                           .what = what,
                                                           .layer = (int32_t)layer,
                                                           .bytes = (double)(bytes * t->tokens),
                                                           .ring = {p->experts, 1},
                                                           .copies = taken(t),
                                                           .launches = 1}));
    vs_emit_give(&t->e, vectors);
    return received;
}

/* The host waits for the counts of tokens that each expert gets. */
static void wait_for_counts(struct vs_train *t, uint32_t layer) {
    if (t->plan->parallel.experts < 2 && !loops(t))
        return;
    vs_emit_after(&t->e, vs_emit_last(&t->e, VS_LANE_COMPUTE));
    vs_op_id waited = vs_emit_op(&t->e, &(struct vs_op){.kind = VS_WORK_SYNC,
                                                        .lane = VS_LANE_ISSUE,
                                                        .what = "counts of tokens",
                                                        .layer = (int32_t)layer});
    vs_emit_after(&t->e, waited);
}

static void route(struct vs_train *t, uint32_t layer, bool keep) {
    struct vs_weight *router = vs_layer_weight(t->plan, layer, VS_ROLE_ROUTER);
    vs_buffer_id logits = take(t, "router logits", layer, 4ull * t->m->experts * t->stream / t->d);
    if (router)
        vs_train_gemm(t, "router", (int32_t)layer, &router, 1, 1);
    vs_emit_op(&t->e, &(struct vs_op){.kind = VS_WORK_ELEMENT,
                                      .lane = VS_LANE_COMPUTE,
                                      .what = "choice of experts",
                                      .layer = (int32_t)layer,
                                      .bytes = 16.0 * t->m->experts * (double)t->tokens,
                                      .launches = number(t, "router_launches", 0)});
    vs_train_keep_or_give(t, layer, VS_KEEP_ROUTE, logits, keep);
}

static double order_bytes(const struct vs_train *t) {
    double times = local_experts(t) > 1 && t->plan->parallel.experts > 1 ? 2 : 1;
    return times * ORDER_BYTES * (double)routed(t, t->d);
}

static double product_bytes(const struct vs_train *t) {
    return (t->m->gated_mlp ? GATED_BYTES : PLAIN_BYTES) * (double)routed(t, t->m->moe_ffn);
}

vs_buffer_id vs_train_experts_forward(struct vs_train *t, uint32_t layer, bool keep) {
    const struct vs_weight *down = vs_layer_weight(t->plan, layer, VS_ROLE_EXPERT_DOWN);
    bool trained = down && down->trainable;
    uint64_t wide = routed(t, t->m->moe_ffn), vectors = routed(t, t->d);
    route(t, layer, keep);
    wait_for_counts(t, layer);
    vs_buffer_id in = take(t, "vectors by expert", layer, t->cb * vectors);
    vs_train_element(t, "to the order of experts", (int32_t)layer, order_bytes(t));
    in = exchange(t, layer, "vectors to experts", in);
    vs_buffer_id gate =
        t->m->gated_mlp ? take(t, "expert gate", layer, t->cb * wide) : VS_NO_BUFFER;
    vs_buffer_id up = take(t, "expert up", layer, t->cb * wide);
    multiply(t, "experts gate_up", layer, IN, 2, 1);
    vs_train_keep_or_give(t, layer, VS_KEEP_EXPERT_IN,
                          vs_train_as_operand(t, layer, in, vectors, keep && trained),
                          keep && trained);
    vs_buffer_id act = t->fused_activation || !t->m->gated_mlp
                           ? VS_NO_BUFFER
                           : take(t, "expert activation", layer, t->cb * wide);
    vs_buffer_id product = take(t, "expert product", layer, t->cb * wide);
    vs_train_element(t, "expert activation", (int32_t)layer, product_bytes(t));
    vs_train_keep_or_give(t, layer, VS_KEEP_EXPERT_ACT, gate, keep);
    vs_train_keep_or_give(t, layer, VS_KEEP_EXPERT_ACT, up, keep);
    vs_train_keep_or_give(t, layer, VS_KEEP_EXPERT_ACT, act, keep);
    vs_buffer_id out = take(t, "expert output", layer, t->cb * vectors);
    multiply(t, "experts down", layer, OUT, 1, 1);
    vs_train_keep_or_give(t, layer, VS_KEEP_EXPERT_OUT,
                          vs_train_as_operand(t, layer, product, wide, keep && trained),
                          keep && trained);
    out = exchange(t, layer, "vectors from experts", out);
    vs_buffer_id sum = take(t, "sum of experts", layer, t->cb * t->stream);
    vs_train_element(t, "back to the order of tokens", (int32_t)layer, order_bytes(t));
    vs_emit_give(&t->e, out);
    return sum;
}

static void expert_grads(struct vs_train *t, uint32_t layer, const enum vs_role *roles,
                         size_t count) {
    for (size_t i = 0; i < count; i++) {
        const struct vs_weight *w = vs_layer_weight(t->plan, layer, roles[i]);
        if (w)
            vs_train_weight_grad(t, w);
    }
}

vs_buffer_id vs_train_experts_backward(struct vs_train *t, uint32_t layer) {
    const struct vs_weight *down = vs_layer_weight(t->plan, layer, VS_ROLE_EXPERT_DOWN);
    double passes = down && down->trainable ? 2 : 1;
    uint64_t wide = routed(t, t->m->moe_ffn), vectors = routed(t, t->d);
    vs_buffer_id grad = take(t, "gradient by expert", layer, t->cb * vectors);
    vs_train_element(t, "gradients to the order of experts", (int32_t)layer, order_bytes(t));
    grad = exchange(t, layer, "gradients to experts", grad);
    vs_buffer_id of_product = take(t, "expert product gradient", layer, t->cb * wide);
    multiply(t, "experts down backward", layer, OUT, 1, passes);
    expert_grads(t, layer, OUT, 1);
    vs_emit_give(&t->e, grad);
    vs_train_free_kept(t, layer, VS_KEEP_EXPERT_OUT);
    vs_buffer_id of_in =
        take(t, "expert gate and up gradient", layer, (t->m->gated_mlp ? 2 : 1) * t->cb * wide);
    vs_train_element(t, "expert activation backward", (int32_t)layer, 1.5 * product_bytes(t));
    vs_emit_give(&t->e, of_product);
    vs_train_free_kept(t, layer, VS_KEEP_EXPERT_ACT);
    grad = take(t, "expert input gradient", layer, t->cb * vectors);
    multiply(t, "experts gate_up backward", layer, IN, 2, passes);
    expert_grads(t, layer, IN, 2);
    vs_emit_give(&t->e, of_in);
    vs_train_free_kept(t, layer, VS_KEEP_EXPERT_IN);
    grad = exchange(t, layer, "gradients from experts", grad);
    vs_buffer_id sum = take(t, "MLP input gradient", layer, t->cb * t->stream);
    vs_train_element(t, "gradients to the order of tokens", (int32_t)layer, order_bytes(t));
    vs_emit_give(&t->e, grad);
    struct vs_weight *router = vs_layer_weight(t->plan, layer, VS_ROLE_ROUTER);
    if (router) {
        vs_train_gemm(t, "router backward", (int32_t)layer, &router, 1, router->trainable ? 2 : 1);
        vs_train_weight_grad(t, router);
    }
    vs_emit_op(&t->e, &(struct vs_op){.kind = VS_WORK_NOTHING,
                                      .lane = VS_LANE_COMPUTE,
                                      .what = "choice of experts backward",
                                      .layer = (int32_t)layer,
                                      .launches = number(t, "router_launches", 0)});
    vs_train_free_kept(t, layer, VS_KEEP_ROUTE);
    return sum;
}
