/* DeepSpeed's configuration files: what they say of axes, in which order of precedence, and what a
 * wrong one is told. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "import/deepspeed.h"
#include "run/run.h"
#include "sim_helpers.h"

static char path[64];

/* The path of a file with this text. */
static const char *file_of(const char *text) {
    snprintf(path, sizeof path, "/tmp/vramsim-deepspeed-%ld.json", (long)getpid());
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert(fwrite(text, 1, strlen(text), file) == strlen(text) && fclose(file) == 0);
    return path;
}

static void end(void) {
    if (path[0])
        remove(path);
    vs_arena_release(&sim_arena);
}

static struct vs_deepspeed read_file(const char *file) {
    struct vs_deepspeed config = {.train_batch = 0};
    struct vs_err err = {0};
    ck_assert_msg(vs_deepspeed_read(&sim_arena, file, &config, &err), "%s", err.text);
    return config;
}

/* "zero=2 accum=4": all of them and no others. */
static void expect_axes(const struct vs_deepspeed *config, const char *wanted) {
    char got[512] = "";
    for (int i = 0; i < VS_AXIS_COUNT; i++) {
        if (!config->values.at[i].text)
            continue;
        ck_assert_int_eq(config->values.origin[i], VS_FROM_CONFIG);
        size_t n = strlen(got);
        snprintf(got + n, sizeof got - n, "%s%s=%s", n > 0 ? " " : "",
                 vs_axis_info((enum vs_axis)i)->name, config->values.at[i].text);
    }
    ck_assert_str_eq(got, wanted);
}

/* ZeRO-2, the optimizer in page-locked host memory, overlap, contiguous gradients, buckets of 2e8
 * elements (in 16 bit: 400 MB). */
START_TEST(zero2_offload) {
    struct vs_deepspeed c = read_file("tests/configs/deepspeed/zero2-offload.json");
    expect_axes(&c, "accum=4 optim=adamw precision=mixed-bf16 zero=2 zero-bucket=400MB "
                    "overlap-comm=on contiguous-grads=on offload-param=none offload-optim=cpu "
                    "pin-memory=on");
    ck_assert_uint_eq(c.train_batch, 16);
    ck_assert_str_eq(c.train_batch_where,
                     "tests/configs/deepspeed/zero2-offload.json:2:23: at $.train_batch_size");
}
END_TEST

/* "auto" says nothing. */
START_TEST(automatic_values) {
    struct vs_deepspeed c = read_file("tests/configs/deepspeed/zero3-auto.json");
    expect_axes(&c, "optim=adamw zero=3 zero-live=1000000000 zero-tile=1000000000 overlap-comm=on "
                    "contiguous-grads=on offload-param=none offload-optim=none pin-memory=on");
    ck_assert_uint_eq(c.train_batch, 0);
}
END_TEST

START_TEST(nvme) {
    struct vs_deepspeed c = read_file("tests/configs/deepspeed/zero3-nvme.json");
    expect_axes(&c, "micro-batch=1 precision=mixed-fp16 zero=3 zero-live=300000000 "
                    "zero-prefetch=10000000 zero-persist=10000 zero-tile=500000000 "
                    "offload-param=nvme offload-optim=nvme optim-buffers=4 param-buffers=5 "
                    "param-buffer=100000000 pin-memory=on");
}
END_TEST

/* Both types off is fp32, and gradients of 4 bytes fill buckets. */
START_TEST(fp32_and_momentum) {
    struct vs_deepspeed c = read_file("tests/configs/deepspeed/zero1-sgd.json");
    expect_axes(&c, "micro-batch=4 optim=sgd-momentum precision=fp32 grad-dtype=fp32 "
                    "ckpt-offload=cpu zero=1 zero-bucket=200MB overlap-comm=off offload-param=none "
                    "offload-optim=none");
}
END_TEST

