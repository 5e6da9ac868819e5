/* The memory side: pools, and walks of a phase's memory actions over them. */
#include "run/lower.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Equal ranks of a node share its memory: the one that runs has its part. */
static uint64_t host_capacity(const struct vs_plan *plan) {
    const struct vs_machine *m = plan->c->machine;
    double bytes = vs_num_or(m->host->ram_bytes, 0) - vs_num_or(m->host->reserved_bytes, 0);
    return bytes > 0 ? (uint64_t)(bytes / vs_node_ranks(plan->c)) : 0;
}

/* The limit of a unified memory is the GPU driver's: where the CPU holds and computes everything,
 * all of the memory counts. */
static uint64_t device_capacity(const struct vs_plan *plan, const struct vs_device *device) {
    bool used = false;
    for (size_t i = 0; i < plan->weight_count && !used; i++)
        used = vs_on_gpu(plan->weights[i].home);
    if (plan->c->machine->unified && !used)
        return (uint64_t)vs_num_or(device->memory.nominal_bytes, 0);
    return (uint64_t)vs_num_or(device->memory.usable_bytes, 0);
}

static_assert((int)VS_STREAM_REDUCE < (int)VS_POOL_STREAMS,
              "each stream has free blocks of its own");

/* The host runs ahead of the device until the rate limiter makes it wait for the unit that was
 * freed `gathers_in_flight` before (PyTorch's FSDP: limit_all_gathers, 2). The newest freed unit
 * may then still be in use, and the gradients of as many units as the limiter lets be ahead. */
static void in_flight(const struct vs_engine *engine, uint32_t *blocks) {
    double gathers = vs_engine_number(engine, "gathers_in_flight", NULL, 1);
    blocks[VS_STREAM_GATHER] = gathers > 1 ? (uint32_t)gathers - 1 : 0;
    blocks[VS_STREAM_COMPUTE] = (uint32_t)gathers;
}

static struct vs_pool *device_pool(const struct vs_executor *x, size_t device) {
    const struct vs_case *c = x->plan->c;
    const struct vs_machine *m = c->machine;
    bool caching = vs_streq(vs_engine_rule(c->engine, "allocator", "bump"), "caching");
    struct vs_pool_spec spec = {.name = x->units[device].name,
                                .capacity_bytes = UINT64_MAX,
                                .allocator = caching ? VS_ALLOC_CACHING : VS_ALLOC_BUMP,
                                .backing = x->pools[VS_HOME_HOST]};
    spec.expandable_segments = vs_is(&c->axes, VS_AXIS_EXPANDABLE_SEGMENTS, "on");
    if (x->plan->collectives == VS_COLLECTIVES_RECORDED)
        in_flight(c->engine, spec.in_flight_blocks);
    if (m->device_count > 0)
        spec.capacity_bytes = device_capacity(x->plan, m->devices[device]);
    return vs_pool_new(&spec);
}

/* Page-locked memory is part of the host's: its requests, rounded as PyTorch rounds them, go there.
 */
static bool make_pools(struct vs_executor *x) {
    const struct vs_machine *m = x->plan->c->machine;
    struct vs_pool_spec host = {.name = "host", .capacity_bytes = host_capacity(x->plan)};
    struct vs_pool_spec storage = {.name = "storage", .capacity_bytes = UINT64_MAX};
    if (!m->unified && !(x->pools[VS_HOME_HOST] = vs_pool_new(&host)))
        return false;
    for (size_t d = 0; d < x->unit_count; d++)
        if (!(x->pools[VS_HOME_GPU + d] = device_pool(x, d)))
            return false;
    if (m->unified)
        x->pools[VS_HOME_HOST] = x->pools[VS_HOME_GPU];
    x->pools[VS_HOME_PINNED] = x->pools[VS_HOME_HOST];
    return (x->pools[VS_HOME_STORAGE] = vs_pool_new(&storage)) != NULL;
}

/* Devices first: what migrates gives the host's pool back what it holds there. */
static void free_pools(struct vs_executor *x) {
    const bool own_host = x->pools[VS_HOME_HOST] != x->pools[VS_HOME_GPU];
    for (size_t d = 0; d < x->unit_count; d++)
        vs_pool_free(x->pools[VS_HOME_GPU + d]);
    if (own_host)
        vs_pool_free(x->pools[VS_HOME_HOST]);
    vs_pool_free(x->pools[VS_HOME_STORAGE]);
}

