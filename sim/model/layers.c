#include "model/layers.h"

#include <string.h>

#include "base/text.h"

bool vs_layer_set_has(const struct vs_layer_set *set, uint32_t layer) {
    if (set->count == 0)
        return false;
    if (layer >= set->count)
        layer = set->repeats ? layer % set->count : set->count - 1;
    return set->member[layer] != 0;
}

bool vs_layer_set_any(const struct vs_layer_set *set, uint32_t layers) {
    for (uint32_t i = 0; i < layers; i++)
        if (vs_layer_set_has(set, i))
            return true;
    return false;
}

uint8_t *vs_layer_set_new(struct vs_arena *arena, struct vs_layer_set *set, uint32_t count) {
    uint8_t *member = VS_NEW_ARRAY(arena, uint8_t, count);

    *set = (struct vs_layer_set){.member = member, .count = member ? count : 0};
    return member;
}

/* Digits; `most` bounds the value. */
static bool take_number(const char **at, uint32_t most, uint32_t *number) {
    uint64_t value = 0;
    const char *c = *at;

    for (; *c >= '0' && *c <= '9' && value <= most; c++)
        value = value * 10 + (uint64_t)(*c - '0');
    if (c == *at || value > most)
        return false;
    *at = c;
    *number = (uint32_t)value;
    return true;
}

/* " of 6" at the end of the text, or nothing: then the period is the model. */
static bool take_period(const char *text, uint32_t layers, uint32_t *period) {
    const char *of = strstr(text, " of ");

    *period = layers;
    if (!of)
        return true;
    of += strlen(" of ");
    return take_number(&of, layers, period) && *of == '\0' && *period > 0;
}

/* "7", "0-3" or "3-", from `least` on. */
static bool take_range(const char **at, uint32_t least, uint32_t period, uint32_t *first,
                       uint32_t *last) {
    if (!take_number(at, period - 1, first) || *first < least)
        return false;
    *last = *first;
    if (**at != '-')
        return true;
    *at += 1;
    if (**at < '0' || **at > '9') {
        *last = period - 1;
        return true;
    }
    return take_number(at, period - 1, last) && *last >= *first;
}

bool vs_layer_set_parse(struct vs_arena *arena, const char *text, uint32_t layers,
                        struct vs_layer_set *set) {
    const bool periodic = strstr(text, " of ") != NULL;
    const char *at = strcmp(text, "all") == 0 ? "0-" : text;
    uint32_t period = layers, first = 0, last = 0, least = 0;
    uint8_t *member;

    if (!take_period(text, layers, &period))
        return false;
    member = vs_layer_set_new(arena, set, period);
    if (!member)
        return true;
    set->repeats = periodic;
    do {
        at += least > 0; /* the comma */
        if (!take_range(&at, least, period, &first, &last))
            return false;
        memset(member + first, 1, last - first + 1);
        least = last + 1;
    } while (*at == ',');
    return *at == '\0' || (periodic && vs_starts(at, " of "));
}

bool vs_layer_pattern(struct vs_arena *arena, const char *letters, struct vs_model *model,
                      size_t *strange) {
    const uint32_t count = model->layers;
    struct vs_layer_set *sets = model->sets;
    uint8_t *mamba = vs_layer_set_new(arena, &sets[VS_SET_MAMBA], count);
    uint8_t *experts = vs_layer_set_new(arena, &sets[VS_SET_EXPERTS], count);
    uint8_t *no_mixer = vs_layer_set_new(arena, &sets[VS_SET_NO_MIXER], count);
    uint8_t *no_mlp = vs_layer_set_new(arena, &sets[VS_SET_NO_MLP], count);

    for (uint32_t i = 0; mamba && experts && no_mixer && no_mlp && i < count; i++) {
        mamba[i] = letters[i] == 'M';
        experts[i] = letters[i] == 'E';
        no_mixer[i] = letters[i] == 'E' || letters[i] == '-';
        no_mlp[i] = letters[i] == 'M' || letters[i] == '*';
        if (!no_mixer[i] && !no_mlp[i]) {
            *strange = i;
            return false;
        }
    }
    return true;
}

