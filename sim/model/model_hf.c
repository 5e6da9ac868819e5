/* Hugging Face config.json. Such a file has many keys that say nothing about shape, so unknown keys
 * are no error; an unknown architecture is. */
#include "base/text.h"
#include "model/hf.h"
#include "model/layers.h"

static const struct vs_hf_family families[] = {
#define HF_FAMILY(architecture, model_type, family, traits, period)                                \
    {architecture, model_type, family, traits, period},
#include "model/hf_families.def"
#undef HF_FAMILY
};

enum { FAMILY_COUNT = sizeof families / sizeof *families };

/* What a missing key stands for: huggingface/transformers configuration_FAMILY.py @004999d9. */
static const struct {
    const char *family, *field;
    uint32_t value;
} defaults[] = {
    {"mistral", "kv_heads", 8},
    {"mistral", "window", 4096},
    {"mixtral", "kv_heads", 8},
    {"gemma", "head_dim", 256},
    {"gemma2", "head_dim", 256},
    {"gemma2", "window", 4096},
    {"gemma3", "heads", 8},
    {"gemma3", "kv_heads", 4},
    {"gemma3", "head_dim", 256},
    {"gemma3", "vocab", 262208},
    {"gemma3", "max_ctx", 131072},
    {"gemma3", "window", 4096},
    {"gemma4", "window", 512},
    {"gemma4", "own_head_dim", 512},
    {"gpt_oss", "window", 128},
    {"llama4", "window", 8192},
    {"qwen3", "head_dim", 128},
    {"qwen3_moe", "head_dim", 128},
    {"glm_moe_dsa", "max_ctx", 202752},
};

const struct vs_json *vs_hf_member(const struct vs_hf *hf, const char *key) {
    const struct vs_json *node = vs_json_member(hf->text, key);

    if (!node || node->kind == VS_JSON_NULL)
        node = hf->text == hf->root->object ? NULL : vs_json_member(hf->root->object, key);
    return node && node->kind != VS_JSON_NULL ? node : NULL;
}

/* Is the key there at all? null says "none", a missing key means the class's default. */
static bool mentions(const struct vs_hf *hf, const char *const *keys) {
    for (size_t i = 0; keys[i]; i++)
        if (vs_json_member(hf->text, keys[i]) || vs_json_member(hf->root->object, keys[i]))
            return true;
    return false;
}

bool vs_hf_bool(const struct vs_hf *hf, const char *key, bool *out, struct vs_err *err) {
    const struct vs_json *node = vs_hf_member(hf, key);

    if (!node)
        return true;
    if (node->kind != VS_JSON_BOOL)
        return vs_json_fail(hf->root, node, err, "expected true or false");
    *out = node->boolean;
    return true;
}

bool vs_hf_count(const struct vs_hf *hf, const char *key, uint64_t high, uint32_t *out,
                 struct vs_err *err) {
    const struct vs_json *node = vs_hf_member(hf, key);

    if (!node)
        return true;
    if (node->kind != VS_JSON_NUMBER || !node->is_integer || node->integer > high)
        return vs_json_fail(hf->root, node, err, "expected an integer from 0 to %llu",
                            (unsigned long long)high);
    *out = (uint32_t)node->integer;
    return true;
}

bool vs_hf_trait(const struct vs_hf *hf, enum vs_hf_trait trait) {
    return (hf->family->traits & (uint32_t)trait) != 0;
}

/* "architectures" decides; "model_type" where a file leaves it out. */
static const struct vs_json *architecture_node(const struct vs_json *object) {
    const struct vs_json *node = vs_json_member(object, "architectures");

    if (node && node->kind == VS_JSON_ARRAY && node->child)
        return node->child;
    return vs_json_member(object, "model_type");
}

