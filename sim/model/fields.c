#include "model/fields.h"

#include <stdio.h>

#include "base/text.h"

/* Spellings in the config.json of the families that exist. */
static const char *const hf_layers[] = {"num_hidden_layers", "n_layer", "num_layers", NULL};
static const char *const hf_hidden[] = {"hidden_size", "n_embd", "n_embed", "d_model", NULL};
static const char *const hf_heads[] = {"num_attention_heads", "n_head", "num_heads", NULL};
static const char *const hf_kv_heads[] = {"num_key_value_heads", "num_kv_heads", NULL};
static const char *const hf_head_dim[] = {"head_dim", NULL};
static const char *const hf_ffn[] = {"intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size",
                                     NULL};
static const char *const hf_vocab[] = {"vocab_size", NULL};
static const char *const hf_max_ctx[] = {"max_position_embeddings", "n_positions", "n_ctx",
                                         "max_seq_len", NULL};
static const char *const hf_window[] = {"sliding_window", NULL};

#define TOP(field, required, low, high, hf)                                                        \
    { #field, #field, VS_PLACE_TOP, required, offsetof(struct vs_model, field), low, high, hf }

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
    TOP(max_ctx, true, 1, 1u << 30, hf_max_ctx),
    TOP(learned_positions, false, 0, 1u << 30, NULL),
    {"window", "window", VS_PLACE_ATTENTION, true, offsetof(struct vs_model, window), 1, 1u << 30,
     hf_window},
    {"experts", "experts", VS_PLACE_MOE, true, offsetof(struct vs_model, experts), 1, 1u << 16,
     NULL},
    {"experts_active", "experts_active", VS_PLACE_MOE, true,
     offsetof(struct vs_model, experts_active), 1, 1u << 16, NULL},
    {"moe_ffn", "ffn", VS_PLACE_MOE, true, offsetof(struct vs_model, moe_ffn), 1, 1u << 24, NULL},
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

/* In double, so that it can't overflow: enough to refuse what 64 bits may not hold. */
static double rough_params(const struct vs_model *m) {
    const double hidden = m->hidden;
    const double ffn = m->experts ? (double)m->experts * m->moe_ffn : (double)m->ffn;
    const double attention = 2.0 * ((double)m->heads + m->kv_heads) * m->head_dim * hidden;
    const double ends = (2.0 * m->vocab + m->learned_positions) * hidden;
    return m->layers * (attention + 3 * ffn * hidden + (double)m->experts * hidden) + ends;
}

const struct vs_model_field *vs_model_flaw(const struct vs_model *m, char text[VS_FLAW_SIZE]) {
    if (m->heads % m->kv_heads != 0) {
        snprintf(text, VS_FLAW_SIZE, "%u heads can't share %u KV heads evenly", m->heads,
                 m->kv_heads);
        return vs_model_field_find("kv_heads");
    }
    if (m->ffn == 0 && m->experts == 0) {
        snprintf(text, VS_FLAW_SIZE, "missing, and the model has no experts either");
        return vs_model_field_find("ffn");
    }
    if (m->experts_active > m->experts) {
        snprintf(text, VS_FLAW_SIZE, "%u active experts of %u", m->experts_active, m->experts);
        return vs_model_field_find("experts_active");
    }
    if (m->experts && (m->experts_active == 0 || m->moe_ffn == 0)) {
        snprintf(text, VS_FLAW_SIZE, "experts need experts_active and an ffn of at least 1");
        return vs_model_field_find("experts");
    }
    if (rough_params(m) > 1e15) {
        snprintf(text, VS_FLAW_SIZE, "a model of %.2g parameters, expected at most 1e15",
                 rough_params(m));
        return vs_model_field_find("hidden");
    }
    return NULL;
}
