/* Norms, dropout and activations, tensor by tensor, as the published code of the family runs them.
 *
 * Kept per token of a norm of width d, 16-bit input:
 *   RMSNorm written out (Llama)   4d fp32 copy of the input, 2d normalised where its weight learns
 *   the same, weight in fp32      4d, 4d where its weight learns (Gemma)
 *   LayerNorm, one kernel         the input itself, mean and 1/deviation; under autocast an fp32
 *                                 copy of a 16-bit input, and an fp32 output
 * and of GELU as its formula is written in Python, 0.5 x (1 + tanh(a (x + b x^3))): x for the
 * power, 0.5 x and 1 + tanh for the product, the tanh itself; under autocast powers are fp32.
 * (Which operand each operation keeps: PyTorch tools/autograd/derivatives.yaml; which run in fp32
 * under autocast: aten/src/ATen/autocast_mode.h.) */
#include "plan/train.h"

static vs_buffer_id take(struct vs_train *t, const char *what, uint32_t layer,
                         uint64_t bytes_per_token) {
    return vs_train_take(t, what, (int32_t)layer, bytes_per_token);
}

bool vs_train_has(const struct vs_train *t, enum vs_code_fact fact) {
    return (t->facts & fact) != 0;
}

void vs_train_keep_or_give(struct vs_train *t, uint32_t layer, enum vs_keep place, vs_buffer_id id,
                           bool needed) {
    struct vs_kept *k = &t->kept[layer];
    if (id == VS_NO_BUFFER)
        return;
    if (!needed || k->count[place] == VS_KEPT_MAX) {
        vs_emit_give(&t->e, id);
        return;
    }
    t->plan->buffers.at[id].tag = place == VS_KEEP_CORE ? VS_TAG_WORKSPACE : VS_TAG_ACTIVATIONS;
    k->at[place][k->count[place]++] = id;
}

void vs_train_free_kept(struct vs_train *t, uint32_t layer, enum vs_keep place) {
    struct vs_kept *k = &t->kept[layer];
    for (uint8_t i = 0; i < k->count[place]; i++)
        vs_emit_give(&t->e, k->at[place][i]);
    k->count[place] = 0;
}

static bool is_one_kernel(const struct vs_train *t) {
    return t->layer_norm || t->plan->fused_kernels || t->plan->compiled;
}

/* A fused norm, LayerNorm and an fp32 stream keep the input of the norm itself. */
bool vs_train_keeps_norm_input(const struct vs_train *t, unsigned bytes) {
    if (t->layer_norm)
        return !t->autocast || bytes != 2;
    return t->plan->fused_kernels || bytes != 2;
}

static bool trains_norms(struct vs_train *t, uint32_t layer) {
    const struct vs_weight *w = vs_layer_weight(t->plan, layer, VS_ROLE_NORM);
    return w && w->trainable;
}

static vs_buffer_id layer_norm(struct vs_train *t, uint32_t layer, enum vs_keep place,
                               struct vs_norm_input in, bool keep) {
    enum { STATISTICS = 8 }; /* fp32 mean and 1/deviation */
    vs_buffer_id copy = VS_NO_BUFFER;
    if (t->autocast && in.bytes == 2)
        copy = take(t, "fp32 input of norm", layer, 4 * in.width);
    vs_buffer_id y = take(t, "norm output", layer, (t->autocast ? 4 : in.bytes) * in.width);
    vs_buffer_id statistics = take(t, "mean and deviation", layer, STATISTICS);
    vs_train_keep_or_give(t, layer, place, copy, keep);
    vs_train_keep_or_give(t, layer, place, statistics, keep);
    return y;
}

static vs_buffer_id eager_norm(struct vs_train *t, uint32_t layer, enum vs_keep place,
                               struct vs_norm_input in, bool keep) {
    bool trained = trains_norms(t, layer), wide = vs_train_has(t, VS_CODE_WIDE_NORM);
    vs_buffer_id copy = VS_NO_BUFFER, half = VS_NO_BUFFER, product = VS_NO_BUFFER;
    if (in.bytes == 2)
        copy = take(t, "fp32 input of norm", layer, 4 * in.width);
    vs_buffer_id scaled = take(t, "normalised", layer, 4 * in.width);
    if (in.bytes == 2 && wide) {
        product = take(t, "normalised, weighted", layer, 4 * in.width);
    } else if (in.bytes == 2) {
        half = take(t, "normalised, 16 bit", layer, 2 * in.width);
        vs_emit_give(&t->e, scaled);
        scaled = VS_NO_BUFFER;
    }
    vs_buffer_id y = take(t, "norm output", layer, in.bytes * in.width);
    vs_emit_give(&t->e, product);
    vs_train_keep_or_give(t, layer, place, copy, keep);
    vs_train_keep_or_give(t, layer, place, half, keep && trained);
    vs_train_keep_or_give(t, layer, place, scaled, keep && trained);
    return y;
}

vs_buffer_id vs_train_norm(struct vs_train *t, uint32_t layer, enum vs_keep place,
                           struct vs_norm_input in, bool keep) {
    vs_buffer_id y;
    if (t->layer_norm)
        y = layer_norm(t, layer, place, in, keep);
    else if (is_one_kernel(t))
        y = take(t, "norm output", layer, in.bytes * in.width);
    else
        y = eager_norm(t, layer, place, in, keep);
    if (!in.held)
        vs_train_keep_or_give(t, layer, place, in.x,
                              keep && vs_train_keeps_norm_input(t, in.bytes));
    return y;
}

