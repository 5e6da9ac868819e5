/* Gradients on their way from the tensor that made them to the rank that owns them.
 *
 * Where they are sharded, backward makes them whole; when the backward of their unit is over they
 * are reduced over the ranks, and each rank keeps its part. How much memory that takes, and of
 * which stream, is the engine's rule "collectives":
 *
 *   shared    whole gradients as they are, and their parts, in the memory of the stream that
 *             computes
 *   recorded  FSDP1: autograd joins the gradients of a unit to one flat tensor; a stream of its own
 *             reduces that into parts which are its own memory, so the flat one is free when that
 *             stream is through (torch/distributed/fsdp/_runtime_utils.py: _post_backward_hook)
 *   copied    FSDP2: gradients are copied into one buffer in the type in which they are reduced,
 *             which lives until the next unit's; parts are the memory of the reducing stream
 *             (torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py: foreach_reduce)
 */
#include "engine/engine.h"
#include "plan/train.h"

/* A whole gradient in the type of backward, until its unit is reduced. */
static void whole_grad(struct vs_train *t, vs_buffer_id part, uint64_t bytes) {
    vs_buffer_id whole = vs_emit_take(&t->e, VS_TAG_GRADIENTS, "whole gradient",
                                      t->plan->buffers.at[part].layer, bytes);
    t->whole_grad_bytes += bytes;
    if (whole == VS_NO_BUFFER)
        return;
    t->whole_grads[t->whole_grad_count] = whole;
    t->parts[t->whole_grad_count++] = part;
}

/* Host memory takes gradients by a copy of what the GPU made. */
static void grad_to_host(struct vs_train *t, vs_buffer_id held, uint64_t bytes) {
    const int32_t layer = t->plan->buffers.at[held].layer;
    vs_buffer_id fresh = vs_emit_take(&t->e, VS_TAG_GRADIENTS, "new gradient", layer, bytes);
    vs_emit_ensure(&t->e, held);
    vs_emit_after(&t->e, vs_emit_last(&t->e, VS_LANE_COMPUTE));
    vs_emit_op(&t->e, &(struct vs_op){.kind = VS_WORK_COPY,
                                      .lane = VS_LANE_D2H,
                                      .what = "gradient to host",
                                      .layer = layer,
                                      .bytes = (double)bytes,
                                      .pinned = t->plan->pinned});
    vs_emit_give(&t->e, fresh);
}

/* A gradient on the GPU is made by the first micro-step and added to by later ones: beside it, or
 * in the kernel that makes it. Beside it, the new one is read, and the sum read and written. */
static void accumulate(struct vs_train *t, vs_buffer_id held) {
    if (t->fused_accumulation) {
        vs_emit_ensure(&t->e, held);
        return;
    }
    vs_emit_accumulate(&t->e, held);
    const struct vs_buffer *b = &t->plan->buffers.at[held];
    double fresh = (double)b->bytes * t->cb / t->plan->precision.grad;
    if (vs_count(&t->plan->c->axes, VS_AXIS_ACCUM) > 1 && vs_on_gpu(b->home))
        t->added_bytes += fresh + 2 * (double)b->bytes;
}

static void add_up(struct vs_train *t, int32_t layer) {
    if (t->added_bytes > 0)
        vs_emit_op(&t->e, &(struct vs_op){.kind = VS_WORK_ELEMENT,
                                          .lane = VS_LANE_COMPUTE,
                                          .what = "gradients added up",
                                          .layer = layer,
                                          .bytes = t->added_bytes,
                                          .launches = t->launches});
    t->added_bytes = 0;
}

/* One that lives on the host is made on the GPU each time and copied out. */
static void grad(struct vs_train *t, vs_buffer_id held, uint64_t whole_bytes) {
    if (held == VS_NO_BUFFER)
        return;
    const struct vs_buffer b = t->plan->buffers.at[held];
    bool sharded = t->plan->shard.grads && t->plan->ranks > 1;
    bool own_stream = sharded && t->plan->collectives != VS_COLLECTIVES_SHARED;
    if (sharded)
        whole_grad(t, held, whole_bytes);
    else if (t->plan->ranks > 1)
        t->whole_grad_bytes += whole_bytes;
    if (!vs_on_gpu(b.home)) {
        /* It arrives in the type of backward, where the engine adds up in a wider one. */
        bool widened = vs_engine_number(t->plan->c->engine, "host_grad_bytes", NULL, 0) > 0;
        uint64_t bytes = vs_shard(t->plan, sharded, whole_bytes);
        grad_to_host(t, held, widened ? bytes : bytes / t->cb * t->plan->precision.grad);
    } else if (!own_stream) {
        accumulate(t, held);
    }
}

void vs_train_weight_grad(struct vs_train *t, const struct vs_weight *w) {
    if (!w->trainable)
        return;
    grad(t, w->grad, vs_weight_params(w) * t->cb);
    bool tied = w->tensor->role == VS_ROLE_EMBED && !t->embedding_done; /* its own part follows */
    if (t->plan->optimizer.in_backward && !tied)
        t->fresh[t->fresh_count++] = w->grad;
}

