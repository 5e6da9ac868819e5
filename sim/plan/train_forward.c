/* Forward of one decoder layer, tensor by tensor, as the Hugging Face code runs it.
 *
 * What is kept for backward, in bytes per token (16-bit compute, fused attention):
 * (a Llama; other norms, activations and dropout: train_code.c)
 *   full fine-tuning  16d + 4Q + 4KV + 8f + 4nh      frozen base  8d + 4Q + 4KV + 6f + 4nh
 * measured with saved-tensor hooks on the same sequence of operations; adapters add their inputs.
 */
#include "plan/train.h"

/* LoRA beside one matrix: its own copy of the input where dropout or a cast makes one, x A, (x A)
 * B, scale, add. */
static vs_buffer_id adapter(struct vs_train *t, uint32_t layer, enum vs_keep place,
                            const struct vs_weight *w, vs_buffer_id result, bool keep) {
    uint64_t in = vs_weight_cols(w), out = vs_weight_rows(w), r = w->adapter_rank;
    int32_t l = (int32_t)layer;
    vs_buffer_id own = VS_NO_BUFFER, mask = VS_NO_BUFFER;
    bool from_norm = place == VS_KEEP_QKV_IN || place == VS_KEEP_GATE_UP_IN;
    bool dropout = t->plan->lora_dropout > 0;
    if (dropout)
        mask = vs_train_take(t, "dropout mask", l, in);
    if (dropout || (from_norm && t->nb != t->cb && !w->trainable))
        own = vs_train_take(t, "adapter input", l, t->cb * in);
    vs_buffer_id low = vs_train_take(t, "adapter inner", l, t->cb * r);
    vs_buffer_id high = vs_train_take(t, "adapter output", l, t->cb * out);
    vs_buffer_id scaled = vs_train_take(t, "adapter output, scaled", l, t->cb * out);
    vs_emit_give(&t->e, high);
    vs_buffer_id sum = vs_train_take(t, "sum", l, t->cb * out);
    vs_emit_give(&t->e, result);
    vs_emit_give(&t->e, scaled);
    vs_train_keep_or_give(t, layer, place, own, keep);
    vs_train_keep_or_give(t, layer, place, mask, keep);
    vs_train_keep_or_give(t, layer, place, low, keep);
    double traffic = (double)in * (dropout ? 7 : 2) + 8.0 * (double)out;
    vs_emit_op(&t->e, &(struct vs_op){.kind = VS_WORK_ADAPTER,
                                      .lane = VS_LANE_COMPUTE,
                                      .what = "adapter",
                                      .layer = l,
                                      .flops = 2.0 * (double)(t->tokens * r * (in + out)),
                                      .bytes = traffic * (double)t->tokens,
                                      .launches = t->adapter_launches});
    return sum;
}

/* y = x W (+ adapter) for up to three matrices that share an input; outputs in out[]. */
static void linears(struct vs_train *t, uint32_t layer, enum vs_keep place,
                    const enum vs_role *roles, size_t count, const char *what, vs_buffer_id *out,
                    bool keep) {
    struct vs_weight *w[3] = {0};
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        w[n] = vs_layer_weight(t->plan, layer, roles[i]);
        if (!w[n])
            continue;
        out[n] = vs_train_take(t, what, (int32_t)layer, t->cb * vs_weight_rows(w[n]));
        n++;
    }
    vs_train_gemm(t, what, (int32_t)layer, w, n, 1);
    /* Under autocast each trained matrix keeps its own 16-bit copy of an fp32 input; q, k and v may
     * be one matrix. */
    bool from_norm = place == VS_KEEP_QKV_IN || place == VS_KEEP_GATE_UP_IN;
    size_t copies = t->m->fused_qkv && n > 1 ? 1 : n;
    for (size_t i = 0; i < copies; i++)
        if (from_norm && t->nb != t->cb && w[i]->trainable)
            vs_train_keep_or_give(
                t, layer, place,
                vs_train_take(t, "cast input", (int32_t)layer, t->cb * vs_weight_cols(w[i])), keep);
    for (size_t i = 0; i < n; i++)
        if (w[i]->adapter_rank > 0)
            out[i] = adapter(t, layer, place, w[i], out[i], keep);
}

/* Is the input of these matrices kept as it is: for weight gradients, or as the adapters' own
 * input? */