/* What belongs to the host exists once: the first unit's. */
static bool make_unit(struct vs_executor *x, size_t device) {
    struct vs_unit *u = &x->units[device], *first = &x->units[0];
    for (int i = 0; i < VS_PART_COUNT; i++) {
        bool own = device == 0 || !vs_part_is_host((enum vs_part)i);
        u->part[i] = own ? vs_des_resource(x->des, u->rates.capacity[i]) : first->part[i];
        if (u->part[i] == VS_NONE)
            return false;
    }
    for (int i = 0; i < VS_LANE_COUNT; i++) {
        bool own = device == 0 || !vs_lane_is_host((enum vs_lane)i);
        u->lane[i] = own ? vs_des_stream(x->des) : first->lane[i];
        if (u->lane[i] == VS_NONE)
            return false;
    }
    return true;
}

static bool make_units(struct vs_executor *x) {
    const struct vs_case *c = x->plan->c;
    size_t n = vs_devices_written(x->plan);
    x->units = VS_NEW_ARRAY(x->plan->arena, struct vs_unit, n);
    if (!x->units || n > VS_DEVICES_PLANNED)
        return false;
    x->unit_count = n;
    for (size_t d = 0; d < n; d++) {
        snprintf(x->units[d].name, sizeof x->units[d].name, "gpu%u", (unsigned)d % 1000);
        x->units[d].like = d;
        vs_rates_init(&x->units[d].rates, c, d);
        if (!make_unit(x, d))
            return false;
    }
    return true;
}

bool vs_executor_init(struct vs_executor *x, const struct vs_plan *plan, struct vs_err *err) {
    memset(x, 0, sizeof *x);
    x->plan = plan;
    x->rounds_pinned = vs_streq(vs_engine_rule(plan->c->engine, "pinned", "exact"), "power_of_two");
    x->des = vs_des_new();
    if (x->des && make_units(x) && make_pools(x))
        return true;
    vs_executor_release(x);
    return vs_err_nomem(err);
}

void vs_executor_release(struct vs_executor *x) {
    free_pools(x);
    vs_des_free(x->des);
    for (size_t d = 0; d < x->unit_count; d++)
        vs_vec_release(&x->units[d].queue);
    vs_vec_release(&x->held);
    vs_vec_release(&x->moved);
    vs_vec_release(&x->activity);
    vs_vec_release(&x->after);
    vs_record_release(x);
    memset(x, 0, sizeof *x);
}

static uint64_t power_of_two(uint64_t bytes) {
    uint64_t p = 1;
    while (p < bytes && p < (1ULL << 62))
        p *= 2;
    return p;
}

static uint64_t size_in_pool(const struct vs_executor *x, const struct vs_buffer *b) {
    bool rounds = b->home == VS_HOME_PINNED && x->rounds_pinned && b->bytes > 0;
    return rounds ? power_of_two(b->bytes) : b->bytes;
}

static vs_block *held_at(struct vs_executor *x, vs_buffer_id id) {
    if (x->slot == 0 || id < x->slots_from)
        return &x->held.at[id];
    size_t own = x->plan->buffers.count - x->slots_from;
    return &x->held.at[id + x->slot * own];
}

static enum vs_pool_result take(struct vs_executor *x, vs_buffer_id id) {
    const struct vs_buffer *b = &x->plan->buffers.at[id];
    struct vs_pool *pool = x->pools[b->home];
    if (b->managed)
        return vs_pool_alloc_managed(pool, b->bytes, (enum vs_tag)b->tag, held_at(x, id));
    if (b->raw)
        return vs_pool_alloc_raw(pool, b->bytes, (enum vs_tag)b->tag, held_at(x, id));
    return vs_pool_alloc_on(pool, b->stream, size_in_pool(x, b), (enum vs_tag)b->tag,
                            held_at(x, id));
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
    x->oom_home = x->oom_buffer.home;
}

