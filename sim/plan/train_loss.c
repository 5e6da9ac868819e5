/* Final norm, head and cross-entropy: the peak that most estimators miss.
 *
 * Bytes per logit (V x T of them), forward peak:
 *   full     16-bit logits, fp32 copy, shifted contiguous copy, log-softmax: 2 + 4 + 4 + 4 = 14
 *   kernel   16-bit logits, fp32 copy, shifted copy, its gradient: two of 4 at a time, 8
 *   chunked  16-bit logits, fp32 copies of an eighth at a time: 2 + 1
 *   (full and kernel without fp32 logits: see low_loss)
 *   fused    never materialised: chunks of hidden states, 8d per token
 * (measured slopes over the batch: fms-acceleration tables, one A100). */
#include <stdio.h>

#include "engine/engine.h"
#include "plan/train.h"

enum { LOSS_CHUNKS = 8 };

static vs_buffer_id logits(struct vs_train *t, const char *what, uint64_t bytes_per_logit) {
    return vs_emit_take(&t->e, VS_TAG_LOGITS, what, -1, bytes_per_logit * t->vocab * t->tokens);
}

/* Without the last token of each sample, which has no label: a little less than logits, so that a
 * block which one of these took cannot serve whole logits again. */
static vs_buffer_id shifted_logits(struct vs_train *t, const char *what, uint64_t bytes_per_logit) {
    uint64_t labels = t->tokens - t->tokens / t->seq;
    return vs_emit_take(&t->e, VS_TAG_LOGITS, what, -1, bytes_per_logit * t->vocab * labels);
}

static struct vs_weight *head(struct vs_train *t) {
    return &t->plan->weights[vs_plan_head(t->plan)];
}

static void head_gemm(struct vs_train *t, const char *what, double passes) {
    struct vs_weight *w = head(t);
    vs_train_gemm(t, what, -1, &w, 1, passes);
}

/* LoRA beside the head: its output and the sum are two more logits in the compute type; backward
 * scales their gradient once more. */
static void head_adapter(struct vs_train *t, bool backward) {
    const struct vs_weight *w = head(t);
    if (w->adapter_rank == 0)
        return;
    vs_buffer_id output = logits(t, "adapter output", t->cb);
    vs_buffer_id sum = backward ? VS_NO_BUFFER : logits(t, "sum", t->cb);
    double width = (double)(vs_weight_rows(w) + vs_weight_cols(w));
    vs_emit_op(&t->e, &(struct vs_op){.kind = VS_WORK_ADAPTER,
                                      .lane = VS_LANE_COMPUTE,
                                      .what = backward ? "adapter backward" : "adapter",
                                      .layer = -1,
                                      .flops = (backward ? 4 : 2) * w->adapter_rank * width *
                                               (double)t->tokens,
                                      .bytes = 8.0 * (double)vs_weight_rows(w) * (double)t->tokens,
                                      .launches = t->adapter_launches});
    if (backward)
        vs_train_adapter_grad(t, w);
    vs_emit_give(&t->e, output);
    vs_emit_give(&t->e, sum);
}

/* Traffic of softmax and its kin over the logits, split between forward and backward. */
static void loss_op(struct vs_train *t, const char *what, double bytes_per_logit) {
    if (bytes_per_logit > 0)
        vs_train_element(t, what, -1, bytes_per_logit * (double)t->vocab);
}

static vs_buffer_id hidden_grad(struct vs_train *t) {
    struct vs_weight *w = head(t);
    vs_buffer_id grad = vs_train_take(t, "hidden gradient", -1, t->cb * t->d);
    grad = vs_train_summed_backward(t, "lm_head backward", -1, &w, 1, w->trainable, grad);
    vs_train_weight_grad(t, w);
    head_adapter(t, true);
    return grad;
}

