/* The type of each stored tensor, by the rule of the format, and what its checkpoint holds. */
#include "strategy/strategy.h"

#include "engine/engine.h"

/* FSDP units are of one type, so that an upcast leaves no trace in them (measured: equal peaks with
 * and without). PEFT upcasts models of bitsandbytes; those of GPTQ, AWQ and the like it leaves
 * alone. */
static bool upcasts(const struct vs_plan *plan) {
    bool one_type = vs_streq(vs_engine_rule(plan->c->engine, "units", "mixed"), "one_type");
    return plan->c->task == VS_TASK_TRAIN && plan->format.kind == VS_FORMAT_BNB && !one_type &&
           vs_is(&plan->c->axes, VS_AXIS_KBIT_UPCAST, "on");
}

/* Kernels for microscaled experts take inputs in tiles: a width that is no multiple of one is
 * padded in memory. */
static uint64_t padded(const struct vs_plan *plan, const struct vs_weight *w, uint64_t bytes) {
    uint64_t tile = (uint64_t)vs_engine_number(plan->c->engine, "mx_expert_tile", NULL, 1);
    uint64_t width = (w->tensor->cols + tile - 1) / tile * tile;
    if (!vs_is_expert(w) || w->type->class_of == VS_CLASS_FLOAT ||
        plan->format.kind != VS_FORMAT_MX)
        return bytes;
    return bytes / w->tensor->cols * width;
}

/* Authors may leave attention and the outer layers of their files in 16 bit (Llama 3.1 405B in fp8:
 * arXiv 2407.21783, 6.2); engines with "fp8_files": "vendor" run files that a vendor quantized
 * whole. */
static bool kept(const struct vs_plan *plan, const struct vs_weight *w) {
    const struct vs_model *m = plan->c->model;
    int32_t layer = w->tensor->layer;
    if (!m->fp8_mlp_only || plan->format.kind != VS_FORMAT_FP8 ||
        vs_streq(vs_engine_rule(plan->c->engine, "fp8_files", "authors"), "vendor"))
        return false;
    return !vs_role_is_mlp(w->tensor->role) || layer <= 0 || layer + 1 == (int32_t)m->layers;
}

static bool apply(struct vs_plan *plan, struct vs_err *err) {
    const struct vs_model *model = plan->c->model;
    struct vs_format experts = plan->format;
    const struct vs_format sixteen_bit = {.kind = VS_FORMAT_PLAIN, .base = plan->rest};
    const char *word = plan->c->axes.at[VS_AXIS_WEIGHTS_EXPERTS].text;
    if (word && !vs_format_parse(word, &experts, err))
        return false;
    plan->kbit_upcast = upcasts(plan);
    for (size_t i = 0; i < plan->weight_count; i++) {
        struct vs_weight *w = &plan->weights[i];
        const struct vs_format *format = vs_is_expert(w) ? &experts : &plan->format;
        const struct vs_format *wanted = kept(plan, w) ? &sixteen_bit : format;
        w->type = vs_tensor_type(model, w->tensor, wanted, plan->rest);
        w->bytes = vs_part_bytes(
            padded(plan, w, vs_tensor_bytes(model, w->tensor, wanted, plan->rest)), w->parts);
        /* bitsandbytes quantizes on the fly from a 16-bit checkpoint; the others store what they
         * load. */
        w->file_bytes =
            plan->format.kind == VS_FORMAT_BNB ? vs_part_bytes(w->file_bytes, w->parts) : w->bytes;
        if (plan->kbit_upcast && w->type == plan->rest)
            w->bytes = 4 * vs_weight_params(w);
    }
    return true;
}

const struct vs_strategy vs_strategy_weight_format = {
    .name = "weight formats",
    .help = "16-bit, GGUF, bitsandbytes, GPTQ, AWQ, EXL2 weights",
    .stage = "quantize",
    .apply = apply};
