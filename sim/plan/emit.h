/* Writes a phase in program order: take and give memory, then the operation that needed it.
 *
 *     vs_buffer_id y = vs_emit_take(e, VS_TAG_WORKSPACE, "norm output", layer, 2 * d * tokens);
 *     vs_emit_op(e, &(struct vs_op){.kind = VS_WORK_ELEMENT, .what = "input_layernorm", ...});
 *     vs_emit_give(e, x);
 *
 * When memory runs out `failed` is set, everything after does nothing, and vs_emit_end says so. */
#ifndef VS_PLAN_EMIT_H
#define VS_PLAN_EMIT_H

#include "plan/plan.h"

struct vs_emit {
    struct vs_plan *plan;
    struct vs_phase *phase;
    uint32_t mem_mark, dep_mark; /* first action and dependency that no operation owns yet */
    uint8_t device; /* current: where buffers are taken and operations run by default */
    vs_op_id last[VS_DEVICES_PLANNED][VS_LANE_COUNT]; /* host lanes count as device 0's */
    bool failed;
};

void vs_emit_begin(struct vs_emit *e, struct vs_plan *plan, struct vs_phase *phase,
                   const char *name);
bool vs_emit_end(struct vs_emit *e, struct vs_err *err);

/* A fresh buffer on the current device, taken now. 0 bytes give VS_NO_BUFFER, which every call
 * accepts. */
vs_buffer_id vs_emit_take(struct vs_emit *e, enum vs_tag tag, const char *what, int32_t layer,
                          uint64_t bytes);
/* The same for a stream of its own. */
vs_buffer_id vs_emit_take_on(struct vs_emit *e, enum vs_stream stream, enum vs_tag tag,
                             const char *what, int32_t layer, uint64_t bytes);
/* The same anywhere. */
vs_buffer_id vs_emit_take_in(struct vs_emit *e, const struct vs_buffer *buffer);
/* Takes a buffer that exists in the plan (weights, gradients, states). */
void vs_emit_retake(struct vs_emit *e, vs_buffer_id id);
void vs_emit_ensure(struct vs_emit *e, vs_buffer_id id);
void vs_emit_accumulate(struct vs_emit *e, vs_buffer_id id);
void vs_emit_give(struct vs_emit *e, vs_buffer_id id);
/* Gives it while another stream may still use it. */
void vs_emit_retire(struct vs_emit *e, vs_buffer_id id);
/* The last operation of a lane of the current device so far. */
vs_op_id vs_emit_last(const struct vs_emit *e, enum vs_lane lane);
/* Managed buffers: uses all pages; those of the first `bytes`; `bytes` of pages drawn evenly. */
void vs_emit_touch(struct vs_emit *e, vs_buffer_id id);
void vs_emit_touch_front(struct vs_emit *e, vs_buffer_id id, uint64_t bytes);
void vs_emit_draw(struct vs_emit *e, vs_buffer_id id, uint64_t bytes);

/* The next operation waits for `op` too; VS_NO_OP is ignored. */
void vs_emit_after(struct vs_emit *e, vs_op_id op);
/* Adds an operation that owns the actions and dependencies since the last one. */
vs_op_id vs_emit_op(struct vs_emit *e, const struct vs_op *op);
/* A collective, or a send, that the host issues to the stream of collectives. */
vs_op_id vs_emit_collective(struct vs_emit *e, enum vs_work_kind kind, const char *what,
                            int32_t layer, double bytes, struct vs_ring ring);

#endif
