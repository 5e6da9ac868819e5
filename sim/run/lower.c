/* The time side: operations become activities. */
#include "run/lower.h"

#include <string.h>

static vs_time to_time(double seconds) { return (vs_time)(seconds * (double)VS_TIME_PER_S + 0.5); }

static vs_activity add(struct vs_executor *x, const struct vs_unit *unit, enum vs_lane lane,
                       const struct vs_cost *cost, const vs_activity *after, size_t after_count) {
    struct vs_demand demands[VS_NEEDS_MAX];
    for (size_t i = 0; i < cost->need_count; i++)
        demands[i] = (struct vs_demand){unit->part[cost->needs[i].part], cost->needs[i].amount};
    return vs_des_add(x->des, &(struct vs_activity_spec){.stream = unit->lane[lane],
                                                         .latency = to_time(cost->latency_s),
                                                         .demands = demands,
                                                         .demand_count = cost->need_count,
                                                         .after = after,
                                                         .after_count = after_count});
}

vs_activity vs_add_timed(struct vs_executor *x, size_t device, double seconds, vs_activity after) {
    const struct vs_cost cost = {.latency_s = seconds};
    return add(x, &x->units[device], VS_LANE_COMPUTE, &cost, &after, after != VS_NONE);
}

vs_activity vs_add_operation(struct vs_executor *x, const struct vs_op *op, vs_activity after) {
    const struct vs_unit *unit = &x->units[op->device];
    struct vs_cost cost = vs_cost(&unit->rates, op);
    return add(x, unit, op->lane, &cost, &after, after != VS_NONE);
}

static vs_activity add_move(struct vs_executor *x, unsigned device, enum vs_lane lane,
                            uint64_t bytes, double driver_s, vs_activity after) {
    const struct vs_unit *u = &x->units[device];
    const struct vs_op op = {.kind = VS_WORK_COPY,
                             .lane = lane,
                             .bytes = (double)bytes,
                             .cost_s = driver_s,
                             .pinned = true};
    struct vs_cost cost = vs_cost(&u->rates, &op);
    return bytes > 0 ? add(x, u, lane, &cost, &after, after != VS_NONE) : after;
}

/* The operation before it on its lane. */
static vs_activity before_op(const struct vs_executor *x, const struct vs_phase *phase,
                             vs_op_id i) {
    const struct vs_op *op = &phase->ops.at[i];
    for (vs_op_id k = i; k-- > 0;)
        if (phase->ops.at[k].lane == op->lane && phase->ops.at[k].device == op->device)
            return x->activity.at[k];
    return VS_NONE;
}

/* Pages that a kernel misses: the driver serves its faults, batch by batch, once the kernel before
 * has ended; a page comes into the place of one that has left. */
static vs_activity add_faults(struct vs_executor *x, const struct vs_phase *phase, vs_op_id i,
                              const struct vs_moved *moved) {
    const struct vs_rates *r = &x->units[moved->device].rates;
    double pages = (double)moved->in_bytes / (double)VS_MANAGED_PAGE_BYTES;
    double batches = pages / r->fault_pages[phase->ops.at[i].kind == VS_WORK_GEMM];
    vs_activity left =
        add_move(x, moved->device, VS_LANE_D2H, moved->out_bytes, 0, before_op(x, phase, i));
    return add_move(x, moved->device, VS_LANE_H2D, moved->in_bytes,
                    r->fault_s * (batches > 1 ? batches : 1), left);
}

/* Pages on their way delay the operation that uses them. Those that were asked for ahead of it
 * (bitsandbytes prefetches its states) come while others leave. */
static vs_activity add_moves(struct vs_executor *x, const struct vs_phase *phase, vs_op_id i,
                             size_t *next) {
    struct vs_moved all = {.op = i};
    for (; *next < x->moved.count && x->moved.at[*next].op <= i; (*next)++) {
        all.device = x->moved.at[*next].device;
        all.in_bytes += x->moved.at[*next].in_bytes;
        all.out_bytes += x->moved.at[*next].out_bytes;
    }
    if (all.in_bytes + all.out_bytes == 0)
        return VS_NONE;
    if (x->plan->managed.on)
        return add_faults(x, phase, i, &all);
    vs_activity last = add_move(x, all.device, VS_LANE_D2H, all.out_bytes, 0, VS_NONE);
    vs_activity came = add_move(x, all.device, VS_LANE_H2D, all.in_bytes, 0, VS_NONE);
    return came != VS_NONE ? came : last;
}

/* A stream holds so many launches; the host blocks on the next one until the oldest have run.
 * Returns what must have ended before `launches` more are issued, or VS_NONE. */
static vs_activity wait_for_room(struct vs_unit *u, double launches) {
    vs_activity last = VS_NONE;
    double issued = u->queue.count > 0 ? u->queue.at[u->queue.count - 1].launches : 0;
    double must_be_done = issued + launches - u->rates.queue_depth;
    while (u->queue_first < u->queue.count && u->queue.at[u->queue_first].launches <= must_be_done)
        last = u->queue.at[u->queue_first++].activity;
    return last;
}

static bool note_launches(struct vs_unit *u, double launches, vs_activity activity) {
    double issued = u->queue.count > 0 ? u->queue.at[u->queue.count - 1].launches : 0;
    struct vs_queued q = {issued + launches, activity};
    return vs_vec_push(&u->queue, q);
}

static vs_activity issue(struct vs_executor *x, struct vs_unit *u, const struct vs_op *op) {
    struct vs_cost cost = {.latency_s = op->launches * u->rates.launch_s};
    vs_activity room = u->rates.queue_depth > 0 ? wait_for_room(u, op->launches) : VS_NONE;
    return add(x, u, VS_LANE_ISSUE, &cost, &room, room != VS_NONE);
}

