/* Backward of one decoder layer, in autograd's order: each step takes the gradient of an output,
 * makes that of its inputs, and frees what forward kept for it. On top of the kept tensors the MLP
 * needs 6f + 2d bytes per token (16-bit): the gradients of its product, of gate and of up, and the
 * one that came in. */
#include "plan/train.h"

static vs_buffer_id take(struct vs_train *t, const char *what, uint32_t layer,
                         uint64_t bytes_per_token) {
    return vs_train_take(t, what, (int32_t)layer, bytes_per_token);
}

/* The adapter's share of the gradient of its matrix's input. */
static void adapter_backward(struct vs_train *t, uint32_t layer, const struct vs_weight *w) {
    uint64_t in = vs_weight_cols(w), out = vs_weight_rows(w), r = w->adapter_rank;
    vs_buffer_id scaled = take(t, "adapter output gradient", layer, t->cb * out);
    vs_buffer_id low = take(t, "adapter inner gradient", layer, t->cb * r);
    vs_emit_give(&t->e, scaled);
    vs_buffer_id grad = take(t, "adapter input gradient", layer, t->cb * in);
    vs_emit_give(&t->e, low);
    vs_train_adapter_grad(t, w);
    double traffic = 2 * ((double)in * (t->plan->lora_dropout > 0 ? 7 : 2) + 8.0 * (double)out);
    vs_emit_op(&t->e, &(struct vs_op){.kind = VS_WORK_ADAPTER,
                                      .lane = VS_LANE_COMPUTE,
                                      .what = "adapter backward",
                                      .layer = (int32_t)layer,
                                      .flops = 4.0 * (double)(t->tokens * r * (in + out)),
                                      .bytes = traffic * (double)t->tokens,
                                      .launches = t->adapter_launches});
    vs_emit_give(&t->e, grad);
}

/* Gradient of the common input of some matrices; takes over the gradients of their outputs. */
static vs_buffer_id linears_backward(struct vs_train *t, uint32_t layer, enum vs_keep place,
                                     const enum vs_role *roles, size_t count, const char *what,
                                     vs_buffer_id *grads, unsigned bytes) {
    struct vs_weight *w[3] = {0};
    size_t n = 0;
    bool trained = false;
    vs_buffer_id sum = VS_NO_BUFFER;
    for (size_t i = 0; i < count; i++) {
        struct vs_weight *one = vs_layer_weight(t->plan, layer, roles[i]);
        if (!one)
            continue;
        w[n] = one;
        trained |= one->trainable;
        vs_buffer_id part = take(t, what, layer, bytes * vs_weight_cols(one));
        if (one->adapter_rank > 0)
            adapter_backward(t, layer, one);
        vs_train_weight_grad(t, one);
        vs_emit_give(&t->e, grads[n]);
        if (sum != VS_NO_BUFFER)
            vs_emit_give(&t->e, part); /* added into the sum */
        else
            sum = part;
        n++;
    }
    if (place == VS_KEEP_QKV_IN || place == VS_KEEP_GATE_UP_IN)
        sum = vs_train_summed_backward(t, what, (int32_t)layer, w, n, trained, sum);
    else
        vs_train_gemm(t, what, (int32_t)layer, w, n, trained ? 2 : 1);
    for (size_t i = 0; i < n; i++)
        vs_train_drop_cast(t, w[i]);
    vs_train_free_kept(t, layer, place);
    return sum;
}

/* Gradients of norms and biases: the last of a layer is the norm before the MLP. */
static void norm_grads(struct vs_train *t, uint32_t layer, bool second) {
    const struct vs_layer *l = &t->plan->layers[layer];
    const struct vs_weight *last = NULL;
    for (uint32_t i = 0; i < l->weight_count; i++)
        if (t->plan->weights[l->first_weight + i].tensor->role == VS_ROLE_NORM)
            last = &t->plan->weights[l->first_weight + i];
    for (uint32_t i = 0; i < l->weight_count; i++) {
        const struct vs_weight *w = &t->plan->weights[l->first_weight + i];
        if (w->tensor->role == VS_ROLE_NORM && (w == last) == second)
            vs_train_weight_grad(t, w);
    }
}

static void give_stream(struct vs_train *t, vs_buffer_id stream) {
    if (stream != t->held_grad)
        vs_emit_give(&t->e, stream);
}