static bool unknown_architecture(const struct vs_hf *hf, const struct vs_json *node,
                                 struct vs_err *err) {
    const char *names[FAMILY_COUNT];
    char nearest[160];

    for (size_t i = 0; i < FAMILY_COUNT; i++)
        names[i] = families[i].architecture;
    vs_nearest(node->string, names, FAMILY_COUNT, nearest, sizeof nearest);
    return vs_json_fail(hf->root, node, err, "unknown architecture '%.80s'; nearest: %s",
                        node->string, nearest);
}

static bool find_family(struct vs_hf *hf, struct vs_err *err) {
    const struct vs_json *object = hf->root->object;
    const struct vs_json *node = architecture_node(object);

    if (!node || node->kind != VS_JSON_STRING)
        return vs_json_fail(
            hf->root, node ? node : object, err,
            "no architecture named, expected \"architectures\": [\"LlamaForCausalLM\"]");
    for (size_t i = 0; i < FAMILY_COUNT; i++)
        if (vs_streq(node->string, families[i].architecture) ||
            vs_streq(node->string, families[i].model_type)) {
            hf->family = &families[i];
            return true;
        }
    return unknown_architecture(hf, node, err);
}

/* The text part of a multimodal model. */
static bool find_text(struct vs_hf *hf, struct vs_err *err) {
    const struct vs_json *node = vs_json_member(hf->root->object, "text_config");

    hf->text = hf->root->object;
    if (!node || node->kind == VS_JSON_NULL)
        return true;
    if (node->kind != VS_JSON_OBJECT)
        return vs_json_fail(hf->root, node, err, "expected an object");
    hf->text = node;
    return true;
}

static bool valid(const struct vs_json *node, const struct vs_model_field *field) {
    return node->kind == VS_JSON_NUMBER && node->is_integer && node->integer >= field->low &&
           node->integer <= field->high;
}

/* A number, or a list with the same number for every layer. */
static const struct vs_json *one_number(const struct vs_json *node) {
    if (node->kind != VS_JSON_ARRAY || !node->child)
        return node;
    for (const struct vs_json *other = node->child; other; other = other->next)
        if (other->kind != VS_JSON_NUMBER || other->integer != node->child->integer)
            return node;
    return node->child;
}

static void set_default(const struct vs_hf *hf, const struct vs_model_field *field,
                        struct vs_model *model) {
    if (mentions(hf, field->hf_keys))
        return;
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++)
        if (vs_streq(defaults[i].family, hf->family->family) &&
            vs_streq(defaults[i].field, field->name))
            *vs_model_field_at(model, field) = defaults[i].value;
}

/* The first alias with a valid value counts; an invalid one is an error only when no other is
 * valid. 0 is as good as missing where nothing can be counted. */
static bool read_number(const struct vs_hf *hf, const struct vs_model_field *field,
                        struct vs_model *model, struct vs_err *err) {
    const struct vs_json *bad = NULL;
    uint32_t *at = vs_model_field_at(model, field);

    set_default(hf, field, model);
    for (size_t i = 0; field->hf_keys[i]; i++) {
        const struct vs_json *node = vs_hf_member(hf, field->hf_keys[i]);
        if (!node)
            continue;
        node = one_number(node);
        if (valid(node, field)) {
            *at = (uint32_t)node->integer;
            return true;
        }
        bad = bad ? bad : node;
    }
    if (bad)
        return vs_json_fail(hf->root, bad, err, "expected an integer from %llu to %llu",
                            (unsigned long long)field->low, (unsigned long long)field->high);
    if (field->required && field->place == VS_PLACE_TOP && *at == 0)
        return vs_json_fail(hf->root, hf->text, err, "missing key '%s'", field->hf_keys[0]);
    return true;
}

