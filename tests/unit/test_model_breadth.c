/* Every model that is known: parameters, and what its layers keep for the tokens that they saw. */
#include <stdlib.h>
#include <string.h>

#include "base/data.h"
#include "base/file.h"
#include "base/text.h"
#include "model/model.h"
#include "unit/suite.h"

static struct vs_arena arena;

static void setup(void) { vs_arena_init(&arena); }

static void teardown(void) { vs_arena_release(&arena); }

static const struct vs_model *model_of(const char *name) {
    const struct vs_model *model = NULL;
    struct vs_err err = {0};
    ck_assert_msg(vs_model_load(&arena, name, &model, &err), "%s", err.text);
    return model;
}

static const struct vs_tensor *tensor_of(const struct vs_model *model, const char *gguf_name) {
    for (size_t i = 0; i < model->tensor_count; i++)
        if (vs_streq(model->tensors[i].gguf_name, gguf_name))
            return &model->tensors[i];
    ck_abort_msg("%s has no tensor %s", model->name, gguf_name);
    return NULL;
}

static const struct {
    const char *name;
    uint64_t total, active;
} params[] = {
#define MODEL_PARAMS(name, total, active) {name, total, active},
#include "model_params.def"
#undef MODEL_PARAMS
};

enum { PARAMS_COUNT = sizeof params / sizeof *params };

START_TEST(parameters_of_every_model) {
    ck_assert_uint_eq(PARAMS_COUNT, 202);
    for (size_t i = 0; i < PARAMS_COUNT; i++) {
        const struct vs_model *model = model_of(params[i].name);
        ck_assert_msg(model->params_total == params[i].total, "%s has %llu parameters, not %llu",
                      params[i].name, (unsigned long long)model->params_total,
                      (unsigned long long)params[i].total);
        ck_assert_msg(model->params_active == params[i].active, "%s uses %llu parameters, not %llu",
                      params[i].name, (unsigned long long)model->params_active,
                      (unsigned long long)params[i].active);
    }
}
END_TEST

/* No file without a line in the table, but the toy. */
START_TEST(every_file_is_in_the_table) {
    const char *const *names = NULL;
    size_t count = 0;
    struct vs_err err = {0};
    ck_assert(vs_data_list(&arena, "workloads/models", &names, &count, &err));
    for (size_t i = 0; i < count; i++) {
        bool found = vs_streq(names[i], "toy");
        for (size_t k = 0; k < PARAMS_COUNT; k++)
            found |= vs_streq(params[k].name, names[i]);
        ck_assert_msg(found, "no line for %s", names[i]);
    }
}
END_TEST

/* The word behind "--model " in a line of a case file, or NULL. */
static const char *model_word(const char *line, size_t length) {
    const char *at = strstr(line, "--model ");
    if (!at || at >= line + length)
        return NULL;
    at += strlen("--model ");
    return vs_arena_strndup(&arena, at, strcspn(at, " ,\"\n"));
}

START_TEST(every_model_of_the_measured_cases) {
    static const char *const files[] = {"llamacpp", "ikllama",  "serving",
                                        "silicon",  "training", "megatron"};
    const char *last = "";
    struct vs_err err = {0};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *text = NULL;
        size_t length = 0;
        const char *path = vs_arena_printf(&arena, "tests/measured/%s.csv", files[i]);
        ck_assert_msg(vs_file_read(&arena, path, 64 << 20, &text, &length, &err), "%s", err.text);
        for (const char *line = text; *line != '\0';) {
            const size_t width = strcspn(line, "\n");
            const char *word = model_word(line, width);
            if (word && !vs_streq(word, last)) /* cases of a model mostly stand together */
                last = model_of(word) ? word : "";
            line += width + (line[width] == '\n');
        }
    }
}
END_TEST

static uint64_t kv_per_token(const char *name, bool expanded) {
    const struct vs_model *m = model_of(name);
    const struct vs_type *fp16 = vs_type_find("fp16");
    uint64_t sum = 0;
    for (uint32_t i = 0; i < m->layers; i++)
        sum += expanded ? vs_kv_expanded_layer_bytes(m, i, 1, fp16, fp16)
                        : vs_kv_layer_bytes(m, i, 1, fp16, fp16);
    return sum;
}

/* Latent attention keeps 512 + 64 numbers for all heads, or all heads in full:
 * 61 x 576 x 2 B = 70,272 B; 61 x 128 x (192 + 128) x 2 B = 4,997,120 B. */