static bool input_needed(struct vs_train *t, uint32_t layer, const enum vs_role *roles,
                         size_t count) {
    bool from_norm = roles[0] == VS_ROLE_Q || roles[0] == VS_ROLE_GATE;
    if (from_norm && t->nb != t->cb)
        return false; /* each matrix has a copy of its own */
    for (size_t i = 0; i < count; i++) {
        const struct vs_weight *w = vs_layer_weight(t->plan, layer, roles[i]);
        if (w && (w->trainable || (w->adapter_rank > 0 && t->plan->lora_dropout == 0)))
            return true;
    }
    return false;
}

static const enum vs_role QKV[] = {VS_ROLE_Q, VS_ROLE_K, VS_ROLE_V};
static const enum vs_role OUT[] = {VS_ROLE_O};

static void attention_op(struct vs_train *t, uint32_t layer) {
    bool naive = t->plan->attention == VS_ATTENTION_NAIVE;
    double flops = vs_train_attention_flops(t);
    vs_emit_op(&t->e, &(struct vs_op){.kind = naive ? VS_WORK_NAIVE_ATTENTION : VS_WORK_ATTENTION,
                                      .lane = VS_LANE_COMPUTE,
                                      .what = "self_attn",
                                      .layer = (int32_t)layer,
                                      .fp32 = vs_train_attention_fp32(t),
                                      .flops = flops * t->recompute,
                                      .bytes = (double)(t->tokens * t->cb * (2 * t->q + 2 * t->kv)),
                                      .kernels = 1,
                                      .launches = t->launches});
}

/* Scores in memory: q k^T, scaled, masked, fp32 softmax, its 16-bit copy. The last two are kept.
 * One kernel that scales, masks and takes the softmax leaves 16-bit probabilities alone
 * (Megatron-LM: megatron/core/fusions/fused_softmax.py). Returns the probabilities. */
static vs_buffer_id probabilities(struct vs_train *t, uint32_t layer, enum vs_keep place,
                                  bool keep) {
    int32_t l = (int32_t)layer;
    uint64_t cells = t->nh * t->seq;
    vs_buffer_id scores = vs_train_take(t, "attention scores", l, t->cb * cells);
    if (t->fused_softmax) {
        vs_buffer_id p = vs_train_take(t, "attention probabilities", l, t->cb * cells);
        vs_emit_give(&t->e, scores);
        return p;
    }
    vs_buffer_id masked = vs_train_take(t, "masked scores", l, t->cb * cells);
    vs_emit_give(&t->e, scores);
    vs_buffer_id p32 = vs_train_take(t, "attention probabilities", l, 4 * cells);
    vs_emit_give(&t->e, masked);
    vs_buffer_id p16 = VS_NO_BUFFER;
    if (t->cb == 2)
        p16 = vs_train_take(t, "attention probabilities, 16 bit", l, 2 * cells);
    vs_train_keep_or_give(t, layer, place, p32, keep);
    return p16;
}

static void naive_scores(struct vs_train *t, uint32_t layer, enum vs_keep place, bool keep) {
    int32_t l = (int32_t)layer;
    uint64_t cells = t->nh * t->seq;
    vs_buffer_id p = probabilities(t, layer, place, keep);
    if (vs_train_has(t, VS_CODE_DROPOUT)) {
        vs_buffer_id mask = vs_train_take(t, "dropout mask", l, cells);
        vs_buffer_id dropped =
            vs_train_take(t, "attention probabilities, dropped", l, t->cb * cells);
        /* Of written-out code the softmax keeps its fp32 output; of one kernel this one. */
        vs_train_keep_or_give(t, layer, place, p, keep && t->fused_softmax);
        p = dropped;
        vs_train_keep_or_give(t, layer, place, mask, keep);
    }
    attention_op(t, layer);
    vs_train_element(t, "attention scores", l,
                     (double)cells * (6.0 * t->cb + (t->fused_softmax ? 0 : 8)));
    vs_train_keep_or_give(t, layer, place, p, keep);
}

/* The core of attention: from q, k and v to its output. */
static void core(struct vs_train *t, uint32_t layer, enum vs_keep place, bool keep) {
    if (t->plan->attention == VS_ATTENTION_NAIVE) {
        naive_scores(t, layer, place, keep);
        return;
    }
    vs_buffer_id lse = vs_train_take(t, "log-sum-exp", (int32_t)layer, 4 * t->nh);
    attention_op(t, layer);
    vs_train_keep_or_give(t, layer, place, lse, keep);
}