/* Numbers of mechanisms that the class has not are left alone: other files use the same words. */
static bool concerns(const struct vs_hf *hf, const struct vs_model_field *field) {
    const bool gemma4 = vs_hf_trait(hf, VS_HF_LAYER_SCALE);

    if (!field->hf_keys)
        return false;
    if (field->offset == offsetof(struct vs_model, window))
        return true;
    switch (field->place) {
    case VS_PLACE_TOP:
        return gemma4 || (field->offset != offsetof(struct vs_model, kv_borrowers) &&
                          field->offset != offsetof(struct vs_model, per_layer_input));
    case VS_PLACE_MOE:
        return vs_hf_trait(hf, VS_HF_MOE);
    case VS_PLACE_MLA:
        return vs_hf_trait(hf, VS_HF_MLA);
    case VS_PLACE_LINEAR:
        return vs_hf_trait(hf, VS_HF_LINEAR);
    case VS_PLACE_MAMBA:
        return vs_hf_trait(hf, VS_HF_MAMBA);
    case VS_PLACE_ATTENTION:
        return gemma4;
    case VS_PLACE_COUNT:
        break;
    }
    return false;
}

static void set_traits(const struct vs_hf *hf, struct vs_model *m) {
    m->family = hf->family->family;
    m->gated_mlp = !vs_hf_trait(hf, VS_HF_UNGATED);
    m->norm_bias = vs_hf_trait(hf, VS_HF_LAYERNORM);
    m->attn_out_bias = vs_hf_trait(hf, VS_HF_ALL_BIAS);
    m->mlp_bias = vs_hf_trait(hf, VS_HF_MLP_BIAS);
    m->head_bias = vs_hf_trait(hf, VS_HF_HEAD_BIAS);
    m->tied_embeddings = vs_hf_trait(hf, VS_HF_TIED);
    m->embed_norm = vs_hf_trait(hf, VS_HF_EMBED_NORM);
    m->fused_qkv = vs_hf_trait(hf, VS_HF_FUSED);
    m->attn_sinks = vs_hf_trait(hf, VS_HF_SINKS);
    m->attn_output_gate = vs_hf_trait(hf, VS_HF_OUTPUT_GATE);
    m->layer_scale = vs_hf_trait(hf, VS_HF_LAYER_SCALE);
    m->norms_per_layer = vs_hf_trait(hf, VS_HF_NORMS_1)   ? 1
                         : vs_hf_trait(hf, VS_HF_NORMS_4) ? 4
                                                          : 2;
}

/* Switches that most families share. */
static bool read_switches(const struct vs_hf *hf, struct vs_model *m, struct vs_err *err) {
    const bool all = vs_hf_trait(hf, VS_HF_QK_NORM_ALL);
    const bool may = all || vs_hf_trait(hf, VS_HF_QK_NORM) || vs_hf_trait(hf, VS_HF_QK_NORM_ASKED);
    bool norm = !vs_hf_trait(hf, VS_HF_QK_NORM_ASKED);

    if (!vs_hf_bool(hf, "tie_word_embeddings", &m->tied_embeddings, err) ||
        !vs_hf_bool(hf, "attention_bias", &m->attn_out_bias, err) ||
        !vs_hf_bool(hf, "mlp_bias", &m->mlp_bias, err) ||
        (may && !vs_hf_bool(hf, "use_qk_norm", &norm, err)))
        return false;
    m->attn_bias = m->attn_out_bias || vs_hf_trait(hf, VS_HF_QKV_BIAS);
    if (vs_hf_trait(hf, VS_HF_QKV_BIAS) || vs_hf_trait(hf, VS_HF_BIAS_IS_QKV))
        m->attn_out_bias = false;
    if (may && norm)
        m->qk_norm = all ? VS_QK_NORM_ALL : VS_QK_NORM_HEAD;
    return true;
}

