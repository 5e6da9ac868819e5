#include "plan/repeat.h"

/* `v_index` counts layers, and asks no work. */
static bool equal_shapes(const struct vs_model_layer *a, const struct vs_model_layer *b) {
    return a->mixer == b->mixer && a->mlp == b->mlp && a->chunked == b->chunked &&
           a->k_is_v == b->k_is_v && a->borrows_kv == b->borrows_kv && a->window == b->window &&
           a->kv_heads == b->kv_heads && a->head_dim == b->head_dim && a->ffn == b->ffn;
}

/* A home seen from the device that computes the layer. */
static int seen_from(const struct vs_layer *layer, enum vs_home home) {
    return vs_on_gpu(home) ? VS_HOME_COUNT + (int)home - layer->device : (int)home;
}

static bool equal_weights(const struct vs_weight *a, const struct vs_weight *b) {
    return a->tensor->role == b->tensor->role && a->type == b->type && a->bytes == b->bytes &&
           a->parts == b->parts && a->trainable == b->trainable &&
           a->adapter_rank == b->adapter_rank;
}

bool vs_layers_ask_alike(const struct vs_plan *plan, uint32_t i, uint32_t k) {
    const struct vs_layer *a = &plan->layers[i], *b = &plan->layers[k];
    bool alike = equal_shapes(&plan->c->model->layer[i], &plan->c->model->layer[k]) &&
                 a->weight_count == b->weight_count && a->on_cpu == b->on_cpu &&
                 a->checkpointed == b->checkpointed && a->segment == b->segment &&
                 seen_from(a, a->home) == seen_from(b, b->home);
    for (uint32_t w = 0; alike && w < a->weight_count; w++) {
        const struct vs_weight *x = &plan->weights[a->first_weight + w];
        const struct vs_weight *y = &plan->weights[b->first_weight + w];
        alike = equal_weights(x, y) && seen_from(a, x->home) == seen_from(b, y->home);
    }
    return alike;
}

static bool comes_again(const struct vs_plan *plan, uint32_t layer, uint32_t before) {
    return plan->layers[layer].device == plan->layers[before].device &&
           vs_layers_ask_alike(plan, layer, before);
}

struct vs_repeat vs_plan_repeat(const struct vs_plan *plan) {
    enum { PERIOD_MOST = 8 };
    uint32_t layers = plan->c->model->layers;
    struct vs_repeat best = {.period = 0};
    uint32_t fewest = layers; /* that stand before the second turn */
    for (uint32_t period = 1; period <= PERIOD_MOST && period < layers; period++) {
        uint32_t second = layers;
        while (second > period && comes_again(plan, second - 1, second - 1 - period))
            second--;
        if (second < fewest) {
            best = (struct vs_repeat){second - period, period};
            fewest = second;
        }
    }
    return best;
}
