/* What checkpointed layers leave for backward, beyond holding their input on the GPU.
 *
 * Inputs in host memory (torchtune's activation offloading, Unsloth's checkpoints): each is copied
 * down behind its layer, its GPU memory goes some layers later, and it comes back one segment ahead
 * of its backward. Inputs of the last layers never have to leave.
 *
 * Checkpointing by operator (torchtitan's selective op): the outputs of attention and of every
 * second matrix stay, 2Q + 2KV + 2f bytes per token in 16 bit beside the input; the rest runs
 * again.
 */
#include "plan/train.h"

#include "engine/engine.h"

/* Inputs that are on the GPU at once: between 2 and 5 in published implementations. */
enum { OFFLOAD_WINDOW = 2 };

bool vs_train_checkpoints_begin(struct vs_train *t, struct vs_err *err) {
    uint32_t layers = t->m->layers;
    t->checkpoint = VS_NEW_ARRAY(t->plan->arena, vs_buffer_id, layers);
    t->on_host = VS_NEW_ARRAY(t->plan->arena, vs_buffer_id, layers);
    t->op_outputs = VS_NEW_ARRAY(t->plan->arena, vs_buffer_id, layers);
    if (!t->checkpoint || !t->on_host || !t->op_outputs)
        return vs_err_nomem(err);
    for (uint32_t i = 0; i < layers; i++)
        t->checkpoint[i] = t->on_host[i] = t->op_outputs[i] = VS_NO_BUFFER;
    t->window =
        (uint32_t)vs_engine_number(t->plan->c->engine, "ckpt_offload_window", NULL, OFFLOAD_WINDOW);
    return true;
}

void vs_train_checkpoint(struct vs_train *t, uint32_t layer, vs_buffer_id x) {
    if (t->plan->layers[layer].segment == 0 || x == VS_NO_BUFFER)
        return;
    t->checkpoint[layer] = x;
    t->plan->buffers.at[x].tag = VS_TAG_CHECKPOINTS;
}

static void copy(struct vs_train *t, uint32_t layer, enum vs_lane lane, const char *what) {
    vs_buffer_id host = t->on_host[layer];
    if (host == VS_NO_BUFFER)
        return;
    vs_emit_op(&t->e, &(struct vs_op){.kind = VS_WORK_COPY,
                                      .lane = lane,
                                      .what = what,
                                      .layer = (int32_t)layer,
                                      .bytes = (double)t->plan->buffers.at[host].bytes,
                                      .pinned = true});
}

/* Page-locked buffers are never given back: the host allocator keeps them for the next step. */
static void copy_down(struct vs_train *t, uint32_t layer) {
    if (t->checkpoint[layer] == VS_NO_BUFFER)
        return;
    struct vs_buffer host = t->plan->buffers.at[t->checkpoint[layer]];
    host.home = VS_HOME_PINNED;
    t->on_host[layer] = vs_plan_buffer(t->plan, &host);
    vs_emit_ensure(&t->e, t->on_host[layer]);
    vs_emit_after(&t->e, vs_emit_last(&t->e, VS_LANE_COMPUTE));
    copy(t, layer, VS_LANE_D2H, "checkpoint to host");
}

void vs_train_checkpoint_leave(struct vs_train *t, uint32_t layer) {
    const struct vs_plan *plan = t->plan;
    if (plan->checkpoint_ops && plan->layers[layer].checkpointed)
        t->op_outputs[layer] =
            vs_emit_take(&t->e, VS_TAG_CHECKPOINTS, "outputs of operators", (int32_t)layer,
                         t->cb * (t->q + t->kv + t->f) * t->tokens);
    if (!plan->checkpoints_on_host || plan->layers[layer].segment == 0)
        return;
    copy_down(t, layer);
    if (layer < t->window)
        return;
    vs_emit_give(&t->e, t->checkpoint[layer - t->window]);
    t->checkpoint[layer - t->window] = VS_NO_BUFFER;
}

static void bring_back(struct vs_train *t, uint32_t layer) {
    if (t->checkpoint[layer] != VS_NO_BUFFER || t->on_host[layer] == VS_NO_BUFFER)
        return;
    struct vs_buffer back = t->plan->buffers.at[t->on_host[layer]];
    back.home = VS_HOME_GPU;
    t->checkpoint[layer] = vs_emit_take_in(&t->e, &back);
    copy(t, layer, VS_LANE_H2D, "checkpoint from host");
}

void vs_train_checkpoint_need(struct vs_train *t, uint32_t first) {
    if (t->plan->checkpoints_on_host) {
        bring_back(t, first);
        vs_emit_after(&t->e, vs_emit_last(&t->e, VS_LANE_H2D));
        for (uint32_t next = first; next-- > 0;) {
            if (t->plan->layers[next].segment == 0)
                continue;
            bring_back(t, next);
            break;
        }
    }
    vs_emit_give(&t->e, t->op_outputs[first]);
    t->op_outputs[first] = VS_NO_BUFFER;
}
