/* What forward and backward share: matrices, element-wise work, adapters' bookkeeping. */
#include "plan/train.h"

#include "engine/engine.h"

struct vs_weight *vs_layer_weight(struct vs_plan *plan, uint32_t layer, enum vs_role role) {
    const struct vs_layer *l = &plan->layers[layer];
    for (uint32_t i = 0; i < l->weight_count; i++) {
        struct vs_weight *w = &plan->weights[l->first_weight + i];
        if (w->tensor->role == role)
            return w;
    }
    return NULL;
}

uint64_t vs_train_seq(const struct vs_case *c) {
    uint64_t asked = (uint64_t)vs_count(&c->axes, VS_AXIS_SEQ), rows = c->model->learned_positions;
    return rows > 0 && asked > rows ? rows : asked;
}

vs_buffer_id vs_train_take(struct vs_train *t, const char *what, int32_t layer,
                           uint64_t bytes_per_token) {
    return vs_emit_take(&t->e, VS_TAG_WORKSPACE, what, layer, bytes_per_token * t->tokens);
}

/* Autocast makes a 16-bit copy of an fp32 weight; where autograd records, the copy stays until
 * backward is done with it. */
static void cast(struct vs_train *t, const struct vs_weight *w) {
    size_t i = (size_t)(w - t->plan->weights);
    if (!t->plan->precision.cast_cache || t->casts[i] != VS_NO_BUFFER)
        return;
    vs_buffer_id copy = vs_emit_take(&t->e, VS_TAG_WEIGHTS, "autocast copy", w->tensor->layer,
                                     2 * vs_weight_params(w));
    if (t->keep)
        t->casts[i] = copy;
    else
        vs_emit_give(&t->e, copy);
}

void vs_train_drop_cast(struct vs_train *t, const struct vs_weight *w) {
    size_t i = (size_t)(w - t->plan->weights);
    vs_emit_give(&t->e, t->casts[i]);
    t->casts[i] = VS_NO_BUFFER;
}

/* bitsandbytes and its kin compute with a 16-bit copy of the whole matrix, one matrix at a time;
 * with double quantization the fp32 scales are unpacked first. */
static double dequantize(struct vs_train *t, const struct vs_weight *w) {
    if (!vs_format_is_quantized(&t->plan->format) || w->type == t->plan->rest)
        return 0;
    uint64_t params = vs_weight_params(w);
    vs_buffer_id scales = VS_NO_BUFFER;
    if (vs_streq(w->type->name, "nf4-dq"))
        scales = vs_emit_take(&t->e, VS_TAG_DEQUANT, "unpacked scales", w->tensor->layer,
                              params / 64 * 4);
    vs_buffer_id copy =
        vs_emit_take(&t->e, VS_TAG_DEQUANT, "dequantized weight", w->tensor->layer, params * t->cb);
    vs_emit_give(&t->e, scales);
    vs_emit_give(&t->e, copy);
    return (double)w->bytes + (double)(params * t->cb);
}

/* Operands of 8-bit products: forward casts weights and the inputs that the matrices share;
 * backward weights again, and the gradients of outputs. */
static void cast_to_fp8(struct vs_train *t, int32_t layer, struct vs_weight *const *w, size_t count,
                        double passes) {
    double elements = 0, tokens = (double)t->tokens;
    for (size_t i = 0; i < count; i++) {
        double rows = (double)vs_weight_rows(w[i]), cols = (double)vs_weight_cols(w[i]);
        elements += rows * cols + tokens * (passes > 1 ? rows : cols);
    }
    vs_train_element(t, "cast to 8 bit", layer, t->fp8_cast_bytes * elements / tokens);
}

void vs_train_gemm(struct vs_train *t, const char *what, int32_t layer, struct vs_weight *const *w,
                   size_t count, double passes) {
    double flops = 0, bytes = 0, unpacked = 0, tokens = (double)t->tokens;
    const struct vs_type *packed = NULL;
    passes *= t->recompute; /* of a layer that runs again, the part that does */
    for (size_t i = 0; i < count; i++) {
        cast(t, w[i]);
        unpacked += dequantize(t, w[i]);
        if (w[i]->type != t->plan->rest)
            packed = w[i]->type;
        double rows = (double)vs_weight_rows(w[i]), cols = (double)vs_weight_cols(w[i]);
        flops += 2 * tokens * rows * cols * passes;
        bytes += (rows * cols + tokens * (rows + cols)) * t->cb * passes;
    }
    if (t->fp8_cast_bytes > 0 && layer >= 0)
        cast_to_fp8(t, layer, w, count, passes);
    if (unpacked > 0)
        vs_emit_op(&t->e, &(struct vs_op){.kind = VS_WORK_DEQUANT,
                                          .lane = VS_LANE_COMPUTE,
                                          .what = "dequantize",
                                          .layer = layer,
                                          .type = packed,
                                          .bytes = unpacked});
    vs_emit_op(&t->e, &(struct vs_op){.kind = VS_WORK_GEMM,
                                      .lane = VS_LANE_COMPUTE,
                                      .what = what,
                                      .layer = layer,
                                      .fp32 = t->cb == 4,
                                      .fp8 = t->plan->precision.fp8 && layer >= 0,
                                      .fp4 = t->plan->precision.fp4 && layer >= 0,
                                      .flops = flops,
                                      .bytes = bytes,
                                      .kernels = (double)count * passes,
                                      .launches = t->launches});
}

void vs_train_element(struct vs_train *t, const char *what, int32_t layer, double bytes_per_token) {
    vs_emit_op(&t->e, &(struct vs_op){.kind = VS_WORK_ELEMENT,
                                      .lane = VS_LANE_COMPUTE,
                                      .what = what,
                                      .layer = layer,
                                      .bytes = bytes_per_token * (double)t->tokens * t->recompute,
                                      .launches = t->launches});
}

vs_buffer_id vs_train_as_operand(struct vs_train *t, uint32_t layer, vs_buffer_id x, uint64_t width,
                                 bool keep) {
    if (!t->keeps_operands || !keep || x == VS_NO_BUFFER)
        return x;
    uint64_t bytes = t->plan->precision.fp4 ? width / 2 : width;
    vs_buffer_id operand = vs_train_take(t, "cast operand", (int32_t)layer, bytes);
    vs_emit_give(&t->e, x);
    return operand;
}

/* Hooks around a unit of sharded weights keep the host busy in each pass over it. */
void vs_train_hooks(struct vs_train *t, uint32_t layer) {
    if (t->gather_launches > 0)
        vs_emit_op(&t->e, &(struct vs_op){.kind = VS_WORK_NOTHING,
                                          .lane = VS_LANE_COMPUTE,
                                          .what = "hooks of sharded weights",
                                          .layer = (int32_t)layer,
                                          .launches = t->gather_launches});
}
