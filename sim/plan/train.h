/* Phases of training: what the host issues for one micro-step and for one optimizer step.
 *
 * Activations follow what autograd keeps for a Hugging Face layer, tensor by tensor, so that the
 * peak of a phase is what the allocator finds, not a sum made beforehand. T = tokens of one
 * micro-step. */
#ifndef VS_PLAN_TRAIN_H
#define VS_PLAN_TRAIN_H

#include "model/code.h"
#include "plan/emit.h"
#include "plan/fetch.h"

/* Where in a layer a tensor is kept for backward; freed when backward has passed the place. */
enum vs_keep {
    VS_KEEP_NORM1,
    VS_KEEP_QKV_IN,
    VS_KEEP_QK_NORM,
    VS_KEEP_LATENT,
    VS_KEEP_ATTENTION,
    VS_KEEP_CORE, /* what the core of attention leaves, where backward runs it again */
    VS_KEEP_O_IN,
    VS_KEEP_POST1, /* dropout or norm behind attention */
    VS_KEEP_NORM2,
    VS_KEEP_GATE_UP_IN,
    VS_KEEP_ACT,
    VS_KEEP_DOWN_IN,
    VS_KEEP_POST2, /* the same behind the MLP */
    VS_KEEP_ROUTE, /* of a mixture of experts */
    VS_KEEP_EXPERT_IN,
    VS_KEEP_EXPERT_ACT,
    VS_KEEP_EXPERT_OUT,
    VS_KEEP_COUNT
};
enum { VS_KEPT_MAX = 16 };

struct vs_kept {
    vs_buffer_id at[VS_KEEP_COUNT][VS_KEPT_MAX];
    uint8_t count[VS_KEEP_COUNT];
};

/* One micro-step while it is being written. */
struct vs_train {
    struct vs_emit e;
    struct vs_plan *plan;
    const struct vs_model *m;
    uint32_t first, end;  /* layers of this pass: all, or those of a stage of a pipeline */
    bool embeds;          /* and the embedding before them */
    uint64_t tokens, seq; /* T, and tokens per sample */
    uint64_t d; /* hidden; then what this rank has of heads*head_dim, kv_heads*head_dim, */
    uint64_t q, kv, f, nh, vocab; /* ffn, heads and vocabulary */
    uint64_t out;    /* elements of attention's output to a token: q, but for latent attention */
    double reach;    /* cells that a token attends to, on average */
    uint64_t stream; /* elements of the residual stream to a token: d; where it is split by tokens,
                        this rank's part of them */
    unsigned cb, rb; /* bytes of an activation inside a layer, in the residual stream */
    unsigned nb;     /* bytes of the output of a norm of the stream */
    enum vs_activation activation;
    uint32_t facts;          /* of enum vs_code_fact */
    bool autocast;           /* operations that need it run in fp32: norms, powers, softmax */
    bool layer_norm;         /* norms are one kernel that keeps its input */
    double element_bytes;    /* element-wise traffic of a layer's forward, per token */
    double launches;         /* kernels of one operation of a layer */
    double adapter_launches; /* kernels of one adapter's forward */
    bool keep;               /* autograd records what runs now */
    struct vs_kept *kept;    /* per layer */
    vs_buffer_id
        *checkpoint; /* per layer: the input of the segment that starts there, while held */
    vs_buffer_id *on_host, *op_outputs; /* per layer: see train_checkpoint.c */
    uint32_t window;                    /* checkpoints on the GPU at once, where they leave it */
    double recompute;  /* part of forward's work that runs now: 1, less where outputs were kept */
    double kept_extra; /* bytes per token that a layer keeps beyond what its operations need */
    double gather_launches; /* kernels whose issue takes as long as the hooks of sharded units */
    double
        fp8_cast_bytes; /* traffic of casting one element to 8 bit; 0 = matrices stay in 16 bit */
    double tensor_overlap;   /* part of a collective over tensor ranks that runs beside products */
    bool fused_activation;   /* activation and product of a gated MLP are one kernel */
    bool keeps_operands;     /* matrices in 8 bit keep their 8-bit inputs, not the 16-bit ones */
    bool fused_softmax;      /* scale, mask and softmax of written-out attention are one kernel */
    bool fused_accumulation; /* products of weight gradients add to the gradients themselves */
    bool in_place_mlp;       /* gradients of the MLP overwrite what forward kept */
    bool casts_norm_input;   /* norms of a 16-bit stream read an fp32 copy of it */
    vs_buffer_id *fresh;     /* gradients that wait for the optimizer, where it runs in backward */
    size_t fresh_count;
    bool early;                /* gradients stay with their rank */
    bool embedding_done;       /* backward has reached the embedding */
    vs_buffer_id *casts;       /* per weight: autocast's 16-bit copy, while held */
    vs_buffer_id *whole_grads; /* of the unit whose backward runs, before they are reduced, */
    vs_buffer_id *parts;       /* and what their rank keeps of each */
    size_t whole_grad_count;
    vs_buffer_id reduce_input; /* of the unit that was reduced last: see train_reduce.c */
    uint64_t whole_grad_bytes;
    double added_bytes; /* traffic of adding the unit's gradients to those of earlier micro-steps */
    bool keeps_stream_grads;
    vs_buffer_id *stream_grads; /* per layer: of its input */
    vs_buffer_id held_grad;     /* of the output of the layer whose backward runs, if it stays */
    struct vs_fetch fetch;      /* weights that do not live on the GPU */
};

