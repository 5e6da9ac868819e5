/* The rules of llama_tensor_get_type, src/llama-quant.cpp of ggerganov/llama.cpp @c392e509
 * (2025-02). Experts, routed or shared, follow the same rules by name as a dense MLP. I-quants are
 * taken as made with an importance matrix, all others without one: so are the files whose sizes are
 * published (tests/unit/test_format.c holds them). */
#include "model/gguf_mix.h"

#include <string.h>

#include "model/types.h"

struct mix_case {
    enum vs_mix mix;
    enum vs_type_id base;
    uint32_t layer, layers;
    bool shares_kv;     /* at least 4 query heads to a KV head */
    bool eight_experts; /* Mixtral: attention is small beside the experts */
    bool is_70b;
};

/* Early and late layers and every third between them. */
static bool gets_more_bits(const struct mix_case *c) {
    const uint32_t eighth = c->layers / 8;
    return c->layer < eighth || c->layer >= 7 * c->layers / 8 || (c->layer - eighth) % 3 == 2;
}

static bool in_first_eighth(const struct mix_case *c) { return c->layer < c->layers / 8; }

static bool is_low(enum vs_mix mix) {
    return mix == VS_MIX_IQ1 || mix == VS_MIX_IQ2_XS || mix == VS_MIX_IQ2_M;
}

static enum vs_type_id output_type(const struct mix_case *c, uint64_t cols) {
    if (c->mix == VS_MIX_FLOAT)
        return c->base;
    if (cols % vs_types[c->base].block_elements != 0)
        return VS_TYPE_Q8_0;
    if (is_low(c->mix) || c->mix == VS_MIX_IQ3_XXS)
        return VS_TYPE_Q5_K;
    return c->base == VS_TYPE_Q8_0 ? VS_TYPE_Q8_0 : VS_TYPE_Q6_K;
}

static enum vs_type_id embed_type(const struct mix_case *c) {
    switch (c->mix) {
    case VS_MIX_IQ1:
    case VS_MIX_IQ2_XS:
        return VS_TYPE_Q2_K;
    case VS_MIX_IQ2_M:
    case VS_MIX_IQ3_XXS:
        return VS_TYPE_IQ3_S;
    case VS_MIX_TQ:
        return VS_TYPE_Q4_K;
    default:
        return c->base;
    }
}

/* iq1 and iq2: the tensors that matter most are lifted, all others stay at the base. */
static enum vs_type_id low_type(const struct mix_case *c, enum vs_role role) {
    const enum vs_type_id lifted = c->mix == VS_MIX_IQ2_M ? VS_TYPE_IQ3_S : VS_TYPE_Q2_K;

    switch (role) {
    case VS_ROLE_V:
        return c->shares_kv || c->eight_experts ? VS_TYPE_Q4_K : lifted;
    case VS_ROLE_K:
        return c->eight_experts ? VS_TYPE_Q4_K : c->base;
    case VS_ROLE_DOWN:
    case VS_ROLE_EXPERT_DOWN:
    case VS_ROLE_SHARED_DOWN:
        return in_first_eighth(c) ? lifted : c->base;
    case VS_ROLE_O:
        if (c->eight_experts)
            return VS_TYPE_Q5_K;
        if (c->mix == VS_MIX_IQ1)
            return VS_TYPE_IQ2_XXS;
        return c->mix == VS_MIX_IQ2_M ? VS_TYPE_IQ3_S : c->base;
    default:
        return c->base;
    }
}

static enum vs_type_id v_type(const struct mix_case *c) {
    switch (c->mix) {
    case VS_MIX_Q2_K:
        return c->shares_kv ? VS_TYPE_Q4_K : VS_TYPE_Q3_K;
    case VS_MIX_Q2_K_S:
    case VS_MIX_IQ3_XXS:
    case VS_MIX_IQ3_XS:
    case VS_MIX_IQ3_S:
        return c->shares_kv ? VS_TYPE_Q4_K : c->base;
    case VS_MIX_IQ3_M:
        return VS_TYPE_Q4_K;
    case VS_MIX_Q3_K_M:
        return c->layer < 2 ? VS_TYPE_Q5_K : VS_TYPE_Q4_K;
    case VS_MIX_Q3_K_L:
        return VS_TYPE_Q5_K;
    case VS_MIX_IQ4:
        return c->shares_kv ? VS_TYPE_Q5_K : c->base;
    case VS_MIX_Q4_K_M:
    case VS_MIX_Q5_K_M:
        return gets_more_bits(c) ? VS_TYPE_Q6_K : c->base;
    case VS_MIX_Q4_K_S:
        return c->layer < 4 ? VS_TYPE_Q5_K : c->base;
    default:
        return c->base;
    }
}

