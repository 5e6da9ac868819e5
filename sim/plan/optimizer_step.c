/* The optimizer step: states, the temporaries of its implementation, and the end of the gradients.
 */
#include "engine/engine.h"
#include "plan/pipeline.h"
#include "plan/train_host.h"

/* bitsandbytes pages only states of at least this many elements, and keeps small ones in fp32
 * (bitsandbytes/optim/optimizer.py: get_state_buffer, min_8bit_size). */
enum { PAGED_MIN_ELEMENTS = 100000, EIGHT_BIT_MIN_ELEMENTS = 4096, ABSMAX_BLOCK = 256 };

/* Kernels that walk all parameters: foreach and fused take a few for all of them, a loop takes some
 * for each (mul, add, lerp, addcmul, sqrt, div, add, addcdiv and their kin of torch.optim.AdamW).
 */
enum { LAUNCHES_AT_ONCE = 40, LAUNCHES_PER_TENSOR = 12, LAUNCHES_PAGED = 2 };

/* How often the data are gone over, where once is the least. */
static double passes(const struct vs_plan *plan, bool foreach) {
    const char *name = foreach ? "optimizer_passes_foreach" : "optimizer_passes";
    return vs_engine_number(plan->c->engine, name, NULL, 1);
}

static uint64_t state_bytes(const struct vs_plan *plan, const struct vs_trained *one) {
    const struct vs_optimizer *o = &plan->optimizer;
    uint64_t n = one->state_elements;
    if (o->eight_bit && n >= EIGHT_BIT_MIN_ELEMENTS)
        return n + 4 * ((n + ABSMAX_BLOCK - 1) / ABSMAX_BLOCK);
    bool wide = o->eight_bit || o->paged || o->factored;
    return n * (wide ? 4 : one->element);
}

/* What is kept of a tensor. Adafactor (Shazeer and Stern 2018, without momentum, as Hugging Face's
 * Trainer takes it) keeps sums of rows and of columns in fp32; Muon (Jordan 2024) one momentum of
 * matrices inside layers, and Adam's two states of all else. w: NULL = an adapter. */
static void size_states(const struct vs_plan *plan, struct vs_trained *one,
                        const struct vs_weight *w) {
    const struct vs_optimizer *o = &plan->optimizer;
    const struct vs_tensor *tensor = w ? w->tensor : NULL;
    bool matrix = tensor && tensor->rows > 1 && tensor->cols > 1;
    one->states = o->states;
    one->state_elements = one->params;
    if (o->factored && matrix)
        one->state_elements = vs_weight_shard(plan, w, plan->shard.states, vs_weight_sides(w));
    if (o->orthogonal && matrix && tensor->layer >= 0) {
        one->states = 1;
        one->rows = tensor->rows < tensor->cols ? tensor->rows : tensor->cols;
        one->cols = tensor->rows < tensor->cols ? tensor->cols : tensor->rows;
    }
}

static vs_buffer_id make(struct vs_plan *plan, const char *what, const struct vs_trained *of,
                         enum vs_tag tag, uint64_t bytes) {
    bool on_disk = plan->optimizer_on_disk && tag == VS_TAG_OPTIMIZER;
    enum vs_home home = on_disk                  ? VS_HOME_STORAGE
                        : plan->optimizer_on_cpu ? VS_HOME_HOST
                                                 : vs_gpu_home(of->device);
    struct vs_buffer b = {.what = what,
                          .layer = of->layer,
                          .home = (uint8_t)home,
                          .tag = (uint8_t)tag,
                          .bytes = bytes};
    return vs_plan_buffer(plan, &b);
}

/* The states of one more tensor; small paged tensors of a layer share their pages with the layer's
 * first. */
