/* The tensors that let tokens see each other. */
#include "model/build.h"

/* Projections of q, k, v and o. Where the output is gated, q is twice as wide. */
static void add_attention(struct vs_build *b) {
    const struct vs_model *m = b->model;
    const uint64_t q = (uint64_t)m->heads * b->now->head_dim;
    const uint64_t kv = (uint64_t)b->now->kv_heads * b->now->head_dim;
    const struct vs_stems q_proj = {"self_attn.q_proj", "attn_q"};
    const struct vs_stems k_proj = {"self_attn.k_proj", "attn_k"};
    const struct vs_stems v_proj = {"self_attn.v_proj", "attn_v"};
    const struct vs_stems o_proj = {"self_attn.o_proj", "attn_output"};

    vs_build_matrix(b, VS_ROLE_Q, q_proj, m->attn_output_gate ? 2 * q : q, m->hidden, m->attn_bias);
    vs_build_matrix(b, VS_ROLE_K, k_proj, kv, m->hidden, m->attn_bias);
    if (!b->now->k_is_v)
        vs_build_matrix(b, VS_ROLE_V, v_proj, kv, m->hidden, m->attn_bias);
    vs_build_matrix(b, VS_ROLE_O, o_proj, m->hidden, q, m->attn_out_bias);
    if (m->attn_sinks)
        vs_build_vector(b, (struct vs_stems){"self_attn.sinks", "attn_sinks.weight"}, m->heads);
}

static void add_qk_norms(struct vs_build *b, bool all_heads) {
    const uint64_t dim = b->now->head_dim;
    const uint64_t q = all_heads ? b->model->heads * dim : dim;
    const uint64_t k = all_heads ? b->now->kv_heads * dim : dim;

    vs_build_norm(b, (struct vs_stems){"self_attn.q_norm", "attn_q_norm"}, q);
    vs_build_norm(b, (struct vs_stems){"self_attn.k_norm", "attn_k_norm"}, k);
}

/* DeepSeek's sparse attention: small heads that score which tokens are looked at. */
static void add_indexer(struct vs_build *b) {
    const struct vs_model *m = b->model;
    const struct vs_stems norm = {"self_attn.indexer.k_norm", "indexer.k_norm"};

    vs_build_matrix(b, VS_ROLE_INDEX,
                    (struct vs_stems){"self_attn.indexer.wq_b", "indexer.attn_q_b"},
                    (uint64_t)m->index_heads * m->index_dim, m->mla_q_rank, false);
    vs_build_matrix(b, VS_ROLE_INDEX, (struct vs_stems){"self_attn.indexer.wk", "indexer.attn_k"},
                    m->index_dim, m->hidden, false);
    vs_build_add(b, VS_ROLE_NORM, norm, ".weight", 1, m->index_dim, 1);
    vs_build_add(b, VS_ROLE_NORM, norm, ".bias", 1, m->index_dim, 1);
    vs_build_matrix(b, VS_ROLE_INDEX,
                    (struct vs_stems){"self_attn.indexer.weights_proj", "indexer.proj"},
                    m->index_heads, m->hidden, false);
}

static void add_latent_attention(struct vs_build *b) {
    const struct vs_model *m = b->model;
    const uint64_t heads = m->heads, hidden = m->hidden, kv_rank = m->mla_kv_rank;
    const uint64_t q = heads * ((uint64_t)m->mla_nope_dim + m->mla_rope_dim);
    const uint64_t kv = heads * ((uint64_t)m->mla_nope_dim + m->mla_v_dim);

    if (m->mla_q_rank) {
        vs_build_matrix(b, VS_ROLE_Q_A, (struct vs_stems){"self_attn.q_a_proj", "attn_q_a"},
                        m->mla_q_rank, hidden, m->attn_bias);
        vs_build_norm(b, (struct vs_stems){"self_attn.q_a_layernorm", "attn_q_a_norm"},
                      m->mla_q_rank);
        vs_build_matrix(b, VS_ROLE_Q_B, (struct vs_stems){"self_attn.q_b_proj", "attn_q_b"}, q,
                        m->mla_q_rank, false);
    } else {
        vs_build_matrix(b, VS_ROLE_Q, (struct vs_stems){"self_attn.q_proj", "attn_q"}, q, hidden,
                        false);
    }
    vs_build_matrix(b, VS_ROLE_KV_A,
                    (struct vs_stems){"self_attn.kv_a_proj_with_mqa", "attn_kv_a_mqa"},
                    kv_rank + m->mla_rope_dim, hidden, m->attn_bias);
    vs_build_norm(b, (struct vs_stems){"self_attn.kv_a_layernorm", "attn_kv_a_norm"}, kv_rank);
    vs_build_matrix(b, VS_ROLE_KV_B, (struct vs_stems){"self_attn.kv_b_proj", "attn_kv_b"}, kv,
                    kv_rank, false);
    vs_build_matrix(b, VS_ROLE_O, (struct vs_stems){"self_attn.o_proj", "attn_output"}, hidden,
                    heads * m->mla_v_dim, m->attn_out_bias);
    if (m->index_heads)
        add_indexer(b);
}

