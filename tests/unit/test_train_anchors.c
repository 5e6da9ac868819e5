/* Training against what others have published: tables of papers, an estimator's answers, rules of
 * thumb. */
#include "base/csv.h"
#include "plan_helpers.h"
#include "unit/suite.h"

/* ---- bytes of sharded states ---- */

static double lasting(const char *words, bool gpu) {
    double bytes = 0;
    forget();
    sim_plan(&plan, words);
    for (size_t i = 0; i < plan.buffers.count; i++) {
        const struct vs_buffer *b = &plan.buffers.at[i];
        bool state =
            b->tag == VS_TAG_WEIGHTS || b->tag == VS_TAG_GRADIENTS || b->tag == VS_TAG_OPTIMIZER;
        if (state && vs_on_gpu(b->home) == gpu && !vs_streq(b->what, "reduce buckets"))
            bytes += (double)b->bytes;
    }
    return bytes;
}

/* ZeRO: Memory Optimizations Toward Training Trillion Parameter Models, figure 1: mixed-precision
 * Adam of 7.5e9 parameters on 64 devices, 120, 31.4, 16.6 and 1.9 GB each. The toy has 0.0063e9. */
START_TEST(zero_paper) {
    static const double WANTED_GB[] = {120, 31.4, 16.6, 1.9};
    for (int stage = 0; stage < 4; stage++) {
        const char *words = vs_arena_printf(
            &sim_arena,
            "--hw v100-32g-sxm --gpus 64 --model toy --task train --engine deepspeed --precision "
            "mixed-fp16 --method full --seq 64 --zero %d%s",
            stage, stage == 3 ? " --zero-persist 0" : "");
        double per_param = lasting(words, true) / (double)TOY_PARAMS;
        ck_assert_double_eq_tol(per_param * 7.5, WANTED_GB[stage], 0.05);
    }
}
END_TEST

/* "zero=3;offload_param=cpu": the word behind a name, or "". */
static const char *setting(const char *settings, const char *name) {
    size_t n = strlen(name);
    for (const char *at = settings; at; at = strchr(at, ';')) {
        at += *at == ';';
        if (strncmp(at, name, n) == 0 && at[n] == '=')
            return vs_arena_printf(&sim_arena, "%.*s", (int)strcspn(at + n + 1, ";"), at + n + 1);
    }
    return "";
}

/* Bytes per parameter that an answer of DeepSpeed's estimator stands for. On the GPU it adds the
 * largest layer, weights and gradients (4 bytes); in RAM it multiplies by a factor for buffers. */
static double answer(const char *settings, double gib, bool gpu) {
    double params = strtod(setting(settings, "total_params"), NULL);
    double bytes = gib * (double)GIB;
    if (gpu)
        bytes -= 4 * strtod(setting(settings, "largest_layer_params"), NULL);
    else
        bytes /= strtod(setting(settings, "buffer_factor"), NULL);
    return bytes / params;
}

static bool is(const char *settings, const char *name, const char *word) {
    return vs_streq(setting(settings, name), word);
}

/* The toy's bytes per parameter in the same setting: of one rank on its GPU; in RAM of the node. */
static double ours(const char *settings, bool gpu) {
    const char *words = vs_arena_printf(
        &sim_arena,
        "--hw a100-80g-sxm --gpus %s --model toy --task train --method full --engine deepspeed "
        "--precision mixed-fp16 --seq 64 --zero %s --offload-optim %s --offload-param %s%s",
        setting(settings, "gpus"), setting(settings, "zero"),
        setting(settings, "offload_optimizer"), setting(settings, "offload_param"),
        is(settings, "zero", "3") ? " --zero-persist 0" : "");
    double ranks = strtod(setting(settings, "gpus"), NULL);
    return lasting(words, gpu) * (gpu ? 1 : ranks) / (double)TOY_PARAMS;
}

/* deepspeedai/DeepSpeed: memory estimator of stage 3, with zero.Init. What is offloaded is ours to
 * the rounding of its answers; on the GPU alone it counts gradients in fp32 from the start (18
 * bytes over all ranks), where a step has 2 bytes of them, and 6 while it copies them: 16 to 20. */
