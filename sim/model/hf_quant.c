/* "quantization_config": how the weights of a checkpoint are stored. */
#include "base/text.h"
#include "model/fields.h"

struct quant {
    const struct vs_json_reader *r;
    const struct vs_json *config;
};

/* A string of the config, or "". */
static const char *word(const struct quant *q, const char *key) {
    const struct vs_json *node = vs_json_member(q->config, key);
    return node && node->kind == VS_JSON_STRING ? node->string : "";
}

static bool yes(const struct quant *q, const char *key) {
    const struct vs_json *node = vs_json_member(q->config, key);
    return node && node->kind == VS_JSON_BOOL && node->boolean;
}

/* An integer of the config; -1 where it is missing or strange. */
static int64_t number(const struct vs_json *object, const char *key) {
    const struct vs_json *node = object ? vs_json_member(object, key) : NULL;

    if (!node || node->kind != VS_JSON_NUMBER || node->number < -1e9 || node->number > 1e9)
        return -1;
    return (int64_t)node->number;
}

static bool refuse(const struct quant *q, const char *key, const char *expected,
                   struct vs_err *err) {
    const struct vs_json *node = vs_json_member(q->config, key);

    if (node && node->kind == VS_JSON_STRING)
        return vs_json_fail(q->r, node, err, "quantization_config.%s: found '%.40s', expected %s",
                            key, node->string, expected);
    return vs_json_fail(q->r, node ? node : q->config, err, "quantization_config.%s: expected %s",
                        key, expected);
}

/* GPTQ and AWQ: bits, and a group size. */
static const char *grouped(struct vs_arena *arena, const struct quant *q, const char *name,
                           struct vs_err *err) {
    const int64_t bits = number(q->config, "bits"), group = number(q->config, "group_size");
    const bool gptq = vs_streq(name, "gptq");

    if (gptq && bits == 8)
        return "gptq8";
    if (bits != 4) {
        refuse(q, "bits", gptq ? "4 or 8" : "4", err);
        return NULL;
    }
    if (!gptq)
        return "awq4";
    if (group == 128 || !vs_json_member(q->config, "group_size"))
        return "gptq4";
    return vs_arena_printf(arena, "gptq4:%lld", (long long)group);
}

static const char *bitsandbytes(const struct quant *q, struct vs_err *err) {
    if (yes(q, "load_in_8bit") || yes(q, "_load_in_8bit"))
        return "int8";
    if (yes(q, "load_in_4bit") || yes(q, "_load_in_4bit"))
        return yes(q, "bnb_4bit_use_double_quant") ? "nf4-dq" : "nf4";
    refuse(q, "load_in_4bit", "load_in_4bit or load_in_8bit", err);
    return NULL;
}

/* The weights of the first group. */
static const struct vs_json *group_weights(const struct quant *q) {
    const struct vs_json *groups = vs_json_member(q->config, "config_groups");
    const struct vs_json *first = groups && groups->kind == VS_JSON_OBJECT ? groups->child : NULL;
    const struct vs_json *weights =
        first && first->kind == VS_JSON_OBJECT ? vs_json_member(first, "weights") : NULL;
    return weights && weights->kind == VS_JSON_OBJECT ? weights : NULL;
}

static bool is_float(const struct vs_json *weights) {
    const struct vs_json *type = weights ? vs_json_member(weights, "type") : NULL;
    return type && type->kind == VS_JSON_STRING && vs_streq(type->string, "float");
}

/* compressed-tensors: bits and kind of number of the first group. */
static const char *compressed(const struct quant *q, struct vs_err *err) {
    const struct vs_json *weights = group_weights(q);
    const int64_t bits = number(weights, "num_bits");

    if (bits == 8)
        return is_float(weights) ? "fp8" : "int8";
    if (bits == 4)
        return is_float(weights) ? "nvfp4" : "int4";
    refuse(q, "config_groups", "a group whose weights have num_bits 4 or 8", err);
    return NULL;
}

static const char *modelopt(const struct quant *q, struct vs_err *err) {
    const char *algorithm = word(q, "quant_algo");

    if (vs_starts(algorithm, "FP8"))
        return "fp8";
    if (vs_streq(algorithm, "NVFP4"))
        return "nvfp4";
    refuse(q, "quant_algo", "FP8 or NVFP4", err);
    return NULL;
}

static const char *format_of(struct vs_arena *arena, const struct quant *q, struct vs_err *err) {
    const char *method = word(q, "quant_method");

    if (vs_streq(method, "fp8") || vs_streq(method, "fbgemm_fp8"))
        return "fp8";
    if (vs_streq(method, "mxfp4"))
        return "mxfp4";
    if (vs_streq(method, "gptq") || vs_streq(method, "awq"))
        return grouped(arena, q, method, err);
    if (vs_streq(method, "bitsandbytes") ||
        (!method[0] && vs_json_member(q->config, "load_in_4bit")))
        return bitsandbytes(q, err);
    if (vs_streq(method, "compressed-tensors"))
        return compressed(q, err);
    if (vs_streq(method, "modelopt") || (!method[0] && vs_json_member(q->config, "quant_algo")))
        return modelopt(q, err);
    refuse(q, "quant_method", "fp8, mxfp4, gptq, awq, bitsandbytes, compressed-tensors or modelopt",
           err);
    return NULL;
}

bool vs_model_read_quantization(struct vs_arena *arena, const struct vs_json_reader *root,
                                const struct vs_json *config, struct vs_model *model,
                                struct vs_err *err) {
    const struct quant q = {root, config};
    struct vs_format format;
    struct vs_err why = {0};
    const char *text;

    if (config->kind != VS_JSON_OBJECT)
        return vs_json_fail(root, config, err, "expected an object");
    text = format_of(arena, &q, &why);
    if (!text) {
        *err = why;
        return why.status != VS_OK ? false : vs_err_nomem(err);
    }
    if (!vs_format_parse(text, &format, &why))
        return vs_json_fail(root, config, err, "%s", why.text);
    model->stored_format = text;
    model->fp8_blocks = vs_json_member(config, "weight_block_size") != NULL;
    return true;
}
