#include "plan/rules/compute_buffer.h"

#include "engine/engine.h"
#include "hw/machine.h"

static uint64_t max(uint64_t a, uint64_t b) { return a > b ? a : b; }

static bool head_on_gpu(const struct vs_plan *plan) {
    for (size_t i = plan->weight_count; i-- > 0;)
        if (plan->weights[i].tensor->role == VS_ROLE_HEAD)
            return plan->weights[i].home == VS_HOME_GPU;
    return plan->layers[plan->c->model->layers - 1].home == VS_HOME_GPU;
}

/* A host weight that the GPU multiplies in large batches is staged there; the largest one counts.
 */
static uint64_t largest_host_weight(const struct vs_plan *plan) {
    uint64_t largest = 0;
    for (size_t i = 0; i < plan->weight_count; i++) {
        const struct vs_weight *w = &plan->weights[i];
        if (w->home != VS_HOME_GPU && vs_role_is_linear(w->tensor->role))
            largest = max(largest, w->bytes);
    }
    return largest;
}

static uint64_t largest_matrix_params(const struct vs_plan *plan) {
    uint64_t largest = 0;
    for (size_t i = 0; i < plan->weight_count; i++) {
        const struct vs_weight *w = &plan->weights[i];
        if (w->home == VS_HOME_GPU && vs_role_is_linear(w->tensor->role) &&
            w->type->class_of != VS_CLASS_FLOAT)
            largest = max(largest, w->tensor->rows * w->tensor->cols);
    }
    return largest;
}

struct vs_compute_buffers vs_compute_buffers(const struct vs_plan *plan) {
    const struct vs_model *m = plan->c->model;
    uint64_t cells = plan->kv_cells * (uint64_t)vs_count(&plan->c->axes, VS_AXIS_BATCH);
    uint64_t u = plan->ubatch < cells ? plan->ubatch : cells;
    uint64_t d = m->hidden, mask = u * cells;
    bool flash = plan->attention == VS_ATTENTION_FLASH;
    struct vs_compute_buffers out = {0};
    uint64_t scores = flash ? 0 : u * cells * m->heads;
    uint64_t layers = scores + mask + 4 * u * d + u;
    uint64_t logits = head_on_gpu(plan) ? u * (d + m->vocab) : 0;
    uint64_t staged = largest_host_weight(plan);
    out.gpu_bytes = 4 * max(layers, logits);
    if (staged > 0)
        out.gpu_bytes = max(out.gpu_bytes, staged + 4 * u * (d + m->vocab));
    out.host_bytes = 4 * (mask + u * d);
    if (vs_streq(vs_engine_rule(plan->c->engine, "prefill_gemm", "direct"), "dequantize")) {
        uint64_t params = largest_matrix_params(plan);
        if (params > 0)
            out.pool_bytes = 2 * params + 4 * u * (d + m->ffn);
    }
    if (plan->c->machine->device_count == 0)
        return (struct vs_compute_buffers){.host_bytes = 4 * max(layers, u * (d + m->vocab))};
    return out;
}
