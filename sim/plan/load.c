#include "plan/load.h"

#include "engine/engine.h"
#include "hw/machine.h"
#include "plan/managed.h"
#include "plan/train.h"
#include "plan/train_host.h"

/* bitsandbytes gets the tensor as it is stored, and packs it on the device. */
static bool quantizes_on_load(const struct vs_plan *plan, const struct vs_weight *w) {
    return plan->format.kind == VS_FORMAT_BNB && w->type != plan->rest;
}

static bool one_buffer(const struct vs_plan *plan) {
    return vs_streq(vs_engine_rule(plan->c->engine, "weights", "per_tensor"), "one_buffer");
}

static bool upcast(const struct vs_plan *plan, const struct vs_weight *w) {
    return plan->kbit_upcast && w->type == plan->rest;
}

/* Page-locked weights are one flat buffer for each layer, and one for what stands outside the
 * layers: the first tensor of the unit stands for it. Units are numbered by layer, the last is the
 * one outside. */
static bool pinned_units(const struct vs_plan *plan, uint64_t **bytes, struct vs_err *err) {
    uint32_t layers = plan->c->model->layers;
    *bytes = VS_NEW_ARRAY(plan->arena, uint64_t, layers + 1);
    if (!*bytes)
        return vs_err_nomem(err);
    for (size_t i = 0; i < plan->weight_count; i++) {
        const struct vs_weight *w = &plan->weights[i];
        if (w->home == VS_HOME_PINNED)
            (*bytes)[w->tensor->layer < 0 ? layers : (uint32_t)w->tensor->layer] +=
                vs_weight_stored(plan, w);
    }
    return true;
}

static bool weight_buffers(struct vs_plan *plan, struct vs_err *err) {
    uint64_t *unit_bytes;
    if (!pinned_units(plan, &unit_bytes, err))
        return false;
    for (size_t i = 0; i < plan->weight_count; i++) {
        struct vs_weight *w = &plan->weights[i];
        struct vs_buffer b = {.what = w->tensor->name,
                              .layer = w->tensor->layer,
                              .home = (uint8_t)w->home,
                              .tag = VS_TAG_WEIGHTS,
                              .bytes = vs_weight_stored(plan, w)};
        if (w->home == VS_HOME_PINNED) {
            uint64_t *unit = &unit_bytes[b.layer < 0 ? plan->c->model->layers : (uint32_t)b.layer];
            b.what = b.layer < 0 ? "embeddings and head" : "weights";
            b.bytes = *unit;
            *unit = 0;
        }
        if (b.bytes == 0)
            continue;
        w->buffer = vs_plan_buffer(plan, &b);
        if (w->buffer == VS_NO_BUFFER)
            return vs_err_nomem(err);
    }
    return true;
}

bool vs_plan_buffers(struct vs_plan *plan, struct vs_err *err) {
    return weight_buffers(plan, err) &&
           (plan->c->task != VS_TASK_TRAIN || vs_plan_train_buffers(plan, err));
}

static void read_file(struct vs_emit *e, const struct vs_weight *w) {
    vs_op_id read = vs_emit_op(e, &(struct vs_op){.kind = VS_WORK_STORAGE_READ,
                                                  .lane = VS_LANE_STORAGE,
                                                  .what = w->tensor->name,
                                                  .layer = w->tensor->layer,
                                                  .bytes = (double)w->file_bytes});
    vs_emit_after(e, read);
}

static void copy_in(struct vs_emit *e, const struct vs_weight *w, double bytes) {
    vs_emit_op(e, &(struct vs_op){.kind = VS_WORK_COPY,
                                  .lane = VS_LANE_H2D,
                                  .what = w->tensor->name,
                                  .layer = w->tensor->layer,
                                  .bytes = bytes});
}

/* The tensor as it arrives on the GPU before it is upcast; VS_NO_BUFFER where it stays as it came.
 */