/* Megatron-LM: megatron/core/transformer/attention.py, _checkpointed_attention_forward. */
void vs_train_core_again(struct vs_train *t, uint32_t layer) {
    if (!t->plan->checkpoint_attention)
        return;
    vs_buffer_id out = vs_train_take(t, "attention output", (int32_t)layer, t->cb * t->out);
    vs_buffer_id other = vs_train_context_begin(t, layer, false);
    core(t, layer, VS_KEEP_CORE, true);
    vs_train_context_end(t, layer, false, other);
    vs_emit_give(&t->e, out);
}

static vs_buffer_id head_norm(struct vs_train *t, uint32_t layer, vs_buffer_id x, uint64_t width,
                              bool keep) {
    return vs_train_norm(t, layer, VS_KEEP_QK_NORM,
                         (struct vs_norm_input){.x = x, .width = width, .bytes = t->cb}, keep);
}

/* Norms of q and k, where there are any, then RoPE, which makes new ones. Where q, k and v are one
 * matrix, v is a view that holds its output whole. */
static void rotate(struct vs_train *t, uint32_t layer, vs_buffer_id qkv[3], bool keep) {
    int32_t l = (int32_t)layer;
    if (t->m->qk_norm != VS_QK_NORM_NONE) {
        qkv[0] = head_norm(t, layer, qkv[0], t->q, keep);
        qkv[1] = head_norm(t, layer, qkv[1], t->kv, keep);
    }
    if (vs_train_has(t, VS_CODE_UNROTATED))
        return;
    bool held = t->m->fused_qkv && t->m->qk_norm == VS_QK_NORM_NONE &&
                (t->plan->attention == VS_ATTENTION_FLASH || t->kv == t->q);
    for (size_t i = 0; i < 2; i++) {
        vs_buffer_id rotated = vs_train_take(t, i == 0 ? "q, rotated" : "k, rotated", l,
                                             t->cb * (i == 0 ? t->q : t->kv));
        vs_train_keep_or_give(t, layer, VS_KEEP_ATTENTION, qkv[i], keep && held);
        qkv[i] = rotated;
    }
}

/* Naive and sdpa expand K and V to all heads. Returns the attention output. */
static vs_buffer_id attention(struct vs_train *t, uint32_t layer, vs_buffer_id qkv[3], bool keep) {
    int32_t l = (int32_t)layer;
    uint64_t kv = t->plan->attention == VS_ATTENTION_FLASH ? t->kv : t->q;
    rotate(t, layer, qkv, keep);
    vs_buffer_id q = qkv[0], k = qkv[1], v = qkv[2];
    if (kv != t->kv) {
        vs_buffer_id wide_k = vs_train_take(t, "k, repeated", l, t->cb * kv);
        vs_buffer_id wide_v = vs_train_take(t, "v, repeated", l, t->cb * kv);
        vs_emit_give(&t->e, k);
        vs_emit_give(&t->e, v);
        k = wide_k;
        v = wide_v;
    }
    vs_buffer_id out = vs_train_take(t, "attention output", l, t->cb * t->out);
    vs_buffer_id other = vs_train_context_begin(t, layer, false);
    core(t, layer, VS_KEEP_ATTENTION, keep && !t->plan->checkpoint_attention);
    vs_train_context_end(t, layer, false, other);
    vs_train_keep_or_give(t, layer, VS_KEEP_ATTENTION, q, keep);
    vs_train_keep_or_give(t, layer, VS_KEEP_ATTENTION, k, keep);
    vs_train_keep_or_give(t, layer, VS_KEEP_ATTENTION, v, keep);
    return out;
}

static bool has_shared_norm(const struct vs_train *t) {
    return t->m->norms_per_layer == 1 && vs_train_has(t, VS_CODE_PARALLEL);
}

/* A dense MLP: the layer's own, or the experts that every token takes. */
struct mlp {
    enum vs_role gate_up[2], down[1];
};
static const struct mlp DENSE = {{VS_ROLE_GATE, VS_ROLE_UP}, {VS_ROLE_DOWN}};
static const struct mlp SHARED = {{VS_ROLE_SHARED_GATE, VS_ROLE_SHARED_UP}, {VS_ROLE_SHARED_DOWN}};