START_TEST(old_and_small_files) {
    struct vs_deepspeed c = read_file(file_of("{}"));
    expect_axes(&c, "");
    c = read_file(file_of("{\"zero_optimization\": {\"stage\": 2, \"cpu_offload\": true}}"));
    expect_axes(&c, "zero=2 offload-param=none offload-optim=cpu");
    c = read_file(file_of("{\"zero_optimization\": {\"stage\": 3, \"mics_shard_size\": 8}}"));
    expect_axes(&c, "zero=3 zero-group=8 offload-param=none offload-optim=none");
}
END_TEST

/* ---- precedence and the batch ---- */

#define TWO "--hw h100-sxm --gpus 2 --model toy --task train --seq 64 --ckpt full "
#define ISSUE TWO "--config tests/configs/deepspeed/zero2-offload.json "

static const char *word_of(const struct vs_outcome *o, const char *axis) {
    for (size_t i = 0; i < o->strategy_count; i++)
        if (vs_streq(o->strategy[i].axis, axis))
            return o->strategy[i].word;
    return "";
}

/* 16 samples = 2 x accumulation 4 x 2 ranks; the engine is the file's. */
START_TEST(micro_batch_follows) {
    const struct vs_outcome *o = sim_memory(ISSUE);
    ck_assert_str_eq(o->engine, "deepspeed");
    ck_assert_str_eq(word_of(o, "micro-batch"), "2");
    ck_assert_str_eq(word_of(o, "accum"), "4");
    ck_assert_str_eq(word_of(o, "pin-memory"), "on");
    o = sim_memory(TWO "--config tests/configs/deepspeed/zero1-sgd.json --ckpt-offload none "
                       "--grad-dtype fp32");
    ck_assert_str_eq(word_of(o, "accum"), "4"); /* 32 / (4 x 2) */
    o = sim_memory("--hw h100-sxm --gpus 4 --cp 2 --model toy --task train --seq 64 --ckpt full "
                   "--config tests/configs/deepspeed/zero2-offload.json");
    ck_assert_str_eq(word_of(o, "micro-batch"), "2"); /* 4 ranks, of which 2 share each sample */
}
END_TEST

/* The command line wins over the file, the file over the workload and the engine. */
START_TEST(precedence) {
    const struct vs_outcome *o = sim_memory(ISSUE "--zero 1 --accum 2");
    ck_assert_str_eq(word_of(o, "zero"), "1");
    ck_assert_str_eq(word_of(o, "micro-batch"), "4");  /* 16 / (2 x 2) */
    o = sim_memory(ISSUE "--accum 2 --micro-batch 1"); /* both: the file's batch is overruled */
    ck_assert_str_eq(word_of(o, "micro-batch"), "1");
    o = sim_memory("--hw h100-sxm --workload full13b-zero3-offload --config "
                   "tests/configs/deepspeed/zero2-offload.json");
    ck_assert_str_eq(word_of(o, "zero"), "2");
    ck_assert_str_eq(word_of(o, "accum"), "4");
    ck_assert_str_eq(word_of(o, "offload-param"), "none"); /* the workload has cpu */
}
END_TEST

START_TEST(batch_refused) {
    sim_refused(
        "--hw h100-sxm --gpus 3 --model toy --task train --config "
        "tests/configs/deepspeed/zero2-offload.json",
        "zero2-offload.json:2:23: at $.train_batch_size: found 16, expected a multiple of 12: "
        "accumulation 4 x 3 ranks");
    sim_refused(TWO "--config tests/configs/deepspeed/zero2-offload.json --micro-batch 3",
                "expected 24: micro-batch 3 x accumulation 4 x 2 ranks");
    sim_refused(TWO "--config ./none.json", "none.json");
}
END_TEST

/* ---- wrong files ---- */