START_TEST(latent_cache) {
    ck_assert_uint_eq(kv_per_token("deepseek-v3", false), 70272);
    ck_assert_uint_eq(kv_per_token("deepseek-v3", true), 4997120);
    ck_assert_uint_eq(kv_per_token("llama-3-8b", true), 131072); /* nothing to expand */
    /* the indexer's key: 128 more */
    ck_assert_uint_eq(kv_per_token("deepseek-v3.2", false), 61 * (576 + 128) * 2);
}
END_TEST

/* Qwen3-Next: 12 full layers with 2 KV heads of 256: 24,576 B a token. Of the 36 others each keeps
 * 3 columns of 8192 inputs and 32 x 128 x 128 numbers: 36 x 548,864. */
START_TEST(linear_attention_state) {
    const struct vs_model *m = model_of("qwen3-next-80b-a3b");
    const struct vs_type *fp16 = vs_type_find("fp16"), *fp32 = vs_type_find("fp32");
    uint64_t sum = 0;
    ck_assert_uint_eq(kv_per_token("qwen3-next-80b-a3b", false), 24576);
    for (uint32_t i = 0; i < m->layers; i++)
        sum += vs_state_layer_bytes(m, i, fp16, fp16);
    ck_assert_uint_eq(sum, 36 * 548864 * 2);
    ck_assert_uint_eq(vs_state_layer_bytes(m, 0, fp16, fp32), 3 * 8192 * 2 + 32 * 128 * 128 * 4);
    ck_assert_uint_eq(vs_state_layer_bytes(m, 3, fp16, fp32), 0);
    ck_assert_int_eq(m->layer[2].mixer, VS_MIXER_LINEAR);
    ck_assert_int_eq(m->layer[3].mixer, VS_MIXER_ATTENTION);
    ck_assert_uint_eq(vs_kv_layer_bytes(m, 2, 1000, fp16, fp16), 0);
}
END_TEST

/* Nemotron 3 Nano: "MEMEM*...": 64 heads of 64, 8 groups of 128: 3 x (4096 + 2048) and 4096 x 128.
 */
START_TEST(mamba_state) {
    const struct vs_model *m = model_of("nvidia-nemotron-3-nano-30b-a3b");
    const struct vs_type *fp32 = vs_type_find("fp32");
    ck_assert_uint_eq(vs_state_layer_bytes(m, 0, fp32, fp32), 4 * (3 * 6144 + 524288));
    ck_assert_int_eq(m->layer[0].mixer, VS_MIXER_MAMBA);
    ck_assert_int_eq(m->layer[0].mlp, VS_MLP_NONE);
    ck_assert_int_eq(m->layer[1].mixer, VS_MIXER_NONE);
    ck_assert_int_eq(m->layer[1].mlp, VS_MLP_EXPERTS);
    ck_assert_int_eq(m->layer[5].mixer, VS_MIXER_ATTENTION);
    ck_assert_uint_eq(kv_per_token(m->name, false), 6 * 2 * 2 * 128 * 2);
    ck_assert_str_eq(tensor_of(m, "blk.0.ssm_in.weight")->name,
                     "model.layers.0.mixer.in_proj.weight");
}
END_TEST

static uint32_t windowed(const char *name, uint32_t window) {
    const struct vs_model *m = model_of(name);
    uint32_t count = 0;
    for (uint32_t i = 0; i < m->layers; i++) {
        ck_assert(vs_layer_window(m, i) == 0 || vs_layer_window(m, i) == window);
        count += vs_layer_window(m, i) == window;
    }
    return count;
}

START_TEST(windows_by_layer) {
    ck_assert_uint_eq(windowed("gemma-2-9b", 4096), 21);
    ck_assert_uint_eq(vs_layer_window(model_of("gemma-2-9b"), 0), 4096);
    ck_assert_uint_eq(vs_layer_window(model_of("gemma-2-9b"), 1), 0);
    ck_assert_uint_eq(windowed("gemma-3-27b", 1024), 62 - 10); /* 5, 11, .. 59 are full */
    ck_assert_uint_eq(windowed("gpt-oss-20b", 128), 12);
    ck_assert_uint_eq(windowed("phi-3-mini-4k", 2047), 32);
    ck_assert_uint_eq(windowed("llama-4-scout-17b-16e", 8192), 36);
    ck_assert(model_of("llama-4-scout-17b-16e")->layer[0].chunked);
    ck_assert(!model_of("llama-4-scout-17b-16e")->layer[3].chunked);
    ck_assert(!model_of("gemma-2-9b")->layer[0].chunked);
}
END_TEST