/* The gradient of a norm's input; `grad`, of its output, is given back. */
vs_buffer_id vs_train_norm_input_grad(struct vs_train *t, uint32_t layer, uint64_t width,
                                      unsigned bytes, vs_buffer_id grad) {
    bool eager = !is_one_kernel(t);
    vs_buffer_id a = eager ? take(t, "norm gradient", layer, 4 * width) : VS_NO_BUFFER;
    vs_buffer_id b = eager ? take(t, "norm gradient", layer, 4 * width) : VS_NO_BUFFER;
    vs_emit_give(&t->e, grad);
    vs_buffer_id own = take(t, "norm input gradient", layer, bytes * width);
    vs_emit_give(&t->e, a);
    vs_emit_give(&t->e, b);
    return own;
}

static bool has_post_norms(const struct vs_train *t) { return t->m->norms_per_layer >= 4; }

vs_buffer_id vs_train_post(struct vs_train *t, uint32_t layer, enum vs_keep place,
                           vs_buffer_id branch, bool keep) {
    if (vs_train_has(t, VS_CODE_DROPOUT)) {
        vs_buffer_id mask = take(t, "dropout mask", layer, t->stream);
        vs_buffer_id dropped = take(t, "dropout output", layer, t->cb * t->stream);
        vs_emit_give(&t->e, branch);
        vs_train_keep_or_give(t, layer, place, mask, keep);
        branch = dropped;
    }
    if (!has_post_norms(t))
        return branch;
    return vs_train_norm(t, layer, place,
                         (struct vs_norm_input){.x = branch, .width = t->stream, .bytes = t->cb},
                         keep);
}

/* The gradient of a branch: the stream's own tensor, which the residual add hands to both of its
 * inputs (VS_NO_BUFFER), unless something between makes a new one. */
vs_buffer_id vs_train_post_backward(struct vs_train *t, uint32_t layer, enum vs_keep place) {
    bool dropout = vs_train_has(t, VS_CODE_DROPOUT);
    vs_buffer_id grad = VS_NO_BUFFER;
    if (t->rb != t->cb || dropout)
        grad = take(t, "branch gradient", layer, t->cb * t->stream);
    if (has_post_norms(t))
        grad = vs_train_norm_input_grad(t, layer, t->stream, t->cb, grad);
    vs_train_free_kept(t, layer, place);
    return grad;
}

static vs_buffer_id next(struct vs_train *t, uint32_t layer, unsigned bytes, vs_buffer_id old) {
    vs_buffer_id fresh = take(t, "activation, inner", layer, bytes * t->f);
    vs_emit_give(&t->e, old);
    return fresh;
}

static unsigned gelu_bytes(const struct vs_train *t) { return t->autocast ? 4 : t->cb; }

static vs_buffer_id eager_gelu(struct vs_train *t, uint32_t layer, vs_buffer_id x, bool keep) {
    unsigned w = gelu_bytes(t);
    vs_buffer_id half = take(t, "activation, halved input", layer, t->cb * t->f);
    vs_buffer_id copy =
        w != t->cb ? take(t, "activation, fp32 input", layer, w * t->f) : VS_NO_BUFFER;
    vs_buffer_id inner = take(t, "activation, inner", layer, w * t->f);
    for (int i = 0; i < 3; i++) /* scale, add, scale */
        inner = next(t, layer, w, inner);
    vs_buffer_id tanh_out = next(t, layer, w, inner);
    vs_buffer_id plus_one = take(t, "activation, 1 + tanh", layer, w * t->f);
    vs_buffer_id product = take(t, "activation", layer, w * t->f);
    if (w != t->cb)
        product = next(t, layer, t->cb, product);
    vs_train_keep_or_give(t, layer, VS_KEEP_ACT, x, keep && copy == VS_NO_BUFFER);
    vs_train_keep_or_give(t, layer, VS_KEEP_ACT, copy, keep);
    vs_train_keep_or_give(t, layer, VS_KEEP_ACT, half, keep);
    vs_train_keep_or_give(t, layer, VS_KEEP_ACT, tanh_out, keep);
    vs_train_keep_or_give(t, layer, VS_KEEP_ACT, plus_one, keep);
    return product;
}

vs_buffer_id vs_train_activation(struct vs_train *t, uint32_t layer, vs_buffer_id x, bool keep) {
    if (t->activation == VS_ACT_EAGER_GELU)
        return eager_gelu(t, layer, x, keep);
    vs_buffer_id product = take(t, "activation", layer, t->cb * t->f);
    vs_train_keep_or_give(t, layer, VS_KEEP_ACT, x, keep && t->activation != VS_ACT_RELU);
    return product;
}

vs_buffer_id vs_train_activation_backward(struct vs_train *t, uint32_t layer, vs_buffer_id grad) {
    if (t->activation == VS_ACT_EAGER_GELU) {
        unsigned w = gelu_bytes(t);
        vs_buffer_id of_half = take(t, "activation, inner gradient", layer, w * t->f);
        vs_buffer_id of_tanh = take(t, "activation, inner gradient", layer, w * t->f);
        vs_emit_give(&t->e, grad);
        grad = next(t, layer, w, of_tanh);
        vs_emit_give(&t->e, of_half);
    }
    vs_buffer_id of_up = take(t, "up gradient", layer, t->cb * t->f);
    vs_emit_give(&t->e, grad);
    return of_up;
}
