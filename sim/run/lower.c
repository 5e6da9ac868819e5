#include "run/lower.h"

#include <math.h>
#include <string.h>

static const char *const LANES[] = {
    [VS_LANE_COMPUTE] = "gpu0 compute", [VS_LANE_H2D] = "copy to gpu0",
    [VS_LANE_D2H] = "copy from gpu0",   [VS_LANE_ISSUE] = "host issue",
    [VS_LANE_CPU] = "host compute",     [VS_LANE_STORAGE] = "storage",
};

const char *vs_lane_name(enum vs_lane lane) { return LANES[lane]; }

static uint64_t host_capacity(const struct vs_machine *m) {
    double bytes = vs_num_or(m->host->ram_bytes, 0) - vs_num_or(m->host->reserved_bytes, 0);
    return bytes > 0 ? (uint64_t)bytes : 0;
}

static struct vs_pool *new_pool(const struct vs_executor *x, enum vs_home home) {
    const struct vs_case *c = x->plan->c;
    const struct vs_machine *m = c->machine;
    bool caching = vs_streq(vs_engine_rule(c->engine, "allocator", "bump"), "caching");
    struct vs_pool_spec spec = {.capacity_bytes = UINT64_MAX};
    switch (home) {
    case VS_HOME_GPU:
        spec.name = "gpu0";
        if (m->device_count > 0)
            spec.capacity_bytes = (uint64_t)vs_num_or(m->devices[0]->memory.usable_bytes, 0);
        spec.allocator = caching ? VS_ALLOC_CACHING : VS_ALLOC_BUMP;
        spec.expandable_segments = vs_is(&c->axes, VS_AXIS_EXPANDABLE_SEGMENTS, "on");
        spec.backing = x->pools[VS_HOME_HOST];
        break;
    case VS_HOME_HOST:
        spec.name = "host";
        spec.capacity_bytes = host_capacity(m);
        break;
    case VS_HOME_PINNED:
    case VS_HOME_STORAGE:
    case VS_HOME_COUNT:
        spec.name = "storage";
        break;
    }
    return vs_pool_new(&spec);
}

/* Page-locked memory is part of the host's: its requests, rounded as PyTorch rounds them, go there.
 */
static bool make_pools(struct vs_executor *x) {
    bool unified = x->plan->c->machine->unified;
    if (!unified)
        x->pools[VS_HOME_HOST] = new_pool(x, VS_HOME_HOST);
    x->pools[VS_HOME_GPU] = new_pool(x, VS_HOME_GPU);
    if (unified)
        x->pools[VS_HOME_HOST] = x->pools[VS_HOME_GPU];
    x->pools[VS_HOME_PINNED] = x->pools[VS_HOME_HOST];
    x->pools[VS_HOME_STORAGE] = new_pool(x, VS_HOME_STORAGE);
    return x->pools[VS_HOME_GPU] && x->pools[VS_HOME_HOST] && x->pools[VS_HOME_STORAGE];
}

static bool make_engine(struct vs_executor *x) {
    x->des = vs_des_new();
    if (!x->des)
        return false;
    for (int i = 0; i < VS_PART_COUNT; i++)
        if ((x->part[i] = vs_des_resource(x->des, x->rates.capacity[i])) == VS_NONE)
            return false;
    for (int i = 0; i < VS_LANE_COUNT; i++)
        if ((x->lane[i] = vs_des_stream(x->des)) == VS_NONE)
            return false;
    return true;
}

bool vs_executor_init(struct vs_executor *x, const struct vs_plan *plan, struct vs_err *err) {
    memset(x, 0, sizeof *x);
    x->plan = plan;
    vs_rates_init(&x->rates, plan->c);
    x->rounds_pinned = vs_streq(vs_engine_rule(plan->c->engine, "pinned", "exact"), "power_of_two");
    if (make_pools(x) && make_engine(x))
        return true;
    vs_executor_release(x);
    return vs_err_nomem(err);
}