static bool check_row(const char *settings, double gib, bool gpu) {
    double ranks = strtod(setting(settings, "gpus"), NULL);
    double theirs = answer(settings, gib, gpu), own = ours(settings, gpu);
    if (gpu && is(settings, "offload_optimizer", "none")) {
        ck_assert_double_ge(theirs * ranks, own * ranks);
        ck_assert_double_le(theirs * ranks, own * ranks + 4.1);
        return true;
    }
    if (!gpu && is(settings, "offload_optimizer", "none"))
        return false; /* buffers of loading */
    ck_assert_msg(fabs(own - theirs) < 0.05, "%s: %g, expected %g", settings, own, theirs);
    return true;
}

START_TEST(deepspeed_estimator) {
    struct vs_err err = {0};
    struct vs_csv *csv = vs_csv_open("tests/measured/fixtures.csv", &err);
    size_t checked = 0;
    bool more = true;
    ck_assert_msg(csv != NULL, "%s", err.text);
    int id = vs_csv_column(csv, "id"), value = vs_csv_column(csv, "value");
    int said = vs_csv_column(csv, "settings");
    while (vs_csv_next(csv, &more, &err) && more) {
        const char *name = vs_csv_field(csv, (size_t)id);
        const char *settings = vs_csv_field(csv, (size_t)said);
        bool mine = strncmp(name, "DS3-", 4) == 0 && is(settings, "zero_init", "1");
        char last = name[strlen(name) - 1];
        if (mine && (last == 'g' || is(settings, "buffer_factor", "1.5")))
            checked +=
                check_row(settings, strtod(vs_csv_field(csv, (size_t)value), NULL), last == 'g');
    }
    vs_csv_close(csv);
    ck_assert_uint_ge(checked, 8);
}
END_TEST

/* ---- where it fits ---- */

/* ZeRO-Offload: 13e9 parameters on one V100 with 32 GB, from 16 bytes per parameter in RAM. */
START_TEST(offload_13b) {
#define OPT                                                                                        \
    "--hw v100-32g-sxm --model opt-13b --task train --method full --engine deepspeed "             \
    "--precision mixed-fp16 --seq 1024 --micro-batch 1 --ckpt full --zero 2 "
    const struct vs_outcome *with = sim_memory(OPT "--ram 1TB --offload-optim cpu");
    ck_assert(with->fits);
    ck_assert(!sim_memory(OPT "--ram 1TB")->fits);
    const struct vs_outcome *small = sim_memory(OPT "--ram 128GB --offload-optim cpu");
    ck_assert(!small->fits);
    ck_assert_str_eq(small->oom->pool, "host");
}
END_TEST

/* Two ranks, a large vocabulary: what stage 3 gathers outweighs what it shards more. */
START_TEST(stage3_above_stage2) {
#define TWO                                                                                        \
    "--hw a100-80g-sxm --gpus 2 --model bloom-560m --task train --method full --engine "           \
    "deepspeed --precision mixed-bf16 --seq 512 --ckpt full --zero-bucket 50MB "
    double two = sim_bytes(sim_memory(TWO "--zero 2"), VS_METRIC_PEAK_ALLOC_GIB);
    double three = sim_bytes(sim_memory(TWO "--zero 3"), VS_METRIC_PEAK_ALLOC_GIB);
    ck_assert_double_gt(three, two);
    ck_assert_double_lt(three, 1.1 * two);
}
END_TEST

/* ---- rules of thumb ---- */

/* Four times the layers, twice the segments of twice the length. */
START_TEST(sqrt_checkpoints) {
#define LAYERS(n)                                                                                  \
    "--hw h200 --model llama-3-8b --task train --method lora --engine ideal --seq 4096 "           \
    "--micro-batch 2 --ckpt sqrt --loss fused --set model.layers=" #n
    double few = sim_bytes(sim_memory(LAYERS(16)), VS_METRIC_ACTIVATIONS_GIB);
    double many = sim_bytes(sim_memory(LAYERS(64)), VS_METRIC_ACTIVATIONS_GIB);
    ck_assert_double_eq_tol(many / few, 2, 0.2);
}
END_TEST

