/* Ranks that share a layer: what they hand each other inside it.
 *
 * Tensor parallelism (arXiv 1909.08053): attention and MLP each end in a sum over the ranks, and so
 * do the gradients of their inputs, 2 + 2 sums of 2d bytes per token and layer. The input
 * gradient's sum runs beside the weight gradients (Megatron-LM:
 * megatron/core/tensor_parallel/layers.py, LinearWithGradAccumulationAndAsyncCommunication). With
 * sequence parallelism (arXiv 2205.05198) each sum leaves every rank its part of the tokens, and a
 * gather before the next matrices brings them together: the same bytes. Only parts are kept for
 * backward, which gathers the input again.
 *
 * Context parallelism: each rank has a part of each sample's tokens. By ring, keys and values of
 * all ranks pass by while attention runs (Megatron-LM: cp_comm_type p2p); by Ulysses (arXiv
 * 2309.14509) an exchange before attention turns parts of the tokens into parts of the heads, and
 * one behind it turns them back. */
#include "plan/train.h"

/* On the stream of collectives, behind what the device has computed; what follows waits for it. */
static vs_op_id exchange(struct vs_train *t, int32_t layer, enum vs_work_kind kind,
                         const char *what, struct vs_ring ring, double bytes) {
    vs_emit_after(&t->e, vs_emit_last(&t->e, VS_LANE_COMPUTE));
    return vs_emit_collective(&t->e, kind, what, layer, bytes * t->recompute, ring);
}

/* In chunks that run beside the product which they belong to, where the engine has such products
 * (NVIDIA/TransformerEngine: userbuffers): what follows waits for the rest alone, and the next
 * collective for all. */
static vs_op_id over_tensor_ranks(struct vs_train *t, int32_t layer, enum vs_work_kind kind,
                                  const char *what) {
    double bytes = (double)(t->tokens * t->d * t->cb), beside = bytes * t->tensor_overlap;
    vs_op_id op = exchange(t, layer, kind, what, vs_tensor_ring(t->plan), bytes - beside);
    if (beside > 0)
        exchange(t, layer, kind, what, vs_tensor_ring(t->plan), beside);
    return op;
}

void vs_train_gather_over_tensor(struct vs_train *t, int32_t layer, const char *what) {
    vs_emit_after(&t->e, over_tensor_ranks(t, layer, VS_WORK_GATHER, what));
}

vs_buffer_id vs_train_whole(struct vs_train *t, int32_t layer, const char *what) {
    if (!t->plan->parallel.sequence)
        return VS_NO_BUFFER;
    vs_buffer_id whole = vs_train_take(t, what, layer, t->cb * t->d);
    vs_train_gather_over_tensor(t, layer, "all-gather of tokens");
    return whole;
}

/* With sequence parallelism the sum is scattered: a new buffer for this rank's tokens. */
static vs_buffer_id scattered(struct vs_train *t, int32_t layer, const char *what,
                              vs_buffer_id part) {
    if (!t->plan->parallel.sequence)
        return part;
    vs_buffer_id own = vs_train_take(t, what, layer, t->cb * t->stream);
    vs_emit_give(&t->e, part);
    return own;
}

static vs_op_id add_up(struct vs_train *t, int32_t layer) {
    bool scatter = t->plan->parallel.sequence;
    return over_tensor_ranks(t, layer, scatter ? VS_WORK_GATHER : VS_WORK_ALL_REDUCE,
                             scatter ? "reduce-scatter of a branch" : "all-reduce of a branch");
}

vs_buffer_id vs_train_sum(struct vs_train *t, int32_t layer, const char *what, vs_buffer_id part) {
    if (t->plan->parallel.tensor < 2)
        return part;
    vs_emit_after(&t->e, add_up(t, layer));
    return scattered(t, layer, what, part);
}

vs_buffer_id vs_train_summed_backward(struct vs_train *t, const char *what, int32_t layer,
                                      struct vs_weight *const *w, size_t count, bool trained,
                                      vs_buffer_id part) {
    if (t->plan->parallel.tensor < 2) {
        vs_train_gemm(t, what, layer, w, count, trained ? 2 : 1);
        return part;
    }
    vs_buffer_id again = VS_NO_BUFFER;
    vs_op_id gathered = VS_NO_OP;
    if (t->plan->parallel.sequence && trained) {
        again = vs_train_take(t, "norm output, all tokens", layer, t->cb * t->d);
        gathered = over_tensor_ranks(t, layer, VS_WORK_GATHER, "all-gather of tokens");
    }
    vs_train_gemm(t, what, layer, w, count, 1);
    vs_op_id summed = add_up(t, layer);
    if (trained) {
        vs_emit_after(&t->e, t->tensor_overlap > 0 ? VS_NO_OP : summed);
        vs_emit_after(&t->e, gathered);
        vs_train_gemm(t, what, layer, w, count, 1);
    }
    vs_emit_after(&t->e, summed);
    vs_emit_give(&t->e, again);
    return scattered(t, layer, "input gradient, summed", part);
}

static struct vs_ring context_ring(const struct vs_train *t) {
    return (struct vs_ring){t->plan->parallel.context, t->plan->parallel.tensor};
}

/* Backward carries keys and values round again, and their gradients with them. */
vs_buffer_id vs_train_context_begin(struct vs_train *t, uint32_t layer, bool backward) {
    const struct vs_parallel *p = &t->plan->parallel;
    double rank_bytes = (double)(t->tokens * t->cb);
    int32_t l = (int32_t)layer;
    if (p->context < 2)
        return VS_NO_BUFFER;
    if (p->ulysses) {
        double width = (double)(backward ? t->q : t->q + 2 * t->kv);
        vs_emit_after(&t->e, exchange(t, l, VS_WORK_ALL_TO_ALL, "tokens to heads", context_ring(t),
                                      rank_bytes * width));
        return VS_NO_BUFFER;
    }
    unsigned turns = backward ? 2 : 1;
    vs_buffer_id other = vs_train_take(t, "keys and values of other ranks", l,
                                       (uint64_t)2 * turns * 2 * t->cb * t->kv);
    exchange(t, l, VS_WORK_GATHER, "keys and values go round", context_ring(t),
             rank_bytes * (double)(turns * 2 * t->kv) * p->context);
    return other;
}

void vs_train_context_end(struct vs_train *t, uint32_t layer, bool backward, vs_buffer_id other) {
    const struct vs_parallel *p = &t->plan->parallel;
    if (p->context < 2)
        return;
    vs_op_id last = vs_emit_last(&t->e, VS_LANE_COMM);
    if (p->ulysses) {
        double width = (double)(backward ? t->q + 2 * t->kv : t->q);
        last = exchange(t, (int32_t)layer, VS_WORK_ALL_TO_ALL, "heads to tokens", context_ring(t),
                        (double)(t->tokens * t->cb) * width);
    }
    vs_emit_after(&t->e, last);
    vs_emit_give(&t->e, other);
}