static bool make_states(struct vs_plan *plan, struct vs_trained *one) {
    bool paged = plan->optimizer.paged && one->params >= PAGED_MIN_ELEMENTS;
    struct vs_trained *last =
        plan->trained.count > 0 ? &plan->trained.at[plan->trained.count - 1] : NULL;
    one->pages_of = paged && last && last->layer == one->layer && last->state[0] != VS_NO_BUFFER &&
                            plan->buffers.at[last->state[0]].managed
                        ? last->pages_of
                        : (uint32_t)plan->trained.count;
    for (unsigned i = 0; i < one->states; i++) {
        if (one->pages_of != plan->trained.count) {
            one->state[i] = plan->trained.at[one->pages_of].state[i];
            plan->buffers.at[one->state[i]].bytes += state_bytes(plan, one);
            continue;
        }
        one->state[i] =
            make(plan, "optimizer state", one, VS_TAG_OPTIMIZER, state_bytes(plan, one));
        if (one->state[i] == VS_NO_BUFFER)
            return false;
        plan->buffers.at[one->state[i]].managed = paged && !plan->optimizer_on_cpu;
    }
    return true;
}

/* What the optimizer sees of a weight, or of its adapter. */
static struct vs_trained trained(const struct vs_plan *plan, const struct vs_weight *w,
                                 bool adapter, unsigned element) {
    uint64_t params = adapter ? vs_weight_adapter_params(w) : vs_weight_params(w);
    struct vs_trained one = {.layer = w->tensor->layer,
                             .device = vs_on_gpu(w->home) ? (uint8_t)(w->home - VS_HOME_GPU) : 0,
                             .ranks = vs_weight_ranks(plan, w),
                             .params = vs_weight_shard(plan, w, plan->shard.states, params),
                             .element = element,
                             .state = {VS_NO_BUFFER, VS_NO_BUFFER}};
    size_states(plan, &one, adapter ? NULL : w);
    return one;
}

static bool add(struct vs_plan *plan, const struct vs_weight *w, bool adapter, unsigned element,
                unsigned grad_bytes, vs_buffer_id *grad) {
    uint64_t params = adapter ? vs_weight_adapter_params(w) : vs_weight_params(w);
    uint64_t own = vs_weight_shard(plan, w, plan->shard.grads, params);
    struct vs_trained one = trained(plan, w, adapter, element);
    if (plan->optimizer_on_cpu)
        grad_bytes =
            (unsigned)vs_engine_number(plan->c->engine, "host_grad_bytes", NULL, grad_bytes);
    one.grad = *grad = make(plan, "gradient", &one, VS_TAG_GRADIENTS, own * grad_bytes);
    if (one.grad != VS_NO_BUFFER && plan->shard.grads && plan->collectives != VS_COLLECTIVES_SHARED)
        plan->buffers.at[one.grad].stream = VS_STREAM_REDUCE;
    return one.grad != VS_NO_BUFFER && make_states(plan, &one) && vs_vec_push(&plan->trained, one);
}

static bool train_tensor(struct vs_plan *plan, struct vs_weight *w) {
    const struct vs_precision *p = &plan->precision;
    if (p->master > 0) {
        const struct vs_trained one = trained(plan, w, false, p->master);
        w->master = make(plan, "master weights", &one, VS_TAG_OPTIMIZER, one.params * p->master);
        if (w->master == VS_NO_BUFFER)
            return false;
    }
    if (w->saved) {
        struct vs_buffer b = plan->buffers.at[w->buffer];
        b.what = "frozen original";
        w->original = vs_plan_buffer(plan, &b);
        if (w->original == VS_NO_BUFFER)
            return false;
    }
    return add(plan, w, false, p->master > 0 ? p->master : p->state, p->grad, &w->grad);
}

static bool train_adapter(struct vs_plan *plan, struct vs_weight *w) {
    unsigned element = plan->precision.adapter;
    uint64_t params = vs_weight_adapter_params(w);
    const struct vs_trained one = trained(plan, w, true, element);
    w->adapter = make(plan, "adapter", &one, VS_TAG_ADAPTERS,
                      vs_weight_shard(plan, w, plan->shard.weights, params) * element);
    return w->adapter != VS_NO_BUFFER && add(plan, w, true, element, element, &w->adapter_grad);
}

/* DeepSpeed collects gradients in buckets before they are reduced: one, or two where collectives
 * overlap with backward; stage 3 has one. */
