/* Latent attention in training (DeepSeek-V2, arXiv 2405.04434): hidden to a narrow vector, a norm,
 * and from it to the queries of all heads; the same for keys and values, whose rotated part is
 * common to all heads and copied to each. Nothing is absorbed: attention runs on whole heads, with
 * keys wider than values.
 *
 * Kept beside the common input: both narrow vectors before and behind their norms (where matrices
 * learn), then what attention keeps of q, k and v. */
#include "plan/train.h"

static vs_buffer_id take(struct vs_train *t, const char *what, uint32_t layer,
                         uint64_t bytes_per_token) {
    return vs_train_take(t, what, (int32_t)layer, bytes_per_token);
}

static bool trains(struct vs_train *t, uint32_t layer, enum vs_role role) {
    const struct vs_weight *w = vs_layer_weight(t->plan, layer, role);
    return w && w->trainable;
}

static void forward(struct vs_train *t, const char *what, uint32_t layer, enum vs_role role) {
    struct vs_weight *w = vs_layer_weight(t->plan, layer, role);
    if (w)
        vs_train_gemm(t, what, (int32_t)layer, &w, 1, 1);
}

static void backward(struct vs_train *t, const char *what, uint32_t layer, enum vs_role role) {
    struct vs_weight *w = vs_layer_weight(t->plan, layer, role);
    if (!w)
        return;
    vs_train_gemm(t, what, (int32_t)layer, &w, 1, w->trainable ? 2 : 1);
    vs_train_weight_grad(t, w);
}

/* A way through a narrow space: `more` elements pass by the norm. */
struct way {
    const char *what;
    enum vs_role down, up;
    uint64_t width, more, out;
};

static struct way way_of_q(const struct vs_train *t) {
    return (struct way){"q through its latent", VS_ROLE_Q_A, VS_ROLE_Q_B,
                        t->m->mla_q_rank,       0,           t->q};
}

static struct way way_of_kv(const struct vs_train *t) {
    const struct vs_model *m = t->m;
    return (struct way){"k and v through their latent",
                        VS_ROLE_KV_A,
                        VS_ROLE_KV_B,
                        m->mla_kv_rank,
                        m->mla_rope_dim,
                        t->nh * (m->mla_nope_dim + m->mla_v_dim)};
}

static vs_buffer_id through(struct vs_train *t, uint32_t layer, struct way way, bool keep) {
    vs_buffer_id narrow = take(t, way.what, layer, t->cb * (way.width + way.more));
    forward(t, way.what, layer, way.down);
    struct vs_norm_input in = {.x = narrow, .width = way.width, .bytes = t->cb};
    vs_buffer_id normed = vs_train_norm(t, layer, VS_KEEP_LATENT, in, keep);
    vs_buffer_id wide = take(t, way.what, layer, t->cb * way.out);
    forward(t, way.what, layer, way.up);
    bool needed = keep && trains(t, layer, way.up);
    normed = vs_train_as_operand(t, layer, normed, way.width, needed);
    vs_train_keep_or_give(t, layer, VS_KEEP_LATENT, normed, needed);
    return wide;
}

void vs_train_latent_forward(struct vs_train *t, uint32_t layer, vs_buffer_id qkv[3], bool keep) {
    if (t->m->mla_q_rank > 0) {
        qkv[0] = through(t, layer, way_of_q(t), keep);
    } else {
        qkv[0] = take(t, "self_attn.q_proj", layer, t->cb * t->q);
        forward(t, "self_attn.q_proj", layer, VS_ROLE_Q);
    }
    vs_buffer_id both = through(t, layer, way_of_kv(t), keep);
    qkv[1] = take(t, "keys of all heads", layer, t->cb * t->q);
    qkv[2] = take(t, "values of all heads", layer, t->cb * t->out);
    vs_train_element(t, "keys and values of all heads", (int32_t)layer,
                     2.0 * t->cb * (double)(t->q + t->out));
    vs_emit_give(&t->e, both);
}

static vs_buffer_id back(struct vs_train *t, uint32_t layer, struct way way, vs_buffer_id grad) {
    vs_buffer_id normed = take(t, way.what, layer, t->cb * way.width);
    backward(t, way.what, layer, way.up);
    vs_emit_give(&t->e, grad);
    vs_buffer_id narrow = vs_train_norm_input_grad(t, layer, way.width, t->cb, normed);
    backward(t, way.what, layer, way.down);
    return narrow;
}

vs_buffer_id vs_train_latent_backward(struct vs_train *t, uint32_t layer, vs_buffer_id qkv[3]) {
    vs_buffer_id both = take(t, "gradient of k and v", layer, t->cb * way_of_kv(t).out);
    vs_train_element(t, "gradient of k and v", (int32_t)layer,
                     2.0 * t->cb * (double)(t->q + t->out));
    vs_emit_give(&t->e, qkv[1]);
    vs_emit_give(&t->e, qkv[2]);
    vs_buffer_id latent = back(t, layer, way_of_kv(t), both), q = qkv[0];
    if (t->m->mla_q_rank > 0)
        q = back(t, layer, way_of_q(t), q);
    else
        backward(t, "self_attn.q_proj backward", layer, VS_ROLE_Q);
    vs_train_free_kept(t, layer, VS_KEEP_LATENT);
    vs_buffer_id sum = take(t, "attention input gradient", layer, t->nb * t->d);
    vs_emit_give(&t->e, q);
    vs_emit_give(&t->e, latent);
    vs_train_free_kept(t, layer, VS_KEEP_QKV_IN);
    return vs_train_sum(t, (int32_t)layer, "attention input gradient, summed", sum);
}
