/* Forward of one decoder layer, tensor by tensor, as the Hugging Face code runs it.
 *
 * What is kept for backward, in bytes per token (16-bit compute, fused attention):
 *   full fine-tuning  16d + 4Q + 4KV + 8f + 4nh      frozen base  8d + 4Q + 4KV + 6f + 4nh
 * measured with saved-tensor hooks on the same sequence of operations; adapters add their inputs.
 */
#include "plan/train.h"

static void keep_or_give(struct vs_train *t, uint32_t layer, enum vs_keep place, vs_buffer_id id,
                         bool needed) {
    struct vs_kept *k = &t->kept[layer];
    if (id == VS_NO_BUFFER)
        return;
    if (!needed || k->count[place] == VS_KEPT_MAX) {
        vs_emit_give(&t->e, id);
        return;
    }
    t->plan->buffers.at[id].tag = VS_TAG_ACTIVATIONS;
    k->at[place][k->count[place]++] = id;
}

/* RMSNorm or LayerNorm. Eager: an fp32 copy of the input and the normalised 16-bit value are kept
 * where the weight is trained; a fused kernel keeps only the input itself, which the caller holds.
 */
static vs_buffer_id norm(struct vs_train *t, uint32_t layer, enum vs_keep place, bool trained,
                         bool keep) {
    int32_t l = (int32_t)layer;
    uint64_t d = t->d;
    if (t->plan->fused_kernels || t->plan->compiled || t->native_norm)
        return vs_train_take(t, "norm output", l, t->cb * d);
    vs_buffer_id copy = VS_NO_BUFFER;
    if (t->rb == 2)
        copy = vs_train_take(t, "fp32 input of norm", l, 4 * d);
    vs_buffer_id scaled = vs_train_take(t, "normalised", l, 4 * d);
    vs_buffer_id half = VS_NO_BUFFER;
    if (t->rb == 2) {
        half = vs_train_take(t, "normalised, 16 bit", l, 2 * d);
        vs_emit_give(&t->e, scaled);
        scaled = VS_NO_BUFFER;
    }
    vs_buffer_id y = vs_train_take(t, "norm output", l, t->rb * d);
    keep_or_give(t, layer, place, copy, keep);
    keep_or_give(t, layer, place, half, keep && trained);
    keep_or_give(t, layer, place, scaled, keep && trained);
    return y;
}

/* LoRA beside one matrix: its own copy of the input where dropout or a cast makes one, x A, (x A)
 * B, scale, add. */
static vs_buffer_id adapter(struct vs_train *t, uint32_t layer, enum vs_keep place,
                            const struct vs_weight *w, vs_buffer_id result, bool keep) {
    uint64_t in = w->tensor->cols, out = w->tensor->rows, r = w->adapter_rank;
    int32_t l = (int32_t)layer;
    vs_buffer_id own = VS_NO_BUFFER, mask = VS_NO_BUFFER;
    bool from_norm = place == VS_KEEP_QKV_IN || place == VS_KEEP_GATE_UP_IN;
    bool dropout = t->plan->lora_dropout > 0;
    if (dropout)
        mask = vs_train_take(t, "dropout mask", l, in);
    if (dropout || (from_norm && t->rb != t->cb && !w->trainable))
        own = vs_train_take(t, "adapter input", l, t->cb * in);
    vs_buffer_id low = vs_train_take(t, "adapter inner", l, t->cb * r);
    vs_buffer_id high = vs_train_take(t, "adapter output", l, t->cb * out);
    vs_buffer_id scaled = vs_train_take(t, "adapter output, scaled", l, t->cb * out);
    vs_emit_give(&t->e, high);
    vs_buffer_id sum = vs_train_take(t, "sum", l, t->cb * out);
    vs_emit_give(&t->e, result);
    vs_emit_give(&t->e, scaled);
    keep_or_give(t, layer, place, own, keep);
    keep_or_give(t, layer, place, mask, keep);
    keep_or_give(t, layer, place, low, keep);
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
        out[n] = vs_train_take(t, what, (int32_t)layer, t->cb * w[n]->tensor->rows);
        n++;
    }
    vs_train_gemm(t, what, (int32_t)layer, w, n, 1);
    /* Under autocast each trained matrix keeps its own 16-bit copy of an fp32 input. */
    bool from_norm = place == VS_KEEP_QKV_IN || place == VS_KEEP_GATE_UP_IN;
    for (size_t i = 0; i < n; i++)
        if (from_norm && t->rb != t->cb && w[i]->trainable)
            keep_or_give(t, layer, place,
                         vs_train_take(t, "cast input", (int32_t)layer, t->cb * w[i]->tensor->cols),
                         keep);
    for (size_t i = 0; i < n; i++)
        if (w[i]->adapter_rank > 0)
            out[i] = adapter(t, layer, place, w[i], out[i], keep);
}