static bool make_bucket(struct vs_plan *plan) {
    const struct vs_case *c = plan->c;
    double count = vs_engine_number(c->engine, "reduce_buckets", NULL, 0);
    if (count <= 0 || vs_is(&c->axes, VS_AXIS_CONTIGUOUS_GRADS, "off") ||
        vs_count(&c->axes, VS_AXIS_ZERO) < 1)
        return true;
    if (plan->shard.weights || plan->collectives_in_turn)
        count = 1;
    struct vs_buffer b = {.what = "reduce buckets",
                          .layer = -1,
                          .home = VS_HOME_GPU,
                          .tag = VS_TAG_GRADIENTS,
                          .bytes = (uint64_t)(count * vs_real(&c->axes, VS_AXIS_ZERO_BUCKET))};
    plan->reduce_bucket = b.bytes > 0 ? vs_plan_buffer(plan, &b) : VS_NO_BUFFER;
    return b.bytes == 0 || plan->reduce_bucket != VS_NO_BUFFER;
}

bool vs_plan_train_buffers(struct vs_plan *plan, struct vs_err *err) {
    if (!make_bucket(plan))
        return vs_err_nomem(err);
    for (size_t i = 0; i < plan->weight_count; i++) {
        struct vs_weight *w = &plan->weights[i];
        if ((w->trainable && !train_tensor(plan, w)) ||
            (w->adapter_rank > 0 && !train_adapter(plan, w)))
            return vs_err_nomem(err);
    }
    return vs_plan_host_buffers(plan) ? true : vs_err_nomem(err);
}

/* Traffic of the update: parameter and states read and written, gradient read; a master copy is
 * read and written beside the 16-bit weight. */
static double update_bytes(const struct vs_plan *plan, const struct vs_trained *one) {
    double state = plan->optimizer.eight_bit ? 1 : one->element;
    double bytes = 2.0 * one->element + (plan->precision.master > 0 ? 6 : one->element);
    return bytes * (double)one->params + 2.0 * state * one->states * (double)one->state_elements;
}

static void update(struct vs_emit *e, double bytes, double launches) {
    bool on_cpu = e->plan->optimizer_on_cpu;
    vs_emit_op(e, &(struct vs_op){.kind = on_cpu ? VS_WORK_CPU_OPTIMIZER : VS_WORK_OPTIMIZER,
                                  .lane = on_cpu ? VS_LANE_CPU : VS_LANE_COMPUTE,
                                  .what = "update",
                                  .layer = -1,
                                  .bytes = bytes,
                                  .launches = on_cpu ? 0 : launches});
}

/* Paged states come to the GPU tensor by tensor, each before its own update. */
static double take_states(struct vs_emit *e) {
    const struct vs_plan *plan = e->plan;
    double bytes = 0;
    for (size_t i = 0; i < plan->trained.count; i++) {
        const struct vs_trained *one = &plan->trained.at[i];
        if (one->device != e->device)
            continue;
        for (unsigned s = 0; s < one->states; s++) {
            vs_emit_ensure(e, one->state[s]);
            if (one->pages_of == i && plan->buffers.at[one->state[s]].managed)
                vs_emit_touch(e, one->state[s]);
        }
        if (plan->optimizer.paged)
            update(e, update_bytes(plan, one), LAUNCHES_PAGED);
        bytes += update_bytes(plan, one);
    }
    return bytes;
}

/* Newton and Schulz's iteration on a matrix X of m x n, m <= n: five times X X^T, its square, and
 * their product with X, in 16 bit: 4 m^2 n + 2 m^3 FLOPs each. A rank does its part. */
enum { NEWTON_SCHULZ_STEPS = 5 };

static void orthogonalize(struct vs_emit *e) {
    const struct vs_plan *plan = e->plan;
    double flops = 0, bytes = 0, kernels = 0;
    uint64_t most = 0;
    for (size_t i = 0; i < plan->trained.count; i++) {
        const struct vs_trained *one = &plan->trained.at[i];
        double m = (double)one->rows, n = (double)one->cols;
        if (one->rows == 0 || one->device != e->device)
            continue;
        double share = (double)one->params / (m * n); /* of ranks; of equal matrices */
        flops += share * NEWTON_SCHULZ_STEPS * (4 * m * m * n + 2 * m * m * m);
        bytes += share * NEWTON_SCHULZ_STEPS * 2 * (4 * m * n + 6 * m * m);
        kernels += share * NEWTON_SCHULZ_STEPS * 3;
        uint64_t held = 4 * one->rows * (one->cols + one->rows);
        most = held > most ? held : most;
    }
    if (flops <= 0)
        return;
    vs_buffer_id held = vs_emit_take(e, VS_TAG_WORKSPACE, "orthogonal momentum", -1, most);
    vs_emit_op(e, &(struct vs_op){.kind = VS_WORK_GEMM,
                                  .lane = VS_LANE_COMPUTE,
                                  .what = "orthogonalize",
                                  .layer = -1,
                                  .flops = flops,
                                  .bytes = bytes,
                                  .kernels = kernels,
                                  .launches = kernels});
    vs_emit_give(e, held);
}

