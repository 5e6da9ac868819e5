/* One micro-step: embedding, layers forward, loss, layers backward (with recomputation where
 * checkpointed). */
#include "plan/train.h"

#include "engine/engine.h"
#include "hw/machine.h"

/* 16-bit reads and writes of the eight kernels of GELU written out, beyond those of one kernel. */
enum { EAGER_GELU_BYTES = 32 };

/* Element-wise traffic of a layer's forward in bytes per token (fitted on A100 training speeds:
 * eager kernels read and write each intermediate, fused ones most of them once). */
static double element_bytes(const struct vs_train *t) {
    double d = (double)t->stream, heads = (double)(t->q + t->kv), f = (double)t->f;
    bool fused = t->plan->fused_kernels || t->plan->compiled;
    double bytes;
    if (t->m->gated_mlp)
        bytes = fused ? 20 * d + 4 * heads + 6 * f : 60 * d + 14 * heads + 10 * f;
    else
        bytes = (fused ? 24 * d : 44 * d) + 4 * heads + (fused ? 6 * f : 8 * f);
    bool eager = !fused && !t->layer_norm;
    double more = t->m->norms_per_layer >= 4 ? 2 * d : 0; /* behind attention and MLP */
    if (t->m->qk_norm != VS_QK_NORM_NONE)
        more += heads;
    bytes += (eager ? 20 : 4) * more; /* as the last norm */
    if (t->activation == VS_ACT_EAGER_GELU)
        bytes += EAGER_GELU_BYTES * f;
    if (vs_train_has(t, VS_CODE_DROPOUT))
        bytes += 10 * d; /* two of them: 16 bit in and out, a mask of a byte */
    if (t->layer_norm && t->autocast && t->rb == 2)
        bytes += 32 * d; /* two norms: to fp32, fp32 in and out, back */
    if (t->casts_norm_input)
        bytes += 16 * d; /* two norms: to fp32, fp32 in */
    if (t->rb > 2)
        bytes += 50 * d;
    return t->cb == 4 ? 2 * bytes : bytes;
}

/* Kernels of a layer, spread evenly over the operations of a pass. Numbers of engines are those of
 * a Llama's; without a gate and with LayerNorm there are 20 for its 26 where they are eager, GELU
 * written out has 7 more, an eager norm 6. */
enum { OPS_PER_LAYER = 7 };

static double relative_launches(const struct vs_train *t) {
    enum { LLAMA = 26, UNGATED = 20, GELU = 7, NORM = 6 };
    if (t->plan->compiled || t->plan->fused_kernels)
        return 1;
    double count = t->m->gated_mlp ? LLAMA : UNGATED;
    if (t->activation == VS_ACT_EAGER_GELU)
        count += GELU;
    if (!t->layer_norm && t->m->norms_per_layer >= 4)
        count += 2 * NORM;
    if (t->m->qk_norm != VS_QK_NORM_NONE)
        count += 2 * NORM;
    return count / LLAMA;
}

static double launches(const struct vs_plan *plan) {
    const char *name = plan->compiled        ? "layer_launches_compiled"
                       : plan->fused_kernels ? "layer_launches_fused"
                                             : "layer_launches";
    return vs_engine_number(plan->c->engine, name, NULL, 0) / OPS_PER_LAYER;
}

bool vs_train_is_latent(const struct vs_train *t, uint32_t layer) {
    return t->m->layer[layer].mixer == VS_MIXER_LATENT;
}

bool vs_train_attention_fp32(const struct vs_train *t) {
    bool unaligned = t->plan->attention == VS_ATTENTION_NAIVE && t->m->head_dim % 8 != 0;
    return t->cb == 4 || unaligned;
}

double vs_train_attention_flops(const struct vs_train *t) {
    bool whole =
        t->plan->attention == VS_ATTENTION_NAIVE || vs_train_has(t, VS_CODE_TRITON_ATTENTION);
    double cells = whole ? (double)t->seq : t->reach;
    return 2.0 * (double)t->tokens * cells * (double)(t->q + t->out);
}