static vs_buffer_id full_loss(struct vs_train *t) {
    vs_buffer_id low = t->cb == 2 ? logits(t, "logits", 2) : VS_NO_BUFFER;
    head_gemm(t, "lm_head", 1);
    head_adapter(t, false);
    vs_buffer_id high = logits(t, "logits, fp32", 4);
    vs_buffer_id shifted = shifted_logits(t, "logits, shifted", 4);
    vs_buffer_id soft = shifted_logits(t, "log-softmax", 4);
    loss_op(t, "loss", 17);
    vs_emit_give(&t->e, shifted);
    vs_emit_give(&t->e, high);
    vs_emit_give(&t->e, low);
    vs_buffer_id nll = shifted_logits(t, "loss gradient", 4);
    vs_buffer_id grad = shifted_logits(t, "softmax gradient", 4);
    vs_emit_give(&t->e, nll);
    vs_emit_give(&t->e, soft);
    vs_buffer_id unshifted = logits(t, "logits gradient, fp32", 4);
    vs_emit_give(&t->e, grad);
    loss_op(t, "loss backward", 17);
    vs_buffer_id out = t->cb == 2 ? logits(t, "logits gradient", 2) : unshifted;
    if (t->cb == 2)
        vs_emit_give(&t->e, unshifted);
    vs_buffer_id hidden = hidden_grad(t);
    vs_emit_give(&t->e, out);
    return hidden;
}

/* The kernel's gradient is a tensor of its own, and takes the place of the whole fp32 logits: their
 * gradient then needs a new one (measured: 13 to 14 bytes per logit stay reserved, where 8 are
 * allocated at a time; fms-acceleration tables, a vocabulary of 128k). */
static vs_buffer_id kernel_loss(struct vs_train *t) {
    vs_buffer_id low = logits(t, "logits", t->cb);
    head_gemm(t, "lm_head", 1);
    head_adapter(t, false);
    vs_buffer_id high = t->cb == 2 ? logits(t, "logits, fp32", 4) : low;
    if (t->cb == 2)
        vs_emit_give(&t->e, low);
    vs_buffer_id shifted = shifted_logits(t, "logits, shifted", 4);
    loss_op(t, "loss", 7);
    vs_emit_give(&t->e, high);
    vs_buffer_id soft = shifted_logits(t, "softmax gradient", 4);
    loss_op(t, "loss backward", 7);
    vs_emit_give(&t->e, shifted);
    vs_buffer_id unshifted = logits(t, "logits gradient, fp32", 4);
    vs_emit_give(&t->e, soft);
    vs_buffer_id grad = t->cb == 2 ? logits(t, "logits gradient", 2) : unshifted;
    if (t->cb == 2)
        vs_emit_give(&t->e, unshifted);
    vs_buffer_id hidden = hidden_grad(t);
    vs_emit_give(&t->e, grad);
    return hidden;
}

/* Code that asks for no fp32 logits: the model's output stays alive beside the copy that shifts it
 * (beside nothing, where labels are shifted instead); a kernel writes the gradient over its input.
 * 8 bytes per logit in full, 6 and 4 with a kernel. Autocast runs the loss in fp32 all the same,
 * and Accelerate returns an fp32 copy of the output: 18 and 14 (both: slopes of one GPT-BigCode
 * model over the batch, fms-acceleration tables). */
static vs_buffer_id low_loss(struct vs_train *t) {
    bool kernel = t->plan->loss == VS_LOSS_KERNEL, rolls = vs_train_has(t, VS_CODE_SHIFTS_LABELS);
    unsigned w = t->autocast ? 4 : 2;
    double traffic = (kernel ? 2.5 : 4.5) * w;
    vs_buffer_id low = logits(t, "logits", 2);
    head_gemm(t, "lm_head", 1);
    vs_buffer_id out = t->autocast ? logits(t, "logits, fp32", 4) : VS_NO_BUFFER;
    vs_buffer_id grad = rolls ? VS_NO_BUFFER : shifted_logits(t, "logits, shifted", w);
    loss_op(t, "loss", traffic);
    if (!kernel) {
        vs_buffer_id soft = shifted_logits(t, "log-softmax", w);
        vs_emit_give(&t->e, grad);
        vs_buffer_id nll = shifted_logits(t, "loss gradient", w);
        grad = shifted_logits(t, "softmax gradient", w);
        vs_emit_give(&t->e, nll);
        vs_emit_give(&t->e, soft);
    }
    loss_op(t, "loss backward", traffic);
    if (kernel || !rolls) {
        vs_buffer_id whole = logits(t, "logits gradient", w);
        vs_emit_give(&t->e, grad);
        grad = whole;
    }
    vs_buffer_id hidden = hidden_grad(t);
    vs_emit_give(&t->e, grad);
    vs_emit_give(&t->e, out);
    vs_emit_give(&t->e, low);
    return hidden;
}

