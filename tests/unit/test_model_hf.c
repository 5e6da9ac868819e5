/* config.json of every family against our own file of the same model, tensor by tensor; how the
 * stored format is read; hostile files. tests/configs holds what such files say about shape. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "model_helpers.h"
#include "unit/suite.h"

static void check_tensor(const struct vs_tensor *a, const struct vs_tensor *b, const char *name) {
    ck_assert_msg(vs_streq(a->name, b->name) && vs_streq(a->gguf_name, b->gguf_name), "%s: %s, %s",
                  name, a->name, b->name);
    ck_assert_msg(a->role == b->role && a->layer == b->layer && a->count == b->count &&
                      a->rows == b->rows && a->cols == b->cols,
                  "%s: %s differs", name, a->name);
}

static void check_layer(const struct vs_model_layer *a, const struct vs_model_layer *b,
                        const char *name) {
    ck_assert_msg(a->mixer == b->mixer && a->mlp == b->mlp && a->window == b->window &&
                      a->chunked == b->chunked && a->borrows_kv == b->borrows_kv &&
                      a->k_is_v == b->k_is_v && a->kv_heads == b->kv_heads &&
                      a->head_dim == b->head_dim && a->ffn == b->ffn && a->v_index == b->v_index,
                  "%s: a layer differs", name);
}

static void check_same(const struct vs_model *a, const struct vs_model *b) {
    const char *name = b->name;
    ck_assert_str_eq(a->family, b->family);
    ck_assert_uint_eq(a->params_total, b->params_total);
    ck_assert_uint_eq(a->params_active, b->params_active);
    ck_assert_uint_eq(a->max_ctx, b->max_ctx);
    ck_assert_msg(a->fused_qkv == b->fused_qkv && a->experts_active == b->experts_active &&
                      a->index_topk == b->index_topk,
                  "%s", name);
    ck_assert_uint_eq(a->layers, b->layers);
    for (uint32_t i = 0; i < a->layers; i++)
        check_layer(&a->layer[i], &b->layer[i], name);
    ck_assert_uint_eq(a->tensor_count, b->tensor_count);
    for (size_t i = 0; i < a->tensor_count; i++)
        check_tensor(&a->tensors[i], &b->tensors[i], name);
}

START_TEST(every_config_is_our_file) {
    const char *const *names = NULL;
    size_t count = 0;
    struct vs_err err = {0};
    ck_assert(vs_dir_list(&arena, "tests/configs", ".json", &names, &count, &err));
    ck_assert_uint_ge(count, 50);
    for (size_t i = 0; i < count; i++) {
        char path[200];
        snprintf(path, sizeof path, "tests/configs/%s.json", names[i]);
        check_same(model_of(path), model_of(names[i]));
    }
}
END_TEST

#define SHAPE                                                                                      \
    "{\"architectures\":[\"LlamaForCausalLM\"],\"hidden_size\":64,\"num_hidden_layers\":2,"        \
    "\"num_attention_heads\":4,\"intermediate_size\":128,\"vocab_size\":100"

static const char *stored(const char *quantization) {
    char text[600];
    snprintf(text, sizeof text, SHAPE ",\"quantization_config\":%s}", quantization);
    write_text(text);
    return model_of(file)->stored_format;
}

START_TEST(stored_formats) {
    static const struct {
        const char *config, *format;
    } want[] = {
        {"{\"quant_method\":\"fp8\",\"weight_block_size\":[128,128]}", "fp8"},
        {"{\"quant_method\":\"mxfp4\"}", "mxfp4"},
        {"{\"quant_method\":\"gptq\",\"bits\":4,\"group_size\":128}", "gptq4"},
        {"{\"quant_method\":\"gptq\",\"bits\":4,\"group_size\":32}", "gptq4:32"},
        {"{\"quant_method\":\"gptq\",\"bits\":8,\"group_size\":128}", "gptq8"},
        {"{\"quant_method\":\"awq\",\"bits\":4,\"group_size\":128}", "awq4"},
        {"{\"quant_method\":\"bitsandbytes\",\"load_in_4bit\":true}", "nf4"},
        {"{\"load_in_4bit\":true,\"bnb_4bit_use_double_quant\":true}", "nf4-dq"},
        {"{\"quant_method\":\"bitsandbytes\",\"load_in_8bit\":true}", "int8"},
        {"{\"quant_method\":\"modelopt\",\"quant_algo\":\"NVFP4\"}", "nvfp4"},
        {"{\"quant_algo\":\"FP8\"}", "fp8"},
        {"{\"quant_method\":\"compressed-tensors\",\"config_groups\":{\"group_0\":{\"weights\":"
         "{\"num_bits\":4,\"type\":\"int\",\"group_size\":32}}}}",
         "int4"},
        {"{\"quant_method\":\"compressed-tensors\",\"config_groups\":{\"group_0\":{\"weights\":"
         "{\"num_bits\":8,\"type\":\"float\"}}}}",
         "fp8"},
    };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        ck_assert_str_eq(stored(want[i].config), want[i].format);
    ck_assert_ptr_null(stored("null"));
    ck_assert_str_eq(model_of("gpt-oss-20b")->stored_format, "mxfp4");
    ck_assert_ptr_null(model_of("llama-3-8b")->stored_format);
}
END_TEST

static void refused(const char *text, const char *says) {
    const struct vs_model *model = NULL;
    struct vs_err err = {0};
    write_text(text);
    ck_assert_msg(!vs_model_load(&arena, file, &model, &err), "taken: %.200s", text);
    ck_assert_int_eq((int)err.status, (int)VS_ERR_INPUT);
    ck_assert_msg(strstr(err.text, says) != NULL, "%s\n  for %.200s", err.text, text);
    ck_assert_msg(strstr(err.text, "config.json:") != NULL, "no place: %s", err.text);
    ck_assert_ptr_null(strchr(err.text, '\n'));
}

START_TEST(quantization_refused) {
    refused(SHAPE ",\"quantization_config\":3}", "expected an object");
    refused(SHAPE ",\"quantization_config\":{}}", "quant_method: expected fp8");
    refused(SHAPE ",\"quantization_config\":{\"quant_method\":\"magic\"}}", "found 'magic'");
    refused(SHAPE ",\"quantization_config\":{\"quant_method\":\"gptq\",\"bits\":3}}", "4 or 8");
    refused(SHAPE ",\"quantization_config\":{\"quant_method\":\"gptq\",\"bits\":4,"
                  "\"group_size\":-1}}",
            "expected a group of 16");
    refused(SHAPE ",\"quantization_config\":{\"quant_method\":\"modelopt\",\"quant_algo\":\"Q\"}}",
            "found 'Q', expected FP8 or NVFP4");
    refused(SHAPE ",\"quantization_config\":{\"quant_method\":\"compressed-tensors\"}}",
            "num_bits 4 or 8");
    refused(SHAPE ",\"quantization_config\":{\"quant_method\":\"bitsandbytes\"}}", "load_in_4bit");
}
END_TEST

/* Python writes these; they are no JSON, but nothing that is read here. */
START_TEST(python_numbers) {
    write_text(SHAPE ",\n\"a\":[-Infinity,NaN,0.0],\"b\":\"say \\\"NaN\\\"\"}");
    ck_assert_uint_eq(model_of(file)->layers, 2);
    refused(SHAPE ",\n\"a\":Infinit}", "config.json:2:5");
    refused("{\"schema\":\"vramsim-model/1\",\"layers\":NaN}", "NaN");
}
END_TEST

