/* The pieces of a layer: matrices on their processor, attention over the cache. */
#include "base/maths.h"
#include "engine/engine.h"
#include "hw/machine.h"
#include "plan/pass.h"

#include <math.h>

double vs_pass_number(const struct vs_pass *p, const char *name, double fallback) {
    const struct vs_machine *m = p->plan->c->machine;
    size_t place = ((uintptr_t)name / 8 * 31 + p->e.device) % VS_NUMBERS_KEPT;
    struct vs_number_kept *kept = &p->plan->numbers[place];
    if (kept->name != name || kept->device != p->e.device) {
        const char *arch = m->device_count > 0 ? m->devices[p->e.device]->arch.name : NULL;
        *kept = (struct vs_number_kept){name, p->e.device,
                                        vs_engine_number(p->engine, name, arch, (double)NAN)};
    }
    return isnan(kept->value) ? fallback : kept->value;
}

bool vs_pass_rule(const struct vs_pass *p, const char *name, const char *word) {
    return vs_streq(vs_engine_rule(p->engine, name, ""), word);
}

/* A layer's launches are spread over its operations: matrices (with dequantization before them,
 * where that is how it is done), attention, small kernels. */
double vs_pass_launches(const struct vs_pass *p) {
    bool quantized = vs_format_is_quantized(&p->plan->format);
    if (p->few && vs_is(&p->plan->c->axes, VS_AXIS_CUDA_GRAPHS, "on"))
        return 0; /* the step is launched as one graph */
    if (p->few)
        return vs_pass_number(p, "decode_launches", vs_pass_number(p, "layer_launches", 0)) / 4;
    double all = vs_pass_number(p, quantized ? "prefill_launches_quantized" : "prefill_launches",
                                vs_pass_number(p, "layer_launches", 0));
    return all / (quantized && vs_pass_rule(p, "prefill_gemm", "dequantize") ? 4 : 3);
}

/* Share of a layer's experts that some tokens touch. Few tokens: as if drawn evenly. Many: real
 * routing is far from even; the law and its constant were found on prefill with experts copied from
 * the host. */
double vs_pass_touched(const struct vs_pass *p) {
    double all = p->m->experts, used = p->m->experts_active;
    if (all <= 0 || used >= all)
        return 1;
    if (p->few)
        return 1 - vs_power(1 - used / all, p->tokens);
    double skew = vs_pass_number(p, "expert_skew", 0);
    if (skew <= 0)
        return 1 - vs_power(1 - used / all, p->tokens);
    return 1 - vs_exp_minus(skew * sqrt((double)p->tokens * used / all));
}

/* Share of a weight's FLOPs that one token costs. */
static double active(const struct vs_pass *p, const struct vs_weight *w) {
    double routed = vs_is_expert(w) ? (double)p->m->experts_active / (double)p->m->experts : 1;
    return p->share * routed / w->parts;
}

/* What a batched multiplication by experts issues for each FLOP that counts: their tiles are partly
 * empty where an expert is narrow or gets few tokens. */
static double issued(const struct vs_pass *p, const struct vs_weight *w) {
    if (!vs_is_expert(w) || p->m->moe_ffn == 0)
        return 1;
    double tokens = (double)p->tokens * (double)p->m->experts_active / (double)p->m->experts;
    return vs_pass_number(p, "expert_gemm_slowdown", 1) *
           (1 + vs_pass_number(p, "expert_gemm_tokens", 0) / tokens) *
           (1 + vs_pass_number(p, "expert_gemm_width", 0) / (double)p->m->moe_ffn);
}

static double read_bytes(const struct vs_pass *p, const struct vs_weight *w) {
    return p->share * (double)w->bytes * (vs_is_expert(w) ? vs_pass_touched(p) : 1);
}

/* One matrix-vector operation for each type of weights (GGUF mixes have up to three in a layer). */
static void gemv(struct vs_pass *p, const struct vs_weight *w, size_t count,
                 vs_weight_filter wanted, const char *what) {
    for (size_t i = 0; i < count; i++) {
        const struct vs_type *type = w[i].type;
        double bytes = 0, flops = 0, kernels = 0;
        bool seen = !wanted(&w[i]);
        for (size_t k = 0; k < i; k++)
            seen |= wanted(&w[k]) && w[k].type == type;
        for (size_t k = i; k < count && !seen; k++) {
            if (!wanted(&w[k]) || w[k].type != type)
                continue;
            bytes += read_bytes(p, &w[k]);
            flops += 2 * (double)vs_tensor_params(w[k].tensor) * active(p, &w[k]) *
                     (double)p->tokens * (p->batched ? issued(p, &w[k]) : 1);
            kernels++;
        }
        if (seen)
            continue;
        if (p->on_cpu && p->few && type->class_of == VS_CLASS_IQUANT)
            flops *= vs_pass_number(p, "cpu_iquant_work", 1);
        vs_emit_op(&p->e, &(struct vs_op){.kind = p->on_cpu ? VS_WORK_CPU_GEMV : VS_WORK_GEMV,
                                          .lane = p->on_cpu ? VS_LANE_CPU : VS_LANE_COMPUTE,
                                          .what = what,
                                          .layer = w[i].tensor->layer,
                                          .type = type,
                                          .flops = flops,
                                          .bytes = bytes,
                                          .kernels = kernels,
                                          .launches = p->on_cpu ? 0 : vs_pass_launches(p)});
    }
}

/* Engines that multiply one expert after the other read back on the host which rows each one gets
 * ("expert_rows": "host"), and pay for each expert's own kernels. */
