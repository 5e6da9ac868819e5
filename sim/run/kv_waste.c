#include "run/kv_waste.h"

/* One sequence, all layers of a rank. */
static double sequence_bytes(const struct vs_plan *plan, uint64_t cells) {
    double bytes = 0;
    for (uint32_t l = 0; l < plan->c->model->layers; l++)
        bytes += (double)vs_plan_kv_bytes(plan, l, cells);
    return bytes;
}

static uint64_t whole_blocks(const struct vs_plan *plan, uint64_t cells) {
    return (cells + plan->kv_block - 1) / plan->kv_block * plan->kv_block;
}

/* The cache in all pools, states of recurrent layers apart. */
static double held_bytes(const struct vs_simulation *s) {
    const struct vs_pool *host = s->x.pools[VS_HOME_HOST];
    double bytes = 0;
    for (size_t d = 0; d < s->x.unit_count; d++)
        bytes += (double)vs_pool_stats(s->x.pools[VS_HOME_GPU + d]).by_tag[VS_TAG_KV];
    if (host != s->x.pools[VS_HOME_GPU])
        bytes += (double)vs_pool_stats(host).by_tag[VS_TAG_KV];
    return bytes - (double)vs_plan_state_bytes(&s->plan);
}

static double free_in_segments(const struct vs_simulation *s) {
    double bytes = 0;
    for (size_t d = 0; d < s->x.unit_count; d++) {
        struct vs_pool_stats stats = vs_pool_stats(s->x.pools[VS_HOME_GPU + d]);
        bytes += (double)(stats.reserved_bytes - stats.allocated_bytes);
    }
    return bytes;
}

static double above(double a, double b) { return a > b ? a - b : 0; }

void vs_kv_tally_add(struct vs_kv_tally *tally, const struct vs_simulation *s, uint64_t cells,
                     double weight) {
    const struct vs_plan *plan = &s->plan;
    double sequences = (double)plan->sequences;
    double used = sequences * sequence_bytes(plan, cells), planned = used, external = 0;
    double held = plan->kv_block > 0 ? sequences * sequence_bytes(plan, whole_blocks(plan, cells))
                                     : held_bytes(s);
    if (plan->block.batches > 0 || cells == 0 || used <= 0)
        return;
    if (vs_is(&plan->c->axes, VS_AXIS_KV_ALLOC, "dynamic"))
        external = free_in_segments(s);
    else if (plan->kv_block == 0)
        planned = sequences * sequence_bytes(plan, (uint64_t)vs_count(&plan->c->axes, VS_AXIS_CTX));
    tally->weight += weight;
    tally->held += weight * held;
    tally->used += weight * used;
    tally->reservation += weight * above(planned, used);
    tally->internal += weight * above(held, planned > used ? planned : used);
    tally->external += weight * external;
}

/* Old copies beside the new one, while a cache grows by concatenation. */
static double outgrown_bytes(const struct vs_simulation *s) {
    double bytes = 0;
    for (size_t d = 0; d < s->x.unit_count; d++) {
        struct vs_pool_stats stats = vs_pool_stats(s->x.pools[VS_HOME_GPU + d]);
        bytes += above((double)stats.peak_by_tag[VS_TAG_KV], (double)stats.by_tag[VS_TAG_KV]);
    }
    return bytes;
}

bool vs_kv_tally_report(const struct vs_kv_tally *tally, struct vs_simulation *s,
                        struct vs_err *err) {
    bool grows = vs_is(&s->c->axes, VS_AXIS_KV_ALLOC, "dynamic");
    if (tally->weight <= 0)
        return true;
    struct vs_kv_waste *out = VS_NEW(s->plan.arena, struct vs_kv_waste);
    if (!out)
        return vs_err_nomem(err);
    *out = (struct vs_kv_waste){.held_bytes = tally->held / tally->weight,
                                .used_bytes = tally->used / tally->weight,
                                .reservation_bytes = tally->reservation / tally->weight,
                                .internal_bytes = tally->internal / tally->weight,
                                .external_bytes = tally->external / tally->weight,
                                .outgrown_bytes = grows ? outgrown_bytes(s) : 0};
    s->out->kv_waste = out;
    return true;
}
