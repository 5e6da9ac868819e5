/* Our own model files: workloads/models/NAME.json.
 *
 * {"schema", "name", "aliases", "hf_id", "family", "about", "source", the numbers and switches of
 * struct vs_model, "params_total"}, and where the model has them:
 *   "attention": [{"layers": "0-4 of 6", ...}]  what differs from full attention, by layers:
 *       "window": N or "chunk": N; "kind": "linear", "mamba" or "cross"; or "kv_heads", "head_dim"
 *       and "k_is_v" of their own. Layers are written as model/layers.h says
 *   "moe": {"layers": "3-", "experts", "experts_active", "ffn", "shared_experts", "shared_ffn",
 * ...} "mla", "linear_attention", "mamba": the sizes of such layers "hybrid_pattern": "MEM*E..."
 * one mixer or MLP a layer */
#include <string.h>

#include "base/text.h"
#include "model/layers.h"

static bool read_fields(struct vs_json_reader *r, enum vs_model_place place, struct vs_model *model,
                        struct vs_err *err) {
    for (size_t i = 0; i < VS_MODEL_FIELD_COUNT; i++) {
        const struct vs_model_field *field = &vs_model_fields[i];
        uint64_t value = *vs_model_field_at(model, field);

        if (field->place != place)
            continue;
        if (!vs_json_get_u64(r, field->key, field->required, field->low, field->high, &value, err))
            return false;
        *vs_model_field_at(model, field) = (uint32_t)value;
    }
    return true;
}

/* A member "layers"; `fallback` where it may be missing. */
static bool read_layers(struct vs_arena *arena, struct vs_json_reader *r, const char *fallback,
                        uint32_t layers, struct vs_layer_set *set, struct vs_err *err) {
    const char *text = fallback;

    if (!vs_json_get_string(r, "layers", !fallback, &text, err))
        return false;
    if (!vs_layer_set_parse(arena, text, layers, set))
        return vs_json_fail(r, vs_json_member(r->object, "layers"), err,
                            "found '%.40s', expected layers below %u such as \"all\", \"0-3,7\", "
                            "\"3-\" or \"0-4 of 6\"",
                            text, layers);
    return set->count > 0 || vs_err_nomem(err);
}

static bool read_moe(struct vs_arena *arena, struct vs_json_reader *r, struct vs_model *model,
                     struct vs_err *err) {
    return read_layers(arena, r, "all", model->layers, &model->sets[VS_SET_EXPERTS], err) &&
           vs_json_get_bool(r, "shared_gate", false, &model->shared_gate, err) &&
           vs_json_get_bool(r, "router_bias", false, &model->router_bias, err) &&
           vs_json_get_bool(r, "router_scales", false, &model->router_scales, err);
}

static bool read_parts(struct vs_arena *arena, struct vs_json_reader *root, struct vs_model *model,
                       struct vs_err *err) {
    for (int place = VS_PLACE_MOE; place < VS_PLACE_ATTENTION; place++) {
        struct vs_json_reader r;
        bool present = false;

        if (!vs_json_open_member(root, vs_model_place_keys[place], false, &r, &present, err))
            return false;
        if (present &&
            ((place == VS_PLACE_MOE && !read_moe(arena, &r, model, err)) ||
             !read_fields(&r, (enum vs_model_place)place, model, err) || !vs_json_close(&r, err)))
            return false;
    }
    return true;
}

/* "kind": the set it stands for. */
static bool find_kind(struct vs_json_reader *r, enum vs_layer_set_id *id, struct vs_err *err) {
    const char *kind = NULL;

    if (!vs_json_get_string(r, "kind", true, &kind, err))
        return false;
    if (vs_streq(kind, "linear"))
        *id = VS_SET_LINEAR;
    else if (vs_streq(kind, "mamba"))
        *id = VS_SET_MAMBA;
    else if (vs_streq(kind, "cross"))
        *id = VS_SET_CROSS;
    else
        return vs_json_fail(r, vs_json_member(r->object, "kind"), err,
                            "found '%.40s', expected linear, mamba or cross", kind);
    return true;
}

static bool read_window(struct vs_json_reader *r, struct vs_model *model, struct vs_err *err) {
    const struct vs_model_field *field = vs_model_field_find("window");
    const bool chunk = vs_json_member(r->object, "chunk") != NULL;
    const char *key = chunk ? "chunk" : "window";
    uint64_t width = 0;

    if (!vs_json_get_u64(r, key, true, field->low, field->high, &width, err))
        return false;
    model->window = (uint32_t)width;
    model->window_is_chunk = chunk;
    return true;
}