/* Adafactor's fp32 copies of the parameter and its gradient, and the update, of the largest tensor.
 */
static vs_buffer_id factored_copies(struct vs_emit *e) {
    const struct vs_plan *plan = e->plan;
    uint64_t most = 0;
    for (size_t i = 0; plan->optimizer.factored && i < plan->trained.count; i++) {
        const struct vs_trained *one = &plan->trained.at[i];
        if (one->device == e->device)
            most = one->params > most ? one->params : most;
    }
    return vs_emit_take(e, VS_TAG_WORKSPACE, "update of a tensor", -1, 3 * 4 * most);
}

/* foreach makes one more copy of all parameters while it works (the denominators); mixed precision
 * an fp32 copy of the gradients. */
static void update_at_once(struct vs_emit *e, double bytes) {
    struct vs_plan *plan = e->plan;
    const struct vs_optimizer *o = &plan->optimizer;
    bool wider = plan->precision.master > plan->precision.grad &&
                 vs_streq(vs_engine_rule(plan->c->engine, "gradient_copy", "fp32"), "fp32");
    bool copies = !plan->optimizer_on_cpu && (o->foreach || wider);
    uint64_t left = vs_tile_elements(plan);
    size_t first = plan->buffers.count;
    for (size_t i = 0; copies && i < plan->trained.count; i++) {
        const struct vs_trained *one = &plan->trained.at[i];
        if (one->device != e->device)
            continue;
        uint64_t params = one->params < left ? one->params : left;
        left -= params;
        vs_emit_take(e, VS_TAG_WORKSPACE, "optimizer temporary", one->layer, params * one->element);
    }
    size_t last = plan->buffers.count;
    vs_buffer_id copy = factored_copies(e);
    if (o->orthogonal)
        orthogonalize(e);
    bool loop = !o->foreach && !o->fused;
    update(e, bytes * passes(plan, o->foreach),
           loop ? LAUNCHES_PER_TENSOR * (double)plan->trained.count : LAUNCHES_AT_ONCE);
    vs_emit_give(e, copy);
    for (size_t id = first; id < last; id++)
        vs_emit_give(e, (vs_buffer_id)id);
}

/* Updated on the CPU, used on the GPU. */
static void copy_up(struct vs_emit *e) {
    double bytes = 0;
    for (size_t i = 0; i < e->plan->trained.count; i++)
        if (e->plan->trained.at[i].device == e->device)
            bytes += (double)e->plan->trained.at[i].params * e->plan->precision.compute;
    vs_emit_after(e, vs_emit_last(e, VS_LANE_CPU));
    vs_emit_op(e, &(struct vs_op){.kind = VS_WORK_COPY,
                                  .lane = VS_LANE_H2D,
                                  .what = "new weights",
                                  .layer = -1,
                                  .bytes = bytes,
                                  .pinned = e->plan->pinned});
}

/* One collective brings all parts; or each rank that owns tensors sends them to the others, one
 * after another (InternEvo: hybrid_zero_optim.py, broadcast_params). A broadcast passes each link
 * of the ring once, as a gather does. */
static void send_weights(struct vs_emit *e, double bytes, size_t tensors) {
    const struct vs_plan *plan = e->plan;
    if (!plan->whole_tensors) {
        vs_emit_collective(e, VS_WORK_GATHER, "all-gather of new weights", -1, bytes,
                           vs_shard_ring(plan));
        return;
    }
    size_t owners = plan->shard_ranks < tensors ? plan->shard_ranks : tensors;
    for (size_t i = 0; i < owners; i++)
        vs_emit_collective(e, VS_WORK_GATHER, "broadcast of new weights", -1,
                           bytes / (double)owners, vs_shard_ring(plan));
}

