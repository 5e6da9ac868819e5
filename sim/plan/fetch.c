#include "plan/fetch.h"

uint64_t vs_layer_fetch_bytes(const struct vs_plan *plan, uint32_t layer) {
    const struct vs_layer *l = &plan->layers[layer];
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < l->weight_count; i++) {
        const struct vs_weight *w = &plan->weights[l->first_weight + i];
        if (vs_on_gpu(w->home) || l->on_cpu)
            continue;
        bytes += w->bytes;
        if (plan->gather_units)
            bytes += vs_weight_adapter_params(w) * plan->precision.adapter;
    }
    return bytes;
}

bool vs_fetch_begin(struct vs_fetch *f, struct vs_plan *plan, bool backward, struct vs_err *err) {
    uint32_t layers = plan->c->model->layers;
    *f = (struct vs_fetch){
        .layers = layers, .use_count = layers * (backward ? 2 : 1), .ahead = plan->prefetch};
    f->held = VS_NEW_ARRAY(plan->arena, vs_buffer_id, f->use_count);
    f->copied = VS_NEW_ARRAY(plan->arena, vs_op_id, f->use_count);
    f->done = VS_NEW_ARRAY(plan->arena, vs_op_id, f->use_count);
    if (!f->held || !f->copied || !f->done)
        return vs_err_nomem(err);
    for (uint32_t i = 0; i < f->use_count; i++) {
        f->held[i] = VS_NO_BUFFER;
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

static void copy(struct vs_fetch *f, struct vs_emit *e, uint32_t use) {
    struct vs_plan *plan = e->plan;
    uint32_t layer = layer_of(f, use);
    uint64_t bytes = vs_layer_fetch_bytes(plan, layer);
    if (bytes == 0)
        return;
    if (is_turn(f, use)) {
        f->held[use] = f->held[use - 1];
        f->copied[use] = f->copied[use - 1];
        f->held[use - 1] = VS_NO_BUFFER;
        return;
    }
    if (use > f->ahead)
        vs_emit_after(e, f->done[use - f->ahead - 1]);
    enum vs_tag tag = plan->gather_units ? VS_TAG_GATHERED : VS_TAG_STREAMED;
    f->held[use] = vs_emit_take(e, tag, "layer weights", (int32_t)layer, bytes);
    f->copied[use] = vs_emit_op(e, &(struct vs_op){.kind = VS_WORK_COPY,
                                                   .lane = VS_LANE_H2D,
                                                   .what = "fetch layer",
                                                   .layer = (int32_t)layer,
                                                   .bytes = (double)bytes,
                                                   .pinned = plan->pinned});
}

void vs_fetch_need(struct vs_fetch *f, struct vs_emit *e, uint32_t use) {
    while (f->next < f->use_count && f->next <= use + f->ahead) {
        /* The turn's copy exists once its forward use was copied: nothing to wait for. */
        copy(f, e, f->next);
        f->next++;
    }
    vs_emit_after(e, f->copied[use]);
}

void vs_fetch_done(struct vs_fetch *f, struct vs_emit *e, uint32_t use, vs_op_id last) {
    f->done[use] = last;
    vs_emit_give(e, f->held[use]);
    f->held[use] = VS_NO_BUFFER;
}
