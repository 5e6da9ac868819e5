/* The tensors of a model, one by one, and what they cost in a format. */
#include <string.h>

#include "model/fields.h"
#include "model/gguf_mix.h"
#include "model/types.h"

/* Run twice: once with `at` NULL to count, once to fill. */
struct build {
    struct vs_arena *arena;
    const struct vs_model *model;
    struct vs_tensor *at;
    size_t count;
    int32_t layer;
    char hf_prefix[32], gguf_prefix[32]; /* "model.layers.3." and "blk.3." */
    bool failed;
};

/* prefix + stem + ending. Written by hand: printing 1,500 names would be most of the time that
 * loading a model takes. */
static const char *join(struct build *b, const char *prefix, const char *stem, const char *ending) {
    const size_t n0 = strlen(prefix), n1 = strlen(stem), n2 = strlen(ending);
    char *text = VS_NEW_ARRAY(b->arena, char, n0 + n1 + n2 + 1);

    if (!text) {
        b->failed = true;
        return NULL;
    }
    memcpy(text, prefix, n0);
    memcpy(text + n0, stem, n1);
    memcpy(text + n0 + n1, ending, n2);
    return text;
}

struct stems {
    const char *hf, *gguf;
};

static void add_as(struct build *b, enum vs_role role, struct stems stems, const char *ending,
                   uint64_t rows, uint64_t cols, uint32_t copies) {
    if (b->at && !b->failed)
        b->at[b->count] = (struct vs_tensor){
            .role = role,
            .layer = b->layer,
            .count = copies,
            .rows = rows,
            .cols = cols,
            .name = join(b, b->hf_prefix, stems.hf, ending),
            .gguf_name = join(b, b->gguf_prefix, stems.gguf, ending),
        };
    b->count++;
}

static void add_matrix(struct build *b, enum vs_role role, struct stems stems, uint64_t rows,
                       uint64_t cols, bool bias) {
    add_as(b, role, stems, ".weight", rows, cols, 1);
    if (bias)
        add_as(b, VS_ROLE_NORM, stems, ".bias", 1, rows, 1);
}

static void add_norm(struct build *b, struct stems stems, uint64_t width) {
    add_as(b, VS_ROLE_NORM, stems, ".weight", 1, width, 1);
    if (b->model->norm_bias)
        add_as(b, VS_ROLE_NORM, stems, ".bias", 1, width, 1);
}

static void add_attention(struct build *b) {
    const struct vs_model *m = b->model;
    const uint64_t q = (uint64_t)m->heads * m->head_dim;
    const uint64_t kv = (uint64_t)m->kv_heads * m->head_dim;
    const struct stems q_proj = {"self_attn.q_proj", "attn_q"};
    const struct stems k_proj = {"self_attn.k_proj", "attn_k"};
    const struct stems v_proj = {"self_attn.v_proj", "attn_v"};
    const struct stems o_proj = {"self_attn.o_proj", "attn_output"};

    add_matrix(b, VS_ROLE_Q, q_proj, q, m->hidden, m->attn_bias);
    add_matrix(b, VS_ROLE_K, k_proj, kv, m->hidden, m->attn_bias);
    add_matrix(b, VS_ROLE_V, v_proj, kv, m->hidden, m->attn_bias);
    add_matrix(b, VS_ROLE_O, o_proj, m->hidden, q, m->attn_out_bias);
    if (m->qk_norm) {
        add_norm(b, (struct stems){"self_attn.q_norm", "attn_q_norm"}, m->head_dim);
        add_norm(b, (struct stems){"self_attn.k_norm", "attn_k_norm"}, m->head_dim);
    }
}

static void add_mlp(struct build *b) {
    const struct vs_model *m = b->model;

    if (m->gated_mlp)
        add_matrix(b, VS_ROLE_GATE, (struct stems){"mlp.gate_proj", "ffn_gate"}, m->ffn, m->hidden,
                   m->mlp_bias);
    add_matrix(b, VS_ROLE_UP, (struct stems){"mlp.up_proj", "ffn_up"}, m->ffn, m->hidden,
               m->mlp_bias);
    add_matrix(b, VS_ROLE_DOWN, (struct stems){"mlp.down_proj", "ffn_down"}, m->hidden, m->ffn,
               m->mlp_bias);
}

/* One entry for all experts of a kind, as GGUF stores them. */
static void add_expert(struct build *b, enum vs_role role, struct stems stems, uint64_t rows,
                       uint64_t cols) {
    add_as(b, role, stems, ".weight", rows, cols, b->model->experts);
    if (b->model->mlp_bias)
        add_as(b, VS_ROLE_NORM, stems, ".bias", 1, rows, b->model->experts);
}