static vs_buffer_id load_weight(struct vs_emit *e, const struct vs_weight *w) {
    struct vs_plan *plan = e->plan;
    vs_buffer_id arrived = VS_NO_BUFFER;
    read_file(e, w);
    e->device = vs_on_gpu(w->home) ? (uint8_t)(w->home - VS_HOME_GPU) : 0;
    if (!vs_on_gpu(w->home)) {
        vs_emit_retake(e, w->buffer);
        vs_emit_op(e, &(struct vs_op){.kind = VS_WORK_NOTHING,
                                      .lane = VS_LANE_STORAGE,
                                      .what = w->tensor->name,
                                      .layer = w->tensor->layer});
        return VS_NO_BUFFER;
    }
    if (quantizes_on_load(plan, w)) {
        vs_buffer_id raw =
            vs_emit_take(e, VS_TAG_IO, w->tensor->name, w->tensor->layer, w->file_bytes);
        copy_in(e, w, (double)w->file_bytes);
        vs_emit_retake(e, w->buffer);
        vs_emit_after(e, vs_emit_last(e, VS_LANE_H2D));
        vs_emit_op(e, &(struct vs_op){.kind = VS_WORK_ELEMENT,
                                      .lane = VS_LANE_COMPUTE,
                                      .what = w->tensor->name,
                                      .layer = w->tensor->layer,
                                      .bytes = (double)(w->file_bytes + w->bytes)});
        vs_emit_give(e, raw);
        return VS_NO_BUFFER;
    }
    if (upcast(plan, w))
        arrived = vs_emit_take(e, VS_TAG_WEIGHTS, w->tensor->name, w->tensor->layer, w->file_bytes);
    else
        vs_emit_retake(e, w->buffer);
    copy_in(e, w, (double)w->file_bytes);
    return arrived;
}

/* A row split spreads each matrix over all devices by their shares. */
static void add_by_home(const struct vs_plan *plan, const struct vs_weight *w, uint64_t *bytes) {
    size_t n = plan->c->machine->device_count;
    bool spread = plan->row_split && vs_on_gpu(w->home) && w->tensor->role != VS_ROLE_NORM;
    double all = 0;
    if (!spread) {
        bytes[w->home] += w->bytes;
        return;
    }
    for (size_t d = 0; d < n; d++)
        all += plan->shares[d];
    for (size_t d = 0; d < n; d++)
        bytes[VS_HOME_GPU + d] += (uint64_t)((double)w->bytes * plan->shares[d] / all);
}

/* Engines that allocate one buffer per memory for all weights; managed memory, whose pages come one
 * by one, in any engine. */
static void load_as_one(struct vs_emit *e) {
    struct vs_plan *plan = e->plan;
    uint64_t bytes[VS_HOME_COUNT] = {0};
    for (size_t i = 0; i < plan->weight_count; i++)
        add_by_home(plan, &plan->weights[i], bytes);
    if (vs_plan_maps_weights(plan->c) && (double)bytes[VS_HOME_HOST] > plan->pages.room)
        bytes[VS_HOME_HOST] = (uint64_t)plan->pages.room;
    for (unsigned home = 0; home < VS_HOME_COUNT; home++) {
        if (home == VS_HOME_STORAGE || (plan->managed.on && vs_on_gpu(home)))
            continue;
        struct vs_buffer b = {.what = "model buffer",
                              .layer = -1,
                              .home = (uint8_t)home,
                              .tag = VS_TAG_WEIGHTS,
                              .bytes = bytes[home]};
        vs_emit_take_in(e, &b);
    }
    if (plan->managed.on)
        vs_managed_lay_weights(e);
    for (size_t i = 0; i < plan->weight_count; i++) {
        const struct vs_weight *w = &plan->weights[i];
        read_file(e, w);
        if (!vs_on_gpu(w->home))
            continue;
        e->device = (uint8_t)(w->home - VS_HOME_GPU);
        vs_managed_loaded(e, w);
        copy_in(e, w, (double)w->file_bytes);
    }
    e->device = 0;
}

static const char *load_rule(const struct vs_plan *plan) {
    return vs_engine_rule(plan->c->engine, "load", "by_shard");
}

/* Some stacks put the whole model on each device before they shard it: "whole" frees it when all
 * shards exist, "whole_kept" holds on to it (measured: LitGPT on two and four GPUs peaks at whole
 * plus shard plus what a step needs). */
static void load_whole(struct vs_emit *e) {
    const struct vs_plan *plan = e->plan;
    if (!plan->shard.weights || !vs_starts(load_rule(plan), "whole"))
        return;
    for (size_t i = 0; i < plan->weight_count; i++) {
        const struct vs_weight *w = &plan->weights[i];
        if (vs_on_gpu(w->home))
            vs_emit_take(e, VS_TAG_WEIGHTS, w->tensor->name, w->tensor->layer, w->bytes);
    }
}

