/* What a timeline shows of phases that were timed: each operation on its stream and what it waited
 * for, the phases, and the work of each kind. */
#include "run/lower.h"

static const size_t NO_SPAN = (size_t)-1;

static const char *stream_name(enum vs_lane lane) {
    static const char *const NAMES[VS_LANE_COUNT] = {
        [VS_LANE_COMPUTE] = "compute",     [VS_LANE_H2D] = "copy in",
        [VS_LANE_D2H] = "copy out",        [VS_LANE_COMM] = "collectives",
        [VS_LANE_ISSUE] = "kernel launch", [VS_LANE_CPU] = "CPU compute",
        [VS_LANE_STORAGE] = "storage",
    };
    return NAMES[lane];
}

static const char *device_name(const struct vs_executor *x, const struct vs_op *op) {
    return vs_lane_is_host(op->lane) ? "host" : x->units[op->device].name;
}

/* Spans of other streams that the operation waited for. What takes no time has no span: the one
 * that it waited for longest stands for it. */
static bool add_waits(struct vs_executor *x, const struct vs_phase *phase, const struct vs_op *op,
                      struct vs_span *span, size_t *last) {
    span->first_wait = x->waits.count;
    *last = NO_SPAN;
    for (uint32_t k = 0; k < op->dep_count; k++) {
        const size_t other = x->span_of.at[phase->deps.at[op->first_dep + k]];
        if (other == NO_SPAN)
            continue;
        const struct vs_span *s = &x->spans.at[other];
        if (*last == NO_SPAN || s->end_s > x->spans.at[*last].end_s)
            *last = other;
        const bool same = s->device == span->device && s->stream == span->stream;
        if (!same && !vs_vec_push(&x->waits, other))
            return false;
    }
    span->wait_count = x->waits.count - span->first_wait;
    return true;
}

static bool add_span(struct vs_executor *x, const struct vs_phase *phase, size_t i, double from_s) {
    const struct vs_op *op = &phase->ops.at[i];
    const double tick_s = 1.0 / (double)VS_TIME_PER_S;
    const double start_s = (double)vs_des_start(x->des, x->activity.at[i]) * tick_s;
    const double end_s = (double)vs_des_end(x->des, x->activity.at[i]) * tick_s;
    struct vs_span span = {.device = device_name(x, op),
                           .stream = stream_name(op->lane),
                           .kind = vs_work_name(op->kind),
                           .what = op->what,
                           .layer = op->layer,
                           .start_s = from_s + start_s,
                           .end_s = from_s + end_s,
                           .flops = op->flops,
                           .bytes = op->bytes};
    size_t stands;
    if (!add_waits(x, phase, op, &span, &stands))
        return false;
    if (end_s > start_s) {
        stands = x->spans.count;
        if (!vs_vec_push(&x->spans, span))
            return false;
    }
    return vs_vec_push(&x->span_of, stands);
}

/* Of processors only: what copies take is their link's. */
static bool add_work(struct vs_executor *x, const struct vs_phase *phase, size_t i) {
    const struct vs_op *op = &phase->ops.at[i];
    const vs_activity a = x->activity.at[i];
    struct vs_work_done done = {.phase = phase->name,
                                .device = device_name(x, op),
                                .kind = vs_work_name(op->kind),
                                .flops = op->flops,
                                .bytes = op->bytes,
                                .seconds =
                                    (double)(vs_des_end(x->des, a) - vs_des_start(x->des, a)) /
                                    (double)VS_TIME_PER_S};
    if (done.seconds <= 0 || (op->lane != VS_LANE_COMPUTE && op->lane != VS_LANE_CPU))
        return true;
    for (size_t k = 0; k < x->work.count; k++) {
        struct vs_work_done *w = &x->work.at[k];
        if (w->phase != done.phase || w->device != done.device || w->kind != done.kind)
            continue;
        w->flops += done.flops;
        w->bytes += done.bytes;
        w->seconds += done.seconds;
        return true;
    }
    return vs_vec_push(&x->work, done);
}

bool vs_record(struct vs_executor *x, const struct vs_phase *phase, double from_s, double repeats) {
    const double end_s = from_s + (double)vs_des_now(x->des) / (double)VS_TIME_PER_S;
    const struct vs_phase_time time = {phase->name, from_s, end_s, repeats};
    x->span_of.count = 0;
    for (size_t i = 0; i < x->activity.count; i++)
        if (!add_span(x, phase, i, from_s) || !add_work(x, phase, i))
            return false;
    return end_s <= from_s || vs_vec_push(&x->phases, time);
}

bool vs_record_whole(struct vs_executor *x, size_t device, const char *kind, const char *what,
                     vs_activity activity) {
    const double tick_s = 1.0 / (double)VS_TIME_PER_S;
    const struct vs_span span = {.device = x->units[device].name,
                                 .stream = stream_name(VS_LANE_COMPUTE),
                                 .kind = kind,
                                 .what = what,
                                 .layer = -1,
                                 .start_s =
                                     x->time_s + (double)vs_des_start(x->des, activity) * tick_s,
                                 .end_s = x->time_s + (double)vs_des_end(x->des, activity) * tick_s,
                                 .first_wait = x->waits.count};
    return vs_vec_push(&x->spans, span);
}

void vs_record_release(struct vs_executor *x) {
    vs_vec_release(&x->spans);
    vs_vec_release(&x->waits);
    vs_vec_release(&x->span_of);
    vs_vec_release(&x->levels);
    vs_vec_release(&x->tag_levels);
    vs_vec_release(&x->phases);
    vs_vec_release(&x->work);
    for (size_t i = 0; i < 2; i++) {
        vs_vec_release(&x->walked[i].uses);
        vs_vec_release(&x->walked[i].held);
    }
}