static bool is_low(const struct vs_train *t) {
    return vs_train_has(t, VS_CODE_LOW_LOGITS) && t->cb == 2 &&
           (t->plan->loss == VS_LOSS_FULL || t->plan->loss == VS_LOSS_KERNEL);
}

static vs_buffer_id chunked_loss(struct vs_train *t) {
    vs_buffer_id low = logits(t, "logits", t->cb);
    head_gemm(t, "lm_head", 1);
    head_adapter(t, false);
    uint64_t chunk = 4ull * t->vocab * ((t->tokens + LOSS_CHUNKS - 1) / LOSS_CHUNKS);
    vs_buffer_id high = vs_emit_take(&t->e, VS_TAG_LOGITS, "fp32 chunk", -1, chunk);
    vs_buffer_id soft = vs_emit_take(&t->e, VS_TAG_LOGITS, "log-softmax of a chunk", -1, chunk);
    loss_op(t, "loss", 20);
    vs_emit_give(&t->e, high);
    vs_emit_give(&t->e, soft);
    vs_buffer_id grad = logits(t, "logits gradient", t->cb);
    vs_emit_give(&t->e, low);
    vs_buffer_id hidden = hidden_grad(t);
    vs_emit_give(&t->e, grad);
    return hidden;
}

/* Linear layer and loss in one kernel: logits of a chunk of tokens, sized so that they take what
 * the hidden states take (Liger's rule), and the gradient of the hidden states, made in forward. */
static vs_buffer_id fused_loss(struct vs_train *t) {
    vs_buffer_id chunk = vs_train_take(t, "logits of a chunk", -1, 6 * t->d);
    vs_buffer_id hidden = vs_train_take(t, "hidden gradient", -1, t->cb * t->d);
    struct vs_weight *w = head(t);
    head_gemm(t, "lm_head and loss", w->trainable ? 3 : 2);
    vs_train_weight_grad(t, w);
    vs_train_adapter_grad(t, w);
    loss_op(t, "loss", 14);
    vs_emit_give(&t->e, chunk);
    return vs_train_sum(t, -1, "hidden gradient, summed", hidden);
}

/* Engines whose loss takes so many bytes per logit at its peak: logits and their gradient in the
 * compute type, the rest in between. */
static vs_buffer_id counted_loss(struct vs_train *t, double bytes_per_logit) {
    static const double TRAFFIC[] = {
        [VS_LOSS_FULL] = 34, [VS_LOSS_KERNEL] = 14, [VS_LOSS_CHUNKED] = 20, [VS_LOSS_FUSED] = 14};
    double rest = bytes_per_logit - 2.0 * t->cb; /* negative: the gradient needs no room */
    double more = rest >= 0 ? rest : bytes_per_logit - t->cb;
    vs_buffer_id low = logits(t, "logits", t->cb);
    head_gemm(t, "lm_head", 1);
    head_adapter(t, false);
    vs_buffer_id between =
        vs_emit_take(&t->e, VS_TAG_LOGITS, "softmax and its copies", -1,
                     more > 0 ? (uint64_t)(more * (double)t->vocab * (double)t->tokens) : 0);
    loss_op(t, "loss", TRAFFIC[t->plan->loss] / 2);
    vs_buffer_id grad =
        rest >= 0 ? logits(t, "logits gradient", t->cb) : VS_NO_BUFFER; /* else over the logits */
    loss_op(t, "loss backward", TRAFFIC[t->plan->loss] / 2);
    vs_emit_give(&t->e, between);
    if (rest >= 0)
        vs_emit_give(&t->e, low);
    vs_buffer_id hidden = hidden_grad(t);
    vs_emit_give(&t->e, rest >= 0 ? grad : low);
    return hidden;
}

