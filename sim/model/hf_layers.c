/* Which layer is what, as a config.json says it. */
#include <string.h>

#include "base/text.h"
#include "model/hf.h"
#include "model/layers.h"

/* The kinds of "layer_types". */
static bool kind_of(const struct vs_hf *hf, const struct vs_json *node, int *set,
                    struct vs_err *err) {
    if (node->kind != VS_JSON_STRING)
        return vs_json_fail(hf->root, node, err, "expected a string");
    if (vs_streq(node->string, "full_attention") || vs_streq(node->string, "attention") ||
        vs_streq(node->string, "deepseek_sparse_attention"))
        *set = -1;
    else if (vs_streq(node->string, "sliding_attention") ||
             vs_streq(node->string, "chunked_attention"))
        *set = VS_SET_WINDOW;
    else if (vs_streq(node->string, "linear_attention"))
        *set = VS_SET_LINEAR;
    else
        return vs_json_fail(hf->root, node, err, "unknown kind of attention '%.40s'", node->string);
    return true;
}

static bool check_list(const struct vs_hf *hf, const struct vs_json *list,
                       const struct vs_model *model, struct vs_err *err) {
    if (list->kind != VS_JSON_ARRAY || !list->child)
        return vs_json_fail(hf->root, list, err, "expected an array of strings");
    if (list->count != model->layers)
        return vs_json_fail(hf->root, list, err, "%zu entries for %u layers", list->count,
                            model->layers);
    return true;
}

static bool read_types(const struct vs_hf *hf, const struct vs_json *list, struct vs_model *model,
                       struct vs_err *err) {
    const struct vs_json *node;
    uint8_t *windows = vs_layer_set_new(hf->arena, &model->sets[VS_SET_WINDOW], model->layers);
    uint8_t *linear = vs_layer_set_new(hf->arena, &model->sets[VS_SET_LINEAR], model->layers);
    uint32_t i = 0;

    if (!windows || !linear)
        return vs_err_nomem(err);
    if (!check_list(hf, list, model, err))
        return false;
    for (node = list->child; node; node = node->next, i++) {
        int set = -1;
        if (!kind_of(hf, node, &set, err))
            return false;
        windows[i] = set == VS_SET_WINDOW;
        linear[i] = set == VS_SET_LINEAR;
    }
    return true;
}

/* Every period-th layer is full attention. */
static bool set_period(const struct vs_hf *hf, uint32_t period, struct vs_layer_set *set,
                       struct vs_err *err) {
    uint8_t *member = vs_layer_set_new(hf->arena, set, period);

    if (!member)
        return vs_err_nomem(err);
    for (uint32_t i = 0; i + 1 < period; i++)
        member[i] = 1;
    set->repeats = true;
    return true;
}

static bool set_all(const struct vs_hf *hf, struct vs_layer_set *set, struct vs_err *err) {
    uint8_t *member = vs_layer_set_new(hf->arena, set, 1);

    if (!member)
        return vs_err_nomem(err);
    member[0] = 1;
    return true;
}

/* Qwen2 and its like: the first "max_window_layers" are full attention. */
static bool set_after(const struct vs_hf *hf, struct vs_model *model, struct vs_err *err) {
    uint32_t first = 0;
    uint8_t *member;

    if (!vs_hf_count(hf, "max_window_layers", 4096, &first, err))
        return false;
    member = vs_layer_set_new(hf->arena, &model->sets[VS_SET_WINDOW], model->layers);
    if (!member)
        return vs_err_nomem(err);
    for (uint32_t i = first; i < model->layers; i++)
        member[i] = 1;
    return true;
}

static bool read_windows(const struct vs_hf *hf, struct vs_model *model, struct vs_err *err) {
    const struct vs_json *types = vs_hf_member(hf, "layer_types");
    struct vs_layer_set *windows = &model->sets[VS_SET_WINDOW];
    uint32_t period = hf->family->period;
    bool asked = !vs_hf_trait(hf, VS_HF_ASKED_WINDOW);

    model->window_is_chunk = vs_streq(hf->family->family, "llama4");
    if (!vs_hf_count(hf, "sliding_window_pattern", 4096, &period, err) ||
        !vs_hf_count(hf, "full_attention_interval", 4096, &period, err) ||
        !vs_hf_bool(hf, "use_sliding_window", &asked, err))
        return false;
    if (types && !read_types(hf, types, model, err))
        return false;
    if (vs_hf_trait(hf, VS_HF_NO_WINDOW) || !asked)
        model->window = 0;
    if (types)
        return true;
    if (vs_hf_trait(hf, VS_HF_LINEAR))
        return set_period(hf, period ? period : 1, &model->sets[VS_SET_LINEAR], err);
    if (model->window == 0)
        return true;
    if (vs_hf_trait(hf, VS_HF_ASKED_WINDOW))
        return set_after(hf, model, err);
    return period > 0 ? set_period(hf, period, windows, err) : set_all(hf, windows, err);
}

/* "mlp_layer_types": ["dense", "sparse", ..] */
static bool read_mlp_types(const struct vs_hf *hf, const struct vs_json *list,
                           struct vs_model *model, uint8_t *experts, struct vs_err *err) {
    uint32_t i = 0;

    if (!check_list(hf, list, model, err))
        return false;
    for (const struct vs_json *node = list->child; node; node = node->next) {
        if (node->kind != VS_JSON_STRING ||
            (!vs_streq(node->string, "dense") && !vs_streq(node->string, "sparse")))
            return vs_json_fail(hf->root, node, err, "expected \"dense\" or \"sparse\"");
        experts[i++] = vs_streq(node->string, "sparse");
    }
    return true;
}

