/* The tensors of a model, one by one. */
#include <string.h>

#include "model/build.h"
#include "model/fields.h"
#include "model/layers.h"

/* prefix + stem + ending */
static const char *join(struct vs_build *b, const char *prefix, size_t n0, const char *stem,
                        const char *ending) {
    const size_t n1 = strlen(stem), n2 = strlen(ending);
    const size_t begin = b->text_bytes;

    b->text_bytes += n0 + n1 + n2 + 1;
    if (!b->at)
        return NULL;
    char *text = b->text + begin;
    memcpy(text, prefix, n0);
    memcpy(text + n0, stem, n1);
    memcpy(text + n0 + n1, ending, n2 + 1);
    return text;
}

void vs_build_add(struct vs_build *b, enum vs_role role, struct vs_stems stems, const char *ending,
                  uint64_t rows, uint64_t cols, uint32_t copies) {
    const char *name = join(b, b->hf_prefix, b->hf_prefix_bytes, stems.hf, ending);
    const char *gguf_name = join(b, b->gguf_prefix, b->gguf_prefix_bytes, stems.gguf, ending);

    if (b->at)
        b->at[b->count] = (struct vs_tensor){
            .role = role,
            .layer = b->layer,
            .count = copies,
            .rows = rows,
            .cols = cols,
            .name = name,
            .gguf_name = gguf_name,
        };
    b->count++;
}

void vs_build_matrix(struct vs_build *b, enum vs_role role, struct vs_stems stems, uint64_t rows,
                     uint64_t cols, bool bias) {
    vs_build_add(b, role, stems, ".weight", rows, cols, 1);
    if (bias)
        vs_build_add(b, VS_ROLE_NORM, stems, ".bias", 1, rows, 1);
}

void vs_build_vector(struct vs_build *b, struct vs_stems stems, uint64_t width) {
    vs_build_add(b, VS_ROLE_NORM, stems, "", 1, width, 1);
}

void vs_build_norm(struct vs_build *b, struct vs_stems stems, uint64_t width) {
    vs_build_add(b, VS_ROLE_NORM, stems, ".weight", 1, width, 1);
    if (b->model->norm_bias)
        vs_build_add(b, VS_ROLE_NORM, stems, ".bias", 1, width, 1);
}

struct mlp_stems {
    struct vs_stems gate, up, down;
};

static void add_mlp(struct vs_build *b, enum vs_role gate, const struct mlp_stems *stems,
                    uint64_t ffn) {
    const struct vs_model *m = b->model;
    const enum vs_role up = (enum vs_role)(gate + 1), down = (enum vs_role)(gate + 2);

    if (m->gated_mlp)
        vs_build_matrix(b, gate, stems->gate, ffn, m->hidden, m->mlp_bias);
    vs_build_matrix(b, up, stems->up, ffn, m->hidden, m->mlp_bias);
    vs_build_matrix(b, down, stems->down, m->hidden, ffn, m->mlp_bias);
}

static void add_dense_mlp(struct vs_build *b) {
    static const struct mlp_stems stems = {
        {"mlp.gate_proj", "ffn_gate"}, {"mlp.up_proj", "ffn_up"}, {"mlp.down_proj", "ffn_down"}};
    add_mlp(b, VS_ROLE_GATE, &stems, b->now->ffn);
}

/* One entry for all experts of a kind, as GGUF stores them. */
static void add_expert(struct vs_build *b, enum vs_role role, struct vs_stems stems, uint64_t rows,
                       uint64_t cols) {
    vs_build_add(b, role, stems, ".weight", rows, cols, b->model->experts);
    if (b->model->mlp_bias)
        vs_build_add(b, VS_ROLE_NORM, stems, ".bias", 1, rows, b->model->experts);
}

