#include "plan/managed.h"

#include "base/maths.h"
#include "hw/machine.h"

static uint64_t whole_pages(uint64_t bytes) {
    return (bytes + VS_MANAGED_PAGE_BYTES - 1) / VS_MANAGED_PAGE_BYTES * VS_MANAGED_PAGE_BYTES;
}

uint64_t vs_managed_lay(struct vs_managed_laid *laid, uint64_t bytes) {
    uint64_t before_bytes = laid->page_bytes;
    laid->bytes += bytes;
    laid->page_bytes = whole_pages(laid->bytes);
    return laid->page_bytes - before_bytes;
}

/* A group of weights behind those before it. */
static vs_buffer_id add_group(struct vs_emit *e, struct vs_managed_laid *laid, const char *what,
                              int32_t layer, unsigned home, uint64_t bytes) {
    struct vs_buffer b = {.what = what,
                          .layer = layer,
                          .home = (uint8_t)home,
                          .tag = VS_TAG_WEIGHTS,
                          .managed = true,
                          .bytes = vs_managed_lay(laid, bytes)};
    vs_buffer_id id = b.bytes > 0 ? vs_plan_buffer(e->plan, &b) : VS_NO_BUFFER;
    e->failed |= b.bytes > 0 && id == VS_NO_BUFFER;
    return id;
}

static uint64_t group_bytes(const struct vs_plan *plan, int32_t layer, unsigned home,
                            bool experts) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < plan->weight_count; i++) {
        const struct vs_weight *w = &plan->weights[i];
        if (w->tensor->layer == layer && w->home == home && vs_is_expert(w) == experts)
            bytes += w->bytes;
    }
    return bytes;
}

void vs_managed_lay_weights(struct vs_emit *e) {
    struct vs_plan *plan = e->plan;
    for (unsigned d = 0; d < plan->c->machine->device_count; d++) {
        unsigned home = vs_gpu_home(d);
        struct vs_managed_laid laid = {0};
        for (uint32_t l = 0; l < plan->c->model->layers; l++) {
            struct vs_layer *layer = &plan->layers[l];
            if (layer->on_cpu || layer->device != d)
                continue;
            layer->pages = add_group(e, &laid, "weights", (int32_t)l, home,
                                     group_bytes(plan, (int32_t)l, home, false));
            layer->expert_pages = add_group(e, &laid, "experts", (int32_t)l, home,
                                            group_bytes(plan, (int32_t)l, home, true));
        }
        plan->managed.outside[d] = add_group(e, &laid, "weights outside the layers", -1, home,
                                             group_bytes(plan, -1, home, false));
    }
}

void vs_managed_loaded(struct vs_emit *e, const struct vs_weight *w) {
    const struct vs_plan *plan = e->plan;
    if (!plan->managed.on || !vs_on_gpu(w->home))
        return;
    vs_buffer_id group = plan->managed.outside[w->home - VS_HOME_GPU];
    if (w->tensor->layer >= 0) {
        const struct vs_layer *l = &plan->layers[w->tensor->layer];
        group = vs_is_expert(w) ? l->expert_pages : l->pages;
    }
    vs_emit_ensure(e, group);
    vs_emit_touch(e, group);
}

void vs_managed_use_layer(struct vs_pass *p, uint32_t layer) {
    if (!p->plan->managed.on || p->plan->layers[layer].on_cpu)
        return;
    vs_emit_touch(&p->e, p->plan->managed.workspace[p->plan->layers[layer].device]);
    vs_emit_touch(&p->e, p->plan->layers[layer].pages);
}

double vs_managed_page_share(double share, double expert_pages) {
    double experts = 1 + 1 / expert_pages;
    uint64_t least = (uint64_t)experts;
    double more =
        experts - (double)least; /* pages that belong to one expert more than the others */
    double missed = vs_power(1 - share, least);
    return 1 - (1 - more) * missed - more * missed * (1 - share);
}

void vs_managed_use_experts(struct vs_pass *p, uint32_t layer) {
    const struct vs_layer *l = &p->plan->layers[layer];
    double touched = vs_pass_touched(p), bytes = 0;
    if (!p->plan->managed.on || l->expert_pages == VS_NO_BUFFER)
        return;
    for (uint32_t i = 0; i < l->weight_count; i++) {
        const struct vs_weight *w = &p->plan->weights[l->first_weight + i];
        if (!vs_is_expert(w) || !vs_on_gpu(w->home))
            continue;
        double each = (double)w->bytes / (double)w->tensor->count / (double)VS_MANAGED_PAGE_BYTES;
        bytes += (double)w->bytes * vs_managed_page_share(touched, each);
    }
    vs_emit_draw(&p->e, l->expert_pages, (uint64_t)bytes);
}

void vs_managed_use_cache(struct vs_pass *p, uint32_t layer) {
    const struct vs_plan *plan = p->plan;
    if (!plan->managed.on || plan->layers[layer].on_cpu || plan->attention_on_cpu || p->grows)
        return;
    vs_emit_touch_front(&p->e, plan->kv_held[2 * layer],
                        plan->sequences * vs_plan_kv_bytes(plan, layer, p->cells));
}

void vs_managed_use_head(struct vs_pass *p) {
    if (!p->plan->managed.on)
        return;
    vs_emit_touch(&p->e, p->plan->managed.workspace[p->e.device]);
    vs_emit_touch(&p->e, p->plan->managed.outside[p->e.device]);
}
