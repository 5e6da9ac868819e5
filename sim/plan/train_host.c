/* The host's part of ZeRO-Offload and ZeRO-Infinity (deepspeedai/DeepSpeed: runtime/zero and
 * runtime/swap_tensor):
 *
 * - stages 1 and 2: a rank's gradients in fp32 and master copies are one flat tensor each,
 *   page-locked if asked for, and so is a 16-bit tensor through which new weights go back
 * - stage 3: the gradients are one flat tensor
 * - storage: states are read into a fixed number of buffers of one tile each, and written back;
 *   parameters pass through a pool of buffers of their own
 *
 * Page-locked requests grow to a power of two where the stack allocates them as PyTorch does. */
#include "plan/train_host.h"

#include "engine/engine.h"

/* More tiles than this take no other time: bytes rule. */
enum { TILES_MOST = 4096 };

uint64_t vs_tile_elements(const struct vs_plan *plan) {
    const struct vs_values *axes = &plan->c->axes;
    bool tiled = plan->shard.weights || plan->optimizer_on_disk;
    return tiled && vs_given(axes, VS_AXIS_ZERO_TILE) ? (uint64_t)vs_count(axes, VS_AXIS_ZERO_TILE)
                                                      : UINT64_MAX;
}

static uint64_t trained_params(const struct vs_plan *plan) {
    uint64_t params = 0;
    for (size_t i = 0; i < plan->trained.count; i++)
        params += plan->trained.at[i].params;
    return params;
}

/* The first buffer of a kind stands for all of them. */
static void join(struct vs_plan *plan, vs_buffer_id *first, vs_buffer_id id) {
    if (id == VS_NO_BUFFER || plan->buffers.at[id].home != VS_HOME_HOST)
        return;
    plan->buffers.at[id].home = VS_HOME_PINNED;
    if (*first == VS_NO_BUFFER) {
        *first = id;
        plan->buffers.at[id].layer = -1;
        return;
    }
    plan->buffers.at[*first].bytes += plan->buffers.at[id].bytes;
    plan->buffers.at[id].bytes = 0;
}

static void join_pinned(struct vs_plan *plan) {
    vs_buffer_id grads = VS_NO_BUFFER, masters = VS_NO_BUFFER;
    if (!plan->pinned ||
        !vs_streq(vs_engine_rule(plan->c->engine, "pinned_states", "none"), "flat"))
        return;
    for (size_t i = 0; i < plan->trained.count; i++)
        join(plan, &grads, plan->trained.at[i].grad);
    for (size_t i = 0; !plan->shard.weights && i < plan->weight_count; i++)
        join(plan, &masters, plan->weights[i].master);
}

/* One more buffer in the row of those that last. */
static bool add(struct vs_plan *plan, const char *what, uint64_t bytes) {
    struct vs_buffer b = {.what = what,
                          .layer = -1,
                          .home = (uint8_t)vs_copied_home(plan),
                          .tag = VS_TAG_IO,
                          .bytes = bytes};
    if (bytes == 0)
        return true;
    vs_buffer_id id = vs_plan_buffer(plan, &b);
    if (plan->host_buffers.count++ == 0)
        plan->host_buffers.first = id;
    return id != VS_NO_BUFFER;
}

static bool has_weights_on_disk(const struct vs_plan *plan) {
    return plan->streaming && plan->weight_count > 0 && plan->weights[0].home == VS_HOME_STORAGE;
}

bool vs_plan_host_buffers(struct vs_plan *plan) {
    const struct vs_values *axes = &plan->c->axes;
    uint64_t params = trained_params(plan), tile = vs_tile_elements(plan);
    if (!plan->optimizer_on_cpu)
        return true;
    join_pinned(plan);
    uint64_t copy = (uint64_t)vs_engine_number(plan->c->engine, "host_copy_bytes", NULL, 0);
    bool done = plan->shard.weights || add(plan, "new weights", copy * params);
    int64_t buffers = plan->optimizer_on_disk ? vs_count(axes, VS_AXIS_OPTIM_BUFFERS) : 0;
    for (int64_t i = 0; done && i < buffers; i++)
        done = add(plan, "swapped states", 4 * (tile < params ? tile : params));
    buffers = has_weights_on_disk(plan) ? vs_count(axes, VS_AXIS_PARAM_BUFFERS) : 0;
    for (int64_t i = 0; done && i < buffers; i++)
        done = add(plan, "swapped parameters",
                   plan->precision.compute * (uint64_t)vs_count(axes, VS_AXIS_PARAM_BUFFER));
    return done;
}

void vs_emit_host_buffers(struct vs_emit *e) {
    for (uint32_t i = 0; i < e->plan->host_buffers.count; i++)
        vs_emit_retake(e, e->plan->host_buffers.first + i);
}

static vs_op_id transfer(struct vs_emit *e, enum vs_work_kind kind, const char *what,
                         double bytes) {
    return vs_emit_op(
        e, &(struct vs_op){
               .kind = kind, .lane = VS_LANE_STORAGE, .what = what, .layer = -1, .bytes = bytes});
}

void vs_emit_disk_update(struct vs_emit *e, double bytes) {
    const struct vs_plan *plan = e->plan;
    uint64_t params = trained_params(plan), tile = vs_tile_elements(plan);
    double held = 0;
    for (size_t i = 0; i < plan->buffers.count; i++)
        if (plan->buffers.at[i].tag == VS_TAG_OPTIMIZER &&
            plan->buffers.at[i].home == VS_HOME_STORAGE)
            held += (double)plan->buffers.at[i].bytes;
    uint64_t tiles = tile < params ? (params - 1) / tile + 1 : 1;
    tiles = tiles < TILES_MOST ? tiles : TILES_MOST;
    for (uint64_t i = 0; i < tiles; i++) {
        vs_emit_after(e, transfer(e, VS_WORK_STORAGE_READ, "states", held / (double)tiles));
        vs_emit_after(e, vs_emit_op(e, &(struct vs_op){.kind = VS_WORK_CPU_OPTIMIZER,
                                                       .lane = VS_LANE_CPU,
                                                       .what = "update",
                                                       .layer = -1,
                                                       .bytes = bytes / (double)tiles}));
        transfer(e, VS_WORK_STORAGE_WRITE, "states", held / (double)tiles);
    }
}

void vs_emit_disk_weights(struct vs_emit *e) {
    const struct vs_plan *plan = e->plan;
    if (!has_weights_on_disk(plan))
        return;
    vs_emit_after(e, vs_emit_last(e, VS_LANE_CPU));
    transfer(e, VS_WORK_STORAGE_WRITE, "new weights",
             (double)(trained_params(plan) * plan->precision.compute));
}