/* Cells that a token of a window sees, on average over a causal sample: w - w^2 / 2s. The width of
 * the MLP that every token takes: the layer's own, or that of its shared experts. */
void vs_train_enter_layer(struct vs_train *t, uint32_t layer) {
    const struct vs_model_layer *l = &t->m->layer[layer];
    uint64_t shared = (uint64_t)t->m->shared_experts * t->m->shared_ffn;
    double window = l->window > 0 && l->window < t->seq ? l->window : (double)t->seq;
    t->reach = window - window * window / (2 * (double)t->seq);
    t->f = vs_part_bytes(l->mlp == VS_MLP_EXPERTS ? shared : l->ffn, t->plan->parallel.tensor);
    t->element_bytes = element_bytes(t);
    vs_train_hooks(t, layer);
}

/* A compiler fuses what the code writes out. Engines with layers of their own keep the model's
 * architecture, but none of the habits of its published code. */
static void read_code(struct vs_train *t) {
    const struct vs_model_code *code = vs_model_code(t->m);
    bool compiled = t->plan->compiled;
    bool own = vs_streq(vs_engine_rule(t->plan->c->engine, "layer_code", "published"), "own");
    t->facts = code->facts;
    if (own)
        t->facts &= VS_CODE_LAYERNORM | VS_CODE_PARALLEL | VS_CODE_UNROTATED;
    bool dropout = vs_streq(vs_engine_rule(t->plan->c->engine, "dropout", "published"), "gpt");
    if (dropout && vs_train_has(t, VS_CODE_LAYERNORM))
        t->facts |= VS_CODE_DROPOUT;
    t->activation = (compiled || own) && code->activation == VS_ACT_EAGER_GELU ? VS_ACT_KERNEL
                                                                               : code->activation;
    t->autocast = vs_is(&t->plan->c->axes, VS_AXIS_PRECISION, "amp");
    t->layer_norm = !compiled && vs_train_has(t, VS_CODE_LAYERNORM);
    t->nb = t->layer_norm && t->autocast ? 4 : t->rb;
}

/* Scales are found and applied by kernels of their own: once for the tensor, by row for both
 * directions of each matrix, or by block. */
static double fp8_cast_bytes(const struct vs_plan *plan) {
    const struct vs_values *axes = &plan->c->axes;
    const char *name = vs_is(axes, VS_AXIS_PRECISION, "mixed-fp8-row") ? "fp8_cast_bytes_row"
                       : vs_is(axes, VS_AXIS_PRECISION, "mixed-mxfp8") ? "fp8_cast_bytes_block"
                       : plan->compiled                                ? "fp8_cast_bytes_compiled"
                                                                       : "fp8_cast_bytes";
    return vs_engine_number(plan->c->engine, name, NULL, 0);
}

/* What engines do otherwise than the Hugging Face layer. */
static void engine_rules(struct vs_train *t) {
    const struct vs_plan *plan = t->plan;
    const struct vs_engine *e = plan->c->engine;
    double launch_s = vs_engine_number(e, "launch_s", NULL, 0);
    double d = (double)t->d, f = (double)t->f;
    t->recompute = 1;
    t->fp8_cast_bytes = plan->precision.fp8 || plan->precision.fp4 ? fp8_cast_bytes(plan) : 0;
    t->tensor_overlap =
        vs_engine_number(e, "tensor_overlap", plan->c->machine->devices[0]->arch.name, 0);
    t->fused_activation = vs_streq(vs_engine_rule(e, "activation", "apart"), "fused");
    t->keeps_operands = (t->plan->precision.fp8 || t->plan->precision.fp4) &&
                        vs_streq(vs_engine_rule(e, "fp8_inputs", "as_given"), "cast");
    t->fused_softmax = vs_streq(vs_engine_rule(e, "softmax", "eager"), "fused");
    t->fused_accumulation = vs_streq(vs_engine_rule(e, "gradient_accumulation", "apart"), "fused");
    t->in_place_mlp = vs_streq(vs_engine_rule(e, "mlp", "autograd"), "in_place");
    t->casts_norm_input =
        t->rb == 2 && vs_streq(vs_engine_rule(e, "norm_input", "as_given"), "fp32");
    if (plan->unit_hooks && launch_s > 0)
        t->gather_launches = vs_engine_number(e, "gather_host_s", NULL, 0) / launch_s;
    if (!plan->adapters)
        return;
    t->kept_extra = vs_engine_number(e, "kept_hidden", NULL, 0) * d;
    if (vs_format_is_quantized(&plan->format))
        t->kept_extra += vs_engine_number(e, "kept_hidden_4bit", NULL, 0) * d +
                         vs_engine_number(e, "kept_ffn_4bit", NULL, 0) * f;
}

