/* Start of an engine with a paged cache: the profile run on the pools, a look at them, the KV pool.
 * While the pool is taken the device ends where the engine's share ends, so that a context which
 * the engine refuses is a request that fails. */
#include "plan/startup.h"
#include "run/simulate.h"

static struct vs_memory_seen look(const struct vs_pool *pool) {
    struct vs_pool_stats now = vs_pool_stats(pool);
    return (struct vs_memory_seen){.capacity = vs_pool_capacity(pool),
                                   .in_use = now.reserved_bytes + now.raw_bytes,
                                   .peak = now.peak_used_bytes,
                                   .before = now.by_tag[VS_TAG_CONTEXT]};
}

/* Moves the end of each device to that of the pool, or back to `all`. */
static void limit_devices(struct vs_simulation *s, uint64_t blocks, const uint64_t *all) {
    for (unsigned d = 0; d < vs_devices_written(&s->plan); d++) {
        struct vs_pool *pool = s->x.pools[vs_gpu_home(d)];
        uint64_t end = look(pool).in_use + blocks * vs_kv_block_bytes(&s->plan, d);
        vs_pool_limit(pool, blocks == UINT64_MAX || end > all[d] ? all[d] : end);
    }
}

static bool take_pool(struct vs_simulation *s, struct vs_phase *phase, uint64_t blocks,
                      struct vs_err *err) {
    uint64_t all[VS_DEVICES_PLANNED];
    for (unsigned d = 0; d < vs_devices_written(&s->plan); d++)
        all[d] = vs_pool_capacity(s->x.pools[vs_gpu_home(d)]);
    if (!vs_emit_kv_pool(&s->plan, blocks, phase, err))
        return false;
    limit_devices(s, blocks, all);
    bool ok = vs_walk(&s->x, phase, s->options->stop_at_oom, err);
    limit_devices(s, UINT64_MAX, all);
    return ok;
}

/* All devices hold the same blocks: as many as the fullest one has room for. */
static uint64_t common_blocks(const struct vs_simulation *s) {
    uint64_t blocks = UINT64_MAX;
    for (unsigned d = 0; d < vs_devices_written(&s->plan); d++) {
        struct vs_memory_seen seen = look(s->x.pools[vs_gpu_home(d)]);
        uint64_t own = vs_kv_pool_blocks(&s->plan, d, &seen);
        blocks = own < blocks ? own : blocks;
    }
    return blocks;
}

bool vs_start_paged(struct vs_simulation *s, struct vs_phase *phase, struct vs_err *err) {
    struct vs_plan *plan = &s->plan;
    double *metrics = s->out->metrics;
    if (!vs_emit_profile(plan, phase, err) || !vs_walk(&s->x, phase, s->options->stop_at_oom, err))
        return false;
    if (vs_is_over(s))
        return true;
    uint64_t blocks = common_blocks(s), groups = vs_plan_groups(plan);
    uint64_t fitting = blocks / vs_kv_sequence_blocks(plan) * groups;
    metrics[VS_METRIC_KV_TOKENS] = (double)(blocks * plan->kv_block * groups);
    if (s->c->task == VS_TASK_SERVE)
        metrics[VS_METRIC_MAX_BATCH] = (double)fitting;
    uint64_t most = (uint64_t)vs_count(&s->c->axes, VS_AXIS_MAX_SEQS);
    if (most > 0 && most < fitting)
        fitting = most;
    if (fitting > 0 && fitting < plan->sequences)
        plan->sequences = fitting;
    return take_pool(s, phase, blocks, err);
}