/* Backward of a norm and the residual join: the branch's gradient becomes part of the stream's. */
static vs_buffer_id norm_backward(struct vs_train *t, uint32_t layer, enum vs_keep place,
                                  const char *what, vs_buffer_id branch, vs_buffer_id stream) {
    vs_buffer_id own = vs_train_norm_input_grad(t, layer, t->stream, t->rb, branch);
    norm_grads(t, layer, place == VS_KEEP_NORM2);
    vs_train_element(t, what, (int32_t)layer, t->element_bytes);
    vs_train_free_kept(t, layer, place);
    vs_buffer_id sum = take(t, "residual gradient", layer, t->rb * t->stream);
    vs_emit_give(&t->e, own);
    give_stream(t, stream);
    return sum;
}

static const enum vs_role QKV[] = {VS_ROLE_Q, VS_ROLE_K, VS_ROLE_V};
static const enum vs_role GATE_UP[] = {VS_ROLE_GATE, VS_ROLE_UP};
static const enum vs_role OUT[] = {VS_ROLE_O};
static const enum vs_role DOWN[] = {VS_ROLE_DOWN};
static const enum vs_role SHARED_GATE_UP[] = {VS_ROLE_SHARED_GATE, VS_ROLE_SHARED_UP};
static const enum vs_role SHARED_DOWN[] = {VS_ROLE_SHARED_DOWN};

/* The gradient of a branch's output, of all tokens. */
static vs_buffer_id whole_branch(struct vs_train *t, uint32_t layer, vs_buffer_id branch) {
    vs_buffer_id whole = vs_train_whole(t, (int32_t)layer, "branch gradient, all tokens");
    if (whole == VS_NO_BUFFER)
        return branch;
    vs_emit_give(&t->e, branch);
    return whole;
}

/* The gradient of a dense MLP's input; `branch` of its output, where it is no other's. */
static vs_buffer_id dense_backward(struct vs_train *t, uint32_t layer, bool shared,
                                   vs_buffer_id branch) {
    vs_buffer_id out[3] = {branch, VS_NO_BUFFER, VS_NO_BUFFER};
    vs_buffer_id product = linears_backward(t, layer, VS_KEEP_DOWN_IN, shared ? SHARED_DOWN : DOWN,
                                            1, "mlp.down_proj backward", out, t->cb);
    vs_buffer_id gu[3] = {VS_NO_BUFFER, VS_NO_BUFFER, VS_NO_BUFFER};
    if (t->in_place_mlp) {
        vs_emit_give(&t->e, product); /* gradients of gate and up stand where forward kept them */
    } else if (t->m->gated_mlp) {
        vs_buffer_id act = take(t, "activation gradient", layer, t->cb * t->f);
        gu[1] = take(t, "up gradient", layer, t->cb * t->f);
        vs_emit_give(&t->e, product);
        gu[0] = take(t, "gate gradient", layer, t->cb * t->f);
        vs_emit_give(&t->e, act);
    } else {
        gu[0] = vs_train_activation_backward(t, layer, product);
    }
    vs_train_free_kept(t, layer, VS_KEEP_ACT);
    return linears_backward(t, layer, VS_KEEP_GATE_UP_IN, shared ? SHARED_GATE_UP : GATE_UP, 2,
                            "mlp.gate_up backward", gu, t->nb);
}

static vs_buffer_id mlp_backward(struct vs_train *t, uint32_t layer) {
    vs_buffer_id post = vs_train_post_backward(t, layer, VS_KEEP_POST2);
    if (t->m->layer[layer].mlp != VS_MLP_EXPERTS)
        return dense_backward(t, layer, false, whole_branch(t, layer, post));
    vs_buffer_id grad = vs_train_experts_backward(t, layer);
    if (t->m->shared_experts > 0)
        vs_emit_give(&t->e, dense_backward(t, layer, true, whole_branch(t, layer, VS_NO_BUFFER)));
    vs_train_free_kept(t, layer, VS_KEEP_GATE_UP_IN);
    vs_emit_give(&t->e, post);
    return grad;
}

/* Fused: softmax sums, an fp32 accumulator of dq, and dk, dv of all heads before they are summed by
 * group. */