static void add_router(struct vs_build *b) {
    const struct vs_model *m = b->model;

    vs_build_matrix(b, VS_ROLE_ROUTER, (struct vs_stems){"mlp.gate", "ffn_gate_inp"}, m->experts,
                    m->hidden, false);
    if (m->router_bias)
        vs_build_vector(b, (struct vs_stems){"mlp.gate.bias", "exp_probs_b.bias"}, m->experts);
    if (m->router_scales) {
        vs_build_vector(b, (struct vs_stems){"mlp.gate.scale", "ffn_gate_inp.scale"}, m->hidden);
        vs_build_vector(b, (struct vs_stems){"mlp.gate.per_expert_scale", "ffn_down_exps.scale"},
                        m->experts);
    }
}

static void add_shared_experts(struct vs_build *b) {
    static const struct mlp_stems stems = {{"mlp.shared_experts.gate_proj", "ffn_gate_shexp"},
                                           {"mlp.shared_experts.up_proj", "ffn_up_shexp"},
                                           {"mlp.shared_experts.down_proj", "ffn_down_shexp"}};
    const struct vs_model *m = b->model;

    add_mlp(b, VS_ROLE_SHARED_GATE, &stems, (uint64_t)m->shared_experts * m->shared_ffn);
    if (m->shared_gate)
        vs_build_matrix(b, VS_ROLE_ROUTER,
                        (struct vs_stems){"mlp.shared_expert_gate", "ffn_gate_inp_shexp"}, 1,
                        m->hidden, false);
}

static void add_experts(struct vs_build *b) {
    const struct vs_model *m = b->model;
    const uint64_t width = m->moe_latent ? m->moe_latent : m->hidden;

    add_router(b);
    if (m->moe_latent)
        vs_build_matrix(b, VS_ROLE_BRIDGE,
                        (struct vs_stems){"mlp.fc1_latent_proj", "ffn_latent_down"}, width,
                        m->hidden, false);
    if (m->gated_mlp)
        add_expert(b, VS_ROLE_EXPERT_GATE,
                   (struct vs_stems){"mlp.experts.*.gate_proj", "ffn_gate_exps"}, m->moe_ffn,
                   width);
    add_expert(b, VS_ROLE_EXPERT_UP, (struct vs_stems){"mlp.experts.*.up_proj", "ffn_up_exps"},
               m->moe_ffn, width);
    add_expert(b, VS_ROLE_EXPERT_DOWN,
               (struct vs_stems){"mlp.experts.*.down_proj", "ffn_down_exps"}, width, m->moe_ffn);
    if (m->moe_latent)
        vs_build_matrix(b, VS_ROLE_BRIDGE,
                        (struct vs_stems){"mlp.fc2_latent_proj", "ffn_latent_up"}, m->hidden, width,
                        false);
    if (m->shared_experts)
        add_shared_experts(b);
}

/* Norms between mixer and MLP, and behind them. */
static void add_middle_norms(struct vs_build *b) {
    static const struct vs_stems more[] = {{"pre_feedforward_layernorm", "ffn_norm"},
                                           {"post_feedforward_layernorm", "post_ffw_norm"},
                                           {"post_feedforward_layernorm_1", "post_ffw_norm_1"},
                                           {"post_feedforward_layernorm_2", "post_ffw_norm_2"},
                                           {"pre_feedforward_layernorm_2", "pre_ffw_norm_2"}};
    const uint32_t norms = b->model->norms_per_layer;

    if (norms == 2)
        vs_build_norm(b, (struct vs_stems){"post_attention_layernorm", "ffn_norm"},
                      b->model->hidden);
    else if (norms > 2)
        vs_build_norm(b, (struct vs_stems){"post_attention_layernorm", "post_attention_norm"},
                      b->model->hidden);
    for (uint32_t i = 2; i < norms; i++)
        vs_build_norm(b, more[i - 2], b->model->hidden);
}

/* What a layer adds of the embedding that is its own (Gemma 4 E models). */
static void add_per_layer_input(struct vs_build *b) {
    const struct vs_model *m = b->model;

    vs_build_matrix(b, VS_ROLE_BRIDGE, (struct vs_stems){"per_layer_input_gate", "inp_gate"},
                    m->per_layer_input, m->hidden, false);
    vs_build_matrix(b, VS_ROLE_BRIDGE, (struct vs_stems){"per_layer_projection", "proj"}, m->hidden,
                    m->per_layer_input, false);
    vs_build_norm(b, (struct vs_stems){"post_per_layer_input_norm", "post_norm"}, m->hidden);
}

