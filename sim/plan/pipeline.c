#include "plan/pipeline.h"

#include "engine/engine.h"
#include "hw/machine.h"
#include "plan/repeat.h"

uint32_t vs_pipeline_steps(const struct vs_parallel *p, uint32_t micro_batches) {
    return 2 * micro_batches * p->chunks;
}

uint32_t vs_pipeline_warmup(const struct vs_parallel *p, uint32_t stage, uint32_t micro_batches) {
    uint32_t all = micro_batches * p->chunks, behind = p->stages - 1 - stage;
    if (p->chunks > 1 && micro_batches == p->stages)
        return all;
    uint32_t warm = p->chunks > 1 ? 2 * behind + (p->chunks - 1) * p->stages : behind;
    return warm < all ? warm : all;
}

/* The n-th forward, or backward, of a stage: micro-batches in rounds of `stages`, each round
 * through all chunks; backward takes the chunks from the last. */
static struct vs_pipeline_step nth(const struct vs_parallel *p, uint32_t n, bool forward) {
    uint32_t round = n / (p->stages * p->chunks), chunk = n / p->stages % p->chunks;
    return (struct vs_pipeline_step){
        .micro = round * p->stages + n % p->stages,
        .chunk = (uint16_t)(forward ? chunk : p->chunks - 1 - chunk),
        .forward = forward,
    };
}

void vs_pipeline_order(const struct vs_parallel *p, uint32_t stage, uint32_t micro_batches,
                       struct vs_pipeline_step *steps) {
    uint32_t warm = vs_pipeline_warmup(p, stage, micro_batches), all = micro_batches * p->chunks;
    uint32_t count = 0, back = 0;
    for (uint32_t n = 0; n < all; n++) {
        steps[count++] = nth(p, n, true);
        if (n >= warm)
            steps[count++] = nth(p, back++, false);
    }
    while (back < all)
        steps[count++] = nth(p, back++, false);
}

struct vs_op vs_pipeline_send(const struct vs_plan *plan) {
    const struct vs_parallel *p = &plan->parallel;
    uint64_t tokens = vs_train_seq(plan->c) *
                      (uint64_t)vs_count(&plan->c->axes, VS_AXIS_MICRO_BATCH) / p->context;
    uint64_t width = plan->c->model->hidden / p->tensor;
    return (struct vs_op){
        .kind = VS_WORK_SEND,
        .lane = p->chunks > 1 ? VS_LANE_COMM : VS_LANE_COMPUTE,
        .what = "send",
        .layer = -1,
        .bytes = (double)(tokens * width * plan->precision.residual),
        .ring = {2, (uint32_t)plan->c->machine->device_count / p->stages},
    };
}

void vs_emit_tied_sum(struct vs_emit *e) {
    const struct vs_plan *plan = e->plan;
    const struct vs_parallel *p = &plan->parallel;
    bool end = e->device == 0 || e->device == p->stages - 1;
    const struct vs_weight *head = &plan->weights[vs_plan_head(plan)];
    if (!vs_is_pipelined(p) || !end || head->tensor->role != VS_ROLE_EMBED || !head->trainable)
        return;
    uint32_t apart = (uint32_t)plan->c->machine->device_count / p->stages * (p->stages - 1);
    vs_emit_collective(e, VS_WORK_ALL_REDUCE, "all-reduce of tied embeddings", -1,
                       (double)(vs_weight_params(head) * plan->precision.grad),
                       (struct vs_ring){2, apart});
    vs_emit_after(e, vs_emit_last(e, VS_LANE_COMM));
}

static uint32_t layer_at(const struct vs_plan *plan, uint32_t chunk) {
    uint32_t layer = 0;
    while (layer < plan->c->model->layers && plan->layers[layer].chunk < chunk)
        layer++;
    return layer;
}

bool vs_is_like_stage(const struct vs_plan *plan, uint32_t stage, uint32_t before) {
    const struct vs_parallel *p = &plan->parallel;
    if (before == 0 || stage + 1 == p->stages)
        return false; /* the ends have embedding and head */
    for (uint32_t c = 0; c < p->chunks; c++) {
        uint32_t a = layer_at(plan, c * p->stages + stage);
        uint32_t b = layer_at(plan, c * p->stages + before);
        uint32_t n = layer_at(plan, c * p->stages + stage + 1) - a;
        if (n != layer_at(plan, c * p->stages + before + 1) - b)
            return false;
        for (uint32_t i = 0; i < n; i++)
            if (!vs_layers_ask_alike(plan, a + i, b + i))
                return false;
    }
    return true;
}

/* Tensor ranks send a part of the hidden state each, and gather it at the other end (arXiv
 * 2104.04473, scatter/gather; DeepSpeed: is_pipe_partitioned). By sequence parallelism a part is
 * all that a rank has. */
static vs_buffer_id receive(struct vs_train *t, const char *what) {
    const struct vs_parallel *p = &t->plan->parallel;
    vs_buffer_id x = vs_train_take(t, what, -1, t->rb * t->stream);
    if (p->tensor > 1 && !p->sequence)
        vs_train_gather_over_tensor(t, -1, "all-gather behind a send");
    return x;
}

/* What was sent stays until its backward where the engine keeps it as autograd's root (DeepSpeed's
 * pipe_buffers["outputs"]; Megatron-LM without --deallocate-pipeline-outputs).
 *
 * Forward of the last chunk ends with the last hidden state; head and loss are part of its
 * backward, which follows at once. */
static bool emit(struct vs_plan *plan, uint32_t chunk, bool early, struct vs_phase *forward,
                 struct vs_phase *backward, struct vs_err *err) {
    const struct vs_parallel *p = &plan->parallel;
    bool is_last = chunk + 1 == p->stages * p->chunks;
    uint8_t device = (uint8_t)(chunk % p->stages);
    struct vs_train t;
    if (!vs_train_begin(&t, plan, forward, layer_at(plan, chunk), layer_at(plan, chunk + 1), err))
        return false;
    t.e.device = device;
    t.early = early;
    t.embeds = chunk == 0;
    vs_buffer_id x = VS_NO_BUFFER;
    if (chunk > 0)
        x = receive(&t, "hidden state from the stage before");
    x = vs_train_forward(&t, x);
    bool kept = vs_streq(vs_engine_rule(plan->c->engine, "pipeline_outputs", "freed"), "kept");
    if (!is_last && !kept)
        vs_emit_give(&t.e, x);
    if (!vs_emit_end(&t.e, err))
        return false;
    forward->name = "forward";
    vs_emit_begin(&t.e, plan, backward, "backward");
    t.e.device = device;
    t.keep = true;
    vs_buffer_id grad =
        is_last ? vs_train_loss(&t, x) : receive(&t, "gradient from the stage behind");
    grad = vs_train_backward(&t, grad);
    vs_emit_give(&t.e, grad);
    if (!is_last && kept)
        vs_emit_give(&t.e, x);
    return vs_emit_end(&t.e, err);
}

bool vs_emit_chunk(struct vs_plan *plan, uint32_t chunk, struct vs_chunk *out, struct vs_err *err) {
    struct vs_phase again = {0};
    bool summed = plan->ranks > 1;
    bool ok = emit(plan, chunk, summed, &out->forward, &out->backward, err) &&
              (!summed || emit(plan, chunk, false, &again, &out->last, err));
    vs_phase_release(&again);
    return ok;
}

void vs_chunk_release(struct vs_chunk *chunk) {
    vs_phase_release(&chunk->forward);
    vs_phase_release(&chunk->backward);
    vs_phase_release(&chunk->last);
}
