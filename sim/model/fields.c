#include "model/fields.h"

#include <stdio.h>

#include "base/text.h"
#include "model/layers.h"

/* Spellings in the config.json of the families that exist. */
#define SPELLINGS(name, ...) static const char *const name[] = {__VA_ARGS__, NULL}

SPELLINGS(hf_layers, "num_hidden_layers", "n_layer", "n_layers", "num_layers");
SPELLINGS(hf_hidden, "hidden_size", "n_embd", "n_embed", "d_model");
SPELLINGS(hf_heads, "num_attention_heads", "n_head", "n_heads", "num_heads");
SPELLINGS(hf_kv_heads, "num_key_value_heads", "num_kv_heads", "multi_query_group_num", "n_head_kv");
SPELLINGS(hf_head_dim, "head_dim", "attention_head_dim", "kv_channels");
SPELLINGS(hf_ffn, "intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size");
SPELLINGS(hf_vocab, "padded_vocab_size", "vocab_size");
SPELLINGS(hf_max_ctx, "max_position_embeddings", "n_positions", "n_ctx", "max_seq_len",
          "max_sequence_length", "seq_length", "model_max_length");
SPELLINGS(hf_window, "sliding_window", "attention_chunk_size");
SPELLINGS(hf_experts, "num_experts", "num_local_experts", "n_routed_experts", "num_routed_experts");
SPELLINGS(hf_active, "num_experts_per_tok", "experts_per_token", "moe_topk", "top_k_experts",
          "moe_k", "num_selected_experts");
SPELLINGS(hf_moe_ffn, "moe_intermediate_size");
SPELLINGS(hf_shared, "n_shared_experts", "num_shared_expert", "num_shared_experts");
SPELLINGS(hf_shared_ffn, "shared_expert_intermediate_size", "moe_shared_expert_intermediate_size",
          "shared_intermediate_size");
SPELLINGS(hf_moe_latent, "moe_latent_size");
SPELLINGS(hf_q_rank, "q_lora_rank");
SPELLINGS(hf_kv_rank, "kv_lora_rank");
SPELLINGS(hf_rope, "qk_rope_head_dim");
SPELLINGS(hf_nope, "qk_nope_head_dim");
SPELLINGS(hf_v_dim, "v_head_dim");
SPELLINGS(hf_index_heads, "index_n_heads");
SPELLINGS(hf_index_dim, "index_head_dim");
SPELLINGS(hf_index_topk, "index_topk");
SPELLINGS(hf_linear_k_heads, "linear_num_key_heads");
SPELLINGS(hf_linear_v_heads, "linear_num_value_heads");
SPELLINGS(hf_linear_k_dim, "linear_key_head_dim");
SPELLINGS(hf_linear_v_dim, "linear_value_head_dim");
SPELLINGS(hf_linear_conv, "linear_conv_kernel_dim");
SPELLINGS(hf_mamba_heads, "mamba_num_heads");
SPELLINGS(hf_mamba_head_dim, "mamba_head_dim");
SPELLINGS(hf_mamba_groups, "n_groups");
SPELLINGS(hf_mamba_state, "ssm_state_size");
SPELLINGS(hf_mamba_conv, "conv_kernel");
SPELLINGS(hf_own_kv_heads, "num_global_key_value_heads");
SPELLINGS(hf_own_head_dim, "global_head_dim");
SPELLINGS(hf_borrowers, "num_kv_shared_layers");
SPELLINGS(hf_per_layer_input, "hidden_size_per_layer_input");

const char *const vs_model_place_keys[VS_PLACE_COUNT] = {
    [VS_PLACE_MOE] = "moe",
    [VS_PLACE_MLA] = "mla",
    [VS_PLACE_LINEAR] = "linear_attention",
    [VS_PLACE_MAMBA] = "mamba",
    [VS_PLACE_ATTENTION] = "attention",
};