#define HF_LAYERS "model.layers."
#define GGUF_LAYERS "blk."

/* prefix + digits + "."; returns its length. */
static size_t put_prefix(char out[32], const char *prefix, const char *digits, size_t count) {
    const size_t at = strlen(prefix);

    memcpy(out, prefix, at);
    memcpy(out + at, digits, count);
    memcpy(out + at + count, ".", 2);
    return at + count + 1;
}

static size_t put_digits(char out[10], uint32_t number) {
    char reversed[10];
    size_t n = 0;

    do {
        reversed[n++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    for (size_t i = 0; i < n; i++)
        out[i] = reversed[n - 1 - i];
    return n;
}

/* Have two layers the same tensors? */
static bool are_equal(const struct vs_model_layer *a, const struct vs_model_layer *b) {
    return a->mixer == b->mixer && a->mlp == b->mlp && a->k_is_v == b->k_is_v &&
           a->kv_heads == b->kv_heads && a->head_dim == b->head_dim && a->ffn == b->ffn;
}

/* Copies the tensors of an equal layer and puts the number into their names: most models have one
 * or two kinds of layers, and making names is most of the work. */
static void copy_layer(struct vs_build *b, const struct vs_build_done *from, const char *digits) {
    const size_t moved = b->text_bytes - from->text;

    if (b->at)
        memcpy(b->text + b->text_bytes, b->text + from->text, from->text_bytes);
    for (size_t i = 0; b->at && i < from->count; i++) {
        struct vs_tensor *tensor = &b->at[b->count + i];
        *tensor = b->at[from->first + i];
        tensor->layer = b->layer;
        tensor->name += moved;
        tensor->gguf_name += moved;
        memcpy(b->text + (tensor->name - b->text) + strlen(HF_LAYERS), digits, from->digits);
        memcpy(b->text + (tensor->gguf_name - b->text) + strlen(GGUF_LAYERS), digits, from->digits);
    }
    b->count += from->count;
    b->text_bytes += from->text_bytes;
}

static const struct vs_build_done *find_equal(const struct vs_build *b, size_t digits) {
    for (size_t i = 0; i < b->done_count; i++)
        if (b->done[i].digits == digits && are_equal(b->done[i].layer, b->now))
            return &b->done[i];
    return NULL;
}

static void remember(struct vs_build *b, size_t first, size_t text, size_t digits) {
    if (b->done_count < sizeof b->done / sizeof *b->done)
        b->done[b->done_count++] = (struct vs_build_done){
            b->now, first, b->count - first, text, b->text_bytes - text, digits};
}

static void make_layer(struct vs_build *b) {
    const struct vs_model *m = b->model;

    vs_build_norm(b, (struct vs_stems){"input_layernorm", "attn_norm"}, m->hidden);
    vs_build_mixer(b);
    add_middle_norms(b);
    if (b->now->mlp == VS_MLP_EXPERTS)
        add_experts(b);
    else if (b->now->mlp == VS_MLP_DENSE)
        add_dense_mlp(b);
    if (m->per_layer_input)
        add_per_layer_input(b);
    if (m->layer_scale)
        vs_build_vector(b, (struct vs_stems){"layer_scalar", "layer_output_scale.weight"}, 1);
}

static void add_layer(struct vs_build *b, uint32_t layer) {
    const size_t first = b->count, text = b->text_bytes;
    const struct vs_build_done *equal;
    char digits[10];
    const size_t n = put_digits(digits, layer);

    b->layer = (int32_t)layer;
    b->now = &b->model->layer[layer];
    equal = find_equal(b, n);
    if (equal) {
        copy_layer(b, equal, digits);
        return;
    }
    b->hf_prefix_bytes = put_prefix(b->hf_prefix, HF_LAYERS, digits, n);
    b->gguf_prefix_bytes = put_prefix(b->gguf_prefix, GGUF_LAYERS, digits, n);
    make_layer(b);
    remember(b, first, text, n);
}

static void leave_layers(struct vs_build *b) {
    b->layer = -1;
    b->hf_prefix_bytes = b->gguf_prefix_bytes = 0;
}

static void add_embeddings(struct vs_build *b) {
    const struct vs_model *m = b->model;
    const uint64_t wide = (uint64_t)m->layers * m->per_layer_input;

    vs_build_matrix(b, VS_ROLE_EMBED, (struct vs_stems){"model.embed_tokens", "token_embd"},
                    m->embed_rows ? m->embed_rows : m->vocab, m->hidden, false);
    if (m->learned_positions)
        vs_build_matrix(b, VS_ROLE_POSITIONS,
                        (struct vs_stems){"model.embed_positions", "position_embd"},
                        m->learned_positions, m->hidden, false);
    if (m->embed_norm)
        vs_build_norm(b, (struct vs_stems){"model.embed_layernorm", "token_embd_norm"}, m->hidden);
    if (m->per_layer_input) {
        vs_build_matrix(b, VS_ROLE_LAYER_EMBED,
                        (struct vs_stems){"model.embed_tokens_per_layer", "per_layer_token_embd"},
                        m->vocab, wide, false);
        vs_build_matrix(
            b, VS_ROLE_BRIDGE,
            (struct vs_stems){"model.per_layer_model_projection", "per_layer_model_proj"}, wide,
            m->hidden, false);
        vs_build_norm(b,
                      (struct vs_stems){"model.per_layer_projection_norm", "per_layer_proj_norm"},
                      m->per_layer_input);
    }
}

static void add_all(struct vs_build *b) {
    const struct vs_model *m = b->model;

    b->count = b->text_bytes = b->done_count = 0;
    leave_layers(b);
    add_embeddings(b);
    for (uint32_t i = 0; i < m->layers; i++)
        add_layer(b, i);
    leave_layers(b);
    vs_build_norm(b, (struct vs_stems){"model.norm", "output_norm"}, m->hidden);
    if (!m->tied_embeddings)
        vs_build_matrix(b, VS_ROLE_HEAD, (struct vs_stems){"lm_head", "output"}, m->vocab,
                        m->hidden, m->head_bias);
}

static void sum_params(struct vs_model *model) {
    model->params_total = model->params_active = model->params_linear = 0;
    for (size_t i = 0; i < model->tensor_count; i++) {
        const struct vs_tensor *tensor = &model->tensors[i];
        const uint64_t params = vs_tensor_params(tensor);

        model->params_total += params;
        model->params_active += vs_tensor_active_params(model, tensor);
        if (vs_role_is_linear(tensor->role))
            model->params_linear += params;
    }
}

bool vs_model_build(struct vs_arena *arena, struct vs_model *model) {
    struct vs_build b = {.model = model};

    if (!vs_model_build_layers(arena, model))
        return false;
    add_all(&b);
    b.text = VS_NEW_ARRAY(arena, char, b.text_bytes);
    b.at = VS_NEW_ARRAY(arena, struct vs_tensor, b.count);
    if (!b.at || !b.text)
        return false;
    add_all(&b);
    model->tensors = b.at;
    model->tensor_count = b.count;
    sum_params(model);
    return true;
}

uint64_t vs_tensor_params(const struct vs_tensor *tensor) {
    return tensor->rows * tensor->cols * tensor->count;
}

uint64_t vs_tensor_active_params(const struct vs_model *model, const struct vs_tensor *tensor) {
    const uint64_t each = tensor->rows * tensor->cols;
    return tensor->count > 1 ? each * model->experts_active : each;
}

bool vs_role_is_linear(enum vs_role role) { return role >= VS_ROLE_Q && role <= VS_ROLE_BRIDGE; }

bool vs_role_is_mlp(enum vs_role role) {
    return role >= VS_ROLE_GATE && role <= VS_ROLE_SHARED_DOWN;
}

bool vs_role_is_expert(enum vs_role role) {
    return role >= VS_ROLE_EXPERT_GATE && role <= VS_ROLE_EXPERT_DOWN;
}