/* Forward once more, beside a forward and a backward of twice its work. */
START_TEST(recomputation) {
#define DENSE                                                                                      \
    "--hw h200 --model llama-3-8b --task train --method full --engine ideal --precision "          \
    "bf16 --optim sgd --seq 4096 --micro-batch 1 --ckpt "
    double without = sim_run(DENSE "none")->metrics[VS_METRIC_STEP_TIME_S];
    double with = sim_run(DENSE "full")->metrics[VS_METRIC_STEP_TIME_S];
    ck_assert_double_ge(with / without, 1.20);
    ck_assert_double_le(with / without, 1.35);
}
END_TEST

START_TEST(adapters_are_small) {
    forget();
    sim_plan(&plan, "--hw h200 --model llama-2-7b --task train --method lora --engine hf");
    uint64_t adapters = 0;
    for (size_t i = 0; i < plan.weight_count; i++)
        adapters += vs_weight_adapter_params(&plan.weights[i]);
    double share = (double)adapters / (double)plan.c->model->params_total;
    ck_assert_double_gt(share, 0);
    ck_assert_double_lt(share, 0.01);
}
END_TEST

/* ---- offload to RAM and storage ---- */

#define INFINITY_OF(words)                                                                         \
    "--hw h100-sxm --gpus 2 --model toy --task train --method full --engine deepspeed "            \
    "--precision "                                                                                 \
    "mixed-bf16 --seq 64 --ckpt full --zero 3 --zero-persist 0 " words
static const double P = TOY_PARAMS;

/* Page-locked gradients and master copies are one buffer of 4 bytes per parameter each, and new
 * weights pass through one of 2: 25, 25 and 13 MB on one device grow to 32, 32 and 16 MiB. */
START_TEST(page_locked) {
#define ONE_RANK                                                                                   \
    "--hw h100-sxm --model toy --task train --method full --engine deepspeed --precision "         \
    "mixed-bf16 --seq 64 --zero 2 --offload-optim cpu --pin-memory "
    const struct vs_outcome *plain = sim_memory(ONE_RANK "off");
    const struct vs_outcome *pinned = sim_memory(ONE_RANK "on");
    ck_assert_double_eq_tol((double)sim_tag(plain, "host", "gradients"), 4 * P, 1);
    ck_assert_double_eq_tol((double)sim_tag(plain, "host", "optimizer"), 12 * P, 1);
    ck_assert_double_eq_tol((double)sim_tag(plain, "host", "io_buffers"), 2 * P, 1);
    ck_assert_uint_eq(sim_tag(pinned, "host", "gradients"), 32 * MIB);
    ck_assert_double_eq_tol((double)sim_tag(pinned, "host", "optimizer"), 8 * P + 32.0 * MIB, 1);
    ck_assert_uint_eq(sim_tag(pinned, "host", "io_buffers"), 16 * MIB);
}
END_TEST

/* On storage: 12 bytes per parameter of a rank; in RAM two buffers of a tile of 1 Mi elements, and
 * three of parameters. A step reads and writes the states once. */
START_TEST(states_on_storage) {
    const char *words = INFINITY_OF("--offload-optim nvme --offload-param nvme --zero-tile 1048576 "
                                    "--optim-buffers 2 --param-buffers 3 --param-buffer 65536");
    const struct vs_outcome *o = sim_memory(words);
    ck_assert_uint_eq(sim_tag(o, "host", "io_buffers"), 2 * 4 * MIB + 3 * 2 * 65536);
    struct vs_err err = {0};
    double read = 0, written = 0, kept = 0;
    forget();
    sim_plan(&plan, words);
    for (size_t i = 0; i < plan.buffers.count; i++)
        kept += plan.buffers.at[i].home == VS_HOME_STORAGE ? (double)plan.buffers.at[i].bytes : 0;
    ck_assert_double_eq_tol(kept, (12 + 2) * P / 2, 64);
    ck_assert(vs_emit_optimizer_step(&plan, &phase, &err));
    for (size_t i = 0; i < phase.ops.count; i++) {
        const struct vs_op *op = &phase.ops.at[i];
        read += op->kind == VS_WORK_STORAGE_READ ? op->bytes : 0;
        written += op->kind == VS_WORK_STORAGE_WRITE ? op->bytes : 0;
    }
    ck_assert_double_eq_tol(read, 12 * P / 2, 64);
    ck_assert_double_eq_tol(written, (12 + 2) * P / 2, 64);
}
END_TEST