/* Managed pages move at a touch, and when other requests push them out. */
static bool note_moved(struct vs_executor *x, vs_op_id op, unsigned home, uint64_t in,
                       uint64_t out) {
    if (!vs_on_gpu(home))
        return true;
    out += vs_pool_take_evicted(x->pools[home]);
    if (in == 0 && out == 0)
        return true;
    struct vs_moved m = {op, (uint8_t)(home - VS_HOME_GPU), in, out};
    return vs_vec_push(&x->moved, m);
}

/* A temporary beside a buffer that is held: taken and given back at once. */
static enum vs_pool_result take_beside(struct vs_executor *x, vs_buffer_id id) {
    vs_block held = *held_at(x, id);
    enum vs_pool_result result = take(x, id);
    vs_pool_release_block(x->pools[x->plan->buffers.at[id].home], *held_at(x, id));
    *held_at(x, id) = held;
    return result;
}

static bool act(struct vs_executor *x, const struct vs_phase *phase, vs_op_id op,
                const struct vs_mem_action *a, struct vs_err *err) {
    enum vs_pool_result result = VS_POOL_OK;
    uint64_t in = 0, out = 0;
    vs_buffer_id id = a->buffer;
    unsigned home = x->plan->buffers.at[id].home;
    switch (a->verb) {
    case VS_MEM_TAKE:
        result = take(x, id);
        break;
    case VS_MEM_GIVE:
        vs_pool_release_block(x->pools[home], *held_at(x, id));
        *held_at(x, id) = 0;
        return true;
    case VS_MEM_RETIRE:
        vs_pool_retire(x->pools[home], *held_at(x, id));
        *held_at(x, id) = 0;
        return true;
    case VS_MEM_ENSURE:
        result = *held_at(x, id) == 0 ? take(x, id) : VS_POOL_OK;
        break;
    case VS_MEM_ACCUMULATE:
        result = *held_at(x, id) == 0 ? take(x, id) : take_beside(x, id);
        break;
    case VS_MEM_TOUCH:
        vs_pool_touch(x->pools[home], *held_at(x, id), VS_TOUCH_FRONT, a->bytes, &in, &out);
        break;
    case VS_MEM_DRAW:
        vs_pool_touch(x->pools[home], *held_at(x, id), VS_TOUCH_SPREAD, a->bytes, &in, &out);
        break;
    }
    if (result == VS_POOL_NOMEM)
        return vs_err_nomem(err);
    if (result == VS_POOL_OOM)
        note_oom(x, phase, op, id);
    if (!x->pages)
        return true;
    return note_moved(x, op, home, in, out) ? true : vs_err_nomem(err);
}

static bool hold_table(struct vs_executor *x, struct vs_err *err) {
    size_t n = x->plan->buffers.count;
    if (x->slots > 1)
        n += (x->slots - 1) * (n - x->slots_from);
    if (n > x->held.count) {
        if (!vs_vec_reserve(&x->held, n - x->held.count))
            return vs_err_nomem(err);
        memset(x->held.at + x->held.count, 0, (n - x->held.count) * sizeof *x->held.at);
        x->held.count = n;
    }
    return true;
}

bool vs_executor_slots(struct vs_executor *x, vs_buffer_id first, uint32_t slots,
                       struct vs_err *err) {
    x->slots_from = first;
    x->slots = slots;
    return hold_table(x, err);
}

bool vs_walk(struct vs_executor *x, const struct vs_phase *phase, bool stop, struct vs_err *err) {
    if (!hold_table(x, err))
        return false;
    x->moved.count = 0;
    if (x->record)
        vs_levels_begin(x, phase);
    x->pages = x->plan->managed.on || (x->plan->optimizer.paged && !x->plan->optimizer_on_cpu);
    size_t action = 0;
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
    for (size_t d = 0; d < x->unit_count; d++) /* a phase ends with its devices drained */
        vs_pool_settle(x->pools[VS_HOME_GPU + d]);
    return true;
}

uint64_t vs_executor_state(const struct vs_executor *x) {
    uint64_t state = 0;
    for (size_t d = 0; d < x->unit_count; d++)
        state = state * 31 + vs_pool_state(x->pools[VS_HOME_GPU + d]);
    if (x->pools[VS_HOME_HOST] != x->pools[VS_HOME_GPU])
        state = state * 31 + vs_pool_state(x->pools[VS_HOME_HOST]);
    return state;
}
