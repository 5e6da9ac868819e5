#include "plan/emit.h"

void vs_emit_begin(struct vs_emit *e, struct vs_plan *plan, struct vs_phase *phase,
                   const char *name) {
    vs_phase_clear(phase, name);
    *e = (struct vs_emit){.plan = plan, .phase = phase};
    for (size_t d = 0; d < VS_DEVICES_PLANNED; d++)
        for (size_t i = 0; i < VS_LANE_COUNT; i++)
            e->last[d][i] = VS_NO_OP;
}

bool vs_emit_end(struct vs_emit *e, struct vs_err *err) {
    return e->failed ? vs_err_nomem(err) : true;
}

static void use(struct vs_emit *e, enum vs_mem_verb verb, vs_buffer_id id, uint64_t bytes) {
    if (e->failed || id == VS_NO_BUFFER)
        return;
    struct vs_mem_action action = {verb, id, bytes};
    e->failed = !vs_vec_push(&e->phase->mem, action);
}

static void act(struct vs_emit *e, enum vs_mem_verb verb, vs_buffer_id id) { use(e, verb, id, 0); }

vs_buffer_id vs_emit_take_in(struct vs_emit *e, const struct vs_buffer *buffer) {
    if (e->failed || buffer->bytes == 0)
        return VS_NO_BUFFER;
    vs_buffer_id id = vs_plan_buffer(e->plan, buffer);
    e->failed = id == VS_NO_BUFFER;
    act(e, VS_MEM_TAKE, id);
    return id;
}

vs_buffer_id vs_emit_take_on(struct vs_emit *e, enum vs_stream stream, enum vs_tag tag,
                             const char *what, int32_t layer, uint64_t bytes) {
    struct vs_buffer b = {.what = what,
                          .layer = layer,
                          .home = (uint8_t)(VS_HOME_GPU + e->device),
                          .tag = (uint8_t)tag,
                          .stream = (uint8_t)stream,
                          .bytes = bytes};
    return vs_emit_take_in(e, &b);
}

vs_buffer_id vs_emit_take(struct vs_emit *e, enum vs_tag tag, const char *what, int32_t layer,
                          uint64_t bytes) {
    return vs_emit_take_on(e, VS_STREAM_COMPUTE, tag, what, layer, bytes);
}

void vs_emit_retake(struct vs_emit *e, vs_buffer_id id) { act(e, VS_MEM_TAKE, id); }

void vs_emit_ensure(struct vs_emit *e, vs_buffer_id id) { act(e, VS_MEM_ENSURE, id); }

void vs_emit_accumulate(struct vs_emit *e, vs_buffer_id id) { act(e, VS_MEM_ACCUMULATE, id); }

void vs_emit_give(struct vs_emit *e, vs_buffer_id id) { act(e, VS_MEM_GIVE, id); }

void vs_emit_retire(struct vs_emit *e, vs_buffer_id id) { act(e, VS_MEM_RETIRE, id); }

void vs_emit_touch(struct vs_emit *e, vs_buffer_id id) { use(e, VS_MEM_TOUCH, id, UINT64_MAX); }

void vs_emit_touch_front(struct vs_emit *e, vs_buffer_id id, uint64_t bytes) {
    use(e, VS_MEM_TOUCH, id, bytes);
}

void vs_emit_draw(struct vs_emit *e, vs_buffer_id id, uint64_t bytes) {
    use(e, VS_MEM_DRAW, id, bytes);
}

void vs_emit_after(struct vs_emit *e, vs_op_id op) {
    if (e->failed || op == VS_NO_OP)
        return;
    e->failed = !vs_vec_push(&e->phase->deps, op);
}

vs_op_id vs_emit_op(struct vs_emit *e, const struct vs_op *op) {
    if (e->failed)
        return VS_NO_OP;
    struct vs_op o = *op;
    o.device = vs_lane_is_host(o.lane) ? 0 : e->device;
    o.first_mem = e->mem_mark;
    o.mem_count = (uint32_t)e->phase->mem.count - e->mem_mark;
    o.first_dep = e->dep_mark;
    o.dep_count = (uint32_t)e->phase->deps.count - e->dep_mark;
    if (!vs_vec_push(&e->phase->ops, o)) {
        e->failed = true;
        return VS_NO_OP;
    }
    e->mem_mark = (uint32_t)e->phase->mem.count;
    e->dep_mark = (uint32_t)e->phase->deps.count;
    return e->last[o.device][o.lane] = (vs_op_id)(e->phase->ops.count - 1);
}

vs_op_id vs_emit_collective(struct vs_emit *e, enum vs_work_kind kind, const char *what,
                            int32_t layer, double bytes, struct vs_ring ring) {
    return vs_emit_op(e, &(struct vs_op){.kind = kind,
                                         .lane = VS_LANE_COMM,
                                         .what = what,
                                         .layer = layer,
                                         .bytes = bytes,
                                         .ring = ring,
                                         .copies = kind == VS_WORK_ALL_TO_ALL,
                                         .launches = 1});
}

vs_op_id vs_emit_last(const struct vs_emit *e, enum vs_lane lane) {
    return e->last[vs_lane_is_host(lane) ? 0 : e->device][lane];
}