/* A rank has updated its part of weights that every rank holds whole. */
static void gather_weights(struct vs_emit *e) {
    const struct vs_plan *plan = e->plan;
    double bytes = 0;
    size_t tensors = 0;
    if (!plan->shard.states || plan->shard.weights)
        return;
    for (size_t i = 0; i < plan->trained.count; i++) {
        const struct vs_trained *one = &plan->trained.at[i];
        if (one->device != e->device)
            continue;
        bytes += (double)one->params * plan->precision.compute * one->ranks;
        tensors++;
    }
    vs_emit_after(e, vs_emit_last(e, VS_LANE_COMPUTE));
    vs_emit_after(e, vs_emit_last(e, VS_LANE_H2D));
    send_weights(e, bytes, tensors);
}

static const struct vs_trained *trained_of(const struct vs_plan *plan, vs_buffer_id grad) {
    for (size_t i = 0; i < plan->trained.count; i++)
        if (plan->trained.at[i].grad == grad)
            return &plan->trained.at[i];
    return NULL;
}

void vs_train_update(struct vs_train *t) {
    struct vs_plan *plan = t->plan;
    double bytes = 0;
    for (size_t i = 0; i < t->fresh_count; i++) {
        const struct vs_trained *one = trained_of(plan, t->fresh[i]);
        for (unsigned s = 0; one && s < one->states; s++)
            vs_emit_ensure(&t->e, one->state[s]);
        bytes += one ? update_bytes(plan, one) : 0;
    }
    if (t->fresh_count > 0) {
        vs_emit_after(&t->e, vs_emit_last(&t->e, VS_LANE_COMM));
        update(&t->e, bytes * passes(t->plan, false), LAUNCHES_PER_TENSOR * (double)t->fresh_count);
    }
    for (size_t i = 0; i < t->fresh_count; i++)
        vs_emit_give(&t->e, t->fresh[i]);
    t->fresh_count = 0;
}

/* What the stack takes once a step whatever the work: nothing, or the engine file's number. */
static void fixed_cost(struct vs_emit *e) {
    double seconds = vs_engine_number(e->plan->c->engine, "step_s", NULL, 0);
    if (seconds > 0 || e->plan->optimizer.in_backward)
        vs_emit_op(e, &(struct vs_op){.kind = VS_WORK_FIXED,
                                      .lane = VS_LANE_COMPUTE,
                                      .what = "step",
                                      .layer = -1,
                                      .cost_s = seconds});
}

static void update_device(struct vs_emit *e) {
    const struct vs_plan *plan = e->plan;
    fixed_cost(e);
    if (plan->optimizer.in_backward)
        return;
    vs_emit_tied_sum(e);
    double bytes = take_states(e);
    if (plan->optimizer_on_disk)
        vs_emit_disk_update(e, bytes * passes(plan, false));
    else if (!plan->optimizer.paged)
        update_at_once(e, bytes);
    vs_emit_disk_weights(e);
    if (plan->optimizer_on_cpu && !plan->streaming)
        copy_up(e);
    gather_weights(e);
}

bool vs_emit_optimizer_step(struct vs_plan *plan, struct vs_phase *phase, struct vs_err *err) {
    struct vs_emit e;
    vs_emit_begin(&e, plan, phase, "optimizer step");
    if (!plan->optimizer.in_backward)
        vs_emit_ensure(&e, plan->reduce_bucket);
    for (unsigned d = 0; d < vs_devices_written(plan); d++) {
        e.device = (uint8_t)d;
        update_device(&e);
    }
    if (plan->optimizer.in_backward)
        return vs_emit_end(&e, err);
    for (size_t i = 0; !plan->keeps_grads && i < plan->trained.count; i++)
        vs_emit_give(&e, plan->trained.at[i].grad);
    if (!plan->shard.weights)
        vs_emit_give(&e, plan->reduce_bucket);
    return vs_emit_end(&e, err);
}