/* Gemma 4 E2B: 35 layers, every fifth full with a head of 512; the last 20 borrow their cache, and
 * their MLP is twice as wide. 12 window layers of 2 x 256 and 3 full ones of 2 x 512 numbers. */
START_TEST(gemma4_layers) {
    const struct vs_model *m = model_of("gemma-4-e2b");
    ck_assert_uint_eq(m->layer[0].head_dim, 256);
    ck_assert_uint_eq(m->layer[4].head_dim, 512);
    ck_assert_uint_eq(m->layer[14].ffn, 6144);
    ck_assert_uint_eq(m->layer[15].ffn, 12288);
    ck_assert(!m->layer[14].borrows_kv && m->layer[15].borrows_kv);
    ck_assert_uint_eq(kv_per_token("gemma-4-e2b", false), (12 * 512 + 3 * 1024) * 2);
    ck_assert_int_eq((int)tensor_of(m, "per_layer_token_embd.weight")->role,
                     (int)VS_ROLE_LAYER_EMBED);
    /* full layers of the 31B have one matrix for k and v */
    m = model_of("gemma-4-31b");
    ck_assert_uint_eq(tensor_of(m, "blk.5.attn_k.weight")->rows, 4 * 512);
    ck_assert(m->layer[5].k_is_v && !m->layer[4].k_is_v);
    ck_assert_uint_eq(m->v_layers, 50);
    ck_assert_uint_eq(m->layer[6].v_index, 5);
}
END_TEST

START_TEST(cross_attention) {
    const struct vs_model *m = model_of("llama-3.2-11b-vision");
    const struct vs_type *fp16 = vs_type_find("fp16");
    ck_assert_int_eq(m->layer[3].mixer, VS_MIXER_CROSS);
    ck_assert_int_eq(m->layer[38].mixer, VS_MIXER_CROSS);
    ck_assert_uint_eq(vs_kv_layer_bytes(m, 3, 100, fp16, fp16), 0);
    ck_assert_uint_eq(kv_per_token(m->name, false), 32 * 2 * 8 * 128 * 2);
    ck_assert_uint_eq(tensor_of(m, "token_embd.weight")->rows, 128264);
    ck_assert_uint_eq(tensor_of(m, "output.weight")->rows, 128256);
}
END_TEST

/* Three dense layers, then 256 experts of which 8 are used, and one that all tokens take. */
START_TEST(experts) {
    const struct vs_model *m = model_of("deepseek-v3");
    const struct vs_tensor *down = tensor_of(m, "blk.3.ffn_down_exps.weight");
    ck_assert_int_eq(m->layer[2].mlp, VS_MLP_DENSE);
    ck_assert_uint_eq(m->layer[2].ffn, 18432);
    ck_assert_int_eq(m->layer[3].mlp, VS_MLP_EXPERTS);
    ck_assert_uint_eq(down->count, 256);
    ck_assert_uint_eq(vs_tensor_params(down), 256ULL * 7168 * 2048);
    ck_assert_uint_eq(vs_tensor_active_params(m, down), 8ULL * 7168 * 2048);
    ck_assert_uint_eq(vs_tensor_active_params(m, tensor_of(m, "blk.3.ffn_down_shexp.weight")),
                      7168 * 2048);
    ck_assert_int_eq((int)tensor_of(m, "blk.60.ffn_up_shexp.weight")->role, (int)VS_ROLE_SHARED_UP);
    ck_assert_uint_eq(tensor_of(m, "blk.3.exp_probs_b.bias")->cols, 256);
    /* every second layer */
    m = model_of("llama-4-maverick-17b-128e");
    ck_assert_int_eq(m->layer[0].mlp, VS_MLP_DENSE);
    ck_assert_int_eq(m->layer[47].mlp, VS_MLP_EXPERTS);
}
END_TEST

