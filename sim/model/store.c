/* What tensors, caches and states cost in bytes. */
#include "model/gguf_mix.h"
#include "model/types.h"

static bool takes_base(const struct vs_model *model, enum vs_role role,
                       const struct vs_format *format) {
    switch (format->kind) {
    case VS_FORMAT_PLAIN:
    case VS_FORMAT_BPW:
        return true;
    case VS_FORMAT_BNB:
        return vs_role_is_linear(role);
    case VS_FORMAT_EXL2:
        return role == VS_ROLE_HEAD || (vs_role_is_linear(role) && role != VS_ROLE_ROUTER);
    case VS_FORMAT_MX:
        /* gpt-oss, the only public mxfp4 checkpoint with experts, keeps all else in bf16 */
        if (model->experts && format->base == &vs_types[VS_TYPE_MXFP4])
            return vs_role_is_expert(role);
        return vs_role_is_linear(role) && role != VS_ROLE_ROUTER;
    case VS_FORMAT_GPTQ:
    case VS_FORMAT_AWQ:
    case VS_FORMAT_FP8:
    case VS_FORMAT_GGUF:
        break;
    }
    return vs_role_is_linear(role) && role != VS_ROLE_ROUTER;
}

const struct vs_type *vs_tensor_type(const struct vs_model *model, const struct vs_tensor *tensor,
                                     const struct vs_format *format, const struct vs_type *rest) {
    if (format->kind == VS_FORMAT_GGUF)
        return vs_gguf_type(model, tensor, format);
    /* products of experts have a rate of their own, however they are scaled */
    if (format->kind == VS_FORMAT_FP8 && model->fp8_blocks && !vs_role_is_expert(tensor->role) &&
        takes_base(model, tensor->role, format))
        return &vs_types[VS_TYPE_FP8_BLOCKS];
    if (takes_base(model, tensor->role, format))
        return format->base;
    return rest ? rest : &vs_types[VS_TYPE_FP16];
}

/* EXL2 heads have 6 bits unless asked otherwise (turboderp/exllamav2 convert.py, head_bits). */
static double bits_of(const struct vs_tensor *tensor, const struct vs_format *format) {
    return format->kind == VS_FORMAT_EXL2 && tensor->role == VS_ROLE_HEAD ? 6.0 : format->bpw;
}

uint64_t vs_tensor_bytes(const struct vs_model *model, const struct vs_tensor *tensor,
                         const struct vs_format *format, const struct vs_type *rest) {
    const struct vs_type *type = vs_tensor_type(model, tensor, format, rest);

    if (format->bpw > 0 && type == format->base)
        return (uint64_t)((double)vs_tensor_params(tensor) * bits_of(tensor, format) / 8);
    return vs_type_bytes(type, tensor->rows, tensor->cols) * tensor->count;
}

static uint64_t latent_bytes(const struct vs_model *m, const struct vs_type *type) {
    const uint64_t index = m->index_dim ? vs_kv_row_bytes(type, m->index_dim) : 0;
    return vs_kv_row_bytes(type, (uint64_t)m->mla_kv_rank + m->mla_rope_dim) + index;
}

static bool has_cache(const struct vs_model_layer *layer) {
    return layer->mixer <= VS_MIXER_LATENT && !layer->borrows_kv;
}

uint64_t vs_kv_layer_bytes(const struct vs_model *model, uint32_t layer, uint64_t cells,
                           const struct vs_type *k, const struct vs_type *v) {
    const struct vs_model_layer *at = &model->layer[layer];
    const uint64_t row = (uint64_t)at->kv_heads * at->head_dim;

    if (!has_cache(at))
        return 0;
    if (at->mixer == VS_MIXER_LATENT)
        return cells * latent_bytes(model, k);
    return cells * (vs_kv_row_bytes(k, row) + vs_kv_row_bytes(v, row));
}

uint64_t vs_kv_expanded_layer_bytes(const struct vs_model *model, uint32_t layer, uint64_t cells,
                                    const struct vs_type *k, const struct vs_type *v) {
    const uint64_t heads = model->heads;

    if (model->layer[layer].mixer != VS_MIXER_LATENT)
        return vs_kv_layer_bytes(model, layer, cells, k, v);
    return cells *
           (vs_kv_row_bytes(k, heads * ((uint64_t)model->mla_nope_dim + model->mla_rope_dim)) +
            vs_kv_row_bytes(v, heads * model->mla_v_dim));
}

/* Gated DeltaNet: huggingface/transformers modeling_qwen3_next.py; Mamba-2: the same folder's
 * modeling_nemotron_h.py. */
uint64_t vs_state_layer_bytes(const struct vs_model *m, uint32_t layer, const struct vs_type *conv,
                              const struct vs_type *state) {
    uint64_t columns = 0, width = 0, numbers = 0;

    switch ((enum vs_mixer)m->layer[layer].mixer) {
    case VS_MIXER_LINEAR:
        columns = m->linear_conv - 1;
        width = 2 * (uint64_t)m->linear_k_heads * m->linear_k_dim +
                (uint64_t)m->linear_v_heads * m->linear_v_dim;
        numbers = (uint64_t)m->linear_v_heads * m->linear_k_dim * m->linear_v_dim;
        break;
    case VS_MIXER_MAMBA:
        columns = m->mamba_conv - 1;
        width = (uint64_t)m->mamba_heads * m->mamba_head_dim +
                2 * (uint64_t)m->mamba_groups * m->mamba_state;
        numbers = (uint64_t)m->mamba_heads * m->mamba_head_dim * m->mamba_state;
        break;
    case VS_MIXER_ATTENTION:
    case VS_MIXER_LATENT:
    case VS_MIXER_CROSS:
    case VS_MIXER_NONE:
        return 0;
    }
    return columns * vs_kv_row_bytes(conv, width) + vs_kv_row_bytes(state, numbers);
}

uint32_t vs_layer_window(const struct vs_model *model, uint32_t layer) {
    return layer < model->layers ? model->layer[layer].window : 0;
}
