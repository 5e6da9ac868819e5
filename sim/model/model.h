/* Model architectures as shapes, their tensors and parameter counts. Knows no devices.
 *
 * A model is read from workloads/models/NAME.json or from a Hugging Face config.json. Its tensors
 * are enumerated one by one in the order of the checkpoint (embedding, layers, final norm, head),
 * each with its Hugging Face name, its GGUF name, its role and its shape; parameter counts are sums
 * over them, never formulas of their own. Everything lives in the arena. */
#ifndef VS_MODEL_MODEL_H
#define VS_MODEL_MODEL_H

#include "base/arena.h"
#include "base/err.h"
#include "model/format.h"

enum vs_role {
    VS_ROLE_EMBED,
    VS_ROLE_POSITIONS,
    VS_ROLE_HEAD,
    VS_ROLE_NORM, /* norms and biases: never quantized */
    VS_ROLE_Q,
    VS_ROLE_K,
    VS_ROLE_V,
    VS_ROLE_O,
    VS_ROLE_GATE,
    VS_ROLE_UP,
    VS_ROLE_DOWN,
    VS_ROLE_ROUTER,
    VS_ROLE_EXPERT_GATE,
    VS_ROLE_EXPERT_UP,
    VS_ROLE_EXPERT_DOWN,
    VS_ROLE_COUNT
};

struct vs_tensor {
    enum vs_role role;
    int32_t layer;         /* -1 outside the layers */
    uint32_t count;        /* equal matrices stored as one (experts); else 1 */
    uint64_t rows, cols;   /* [out, in]; a vector has rows 1 */
    const char *name;      /* "model.layers.3.mlp.down_proj.weight" */
    const char *gguf_name; /* "blk.3.ffn_down.weight" */
};

struct vs_model {
    const char *name, *hf_id, *family, *file;
    uint32_t layers, hidden, heads, kv_heads, head_dim, ffn, vocab, max_ctx;
    bool tied_embeddings, gated_mlp;
    bool attn_bias, attn_out_bias, mlp_bias;   /* of q, k and v; of o; of the MLP's matrices */
    bool norm_bias;                            /* LayerNorm with weight and bias, not RMSNorm */
    bool qk_norm;                              /* a norm of head_dim on q and on k */
    uint32_t learned_positions;                /* rows; 0 = none */
    uint32_t experts, experts_active, moe_ffn; /* 0 = dense */
    uint32_t window; /* sliding window of the layers that have one; 0 = none */
    const struct vs_tensor *tensors;
    size_t tensor_count;
    uint64_t params_total, params_active;
    uint64_t params_linear; /* linears inside the layers */
};

/* A built-in name or alias, a HF id, or a path to a config.json / one of our files. The published
 * `params_total` of the file, where given, is checked against the tensors. */
bool vs_model_load(struct vs_arena *arena, const char *name_or_file, const struct vs_model **model,
                   struct vs_err *err);

/* A copy with a number replaced (`--set model.experts_active=6`); path without "model.". */
bool vs_model_override(struct vs_arena *arena, const struct vs_model **model, const char *path,
                       const char *value, struct vs_err *err);

uint64_t vs_tensor_params(const struct vs_tensor *tensor);
/* A matrix inside a layer that is multiplied with activations. */
bool vs_role_is_linear(enum vs_role role);

/* The type in which a format stores this tensor: GGUF mixes tensor by tensor, bitsandbytes and GPTQ
 * leave embeddings, head and norms in `rest` (the load type; NULL = fp16, as transformers loads a
 * quantized model without a dtype), norms stay as the format says. */
const struct vs_type *vs_tensor_type(const struct vs_model *model, const struct vs_tensor *tensor,
                                     const struct vs_format *format, const struct vs_type *rest);
/* Bytes of the tensor so stored (count included). */
uint64_t vs_tensor_bytes(const struct vs_model *model, const struct vs_tensor *tensor,
                         const struct vs_format *format, const struct vs_type *rest);

/* KV bytes of `cells` tokens of one layer for K and V types; sliding windows are the caller's
 * concern. */
uint64_t vs_kv_layer_bytes(const struct vs_model *model, uint32_t layer, uint64_t cells,
                           const struct vs_type *k, const struct vs_type *v);
/* The window of a layer, 0 = full attention. */
uint32_t vs_layer_window(const struct vs_model *model, uint32_t layer);

#endif