static enum vs_type_id qk_type(const struct mix_case *c) {
    if (c->mix == VS_MIX_IQ3_XS)
        return VS_TYPE_IQ3_XXS;
    return c->mix == VS_MIX_IQ3_XXS ? VS_TYPE_IQ2_S : c->base;
}

static enum vs_type_id down_type(const struct mix_case *c) {
    switch (c->mix) {
    case VS_MIX_Q2_K:
        return VS_TYPE_Q3_K;
    case VS_MIX_Q2_K_S:
        return in_first_eighth(c) ? VS_TYPE_Q4_K : c->base;
    case VS_MIX_Q3_K_M:
        return c->layer < c->layers / 16 ? VS_TYPE_Q5_K : VS_TYPE_Q4_K;
    case VS_MIX_IQ3_M:
        return in_first_eighth(c) || (c->eight_experts && gets_more_bits(c)) ? VS_TYPE_Q4_K
                                                                             : c->base;
    case VS_MIX_Q3_K_L:
        return VS_TYPE_Q5_K;
    case VS_MIX_Q4_K_M:
    case VS_MIX_Q5_K_M:
        return gets_more_bits(c) ? VS_TYPE_Q6_K : c->base;
    case VS_MIX_Q4_K_S:
        return in_first_eighth(c) ? VS_TYPE_Q5_K : c->base;
    default:
        return c->base;
    }
}

static enum vs_type_id o_type(const struct mix_case *c) {
    if (c->eight_experts)
        return c->mix >= VS_MIX_Q2_K && c->mix != VS_MIX_Q2_K_S && c->mix != VS_MIX_Q3_K_L &&
                       c->mix != VS_MIX_Q5_K_M
                   ? VS_TYPE_Q5_K
                   : c->base;
    switch (c->mix) {
    case VS_MIX_Q2_K:
        return VS_TYPE_Q3_K;
    case VS_MIX_IQ3_XXS:
        return VS_TYPE_IQ3_S;
    case VS_MIX_Q3_K_M:
    case VS_MIX_IQ3_M:
        return VS_TYPE_Q4_K;
    case VS_MIX_Q3_K_L:
        return VS_TYPE_Q5_K;
    default:
        return c->base;
    }
}

static enum vs_type_id gate_up_type(const struct mix_case *c) {
    const bool middle = !in_first_eighth(c) && c->layer < 7 * c->layers / 8;
    return c->mix == VS_MIX_IQ3_XS && middle ? VS_TYPE_IQ3_XXS : c->base;
}

/* q, k and v in one matrix. */
static enum vs_type_id qkv_type(const struct mix_case *c) {
    switch (c->mix) {
    case VS_MIX_Q3_K_M:
    case VS_MIX_Q3_K_L:
    case VS_MIX_IQ3_M:
        return VS_TYPE_Q4_K;
    case VS_MIX_Q4_K_M:
        return VS_TYPE_Q5_K;
    case VS_MIX_Q5_K_M:
        return VS_TYPE_Q6_K;
    default:
        return c->base;
    }
}