/* The engine file's bytes per logit, 0 = the plan's own loss; another number may hold for compiled
 * graphs, or for a family whose model code has its own loss, in fp16 without autocast too. */
static double counted_bytes(const struct vs_train *t) {
    static const char *const WORDS[] = {[VS_LOSS_FULL] = "full",
                                        [VS_LOSS_KERNEL] = "kernel",
                                        [VS_LOSS_CHUNKED] = "chunked",
                                        [VS_LOSS_FUSED] = "fused"};
    const struct vs_engine *e = t->plan->c->engine;
    const char *word = WORDS[t->plan->loss];
    char name[96];
    (void)snprintf(name, sizeof name, "logit_bytes_%s", word);
    double bytes = vs_engine_number(e, name, NULL, 0);
    (void)snprintf(name, sizeof name, "logit_bytes_%s_compiled", word);
    if (t->plan->compiled)
        bytes = vs_engine_number(e, name, NULL, bytes);
    (void)snprintf(name, sizeof name, "logit_bytes_%s_%s", word, t->m->family);
    bytes = vs_engine_number(e, name, NULL, bytes);
    (void)snprintf(name, sizeof name, "logit_bytes_%s_%s_fp16", word, t->m->family);
    bool half = vs_is(&t->plan->c->axes, VS_AXIS_PRECISION, "mixed-fp16");
    return half ? vs_engine_number(e, name, NULL, bytes) : bytes;
}

vs_buffer_id vs_train_loss(struct vs_train *t, vs_buffer_id x) {
    static vs_buffer_id (*const LOSS[])(struct vs_train *) = {
        [VS_LOSS_FULL] = full_loss,
        [VS_LOSS_KERNEL] = kernel_loss,
        [VS_LOSS_CHUNKED] = chunked_loss,
        [VS_LOSS_FUSED] = fused_loss,
    };
    bool eager = !t->plan->fused_kernels && !t->plan->compiled && !t->layer_norm;
    bool copies = eager || (t->layer_norm && t->autocast);
    vs_buffer_id copy = copies && t->rb == 2
                            ? vs_train_take(t, "fp32 input of norm", -1, 4 * t->stream)
                            : VS_NO_BUFFER;
    vs_buffer_id y = vs_train_take(t, "norm output", -1, t->nb * t->stream);
    vs_train_element(t, "norm", -1, 20.0 * (double)t->stream);
    vs_buffer_id whole = vs_train_whole(t, -1, "norm output, all tokens");
    double counted = counted_bytes(t);
    vs_buffer_id hidden = counted > 0 ? counted_loss(t, counted)
                          : is_low(t) ? low_loss(t)
                                      : LOSS[t->plan->loss](t);
    loss_op(t, "metrics", vs_engine_number(t->plan->c->engine, "metric_logit_bytes", NULL, 0));
    vs_emit_give(&t->e, whole);
    vs_buffer_id grad = vs_train_take(t, "norm input gradient", -1, t->rb * t->stream);
    vs_train_element(t, "norm backward", -1, 40.0 * (double)t->stream);
    for (size_t i = 0; i < t->plan->weight_count; i++)
        if (t->plan->weights[i].tensor->role == VS_ROLE_NORM &&
            t->plan->weights[i].tensor->layer < 0)
            vs_train_weight_grad(t, &t->plan->weights[i]);
    vs_emit_give(&t->e, y);
    vs_emit_give(&t->e, copy);
    vs_emit_give(&t->e, hidden);
    vs_emit_give(&t->e, x);
    return grad;
}
