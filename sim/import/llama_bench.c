/* llama-bench -o json (llama.cpp, tools/llama-bench/README.md): an array with one object per test.
 * Generation reads every weight once per token: a lower bound of what kernels that read weights
 * reach, since launches between them are in its time. */
#include <string.h>

#include "base/text.h"
#include "import/tool.h"

enum { ALL_LAYERS = 99 }; /* the tool's own default of -ngl */
#define NUMBER_MOST 1e18

static bool matches(const struct vs_tool_input *in) {
    const struct vs_json *first =
        in->root && in->root->kind == VS_JSON_ARRAY ? in->root->child : NULL;
    return first && first->kind == VS_JSON_OBJECT && vs_json_member(first, "build_commit") &&
           vs_json_member(first, "samples_ns");
}

struct test {
    const char *gpu, *model, *date;
    double model_bytes, parameters, prompt, generated, gpu_layers;
    double *seconds;
    size_t count;
};

static bool read_seconds(struct vs_arena *arena, struct vs_json_reader *r, struct test *t,
                         struct vs_err *err) {
    const struct vs_json *list = NULL;
    if (!vs_json_get_array(r, "samples_ns", true, &list, err))
        return false;
    if (list->count == 0)
        return vs_json_fail(r, list, err, "found no repetition, expected at least one");
    t->seconds = VS_NEW_ARRAY(arena, double, list->count);
    if (!t->seconds)
        return vs_err_nomem(err);
    for (const struct vs_json *node = list->child; node; node = node->next) {
        if (node->kind != VS_JSON_NUMBER || !(node->number > 0))
            return vs_json_fail(r, node, err, "expected nanoseconds above 0");
        t->seconds[t->count++] = 1e-9 * node->number;
    }
    return true;
}

static bool read_test(struct vs_arena *arena, struct vs_json_reader *r, struct test *t,
                      struct vs_err *err) {
    *t = (struct test){.gpu_layers = ALL_LAYERS};
    return vs_json_get_string(r, "gpu_info", true, &t->gpu, err) &&
           vs_json_get_string(r, "model_type", true, &t->model, err) &&
           vs_json_get_string(r, "test_time", true, &t->date, err) &&
           vs_json_get_number(r, "model_size", true, 1, NUMBER_MOST, &t->model_bytes, err) &&
           vs_json_get_number(r, "model_n_params", true, 1, NUMBER_MOST, &t->parameters, err) &&
           vs_json_get_number(r, "n_prompt", true, 0, NUMBER_MOST, &t->prompt, err) &&
           vs_json_get_number(r, "n_gen", true, 0, NUMBER_MOST, &t->generated, err) &&
           vs_json_get_number(r, "n_gpu_layers", false, -1, NUMBER_MOST, &t->gpu_layers, err) &&
           read_seconds(arena, r, t, err);
}

/* "llama 8x7B Q4_K", "qwen3moe 30B.A3B Q4_K": a token reads some experts only. */
static bool is_mixture(const char *model) {
    for (const char *at = model; *at != '\0'; at++) {
        bool digit = at > model && at[-1] >= '0' && at[-1] <= '9';
        if (digit && at[0] == 'x' && at[1] >= '0' && at[1] <= '9')
            return true;
    }
    return strstr(model, "moe") || strstr(model, "MoE") || strstr(model, "B.A");
}

static const char *why_not(const struct test *t) {
    if (t->gpu[0] == '\0')
        return "no GPU took part";
    if (t->gpu_layers >= 0 && t->gpu_layers < ALL_LAYERS)
        return "with fewer than 99 layers on the GPU, some may lie on the host";
    return is_mixture(t->model) ? "a mixture of experts reads a part of its weights" : NULL;
}

static bool add_test(struct vs_arena *arena, const struct test *t, struct vs_samples *samples,
                     struct vs_err *err) {
    bool generation = t->generated > 0 && t->prompt == 0;
    const char *probe = generation ? "llama_tg" : "llama_pp";
    const char *reason = why_not(t);
    if (t->generated > 0 && t->prompt > 0)
        reason = "a prompt and an answer in one time";
    if (reason)
        return vs_tool_skip(arena, samples, probe, reason, err);
    const struct vs_sample sample = {.probe = probe,
                                     .variant = t->model,
                                     .unit = generation ? "bytes" : "flops",
                                     .work = generation ? t->model_bytes * t->generated
                                                        : 2 * t->parameters * t->prompt,
                                     .bytes = t->model_bytes,
                                     .m = generation ? 1 : t->prompt};
    return vs_tool_sample(arena, samples, &sample, t->seconds, t->count) || vs_err_nomem(err);
}

static bool read(const struct vs_tool_input *in, struct vs_samples *samples, struct vs_err *err) {
    size_t index = 0;
    samples->program = "llama-bench";
    for (const struct vs_json *node = in->root->child; node; node = node->next) {
        struct vs_json_reader r;
        struct test t;
        const char *path = vs_arena_printf(in->arena, "$[%zu]", index++);
        if (!path)
            return vs_err_nomem(err);
        if (!vs_json_open(&r, in->path, path, node, err) || !read_test(in->arena, &r, &t, err) ||
            !add_test(in->arena, &t, samples, err))
            return false;
        if (samples->gpu.name || t.gpu[0] == '\0')
            continue;
        samples->gpu.name = vs_arena_strndup(in->arena, t.gpu, strcspn(t.gpu, ","));
        samples->date = vs_arena_strndup(in->arena, t.date, strcspn(t.date, "T"));
        if (!samples->gpu.name || !samples->date)
            return vs_err_nomem(err);
    }
    return true;
}

const struct vs_tool_reader vs_tool_reader_llama_bench = {"llama-bench", "llama-bench -o json",
                                                          matches, read};
