/* Hugging Face config.json of the Llama and Mistral families. Such a file has many keys that say
 * nothing about shape, so unknown keys are no error; an unknown architecture is. */
#include "base/text.h"
#include "model/fields.h"

struct hf_family {
    const char *architecture, *model_type, *family;
    uint32_t kv_heads; /* what a missing key stands for; 0 = as many as heads */
    uint32_t window;
};

/* Defaults of huggingface/transformers LlamaConfig and MistralConfig. */
static const struct hf_family families[] = {
    {"LlamaForCausalLM", "llama", "llama", 0, 0},
    {"MistralForCausalLM", "mistral", "mistral", 8, 4096},
};

enum { FAMILY_COUNT = sizeof families / sizeof *families };

/* "architectures" decides; "model_type" where a file leaves it out. */
static const struct vs_json *architecture_node(const struct vs_json_reader *r) {
    const struct vs_json *node = vs_json_member(r->object, "architectures");
    if (node && node->kind == VS_JSON_ARRAY && node->child)
        return node->child;
    return vs_json_member(r->object, "model_type");
}

static const struct hf_family *find_family(const struct vs_json_reader *r, struct vs_err *err) {
    const struct vs_json *node = architecture_node(r);

    if (!node || node->kind != VS_JSON_STRING) {
        vs_json_fail(r, node ? node : r->object, err,
                     "no architecture named, expected \"architectures\": [\"LlamaForCausalLM\"]");
        return NULL;
    }
    for (size_t i = 0; i < FAMILY_COUNT; i++)
        if (vs_streq(node->string, families[i].architecture) ||
            vs_streq(node->string, families[i].model_type))
            return &families[i];
    vs_json_fail(r, node, err,
                 "unknown architecture '%.80s', expected one of: LlamaForCausalLM, "
                 "MistralForCausalLM",
                 node->string);
    return NULL;
}

static bool valid(const struct vs_json *node, const struct vs_model_field *field) {
    return node->kind == VS_JSON_NUMBER && node->is_integer && node->integer >= field->low &&
           node->integer <= field->high;
}

/* The first alias with a valid value counts; an invalid one is an error only when no other is
 * valid. null is as good as missing. */
static bool read_number(const struct vs_json_reader *r, const struct vs_model_field *field,
                        struct vs_model *model, struct vs_err *err) {
    const struct vs_json *bad = NULL;

    for (size_t i = 0; field->hf_keys[i]; i++) {
        const struct vs_json *node = vs_json_member(r->object, field->hf_keys[i]);
        if (!node || node->kind == VS_JSON_NULL)
            continue;
        if (valid(node, field)) {
            *vs_model_field_at(model, field) = (uint32_t)node->integer;
            return true;
        }
        bad = bad ? bad : node;
    }
    if (bad)
        return vs_json_fail(r, bad, err, "expected an integer from %llu to %llu",
                            (unsigned long long)field->low, (unsigned long long)field->high);
    if (field->required && field->place == VS_PLACE_TOP)
        return vs_json_fail(r, r->object, err, "missing key '%s'", field->hf_keys[0]);
    return true;
}

static bool read_switch(const struct vs_json_reader *r, const char *key, bool *out,
                        struct vs_err *err) {
    const struct vs_json *node = vs_json_member(r->object, key);

    if (!node || node->kind == VS_JSON_NULL)
        return true;
    if (node->kind != VS_JSON_BOOL)
        return vs_json_fail(r, node, err, "expected true or false");
    *out = node->boolean;
    return true;
}

/* layer_types lists full and sliding layers: one kind for all is read, a pattern is not. */
static bool read_layer_types(const struct vs_json_reader *r, struct vs_model *model,
                             struct vs_err *err) {
    const struct vs_json *list = vs_json_member(r->object, "layer_types");

    if (!list || list->kind == VS_JSON_NULL)
        return true;
    if (list->kind != VS_JSON_ARRAY || !list->child)
        return vs_json_fail(r, list, err, "expected an array of strings");
    for (const struct vs_json *node = list->child; node; node = node->next) {
        if (node->kind != VS_JSON_STRING)
            return vs_json_fail(r, node, err, "expected a string");
        if (!vs_streq(node->string, list->child->string))
            return vs_json_fail(r, node, err,
                                "attention that differs by layer is not simulated by this version");
    }
    if (vs_streq(list->child->string, "full_attention"))
        model->window = 0;
    else if (!vs_streq(list->child->string, "sliding_attention"))
        return vs_json_fail(r, list->child, err, "unknown kind of attention '%.40s'",
                            list->child->string);
    return true;
}

/* What the file leaves out. A key that is there as null says "none" or "as many as heads". */
static bool fill_gaps(const struct vs_json_reader *r, const struct hf_family *family,
                      struct vs_model *model, struct vs_err *err) {
    if (model->window == 0 && !vs_json_member(r->object, "sliding_window"))
        model->window = family->window;
    if (vs_streq(family->family, "llama"))
        model->window = 0; /* the class has none, whatever its file says */
    if (model->kv_heads == 0 && !vs_json_member(r->object, "num_key_value_heads"))
        model->kv_heads = family->kv_heads;
    if (model->kv_heads == 0)
        model->kv_heads = model->heads;
    if (model->head_dim == 0) {
        if (model->hidden % model->heads != 0)
            return vs_json_fail(r, r->object, err, "%u heads don't divide a hidden size of %u",
                                model->heads, model->hidden);
        model->head_dim = model->hidden / model->heads;
    }
    if (model->ffn == 0)
        model->ffn = 4 * model->hidden;
    return read_layer_types(r, model, err);
}

static bool check(const struct vs_json_reader *r, const struct vs_model *model,
                  struct vs_err *err) {
    char flaw[VS_FLAW_SIZE];
    const struct vs_model_field *field = vs_model_flaw(model, flaw);
    const struct vs_json *node = NULL;

    if (!field)
        return true;
    for (size_t i = 0; field->hf_keys && field->hf_keys[i] && !node; i++)
        node = vs_json_member(r->object, field->hf_keys[i]);
    return vs_json_fail(r, node ? node : r->object, err, "%s", flaw);
}

bool vs_model_read_hf(struct vs_json_reader *r, struct vs_model *model, struct vs_err *err) {
    const struct hf_family *family = find_family(r, err);
    const struct vs_json *id = vs_json_member(r->object, "_name_or_path");
    bool bias = false;

    if (!family)
        return false;
    model->family = family->family;
    model->gated_mlp = true;
    if (id && id->kind == VS_JSON_STRING && id->string[0])
        model->hf_id = id->string;
    for (size_t i = 0; i < VS_MODEL_FIELD_COUNT; i++)
        if (vs_model_fields[i].hf_keys && !read_number(r, &vs_model_fields[i], model, err))
            return false;
    if (!read_switch(r, "tie_word_embeddings", &model->tied_embeddings, err) ||
        !read_switch(r, "attention_bias", &bias, err) ||
        !read_switch(r, "mlp_bias", &model->mlp_bias, err))
        return false;
    model->attn_bias = model->attn_out_bias = bias;
    return fill_gaps(r, family, model, err) && check(r, model, err);
}
