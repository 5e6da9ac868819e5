#include "plan/fetch.h"

#include "engine/engine.h"

/* Bytes of a weight while it is in use: sharded fp32 weights are gathered in the compute type. */
static uint64_t gathered_bytes(const struct vs_plan *plan, const struct vs_weight *w) {
    uint64_t bytes = w->bytes;
    if (plan->shard.weights && w->type == plan->rest && plan->precision.compute == 2)
        bytes = 2 * vs_weight_params(w);
    if (plan->gather_units)
        bytes += vs_weight_adapter_params(w) * plan->precision.adapter;
    return bytes;
}

/* A unit is a layer, or (-1) what stands outside the layers. */
uint64_t vs_unit_fetch_bytes(const struct vs_plan *plan, int32_t unit) {
    uint64_t bytes = 0;
    if (!plan->streaming && !plan->shard.weights)
        return 0;
    for (size_t i = 0; i < plan->weight_count; i++) {
        const struct vs_weight *w = &plan->weights[i];
        bool away =
            (plan->streaming && !vs_on_gpu(w->home)) || (plan->shard.weights && !w->persists);
        if (w->tensor->layer == unit && away && (unit < 0 || !plan->layers[unit].on_cpu))
            bytes += gathered_bytes(plan, w);
    }
    return bytes;
}

uint64_t vs_largest_fetch_bytes(const struct vs_plan *plan, int32_t unit) {
    uint64_t most = 0;
    for (size_t i = 0; i < plan->weight_count; i++) {
        const struct vs_weight *w = &plan->weights[i];
        uint64_t bytes = w->tensor->layer == unit && !w->persists
                             ? gathered_bytes(plan, w) / w->tensor->count
                             : 0;
        most = bytes > most ? bytes : most;
    }
    return most;
}

static void read_from_disk(struct vs_emit *e, const char *what, int32_t unit, double bytes) {
    if (bytes > 0)
        vs_emit_after(e, vs_emit_op(e, &(struct vs_op){.kind = VS_WORK_STORAGE_READ,
                                                       .lane = VS_LANE_STORAGE,
                                                       .what = what,
                                                       .layer = unit,
                                                       .bytes = bytes}));
}

static double bytes_on_disk(const struct vs_plan *plan, int32_t unit) {
    double bytes = 0;
    for (size_t i = 0; i < plan->weight_count; i++) {
        const struct vs_weight *w = &plan->weights[i];
        if (w->tensor->layer == unit && w->home == VS_HOME_STORAGE)
            bytes += (double)vs_weight_stored(plan, w);
    }
    return bytes;
}

vs_buffer_id vs_emit_weight_copy(struct vs_emit *e, const struct vs_weight *w) {
    const char *what = w->tensor->name;
    if (!e->plan->streaming || vs_on_gpu(w->home))
        return VS_NO_BUFFER;
    vs_buffer_id copy = vs_emit_take(e, VS_TAG_STREAMED, what, w->tensor->layer, w->bytes);
    read_from_disk(e, what, w->tensor->layer, w->home == VS_HOME_STORAGE ? (double)w->bytes : 0);
    vs_emit_after(e, vs_emit_op(e, &(struct vs_op){.kind = VS_WORK_COPY,
                                                   .lane = VS_LANE_H2D,
                                                   .what = what,
                                                   .layer = w->tensor->layer,
                                                   .bytes = (double)w->bytes,
                                                   .pinned = e->plan->pinned}));
    return copy;
}

/* Each rank brings its shard from the host, if it lives there; then the ranks gather. */
vs_op_id vs_emit_unit_copy(struct vs_emit *e, int32_t unit, uint64_t bytes) {
    const struct vs_plan *plan = e->plan;
    vs_op_id done = VS_NO_OP;
    bool from_host = plan->streaming;
    read_from_disk(e, "read layer", unit, bytes_on_disk(plan, unit));
    if (from_host)
        done =
            vs_emit_op(e, &(struct vs_op){.kind = VS_WORK_COPY,
                                          .lane = VS_LANE_H2D,
                                          .what = "fetch layer",
                                          .layer = unit,
                                          .bytes = (double)vs_shard(plan, plan->ranks > 1, bytes),
                                          .pinned = plan->pinned});
    if (plan->ranks < 2 || !plan->shard.weights)
        return done;
    vs_emit_after(e, done);
    if (plan->collectives_in_turn)
        vs_emit_after(e, vs_emit_last(e, VS_LANE_COMPUTE));
    return vs_emit_collective(e, VS_WORK_GATHER, "all-gather", unit, (double)bytes,
                              vs_shard_ring(plan));
}

bool vs_fetch_begin(struct vs_fetch *f, struct vs_plan *plan, bool backward, struct vs_err *err) {
    uint32_t layers = plan->c->model->layers;
    *f = (struct vs_fetch){
        .layers = layers, .use_count = layers * (backward ? 2 : 1), .ahead = plan->prefetch};
    f->overlap = plan->overlap > plan->prefetch ? plan->overlap : plan->prefetch;
    f->held = VS_NEW_ARRAY(plan->arena, vs_buffer_id, f->use_count);
    f->copied = VS_NEW_ARRAY(plan->arena, vs_op_id, f->use_count);
    f->done = VS_NEW_ARRAY(plan->arena, vs_op_id, f->use_count);
    f->gathered = VS_NEW_ARRAY(plan->arena, vs_buffer_id, f->use_count);
    f->result = VS_NO_BUFFER;
    if (!f->held || !f->copied || !f->done || !f->gathered)
        return vs_err_nomem(err);
    for (uint32_t i = 0; i < f->use_count; i++) {
        f->held[i] = f->gathered[i] = VS_NO_BUFFER;
        f->copied[i] = f->done[i] = VS_NO_OP;
    }
    return true;
}

