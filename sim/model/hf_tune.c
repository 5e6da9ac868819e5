/* What only one family does in its config.json. Sources as in hf_families.def. */
#include "base/text.h"
#include "model/hf.h"

static bool tune_gpt_bigcode(const struct vs_hf *hf, struct vs_model *m, struct vs_err *err) {
    bool one = true;

    if (!vs_hf_bool(hf, "multi_query", &one, err))
        return false;
    m->kv_heads = one ? 1 : m->heads;
    return true;
}

static bool tune_falcon(const struct vs_hf *hf, struct vs_model *m, struct vs_err *err) {
    bool new_layout = false, one = true, parallel = true, bias = false;
    uint32_t norms = 2;

    if (!vs_hf_bool(hf, "new_decoder_architecture", &new_layout, err) ||
        !vs_hf_bool(hf, "multi_query", &one, err) ||
        !vs_hf_bool(hf, "parallel_attn", &parallel, err) || !vs_hf_bool(hf, "bias", &bias, err) ||
        !vs_hf_count(hf, "num_ln_in_parallel_attn", 2, &norms, err))
        return false;
    if (!new_layout) {
        m->kv_heads = one ? 1 : m->heads;
        norms = parallel ? 1 : 2;
    }
    m->norms_per_layer = norms ? norms : 2;
    m->attn_bias = m->attn_out_bias = m->mlp_bias = bias;
    return true;
}

/* "attn_config": {"alibi": true} stands in an object of its own. */
static bool tune_mpt(const struct vs_hf *hf, struct vs_model *m, struct vs_err *err) {
    struct vs_hf attention = *hf;
    bool alibi = false, learned = true, no_bias = false;
    uint32_t ratio = 4;

    attention.text = vs_hf_member(hf, "attn_config");
    if (attention.text && attention.text->kind == VS_JSON_OBJECT &&
        !vs_hf_bool(&attention, "alibi", &alibi, err))
        return false;
    if (!vs_hf_bool(hf, "learned_pos_emb", &learned, err) ||
        !vs_hf_bool(hf, "no_bias", &no_bias, err) ||
        !vs_hf_count(hf, "expansion_ratio", 64, &ratio, err))
        return false;
    m->ffn = ratio * m->hidden;
    m->learned_positions = learned && !alibi ? m->max_ctx : 0;
    m->attn_bias = m->attn_out_bias = m->mlp_bias = m->norm_bias = !no_bias;
    return true;
}

/* The position table begins with two rows of padding. */
static bool tune_opt(const struct vs_hf *hf, struct vs_model *m, struct vs_err *err) {
    uint32_t width = m->hidden;

    if (!vs_hf_count(hf, "word_embed_proj_dim", UINT32_MAX, &width, err))
        return false;
    if (width != m->hidden)
        return vs_json_fail(hf->root, vs_hf_member(hf, "word_embed_proj_dim"), err,
                            "found %u, expected the hidden size, %u", width, m->hidden);
    m->learned_positions = m->max_ctx + 2;
    return true;
}

static bool tune_chatglm(const struct vs_hf *hf, struct vs_model *m, struct vs_err *err) {
    bool shared = false, qkv_bias = false, bias = false;

    if (!vs_hf_bool(hf, "multi_query_attention", &shared, err) ||
        !vs_hf_bool(hf, "add_qkv_bias", &qkv_bias, err) ||
        !vs_hf_bool(hf, "add_bias_linear", &bias, err))
        return false;
    if (!shared)
        m->kv_heads = m->heads;
    m->attn_bias = qkv_bias || bias;
    m->attn_out_bias = m->mlp_bias = bias;
    return true;
}

/* "bias" is that of attention (InternLM 1 to 3); the third also has "qkv_bias". */
static bool tune_internlm(const struct vs_hf *hf, struct vs_model *m, struct vs_err *err) {
    bool bias = vs_streq(hf->family->family, "internlm"), qkv = false;

    if (!vs_hf_bool(hf, "bias", &bias, err) || !vs_hf_bool(hf, "qkv_bias", &qkv, err))
        return false;
    m->attn_bias = bias || qkv;
    m->attn_out_bias = bias;
    m->mlp_bias = bias && vs_streq(hf->family->family, "internlm3");
    return true;
}

/* "intermediate_size" is that of experts and of the shared one, "intermediate_size_mlp" of dense
 * layers. */
static bool tune_llama4(const struct vs_hf *hf, struct vs_model *m, struct vs_err *err) {
    m->shared_experts = 1;
    m->shared_ffn = m->moe_ffn;
    return vs_hf_count(hf, "intermediate_size_mlp", 1u << 24, &m->ffn, err);
}

/* Eight more rows in the embedding, for the image token and padding. */
static bool tune_mllama(const struct vs_hf *hf, struct vs_model *m, struct vs_err *err) {
    (void)hf;
    (void)err;
    m->embed_rows = m->vocab + 8;
    return true;
}

/* The dense MLP runs beside the experts. Full layers have heads of their own, and share one matrix
 * for k and v where the file says so. */
static bool tune_gemma4(const struct vs_hf *hf, struct vs_model *m, struct vs_err *err) {
    if (!vs_hf_bool(hf, "attention_k_eq_v", &m->own_k_is_v, err) ||
        !vs_hf_bool(hf, "use_double_wide_mlp", &m->borrowers_wide_mlp, err))
        return false;
    if (!m->own_k_is_v || m->own_kv_heads == 0)
        m->own_kv_heads = m->kv_heads;
    if (m->experts == 0)
        return true;
    m->shared_experts = 1;
    m->shared_ffn = m->ffn;
    m->norms_per_layer = 7;
    m->router_scales = true;
    return true;
}

bool vs_hf_tune(const struct vs_hf *hf, struct vs_model *model, struct vs_err *err) {
    static const struct {
        const char *family;
        bool (*tune)(const struct vs_hf *hf, struct vs_model *m, struct vs_err *err);
    } families[] = {
        {"gpt_bigcode", tune_gpt_bigcode},
        {"falcon", tune_falcon},
        {"mpt", tune_mpt},
        {"opt", tune_opt},
        {"chatglm", tune_chatglm},
        {"internlm", tune_internlm},
        {"internlm2", tune_internlm},
        {"internlm3", tune_internlm},
        {"llama4", tune_llama4},
        {"mllama", tune_mllama},
        {"gemma4", tune_gemma4},
    };

    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (vs_streq(families[i].family, hf->family->family))
            return families[i].tune(hf, model, err);
    return true;
}
