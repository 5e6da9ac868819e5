/* Tensor parallelism over equal devices (Megatron-LM): q, k, v, gate and up are split by their
 * outputs, o and down by their inputs, so that each rank ends attention and MLP with a part of a
 * sum, and an all-reduce follows each of both. Heads stay whole: with more ranks than KV heads some
 * ranks hold the same one. Embedding and head are split by the vocabulary; norms, the router and
 * projections to a latent are on every rank. In training the devices are several such groups, and
 * backward adds up the gradients of the inputs that the ranks have in common.
 *
 * With --attn-dp (TensorRT-LLM's enable_attention_dp, SGLang's --enable-dp-attention) the ranks
 * share routed experts alone. All else is on every rank, which attends for requests of its own:
 * no KV head is held twice, and tokens are gathered before the experts and scattered behind. */
#include "strategy/strategy.h"

#include "hw/machine.h"

static uint32_t parts_of(const struct vs_plan *plan, const struct vs_tensor *t, uint32_t ranks) {
    const struct vs_model *m = plan->c->model;
    if (plan->attention_dp && !vs_role_is_expert(t->role))
        return 1;
    switch (t->role) {
    case VS_ROLE_K:
    case VS_ROLE_V: {
        uint32_t heads = t->layer >= 0 ? m->layer[t->layer].kv_heads : m->kv_heads;
        return heads > 0 && heads < ranks ? heads : ranks;
    }
    case VS_ROLE_NORM:
    case VS_ROLE_POSITIONS:
    case VS_ROLE_ROUTER:
    case VS_ROLE_Q_A:
    case VS_ROLE_KV_A:
    case VS_ROLE_INDEX:
        return 1;
    default:
        return ranks;
    }
}

/* Query heads are dealt out evenly; KV heads too, or each to the same number of ranks. */
static bool check_heads(const struct vs_model *m, uint32_t ranks, struct vs_err *err) {
    if (m->heads % ranks != 0)
        return vs_err_at(err, NULL, 0, 0,
                         "--tp %u: %s has %u attention heads, which tensor parallelism deals out "
                         "whole and evenly; expected a divisor of %u",
                         ranks, m->name, m->heads, m->heads);
    if (m->kv_heads > 0 && m->kv_heads % ranks != 0 && ranks % m->kv_heads != 0)
        return vs_err_at(err, NULL, 0, 0,
                         "--tp %u: %s has %u KV heads; expected a divisor or a multiple of %u",
                         ranks, m->name, m->kv_heads, m->kv_heads);
    return true;
}

static bool apply(struct vs_plan *plan, struct vs_err *err) {
    const struct vs_case *c = plan->c;
    bool train = c->task == VS_TASK_TRAIN;
    int64_t ranks = vs_count(&c->axes, VS_AXIS_TP);
    bool attention_dp = vs_is(&c->axes, VS_AXIS_ATTN_DP, "on");
    if (ranks < 2 && !attention_dp)
        return true;
    if (attention_dp && (ranks < 2 || c->model->experts == 0))
        return vs_err_at(err, NULL, 0, 0,
                         "--attn-dp on with --tp %lld and %s: expected ranks of --tp that share "
                         "experts, from 2",
                         (long long)ranks, c->model->name);
    if (!train && (size_t)ranks != c->machine->device_count)
        return vs_err_at(err, NULL, 0, 0,
                         "--tp %lld on %s: found devices: %zu, expected as many as ranks (several "
                         "groups of ranks are not modelled)",
                         (long long)ranks, c->machine->hw, c->machine->device_count);
    if (!attention_dp && !check_heads(c->model, (uint32_t)ranks, err))
        return false;
    if (!train) {
        plan->ranks = (uint32_t)ranks;
        plan->tensor_parallel = true;
    }
    plan->attention_dp = attention_dp;
    for (size_t i = 0; i < plan->weight_count; i++)
        plan->weights[i].parts = parts_of(plan, plan->weights[i].tensor, (uint32_t)ranks);
    return true;
}

const struct vs_strategy vs_strategy_tensor_parallel = {
    .name = "tensor parallelism",
    .help = "each layer shared by all devices, two all-reduces to a layer",
    .stage = "shard",
    .apply = apply};