static bool read_own_heads(struct vs_json_reader *r, struct vs_model *model, struct vs_err *err) {
    const struct vs_model_field *kv = vs_model_field_find("own_kv_heads");
    const struct vs_model_field *dim = vs_model_field_find("own_head_dim");
    uint64_t kv_heads = 0, head_dim = 0;

    if (!vs_json_get_u64(r, kv->key, true, kv->low, kv->high, &kv_heads, err) ||
        !vs_json_get_u64(r, dim->key, true, dim->low, dim->high, &head_dim, err))
        return false;
    model->own_kv_heads = (uint32_t)kv_heads;
    model->own_head_dim = (uint32_t)head_dim;
    return vs_json_get_bool(r, "k_is_v", false, &model->own_k_is_v, err);
}

/* What one entry of "attention" says, and of which layers. */
static bool read_entry(struct vs_arena *arena, struct vs_json_reader *r, struct vs_model *model,
                       struct vs_err *err) {
    enum vs_layer_set_id id = VS_SET_COUNT;
    bool read = true;

    if (vs_json_member(r->object, "kind")) {
        read = find_kind(r, &id, err);
    } else if (vs_json_member(r->object, "window") || vs_json_member(r->object, "chunk")) {
        id = VS_SET_WINDOW;
        read = read_window(r, model, err);
    } else if (vs_json_member(r->object, "kv_heads") || vs_json_member(r->object, "head_dim")) {
        id = VS_SET_OWN_HEADS;
        read = read_own_heads(r, model, err);
    } else {
        return vs_json_fail(r, r->object, err,
                            "expected \"window\", \"chunk\", \"kind\" or \"kv_heads\"");
    }
    if (!read)
        return false;
    if (model->sets[id].count)
        return vs_json_fail(r, r->object, err, "expected one entry of this kind, found two");
    return read_layers(arena, r, NULL, model->layers, &model->sets[id], err);
}

/* Windows and kinds exclude each other. */
static bool check_overlap(struct vs_json_reader *r, const struct vs_json *list,
                          const struct vs_model *model, struct vs_err *err) {
    for (uint32_t i = 0; i < model->layers; i++) {
        int entries = 0;
        for (int id = VS_SET_WINDOW; id <= VS_SET_MAMBA; id++)
            entries += vs_layer_set_has(&model->sets[id], i);
        if (entries > 1)
            return vs_json_fail(r, list, err, "layer %u stands in two entries", i);
    }
    return true;
}

static bool read_attention(struct vs_arena *arena, struct vs_json_reader *root,
                           struct vs_model *model, struct vs_err *err) {
    const struct vs_json *list = NULL;
    struct vs_json_reader r;
    size_t index = 0;

    if (!vs_json_get_array(root, "attention", false, &list, err))
        return false;
    if (!list)
        return true;
    if (!list->child)
        return vs_json_fail(root, list, err, "expected at least one entry");
    for (const struct vs_json *node = list->child; node; node = node->next) {
        const char *path = vs_arena_printf(arena, "$.attention[%zu]", index++);
        if (!path)
            return vs_err_nomem(err);
        if (!vs_json_open(&r, root->file, path, node, err) || !read_entry(arena, &r, model, err) ||
            !vs_json_close(&r, err))
            return false;
    }
    return check_overlap(root, list, model, err);
}

static bool read_pattern(struct vs_arena *arena, struct vs_json_reader *r, struct vs_model *model,
                         struct vs_err *err) {
    const struct vs_json *node = vs_json_member(r->object, "hybrid_pattern");
    const char *letters = NULL;
    size_t strange = 0;

    if (!vs_json_get_string(r, "hybrid_pattern", false, &letters, err))
        return false;
    if (!letters)
        return true;
    if (strlen(letters) != model->layers)
        return vs_json_fail(r, node, err, "%zu letters for %u layers", strlen(letters),
                            model->layers);
    if (!vs_layer_pattern(arena, letters, model, &strange))
        return vs_json_fail(r, node, err, "found '%c', expected M, E, * or -", letters[strange]);
    return model->sets[VS_SET_NO_MLP].count > 0 || vs_err_nomem(err);
}

/* true, false or one word. */
static bool read_bool_or(struct vs_json_reader *r, const char *key, const char *word, bool *is_true,
                         bool *is_word, struct vs_err *err) {
    const struct vs_json *node = NULL;

    *is_true = *is_word = false;
    if (!vs_json_get_any(r, key, false, &node, err))
        return false;
    if (!node)
        return true;
    *is_word = node->kind == VS_JSON_STRING && vs_streq(node->string, word);
    if (node->kind != VS_JSON_BOOL && !*is_word)
        return vs_json_fail(r, node, err, "expected true, false or \"%s\"", word);
    *is_true = node->kind == VS_JSON_BOOL && node->boolean;
    return true;
}

