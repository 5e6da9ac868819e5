/* Model architectures as shapes, their tensors and parameter counts. Knows no devices.
 *
 * A model is read from workloads/models/NAME.json or from a Hugging Face config.json. Its tensors
 * are enumerated one by one in the order of the checkpoint (embedding, layers, final norm, head),
 * each with its Hugging Face name, its GGUF name, its role and its shape; parameter counts are sums
 * over them, never formulas of their own. Names are those of the Llama layout whatever the
 * checkpoint calls them, and matrices that some checkpoints fuse (q, k, v; gate, up) stand apart:
 * bytes and FLOPs are the same. Everything lives in the arena.
 *
 * A plan needs to know of a layer: `layer[i]` (what mixes tokens, what the MLP is, its window),
 * vs_kv_layer_bytes (grows with the cells) and vs_state_layer_bytes (constant per sequence); of a
 * tensor: `role`, `count` (experts) and vs_tensor_active_params. vs_model_unsupported names what
 * no plan expresses yet. */
#ifndef VS_MODEL_MODEL_H
#define VS_MODEL_MODEL_H

#include "base/arena.h"
#include "base/err.h"
#include "model/format.h"

enum vs_role {
    VS_ROLE_EMBED,
    VS_ROLE_POSITIONS,
    VS_ROLE_HEAD,
    VS_ROLE_NORM, /* norms, biases and other small tensors: never quantized */
    VS_ROLE_Q,
    VS_ROLE_K,
    VS_ROLE_V,
    VS_ROLE_O,
    VS_ROLE_GATE,
    VS_ROLE_UP,
    VS_ROLE_DOWN,
    VS_ROLE_ROUTER, /* chooses experts; also the gate of a shared expert */
    VS_ROLE_EXPERT_GATE,
    VS_ROLE_EXPERT_UP,
    VS_ROLE_EXPERT_DOWN,
    VS_ROLE_SHARED_GATE, /* the expert that every token takes, beside the routed ones */
    VS_ROLE_SHARED_UP,
    VS_ROLE_SHARED_DOWN,
    VS_ROLE_Q_A, /* latent attention: hidden to the rank of q, and from it to the heads */
    VS_ROLE_Q_B,
    VS_ROLE_KV_A,        /* hidden to the latent that is cached (and the rotated part of k) */
    VS_ROLE_KV_B,        /* the latent to k and v of all heads */
    VS_ROLE_INDEX,       /* chooses the tokens that sparse attention looks at */
    VS_ROLE_STATE_IN,    /* linear attention and Mamba: into the recurrence, */
    VS_ROLE_STATE_OUT,   /* and out of it */
    VS_ROLE_BRIDGE,      /* into and out of a narrower space: latent experts, per-layer inputs */
    VS_ROLE_LAYER_EMBED, /* a row per token for every layer: looked up, not multiplied */
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

/* What lets tokens see each other. */
enum vs_mixer {
    VS_MIXER_ATTENTION,
    VS_MIXER_LATENT, /* MLA: one latent vector per token is cached for all heads */
    VS_MIXER_CROSS,  /* attention to an image: no cache that grows with the text */
    VS_MIXER_LINEAR, /* gated DeltaNet: a state of constant size */
    VS_MIXER_MAMBA,  /* Mamba-2: the same */
    VS_MIXER_NONE
};

enum vs_mlp { VS_MLP_DENSE, VS_MLP_EXPERTS, VS_MLP_NONE };

struct vs_model_layer {
    uint8_t mixer, mlp;          /* enum vs_mixer, enum vs_mlp */
    bool chunked;                /* the window is a chunk: no look across its multiples */
    bool k_is_v;                 /* no v matrix: v is k before its rotation */
    bool borrows_kv;             /* reads the cache of an earlier layer, has none of its own */
    uint32_t window;             /* 0 = full attention */
    uint32_t kv_heads, head_dim; /* of this layer's attention */
    uint32_t ffn;                /* of its dense MLP; 0 = none */
    uint32_t v_index; /* how many layers with a v matrix stand before: GGUF mixes count */
};

/* Sets of layers. */
enum vs_layer_set_id {
    VS_SET_WINDOW,
    VS_SET_CROSS,
    VS_SET_LINEAR,
    VS_SET_MAMBA,
    VS_SET_OWN_HEADS, /* kv_heads and head_dim of their own */
    VS_SET_EXPERTS,
    VS_SET_NO_MIXER,
    VS_SET_NO_MLP,
    VS_SET_COUNT
};

/* member[i] for the first `count` layers; then from the start again, or the last one for ever. */
struct vs_layer_set {
    const uint8_t *member;
    uint32_t count; /* 0 = no layer */
    bool repeats;
};

enum vs_qk_norm {
    VS_QK_NORM_NONE,
    VS_QK_NORM_HEAD, /* a norm of head_dim on q and on k */
    VS_QK_NORM_ALL   /* one over all heads of q, one over all of k */
};

struct vs_model {
    const char *name, *hf_id, *family, *file;
    /* The weight format of the published files where they are quantized ("fp8", "mxfp4",
     * "gptq4:64", as vs_format_parse reads it), from "quantization_config" or our file; NULL where
     * they are 16-bit. */
    const char *stored_format;
    bool fp8_blocks; /* its files in fp8 are scaled by blocks of 128 x 128, not by tensors */
    uint32_t layers, hidden, heads, kv_heads, head_dim, ffn, vocab;
    uint32_t max_ctx; /* 0 = not stated */
    bool tied_embeddings, gated_mlp;
    bool attn_bias, attn_out_bias, mlp_bias; /* of q, k and v; of o; of the MLP's matrices */
    bool norm_bias;                          /* LayerNorm with weight and bias, not RMSNorm */
    enum vs_qk_norm qk_norm;
    uint32_t learned_positions;                /* rows; 0 = none */
    uint32_t experts, experts_active, moe_ffn; /* 0 = dense */
    uint32_t window; /* sliding window or chunk of the layers that have one; 0 = none */
    bool window_is_chunk;