/* Llama 3.2 Vision: k and v come from the image; two gates of one number each. */
static void add_cross_attention(struct vs_build *b) {
    add_attention(b);
    add_qk_norms(b, false);
    vs_build_vector(b, (struct vs_stems){"cross_attn_attn_gate", "cross_attn_attn_gate"}, 1);
    vs_build_vector(b, (struct vs_stems){"cross_attn_mlp_gate", "cross_attn_mlp_gate"}, 1);
}

/* Gated DeltaNet of Qwen3-Next and Qwen3.5. */
static void add_linear_attention(struct vs_build *b) {
    const struct vs_model *m = b->model;
    const uint64_t k = (uint64_t)m->linear_k_heads * m->linear_k_dim;
    const uint64_t v = (uint64_t)m->linear_v_heads * m->linear_v_dim;
    const uint64_t hidden = m->hidden, heads = m->linear_v_heads;

    vs_build_matrix(b, VS_ROLE_STATE_IN, (struct vs_stems){"linear_attn.in_proj_qkv", "attn_qkv"},
                    2 * k + v, hidden, false);
    vs_build_matrix(b, VS_ROLE_STATE_IN, (struct vs_stems){"linear_attn.in_proj_z", "attn_gate"}, v,
                    hidden, false);
    vs_build_matrix(b, VS_ROLE_STATE_IN, (struct vs_stems){"linear_attn.in_proj_b", "ssm_beta"},
                    heads, hidden, false);
    vs_build_matrix(b, VS_ROLE_STATE_IN, (struct vs_stems){"linear_attn.in_proj_a", "ssm_alpha"},
                    heads, hidden, false);
    vs_build_add(b, VS_ROLE_NORM, (struct vs_stems){"linear_attn.conv1d", "ssm_conv1d"}, ".weight",
                 2 * k + v, m->linear_conv, 1);
    vs_build_vector(b, (struct vs_stems){"linear_attn.dt_bias", "ssm_dt.bias"}, heads);
    vs_build_vector(b, (struct vs_stems){"linear_attn.A_log", "ssm_a"}, heads);
    vs_build_norm(b, (struct vs_stems){"linear_attn.norm", "ssm_norm"}, m->linear_v_dim);
    vs_build_matrix(b, VS_ROLE_STATE_OUT, (struct vs_stems){"linear_attn.out_proj", "ssm_out"},
                    hidden, v, false);
}

/* Mamba-2 of Nemotron-H: one projection makes gate, inputs of the convolution (x, B, C) and step.
 */
static void add_mamba(struct vs_build *b) {
    const struct vs_model *m = b->model;
    const uint64_t inner = (uint64_t)m->mamba_heads * m->mamba_head_dim;
    const uint64_t conv = inner + 2 * (uint64_t)m->mamba_groups * m->mamba_state;
    const struct vs_stems conv1d = {"mixer.conv1d", "ssm_conv1d"};

    vs_build_matrix(b, VS_ROLE_STATE_IN, (struct vs_stems){"mixer.in_proj", "ssm_in"},
                    inner + conv + m->mamba_heads, m->hidden, false);
    vs_build_add(b, VS_ROLE_NORM, conv1d, ".weight", conv, m->mamba_conv, 1);
    vs_build_add(b, VS_ROLE_NORM, conv1d, ".bias", 1, conv, 1);
    vs_build_vector(b, (struct vs_stems){"mixer.dt_bias", "ssm_dt.bias"}, m->mamba_heads);
    vs_build_vector(b, (struct vs_stems){"mixer.A_log", "ssm_a"}, m->mamba_heads);
    vs_build_vector(b, (struct vs_stems){"mixer.D", "ssm_d"}, m->mamba_heads);
    vs_build_norm(b, (struct vs_stems){"mixer.norm", "ssm_norm"}, inner);
    vs_build_matrix(b, VS_ROLE_STATE_OUT, (struct vs_stems){"mixer.out_proj", "ssm_out"}, m->hidden,
                    inner, false);
}

void vs_build_mixer(struct vs_build *b) {
    switch ((enum vs_mixer)b->now->mixer) {
    case VS_MIXER_ATTENTION:
        add_attention(b);
        if (b->model->qk_norm != VS_QK_NORM_NONE)
            add_qk_norms(b, b->model->qk_norm == VS_QK_NORM_ALL);
        break;
    case VS_MIXER_LATENT:
        add_latent_attention(b);
        break;
    case VS_MIXER_CROSS:
        add_cross_attention(b);
        break;
    case VS_MIXER_LINEAR:
        add_linear_attention(b);
        break;
    case VS_MIXER_MAMBA:
        add_mamba(b);
        break;
    case VS_MIXER_NONE:
        break;
    }
}