/* Creates the buffers of gradients, master copies and optimizer states. Call once, after the
 * strategies. */
bool vs_plan_train_buffers(struct vs_plan *plan, struct vs_err *err);

/* One micro-step: forward, loss, backward, gradients to the ranks that own them. */
bool vs_emit_micro_step(struct vs_plan *plan, struct vs_phase *phase, struct vs_err *err);

/* The same before the last one of a step, where ranks hold whole gradients: those are summed over
 * the ranks once a step. */
static inline bool vs_has_early_micro_steps(const struct vs_plan *plan) {
    return plan->ranks > 1 && !plan->shard.grads;
}
bool vs_emit_early_micro_step(struct vs_plan *plan, struct vs_phase *phase, struct vs_err *err);

/* The parts of a micro-step (train_step.c). begin: for layers [first, end), on device 0;
 * what is emitted goes to `phase`; `embeds` is true where the first layer is the model's. forward:
 * takes the input of the first layer, or makes it from token ids where it embeds, and returns the
 * last output. backward: takes its gradient, returns that of the input, VS_NO_BUFFER behind the
 * embedding. */
bool vs_train_begin(struct vs_train *t, struct vs_plan *plan, struct vs_phase *phase,
                    uint32_t first, uint32_t end, struct vs_err *err);
vs_buffer_id vs_train_forward(struct vs_train *t, vs_buffer_id x);
vs_buffer_id vs_train_backward(struct vs_train *t, vs_buffer_id grad);

/* One optimizer step: states are made where they do not exist, gradients are given back at its end.
 */
bool vs_emit_optimizer_step(struct vs_plan *plan, struct vs_phase *phase, struct vs_err *err);

/* Tokens of a sample: no longer than the model's learned positions, at which data are cut. */
uint64_t vs_train_seq(const struct vs_case *c);

/* --- parts, one file each --- */
/* Forward of a layer; keeps for backward when `keep`. Takes over `x` unless a checkpoint holds it
 * (`held`); returns the output. */
vs_buffer_id vs_train_layer_forward(struct vs_train *t, uint32_t layer, vs_buffer_id x, bool keep,
                                    bool held);
/* Backward of a layer whose tensors are kept; takes over the gradient of its output, returns that
 * of its input. */
vs_buffer_id vs_train_layer_backward(struct vs_train *t, uint32_t layer, vs_buffer_id grad);
/* Latent attention (train_latent.c): q, k and v of all heads through narrower spaces, into qkv[];
 * and the gradient of their common input from theirs, which are given back. */
void vs_train_latent_forward(struct vs_train *t, uint32_t layer, vs_buffer_id qkv[3], bool keep);
vs_buffer_id vs_train_latent_backward(struct vs_train *t, uint32_t layer, vs_buffer_id qkv[3]);

/* Sets what differs between layers, and the hooks of the layer; call first in each pass over one.
 */
void vs_train_enter_layer(struct vs_train *t, uint32_t layer);
/* Routed experts of a layer (train_experts.c): from the norm's output, which stays the caller's, to
 * the weighted sum; backward to the gradient of their input, while that of their output is the
 * stream's. */
vs_buffer_id vs_train_experts_forward(struct vs_train *t, uint32_t layer, bool keep);
vs_buffer_id vs_train_experts_backward(struct vs_train *t, uint32_t layer);
/* What a matrix keeps of its input x for its weight gradient: x, or by 8-bit products their 8-bit
 * operand alone, of `width` elements to a token; x is given back then. */
vs_buffer_id vs_train_as_operand(struct vs_train *t, uint32_t layer, vs_buffer_id x, uint64_t width,
                                 bool keep);
/* The core of attention runs again before its backward, where only its inputs were kept. */
void vs_train_core_again(struct vs_train *t, uint32_t layer);
/* Final norm, head and loss, forward and backward; takes over the last hidden state, returns its
 * gradient. */
vs_buffer_id vs_train_loss(struct vs_train *t, vs_buffer_id x);
/* The gradient of a trainable tensor, or of an adapter, appears. */
void vs_train_weight_grad(struct vs_train *t, const struct vs_weight *w);
void vs_train_adapter_grad(struct vs_train *t, const struct vs_weight *w);
/* Backward is through with a unit (a layer; -1: what stands outside): its gradients go to the ranks
 * that own them, or are summed over all. */
void vs_train_reduce(struct vs_train *t, int32_t layer);
void vs_train_drop_cast(struct vs_train *t, const struct vs_weight *w);

/* Norms, dropout and activations as the model's own code runs them (train_code.c).
 * keep: `place` takes over what backward needs, which may be the input itself; else it is given
 * back, unless `held` by the caller. */