static double expert_loop(struct vs_pass *p, const struct vs_weight *w, size_t count,
                          vs_weight_filter wanted) {
    double seconds = 0, each = vs_pass_number(p, "expert_kernel_s", 0);
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        if (!wanted(&w[i]) || !vs_is_expert(&w[i]))
            continue;
        any = true;
        seconds += each * vs_pass_touched(p) * w[i].tensor->count;
    }
    if (any && vs_pass_rule(p, "expert_rows", "host")) {
        vs_emit_after(&p->e, vs_emit_last(&p->e, VS_LANE_COMPUTE));
        vs_emit_op(&p->e, &(struct vs_op){.kind = VS_WORK_SYNC,
                                          .lane = VS_LANE_ISSUE,
                                          .what = "rows of each expert read back",
                                          .layer = w->tensor->layer});
    }
    return seconds;
}

static void gemm(struct vs_pass *p, const struct vs_weight *w, size_t count,
                 vs_weight_filter wanted, const char *what) {
    double flops = 0, bytes = 0, packed = 0, params = 0, kernels = 0, tokens = (double)p->tokens;
    /* Of experts whose kernels don't overlap reading their few rows with the arithmetic. */
    double reads = 0, alone = vs_pass_number(p, "expert_reads_alone", 0);
    const struct vs_type *type = NULL;
    int32_t layer = -1;
    for (size_t i = 0; i < count; i++) {
        if (!wanted(&w[i]))
            continue;
        double all = (double)vs_tensor_params(w[i].tensor);
        double width = (double)(w[i].tensor->rows + w[i].tensor->cols);
        flops += 2 * tokens * all * active(p, &w[i]) * issued(p, &w[i]);
        double read = read_bytes(p, &w[i]), apart = vs_is_expert(&w[i]) ? alone * read : 0;
        reads += apart;
        bytes += read - apart + 2 * tokens * width * active(p, &w[i]) * w[i].tensor->count;
        if (w[i].type->class_of != VS_CLASS_FLOAT) {
            params += p->share * all / w[i].parts;
            packed += p->share * (double)w[i].bytes;
        }
        if (!type || w[i].type->class_of != VS_CLASS_FLOAT)
            type = w[i].type;
        layer = w[i].tensor->layer;
        kernels++;
    }
    if (kernels == 0)
        return;
    double loop_s = expert_loop(p, w, count, wanted);
    if (reads > 0)
        vs_emit_op(&p->e, &(struct vs_op){.kind = VS_WORK_GEMV,
                                          .lane = VS_LANE_COMPUTE,
                                          .what = "experts read",
                                          .layer = layer,
                                          .type = type,
                                          .bytes = reads});
    if (params > 0 && vs_pass_rule(p, "prefill_gemm", "dequantize"))
        vs_emit_op(&p->e, &(struct vs_op){.kind = VS_WORK_DEQUANT,
                                          .lane = VS_LANE_COMPUTE,
                                          .what = "dequantize",
                                          .layer = layer,
                                          .bytes = packed + 2 * params,
                                          .launches = vs_pass_launches(p)});
    vs_emit_op(&p->e, &(struct vs_op){.kind = VS_WORK_GEMM,
                                      .lane = VS_LANE_COMPUTE,
                                      .what = what,
                                      .layer = layer,
                                      .type = type,
                                      .flops = flops,
                                      .bytes = bytes,
                                      .kernels = kernels,
                                      .cost_s = loop_s,
                                      .launches = vs_pass_launches(p)});
}

/* All devices work on their rows of each matrix; the first one hands out and gathers. */
static void row_split(struct vs_pass *p, const struct vs_weight *w, size_t count,
                      vs_weight_filter wanted, const char *what) {
    size_t n = p->plan->c->machine->device_count;
    double all = 0, matrices = 0;
    for (size_t i = 0; i < count; i++)
        matrices += wanted(&w[i]);
    for (size_t d = 0; d < n; d++)
        all += p->plan->shares[d];
    vs_op_id before = vs_emit_last(&p->e, VS_LANE_COMPUTE);
    for (size_t d = n; d-- > 0;) {
        p->e.device = (uint8_t)d;
        p->share = p->plan->shares[d] / all;
        if (d > 0)
            vs_emit_after(&p->e, before);
        if (p->tokens <= VS_FEW_TOKENS)
            gemv(p, w, count, wanted, what);
        else
            gemm(p, w, count, wanted, what);
    }
    p->share = 1;
    for (size_t d = 1; d < n; d++) {
        p->e.device = (uint8_t)d;
        vs_op_id last = vs_emit_last(&p->e, VS_LANE_COMPUTE);
        p->e.device = 0;
        vs_emit_after(&p->e, last);
    }
    double each = vs_pass_number(p, "row_split_s", 0) +
                  (double)n * vs_pass_number(p, "row_split_device_s", 0);
    /* Results of a batch come back as one strided copy: a transfer for each row and device. */
    if (p->tokens > VS_FEW_TOKENS)
        each += (double)(p->tokens * (n - 1)) * vs_pass_number(p, "row_split_row_s", 0);
    vs_emit_op(&p->e, &(struct vs_op){.kind = VS_WORK_FIXED,
                                      .lane = VS_LANE_COMPUTE,
                                      .what = "rows handed out and gathered",
                                      .layer = w->tensor->layer,
                                      .cost_s = matrices * each});
}

void vs_pass_matrices(struct vs_pass *p, size_t first, size_t count, vs_weight_filter wanted,
                      const char *what) {
    const struct vs_weight *w = &p->plan->weights[first];
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += wanted(&w[i]);
    if (found == 0)
        return;
    if (p->plan->row_split && !p->on_cpu)
        row_split(p, w, count, wanted, what);
    else if (p->tokens <= VS_FEW_TOKENS || (p->few && p->batched) || p->on_cpu)
        gemv(p, w, count, wanted, what);
    else
        gemm(p, w, count, wanted, what);
}