START_TEST(latent_attention_tensors) {
    const struct vs_model *m = model_of("deepseek-v3");
    static const struct {
        const char *name;
        enum vs_role role;
        uint64_t rows, cols;
    } want[] = {
        {"blk.9.attn_q_a.weight", VS_ROLE_Q_A, 1536, 7168},
        {"blk.9.attn_q_b.weight", VS_ROLE_Q_B, 128 * 192, 1536},
        {"blk.9.attn_kv_a_mqa.weight", VS_ROLE_KV_A, 576, 7168},
        {"blk.9.attn_kv_b.weight", VS_ROLE_KV_B, 128 * 256, 512},
        {"blk.9.attn_output.weight", VS_ROLE_O, 7168, 128 * 128},
    };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        const struct vs_tensor *tensor = tensor_of(m, want[i].name);
        ck_assert_int_eq((int)tensor->role, (int)want[i].role);
        ck_assert(vs_role_is_linear(tensor->role));
        ck_assert_uint_eq(tensor->rows, want[i].rows);
        ck_assert_uint_eq(tensor->cols, want[i].cols);
    }
    /* without a rank of q there is one matrix */
    ck_assert_int_eq((int)tensor_of(model_of("deepseek-v2-lite"), "blk.0.attn_q.weight")->role,
                     (int)VS_ROLE_Q);
}
END_TEST

/* A name is made once for equal layers: 9, 10 and 100 differ in length. */
START_TEST(names_of_equal_layers) {
    const struct vs_model *m = model_of("llama-3.1-405b");
    ck_assert_str_eq(tensor_of(m, "blk.9.ffn_up.weight")->name,
                     "model.layers.9.mlp.up_proj.weight");
    ck_assert_str_eq(tensor_of(m, "blk.10.ffn_up.weight")->name,
                     "model.layers.10.mlp.up_proj.weight");
    ck_assert_str_eq(tensor_of(m, "blk.99.ffn_up.weight")->name,
                     "model.layers.99.mlp.up_proj.weight");
    ck_assert_str_eq(tensor_of(m, "blk.125.attn_norm.weight")->name,
                     "model.layers.125.input_layernorm.weight");
    ck_assert_int_eq(tensor_of(m, "blk.125.attn_norm.weight")->layer, 125);
}
END_TEST

static const char *type_in(const char *model, const char *tensor, const char *format_name) {
    const struct vs_model *m = model_of(model);
    struct vs_format format;
    struct vs_err err = {0};
    ck_assert_msg(vs_format_parse(format_name, &format, &err), "%s", err.text);
    return vs_tensor_type(m, tensor_of(m, tensor), &format, NULL)->name;
}

/* GGUF mixes go by name: experts as a dense MLP would be, the router in fp32, fused q, k and v by a
 * rule of their own, everything else at the base. */
START_TEST(gguf_types) {
    ck_assert_str_eq(type_in("qwen3-30b-a3b", "blk.0.ffn_down_exps.weight", "q4_k_m"), "q6_k");
    ck_assert_str_eq(type_in("qwen3-30b-a3b", "blk.7.ffn_down_exps.weight", "q4_k_m"), "q4_k");
    ck_assert_str_eq(type_in("qwen3-30b-a3b", "blk.0.ffn_gate_exps.weight", "q4_k_m"), "q4_k");
    ck_assert_str_eq(type_in("qwen3-30b-a3b", "blk.0.ffn_gate_inp.weight", "q4_k_m"), "fp32");
    ck_assert_str_eq(type_in("deepseek-v3", "blk.3.ffn_down_shexp.weight", "q4_k_m"), "q6_k");
    ck_assert_str_eq(type_in("deepseek-v3", "blk.0.attn_kv_b.weight", "q4_k_m"), "q4_k");
    ck_assert_str_eq(type_in("phi-2", "blk.0.attn_v.weight", "q4_k_m"), "q5_k");
    ck_assert_str_eq(type_in("phi-2", "blk.0.attn_q.weight", "q5_k_m"), "q6_k");
    ck_assert_str_eq(type_in("qwen3-next-80b-a3b", "blk.0.attn_qkv.weight", "q4_k_m"), "q5_k");
    ck_assert_str_eq(type_in("qwen3-next-80b-a3b", "blk.0.ssm_conv1d.weight", "q4_k_m"), "fp32");
    ck_assert_str_eq(type_in("gpt-oss-20b", "blk.0.ffn_up_exps.weight", "mxfp4"), "mxfp4");
    ck_assert_str_eq(type_in("gpt-oss-20b", "blk.0.attn_q.weight", "mxfp4"), "fp16");
    ck_assert_str_eq(type_in("deepseek-v3", "blk.0.attn_q_a.weight", "fp8"), "fp8-blocks");
    ck_assert_str_eq(type_in("deepseek-v3", "blk.3.ffn_gate_inp.weight", "fp8"), "fp16");
}
END_TEST