START_TEST(wrong_files) {
    static const struct {
        const char *text, *message;
    } CASES[] = {
        {"", ":1:1"},
        {"{\"train_batch_size\": 8,}", ":1:24"},
        {"{\n// batch\n\"train_batch_size\": 8}", ":2:1"},
        {"{\"train_batch_size\": \"8\"}",
         ":1:22: at $.train_batch_size: found a string, expected a whole number from 0 to 1e15 "
         "without quotes, or \"auto\""},
        {"{\"train_batch_size\": 0}", "found 0, expected at least 1"},
        {"{\"train_batch_size\": 1.5}", "expected a whole number"},
        {"{\"gradient_accumulation_steps\": -1}", "expected a whole number"},
        {"{\"gradient_accumulation_steps\": 0}", "1"},
        {"{\"zero_optimisation\": {}}",
         "unknown key 'zero_optimisation', expected one of: zero_optimization"},
        {"{\"zero_optimization\": {\"stages\": 2}}",
         "unknown key 'stages', expected one of: stage"},
        {"{\"zero_optimization\": {\"stage\": 4}}", "3"},
        {"{\"zero_optimization\": {\"stage\": true}}", "expected a whole number"},
        {"{\"zero_optimization\": 2}", "found a number, expected an object"},
        {"{\"zero_optimization\": {\"overlap_comm\": 1}}", "expected true, false or \"auto\""},
        {"{\"zero_optimization\": {\"offload_optimizer\": {\"device\": \"ssd\"}}}",
         "found 'ssd', expected none, cpu or nvme"},
        {"{\"zero_optimization\": {\"offload_param\": {\"devices\": \"cpu\"}}}",
         "unknown key 'devices', expected one of: device"},
        {"{\"zero_optimization\": {\"offload_param\": {\"pin_memory\": true}, "
         "\"offload_optimizer\": {\"pin_memory\": false}}}",
         "--pin-memory is on here and off above; expected one value"},
        {"{\"zero_optimization\": {\"zero_hpz_partition_size\": 8}}",
         "'zero_hpz_partition_size' is not modelled; expected 1"},
        {"{\"zero_optimization\": {\"zero_quantized_weights\": true}}", "is not modelled"},
        {"{\"fp16\": {\"enabled\": true}, \"bf16\": {\"enabled\": true}}",
         "fp16 and bf16 are both enabled; expected one of them"},
        {"{\"fp16\": {\"enabled\": \"yes\"}}", "expected true, false or \"auto\""},
        {"{\"optimizer\": {\"type\": \"OneBitAdam\"}}", "optimizer 'OneBitAdam' is not modelled"},
        {"{\"optimizer\": {}}", "found no key 'type'"},
        {"{\"optimizer\": {\"type\": \"Adam\", \"params\": {\"learning_rate\": 1}}}",
         "unknown key 'learning_rate'"},
        {"{\"data_types\": {\"grad_accum_dtype\": \"fp8\"}}", "expected one of fp32, fp16, bf16"},
        {"{\"activation_checkpointing\": {\"partition_activations\": true}}", "is not modelled"},
        {"[]", "found an array, expected an object"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct vs_deepspeed config = {.train_batch = 7};
        struct vs_err err = {0};
        const char *file = file_of(CASES[i].text);
        ck_assert_msg(!vs_deepspeed_read(&sim_arena, file, &config, &err), "%s", CASES[i].text);
        ck_assert_int_eq(err.status, VS_ERR_INPUT);
        ck_assert_msg(strstr(err.text, CASES[i].message) != NULL, "%s\n%s", CASES[i].text,
                      err.text);
        ck_assert_msg(strstr(err.text, file) != NULL, "%s", err.text);
        ck_assert_uint_eq(config.train_batch, 7);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("deepspeed");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, NULL, end);
    tcase_add_test(tests, zero2_offload);
    tcase_add_test(tests, automatic_values);
    tcase_add_test(tests, nvme);
    tcase_add_test(tests, fp32_and_momentum);
    tcase_add_test(tests, old_and_small_files);
    tcase_add_test(tests, micro_batch_follows);
    tcase_add_test(tests, precedence);
    tcase_add_test(tests, batch_refused);
    tcase_add_test(tests, wrong_files);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