/* Is the input of these matrices kept as it is: for weight gradients, or as the adapters' own
 * input? */
static bool input_needed(struct vs_train *t, uint32_t layer, const enum vs_role *roles,
                         size_t count) {
    bool from_norm = roles[0] == VS_ROLE_Q || roles[0] == VS_ROLE_GATE;
    if (from_norm && t->rb != t->cb)
        return false; /* each matrix has a copy of its own */
    for (size_t i = 0; i < count; i++) {
        const struct vs_weight *w = vs_layer_weight(t->plan, layer, roles[i]);
        if (w && (w->trainable || (w->adapter_rank > 0 && t->plan->lora_dropout == 0)))
            return true;
    }
    return false;
}

static const enum vs_role QKV[] = {VS_ROLE_Q, VS_ROLE_K, VS_ROLE_V};
static const enum vs_role GATE_UP[] = {VS_ROLE_GATE, VS_ROLE_UP};
static const enum vs_role OUT[] = {VS_ROLE_O};
static const enum vs_role DOWN[] = {VS_ROLE_DOWN};

static void attention_op(struct vs_train *t, uint32_t layer) {
    bool naive = t->plan->attention == VS_ATTENTION_NAIVE;
    double flops = 4.0 * (double)t->tokens * (double)t->seq * (double)t->q;
    vs_emit_op(&t->e, &(struct vs_op){.kind = naive ? VS_WORK_NAIVE_ATTENTION : VS_WORK_ATTENTION,
                                      .lane = VS_LANE_COMPUTE,
                                      .what = "self_attn",
                                      .layer = (int32_t)layer,
                                      .fp32 = t->cb == 4,
                                      .flops = (naive ? flops : flops * t->attended) * t->recompute,
                                      .bytes = (double)(t->tokens * t->cb * (2 * t->q + 2 * t->kv)),
                                      .kernels = 1,
                                      .launches = t->launches});
}

/* Scores in memory: q k^T, scaled, masked, fp32 softmax, its 16-bit copy. The last two are kept. */
static void naive_scores(struct vs_train *t, uint32_t layer, bool keep) {
    int32_t l = (int32_t)layer;
    uint64_t cells = t->nh * t->seq;
    vs_buffer_id scores = vs_train_take(t, "attention scores", l, t->cb * cells);
    vs_buffer_id masked = vs_train_take(t, "masked scores", l, t->cb * cells);
    vs_emit_give(&t->e, scores);
    vs_buffer_id p32 = vs_train_take(t, "attention probabilities", l, 4 * cells);
    vs_emit_give(&t->e, masked);
    vs_buffer_id p16 = VS_NO_BUFFER;
    if (t->cb == 2)
        p16 = vs_train_take(t, "attention probabilities, 16 bit", l, 2 * cells);
    attention_op(t, layer);
    vs_train_element(t, "attention scores", l, (double)cells * (6.0 * t->cb + 8));
    keep_or_give(t, layer, VS_KEEP_ATTENTION, p32, keep);
    keep_or_give(t, layer, VS_KEEP_ATTENTION, p16, keep);
}

/* RoPE makes new q and k; naive and sdpa expand K and V to all heads. Returns the attention output.
 */
static vs_buffer_id attention(struct vs_train *t, uint32_t layer, vs_buffer_id qkv[3], bool keep) {
    int32_t l = (int32_t)layer;
    uint64_t kv = t->plan->attention == VS_ATTENTION_FLASH ? t->kv : t->q;
    vs_buffer_id q = vs_train_take(t, "q, rotated", l, t->cb * t->q);
    vs_emit_give(&t->e, qkv[0]);
    vs_buffer_id k = vs_train_take(t, "k, rotated", l, t->cb * t->kv);
    vs_emit_give(&t->e, qkv[1]);
    vs_buffer_id v = qkv[2];
    if (kv != t->kv) {
        vs_buffer_id wide_k = vs_train_take(t, "k, repeated", l, t->cb * kv);
        vs_buffer_id wide_v = vs_train_take(t, "v, repeated", l, t->cb * kv);
        vs_emit_give(&t->e, k);
        vs_emit_give(&t->e, v);
        k = wide_k;
        v = wide_v;
    }
    vs_buffer_id lse = VS_NO_BUFFER;
    vs_buffer_id out = vs_train_take(t, "attention output", l, t->cb * t->q);
    if (t->plan->attention == VS_ATTENTION_NAIVE) {
        naive_scores(t, layer, keep);
    } else {
        lse = vs_train_take(t, "log-sum-exp", l, 4 * t->nh);
        attention_op(t, layer);
    }
    keep_or_give(t, layer, VS_KEEP_ATTENTION, q, keep);
    keep_or_give(t, layer, VS_KEEP_ATTENTION, k, keep);
    keep_or_give(t, layer, VS_KEEP_ATTENTION, v, keep);
    keep_or_give(t, layer, VS_KEEP_ATTENTION, lse, keep);
    return out;
}

