/* Data-parallel ranks (those that share a sample hold the same weights, and count as such), and
 * what ZeRO and FSDP split over them: stage 1 optimizer states, 2 gradients too, 3 weights too. One
 * device shards nothing, whatever the stage. Units are gathered before use; those that train get
 * theirs one unit ahead in backward (FSDP's BACKWARD_PRE), frozen ones just in time; engine files
 * may say how many units and elements ahead. With --zero-group N the ranks of a group share one
 * copy, and groups replicate it (FSDP's HYBRID_SHARD).
 *
 * What DeepSpeed's file calls stage3_max_live_parameters, stage3_prefetch_bucket_size and
 * stage3_param_persistence_threshold are --zero-live, --zero-prefetch and --zero-persist. */
#include "strategy/strategy.h"

#include "engine/engine.h"
#include "hw/machine.h"

/* Units ahead: what the engine does, as far as its limit of elements that are whole at once lets
 * it. */
static unsigned gathered_ahead(const struct vs_plan *plan) {
    const struct vs_case *c = plan->c;
    double train = vs_is(&c->axes, VS_AXIS_METHOD, "full") ? 1 : 0;
    double ahead = vs_engine_number(c->engine, "gather_ahead", NULL, train);
    double most = (double)vs_count(&c->axes, VS_AXIS_ZERO_LIVE);
    double layer = (double)c->model->params_linear / c->model->layers;
    if (vs_given(&c->axes, VS_AXIS_ZERO_LIVE) && layer > 0 && (ahead + 1) * layer > most)
        ahead = most > layer ? most / layer - 1 : 0;
    return (unsigned)ahead;
}

/* Engines that gather a bounded number of elements ahead wait for units that are larger. */
static bool exposed(const struct vs_plan *plan) {
    const struct vs_case *c = plan->c;
    double most = (double)vs_count(&c->axes, VS_AXIS_ZERO_PREFETCH);
    return vs_given(&c->axes, VS_AXIS_ZERO_PREFETCH) &&
           (double)c->model->params_linear / c->model->layers > most;
}

/* Small parameters stay whole on each rank: gathering them would cost more than they take. */
static void persist(struct vs_plan *plan) {
    int64_t most = vs_count(&plan->c->axes, VS_AXIS_ZERO_PERSIST);
    for (size_t i = 0; i < plan->weight_count; i++)
        plan->weights[i].persists = vs_tensor_params(plan->weights[i].tensor) <= (uint64_t)most;
}

static bool take_group(struct vs_plan *plan, int64_t stage, struct vs_err *err) {
    const struct vs_values *axes = &plan->c->axes;
    int64_t group = vs_count(axes, VS_AXIS_ZERO_GROUP);
    if (!vs_given(axes, VS_AXIS_ZERO_GROUP))
        return true;
    if (stage < 1)
        return vs_err_at(err, NULL, 0, 0,
                         "--zero-group %lld shards nothing with --zero 0; expected --zero 1, 2 or "
                         "3",
                         (long long)group);
    if (group > plan->ranks || plan->ranks % group != 0)
        return vs_err_at(err, NULL, 0, 0,
                         "--zero-group %lld does not divide the %u data-parallel ranks; expected a "
                         "divisor",
                         (long long)group, plan->ranks);
    plan->shard_ranks = (uint32_t)group;
    return true;
}

static enum vs_collectives collectives(const struct vs_engine *engine) {
    const char *rule = vs_engine_rule(engine, "collectives", "shared");
    return vs_streq(rule, "recorded") ? VS_COLLECTIVES_RECORDED
           : vs_streq(rule, "copied") ? VS_COLLECTIVES_COPIED
                                      : VS_COLLECTIVES_SHARED;
}

static bool apply(struct vs_plan *plan, struct vs_err *err) {
    const struct vs_case *c = plan->c;
    int64_t stage = vs_count(&c->axes, VS_AXIS_ZERO);
    if (c->task != VS_TASK_TRAIN)
        return true;
    plan->keeps_grads = vs_streq(vs_engine_rule(c->engine, "gradients", "freed"), "kept");
    plan->ranks = plan->shard_ranks =
        (uint32_t)c->machine->device_count / (plan->parallel.tensor * plan->parallel.stages);
    if (!take_group(plan, stage, err))
        return false;
    plan->unit_hooks = stage >= 3 && vs_engine_number(c->engine, "gather_host_s", NULL, 0) > 0;
    if (plan->ranks < 2)
        return true;
    plan->collectives = collectives(c->engine);
    plan->collectives_in_turn = vs_is(&c->axes, VS_AXIS_OVERLAP_COMM, "off");
    plan->shard.states = stage >= 1;
    plan->shard.grads = stage >= 2;
    plan->shard.weights = stage >= 3;
    plan->whole_tensors = plan->shard.states && !plan->shard.grads &&
                          vs_streq(vs_engine_rule(c->engine, "state_shards", "parts"), "tensors");
    if (plan->shard.weights) {
        plan->gather_units = true;
        plan->prefetch = gathered_ahead(plan);
        plan->overlap = plan->prefetch > 1 ? plan->prefetch : 1;
        if (exposed(plan))
            plan->overlap = plan->prefetch = 0;
        persist(plan);
    }
    return true;
}

const struct vs_strategy vs_strategy_zero = {
    .name = "ZeRO and FSDP",
    .help = "states, gradients and weights sharded over data-parallel ranks",
    .stage = "shard",
    .apply = apply};