void vs_train_adapter_grad(struct vs_train *t, const struct vs_weight *w) {
    if (w->adapter_rank == 0)
        return;
    grad(t, w->adapter_grad, vs_weight_adapter_params(w) * t->plan->precision.adapter);
    if (t->plan->optimizer.in_backward)
        t->fresh[t->fresh_count++] = w->adapter_grad;
}

static void collective(struct vs_train *t, int32_t layer, bool scatter, double bytes,
                       struct vs_ring ring) {
    vs_emit_after(&t->e, vs_emit_last(&t->e, VS_LANE_COMPUTE));
    vs_emit_collective(&t->e, scatter ? VS_WORK_GATHER : VS_WORK_ALL_REDUCE,
                       scatter ? "reduce-scatter" : "all-reduce", layer, bytes, ring);
}

static void give_whole_grads(struct vs_train *t) {
    for (size_t i = 0; i < t->whole_grad_count; i++)
        vs_emit_give(&t->e, t->whole_grads[i]);
}

/* The part of one rank arrives in the type of the collective, and is kept in the type of its
 * parameter; all of it is memory of the stream that reduces. */
static void keep_parts(struct vs_train *t, unsigned reduced_bytes) {
    struct vs_plan *plan = t->plan;
    for (size_t i = 0; i < t->whole_grad_count; i++) {
        const struct vs_buffer part = plan->buffers.at[t->parts[i]];
        if (!vs_on_gpu(part.home))
            continue;
        vs_buffer_id arrived = VS_NO_BUFFER;
        if (part.tag == VS_TAG_GRADIENTS && plan->precision.grad > reduced_bytes)
            arrived =
                vs_emit_take_on(&t->e, VS_STREAM_REDUCE, VS_TAG_GRADIENTS, "reduced gradient",
                                part.layer, part.bytes * reduced_bytes / plan->precision.grad);
        accumulate(t, t->parts[i]);
        vs_emit_give(&t->e, arrived);
    }
}

/* Takes the unit's buffer of the collective before the whole gradients go, and says when it goes
 * itself. */
static void hand_over(struct vs_train *t, int32_t layer) {
    struct vs_plan *plan = t->plan;
    uint64_t bytes = t->whole_grad_count > 0 ? t->whole_grad_bytes : 0;
    if (plan->collectives == VS_COLLECTIVES_SHARED || bytes == 0) {
        give_whole_grads(t);
        return;
    }
    bool copied = plan->collectives == VS_COLLECTIVES_COPIED;
    if (copied) {
        vs_emit_give(&t->e, t->reduce_input);
        bytes = bytes / t->cb * plan->precision.grad;
    }
    vs_buffer_id flat = vs_emit_take(&t->e, VS_TAG_GRADIENTS, "gradients of a unit", layer, bytes);
    give_whole_grads(t);
    keep_parts(t, copied ? plan->precision.grad : t->cb);
    if (copied)
        t->reduce_input = flat;
    else
        vs_emit_retire(&t->e, flat);
}

/* Without contiguous gradients there is no bucket that lasts: the gradients of one are joined when
 * they are reduced (stage_1_and_2.py: allreduce_bucket flattens). */
static void join_grads(struct vs_train *t, int32_t layer) {
    const struct vs_values *axes = &t->plan->c->axes;
    double bucket = vs_real(axes, VS_AXIS_ZERO_BUCKET), whole = (double)t->whole_grad_bytes;
    if (vs_is(axes, VS_AXIS_CONTIGUOUS_GRADS, "off"))
        vs_emit_give(&t->e, vs_emit_take(&t->e, VS_TAG_GRADIENTS, "joined gradients", layer,
                                         (uint64_t)(bucket < whole ? bucket : whole)));
}

void vs_train_reduce(struct vs_train *t, int32_t layer) {
    const struct vs_plan *plan = t->plan;
    bool scatter = !plan->whole_tensors && (plan->shard.grads || plan->shard.states);
    if (t->whole_grad_bytes > 0 && !t->early)
        join_grads(t, layer);
    hand_over(t, layer);
    add_up(t, layer);
    if (t->whole_grad_bytes > 0 && !t->early) {
        collective(t, layer, scatter, (double)t->whole_grad_bytes,
                   plan->whole_tensors ? vs_data_ring(plan) : vs_shard_ring(plan));
        if (vs_has_replicas(plan) &&
            !plan->whole_tensors) /* copies in several groups are summed shard by shard */
            collective(t, layer, false, (double)vs_shard(plan, true, t->whole_grad_bytes),
                       vs_replica_ring(plan));
    }
    if (plan->collectives_in_turn)
        vs_emit_after(&t->e, vs_emit_last(&t->e, VS_LANE_COMM));
    t->whole_grad_bytes = t->whole_grad_count = 0;
    if (layer < 0) {
        vs_emit_give(&t->e, t->reduce_input);
        t->reduce_input = VS_NO_BUFFER;
    }
    vs_train_update(t);
}
