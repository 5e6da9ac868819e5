/* What lets tokens see each other: attention over a cache, or a recurrence over a state. */

#include "hw/machine.h"
#include "plan/pass.h"

/* Does this pass attend to keys and values of all heads, cached so or made from latents? */
static bool expanded(const struct vs_pass *p, uint32_t layer) {
    return p->m->layer[layer].mixer == VS_MIXER_LATENT &&
           (p->plan->latent == VS_LATENT_EXPANDED || vs_plan_unpacks(p->plan, p->tokens));
}

/* FLOPs of one new token against one cell of the cache, all heads of a rank. A latent is attended
 * to as it is cached, by queries that were multiplied into its space: its rank and the rotated part
 * for the scores, its rank again for the sum. */
static double pair_flops(const struct vs_pass *p, uint32_t layer) {
    const struct vs_model_layer *l = &p->m->layer[layer];
    double heads = (double)p->m->heads / vs_plan_parts(p->plan);
    if (expanded(p, layer))
        return 2 * heads * ((double)p->m->mla_nope_dim + p->m->mla_rope_dim + p->m->mla_v_dim);
    if (l->mixer == VS_MIXER_LATENT)
        return 2 * heads * (2.0 * p->m->mla_kv_rank + p->m->mla_rope_dim);
    return 4 * heads * l->head_dim;
}

/* Values of the queries of one token. */
static double query_width(const struct vs_pass *p, uint32_t layer) {
    const struct vs_model_layer *l = &p->m->layer[layer];
    double heads = (double)p->m->heads / vs_plan_parts(p->plan);
    if (expanded(p, layer))
        return heads * (p->m->mla_nope_dim + p->m->mla_rope_dim);
    if (l->mixer == VS_MIXER_LATENT)
        return heads * (p->m->mla_kv_rank + p->m->mla_rope_dim);
    return heads * l->head_dim;
}

static double cache_bytes(const struct vs_pass *p, uint32_t layer, uint64_t cells) {
    return (double)(p->batch * vs_plan_kv_bytes(p->plan, layer, cells));
}

/* Decode reads the cache: some kernels once for each query head, others once for each KV head. */
static double cache_traffic(const struct vs_pass *p, uint32_t layer) {
    const struct vs_model_layer *l = &p->m->layer[layer];
    double reads = 1;
    if (vs_pass_number(p, "kv_reads_per_query_head", 0) > 0 && l->mixer != VS_MIXER_LATENT &&
        l->kv_heads > 0)
        reads = (double)p->m->heads / (double)l->kv_heads;
    return reads * cache_bytes(p, layer, vs_plan_kv_read(p->plan, layer, p->cells));
}

static void scores_traffic(struct vs_pass *p, uint32_t layer) {
    double cells = (double)vs_plan_kv_kept(p->plan, layer, p->cells);
    double scores = (double)p->tokens * cells * p->m->heads;
    vs_emit_op(&p->e, &(struct vs_op){.kind = VS_WORK_ELEMENT,
                                      .lane = VS_LANE_COMPUTE,
                                      .what = "attention scores",
                                      .layer = (int32_t)layer,
                                      .bytes = vs_pass_number(p, "score_passes", 4) * 4 * scores});
}

/* Keys and values of all heads and all cells, made anew from the latents in each pass. */
static void unpack(struct vs_pass *p, uint32_t layer) {
    double width = (double)p->m->heads * (p->m->mla_nope_dim + p->m->mla_v_dim);
    double cells = (double)p->batch * (double)p->cells;
    if (!vs_plan_unpacks(p->plan, p->tokens) || p->m->layer[layer].mixer != VS_MIXER_LATENT)
        return;
    vs_emit_op(&p->e, &(struct vs_op){.kind = p->on_cpu ? VS_WORK_CPU_GEMM : VS_WORK_GEMM,
                                      .lane = p->on_cpu ? VS_LANE_CPU : VS_LANE_COMPUTE,
                                      .what = "latents unpacked",
                                      .layer = (int32_t)layer,
                                      .flops = 2 * cells * width * p->m->mla_kv_rank,
                                      .bytes = 4 * cells * width,
                                      .kernels = 1,
                                      .launches = p->on_cpu ? 0 : vs_pass_launches(p)});
    if (!p->on_cpu)
        vs_emit_op(&p->e,
                   &(struct vs_op){.kind = VS_WORK_ELEMENT,
                                   .lane = VS_LANE_COMPUTE,
                                   .what = "keys and values cast and joined",
                                   .layer = (int32_t)layer,
                                   .bytes = vs_pass_number(p, "unpack_traffic", 0) * cells * width,
                                   .launches = vs_pass_launches(p)});
}