/* What one rank has of the model's widths, and of the tokens. */
static void read_shape(struct vs_train *t) {
    const struct vs_model *m = t->m;
    const struct vs_parallel *p = &t->plan->parallel;
    t->seq = vs_train_seq(t->plan->c);
    t->tokens = t->seq * (uint64_t)vs_count(&t->plan->c->axes, VS_AXIS_MICRO_BATCH) / p->context;
    t->d = m->hidden;
    t->stream = p->sequence ? t->d / p->tensor : t->d;
    t->nh = m->heads / p->tensor;
    bool latent = m->mla_kv_rank > 0;
    t->q = t->nh * (latent ? m->mla_nope_dim + m->mla_rope_dim : m->head_dim);
    t->out = latent ? t->nh * m->mla_v_dim : t->q;
    t->kv = latent
                ? t->q
                : (uint64_t)(m->kv_heads > p->tensor ? m->kv_heads / p->tensor : 1) * m->head_dim;
    t->f = vs_part_bytes(m->ffn, p->tensor);
    t->vocab = vs_part_bytes(m->vocab, p->tensor);
}

bool vs_train_begin(struct vs_train *t, struct vs_plan *plan, struct vs_phase *phase,
                    uint32_t first, uint32_t end, struct vs_err *err) {
    const struct vs_model *m = plan->c->model;
    *t = (struct vs_train){.plan = plan, .m = m, .first = first, .end = end, .embeds = first == 0};
    read_shape(t);
    t->cb = plan->precision.compute;
    t->rb = plan->precision.residual;
    read_code(t);
    t->launches = launches(plan) * relative_launches(t);
    t->adapter_launches = vs_engine_number(plan->c->engine, "adapter_launches", NULL, 0);
    t->kept = VS_NEW_ARRAY(plan->arena, struct vs_kept, m->layers);
    t->casts = VS_NEW_ARRAY(plan->arena, vs_buffer_id, plan->weight_count);
    t->stream_grads = VS_NEW_ARRAY(plan->arena, vs_buffer_id, m->layers);
    t->whole_grads = VS_NEW_ARRAY(plan->arena, vs_buffer_id, 2 * plan->weight_count);
    t->parts = VS_NEW_ARRAY(plan->arena, vs_buffer_id, 2 * plan->weight_count);
    t->reduce_input = VS_NO_BUFFER;
    t->fresh = VS_NEW_ARRAY(plan->arena, vs_buffer_id, 2 * plan->weight_count);
    if (!t->kept || !t->casts || !t->stream_grads || !t->whole_grads || !t->parts || !t->fresh)
        return vs_err_nomem(err);
    engine_rules(t);
    t->keeps_stream_grads =
        plan->ranks > 1 && plan->adapters && plan->layers[0].checkpointed &&
        vs_streq(vs_engine_rule(plan->c->engine, "frozen_stream_grads", "freed"), "kept");
    for (size_t i = 0; i < plan->weight_count; i++)
        t->casts[i] = VS_NO_BUFFER;
    vs_emit_begin(&t->e, plan, phase, "micro-step");
    return vs_train_checkpoints_begin(t, err) && vs_fetch_begin(&t->fetch, plan, true, err);
}