static uint32_t layer_of(const struct vs_fetch *f, uint32_t use) {
    return use < f->layers ? use : 2 * f->layers - 1 - use;
}

/* The turn: the last forward use and the first backward use are of the same layer. */
static bool is_turn(const struct vs_fetch *f, uint32_t use) {
    return use == f->layers && f->use_count > f->layers;
}

/* Memory of a unit that is about to be brought: FSDP gathers on a stream of its own. */
static vs_buffer_id take_unit(struct vs_emit *e, enum vs_tag tag, const char *what, int32_t unit,
                              uint64_t bytes) {
    bool own = e->plan->shard.weights && e->plan->collectives != VS_COLLECTIVES_SHARED;
    return vs_emit_take_on(e, own ? VS_STREAM_GATHER : VS_STREAM_COMPUTE, tag, what, unit, bytes);
}

static bool copies_out(const struct vs_plan *plan) {
    return plan->shard.weights && plan->collectives == VS_COLLECTIVES_COPIED;
}

/* FSDP2 copies what a collective filled into the parameters' own tensors. In forward the
 * collective's buffer lives until the next unit was copied out, so that the two overlap; in
 * backward it goes at once (_fsdp_param_group.py: wait_for_unshard). */
static vs_buffer_id copy_out(struct vs_fetch *f, struct vs_emit *e, vs_buffer_id gathered,
                             uint64_t bytes, bool forward) {
    const struct vs_buffer from = e->plan->buffers.at[gathered];
    vs_emit_give(e, f->result);
    f->result = VS_NO_BUFFER;
    vs_buffer_id own = vs_emit_take(e, (enum vs_tag)from.tag, from.what, from.layer, bytes);
    if (forward)
        f->result = gathered;
    else
        vs_emit_give(e, gathered);
    return own;
}

/* Of a layer that is brought for use: all, or the largest of its matrices where each goes before
 * the next one comes. Training keeps what its backward pass needs. */
static uint64_t held_bytes(const struct vs_fetch *f, const struct vs_plan *plan, uint32_t layer,
                           uint64_t bytes) {
    bool modules = vs_streq(vs_engine_rule(plan->c->engine, "fetch", "layer"), "module");
    return modules && f->use_count == f->layers ? vs_largest_fetch_bytes(plan, (int32_t)layer)
                                                : bytes;
}

static void copy(struct vs_fetch *f, struct vs_emit *e, uint32_t use) {
    struct vs_plan *plan = e->plan;
    uint32_t layer = layer_of(f, use);
    uint64_t bytes = vs_unit_fetch_bytes(plan, (int32_t)layer);
    if (bytes == 0)
        return;
    if (is_turn(f, use)) {
        f->held[use] = f->held[use - 1];
        f->copied[use] = f->copied[use - 1];
        f->held[use - 1] = VS_NO_BUFFER;
        return;
    }
    if (use > f->overlap)
        vs_emit_after(e, f->done[use - f->overlap - 1]);
    enum vs_tag tag = plan->gather_units ? VS_TAG_GATHERED : VS_TAG_STREAMED;
    uint8_t device = e->device;
    e->device = plan->layers[layer].device;
    vs_buffer_id unit =
        take_unit(e, tag, "layer weights", (int32_t)layer, held_bytes(f, plan, layer, bytes));
    *(copies_out(plan) ? &f->gathered[use] : &f->held[use]) = unit;
    f->copied[use] = vs_emit_unit_copy(e, (int32_t)layer, bytes);
    e->device = device;
}

void vs_fetch_need(struct vs_fetch *f, struct vs_emit *e, uint32_t use) {
    while (f->next < f->use_count && f->next <= use + f->ahead) {
        /* The turn's copy exists once its forward use was copied: nothing to wait for. */
        copy(f, e, f->next);
        f->next++;
    }
    vs_emit_after(e, f->copied[use]);
    if (f->gathered[use] != VS_NO_BUFFER)
        f->held[use] = copy_out(f, e, f->gathered[use], e->plan->buffers.at[f->gathered[use]].bytes,
                                use < f->layers);
}

void vs_fetch_done(struct vs_fetch *f, struct vs_emit *e, uint32_t use, vs_op_id last) {
    f->done[use] = last;
    if (e->plan->shard.weights && e->plan->collectives == VS_COLLECTIVES_RECORDED)
        vs_emit_retire(e, f->held[use]);
    else
        vs_emit_give(e, f->held[use]);
    f->held[use] = VS_NO_BUFFER;
}

vs_buffer_id vs_fetch_root(struct vs_fetch *f, struct vs_emit *e) {
    struct vs_plan *plan = e->plan;
    uint64_t bytes = vs_unit_fetch_bytes(plan, -1), held = bytes;
    if (bytes == 0)
        return VS_NO_BUFFER;
    if (vs_streq(vs_engine_rule(plan->c->engine, "root", "unit"), "largest"))
        held = vs_largest_fetch_bytes(plan, -1);
    vs_buffer_id root = take_unit(e, VS_TAG_GATHERED, "embeddings and head", -1, held);
    vs_emit_after(e, vs_emit_unit_copy(e, -1, bytes));
    return copies_out(plan) && root != VS_NO_BUFFER ? copy_out(f, e, root, held, true) : root;
}

void vs_fetch_end(struct vs_fetch *f, struct vs_emit *e, vs_buffer_id root) {
    vs_emit_give(e, f->result);
    f->result = VS_NO_BUFFER;
    vs_emit_give(e, root);
}
