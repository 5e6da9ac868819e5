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

static bool take_pool(struct vs_simulation *s, struct vs_phase *phase, uint64_t blocks,
                      uint64_t in_use, struct vs_err *err) {
    struct vs_pool *pool = s->x.pools[VS_HOME_GPU];
    uint64_t all = vs_pool_capacity(pool), end = in_use + blocks * vs_kv_block_bytes(&s->plan);
    if (!vs_emit_kv_pool(&s->plan, blocks, phase, err))
        return false;
    if (end < all)
        vs_pool_limit(pool, end);
    bool ok = vs_walk(&s->x, phase, s->options->stop_at_oom, err);
    vs_pool_limit(pool, all);
    return ok;
}

bool vs_start_paged(struct vs_simulation *s, struct vs_phase *phase, struct vs_err *err) {
    struct vs_plan *plan = &s->plan;
    double *metrics = s->out->metrics;
    if (!vs_emit_profile(plan, phase, err) || !vs_walk(&s->x, phase, s->options->stop_at_oom, err))
        return false;
    if (vs_is_over(s))
        return true;
    struct vs_memory_seen seen = look(s->x.pools[VS_HOME_GPU]);
    uint64_t blocks = vs_kv_pool_blocks(plan, &seen);
    uint64_t fitting = blocks / vs_kv_sequence_blocks(plan);
    metrics[VS_METRIC_KV_TOKENS] = (double)(blocks * plan->kv_block);
    if (s->c->task == VS_TASK_SERVE)
        metrics[VS_METRIC_MAX_BATCH] = (double)fitting;
    uint64_t most = (uint64_t)vs_count(&s->c->axes, VS_AXIS_MAX_SEQS);
    if (most > 0 && most < fitting)
        fitting = most;
    if (fitting > 0 && fitting < plan->sequences)
        plan->sequences = fitting;
    return take_pool(s, phase, blocks, seen.in_use, err);
}