static enum vs_type_id layer_type(const struct mix_case *c, enum vs_role role) {
    if (is_low(c->mix))
        return low_type(c, role);
    switch (role) {
    case VS_ROLE_V: {
        const enum vs_type_id type = v_type(c);
        if (c->eight_experts)
            return VS_TYPE_Q8_0;
        return c->is_70b && (type == VS_TYPE_Q3_K || type == VS_TYPE_Q4_K) ? VS_TYPE_Q5_K : type;
    }
    case VS_ROLE_K:
        return c->eight_experts ? VS_TYPE_Q8_0 : qk_type(c);
    case VS_ROLE_Q:
        return qk_type(c);
    case VS_ROLE_O:
        return o_type(c);
    case VS_ROLE_DOWN:
    case VS_ROLE_EXPERT_DOWN:
    case VS_ROLE_SHARED_DOWN:
        return down_type(c);
    case VS_ROLE_GATE:
    case VS_ROLE_UP:
    case VS_ROLE_EXPERT_GATE:
    case VS_ROLE_EXPERT_UP:
    case VS_ROLE_SHARED_GATE:
    case VS_ROLE_SHARED_UP:
        return gate_up_type(c);
    default:
        return c->base;
    }
}

/* Where a row is not whole blocks of the wanted type. */
static enum vs_type_id fitting_type(enum vs_type_id type, uint64_t cols) {
    if (cols % vs_types[type].block_elements == 0)
        return type;
    switch (type) {
    case VS_TYPE_Q4_K:
        type = VS_TYPE_Q5_0;
        break;
    case VS_TYPE_Q5_K:
        type = VS_TYPE_Q5_1;
        break;
    case VS_TYPE_Q6_K:
        type = VS_TYPE_Q8_0;
        break;
    case VS_TYPE_TQ1_0:
    case VS_TYPE_TQ2_0:
        type = VS_TYPE_Q4_0;
        break;
    default:
        type = VS_TYPE_IQ4_NL;
        break;
    }
    return cols % vs_types[type].block_elements == 0 ? type : VS_TYPE_FP16;
}

static bool is_qkv(const struct vs_model *model, const struct vs_tensor *tensor) {
    if (tensor->role == VS_ROLE_STATE_IN)
        return strstr(tensor->gguf_name, "attn_qkv") != NULL;
    return model->fused_qkv && tensor->role >= VS_ROLE_Q && tensor->role <= VS_ROLE_V;
}

/* Whose place among its like decides: v matrices are counted apart, as not every layer has one. */
static struct mix_case case_of(const struct vs_model *model, const struct vs_tensor *tensor,
                               const struct vs_format *format) {
    const bool large = format->mix >= VS_MIX_L;
    struct mix_case c = {
        .mix = (enum vs_mix)(large ? format->mix - VS_MIX_L : format->mix),
        .base = (enum vs_type_id)(format->base - vs_types),
        .layer = tensor->layer < 0 ? 0 : (uint32_t)tensor->layer,
        .layers = model->layers,
        .shares_kv = model->heads / model->kv_heads >= 4,
        .eight_experts = model->experts == 8,
        .is_70b = model->layers == 80 && model->heads != model->kv_heads,
    };

    if (tensor->role == VS_ROLE_V) {
        c.layer = model->layer[c.layer].v_index;
        c.layers = model->v_layers;
    }
    return c;
}

const struct vs_type *vs_gguf_type(const struct vs_model *model, const struct vs_tensor *tensor,
                                   const struct vs_format *format) {
    const bool large = format->mix >= VS_MIX_L;
    const struct mix_case c = case_of(model, tensor, format);
    enum vs_type_id type;

    switch (tensor->role) {
    case VS_ROLE_NORM:
    case VS_ROLE_POSITIONS:
    case VS_ROLE_ROUTER:
        return &vs_types[VS_TYPE_FP32];
    case VS_ROLE_HEAD:
        type = large ? VS_TYPE_Q8_0 : output_type(&c, tensor->cols);
        break;
    case VS_ROLE_EMBED:
        if (large)
            type = VS_TYPE_Q8_0;
        else
            type = model->tied_embeddings ? output_type(&c, tensor->cols) : embed_type(&c);
        break;
    case VS_ROLE_LAYER_EMBED:
        type = embed_type(&c);
        break;
    default:
        if (c.mix == VS_MIX_FLOAT)
            type = c.base;
        else
            type = is_qkv(model, tensor) ? qkv_type(&c) : layer_type(&c, tensor->role);
        break;
    }
    return &vs_types[fitting_type(type, tensor->cols)];
}
