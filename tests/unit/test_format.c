/* Formats: exact bytes of matrices worked by hand, and whole models against published file sizes.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "model/model.h"
#include "unit/suite.h"

static struct vs_arena arena;

static void setup(void) { vs_arena_init(&arena); }
static void teardown(void) { vs_arena_release(&arena); }

static struct vs_format format_of(const char *text) {
    struct vs_format format;
    struct vs_err err = {0};
    ck_assert_msg(vs_format_parse(text, &format, &err), "%s", err.text);
    return format;
}

static const struct vs_model *model_of(const char *name) {
    const struct vs_model *model = NULL;
    struct vs_err err = {0};
    ck_assert_msg(vs_model_load(&arena, name, &model, &err), "%s", err.text);
    return model;
}

static uint64_t bytes_of(const char *type, uint64_t rows, uint64_t cols) {
    const struct vs_type *found = vs_type_find(type);
    ck_assert_msg(found != NULL, "no type %s", type);
    return vs_type_bytes(found, rows, cols);
}

static uint64_t model_bytes(const struct vs_model *model, const char *format, const char *rest) {
    const struct vs_format f = format_of(format);
    uint64_t sum = 0;
    for (size_t i = 0; i < model->tensor_count; i++)
        sum += vs_tensor_bytes(model, &model->tensors[i], &f, vs_type_find(rest));
    return sum;
}

/* As above, of the matrices inside the layers only. */
static uint64_t linear_bytes(const struct vs_model *model, const char *format) {
    const struct vs_format f = format_of(format);
    uint64_t sum = 0;
    for (size_t i = 0; i < model->tensor_count; i++)
        if (vs_role_is_linear(model->tensors[i].role))
            sum += vs_tensor_bytes(model, &model->tensors[i], &f, NULL);
    return sum;
}

/* A [4 out x 256 in] matrix, 1,024 weights. */
START_TEST(bytes_of_a_small_matrix) {
    ck_assert_uint_eq(bytes_of("fp32", 4, 256), 4096);
    ck_assert_uint_eq(bytes_of("bf16", 4, 256), 2048);
    ck_assert_uint_eq(bytes_of("fp8", 4, 256), 1024 + 4);
    ck_assert_uint_eq(bytes_of("int8", 4, 256), 1024 + 4 * 4);
    ck_assert_uint_eq(bytes_of("int4", 4, 256), 512 + 16 * 4);
    /* 16 blocks of 64: an fp32 each, and a table of 16 fp32 */
    ck_assert_uint_eq(bytes_of("nf4", 4, 256), 512 + 16 * 4 + 64);
    /* 16 bytes of scales, one second-level fp32, tables of 16 and 256 fp32, an offset */
    ck_assert_uint_eq(bytes_of("nf4-dq", 4, 256), 512 + 16 + 4 + 64 + 1024 + 4);
    ck_assert_uint_eq(bytes_of("mxfp4", 4, 256), 512 + 32);
    ck_assert_uint_eq(bytes_of("nvfp4", 4, 256), 512 + 64 + 4);
    ck_assert_uint_eq(bytes_of("q4_0", 4, 256), 4 * 8 * 18);
    ck_assert_uint_eq(bytes_of("q8_0", 4, 256), 4 * 8 * 34);
    ck_assert_uint_eq(bytes_of("q4_k", 4, 256), 4 * 144);
    ck_assert_uint_eq(bytes_of("q6_k", 4, 256), 4 * 210);
    ck_assert_uint_eq(bytes_of("iq2_xxs", 4, 256), 4 * 66);
    ck_assert_uint_eq(bytes_of("iq1_kt", 4, 256), 4 * 56);
}
END_TEST

/* [16 out x 256 in], groups of 128: 2048 B of weights; 2 groups of 16 zero points of 4 bits = 2 x 8
 * B; 2 x 16 scales of 2 B; an index of 4 B per column. */
START_TEST(bytes_of_groups) {
    ck_assert_uint_eq(bytes_of("awq4", 16, 256), 2048 + 16 + 64);
    ck_assert_uint_eq(bytes_of("gptq4", 16, 256), 2048 + 16 + 64 + 1024);
    ck_assert_uint_eq(bytes_of("gptq8", 16, 256), 4096 + 32 + 64 + 1024);
    ck_assert_uint_eq(bytes_of("gptq4:64", 16, 256), 2048 + 32 + 128 + 1024);
    ck_assert_uint_eq(vs_type_bytes(format_of("gptq4:64").base, 16, 256), 2048 + 32 + 128 + 1024);
}
END_TEST