/* Numbers of the CPU's attention kernels: of fused and naive ones, and of both in batches. */
struct cpu_numbers {
    const char *kind[2], *batch[2];
};
static const struct cpu_numbers WORK = {
    {"cpu_attention_work_fused", "cpu_attention_work_naive"},
    {"cpu_attention_work_fused_batch", "cpu_attention_work_naive_batch"}};
static const struct cpu_numbers CELL = {
    {"cpu_attention_cell_fused", "cpu_attention_cell_naive"},
    {"cpu_attention_cell_fused_batch", "cpu_attention_cell_naive_batch"}};

static double cpu_number(const struct vs_pass *p, const struct cpu_numbers *names,
                         double fallback) {
    bool naive = p->plan->attention == VS_ATTENTION_NAIVE;
    double number = vs_pass_number(p, names->kind[naive], fallback);
    return p->few ? number : vs_pass_number(p, names->batch[naive], number);
}

/* Fused kernels deal out the heads of all new tokens to the threads that were asked for, whole:
 * threads without one in the last round wait, and more threads than cores share those. */
static double idle_threads(const struct vs_pass *p) {
    uint64_t asked = (uint64_t)vs_count(&p->plan->c->axes, VS_AXIS_CPU_THREADS);
    uint64_t threads = asked > 0 ? asked : vs_plan_cpu_threads(p->plan->c);
    uint64_t rows = p->m->heads * p->tokens, rounds = (rows + threads - 1) / threads;
    if (p->plan->attention == VS_ATTENTION_NAIVE ||
        !vs_pass_rule(p, "cpu_fused_attention", "by_head"))
        return 1;
    return (double)(rounds * threads) / (double)rows;
}

/* What attention costs the CPU, in FLOPs of matrix kernels: some for each FLOP, some for each
 * pair of a query head and a cell, however long the head: a call, a mask, a row unpacked. */
static double cpu_attention_work(const struct vs_pass *p, uint32_t layer, double reach) {
    double pairs = (double)p->tokens * reach, heads = (double)p->m->heads;
    return idle_threads(p) * pairs *
           (cpu_number(p, &WORK, 1) * pair_flops(p, layer) + cpu_number(p, &CELL, 0) * heads);
}

/* All heads share a latent: a byte of it costs some 200 FLOPs in decoding too, so that it may take
 * longer to work on than to read. What the kernels reach, of those for batches; 0 = reading alone
 * counts. */
static double decode_efficiency(const struct vs_pass *p, uint32_t layer) {
    bool latent = p->m->layer[layer].mixer == VS_MIXER_LATENT && !expanded(p, layer);
    return latent ? vs_pass_number(p, "latent_decode_efficiency", 1) : 0;
}