/* What an operation waits for: operations, pages on their way, its own issue by the host. */
static bool gather_waits(struct vs_executor *x, const struct vs_phase *phase, vs_op_id i,
                         size_t *moves) {
    const struct vs_op *op = &phase->ops.at[i];
    struct vs_unit *u = &x->units[op->device];
    x->after.count = 0;
    for (uint32_t k = 0; k < op->dep_count; k++)
        if (!vs_vec_push(&x->after, x->activity.at[phase->deps.at[op->first_dep + k]]))
            return false;
    vs_activity moved = add_moves(x, phase, i, moves);
    if (moved != VS_NONE && !vs_vec_push(&x->after, moved))
        return false;
    if (op->launches <= 0 || u->rates.launch_s <= 0)
        return true;
    vs_activity issued = issue(x, u, op);
    return issued != VS_NONE && vs_vec_push(&x->after, issued);
}

static bool add_op(struct vs_executor *x, const struct vs_phase *phase, vs_op_id i, size_t *moves) {
    const struct vs_op *op = &phase->ops.at[i];
    struct vs_unit *u = &x->units[op->device];
    if (!gather_waits(x, phase, i, moves))
        return false;
    struct vs_cost cost = vs_cost(&u->rates, op);
    vs_activity a = add(x, u, op->lane, &cost, x->after.at, x->after.count);
    bool queued = op->launches > 0 && u->rates.launch_s > 0 && u->rates.queue_depth > 0;
    if (a == VS_NONE || (queued && !note_launches(u, op->launches, a)))
        return false;
    return vs_vec_push(&x->activity, a);
}

static void add_sums(struct vs_executor *x, const struct vs_phase *phase, double count) {
    const double s = 1.0 / (double)VS_TIME_PER_S;
    for (size_t d = 0; d < x->unit_count; d++) {
        struct vs_unit *u = &x->units[d];
        for (int i = 0; i < VS_PART_COUNT; i++) {
            struct vs_usage usage = vs_des_usage(x->des, u->part[i]);
            u->busy_s[i] += count * usage.served / u->rates.capacity[i];
            u->saturated_s[i] += count * (double)usage.saturated * s;
        }
    }
    double launch = (double)vs_des_stream_busy(x->des, x->units[0].lane[VS_LANE_ISSUE]) * s;
    for (size_t i = 0; i < x->activity.count; i++)
        if (phase->ops.at[i].kind == VS_WORK_FIXED)
            launch += phase->ops.at[i].cost_s;
    x->launch_s += count * launch;
}

const char *vs_lane_name(struct vs_arena *arena, const struct vs_unit *u, enum vs_lane lane) {
    static const char *const NAMES[] = {
        [VS_LANE_COMPUTE] = "%s compute", [VS_LANE_H2D] = "copy to %s",
        [VS_LANE_D2H] = "copy from %s",   [VS_LANE_COMM] = "collectives of %s",
        [VS_LANE_ISSUE] = "host issue",   [VS_LANE_CPU] = "host compute",
        [VS_LANE_STORAGE] = "storage",
    };
    const char *mark = strchr(NAMES[lane], '%');
    return mark ? vs_arena_printf(arena, "%.*s%s%s", (int)(mark - NAMES[lane]), NAMES[lane],
                                  u->name, mark + 2)
                : NAMES[lane];
}

bool vs_time_phase(struct vs_executor *x, const struct vs_phase *phase, vs_op_id until,
                   double count, double *seconds, struct vs_err *err) {
    size_t moves = 0;
    vs_des_reset(x->des);
    x->activity.count = 0;
    for (size_t d = 0; d < x->unit_count; d++)
        x->units[d].queue.count = x->units[d].queue_first = 0;
    for (size_t i = 0; i < phase->ops.count && i < until; i++)
        if (!add_op(x, phase, (vs_op_id)i, &moves))
            return vs_err_nomem(err);
    if (!vs_des_run(x->des, err))
        return false;
    *seconds = (double)vs_des_now(x->des) / (double)VS_TIME_PER_S;
    if (count > 0)
        add_sums(x, phase, count);
    if (x->record && (!vs_record(x, phase, x->time_s, count > 0 ? count : 1) ||
                      !vs_levels_time(x, phase, x->time_s, x->time_s + *seconds)))
        return vs_err_nomem(err);
    x->time_s += *seconds;
    return true;
}

void vs_clear_sums(struct vs_executor *x) {
    for (size_t d = 0; d < x->unit_count; d++) {
        memset(x->units[d].busy_s, 0, sizeof x->units[d].busy_s);
        memset(x->units[d].saturated_s, 0, sizeof x->units[d].saturated_s);
    }
    x->launch_s = 0;
}

size_t vs_sum_count(const struct vs_executor *x) { return x->unit_count * 2 * VS_PART_COUNT + 1; }

void vs_sums_read(const struct vs_executor *x, double *sums) {
    for (size_t d = 0; d < x->unit_count; d++, sums += 2 * VS_PART_COUNT) {
        memcpy(sums, x->units[d].busy_s, sizeof x->units[d].busy_s);
        memcpy(sums + VS_PART_COUNT, x->units[d].saturated_s, sizeof x->units[d].saturated_s);
    }
    *sums = x->launch_s;
}

void vs_sums_add(struct vs_executor *x, const double *sums, double count) {
    for (size_t d = 0; d < x->unit_count; d++, sums += 2 * VS_PART_COUNT)
        for (int i = 0; i < VS_PART_COUNT; i++) {
            x->units[d].busy_s[i] += count * sums[i];
            x->units[d].saturated_s[i] += count * sums[VS_PART_COUNT + i];
        }
    x->launch_s += count * *sums;
}