#define FIELD(name, key, place, required, low, high, hf)                                           \
    { #name, key, VS_PLACE_##place, required, offsetof(struct vs_model, name), low, high, hf }
#define TOP(name, required, low, high, hf) FIELD(name, #name, TOP, required, low, high, hf)

/* The upper bounds are far above any model and keep every product below within 64 bits, together
 * with the check of the whole in vs_model_flaw. */
const struct vs_model_field vs_model_fields[VS_MODEL_FIELD_COUNT] = {
    TOP(layers, true, 1, 4096, hf_layers),
    TOP(hidden, true, 1, 1u << 20, hf_hidden),
    TOP(heads, true, 1, 1u << 14, hf_heads),
    TOP(kv_heads, false, 1, 1u << 14, hf_kv_heads),
    TOP(head_dim, false, 1, 1u << 14, hf_head_dim),
    TOP(ffn, false, 1, 1u << 24, hf_ffn),
    TOP(vocab, true, 1, 1u << 26, hf_vocab),
    TOP(max_ctx, false, 1, 1u << 30, hf_max_ctx),
    TOP(learned_positions, false, 0, 1u << 30, NULL),
    TOP(embed_rows, false, 1, 1u << 26, NULL),
    TOP(norms_per_layer, false, 1, 7, NULL),
    TOP(kv_borrowers, false, 0, 4096, hf_borrowers),
    TOP(per_layer_input, false, 0, 1u << 16, hf_per_layer_input),
    FIELD(window, "window", ATTENTION, true, 1, 1u << 30, hf_window),
    FIELD(own_kv_heads, "kv_heads", ATTENTION, true, 1, 1u << 14, hf_own_kv_heads),
    FIELD(own_head_dim, "head_dim", ATTENTION, true, 1, 1u << 14, hf_own_head_dim),
    FIELD(experts, "experts", MOE, true, 1, 1u << 16, hf_experts),
    FIELD(experts_active, "experts_active", MOE, true, 1, 1u << 16, hf_active),
    FIELD(moe_ffn, "ffn", MOE, true, 1, 1u << 24, hf_moe_ffn),
    FIELD(shared_experts, "shared_experts", MOE, false, 0, 1u << 10, hf_shared),
    FIELD(shared_ffn, "shared_ffn", MOE, false, 0, 1u << 24, hf_shared_ffn),
    FIELD(moe_latent, "latent", MOE, false, 0, 1u << 20, hf_moe_latent),
    FIELD(mla_q_rank, "q_rank", MLA, false, 1, 1u << 16, hf_q_rank),
    FIELD(mla_kv_rank, "kv_rank", MLA, true, 1, 1u << 16, hf_kv_rank),
    FIELD(mla_rope_dim, "rope_dim", MLA, true, 1, 1u << 14, hf_rope),
    FIELD(mla_nope_dim, "nope_dim", MLA, true, 1, 1u << 14, hf_nope),
    FIELD(mla_v_dim, "v_dim", MLA, true, 1, 1u << 14, hf_v_dim),
    FIELD(index_heads, "index_heads", MLA, false, 1, 1u << 14, hf_index_heads),
    FIELD(index_dim, "index_dim", MLA, false, 1, 1u << 14, hf_index_dim),
    FIELD(index_topk, "index_topk", MLA, false, 1, 1u << 30, hf_index_topk),
    FIELD(linear_k_heads, "k_heads", LINEAR, true, 1, 1u << 14, hf_linear_k_heads),
    FIELD(linear_v_heads, "v_heads", LINEAR, true, 1, 1u << 14, hf_linear_v_heads),
    FIELD(linear_k_dim, "k_dim", LINEAR, true, 1, 1u << 14, hf_linear_k_dim),
    FIELD(linear_v_dim, "v_dim", LINEAR, true, 1, 1u << 14, hf_linear_v_dim),
    FIELD(linear_conv, "conv", LINEAR, true, 1, 1u << 10, hf_linear_conv),
    FIELD(mamba_heads, "heads", MAMBA, true, 1, 1u << 14, hf_mamba_heads),
    FIELD(mamba_head_dim, "head_dim", MAMBA, true, 1, 1u << 14, hf_mamba_head_dim),
    FIELD(mamba_groups, "groups", MAMBA, true, 1, 1u << 10, hf_mamba_groups),
    FIELD(mamba_state, "state", MAMBA, true, 1, 1u << 14, hf_mamba_state),
    FIELD(mamba_conv, "conv", MAMBA, true, 1, 1u << 10, hf_mamba_conv),
};

const struct vs_model_field *vs_model_field_find(const char *name) {
    for (size_t i = 0; i < VS_MODEL_FIELD_COUNT; i++)
        if (vs_streq(vs_model_fields[i].name, name))
            return &vs_model_fields[i];
    return NULL;
}

uint32_t *vs_model_field_at(struct vs_model *model, const struct vs_model_field *field) {
    return (uint32_t *)(void *)((char *)model + field->offset);
}

/* Of the widest mixer that any layer may have. In double, as all below, so that it can't overflow:
 * enough to refuse what 64 bits may not hold. */
static double rough_mixer(const struct vs_model *m) {
    const double hidden = m->hidden, heads = m->heads;
    const double own = ((double)m->heads + m->own_kv_heads) * m->own_head_dim;
    const double attention = (3.0 * m->heads + 2.0 * m->kv_heads) * m->head_dim + 2 * own;
    const double q_rank = m->mla_q_rank, dims = (double)m->mla_rope_dim + m->mla_nope_dim;
    const double latent = (q_rank + heads) * dims + (hidden + q_rank) * heads +
                          m->mla_kv_rank * (heads * ((double)m->mla_nope_dim + m->mla_v_dim)) +
                          (q_rank + hidden) * m->index_heads * m->index_dim;
    const double linear = 3.0 * ((double)m->linear_k_heads * m->linear_k_dim +
                                 (double)m->linear_v_heads * m->linear_v_dim);
    const double mamba = 3.0 * m->mamba_heads * m->mamba_head_dim +
                         2.0 * m->mamba_groups * m->mamba_state + m->mamba_heads;
    return hidden * (attention + q_rank + m->mla_kv_rank + linear + mamba) + latent * (1 + dims) +
           hidden * heads * m->mla_v_dim;
}

static double rough_params(const struct vs_model *m) {
    const double hidden = m->hidden;
    const double mlp = 3.0 * hidden *
                       (2.0 * m->ffn + (double)m->experts * m->moe_ffn +
                        (double)m->shared_experts * m->shared_ffn + m->per_layer_input);
    const double router = hidden * ((double)m->experts + 2.0 * m->moe_latent);
    const double ends = (2.0 * m->vocab + m->embed_rows + m->learned_positions) * hidden;
    const double per_layer = (double)m->vocab * m->layers * m->per_layer_input;
    return m->layers * (rough_mixer(m) + mlp + router) + ends + per_layer;
}

static const struct vs_model_field *fault(const char *name, char text[VS_FLAW_SIZE],
                                          const char *what) {
    snprintf(text, VS_FLAW_SIZE, "%s", what);
    return vs_model_field_find(name);
}

static bool has_any(const struct vs_model *m, enum vs_layer_set_id set) {
    return vs_layer_set_any(&m->sets[set], m->layers);
}

static const struct vs_model_field *attention_flaw(const struct vs_model *m,
                                                   char text[VS_FLAW_SIZE]) {
    if (m->heads % m->kv_heads != 0) {
        snprintf(text, VS_FLAW_SIZE, "%u heads can't share %u KV heads evenly", m->heads,
                 m->kv_heads);
        return vs_model_field_find("kv_heads");
    }
    if (has_any(m, VS_SET_OWN_HEADS) && m->heads % m->own_kv_heads != 0) {
        snprintf(text, VS_FLAW_SIZE, "%u heads can't share %u KV heads evenly", m->heads,
                 m->own_kv_heads);
        return vs_model_field_find("own_kv_heads");
    }
    if (m->kv_borrowers >= m->layers) {
        snprintf(text, VS_FLAW_SIZE, "%u of %u layers can't borrow the cache of earlier ones",
                 m->kv_borrowers, m->layers);
        return vs_model_field_find("kv_borrowers");
    }
    if ((m->index_heads == 0) != (m->index_dim == 0))
        return fault("index_heads", text, "index_heads and index_dim go together");
    if (m->index_heads && !m->mla_q_rank)
        return fault("index_heads", text, "the indexer reads the latent of q: q_rank is missing");
    if (has_any(m, VS_SET_LINEAR) && !m->linear_k_heads)
        return fault("linear_k_heads", text, "missing, but some layers are linear attention");
    if (m->linear_k_heads && m->linear_v_heads % m->linear_k_heads != 0)
        return fault("linear_v_heads", text, "expected a multiple of k_heads");
    if (has_any(m, VS_SET_MAMBA) && !m->mamba_heads)
        return fault("mamba_heads", text, "missing, but some layers are Mamba");
    return NULL;
}

static const struct vs_model_field *mlp_flaw(const struct vs_model *m, char text[VS_FLAW_SIZE]) {
    if (m->ffn == 0 && m->experts == 0)
        return fault("ffn", text, "missing, and the model has no experts either");
    if (m->ffn == 0 && vs_first_layer_with(m, VS_MLP_DENSE) < m->layers) {
        snprintf(text, VS_FLAW_SIZE, "missing, but layer %u has no experts",
                 vs_first_layer_with(m, VS_MLP_DENSE));
        return vs_model_field_find("ffn");
    }
    if (m->experts_active > m->experts) {
        snprintf(text, VS_FLAW_SIZE, "%u active experts of %u", m->experts_active, m->experts);
        return vs_model_field_find("experts_active");
    }
    if (m->experts && (m->experts_active == 0 || m->moe_ffn == 0))
        return fault("experts", text, "experts need experts_active and an ffn of at least 1");
    if ((m->shared_experts == 0) != (m->shared_ffn == 0))
        return fault("shared_experts", text, "shared_experts and shared_ffn go together");
    if (has_any(m, VS_SET_EXPERTS) && m->experts == 0)
        return fault("experts", text, "missing, but some layers have experts");
    return NULL;
}

const struct vs_model_field *vs_model_flaw(const struct vs_model *m, char text[VS_FLAW_SIZE]) {
    const struct vs_model_field *field = attention_flaw(m, text);

    if (!field)
        field = mlp_flaw(m, text);
    if (field)
        return field;
    if (m->norms_per_layer != 1 && m->norms_per_layer != 2 && m->norms_per_layer != 4 &&
        m->norms_per_layer != 7)
        return fault("norms_per_layer", text, "expected 1, 2, 4 or 7");
    if (rough_params(m) > 1e15) {
        snprintf(text, VS_FLAW_SIZE, "a model of %.2g parameters, expected at most 1e15",
                 rough_params(m));
        return vs_model_field_find("hidden");
    }
    return NULL;
}