/* The embedding's rows are dealt out over the tensor ranks; so its output is a sum. */
static vs_buffer_id embed(struct vs_train *t) {
    vs_buffer_id x = vs_train_take(t, "embedding output", -1, t->rb * t->d);
    vs_train_element(t, "embed_tokens", -1, 2.0 * t->rb * (double)t->d);
    return vs_train_sum(t, -1, "embedding output, summed", x);
}

/* A device map: what follows is on another device, and so is its input (a copy; the old one goes
 * unless a checkpoint is held there). */
static vs_buffer_id go_to_device(struct vs_train *t, uint32_t layer, const char *what,
                                 vs_buffer_id x) {
    uint8_t device = t->plan->layers[layer].device;
    if (!t->plan->parallel.naive || device == t->e.device)
        return x;
    vs_emit_after(&t->e, vs_emit_last(&t->e, VS_LANE_COMPUTE));
    t->e.device = device;
    vs_buffer_id here = vs_train_take(t, what, (int32_t)layer, t->rb * t->stream);
    vs_emit_after(&t->e, vs_emit_collective(&t->e, VS_WORK_SEND, what, (int32_t)layer,
                                            (double)(t->tokens * t->rb * t->stream),
                                            (struct vs_ring){2, 1}));
    vs_emit_give(&t->e, x);
    return here;
}

vs_buffer_id vs_train_forward(struct vs_train *t, vs_buffer_id x) {
    if (t->embeds)
        x = embed(t);
    for (uint32_t layer = t->first; layer < t->end; layer++) {
        const struct vs_layer *l = &t->plan->layers[layer];
        x = go_to_device(t, layer, "hidden state to the next device", x);
        vs_train_checkpoint(t, layer, x);
        vs_fetch_need(&t->fetch, &t->e, layer);
        x = vs_train_layer_forward(t, layer, x, !l->checkpointed, l->segment > 0);
        if (t->e.failed)
            break;
        vs_fetch_done(&t->fetch, &t->e, layer, vs_emit_last(&t->e, VS_LANE_COMPUTE));
        vs_train_checkpoint_leave(t, layer);
    }
    return x;
}

/* Part of a layer's forward that runs again where outputs of operators were kept (set: half of the
 * matrices, the element-wise kernels, no attention). */
static const double RECOMPUTED_BY_OP = 0.45;

/* Runs a checkpointed segment again, now for autograd. */
static void recompute(struct vs_train *t, uint32_t first) {
    uint32_t length = t->plan->layers[first].segment;
    vs_train_checkpoint_need(t, first);
    vs_buffer_id x = t->checkpoint[first];
    t->recompute = t->plan->checkpoint_ops ? RECOMPUTED_BY_OP : 1;
    for (uint32_t i = 0; i < length && !t->e.failed; i++)
        x = vs_train_layer_forward(t, first + i, x, true, i == 0);
    t->recompute = 1;
    vs_emit_give(&t->e, x);
}

static uint32_t segment_start(const struct vs_plan *plan, uint32_t layer) {
    while (plan->layers[layer].segment == 0)
        layer--;
    return layer;
}

/* FSDP1 with frozen weights keeps, until backward ends, the checkpoints and the gradients of the
 * inputs of layers (measured: 2d bytes per token and layer beside the checkpoints; not seen on one
 * device. The hook that reshards a unit without gradients of its own waits for those of its inputs,
 * and holds them: _register_post_backward_reshard_only_hook). What goes to the stage before is not
 * kept. */
static bool keeps_input_grad(const struct vs_train *t, uint32_t layer) {
    return t->keeps_stream_grads && layer < t->end && (t->embeds || layer > t->first);
}