void vs_executor_release(struct vs_executor *x) {
    vs_pool_free(x->pools[VS_HOME_GPU]);
    if (x->pools[VS_HOME_HOST] != x->pools[VS_HOME_GPU])
        vs_pool_free(x->pools[VS_HOME_HOST]);
    vs_pool_free(x->pools[VS_HOME_STORAGE]);
    vs_des_free(x->des);
    vs_vec_release(&x->held);
    vs_vec_release(&x->moved);
    vs_vec_release(&x->activity);
    vs_vec_release(&x->spans);
    vs_vec_release(&x->levels);
    vs_vec_release(&x->walked[0].uses);
    vs_vec_release(&x->walked[1].uses);
    memset(x, 0, sizeof *x);
}

/* ---- memory ---- */

static uint64_t power_of_two(uint64_t bytes) {
    uint64_t p = 1;
    while (p < bytes && p < (1ULL << 62))
        p *= 2;
    return p;
}

static uint64_t size_in_pool(const struct vs_executor *x, const struct vs_buffer *b) {
    return b->home == VS_HOME_PINNED && x->rounds_pinned ? power_of_two(b->bytes) : b->bytes;
}

static enum vs_pool_result take(struct vs_executor *x, vs_buffer_id id) {
    const struct vs_buffer *b = &x->plan->buffers.at[id];
    struct vs_pool *pool = x->pools[b->home];
    if (b->managed)
        return vs_pool_alloc_managed(pool, b->bytes, (enum vs_tag)b->tag, &x->held.at[id]);
    if (b->raw)
        return vs_pool_alloc_raw(pool, b->bytes, (enum vs_tag)b->tag, &x->held.at[id]);
    return vs_pool_alloc(pool, size_in_pool(x, b), (enum vs_tag)b->tag, &x->held.at[id]);
}

static void note_oom(struct vs_executor *x, const struct vs_phase *phase, vs_op_id op,
                     vs_buffer_id id) {
    if (x->out_of_memory)
        return;
    x->out_of_memory = true;
    x->oom_phase = phase->name;
    x->oom_index = op;
    x->oom_op = phase->ops.at[op < phase->ops.count ? op : phase->ops.count - 1];
    x->oom_buffer = x->plan->buffers.at[id];
    x->oom_home = (enum vs_home)x->oom_buffer.home;
}

/* Managed pages move at a touch, and when other requests push them out. */
static bool note_moved(struct vs_executor *x, vs_op_id op, uint64_t in, uint64_t out) {
    out += vs_pool_take_evicted(x->pools[VS_HOME_GPU]);
    if (in == 0 && out == 0)
        return true;
    struct vs_moved m = {op, in, out};
    return vs_vec_push(&x->moved, m);
}

/* A temporary beside a buffer that is held: taken and given back at once. */
static enum vs_pool_result take_beside(struct vs_executor *x, vs_buffer_id id) {
    vs_block held = x->held.at[id];
    enum vs_pool_result result = take(x, id);
    vs_pool_release_block(x->pools[x->plan->buffers.at[id].home], x->held.at[id]);
    x->held.at[id] = held;
    return result;
}

static bool act(struct vs_executor *x, const struct vs_phase *phase, vs_op_id op,
                const struct vs_mem_action *a, struct vs_err *err) {
    enum vs_pool_result result = VS_POOL_OK;
    uint64_t in = 0, out = 0;
    vs_buffer_id id = a->buffer;
    switch (a->verb) {
    case VS_MEM_TAKE:
        result = take(x, id);
        break;
    case VS_MEM_GIVE:
        vs_pool_release_block(x->pools[x->plan->buffers.at[id].home], x->held.at[id]);
        x->held.at[id] = 0;
        return true;
    case VS_MEM_ENSURE:
        result = x->held.at[id] == 0 ? take(x, id) : VS_POOL_OK;
        break;
    case VS_MEM_ACCUMULATE:
        result = x->held.at[id] == 0 ? take(x, id) : take_beside(x, id);
        break;
    case VS_MEM_TOUCH:
        vs_pool_touch(x->pools[VS_HOME_GPU], x->held.at[id], true, &in, &out);
        break;
    }
    if (result == VS_POOL_NOMEM)
        return vs_err_nomem(err);
    if (result == VS_POOL_OOM)
        note_oom(x, phase, op, id);
    if (!x->pages)
        return true;
    return note_moved(x, op, in, out) ? true : vs_err_nomem(err);
}