static void add_experts(struct build *b) {
    const struct vs_model *m = b->model;

    add_matrix(b, VS_ROLE_ROUTER, (struct stems){"mlp.gate", "ffn_gate_inp"}, m->experts, m->hidden,
               false);
    if (m->gated_mlp)
        add_expert(b, VS_ROLE_EXPERT_GATE,
                   (struct stems){"mlp.experts.*.gate_proj", "ffn_gate_exps"}, m->moe_ffn,
                   m->hidden);
    add_expert(b, VS_ROLE_EXPERT_UP, (struct stems){"mlp.experts.*.up_proj", "ffn_up_exps"},
               m->moe_ffn, m->hidden);
    add_expert(b, VS_ROLE_EXPERT_DOWN, (struct stems){"mlp.experts.*.down_proj", "ffn_down_exps"},
               m->hidden, m->moe_ffn);
}

/* prefix + number + "." */
static void put_prefix(char out[32], const char *prefix, uint32_t number) {
    char digits[10];
    size_t n = 0, at = strlen(prefix);

    memcpy(out, prefix, at);
    do {
        digits[n++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    while (n > 0)
        out[at++] = digits[--n];
    out[at++] = '.';
    out[at] = '\0';
}

static void add_layer(struct build *b, uint32_t layer) {
    b->layer = (int32_t)layer;
    put_prefix(b->hf_prefix, "model.layers.", layer);
    put_prefix(b->gguf_prefix, "blk.", layer);
    add_norm(b, (struct stems){"input_layernorm", "attn_norm"}, b->model->hidden);
    add_attention(b);
    add_norm(b, (struct stems){"post_attention_layernorm", "ffn_norm"}, b->model->hidden);
    if (b->model->experts)
        add_experts(b);
    else
        add_mlp(b);
}

static void add_all(struct build *b) {
    const struct vs_model *m = b->model;

    b->count = 0;
    b->layer = -1;
    b->hf_prefix[0] = b->gguf_prefix[0] = '\0';
    add_matrix(b, VS_ROLE_EMBED, (struct stems){"model.embed_tokens", "token_embd"}, m->vocab,
               m->hidden, false);
    if (m->learned_positions)
        add_matrix(b, VS_ROLE_POSITIONS, (struct stems){"model.embed_positions", "position_embd"},
                   m->learned_positions, m->hidden, false);
    for (uint32_t i = 0; i < m->layers && !b->failed; i++)
        add_layer(b, i);
    b->layer = -1;
    b->hf_prefix[0] = b->gguf_prefix[0] = '\0';
    add_norm(b, (struct stems){"model.norm", "output_norm"}, m->hidden);
    if (!m->tied_embeddings)
        add_matrix(b, VS_ROLE_HEAD, (struct stems){"lm_head", "output"}, m->vocab, m->hidden,
                   false);
}

static void sum_params(struct vs_model *model) {
    model->params_total = model->params_active = model->params_linear = 0;
    for (size_t i = 0; i < model->tensor_count; i++) {
        const struct vs_tensor *tensor = &model->tensors[i];
        const uint64_t params = vs_tensor_params(tensor);
        /* what is stored once per expert is used by the active ones only */
        const bool routed = tensor->count > 1;

        model->params_total += params;
        model->params_active += routed ? params / tensor->count * model->experts_active : params;
        if (vs_role_is_linear(tensor->role))
            model->params_linear += params;
    }
}

bool vs_model_build(struct vs_arena *arena, struct vs_model *model) {
    struct build b = {.arena = arena, .model = model};

    add_all(&b);
    b.at = VS_NEW_ARRAY(arena, struct vs_tensor, b.count);
    if (!b.at)
        return false;
    add_all(&b);
    if (b.failed)
        return false;
    model->tensors = b.at;
    model->tensor_count = b.count;
    sum_params(model);
    return true;
}

uint64_t vs_tensor_params(const struct vs_tensor *tensor) {
    return tensor->rows * tensor->cols * tensor->count;
}

bool vs_role_is_linear(enum vs_role role) {
    return role >= VS_ROLE_Q && role <= VS_ROLE_EXPERT_DOWN;
}

static bool is_expert(enum vs_role role) {
    return role >= VS_ROLE_EXPERT_GATE && role <= VS_ROLE_EXPERT_DOWN;
}

/* Formats that quantize by kind of module: does this one hold the format's base type? */
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
            return is_expert(role);
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

uint64_t vs_kv_layer_bytes(const struct vs_model *model, uint32_t layer, uint64_t cells,
                           const struct vs_type *k, const struct vs_type *v) {
    const uint64_t row = (uint64_t)model->kv_heads * model->head_dim;
    (void)layer; /* all layers have the same heads */
    return cells * (vs_kv_row_bytes(k, row) + vs_kv_row_bytes(v, row));
}

uint32_t vs_layer_window(const struct vs_model *model, uint32_t layer) {
    return layer < model->layers ? model->window : 0;
}
