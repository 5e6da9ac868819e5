/* The optimizer step: states, the temporaries of its implementation, and the end of the gradients.
 */
#include "plan/train.h"

#include "engine/engine.h"

/* bitsandbytes pages only states of at least this many elements, and keeps small ones in fp32. */
enum { PAGED_MIN_ELEMENTS = 100000, EIGHT_BIT_MIN_ELEMENTS = 4096, ABSMAX_BLOCK = 256 };

static uint64_t state_bytes(const struct vs_plan *plan, uint64_t params, unsigned element) {
    if (plan->optimizer.eight_bit && params >= EIGHT_BIT_MIN_ELEMENTS)
        return params + 4 * ((params + ABSMAX_BLOCK - 1) / ABSMAX_BLOCK);
    return params * element;
}

static bool make(struct vs_plan *plan, vs_buffer_id *id, const char *what, int32_t layer,
                 enum vs_tag tag, uint64_t bytes, bool managed) {
    bool host = plan->optimizer_on_cpu;
    *id = vs_plan_buffer(plan, &(struct vs_buffer){.what = what,
                                                   .layer = layer,
                                                   .home = host ? VS_HOME_HOST : VS_HOME_GPU,
                                                   .tag = tag,
                                                   .managed = managed && !host,
                                                   .bytes = bytes});
    return *id != VS_NO_BUFFER;
}

static bool make_states(struct vs_plan *plan, vs_buffer_id id[2], int32_t layer, uint64_t params,
                        unsigned element) {
    bool paged = plan->optimizer.paged && params >= PAGED_MIN_ELEMENTS;
    for (unsigned i = 0; i < plan->optimizer.states; i++)
        if (!make(plan, &id[i], "optimizer state", layer, VS_TAG_OPTIMIZER,
                  state_bytes(plan, params, element), paged))
            return false;
    return true;
}

static bool make_for(struct vs_plan *plan, struct vs_weight *w) {
    const struct vs_precision *p = &plan->precision;
    int32_t layer = w->tensor->layer;
    bool ok = true;
    if (w->trainable) {
        uint64_t params = vs_tensor_params(w->tensor);
        ok = make(plan, &w->grad, "gradient", layer, VS_TAG_GRADIENTS, params * p->grad, false) &&
             make_states(plan, w->state, layer, params, p->state);
        if (ok && p->master > 0)
            ok = make(plan, &w->master, "master weights", layer, VS_TAG_OPTIMIZER,
                      params * p->master, false);
    }
    uint64_t params = vs_weight_adapter_params(w);
    if (ok && params > 0)
        ok = make(plan, &w->adapter, "adapter", layer, VS_TAG_ADAPTERS, params * p->adapter,
                  false) &&
             make(plan, &w->adapter_grad, "adapter gradient", layer, VS_TAG_GRADIENTS,
                  params * p->adapter, false) &&
             make_states(plan, w->adapter_state, layer, params, p->adapter);
    return ok;
}

bool vs_plan_train_buffers(struct vs_plan *plan, struct vs_err *err) {
    for (size_t i = 0; i < plan->weight_count; i++)
        if (!make_for(plan, &plan->weights[i]))
            return vs_err_nomem(err);
    return true;
}

/* Every trained tensor: the base weight's and the adapter's, in order. */
struct trained {
    vs_buffer_id grad, state[2];
    uint64_t params;
    unsigned element; /* bytes of the parameter that the optimizer updates */
};

static size_t trained_of(const struct vs_plan *plan, const struct vs_weight *w,
                         struct trained out[2]) {
    const struct vs_precision *p = &plan->precision;
    size_t n = 0;
    if (w->trainable)
        out[n++] = (struct trained){.grad = w->grad,
                                    .state = {w->state[0], w->state[1]},
                                    .params = vs_tensor_params(w->tensor),
                                    .element = p->master > 0 ? p->master : p->state};
    if (w->adapter_rank > 0)
        out[n++] = (struct trained){.grad = w->adapter_grad,
                                    .state = {w->adapter_state[0], w->adapter_state[1]},
                                    .params = vs_weight_adapter_params(w),
                                    .element = p->adapter};
    return n;
}