static void load_by_tensor(struct vs_emit *e, vs_buffer_id *arrived) {
    struct vs_plan *plan = e->plan;
    size_t first = plan->buffers.count;
    load_whole(e);
    size_t last = plan->buffers.count;
    for (size_t i = 0; i < plan->weight_count; i++)
        arrived[i] = load_weight(e, &plan->weights[i]);
    for (size_t id = first; id < last && vs_streq(load_rule(plan), "whole"); id++)
        vs_emit_give(e, (vs_buffer_id)id);
    for (size_t i = 0; i < plan->weight_count; i++) {
        if (arrived[i] == VS_NO_BUFFER)
            continue;
        const struct vs_weight *w = &plan->weights[i];
        e->device = (uint8_t)(w->home - VS_HOME_GPU);
        vs_emit_retake(e, w->buffer);
        vs_emit_op(e, &(struct vs_op){.kind = VS_WORK_ELEMENT,
                                      .lane = VS_LANE_COMPUTE,
                                      .what = w->tensor->name,
                                      .layer = w->tensor->layer,
                                      .bytes = (double)(w->file_bytes + w->bytes)});
        vs_emit_give(e, arrived[i]);
    }
    for (size_t i = 0; i < plan->weight_count; i++) {
        vs_emit_retake(e, plan->weights[i].adapter);
        vs_emit_retake(e, plan->weights[i].original);
        vs_emit_retake(e, plan->weights[i].master);
    }
    vs_emit_host_buffers(e);
}

static void take_raw(struct vs_emit *e, const char *what, unsigned device, uint64_t bytes) {
    struct vs_buffer b = {.what = what,
                          .layer = -1,
                          .home = (uint8_t)vs_gpu_home(device),
                          .tag = VS_TAG_CONTEXT,
                          .raw = true,
                          .bytes = bytes};
    vs_emit_take_in(e, &b);
}

/* Does a process talk to others? A device map is one process. */
static bool communicates(const struct vs_plan *plan) {
    bool train = plan->c->task == VS_TASK_TRAIN;
    return train ? plan->c->machine->device_count > 1 && !plan->parallel.naive : plan->ranks > 1;
}

/* Communicators of a process: one of all ranks, and by the rule "communicators" one for each group
 * that it is in: data, tensor, pipeline, the last two together, the ends of a pipeline that share
 * an embedding (Megatron-LM: core/parallel_state.py; each allocates its buffers at its first
 * collective). */
static unsigned communicators(const struct vs_plan *plan) {
    const struct vs_parallel *p = &plan->parallel;
    bool tensor = p->tensor > 1, pipelined = p->stages > 1;
    if (!communicates(plan))
        return 0;
    if (plan->c->task != VS_TASK_TRAIN ||
        !vs_streq(vs_engine_rule(plan->c->engine, "communicators", "one"), "groups"))
        return 1;
    unsigned groups = (unsigned)(plan->ranks > 1) + (unsigned)tensor + (unsigned)pipelined +
                      (unsigned)(tensor && pipelined) +
                      (unsigned)(pipelined && plan->c->model->tied_embeddings);
    return groups > 1 ? 1 + groups : 1;
}

bool vs_emit_load(struct vs_plan *plan, const struct vs_load_needs *needs, struct vs_phase *phase,
                  struct vs_err *err) {
    struct vs_emit e;
    vs_buffer_id *arrived = VS_NEW_ARRAY(plan->arena, vs_buffer_id, plan->weight_count);
    if (!arrived)
        return vs_err_nomem(err);
    vs_emit_begin(&e, plan, phase, "load");
    for (unsigned d = 0; d < vs_devices_written(plan); d++) {
        take_raw(&e, "context and kernels", d, needs->context_bytes);
        take_raw(&e, "communicators", d, communicators(plan) * needs->communicator_bytes);
    }
    if (one_buffer(plan) || plan->managed.on)
        load_as_one(&e);
    else
        load_by_tensor(&e, arrived);
    bool train = plan->c->task == VS_TASK_TRAIN;
    for (unsigned d = 0; d < (train ? vs_devices_written(plan) : 1); d++) {
        e.device = (uint8_t)d;
        vs_emit_take(&e, VS_TAG_WORKSPACE, "BLAS workspace", -1, needs->workspace_bytes);
    }
    e.device = 0;
    vs_emit_op(&e,
               &(struct vs_op){
                   .kind = VS_WORK_NOTHING, .lane = VS_LANE_COMPUTE, .what = "ready", .layer = -1});
    return vs_emit_end(&e, err);
}