/* attn_bias: true (q, k, v and o), "qkv", or false. qk_norm: true (of a head), "all", or false. */
static bool read_words(struct vs_json_reader *r, struct vs_model *model, struct vs_err *err) {
    bool qkv = false, norm = false, all = false;

    if (!read_bool_or(r, "attn_bias", "qkv", &model->attn_out_bias, &qkv, err) ||
        !read_bool_or(r, "qk_norm", "all", &norm, &all, err))
        return false;
    model->attn_bias = model->attn_out_bias || qkv;
    model->qk_norm = all ? VS_QK_NORM_ALL : norm ? VS_QK_NORM_HEAD : VS_QK_NORM_NONE;
    return true;
}

static bool read_switches(struct vs_json_reader *r, struct vs_model *model, struct vs_err *err) {
    const struct {
        const char *key;
        bool *at;
    } switches[] = {
        {"tied_embeddings", &model->tied_embeddings},
        {"gated_mlp", &model->gated_mlp},
        {"mlp_bias", &model->mlp_bias},
        {"norm_bias", &model->norm_bias},
        {"embed_norm", &model->embed_norm},
        {"head_bias", &model->head_bias},
        {"fp8_blocks", &model->fp8_blocks},
        {"attn_sinks", &model->attn_sinks},
        {"attn_output_gate", &model->attn_output_gate},
        {"layer_scale", &model->layer_scale},
        {"fused_qkv", &model->fused_qkv},
        {"borrowers_wide_mlp", &model->borrowers_wide_mlp},
    };

    model->gated_mlp = true;
    for (size_t i = 0; i < sizeof switches / sizeof *switches; i++)
        if (!vs_json_get_bool(r, switches[i].key, false, switches[i].at, err))
            return false;
    return read_words(r, model, err);
}

static bool read_stored_format(struct vs_json_reader *r, struct vs_model *model,
                               struct vs_err *err) {
    struct vs_format format;
    struct vs_err why;

    if (!vs_json_get_string(r, "stored_format", false, &model->stored_format, err))
        return false;
    if (!model->stored_format || vs_format_parse(model->stored_format, &format, &why))
        return true;
    return vs_json_fail(r, vs_json_member(r->object, "stored_format"), err, "%s", why.text);
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
           vs_json_get_string(r, "source", true, &unused, err) && read_stored_format(r, model, err);
}

static bool fill_gaps(const struct vs_json_reader *r, struct vs_model *model, struct vs_err *err) {
    if (model->kv_heads == 0)
        model->kv_heads = model->heads;
    if (model->head_dim == 0 && model->mla_kv_rank)
        model->head_dim = model->mla_nope_dim + model->mla_rope_dim;
    if (model->head_dim > 0)
        return true;
    if (model->hidden < model->heads || model->hidden % model->heads != 0)
        return vs_json_fail(r, vs_json_member(r->object, "heads"), err,
                            "%u heads don't divide hidden %u, so head_dim must be stated",
                            model->heads, model->hidden);
    model->head_dim = model->hidden / model->heads;
    return true;
}

static bool check(const struct vs_json_reader *r, const struct vs_model *model,
                  struct vs_err *err) {
    char flaw[VS_FLAW_SIZE];
    const struct vs_model_field *at_fault = vs_model_flaw(model, flaw);
    const char *place;
    const struct vs_json *node;

    if (!at_fault)
        return true;
    place = vs_model_place_keys[at_fault->place];
    node = vs_json_member(r->object, place ? place : at_fault->key);
    return vs_json_fail(r, node ? node : r->object, err, "%s: %s", at_fault->name, flaw);
}

bool vs_model_read_json(struct vs_arena *arena, struct vs_json_reader *r, struct vs_model *model,
                        uint64_t *published_params, struct vs_err *err) {
    model->norms_per_layer = 2;
    return read_texts(arena, r, model, err) && read_fields(r, VS_PLACE_TOP, model, err) &&
           read_switches(r, model, err) && read_parts(arena, r, model, err) &&
           read_attention(arena, r, model, err) && read_pattern(arena, r, model, err) &&
           vs_json_get_u64(r, "params_total", false, 1, UINT64_MAX, published_params, err) &&
           vs_json_close(r, err) && fill_gaps(r, model, err) && check(r, model, err);
}