/* The ranks of a node share its RAM's bandwidth and its storage. */
START_TEST(ranks_share_the_host) {
    struct vs_rates one, two;
    vs_rates_init(&one, sim_case("--hw h100-sxm --model toy --task train --engine deepspeed"), 0);
    vs_rates_init(&two, sim_case(INFINITY_OF("")), 0);
    static const enum vs_part SHARED[] = {VS_PART_HOST_MEMORY, VS_PART_HOST_COMPUTE,
                                          VS_PART_STORAGE};
    for (size_t i = 0; i < sizeof SHARED / sizeof *SHARED; i++)
        ck_assert_double_eq(one.capacity[SHARED[i]], 2 * two.capacity[SHARED[i]]);
    ck_assert_double_eq(one.capacity[VS_PART_H2D], two.capacity[VS_PART_H2D]);
}
END_TEST

START_TEST(refused) {
    sim_refused(INFINITY_OF("--zero 3"), "given twice");
    sim_refused("--hw h100-sxm --model toy --task train --engine deepspeed --zero 2 "
                "--offload-optim nvme",
                "is part of ZeRO's stage 3; expected --zero 3, or cpu");
    sim_refused("--hw h100-sxm --model toy --task train --engine deepspeed --zero 2 "
                "--offload-param cpu",
                "is part of ZeRO's stage 3; expected --zero 3");
    sim_refused("--hw h100-sxm --model toy --task train --engine deepspeed --zero 0 "
                "--offload-optim cpu",
                "is part of ZeRO's stages 1 to 3; expected --zero 1, 2 or 3");
    sim_refused(INFINITY_OF("--offload-optim nvme --storage none"),
                "--offload-optim nvme: the machine of h100-sxm has no storage; expected cpu, or "
                "--storage NAME");
    sim_refused(INFINITY_OF("--offload-optim cpu --offload-param nvme --storage none"),
                "--offload-param nvme: the machine of h100-sxm has no storage");
    sim_refused("--hw h100-sxm --model toy --task generate --engine deepspeed --offload disk "
                "--storage none",
                "--offload disk: the machine of h100-sxm has no storage");
    ck_assert(sim_run(INFINITY_OF("--storage none"))->fits); /* loading is not what is asked */
    sim_refused(INFINITY_OF("--optim adamw8bit --offload-optim cpu"),
                "--optim adamw8bit runs on a GPU only");
    sim_refused("--hw h100-sxm --model toy --task train --engine ideal --ckpt every:0", "every:0");
    sim_refused("--hw h100-sxm --model toy --task train --engine deepspeed --optim-buffers 4 "
                "--offload-optim none",
                "--optim-buffers does not apply to --offload-optim none");
    sim_refused("--hw h100-sxm --model toy --task train --engine deepspeed --zero 2 --zero-tile 5",
                "--zero-tile does not apply to --zero 2");
    sim_refused("--hw h100-sxm --model toy --task train --engine deepspeed --pin-memory on",
                "--pin-memory does not apply without --offload");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("train_anchors");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, NULL, end);
    tcase_add_test(tests, zero_paper);
    tcase_add_test(tests, deepspeed_estimator);
    tcase_add_test(tests, offload_13b);
    tcase_add_test(tests, stage3_above_stage2);
    tcase_add_test(tests, sqrt_checkpoints);
    tcase_add_test(tests, recomputation);
    tcase_add_test(tests, adapters_are_small);
    tcase_add_test(tests, page_locked);
    tcase_add_test(tests, states_on_storage);
    tcase_add_test(tests, ranks_share_the_host);
    tcase_add_test(tests, refused);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