static void attend(struct vs_pass *p, uint32_t layer) {
    unpack(p, layer);
    bool naive = p->plan->attention == VS_ATTENTION_NAIVE;
    double reach = naive ? (double)vs_plan_kv_kept(p->plan, layer, p->cells)
                         : vs_plan_kv_reach(p->plan, layer, p->past, p->cells);
    struct vs_op op = {.what = "self_attn",
                       .layer = (int32_t)layer,
                       .lane = VS_LANE_COMPUTE,
                       .flops = pair_flops(p, layer) * (double)p->tokens * reach,
                       .kernels = 1,
                       .launches = vs_pass_launches(p)};
    if (p->on_cpu) {
        bool rows = !p->few && vs_pass_rule(p, "cpu_batch_attention", "gemm");
        op.kind = rows ? VS_WORK_CPU_GEMM : VS_WORK_CPU_ATTENTION;
        op.lane = VS_LANE_CPU;
        op.flops = rows ? op.flops : cpu_attention_work(p, layer, reach);
        op.launches = 0;
        op.bytes = cache_bytes(p, layer, vs_plan_kv_read(p->plan, layer, p->cells));
    } else if (p->few) {
        op.kind = naive ? VS_WORK_KV_READ_NAIVE : VS_WORK_KV_READ;
        op.bytes = cache_traffic(p, layer);
        op.efficiency = decode_efficiency(p, layer);
    } else {
        op.kind = naive ? VS_WORK_NAIVE_ATTENTION : VS_WORK_ATTENTION;
        op.bytes = 4 * query_width(p, layer) * (double)p->tokens;
    }
    vs_emit_op(&p->e, &op);
    if (naive && !p->few && !p->on_cpu)
        scores_traffic(p, layer);
}

/* Pieces of prompts, beside a batch that decodes: kernels of prefill, each token on the cells that
 * its sequence has. */
static void attend_chunk(struct vs_pass *p, uint32_t layer) {
    double tokens = (double)p->chunk.tokens, reach = p->chunk.reach;
    double most = vs_layer_window(p->m, layer) > 0 ? (double)p->plan->window.span : 0;
    reach = most > 0 && most < reach ? most : reach;
    vs_emit_op(&p->e, &(struct vs_op){.kind = VS_WORK_ATTENTION,
                                      .what = "self_attn of prompts",
                                      .layer = (int32_t)layer,
                                      .lane = VS_LANE_COMPUTE,
                                      .flops = pair_flops(p, layer) * tokens * reach,
                                      .bytes = 4 * query_width(p, layer) * tokens,
                                      .kernels = 1,
                                      .launches = vs_pass_launches(p)});
}

static void attention(struct vs_pass *p, uint32_t layer) {
    uint64_t tokens = p->tokens;
    bool few = p->few;
    if (p->chunk.tokens == 0) {
        attend(p, layer);
        return;
    }
    if (p->batch > 0) {
        p->tokens = p->batch;
        p->few = true;
        attend(p, layer);
        p->tokens = tokens;
        p->few = few;
    }
    attend_chunk(p, layer);
}

/* The state is read and written once in a pass; each token updates it and reads it (two
 * multiplications and additions for each of its numbers, so 4 FLOPs: as many as an fp32 has bytes).
 */
static void recurrence(struct vs_pass *p, uint32_t layer) {
    const struct vs_type *fp32 = vs_type_find("fp32");
    double state = (double)vs_plan_state_layer_bytes(p->plan, layer);
    double flops = (double)vs_state_layer_bytes(p->m, layer, fp32, fp32) / vs_plan_parts(p->plan);
    double work = p->on_cpu ? vs_pass_number(p, "cpu_recurrence_work", 1) : 1;
    vs_emit_op(&p->e, &(struct vs_op){.kind = p->on_cpu ? VS_WORK_CPU_ATTENTION : VS_WORK_ELEMENT,
                                      .lane = p->on_cpu ? VS_LANE_CPU : VS_LANE_COMPUTE,
                                      .what = "recurrence",
                                      .layer = (int32_t)layer,
                                      .flops = (double)p->tokens * flops * work,
                                      .bytes = 2 * (double)(p->batch + p->chunk.sequences) * state,
                                      .kernels = 1,
                                      .launches = p->on_cpu ? 0 : vs_pass_launches(p)});
}

void vs_pass_mix(struct vs_pass *p, uint32_t layer) {
    switch ((enum vs_mixer)p->m->layer[layer].mixer) {
    case VS_MIXER_LINEAR:
    case VS_MIXER_MAMBA:
        recurrence(p, layer);
        break;
    case VS_MIXER_NONE:
        break;
    case VS_MIXER_ATTENTION:
    case VS_MIXER_LATENT:
    case VS_MIXER_CROSS:
        attention(p, layer);
        break;
    }
}