struct vs_norm_input {
    vs_buffer_id x;
    uint64_t width;
    unsigned bytes; /* per element */
    bool held;      /* the caller gives it back, or keeps it with vs_train_keeps_norm_input */
};
vs_buffer_id vs_train_norm(struct vs_train *t, uint32_t layer, enum vs_keep place,
                           struct vs_norm_input in, bool keep);
bool vs_train_keeps_norm_input(const struct vs_train *t, unsigned bytes);
/* What stands between a branch and the residual add: dropout, a norm. */
vs_buffer_id vs_train_post(struct vs_train *t, uint32_t layer, enum vs_keep place,
                           vs_buffer_id branch, bool keep);
vs_buffer_id vs_train_post_backward(struct vs_train *t, uint32_t layer, enum vs_keep place);
/* The activation of an MLP without a gate; takes over its input. */
vs_buffer_id vs_train_activation(struct vs_train *t, uint32_t layer, vs_buffer_id x, bool keep);
vs_buffer_id vs_train_activation_backward(struct vs_train *t, uint32_t layer, vs_buffer_id grad);
vs_buffer_id vs_train_norm_input_grad(struct vs_train *t, uint32_t layer, uint64_t width,
                                      unsigned bytes, vs_buffer_id grad);
bool vs_train_is_latent(const struct vs_train *t, uint32_t layer);
/* FLOPs of the core of attention forward: of the cells that a token sees where it is fused, of all
 * where scores are written out. */
double vs_train_attention_flops(const struct vs_train *t);
/* Do the core's products run in fp32? Tensor cores take 16-bit rows in eights (NVIDIA cuBLAS:
 * tensor core usage): written-out attention of other heads runs on the other units. */
bool vs_train_attention_fp32(const struct vs_train *t);
bool vs_train_has(const struct vs_train *t, enum vs_code_fact fact);
/* Moves a buffer to where backward frees it, or gives it back. */
void vs_train_keep_or_give(struct vs_train *t, uint32_t layer, enum vs_keep place, vs_buffer_id id,
                           bool needed);
void vs_train_free_kept(struct vs_train *t, uint32_t layer, enum vs_keep place);
/* Updates every tensor whose gradient is fresh, and frees the gradients (optimizer_step.c). */
void vs_train_update(struct vs_train *t);

/* Checkpoints: begin; hold x as the input of `layer` where a segment starts there; after the
 * layer's forward; before the segment that starts at `first` runs again. */
bool vs_train_checkpoints_begin(struct vs_train *t, struct vs_err *err);
void vs_train_checkpoint(struct vs_train *t, uint32_t layer, vs_buffer_id x);
void vs_train_checkpoint_leave(struct vs_train *t, uint32_t layer);
void vs_train_checkpoint_need(struct vs_train *t, uint32_t first);

/* Tensor and context parallelism (train_parallel.c). Without ranks that share a layer all of these
 * do nothing and return what they were given.
 * whole: the stream's tensor of all tokens, from the parts that the ranks have by sequence
 * parallelism; VS_NO_BUFFER where each has it whole anyway. */
vs_buffer_id vs_train_whole(struct vs_train *t, int32_t layer, const char *what);
/* A gather of the stream's tokens over the tensor ranks; what follows waits for it. */
void vs_train_gather_over_tensor(struct vs_train *t, int32_t layer, const char *what);
/* Adds up the ranks' parts of a branch's output; takes over `part`, returns this rank's share. */
vs_buffer_id vs_train_sum(struct vs_train *t, int32_t layer, const char *what, vs_buffer_id part);
/* Input gradients of matrices dealt out by their outputs, summed over the ranks while weight
 * gradients are made; takes over `part`, returns this rank's share of the sum. */
vs_buffer_id vs_train_summed_backward(struct vs_train *t, const char *what, int32_t layer,
                                      struct vs_weight *const *w, size_t count, bool trained,
                                      vs_buffer_id part);
/* Keys and values of the other context ranks, or the exchange of heads, around attention. Begin
 * before its operation, end behind it. */
vs_buffer_id vs_train_context_begin(struct vs_train *t, uint32_t layer, bool backward);
void vs_train_context_end(struct vs_train *t, uint32_t layer, bool backward, vs_buffer_id other);

/* Helpers that forward and backward share. */
struct vs_weight *vs_layer_weight(struct vs_plan *plan, uint32_t layer, enum vs_role role);
vs_buffer_id vs_train_take(struct vs_train *t, const char *what, int32_t layer,
                           uint64_t bytes_per_token);
/* Work on a matrix: dequantization, autocast copies, then the GEMM. passes: 1 forward or input
 * gradient, 2 input and weight gradients. */
void vs_train_gemm(struct vs_train *t, const char *what, int32_t layer, struct vs_weight *const *w,
                   size_t count, double passes);
void vs_train_hooks(struct vs_train *t, uint32_t layer);
void vs_train_element(struct vs_train *t, const char *what, int32_t layer, double bytes_per_token);

#endif