/* What the file leaves out. A key that is there as null says "none" or "as many as heads". */
static bool fill_gaps(const struct vs_hf *hf, struct vs_model *m, struct vs_err *err) {
    if (m->kv_heads == 0 || m->mla_kv_rank)
        m->kv_heads = m->heads;
    if (m->mla_kv_rank)
        m->head_dim = m->mla_nope_dim + m->mla_rope_dim;
    if (m->head_dim == 0 && m->hidden % m->heads != 0)
        return vs_json_fail(hf->root, hf->text, err, "%u heads don't divide a hidden size of %u",
                            m->heads, m->hidden);
    if (m->head_dim == 0)
        m->head_dim = m->hidden / m->heads;
    if (m->ffn == 0)
        m->ffn = 4 * m->hidden;
    if (vs_hf_trait(hf, VS_HF_HALF_FFN))
        m->ffn /= 2;
    if (vs_hf_trait(hf, VS_HF_POSITIONS))
        m->learned_positions = m->max_ctx;
    if (m->experts == 0) {
        m->experts_active = m->moe_ffn = m->shared_experts = m->shared_ffn = 0;
        return true;
    }
    if (vs_hf_trait(hf, VS_HF_MOE_FFN) && m->moe_ffn == 0)
        m->moe_ffn = m->ffn;
    if (m->shared_experts > 0 && m->shared_ffn == 0)
        m->shared_ffn = m->moe_ffn;
    if (m->shared_ffn > 0 && m->shared_experts == 0)
        m->shared_experts = 1;
    m->router_bias = vs_hf_trait(hf, VS_HF_ROUTER_BIAS);
    m->shared_gate = vs_hf_trait(hf, VS_HF_SHARED_GATE) && m->shared_experts > 0;
    return true;
}

/* Newer files of hybrid models name each layer instead of counting them. */
static void count_named_layers(const struct vs_hf *hf, struct vs_model *model) {
    const struct vs_json *list = vs_hf_member(hf, "layers_block_type");

    if (vs_hf_trait(hf, VS_HF_MAMBA) && list && list->kind == VS_JSON_ARRAY &&
        list->count <= vs_model_field_find("layers")->high)
        model->layers = (uint32_t)list->count;
}

/* A width that no layer uses would be wrong in what is shown. */
static void drop_unused(struct vs_model *m) {
    if (vs_first_layer_with(m, VS_MLP_DENSE) == m->layers)
        m->ffn = 0;
}

static bool check(const struct vs_hf *hf, const struct vs_model *model, struct vs_err *err) {
    char flaw[VS_FLAW_SIZE];
    const struct vs_model_field *field = vs_model_flaw(model, flaw);
    const struct vs_json *node = NULL;

    if (!field)
        return true;
    for (size_t i = 0; field->hf_keys && field->hf_keys[i] && !node; i++)
        node = vs_hf_member(hf, field->hf_keys[i]);
    return vs_json_fail(hf->root, node ? node : hf->text, err, "%s", flaw);
}

static bool read_stored_format(const struct vs_hf *hf, struct vs_model *model, struct vs_err *err) {
    const struct vs_json *config = vs_hf_member(hf, "quantization_config");
    return !config || vs_model_read_quantization(hf->arena, hf->root, config, model, err);
}

bool vs_model_read_hf(struct vs_arena *arena, struct vs_json_reader *r, struct vs_model *model,
                      struct vs_err *err) {
    const struct vs_json *id = vs_json_member(r->object, "_name_or_path");
    struct vs_hf hf = {.arena = arena, .root = r};

    if (!find_text(&hf, err) || !find_family(&hf, err))
        return false;
    set_traits(&hf, model);
    if (id && id->kind == VS_JSON_STRING && id->string[0])
        model->hf_id = id->string;
    count_named_layers(&hf, model);
    for (size_t i = 0; i < VS_MODEL_FIELD_COUNT; i++)
        if (concerns(&hf, &vs_model_fields[i]) &&
            !read_number(&hf, &vs_model_fields[i], model, err))
            return false;
    if (!read_switches(&hf, model, err) || !fill_gaps(&hf, model, err) ||
        !vs_hf_tune(&hf, model, err) || !vs_hf_read_layers(&hf, model, err) ||
        !read_stored_format(&hf, model, err))
        return false;
    drop_unused(model);
    return check(&hf, model, err);
}