/* Takes over y, unless `y_held`. */
static vs_buffer_id dense_mlp(struct vs_train *t, uint32_t layer, const struct mlp *roles,
                              vs_buffer_id y, bool y_held, bool keep) {
    int32_t l = (int32_t)layer;
    vs_buffer_id gu[3] = {VS_NO_BUFFER, VS_NO_BUFFER, VS_NO_BUFFER};
    vs_buffer_id whole = vs_train_whole(t, l, "norm output, all tokens");
    linears(t, layer, VS_KEEP_GATE_UP_IN, roles->gate_up, 2, "mlp.gate_up", gu, keep);
    vs_emit_give(&t->e, whole);
    if (!y_held) {
        bool needed = keep && input_needed(t, layer, roles->gate_up, 2);
        y = vs_train_as_operand(t, layer, y, t->stream, needed);
        vs_train_keep_or_give(t, layer, VS_KEEP_GATE_UP_IN, y, needed);
    }
    vs_buffer_id product;
    bool act_keeps_output = false;
    if (t->m->gated_mlp) {
        vs_buffer_id act =
            t->fused_activation ? VS_NO_BUFFER : vs_train_take(t, "activation", l, t->cb * t->f);
        product = vs_train_take(t, "gated activation", l, t->cb * t->f);
        vs_train_keep_or_give(t, layer, VS_KEEP_ACT, act, keep && !t->in_place_mlp);
        vs_train_keep_or_give(t, layer, VS_KEEP_ACT, gu[1], keep);
        vs_train_keep_or_give(t, layer, VS_KEEP_ACT, gu[0], keep);
    } else {
        product = vs_train_activation(t, layer, gu[0], keep);
        act_keeps_output = t->activation == VS_ACT_RELU;
    }
    vs_buffer_id out[3] = {VS_NO_BUFFER, VS_NO_BUFFER, VS_NO_BUFFER};
    linears(t, layer, VS_KEEP_DOWN_IN, roles->down, 1, "mlp.down_proj", out, keep);
    enum vs_keep place = act_keeps_output ? VS_KEEP_ACT : VS_KEEP_DOWN_IN;
    bool needed =
        keep && !t->in_place_mlp && (act_keeps_output || input_needed(t, layer, roles->down, 1));
    if (!act_keeps_output)
        product = vs_train_as_operand(t, layer, product, t->f, needed);
    vs_train_keep_or_give(t, layer, place, product, needed);
    return vs_train_sum(t, l, "MLP output, summed", out[0]);
}

static bool router_trains(struct vs_train *t, uint32_t layer) {
    const struct vs_weight *router = vs_layer_weight(t->plan, layer, VS_ROLE_ROUTER);
    return router && router->trainable;
}

/* Routed experts, and beside them those that every token takes. */
static vs_buffer_id experts(struct vs_train *t, uint32_t layer, vs_buffer_id y, bool keep) {
    vs_buffer_id out = vs_train_experts_forward(t, layer, keep);
    if (t->m->shared_experts > 0)
        vs_emit_give(&t->e, dense_mlp(t, layer, &SHARED, y, true, keep)); /* added to the other */
    vs_train_keep_or_give(
        t, layer, VS_KEEP_GATE_UP_IN, y,
        keep && (router_trains(t, layer) || input_needed(t, layer, SHARED.gate_up, 2)));
    return out;
}

static vs_buffer_id mlp(struct vs_train *t, uint32_t layer, vs_buffer_id y, bool keep) {
    bool routed = t->m->layer[layer].mlp == VS_MLP_EXPERTS;
    vs_buffer_id out = routed ? experts(t, layer, y, keep)
                              : dense_mlp(t, layer, &DENSE, y, has_shared_norm(t), keep);
    return vs_train_post(t, layer, VS_KEEP_POST2, out, keep);
}

/* The residual add: a new stream; the branch and the old stream go unless a norm kept it. */
static vs_buffer_id residual(struct vs_train *t, uint32_t layer, vs_buffer_id x,
                             vs_buffer_id branch, enum vs_keep place, bool keep_x) {
    vs_buffer_id sum = vs_train_take(t, "residual", (int32_t)layer, t->rb * t->stream);
    vs_emit_give(&t->e, branch);
    vs_train_keep_or_give(t, layer, place, x, keep_x);
    return sum;
}

static vs_buffer_id stream_norm(struct vs_train *t, uint32_t layer, enum vs_keep place,
                                const char *what, vs_buffer_id x, bool keep) {
    struct vs_norm_input in = {.x = x, .width = t->stream, .bytes = t->rb, .held = true};
    vs_buffer_id y = vs_train_norm(t, layer, place, in, keep);
    vs_train_element(t, what, (int32_t)layer, t->element_bytes / 2);
    return y;
}

static bool trains_latent(struct vs_train *t, uint32_t layer) {
    const struct vs_weight *w = vs_layer_weight(t->plan, layer, VS_ROLE_KV_A);
    return w && w->trainable;
}