static void attention_grads(struct vs_train *t, uint32_t layer, vs_buffer_id out,
                            vs_buffer_id qkv[3]) {
    bool naive = t->plan->attention == VS_ATTENTION_NAIVE;
    vs_buffer_id extra[4] = {VS_NO_BUFFER, VS_NO_BUFFER, VS_NO_BUFFER, VS_NO_BUFFER};
    if (naive) {
        extra[0] = take(t, "probabilities gradient", layer, t->cb * t->nh * t->seq);
        extra[1] = take(t, "scores gradient", layer, 4 * t->nh * t->seq);
    } else {
        extra[0] = take(t, "softmax sums", layer, 4 * t->nh);
        extra[1] = take(t, "dq accumulator", layer, 4 * t->q);
    }
    if (t->kv != t->q) {
        extra[2] = take(t, "dk of all heads", layer, t->cb * t->q);
        extra[3] = take(t, "dv of all heads", layer, t->cb * t->q);
    }
    qkv[0] = take(t, "dq", layer, t->cb * t->q);
    qkv[1] = take(t, "dk", layer, t->cb * t->kv);
    qkv[2] = take(t, "dv", layer, t->cb * t->kv);
    double flops = vs_train_attention_flops(t);
    vs_buffer_id other = vs_train_context_begin(t, layer, true);
    vs_emit_op(&t->e, &(struct vs_op){.kind = naive ? VS_WORK_NAIVE_ATTENTION : VS_WORK_ATTENTION,
                                      .lane = VS_LANE_COMPUTE,
                                      .what = "self_attn backward",
                                      .layer = (int32_t)layer,
                                      .fp32 = vs_train_attention_fp32(t),
                                      .flops = (naive ? 2 : 2.5) * flops,
                                      .bytes = (double)(t->tokens * t->cb) *
                                               (double)(4 * t->q + 4 * t->kv),
                                      .kernels = 1,
                                      .launches = t->launches});
    if (naive)
        vs_train_element(t, "attention scores backward", (int32_t)layer,
                         (double)(t->nh * t->seq) * (4.0 * t->cb + 10));
    vs_train_context_end(t, layer, true, other);
    for (size_t i = 0; i < 4; i++)
        vs_emit_give(&t->e, extra[i]);
    vs_emit_give(&t->e, out);
    vs_train_free_kept(t, layer, VS_KEEP_CORE);
    vs_train_free_kept(t, layer, VS_KEEP_ATTENTION);
}

/* Through the norms of q and k, where there are any. */
static void head_norm_grads(struct vs_train *t, uint32_t layer, vs_buffer_id qkv[3]) {
    if (t->m->qk_norm == VS_QK_NORM_NONE)
        return;
    qkv[0] = vs_train_norm_input_grad(t, layer, t->q, t->cb, qkv[0]);
    qkv[1] = vs_train_norm_input_grad(t, layer, t->kv, t->cb, qkv[1]);
    vs_train_free_kept(t, layer, VS_KEEP_QK_NORM);
}

static vs_buffer_id self_attention_backward(struct vs_train *t, uint32_t layer) {
    vs_buffer_id branch[3] = {VS_NO_BUFFER, VS_NO_BUFFER, VS_NO_BUFFER};
    branch[0] = whole_branch(t, layer, vs_train_post_backward(t, layer, VS_KEEP_POST1));
    vs_buffer_id out = linears_backward(t, layer, VS_KEEP_O_IN, OUT, 1, "self_attn.o_proj backward",
                                        branch, t->cb);
    vs_buffer_id qkv[3];
    vs_train_core_again(t, layer);
    attention_grads(t, layer, out, qkv);
    head_norm_grads(t, layer, qkv);
    if (vs_train_is_latent(t, layer))
        return vs_train_latent_backward(t, layer, qkv);
    return linears_backward(t, layer, VS_KEEP_QKV_IN, QKV, 3, "self_attn.qkv backward", qkv, t->nb);
}

/* Side by side: the stream's gradient is that of both branches and waits until both are through. */
static vs_buffer_id parallel_backward(struct vs_train *t, uint32_t layer, vs_buffer_id grad) {
    bool shared = t->m->norms_per_layer == 1;
    vs_buffer_id y = mlp_backward(t, layer), sum = grad;
    if (!shared)
        sum = norm_backward(t, layer, VS_KEEP_NORM2, "post_attention_layernorm backward", y,
                            VS_NO_BUFFER);
    vs_buffer_id own = self_attention_backward(t, layer);
    if (shared)
        vs_emit_give(&t->e, y); /* added into the other */
    sum = norm_backward(t, layer, VS_KEEP_NORM1, "input_layernorm backward", own, sum);
    if (!shared)
        give_stream(t, grad);
    return sum;
}

vs_buffer_id vs_train_layer_backward(struct vs_train *t, uint32_t layer, vs_buffer_id grad) {
    vs_train_enter_layer(t, layer);
    if (vs_train_has(t, VS_CODE_PARALLEL))
        return parallel_backward(t, layer, grad);
    vs_buffer_id y = mlp_backward(t, layer);
    grad = norm_backward(t, layer, VS_KEEP_NORM2, "post_attention_layernorm backward", y, grad);
    y = self_attention_backward(t, layer);
    return norm_backward(t, layer, VS_KEEP_NORM1, "input_layernorm backward", y, grad);
}
