/* Our own model files: workloads/models/NAME.json. */
#include "base/text.h"
#include "model/fields.h"

static bool read_fields(struct vs_json_reader *r, enum vs_model_place place, struct vs_model *model,
                        struct vs_err *err) {
    for (size_t i = 0; i < VS_MODEL_FIELD_COUNT; i++) {
        const struct vs_model_field *field = &vs_model_fields[i];
        uint64_t value = 0;

        if (field->place != place)
            continue;
        if (!vs_json_get_u64(r, field->key, field->required, field->low, field->high, &value, err))
            return false;
        *vs_model_field_at(model, field) = (uint32_t)value;
    }
    return true;
}

/* Mechanisms that files will state one day: refused with words of their own, not as unknown keys.
 */
static bool refuse_unsupported(struct vs_json_reader *r, struct vs_err *err) {
    static const char *const keys[] = {"mla",
                                       "linear_attention",
                                       "window_pattern",
                                       "shared_experts",
                                       "shared_ffn",
                                       "dense_first_layers",
                                       NULL};

    for (size_t i = 0; keys[i]; i++) {
        const struct vs_json *node = vs_json_member(r->object, keys[i]);
        if (node)
            return vs_json_fail(r, node, err, "'%s' is not simulated by this version", keys[i]);
    }
    return true;
}

static bool read_moe(struct vs_json_reader *root, struct vs_model *model, struct vs_err *err) {
    struct vs_json_reader r;
    bool present = false;

    if (!vs_json_open_member(root, "moe", false, &r, &present, err))
        return false;
    if (!present)
        return true;
    return refuse_unsupported(&r, err) && read_fields(&r, VS_PLACE_MOE, model, err) &&
           vs_json_close(&r, err);
}

/* [{"layers": "all", "window": 4096}]: a list, so that ranges of layers can follow. */
static bool read_attention(struct vs_json_reader *root, struct vs_model *model,
                           struct vs_err *err) {
    const struct vs_json *list = NULL;
    struct vs_json_reader r;
    const char *layers = NULL;

    if (!vs_json_get_array(root, "attention", false, &list, err))
        return false;
    if (!list)
        return true;
    if (list->count != 1)
        return vs_json_fail(root, list, err,
                            "attention that differs by layer is not simulated by this version, "
                            "expected one entry");
    if (!vs_json_open(&r, root->file, "$.attention[0]", list->child, err) ||
        !refuse_unsupported(&r, err) || !vs_json_get_string(&r, "layers", true, &layers, err))
        return false;
    if (!vs_streq(layers, "all"))
        return vs_json_fail(&r, vs_json_member(list->child, "layers"), err,
                            "attention that differs by layer is not simulated by this version, "
                            "expected \"all\"");
    return read_fields(&r, VS_PLACE_ATTENTION, model, err) && vs_json_close(&r, err);
}

/* attn_bias: true (q, k, v and o), "qkv", or false. */
static bool read_attn_bias(struct vs_json_reader *r, struct vs_model *model, struct vs_err *err) {
    const struct vs_json *node = NULL;

    if (!vs_json_get_any(r, "attn_bias", false, &node, err))
        return false;
    if (!node)
        return true;
    if (node->kind == VS_JSON_STRING && vs_streq(node->string, "qkv")) {
        model->attn_bias = true;
        return true;
    }
    if (node->kind != VS_JSON_BOOL)
        return vs_json_fail(r, node, err, "expected true, false or \"qkv\"");
    model->attn_bias = model->attn_out_bias = node->boolean;
    return true;
}

static bool read_switches(struct vs_json_reader *r, struct vs_model *model, struct vs_err *err) {
    model->gated_mlp = true;
    return vs_json_get_bool(r, "tied_embeddings", false, &model->tied_embeddings, err) &&
           vs_json_get_bool(r, "gated_mlp", false, &model->gated_mlp, err) &&
           vs_json_get_bool(r, "mlp_bias", false, &model->mlp_bias, err) &&
           vs_json_get_bool(r, "norm_bias", false, &model->norm_bias, err) &&
           vs_json_get_bool(r, "qk_norm", false, &model->qk_norm, err) &&
           read_attn_bias(r, model, err);
}

static bool read_texts(struct vs_arena *arena, struct vs_json_reader *r, struct vs_model *model,
                       struct vs_err *err) {
    const char *unused = NULL;
    const char *const *aliases = NULL;
    size_t count = 0;

    model->family = "llama";
    return vs_json_get_string(r, "schema", true, &unused, err) &&
           vs_json_get_string(r, "name", true, &model->name, err) &&
           vs_json_get_strings(r, "aliases", false, arena, &aliases, &count, err) &&
           vs_json_get_string(r, "hf_id", false, &model->hf_id, err) &&
           vs_json_get_string(r, "family", false, &model->family, err) &&
           vs_json_get_string(r, "about", false, &unused, err) &&
           vs_json_get_string(r, "source", true, &unused, err);
}

bool vs_model_read_json(struct vs_arena *arena, struct vs_json_reader *r, struct vs_model *model,
                        uint64_t *published_params, struct vs_err *err) {
    const struct vs_model_field *at_fault;
    const struct vs_json *node;
    char flaw[VS_FLAW_SIZE];

    if (!refuse_unsupported(r, err) || !read_texts(arena, r, model, err) ||
        !read_fields(r, VS_PLACE_TOP, model, err) || !read_switches(r, model, err) ||
        !read_moe(r, model, err) || !read_attention(r, model, err) ||
        !vs_json_get_u64(r, "params_total", false, 1, UINT64_MAX, published_params, err) ||
        !vs_json_close(r, err))
        return false;
    if (model->kv_heads == 0)
        model->kv_heads = model->heads;
    if (model->head_dim == 0) {
        if (model->hidden < model->heads || model->hidden % model->heads != 0)
            return vs_json_fail(r, vs_json_member(r->object, "heads"), err,
                                "%u heads don't divide hidden %u, so head_dim must be stated",
                                model->heads, model->hidden);
        model->head_dim = model->hidden / model->heads;
    }
    at_fault = vs_model_flaw(model, flaw);
    if (!at_fault)
        return true;
    node = vs_json_member(r->object, at_fault->place == VS_PLACE_TOP ? at_fault->key : "moe");
    return vs_json_fail(r, node ? node : r->object, err, "%s: %s", at_fault->name, flaw);
}