static enum vs_mlp mlp_of(const struct vs_model *m, uint32_t layer) {
    if (vs_layer_set_has(&m->sets[VS_SET_NO_MLP], layer))
        return VS_MLP_NONE;
    return m->experts && vs_layer_set_has(&m->sets[VS_SET_EXPERTS], layer) ? VS_MLP_EXPERTS
                                                                           : VS_MLP_DENSE;
}

static enum vs_mixer mixer_of(const struct vs_model *m, uint32_t layer) {
    if (vs_layer_set_has(&m->sets[VS_SET_NO_MIXER], layer))
        return VS_MIXER_NONE;
    if (vs_layer_set_has(&m->sets[VS_SET_MAMBA], layer))
        return VS_MIXER_MAMBA;
    if (vs_layer_set_has(&m->sets[VS_SET_LINEAR], layer))
        return VS_MIXER_LINEAR;
    if (vs_layer_set_has(&m->sets[VS_SET_CROSS], layer))
        return VS_MIXER_CROSS;
    return m->mla_kv_rank ? VS_MIXER_LATENT : VS_MIXER_ATTENTION;
}

uint32_t vs_first_layer_with(const struct vs_model *model, enum vs_mlp mlp) {
    uint32_t i = 0;

    while (i < model->layers && mlp_of(model, i) != mlp)
        i++;
    return i;
}

static struct vs_model_layer describe(const struct vs_model *m, uint32_t i) {
    const bool own = vs_layer_set_has(&m->sets[VS_SET_OWN_HEADS], i);
    const bool borrows = i >= m->layers - m->kv_borrowers;
    struct vs_model_layer layer = {.mixer = (uint8_t)mixer_of(m, i), .mlp = (uint8_t)mlp_of(m, i)};

    if (layer.mixer <= VS_MIXER_CROSS) {
        layer.kv_heads = own ? m->own_kv_heads : m->kv_heads;
        layer.head_dim = own ? m->own_head_dim : m->head_dim;
        layer.k_is_v = own && m->own_k_is_v;
        layer.borrows_kv = borrows;
    }
    if (layer.mixer <= VS_MIXER_LATENT && vs_layer_set_has(&m->sets[VS_SET_WINDOW], i)) {
        layer.window = m->window;
        layer.chunked = m->window > 0 && m->window_is_chunk;
    }
    if (layer.mlp == VS_MLP_DENSE)
        layer.ffn = borrows && m->borrowers_wide_mlp ? 2 * m->ffn : m->ffn;
    return layer;
}

static bool has_v(const struct vs_model_layer *layer) {
    return !layer->k_is_v && (layer->mixer == VS_MIXER_ATTENTION || layer->mixer == VS_MIXER_CROSS);
}

bool vs_model_build_layers(struct vs_arena *arena, struct vs_model *model) {
    struct vs_model_layer *layers = VS_NEW_ARRAY(arena, struct vs_model_layer, model->layers);

    if (!layers)
        return false;
    model->v_layers = 0;
    for (uint32_t i = 0; i < model->layers; i++) {
        layers[i] = describe(model, i);
        layers[i].v_index = model->v_layers;
        model->v_layers += has_v(&layers[i]);
    }
    model->layer = layers;
    return true;
}

/* Worst first: what would be most wrong if it were run as plain attention. */
static const char *unsupported(const struct vs_model *model, bool latent) {
    static const char *const mixers[] = {
        [VS_MIXER_ATTENTION] = NULL,
        [VS_MIXER_LATENT] = "latent-attention layers",
        [VS_MIXER_CROSS] = "cross-attention layers",
        [VS_MIXER_LINEAR] = "linear-attention layers",
        [VS_MIXER_MAMBA] = "Mamba layers",
        [VS_MIXER_NONE] = "layers without attention",
    };

    for (uint32_t i = 0; i < model->layers; i++)
        if (mixers[model->layer[i].mixer] && !(latent && model->layer[i].mixer == VS_MIXER_LATENT))
            return mixers[model->layer[i].mixer];
    if (model->kv_borrowers)
        return "layers that borrow the KV cache of others";
    if (vs_layer_set_any(&model->sets[VS_SET_OWN_HEADS], model->layers))
        return "attention heads that differ by layer";
    return model->per_layer_input ? "per-layer embeddings" : NULL;
}

const char *vs_model_unsupported(const struct vs_model *model) { return unsupported(model, false); }

const char *vs_model_unsized(const struct vs_model *model) { return unsupported(model, true); }