static vs_buffer_id self_attention(struct vs_train *t, uint32_t layer, vs_buffer_id y, bool keep) {
    vs_buffer_id qkv[3] = {VS_NO_BUFFER, VS_NO_BUFFER, VS_NO_BUFFER};
    vs_buffer_id whole = vs_train_whole(t, (int32_t)layer, "norm output, all tokens");
    if (vs_train_is_latent(t, layer))
        vs_train_latent_forward(t, layer, qkv, keep);
    else
        linears(t, layer, VS_KEEP_QKV_IN, QKV, 3, "self_attn.qkv", qkv, keep);
    vs_emit_give(&t->e, whole);
    if (!has_shared_norm(t)) {
        bool needed = keep && (vs_train_is_latent(t, layer) ? trains_latent(t, layer)
                                                            : input_needed(t, layer, QKV, 3));
        y = vs_train_as_operand(t, layer, y, t->stream, needed);
        vs_train_keep_or_give(t, layer, VS_KEEP_QKV_IN, y, needed);
    }
    vs_buffer_id out = attention(t, layer, qkv, keep);
    vs_buffer_id o[3] = {VS_NO_BUFFER, VS_NO_BUFFER, VS_NO_BUFFER};
    linears(t, layer, VS_KEEP_O_IN, OUT, 1, "self_attn.o_proj", o, keep);
    if (keep && t->keeps_operands) /* beside the output that attention itself keeps */
        vs_train_keep_or_give(t, layer, VS_KEEP_O_IN,
                              vs_train_take(t, "cast operand", (int32_t)layer,
                                            t->plan->precision.fp4 ? t->out / 2 : t->out),
                              true);
    vs_train_keep_or_give(t, layer, VS_KEEP_O_IN, out, keep);
    o[0] = vs_train_sum(t, (int32_t)layer, "attention output, summed", o[0]);
    return vs_train_post(t, layer, VS_KEEP_POST1, o[0], keep);
}

/* Attention and MLP side by side: both read the stream, through one norm or each through its own,
 * and are added to it together. */
static vs_buffer_id parallel_forward(struct vs_train *t, uint32_t layer, vs_buffer_id x, bool keep,
                                     bool held) {
    bool shared = has_shared_norm(t);
    vs_buffer_id y = stream_norm(t, layer, VS_KEEP_NORM1, "input_layernorm", x, keep);
    vs_buffer_id a = self_attention(t, layer, y, keep);
    vs_buffer_id y2 = y;
    if (!shared)
        y2 = stream_norm(t, layer, VS_KEEP_NORM2, "post_attention_layernorm", x, keep);
    vs_buffer_id b = mlp(t, layer, y2, keep);
    if (shared)
        vs_train_keep_or_give(
            t, layer, VS_KEEP_QKV_IN, y,
            keep && (input_needed(t, layer, QKV, 3) || input_needed(t, layer, DENSE.gate_up, 2)));
    vs_buffer_id both = vs_train_take(t, "branches", (int32_t)layer, t->cb * t->stream);
    vs_emit_give(&t->e, a);
    vs_emit_give(&t->e, b);
    return residual(t, layer, held ? VS_NO_BUFFER : x, both, VS_KEEP_NORM1,
                    keep && vs_train_keeps_norm_input(t, t->rb));
}

vs_buffer_id vs_train_layer_forward(struct vs_train *t, uint32_t layer, vs_buffer_id x, bool keep,
                                    bool held) {
    bool keep_input = keep && vs_train_keeps_norm_input(t, t->rb);
    t->keep = keep;
    vs_train_enter_layer(t, layer);
    if (t->kept_extra > 0 && keep)
        vs_train_keep_or_give(
            t, layer, VS_KEEP_NORM1,
            vs_train_take(t, "engine's own copies", (int32_t)layer, (uint64_t)t->kept_extra), true);
    if (vs_train_has(t, VS_CODE_PARALLEL))
        return parallel_forward(t, layer, x, keep, held);
    vs_buffer_id y = stream_norm(t, layer, VS_KEEP_NORM1, "input_layernorm", x, keep);
    vs_buffer_id a = self_attention(t, layer, y, keep);
    x = residual(t, layer, held ? VS_NO_BUFFER : x, a, VS_KEEP_NORM1, keep_input);
    y = stream_norm(t, layer, VS_KEEP_NORM2, "post_attention_layernorm", x, keep);
    vs_buffer_id b = mlp(t, layer, y, keep);
    return residual(t, layer, x, b, VS_KEEP_NORM2, keep_input);
}
