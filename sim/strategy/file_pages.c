/* Weights mapped from their file (llama.cpp's mmap): what the CPU has touched stays in the page
 * cache for as long as there is room. Room is what host memory has beside the KV cache and buffers
 * that live there; where it is short, a touch of a page that went reads it from storage again
 * (plan/paging.c). Of embeddings that are only looked up a token needs one row: they take no room.
 */
#include "strategy/strategy.h"

#include "engine/engine.h"
#include "hw/machine.h"
#include "plan/rules/compute_buffer.h"

static double host_cache(const struct vs_plan *plan) {
    uint64_t sequences = (uint64_t)vs_count(&plan->c->axes, VS_AXIS_BATCH);
    double bytes = 0;
    for (uint32_t l = 0; l < plan->c->model->layers; l++)
        if (plan->layers[l].on_cpu || plan->attention_on_cpu)
            bytes += (double)(sequences * vs_plan_kv_bytes(plan, l, plan->kv_cells));
    return bytes;
}

static bool apply(struct vs_plan *plan, struct vs_err *err) {
    const struct vs_case *c = plan->c;
    double every = 0, experts = 0;
    if (!vs_plan_maps_weights(c))
        return true;
    if (c->machine->unified)
        return vs_err_at(err, NULL, 0, 0,
                         "--offload disk: %s has one memory for CPU and GPU, in which weights that "
                         "are mapped from storage are not modelled; expected none or cpu",
                         c->machine->hw);
    if (!c->machine->storage)
        return vs_err_at(err, NULL, 0, 0,
                         "--offload disk: the machine of %s has no storage; expected none or cpu, "
                         "or --storage NAME",
                         c->machine->hw);
    for (size_t i = 0; i < plan->weight_count; i++) {
        const struct vs_weight *w = &plan->weights[i];
        bool lookup = w->tensor->role == VS_ROLE_EMBED && !c->model->tied_embeddings;
        if (!vs_on_gpu(w->home) && !lookup)
            *(vs_is_expert(w) ? &experts : &every) += (double)w->bytes;
    }
    const struct vs_host *h = c->machine->host;
    double room = vs_num_or(h->ram_bytes, 0) - vs_num_or(h->reserved_bytes, 0) - host_cache(plan) -
                  (double)vs_host_compute_buffer(plan);
    plan->pages =
        (struct vs_pages){.room = room > 0 ? room : 0, .every = every, .experts = experts};
    return true;
}

const struct vs_strategy vs_strategy_file_pages = {
    .name = "pages of a file",
    .help = "weights in host memory are pages of their file, read again where RAM is short",
    .stage = "place",
    .apply = apply};