/* Rows are whole blocks: 33 columns of q8_0 are 2 blocks. */
START_TEST(rows_are_whole_blocks) {
    ck_assert_uint_eq(bytes_of("q8_0", 3, 33), 3 * 2 * 34);
    ck_assert_uint_eq(bytes_of("q8_0", 0, 33), 0);
    ck_assert_uint_eq(bytes_of("fp8", 3, 0), 0);
}
END_TEST

START_TEST(types_by_name) {
    ck_assert_ptr_eq(vs_type_find("f16"), vs_type_find("fp16"));
    ck_assert_ptr_eq(vs_type_find("f32"), vs_type_find("fp32"));
    ck_assert_ptr_null(vs_type_find("q4_k_m"));
    ck_assert_ptr_null(vs_type_find(""));
    ck_assert_int_eq((int)vs_type_find("q4_k")->class_of, (int)VS_CLASS_KQUANT);
    ck_assert_int_eq((int)vs_type_find("iq4_xs")->class_of, (int)VS_CLASS_IQUANT);
    ck_assert_int_eq((int)vs_type_find("q4_0")->class_of, (int)VS_CLASS_LEGACY);
    ck_assert_int_eq((int)vs_type_find("nf4")->class_of, (int)VS_CLASS_BNB);
    ck_assert_double_eq(vs_type_find("q6_k")->bits, 6.5625);
}
END_TEST

START_TEST(kv_bytes_per_element) {
    static const struct {
        const char *type;
        double bytes;
    } want[] = {{"fp32", 4},      {"f16", 2},       {"bf16", 2},     {"fp8", 1},
                {"q8_0", 1.0625}, {"q5_1", 0.75},   {"q5_0", .6875}, {"q4_1", .625},
                {"q4_0", .5625},  {"int8", 1.0625}, {"int4", .5625}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        ck_assert_double_eq(vs_kv_bytes(vs_type_find(want[i].type)), want[i].bytes);
}
END_TEST

START_TEST(every_name_parses) {
    size_t count = 0;
    const char *const *names = vs_format_names(&count);
    ck_assert_uint_gt(count, 50);
    for (size_t i = 0; i < count; i++) {
        const struct vs_format format = format_of(names[i]);
        ck_assert_str_eq(format.name, names[i]);
        ck_assert_ptr_nonnull(format.base);
        ck_assert_str_ne(format.label, "");
    }
}
END_TEST

START_TEST(parameters_of_formats) {
    struct vs_format f = format_of("gptq4:64");
    ck_assert_str_eq(f.name, "gptq4");
    ck_assert_uint_eq(f.group, 64);
    f = format_of("gptq4:128");
    ck_assert_ptr_eq(f.base, format_of("gptq4").base);
    f = format_of("exl2:4.5");
    ck_assert_int_eq((int)f.kind, (int)VS_FORMAT_EXL2);
    ck_assert_double_eq(f.bpw, 4.5);
    f = format_of("gguf:3.07");
    ck_assert_int_eq((int)f.kind, (int)VS_FORMAT_BPW);
    ck_assert_double_eq(f.bpw, 3.07);
    ck_assert_str_eq(f.base->name, "q3_k");
    ck_assert_str_eq(format_of("nf4-dq").label, "nf4 + double quant");
    ck_assert(!vs_format_is_quantized(&(struct vs_format){.base = vs_type_find("bf16")}));
    f = format_of("f16");
    ck_assert(!vs_format_is_quantized(&f));
    f = format_of("q8_0");
    ck_assert(vs_format_is_quantized(&f));
}
END_TEST

START_TEST(bad_formats) {
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"q4_k_n", "unknown format 'q4_k_n'; nearest: q4_k"},
        {"Q4_K_M", "nearest: q4_k_m"},
        {"", "unknown format"},
        {"nf5", "nf4"},
        {"gptq4:", "expected a group of 16"},
        {"gptq4:100", "expected a group of 16"},
        {"gptq4:-64", "expected a group of 16"},
        {"gguf:", "bits per weight from 1 to 32"},
        {"gguf:0", "bits per weight from 1 to 32"},
        {"gguf:nan", "bits per weight from 1 to 32"},
        {"gguf:4.5x", "bits per weight from 1 to 32"},
        {"exl2:1e9", "bits per weight from 2 to 8"},
        {"exl2", "as in exl2:4.5"},
        {"gguf", "as in gguf:4.5"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct vs_format format = {.group = 7};
        struct vs_err err = {0};
        ck_assert_msg(!vs_format_parse(bad[i].text, &format, &err), "%s", bad[i].text);
        ck_assert_int_eq((int)err.status, (int)VS_ERR_INPUT);
        ck_assert_msg(strstr(err.text, bad[i].says) != NULL, "%s: %s", bad[i].text, err.text);
        ck_assert_uint_eq(format.group, 7); /* untouched */
    }
}
END_TEST