START_TEST(hostile_files) {
    struct vs_text text = {0};
    vs_text_add(&text, SHAPE ",\"a\":");
    for (int i = 0; i < 10000; i++)
        vs_text_add(&text, "{\"a\":");
    vs_text_add(&text, "1");
    for (int i = 0; i < 10000; i++)
        vs_text_add(&text, "}");
    vs_text_add(&text, "}");
    refused(vs_text_str(&text), "64 levels");
    vs_text_release(&text);
    refused(SHAPE ",\n\"vocab_size\":101}", "config.json:2:1: duplicate key 'vocab_size'");
    refused("", "config.json:");
    refused("[[[", "config.json:");
}
END_TEST

/* 100 MB, of which not a byte is read. */
START_TEST(huge_file) {
    const struct vs_model *model = NULL;
    struct vs_err err = {0};
    write_text("{}");
    ck_assert_int_eq(truncate(file, 100000000), 0);
    ck_assert(!vs_model_load(&arena, file, &model, &err));
    ck_assert_int_eq((int)err.status, (int)VS_ERR_INPUT);
    ck_assert_msg(strstr(err.text, "100000000 bytes") != NULL, "%s", err.text);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("model_hf");
    TCase *tests = tcase_create("all");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, every_config_is_our_file);
    tcase_add_test(tests, stored_formats);
    tcase_add_test(tests, quantization_refused);
    tcase_add_test(tests, python_numbers);
    tcase_add_test(tests, hostile_files);
    tcase_add_test(tests, huge_file);
    suite_add_tcase(suite, tests);

    return run_suite(suite);
}