/* Indices of layers. */
static bool mark(const struct vs_hf *hf, const char *key, uint8_t value, uint32_t layers,
                 uint8_t *member, struct vs_err *err) {
    const struct vs_json *list = vs_hf_member(hf, key);

    if (!list)
        return true;
    if (list->kind != VS_JSON_ARRAY)
        return vs_json_fail(hf->root, list, err, "expected an array of layers");
    for (const struct vs_json *node = list->child; node; node = node->next) {
        if (node->kind != VS_JSON_NUMBER || !node->is_integer || node->integer >= layers)
            return vs_json_fail(hf->root, node, err, "expected a layer below %u", layers);
        member[node->integer] = value;
    }
    return true;
}

static bool read_experts(const struct vs_hf *hf, struct vs_model *model, struct vs_err *err) {
    const struct vs_json *types = vs_hf_member(hf, "mlp_layer_types");
    uint8_t *experts = vs_layer_set_new(hf->arena, &model->sets[VS_SET_EXPERTS], model->layers);
    uint32_t first = 0, every = 1, step = 1;

    if (!experts)
        return vs_err_nomem(err);
    if (types)
        return read_mlp_types(hf, types, model, experts, err);
    if (!vs_hf_count(hf, "first_k_dense_replace", 4096, &first, err) ||
        !vs_hf_count(hf, "moe_layer_freq", 4096, &every, err) ||
        !vs_hf_count(hf, "decoder_sparse_step", 4096, &step, err) ||
        !vs_hf_count(hf, "interleave_moe_layer_step", 4096, &step, err))
        return false;
    every = every ? every : 1;
    step = step ? step : 1;
    for (uint32_t i = first; i < model->layers; i++)
        experts[i] = i % every == 0 && (i + 1) % step == 0;
    return mark(hf, "mlp_only_layers", 0, model->layers, experts, err);
}

static bool read_cross(const struct vs_hf *hf, struct vs_model *model, struct vs_err *err) {
    uint8_t *cross;

    if (!vs_hf_member(hf, "cross_attention_layers"))
        return true;
    cross = vs_layer_set_new(hf->arena, &model->sets[VS_SET_CROSS], model->layers);
    return cross ? mark(hf, "cross_attention_layers", 1, model->layers, cross, err)
                 : vs_err_nomem(err);
}

/* Gemma 4: the full layers, which are those without a window, have heads of their own. */
static bool set_own_heads(const struct vs_hf *hf, struct vs_model *model, struct vs_err *err) {
    uint8_t *own = vs_layer_set_new(hf->arena, &model->sets[VS_SET_OWN_HEADS], model->layers);

    if (!own)
        return vs_err_nomem(err);
    for (uint32_t i = 0; i < model->layers; i++)
        own[i] = !vs_layer_set_has(&model->sets[VS_SET_WINDOW], i);
    return true;
}

/* "layers_block_type": ["mamba", "moe", "attention", ..] as the letters of a pattern; NULL with an
 * error. */
static const char *letters_of(const struct vs_hf *hf, const struct vs_json *list,
                              struct vs_err *err) {
    static const struct {
        const char *word;
        char letter;
    } kinds[] = {{"mamba", 'M'}, {"attention", '*'}, {"moe", 'E'}, {"mlp", '-'}};
    char *letters = VS_NEW_ARRAY(hf->arena, char, list->count + 1);
    size_t n = 0;

    if (!letters) {
        vs_err_nomem(err);
        return NULL;
    }
    for (const struct vs_json *node = list->child; node; node = node->next, n++) {
        for (size_t i = 0; node->kind == VS_JSON_STRING && i < sizeof kinds / sizeof *kinds; i++)
            if (vs_streq(node->string, kinds[i].word))
                letters[n] = kinds[i].letter;
        if (!letters[n]) {
            vs_json_fail(hf->root, node, err, "expected mamba, attention, moe or mlp");
            return NULL;
        }
    }
    return letters;
}

static bool read_hybrid(const struct vs_hf *hf, struct vs_model *model, struct vs_err *err) {
    const struct vs_json *list = vs_hf_member(hf, "layers_block_type");
    const struct vs_json *node = vs_hf_member(hf, "hybrid_override_pattern");
    const char *letters = node && node->kind == VS_JSON_STRING ? node->string : NULL;
    size_t strange = 0;

    if (list && list->kind == VS_JSON_ARRAY) {
        letters = letters_of(hf, list, err);
        if (!letters)
            return false;
        node = list;
    }
    if (!letters)
        return vs_json_fail(hf->root, node ? node : hf->text, err,
                            "expected \"hybrid_override_pattern\", a string");
    if (strlen(letters) != model->layers)
        return vs_json_fail(hf->root, node, err, "%zu letters for %u layers", strlen(letters),
                            model->layers);
    if (!vs_layer_pattern(hf->arena, letters, model, &strange))
        return vs_json_fail(hf->root, node, err, "found '%c', expected M, E, * or -",
                            letters[strange]);
    return model->sets[VS_SET_NO_MLP].count > 0 || vs_err_nomem(err);
}

bool vs_hf_read_layers(const struct vs_hf *hf, struct vs_model *model, struct vs_err *err) {
    if (vs_hf_trait(hf, VS_HF_MAMBA))
        return read_hybrid(hf, model, err);
    if (!read_windows(hf, model, err) || !read_cross(hf, model, err))
        return false;
    if (model->own_head_dim && !set_own_heads(hf, model, err))
        return false;
    return model->experts == 0 || read_experts(hf, model, err);
}
