/* Reading a Hugging Face config.json: what the files of it share. Within model/ only. */
#ifndef VS_MODEL_HF_H
#define VS_MODEL_HF_H

#include "model/fields.h"

enum vs_hf_trait {
    VS_HF_LAYERNORM = 1 << 0, /* norms have a bias */
    VS_HF_UNGATED = 1 << 1,
    VS_HF_QKV_BIAS = 1 << 2,    /* q, k and v have a bias whatever the file says */
    VS_HF_ALL_BIAS = 1 << 3,    /* q, k, v and o have one unless the file says no */
    VS_HF_BIAS_IS_QKV = 1 << 4, /* "attention_bias" does not mean o */
    VS_HF_MLP_BIAS = 1 << 5,
    VS_HF_HEAD_BIAS = 1 << 6,
    VS_HF_QK_NORM = 1 << 7,       /* over one head, unless "use_qk_norm" says no */
    VS_HF_QK_NORM_ALL = 1 << 8,   /* over all heads */
    VS_HF_QK_NORM_ASKED = 1 << 9, /* over one head, only with "use_qk_norm" */
    VS_HF_NORMS_1 = 1 << 10,      /* attention and MLP side by side, or one of them a layer */
    VS_HF_NORMS_4 = 1 << 11,      /* a norm before and after each */
    VS_HF_TIED = 1 << 12,         /* "tie_word_embeddings" is true where it is missing */
    VS_HF_EMBED_NORM = 1 << 13,
    VS_HF_POSITIONS = 1 << 14,    /* learned, a row for each position */
    VS_HF_FUSED = 1 << 15,        /* q, k and v in one matrix */
    VS_HF_HALF_FFN = 1 << 16,     /* "intermediate_size" counts gate and up together */
    VS_HF_NO_WINDOW = 1 << 17,    /* the class has none, whatever its file says */
    VS_HF_ASKED_WINDOW = 1 << 18, /* only with "use_sliding_window" */
    VS_HF_MOE = 1 << 19,          /* experts, where the file has any */
    VS_HF_MOE_FFN = 1 << 20,      /* "intermediate_size" is that of an expert */
    VS_HF_ROUTER_BIAS = 1 << 21,
    VS_HF_SHARED_GATE = 1 << 22,
    VS_HF_SINKS = 1 << 23,
    VS_HF_OUTPUT_GATE = 1 << 24,
    VS_HF_LAYER_SCALE = 1 << 25,
    VS_HF_MLA = 1 << 26,
    VS_HF_LINEAR = 1 << 27, /* gated DeltaNet */
    VS_HF_MAMBA = 1 << 28,
    VS_HF_GPT = VS_HF_LAYERNORM | VS_HF_UNGATED | VS_HF_ALL_BIAS | VS_HF_MLP_BIAS | VS_HF_NO_WINDOW
};

struct vs_hf_family {
    const char *architecture, *model_type, *family;
    uint32_t traits, period;
};

/* An open file. Keys of a multimodal model stand in "text_config", some of them outside. */
struct vs_hf {
    struct vs_arena *arena;
    const struct vs_json_reader *root;
    const struct vs_json *text; /* "text_config", or the root object */
    const struct vs_hf_family *family;
};

/* The member, in the text part first; NULL where it is missing or null. */
const struct vs_json *vs_hf_member(const struct vs_hf *hf, const char *key);
/* Leave *out as it was where the key is missing or null. */
bool vs_hf_bool(const struct vs_hf *hf, const char *key, bool *out, struct vs_err *err);
bool vs_hf_count(const struct vs_hf *hf, const char *key, uint64_t high, uint32_t *out,
                 struct vs_err *err);
bool vs_hf_trait(const struct vs_hf *hf, enum vs_hf_trait trait);

/* Which layers have windows, experts, linear attention and heads of their own. */
bool vs_hf_read_layers(const struct vs_hf *hf, struct vs_model *model, struct vs_err *err);
/* What only one family does. */
bool vs_hf_tune(const struct vs_hf *hf, struct vs_model *model, struct vs_err *err);

#endif
