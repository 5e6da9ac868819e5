#include "plan/digest.h"

#include <string.h>

#include "engine/engine.h"
#include "hw/machine.h"

/* FNV-1a over the bytes of what decides a plan. */
static uint64_t mix(uint64_t hash, const void *bytes, size_t count) {
    const unsigned char *at = bytes;
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ at[i]) * 0x100000001b3ULL;
    return hash;
}

static uint64_t mix_text(uint64_t hash, const char *text) {
    return text ? mix(hash, text, strlen(text) + 1) : mix(hash, "", 1);
}

static uint64_t mix_number(uint64_t hash, uint64_t number) {
    return mix(hash, &number, sizeof number);
}

static uint64_t mix_weights(uint64_t hash, const struct vs_plan *plan) {
    for (size_t i = 0; i < plan->weight_count; i++) {
        const struct vs_weight *w = &plan->weights[i];
        hash = mix_text(hash, w->type->name);
        hash = mix_number(hash, w->bytes);
        hash = mix_number(hash, (uint64_t)w->home * 4 + w->saved * 2u + w->trainable);
        hash = mix_number(hash, w->adapter_rank);
    }
    for (uint32_t l = 0; l < plan->c->model->layers; l++) {
        const struct vs_layer *layer = &plan->layers[l];
        hash = mix_number(hash,
                          (uint64_t)layer->segment * 4 + layer->checkpointed * 2u + layer->on_cpu);
        hash = mix_number(hash, layer->device);
    }
    return hash;
}

/* Is the cache of any layer in another memory than the layer? */
static bool cache_apart(const struct vs_plan *p) {
    for (uint32_t l = 0; l < p->c->model->layers && p->attention_on_cpu; l++)
        if (!p->layers[l].on_cpu)
            return true;
    return false;
}

/* Is anything copied from host memory? */
static bool copies(const struct vs_plan *p) {
    return p->streaming || p->optimizer_on_cpu || p->block.batches > 0;
}

static uint64_t mix_policies(uint64_t hash, const struct vs_plan *p) {
    const struct vs_optimizer *o = &p->optimizer;
    const uint64_t numbers[] = {p->attention,
                                p->streaming,
                                p->ranks,
                                p->tensor_parallel,
                                p->attention_dp,
                                p->parallel.tensor,
                                p->parallel.context,
                                p->parallel.stages,
                                p->parallel.chunks,
                                p->parallel.experts,
                                p->parallel.sequence * 2u + p->parallel.ulysses,
                                p->kv_block,
                                p->unit_hooks * 8u + p->shard.weights * 4u + p->shard.grads * 2u +
                                    p->shard.states,
                                copies(p) && p->pinned,
                                p->prefetch,
                                p->gather_units,
                                p->kv_cells,
                                p->window.kept,
                                p->window.read,
                                p->window.span,
                                p->ubatch,
                                p->precision.compute,
                                p->precision.residual,
                                p->precision.grad,
                                p->precision.master,
                                p->precision.state,
                                p->precision.cast_cache,
                                p->precision.adapter,
                                o->states,
                                o->eight_bit,
                                o->paged + 2u * o->factored + 4u * o->orthogonal,
                                o->foreach,
                                o->fused,
                                p->loss,
                                p->fused_kernels,
                                p->compiled,
                                (uint64_t)(p->lora_dropout * 1e9),
                                p->optimizer_on_cpu + 2u * p->optimizer_on_disk,
                                p->shard_ranks,
                                p->precision.fp8,
                                o->in_backward,
                                p->checkpoint_ops,
                                p->checkpoint_attention,
                                p->checkpoints_on_host,
                                p->managed.on,
                                p->block.batches,
                                p->block.attention_on_cpu,
                                cache_apart(p) + 2u * p->row_split,
                                (uint64_t)(p->block.cache_gpu * 1e4),
                                (uint64_t)(p->block.cache_host * 1e4),
                                (uint64_t)(p->block.hidden_gpu * 1e4)};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        hash = mix_number(hash, numbers[i]);
    hash = mix_text(hash, p->kv_k ? p->kv_k->name : NULL);
    return mix_text(hash, p->kv_v ? p->kv_v->name : NULL);
}

/* Axes that act below the plan: on shapes, pools and rates. */
static uint64_t mix_axes(uint64_t hash, const struct vs_values *v) {
    for (int i = 0; i < VS_AXIS_COUNT; i++) {
        const char *group = vs_axis_info((enum vs_axis)i)->group;
        if (!vs_streq(group, "strategy"))
            hash = mix_text(hash, v->at[i].text);
    }
    hash = mix_text(hash, v->at[VS_AXIS_ZERO_BUCKET].text);
    return mix_text(hash, v->at[VS_AXIS_KV_ALLOC].text);
}

uint64_t vs_plan_digest(const struct vs_plan *plan) {
    uint64_t hash = mix_text(0xcbf29ce484222325ULL, plan->c->engine->name);
    hash = mix_text(hash, plan->c->machine->name);
    return mix_axes(mix_policies(mix_weights(hash, plan), plan), &plan->c->axes);
}