/* 8,030,261,248 parameters of 2 bytes. */
START_TEST(llama3_8b_fp16) {
    ck_assert_uint_eq(model_bytes(model_of("llama-3-8b"), "fp16", NULL), 16060522496);
}
END_TEST

/* 6,476,005,376 x (1/2 + 1/64 + 4/16384) = 3.111 GiB, and 224 matrices' tables of 1,092 B. */
START_TEST(nf4_of_llama2_7b) {
    const double linear = 6476005376.0;
    const uint64_t bytes = linear_bytes(model_of("llama-2-7b"), "nf4-dq");
    ck_assert_uint_eq(bytes, (uint64_t)(linear * (0.5 + 1.0 / 64 + 4.0 / 16384)) + 224 * 1092);
    ck_assert_double_eq_tol((double)bytes / (1 << 30), 3.111, 0.001);
}
END_TEST

/* 68.45e9 linear weights and 2.10e9 others in bf16: 42.7 GB, with double quantization 39.5 GB. */
START_TEST(nf4_of_llama3_70b) {
    const struct vs_model *model = model_of("llama-3-70b");
    ck_assert_double_eq_tol((double)model_bytes(model, "nf4", "bf16") / 1e9, 42.7, 0.05);
    ck_assert_double_eq_tol((double)model_bytes(model, "nf4-dq", "bf16") / 1e9, 39.5, 0.05);
}
END_TEST

/* toy: 4 Mi weights in layers, 1 Mi each in embedding and head, 9 norms of 256. */
START_TEST(what_stays_in_the_load_type) {
    const struct vs_model *toy = model_of("toy");
    const uint64_t mi = 1 << 20, rest = 2 * mi + 9 * 256;

    ck_assert_uint_eq(model_bytes(toy, "fp32", "bf16"), 4 * (4 * mi + rest));
    ck_assert_uint_eq(model_bytes(toy, "fp8", "bf16"), 4 * mi + 28 * 4 + 2 * rest);
    ck_assert_uint_eq(model_bytes(toy, "fp8", "fp32"), 4 * mi + 28 * 4 + 4 * rest);
    ck_assert_uint_eq(model_bytes(toy, "nf4", NULL),
                      4 * mi * 9 / 16 + 28 * 64 + 2 * rest); /* NULL = fp16 */
    ck_assert_uint_eq(model_bytes(toy, "int4", "bf16"), 4 * mi * 9 / 16 + 2 * rest);
    ck_assert_uint_eq(model_bytes(toy, "mxfp4", "bf16"), 4 * mi * 17 / 32 + 2 * rest);
    /* exl2: head in 6 bits, embedding and norms 16-bit */
    ck_assert_uint_eq(model_bytes(toy, "exl2:4", "fp16"),
                      4 * mi / 2 + mi * 6 / 8 + 2 * (mi + 9 * 256));
    /* a mix of so many bits is an average over the whole file */
    ck_assert_uint_eq(model_bytes(toy, "gguf:4", NULL), (4 * mi + rest) / 2);
}
END_TEST

static const char *type_in(const struct vs_model *model, const char *gguf, const char *format) {
    const struct vs_format f = format_of(format);
    for (size_t i = 0; i < model->tensor_count; i++)
        if (vs_streq(model->tensors[i].gguf_name, gguf))
            return vs_tensor_type(model, &model->tensors[i], &f, NULL)->name;
    ck_abort_msg("no tensor %s", gguf);
    return "";
}

/* Q4_K_M: half of the value and down matrices in q6_k: the first and last eighth of the layers, and
 * every third between them; 70B-class models never keep a value matrix in q4_k. */