static vs_buffer_id mlp(struct vs_train *t, uint32_t layer, vs_buffer_id y, bool keep) {
    int32_t l = (int32_t)layer;
    vs_buffer_id gu[3] = {VS_NO_BUFFER, VS_NO_BUFFER, VS_NO_BUFFER};
    linears(t, layer, VS_KEEP_GATE_UP_IN, GATE_UP, 2, "mlp.gate_up", gu, keep);
    keep_or_give(t, layer, VS_KEEP_GATE_UP_IN, y, keep && input_needed(t, layer, GATE_UP, 2));
    vs_buffer_id product;
    if (t->m->gated_mlp) {
        vs_buffer_id act = vs_train_take(t, "activation", l, t->cb * t->f);
        product = vs_train_take(t, "gated activation", l, t->cb * t->f);
        keep_or_give(t, layer, VS_KEEP_ACT, act, keep && !t->in_place_mlp);
        keep_or_give(t, layer, VS_KEEP_ACT, gu[1], keep);
    } else {
        product = vs_train_take(t, "activation", l, t->cb * t->f);
    }
    keep_or_give(t, layer, VS_KEEP_ACT, gu[0], keep);
    vs_buffer_id out[3] = {VS_NO_BUFFER, VS_NO_BUFFER, VS_NO_BUFFER};
    linears(t, layer, VS_KEEP_DOWN_IN, DOWN, 1, "mlp.down_proj", out, keep);
    keep_or_give(t, layer, VS_KEEP_DOWN_IN, product,
                 keep && !t->in_place_mlp && input_needed(t, layer, DOWN, 1));
    return out[0];
}

/* The residual add: a new stream; the branch and the old stream go unless a fused norm kept it. */
static vs_buffer_id residual(struct vs_train *t, uint32_t layer, vs_buffer_id x,
                             vs_buffer_id branch, enum vs_keep place, bool keep_x) {
    vs_buffer_id sum = vs_train_take(t, "residual", (int32_t)layer, t->rb * t->d);
    vs_emit_give(&t->e, branch);
    keep_or_give(t, layer, place, x, keep_x);
    return sum;
}

static bool norm_trained(struct vs_train *t, uint32_t layer) {
    const struct vs_weight *w = vs_layer_weight(t->plan, layer, VS_ROLE_NORM);
    return w && w->trainable;
}

vs_buffer_id vs_train_layer_forward(struct vs_train *t, uint32_t layer, vs_buffer_id x, bool keep,
                                    bool held) {
    int32_t l = (int32_t)layer;
    bool trained = norm_trained(t, layer);
    /* A fused norm, and an fp32 stream, keep the input of the norm itself. */
    bool keep_input = keep && (t->plan->fused_kernels || t->native_norm || t->rb != 2);
    t->keep = keep;
    vs_train_hooks(t, layer);
    if (t->kept_extra > 0 && keep)
        keep_or_give(t, layer, VS_KEEP_NORM1,
                     vs_train_take(t, "engine's own copies", l, (uint64_t)t->kept_extra), true);
    vs_buffer_id y = norm(t, layer, VS_KEEP_NORM1, trained, keep);
    vs_train_element(t, "input_layernorm", l, t->element_bytes / 2);
    vs_buffer_id qkv[3] = {VS_NO_BUFFER, VS_NO_BUFFER, VS_NO_BUFFER};
    linears(t, layer, VS_KEEP_QKV_IN, QKV, 3, "self_attn.qkv", qkv, keep);
    keep_or_give(t, layer, VS_KEEP_QKV_IN, y, keep && input_needed(t, layer, QKV, 3));
    vs_buffer_id out = attention(t, layer, qkv, keep);
    vs_buffer_id o[3] = {VS_NO_BUFFER, VS_NO_BUFFER, VS_NO_BUFFER};
    linears(t, layer, VS_KEEP_O_IN, OUT, 1, "self_attn.o_proj", o, keep);
    keep_or_give(t, layer, VS_KEEP_O_IN, out, keep);
    x = residual(t, layer, held ? VS_NO_BUFFER : x, o[0], VS_KEEP_NORM1, keep_input);
    y = norm(t, layer, VS_KEEP_NORM2, trained, keep);
    vs_train_element(t, "post_attention_layernorm", l, t->element_bytes / 2);
    vs_buffer_id z = mlp(t, layer, y, keep);
    return residual(t, layer, x, z, VS_KEEP_NORM2, keep_input);
}