static bool hold_table(struct vs_executor *x, struct vs_err *err) {
    size_t n = x->plan->buffers.count;
    if (n > x->held.count) {
        if (!vs_vec_reserve(&x->held, n - x->held.count))
            return vs_err_nomem(err);
        memset(x->held.at + x->held.count, 0, (n - x->held.count) * sizeof *x->held.at);
        x->held.count = n;
    }
    return true;
}

bool vs_walk(struct vs_executor *x, const struct vs_phase *phase, bool stop, struct vs_err *err) {
    if (!hold_table(x, err))
        return false;
    x->moved.count = 0;
    x->pages = x->plan->optimizer.paged && !x->plan->optimizer_on_cpu;
    size_t action = 0;
    if (x->record)
        vs_levels_begin(x, phase);
    for (size_t i = 0; i <= phase->ops.count; i++) {
        size_t end = i < phase->ops.count ? phase->ops.at[i].first_mem + phase->ops.at[i].mem_count
                                          : phase->mem.count;
        for (; action < end; action++) {
            if (!act(x, phase, (vs_op_id)i, &phase->mem.at[action], err))
                return false;
            if (stop && x->out_of_memory)
                return true;
        }
        if (x->record && !vs_levels_note(x))
            return vs_err_nomem(err);
    }
    return true;
}

uint64_t vs_executor_state(const struct vs_executor *x) {
    uint64_t state = vs_pool_state(x->pools[VS_HOME_GPU]);
    if (x->pools[VS_HOME_HOST] != x->pools[VS_HOME_GPU])
        state = state * 31 + vs_pool_state(x->pools[VS_HOME_HOST]);
    return state;
}

/* ---- time ---- */

static vs_time to_time(double seconds) { return (vs_time)(seconds * (double)VS_TIME_PER_S + 0.5); }

static vs_activity add(struct vs_executor *x, enum vs_lane lane, const struct vs_cost *cost,
                       const vs_activity *after, size_t after_count) {
    struct vs_demand demands[4];
    for (size_t i = 0; i < cost->need_count; i++)
        demands[i] = (struct vs_demand){x->part[cost->needs[i].part], cost->needs[i].amount};
    return vs_des_add(x->des, &(struct vs_activity_spec){.stream = x->lane[lane],
                                                         .latency = to_time(cost->latency_s),
                                                         .demands = demands,
                                                         .demand_count = cost->need_count,
                                                         .after = after,
                                                         .after_count = after_count});
}

/* Pages on their way delay the operation that asked for them; pages that leave go at the same time.
 */
static vs_activity add_moves(struct vs_executor *x, vs_op_id op, size_t *next) {
    vs_activity last = VS_NONE;
    for (; *next < x->moved.count && x->moved.at[*next].op <= op; (*next)++) {
        const struct vs_moved *m = &x->moved.at[*next];
        struct vs_op in = {.kind = VS_WORK_COPY,
                           .lane = VS_LANE_H2D,
                           .bytes = (double)m->in_bytes,
                           .pinned = true};
        struct vs_op out = {.kind = VS_WORK_COPY,
                            .lane = VS_LANE_D2H,
                            .bytes = (double)m->out_bytes,
                            .pinned = true};
        struct vs_cost cost = vs_cost(&x->rates, &out);
        if (m->out_bytes > 0)
            last = add(x, VS_LANE_D2H, &cost, NULL, 0);
        cost = vs_cost(&x->rates, &in);
        if (m->in_bytes > 0)
            last = add(x, VS_LANE_H2D, &cost, NULL, 0);
    }
    return last;
}