START_TEST(mix_by_tensor) {
    const struct vs_model *m = model_of("llama-3-8b"); /* 32 layers: eighths are 0-3 and 28-31 */
    ck_assert_str_eq(type_in(m, "blk.3.ffn_down.weight", "q4_k_m"), "q6_k");
    ck_assert_str_eq(type_in(m, "blk.4.ffn_down.weight", "q4_k_m"), "q4_k");
    ck_assert_str_eq(type_in(m, "blk.6.attn_v.weight", "q4_k_m"), "q6_k");
    ck_assert_str_eq(type_in(m, "blk.28.attn_v.weight", "q4_k_m"), "q6_k");
    ck_assert_str_eq(type_in(m, "blk.4.attn_q.weight", "q4_k_m"), "q4_k");
    ck_assert_str_eq(type_in(m, "output.weight", "q4_k_m"), "q6_k");
    ck_assert_str_eq(type_in(m, "token_embd.weight", "q4_k_m"), "q4_k");
    ck_assert_str_eq(type_in(m, "token_embd.weight", "q4_k_l"), "q8_0");
    ck_assert_str_eq(type_in(m, "output.weight", "q4_k_l"), "q8_0");
    ck_assert_str_eq(type_in(m, "blk.4.attn_norm.weight", "q4_k_m"), "fp32");
    ck_assert_str_eq(type_in(m, "output_norm.weight", "f16"), "fp32");
    ck_assert_str_eq(type_in(m, "output.weight", "f16"), "fp16");
    ck_assert_str_eq(type_in(m, "output.weight", "q8_0"), "q8_0");
    m = model_of("llama-3-70b");
    ck_assert_str_eq(type_in(m, "blk.10.attn_v.weight", "q4_k_m"), "q5_k");
    ck_assert_str_eq(type_in(m, "blk.10.ffn_down.weight", "q4_k_m"), "q4_k");
}
END_TEST

/* llama-bench's model_size of two files: the bytes of all tensors (lhl/strix-halo-testing llm-bench
 * llama-2-7b.Q4_0 and llama-2-7b.Q4_K_M results.jsonl @5ee14b5). */
START_TEST(exact_file_bytes) {
    const struct vs_model *model = model_of("llama-2-7b");
    ck_assert_uint_eq(model_bytes(model, "q4_0", NULL), 3825065984);
    ck_assert_uint_eq(model_bytes(model, "q4_k_m", NULL), 4080263168);
}
END_TEST

struct published {
    const char *model, *format;
    double gib, gb, bpw;
};

static void check_size(double ours, double published, const struct published *row) {
    if (published > 0)
        ck_assert_msg(fabs(ours / published - 1) < 0.005, "%s %s: %g, published %g", row->model,
                      row->format, ours, published);
}

START_TEST(published_file_sizes) {
    static const struct published rows[] = {
#define GGUF_SIZE(model, format, gib, gb, bpw) {model, format, gib, gb, bpw},
#include "gguf_sizes.def"
#undef GGUF_SIZE
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct vs_model *model = model_of(rows[i].model);
        const double bytes = (double)model_bytes(model, rows[i].format, NULL);
        check_size(bytes / (1 << 30), rows[i].gib, &rows[i]);
        check_size(bytes / 1e9, rows[i].gb, &rows[i]);
        check_size(8 * bytes / (double)model->params_total, rows[i].bpw, &rows[i]);
        vs_arena_reset(&arena);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("format");
    TCase *types = tcase_create("types"), *models = tcase_create("models");

    tcase_add_test(types, bytes_of_a_small_matrix);
    tcase_add_test(types, bytes_of_groups);
    tcase_add_test(types, rows_are_whole_blocks);
    tcase_add_test(types, types_by_name);
    tcase_add_test(types, kv_bytes_per_element);
    tcase_add_test(types, every_name_parses);
    tcase_add_test(types, parameters_of_formats);
    tcase_add_test(types, bad_formats);
    tcase_add_checked_fixture(models, setup, teardown);
    tcase_add_test(models, llama3_8b_fp16);
    tcase_add_test(models, nf4_of_llama2_7b);
    tcase_add_test(models, nf4_of_llama3_70b);
    tcase_add_test(models, what_stays_in_the_load_type);
    tcase_add_test(models, mix_by_tensor);
    tcase_add_test(models, exact_file_bytes);
    tcase_add_test(models, published_file_sizes);
    suite_add_tcase(suite, types);
    suite_add_tcase(suite, models);

    return run_suite(suite);
}