static void drop_stream_grads(struct vs_train *t) {
    for (uint32_t layer = t->first; t->keeps_stream_grads && layer < t->end; layer++) {
        if (keeps_input_grad(t, layer))
            vs_emit_give(&t->e, t->stream_grads[layer]);
        if (t->plan->layers[layer].segment > 0)
            vs_emit_give(&t->e, t->checkpoint[layer]);
    }
}

/* What stands before the first layer. */
static void embedding_backward(struct vs_train *t) {
    t->embedding_done = true;
    for (size_t i = 0; i < t->plan->weight_count; i++) {
        const struct vs_weight *w = &t->plan->weights[i];
        bool other = vs_is_pipelined(&t->plan->parallel) && w->home != vs_gpu_home(t->e.device);
        if (!other && (w->tensor->role == VS_ROLE_EMBED || w->tensor->role == VS_ROLE_POSITIONS))
            vs_train_weight_grad(t, w);
    }
    vs_train_element(t, "embed_tokens backward", -1, 2.0 * t->rb * (double)t->d);
}

vs_buffer_id vs_train_backward(struct vs_train *t, vs_buffer_id grad) {
    uint32_t layers = t->m->layers, ready = t->end; /* layers from here on have been recomputed */
    for (uint32_t layer = t->end; layer-- > t->first && !t->e.failed;) {
        const struct vs_layer *l = &t->plan->layers[layer];
        grad = go_to_device(t, layer, "gradient to the device before", grad);
        uint32_t use = 2 * layers - 1 - layer;
        vs_fetch_need(&t->fetch, &t->e, use);
        if (l->checkpointed && layer < ready) {
            ready = segment_start(t->plan, layer);
            recompute(t, ready);
        }
        t->held_grad = keeps_input_grad(t, layer + 1) ? grad : VS_NO_BUFFER;
        grad = t->stream_grads[layer] = vs_train_layer_backward(t, layer, grad);
        if (l->segment > 0 && !t->keeps_stream_grads)
            vs_emit_give(&t->e, t->checkpoint[layer]);
        vs_fetch_done(&t->fetch, &t->e, use, vs_emit_last(&t->e, VS_LANE_COMPUTE));
        vs_train_reduce(t, (int32_t)layer);
    }
    if (t->embeds)
        embedding_backward(t);
    for (size_t i = 0; i < t->plan->weight_count; i++)
        vs_train_drop_cast(t, &t->plan->weights[i]);
    vs_train_reduce(t, -1);
    if (t->embeds && !keeps_input_grad(t, 0))
        vs_emit_give(&t->e, grad);
    drop_stream_grads(t);
    return t->embeds ? VS_NO_BUFFER : grad;
}

static bool emit(struct vs_plan *plan, struct vs_phase *phase, bool early, struct vs_err *err) {
    struct vs_train t;
    if (!vs_train_begin(&t, plan, phase, 0, plan->c->model->layers, err))
        return false;
    t.early = early;
    vs_buffer_id root = vs_fetch_root(&t.fetch, &t.e);
    vs_buffer_id x = vs_train_forward(&t, VS_NO_BUFFER);
    if (!t.e.failed) {
        t.keep = true;
        vs_buffer_id grad = vs_train_loss(&t, x);
        vs_emit_ensure(&t.e, plan->reduce_bucket);
        vs_train_backward(&t, grad);
    }
    if (!plan->shard.weights)
        vs_emit_give(&t.e, plan->reduce_bucket);
    vs_fetch_end(&t.fetch, &t.e, root);
    return vs_emit_end(&t.e, err);
}

bool vs_emit_micro_step(struct vs_plan *plan, struct vs_phase *phase, struct vs_err *err) {
    return emit(plan, phase, false, err);
}

bool vs_emit_early_micro_step(struct vs_plan *plan, struct vs_phase *phase, struct vs_err *err) {
    return emit(plan, phase, true, err);
}