static double gigabytes(const char *name, const char *format_name) {
    const struct vs_model *m = model_of(name);
    struct vs_format format;
    struct vs_err err = {0};
    uint64_t bytes = 0;
    ck_assert_msg(vs_format_parse(format_name, &format, &err), "%s", err.text);
    for (size_t i = 0; i < m->tensor_count; i++)
        bytes += vs_tensor_bytes(m, &m->tensors[i], &format, NULL);
    return (double)bytes / 1e9;
}

/* What is often said: Llama 3 70B has 131 GiB in fp16 (141 GB), Grok-1 628 GB; Llama 3 8B is more
 * than a 12 GB card in fp16 and less in 4 bits; a cache in 8 bits is half, in 4 bits a quarter. */
START_TEST(known_claims) {
    const struct vs_model *m = model_of("llama-3-8b");
    const struct vs_type *fp16 = vs_type_find("fp16"), *fp8 = vs_type_find("fp8");
    ck_assert_double_eq_tol(gigabytes("llama-3-70b", "fp16") * 1e9 / (1 << 30), 131.4, 0.1);
    ck_assert_double_eq_tol(gigabytes("grok-1", "fp16"), 628, 4);
    ck_assert_double_gt(gigabytes("llama-3-8b", "fp16"), 12);
    ck_assert_double_lt(gigabytes("llama-3-8b", "int4"), 7);
    ck_assert_double_lt(gigabytes("llama-3-8b", "q4_k_m"), 5);
    ck_assert_uint_eq(vs_kv_layer_bytes(m, 0, 64, fp16, fp16),
                      2 * vs_kv_layer_bytes(m, 0, 64, fp8, fp8));
    ck_assert_double_eq_tol(vs_kv_bytes(vs_type_find("q8_0")), 2 / 2.0 + 2 / 32.0, 1e-12);
    ck_assert_double_eq_tol(vs_kv_bytes(vs_type_find("q4_0")), 2 / 4.0 + 2 / 32.0, 1e-12);
}
END_TEST

START_TEST(unsupported) {
    static const char *const runs[] = {"llama-3-8b", "gpt2",     "phi-2",        "falcon-7b",
                                       "gemma-3-4b", "qwen3-8b", "mixtral-8x7b", "gpt-oss-20b"};
    static const struct {
        const char *name, *phrase;
    } wants[] = {
        {"llama-3.2-11b-vision", "cross-attention layers"},
        {"gemma-4-e2b", "layers that borrow the KV cache of others"},
        {"gemma-4-31b", "attention heads that differ by layer"},
    };
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
        ck_assert_msg(vs_model_unsupported(model_of(runs[i])) == NULL, "%s", runs[i]);
    for (size_t i = 0; i < sizeof wants / sizeof *wants; i++)
        ck_assert_str_eq(vs_model_unsupported(model_of(wants[i].name)), wants[i].phrase);
    ck_assert_str_eq(vs_model_mixers(model_of("deepseek-v3"), VS_MIXER_LATENT),
                     "latent-attention layers");
    ck_assert_str_eq(vs_model_mixers(model_of("qwen3.5-27b"), VS_MIXER_LINEAR),
                     "linear-attention layers");
    ck_assert_str_eq(vs_model_mixers(model_of("nemotron-3-nano-30b-a3b"), VS_MIXER_MAMBA),
                     "Mamba layers");
    ck_assert_ptr_null(vs_model_mixers(model_of("llama-3-8b"), VS_MIXER_LATENT));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("model_breadth");
    TCase *tests = tcase_create("all");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, parameters_of_every_model);
    tcase_add_test(tests, every_file_is_in_the_table);
    tcase_add_test(tests, every_model_of_the_measured_cases);
    tcase_add_test(tests, known_claims);
    tcase_add_test(tests, latent_cache);
    tcase_add_test(tests, linear_attention_state);
    tcase_add_test(tests, mamba_state);
    tcase_add_test(tests, windows_by_layer);
    tcase_add_test(tests, gemma4_layers);
    tcase_add_test(tests, cross_attention);
    tcase_add_test(tests, experts);
    tcase_add_test(tests, latent_attention_tensors);
    tcase_add_test(tests, names_of_equal_layers);
    tcase_add_test(tests, gguf_types);
    tcase_add_test(tests, unsupported);
    suite_add_tcase(suite, tests);

    return run_suite(suite);
}