/* Traffic of the update per parameter: parameter and states read and written, gradient read; a
 * master copy is read and written beside the 16-bit weight. */
static double update_bytes(const struct vs_plan *plan, const struct trained *one) {
    double state = plan->optimizer.eight_bit ? 1 : one->element;
    double bytes = 2.0 * one->element + 2.0 * state * plan->optimizer.states;
    bytes += plan->precision.master > 0 ? 6 : one->element;
    return bytes * (double)one->params;
}

static void step_states(struct vs_emit *e, const struct trained *one, bool first) {
    const struct vs_plan *plan = e->plan;
    for (unsigned s = 0; s < plan->optimizer.states; s++) {
        if (first)
            vs_emit_retake(e, one->state[s]);
        if (plan->buffers.at[one->state[s]].managed)
            vs_emit_touch(e, one->state[s]);
    }
}

/* Paged states come and go one tensor at a time, each followed by a wait of the host; otherwise the
 * update is a few kernels over all tensors. */
static void update_op(struct vs_emit *e, double bytes, double launches, bool on_cpu) {
    vs_emit_op(e, &(struct vs_op){.kind = on_cpu ? VS_WORK_CPU_OPTIMIZER : VS_WORK_OPTIMIZER,
                                  .lane = on_cpu ? VS_LANE_CPU : VS_LANE_COMPUTE,
                                  .what = "update",
                                  .layer = -1,
                                  .bytes = bytes,
                                  .launches = on_cpu ? 0 : launches});
}

/* foreach makes one more copy of all parameters while it works (the denominators); DeepSpeed-like
 * mixed precision an fp32 copy of the gradients. */
static bool copies_parameters(const struct vs_plan *plan) {
    return !plan->optimizer_on_cpu && (plan->optimizer.foreach || plan->precision.master > 0);
}

bool vs_emit_optimizer_step(struct vs_plan *plan, bool first, struct vs_phase *phase,
                            struct vs_err *err) {
    struct vs_emit e;
    struct trained one[2];
    double bytes = 0, tensors = 0;
    vs_emit_begin(&e, plan, phase, "optimizer step");
    size_t first_temp = plan->buffers.count;
    for (size_t i = 0; i < plan->weight_count; i++) {
        size_t n = trained_of(plan, &plan->weights[i], one);
        for (size_t k = 0; k < n; k++) {
            step_states(&e, &one[k], first);
            bytes += update_bytes(plan, &one[k]);
            tensors++;
            if (plan->optimizer.paged)
                update_op(&e, update_bytes(plan, &one[k]), 2, plan->optimizer_on_cpu);
        }
    }
    if (copies_parameters(plan)) {
        first_temp = plan->buffers.count;
        for (size_t i = 0; i < plan->weight_count; i++) {
            size_t n = trained_of(plan, &plan->weights[i], one);
            for (size_t k = 0; k < n; k++)
                vs_emit_take(&e, VS_TAG_WORKSPACE, "optimizer temporary", -1,
                             one[k].params * one[k].element);
        }
    }
    size_t last_temp = plan->buffers.count;
    if (!plan->optimizer.paged) {
        const char *impl = plan->optimizer.foreach ? "foreach"
                           : plan->optimizer.fused ? "fused"
                                                   : "loop";
        double scale =
            plan->optimizer.foreach ? 2.2 : 1.2; /* fitted: passes over the data beyond the least */
        double launches = vs_streq(impl, "loop") ? 12 * tensors : 40;
        update_op(&e, bytes * scale, launches, plan->optimizer_on_cpu);
    }
    for (size_t id = first_temp; copies_parameters(plan) && id < last_temp; id++)
        vs_emit_give(&e, (vs_buffer_id)id);
    for (size_t i = 0; i < plan->weight_count; i++) {
        size_t n = trained_of(plan, &plan->weights[i], one);
        for (size_t k = 0; k < n; k++)
            vs_emit_give(&e, one[k].grad);
    }
    return vs_emit_end(&e, err);
}