    uint32_t norms_per_layer; /* 1: attention and MLP read the same; 4: also after each; 7: and
                                 three around the experts beside a dense MLP */
    uint32_t embed_rows;      /* of the embedding where it has more than `vocab`; else 0 */
    bool embed_norm, head_bias;
    bool attn_sinks;       /* a logit per head that takes attention from nowhere */
    bool attn_output_gate; /* q is twice as wide: its second half gates the output */
    bool layer_scale;      /* one number per layer */
    bool fused_qkv;        /* stored as one matrix: GGUF mixes give it one type */

    uint32_t shared_experts, shared_ffn; /* `shared_ffn` wide each */
    uint32_t moe_latent;                 /* experts work in a space of this width; 0 = hidden */
    bool shared_gate, router_bias, router_scales;

    uint32_t mla_q_rank, mla_kv_rank, mla_rope_dim, mla_nope_dim, mla_v_dim;
    uint32_t index_heads, index_dim, index_topk; /* sparse attention; 0 = none */

    uint32_t linear_k_heads, linear_v_heads, linear_k_dim, linear_v_dim, linear_conv;
    uint32_t mamba_heads, mamba_head_dim, mamba_groups, mamba_state, mamba_conv;

    uint32_t own_kv_heads, own_head_dim; /* of the layers of VS_SET_OWN_HEADS */
    bool own_k_is_v;
    uint32_t kv_borrowers;    /* the last layers, which borrow the cache of earlier ones */
    bool borrowers_wide_mlp;  /* their MLP is twice as wide */
    uint32_t per_layer_input; /* width of the embedding that each layer has of its own */

    struct vs_layer_set sets[VS_SET_COUNT];
    const struct vs_model_layer *layer; /* [layers] */
    uint32_t v_layers;                  /* layers with a v matrix */

    const struct vs_tensor *tensors;
    size_t tensor_count;
    uint64_t params_total, params_active; /* active: what one token uses */
    uint64_t params_linear;               /* linears inside the layers */
};

/* A built-in name or alias, a HF id, or a path to a config.json / one of our files. The published
 * `params_total` of the file, where given, is checked against the tensors. */
bool vs_model_load(struct vs_arena *arena, const char *name_or_file, const struct vs_model **model,
                   struct vs_err *err);

/* A copy with a number replaced (`--set model.experts_active=6`); path without "model.". */
bool vs_model_override(struct vs_arena *arena, const struct vs_model **model, const char *path,
                       const char *value, struct vs_err *err);

/* Layers of this kind in words ("linear-attention layers"), or NULL where the model has none. */
const char *vs_model_mixers(const struct vs_model *model, enum vs_mixer mixer);

/* What no plan expresses yet, as in "cross-attention layers"; NULL where there is nothing. */
const char *vs_model_unsupported(const struct vs_model *model);

uint64_t vs_tensor_params(const struct vs_tensor *tensor);
/* The part of them that one token uses: of experts, the active ones. */
uint64_t vs_tensor_active_params(const struct vs_model *model, const struct vs_tensor *tensor);
/* A matrix inside a layer that is multiplied with activations. */
bool vs_role_is_linear(enum vs_role role);
/* A matrix of the MLP: dense, routed or shared. */
bool vs_role_is_mlp(enum vs_role role);
/* A matrix of the routed experts. */
bool vs_role_is_expert(enum vs_role role);

/* The type in which a format stores this tensor: GGUF mixes tensor by tensor, bitsandbytes and GPTQ
 * leave embeddings, head and norms in `rest` (the load type; NULL = fp16, as transformers loads a
 * quantized model without a dtype), norms stay as the format says. */
const struct vs_type *vs_tensor_type(const struct vs_model *model, const struct vs_tensor *tensor,
                                     const struct vs_format *format, const struct vs_type *rest);
/* Bytes of the tensor so stored (count included). */
uint64_t vs_tensor_bytes(const struct vs_model *model, const struct vs_tensor *tensor,
                         const struct vs_format *format, const struct vs_type *rest);

/* KV bytes of `cells` tokens of one layer for K and V types; sliding windows are the caller's
 * concern. Latent attention: the latent and the rotated part of k, once, in the type of K (and the
 * key of the indexer, where there is one). 0 for layers without a cache of their own. */
uint64_t vs_kv_layer_bytes(const struct vs_model *model, uint32_t layer, uint64_t cells,
                           const struct vs_type *k, const struct vs_type *v);
/* The same for engines that cache k and v of all heads in full, as latent attention is run without
 * absorption; equal to vs_kv_layer_bytes for all other layers. */
uint64_t vs_kv_expanded_layer_bytes(const struct vs_model *model, uint32_t layer, uint64_t cells,
                                    const struct vs_type *k, const struct vs_type *v);
/* Bytes of state that one sequence keeps in a layer, however long it is: the last inputs of the
 * convolution in type `conv`, the recurrent state in type `state` (llama.cpp: both fp32). */
uint64_t vs_state_layer_bytes(const struct vs_model *model, uint32_t layer,
                              const struct vs_type *conv, const struct vs_type *state);
/* The window of a layer, 0 = full attention. */
uint32_t vs_layer_window(const struct vs_model *model, uint32_t layer);

#endif