enum { AFTER_MAX = 32 };

static bool add_op(struct vs_executor *x, const struct vs_phase *phase, vs_op_id i, size_t *moves) {
    const struct vs_op *op = &phase->ops.at[i];
    vs_activity after[AFTER_MAX];
    size_t n = 0;
    for (uint32_t k = 0; k < op->dep_count && n < AFTER_MAX - 2; k++)
        after[n++] = x->activity.at[phase->deps.at[op->first_dep + k]];
    vs_activity moved = add_moves(x, i, moves);
    if (moved != VS_NONE)
        after[n++] = moved;
    if (op->launches > 0 && x->rates.launch_s > 0) {
        struct vs_cost issue = {.latency_s = op->launches * x->rates.launch_s};
        vs_activity issued = add(x, VS_LANE_ISSUE, &issue, NULL, 0);
        if (issued == VS_NONE)
            return false;
        after[n++] = issued;
    }
    struct vs_cost cost = vs_cost(&x->rates, op);
    vs_activity a = add(x, op->lane, &cost, after, n);
    return a != VS_NONE && vs_vec_push(&x->activity, a);
}

static void add_sums(struct vs_executor *x, const struct vs_phase *phase, double count) {
    const double s = 1.0 / (double)VS_TIME_PER_S;
    for (int i = 0; i < VS_PART_COUNT; i++) {
        struct vs_usage u = vs_des_usage(x->des, x->part[i]);
        x->busy_s[i] += count * u.served / x->rates.capacity[i];
        x->saturated_s[i] += count * (double)u.saturated * s;
    }
    double launch = (double)vs_des_stream_busy(x->des, x->lane[VS_LANE_ISSUE]) * s;
    for (size_t i = 0; i < x->activity.count; i++)
        if (phase->ops.at[i].kind == VS_WORK_FIXED)
            launch += phase->ops.at[i].cost_s;
    x->launch_s += count * launch;
}

static bool record(struct vs_executor *x, const struct vs_phase *phase, double from_s) {
    for (size_t i = 0; i < x->activity.count; i++) {
        const struct vs_op *op = &phase->ops.at[i];
        double start = (double)vs_des_start(x->des, x->activity.at[i]) / (double)VS_TIME_PER_S;
        double end = (double)vs_des_end(x->des, x->activity.at[i]) / (double)VS_TIME_PER_S;
        struct vs_span span = {vs_lane_name(op->lane), op->what, op->layer, from_s + start,
                               from_s + end};
        if (end > start && !vs_vec_push(&x->spans, span))
            return false;
    }
    return true;
}

bool vs_time_phase(struct vs_executor *x, const struct vs_phase *phase, vs_op_id until,
                   double count, double *seconds, struct vs_err *err) {
    size_t moves = 0;
    vs_des_reset(x->des);
    x->activity.count = 0;
    for (size_t i = 0; i < phase->ops.count && i < until; i++)
        if (!add_op(x, phase, (vs_op_id)i, &moves))
            return vs_err_nomem(err);
    if (!vs_des_run(x->des, err))
        return false;
    *seconds = (double)vs_des_now(x->des) / (double)VS_TIME_PER_S;
    if (count > 0)
        add_sums(x, phase, count);
    if (x->record && (!record(x, phase, x->time_s) ||
                      !vs_levels_time(x, phase, x->time_s, x->time_s + *seconds)))
        return vs_err_nomem(err);
    x->time_s += *seconds;
    return true;
}

void vs_clear_sums(struct vs_executor *x) {
    memset(x->busy_s, 0, sizeof x->busy_s);
    memset(x->saturated_s, 0, sizeof x->saturated_s);
    x->launch_s = 0;
}
