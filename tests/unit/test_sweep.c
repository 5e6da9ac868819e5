/* Grids, and what a sweep makes of them: points, words, order, the best, the same on any number of
 * threads. */
#include <string.h>

#include "run/grid.h"
#include "sim_helpers.h"

static const struct vs_sweep *sweep_with(const char *words,
                                         const struct vs_sweep_options *options) {
    static struct vs_grid grid;
    const struct vs_sweep *sweep = NULL;
    struct vs_err err = {0};
    bool ok = sim_grid(words, true, &grid, &err) &&
              vs_sweep_run(&sim_arena, &grid, options, &sweep, &err);
    ck_assert_msg(ok, "%s: %s", words, err.text);
    return sweep;
}

static const struct vs_sweep *sweep_of(const char *words) {
    const struct vs_sweep_options options = {.threads = 1};
    return sweep_with(words, &options);
}

static void refused(const char *words, const char *message) {
    static struct vs_grid grid;
    const struct vs_sweep *sweep = NULL;
    const struct vs_sweep_options options = {.threads = 1};
    struct vs_err err = {0};
    ck_assert(sim_grid(words, true, &grid, &err));
    ck_assert(!vs_sweep_run(&sim_arena, &grid, &options, &sweep, &err));
    ck_assert_int_eq(err.status, VS_ERR_INPUT);
    ck_assert_msg(strstr(err.text, message) != NULL, "'%s', expected '%s'", err.text, message);
}

static long point_of(const struct vs_sweep *s, const char *label) {
    for (size_t i = 0; i < s->point_count; i++)
        if (vs_streq(s->points[i]->label, label))
            return (long)i;
    return -1;
}

static const char *axis_of(const struct vs_outcome *o, const char *axis) {
    for (size_t i = 0; i < o->strategy_count; i++)
        if (vs_streq(o->strategy[i].axis, axis))
            return o->strategy[i].word;
    return "";
}

/* Nothing is left to the default grid. */
#define PINNED TOY "--task generate --kv fp16 --offload none --gpu-layers all --prompt 64 --gen 16 "
#define PINNED_TRAIN                                                                               \
    TOY_TRAIN "--method full --ckpt none --loss full --optim adamw --offload-param none "          \
              "--offload-optim none "                                                              \
              "--seq 64 "

/* Managed memory is a point where all layers are on the device. Of a model with experts the most
 * that fits says which of them moved, in its words and in its command. */
START_TEST(points_of_generation) {
    const struct vs_sweep *s = sweep_of(
        "--hw rtx4090 --model gpt-oss-120b --task generate --engine llamacpp --weights mxfp4 "
        "--ram 128GiB --prompt 64 --gen 16 --kv fp16");
    long managed = point_of(s, "managed memory");
    ck_assert_int_ge(managed, 0);
    ck_assert_str_eq(axis_of(s->points[managed], "gpu-layers"), "all");
    const struct vs_outcome *most = s->points[0];
    ck_assert_msg(strstr(most->label, "experts of ") != NULL, "%s", most->label);
    ck_assert_msg(strstr(most->command, " --experts-cpu ") != NULL, "%s", most->command);
    for (size_t i = 0; i < s->point_count; i++)
        ck_assert(!vs_streq(axis_of(s->points[i], "gpu-layers"), "0") ||
                  !vs_streq(axis_of(s->points[i], "offload"), "uvm"));
}
END_TEST

static bool any_with(const struct vs_sweep *s, const char *axis, const char *word) {
    for (size_t i = 0; i < s->point_count; i++)
        if (vs_streq(axis_of(s->points[i], axis), word))
            return true;
    return false;
}

/* Managed memory is no point where all of it fits; a cache in RAM is one, but where the CPU
 * computes the layers anyway. */
START_TEST(points_that_are_worth_it) {
    const struct vs_sweep *s = sweep_of(
        "--hw rtx4090 --model llama-3-8b --task generate --engine llamacpp --weights q4_k_m "
        "--prompt 64 --gen 16 --kv fp16");
    ck_assert(!any_with(s, "offload", "uvm"));
    ck_assert_int_ge(point_of(s, "KV in RAM"), 0);
    ck_assert_int_ge(point_of(s, "0 layers on the GPU, rest on the CPU"), 0);
    ck_assert_int_lt(point_of(s, "0 layers on the GPU, rest on the CPU, KV in RAM"), 0);
}
END_TEST

/* Full training: where the optimizer lives, attention recomputed alone, and, with several devices,
 * what they share. */
START_TEST(points_of_training) {
    const struct vs_sweep *s = sweep_of("--hw a100x2 --model gpt2 --task train --method full "
                                        "--engine ideal --optim adamw --loss full "
                                        "--offload-param none --seq 64");
    ck_assert(any_with(s, "zero", "0") && any_with(s, "zero", "3"));
    ck_assert(any_with(s, "offload-optim", "cpu") && any_with(s, "offload-optim", "nvme"));
    ck_assert(any_with(s, "ckpt", "selective"));
    s = sweep_of("--hw a100 --model gpt2 --task train --method full --engine ideal --optim adamw "
                 "--loss full --offload-param none --offload-optim none --ckpt none --seq 64");
    ck_assert_uint_eq(s->point_count, 1);
}
END_TEST

/* A server: types of the cache, and how several devices are used. */
START_TEST(points_of_serving) {
#define SERVE "--model llama-3-8b --task serve --engine vllm --weights bf16 --prompt 64 --gen 4 "
    const struct vs_sweep *s = sweep_of(SERVE "--hw a100 --requests 4");
    ck_assert(any_with(s, "kv", "fp8"));
    ck_assert_uint_eq(s->point_count, 2);
    s = sweep_of(SERVE "--hw a100x2 --requests 4");
    ck_assert(any_with(s, "split", "tensor"));
}
END_TEST

/* ---- grids ---- */

/* The last axis of the table fastest: batch stands before weights, weights before kv. */
START_TEST(expansion) {
    static struct vs_grid grid;
    const struct vs_request *r;
    size_t count;
    struct vs_err err = {0};
    ck_assert(sim_grid("--kv fp16,q8_0 --batch 1,2,4 --hw toy --set device.memory.bandwidth=1GB/s",
                       true, &grid, &err));
    ck_assert(vs_grid_varies(&grid, VS_AXIS_BATCH));
    ck_assert(vs_grid_varies(&grid, VS_AXIS_KV));
    ck_assert(!vs_grid_varies(&grid, VS_AXIS_HW));
    ck_assert(!vs_grid_varies(&grid, VS_AXIS_SEQ));
    ck_assert(vs_grid_expand(&sim_arena, &grid, &r, &count, &err));
    ck_assert_uint_eq(count, 6);
    for (size_t i = 0; i < 6; i++) {
        ck_assert_str_eq(r[i].user.at[VS_AXIS_HW].text, "toy");
        ck_assert_int_eq(vs_count(&r[i].user, VS_AXIS_BATCH), 1 << i / 2);
        ck_assert_str_eq(r[i].user.at[VS_AXIS_KV].text, i % 2 ? "q8_0" : "fp16");
        ck_assert_int_eq(r[i].user.origin[VS_AXIS_KV], VS_FROM_USER);
        ck_assert_ptr_null(r[i].user.at[VS_AXIS_SEQ].text);
        ck_assert_uint_eq(r[i].set_count, 1);
    }
}
END_TEST

START_TEST(grid_without_end) {
    static struct vs_grid grid;
    struct vs_text text = {0};
    const struct vs_request *r;
    size_t count;
    struct vs_err err = {0};
    vs_text_add(&text, "--batch 1");
    for (int i = 2; i <= 400; i++)
        vs_text_printf(&text, ",%d", i);
    vs_text_add(&text, " --prompt 1");
    for (int i = 2; i <= 400; i++)
        vs_text_printf(&text, ",%d", i);
    ck_assert(sim_grid(vs_text_str(&text), true, &grid, &err));
    vs_text_release(&text);
    ck_assert(!vs_grid_expand(&sim_arena, &grid, &r, &count, &err));
    ck_assert_int_eq(err.status, VS_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(err.text, "points"));
}
END_TEST

/* A value that is given is pinned, a list spans; the rest varies by itself. */
START_TEST(default_grid) {
    static struct vs_grid grid;
    struct vs_err err = {0};
    struct vs_catalog *catalog = vs_catalog_in(&sim_arena);
    ck_assert(sim_grid("--hw rtx4090 --workload qlora70b --loss fused --optim sgd,adamw", true,
                       &grid, &err));
    ck_assert(vs_grid_defaults(catalog, &sim_arena, &grid, &err));
    static const struct {
        enum vs_axis axis;
        size_t count;
    } LISTS[] = {{VS_AXIS_WEIGHTS, 2}, {VS_AXIS_OFFLOAD, 2}, {VS_AXIS_LOSS, 1},
                 {VS_AXIS_OPTIM, 2},   {VS_AXIS_SEQ, 0},     {VS_AXIS_MODEL, 0}};
    for (size_t i = 0; i < sizeof LISTS / sizeof *LISTS; i++)
        ck_assert_msg(grid.lists[LISTS[i].axis].count == LISTS[i].count, "--%s: %zu values",
                      vs_axis_info(LISTS[i].axis)->name, grid.lists[LISTS[i].axis].count);
    ck_assert_str_eq(grid.lists[VS_AXIS_WEIGHTS].at[0].text, "nf4");
    ck_assert_str_eq(grid.lists[VS_AXIS_WEIGHTS].at[1].text, "nf4-dq");
    ck_assert_uint_ge(grid.lists[VS_AXIS_CKPT].count, 2);
    ck_assert_uint_eq(grid.lists[VS_AXIS_OFFLOAD_PARAM].count, 2);
}
END_TEST

/* The flagship: at least 60 points with different plans. */
START_TEST(default_grid_of_the_flagship) {
    const struct vs_sweep *s = sweep_of("--hw rtx4090 --workload qlora70b");
    ck_assert_uint_ge(s->point_count, 60);
    for (size_t i = 0; i < s->point_count; i++)
        for (size_t k = 0; k < i; k++)
            ck_assert(!vs_streq(s->points[i]->label, s->points[k]->label));
    ck_assert_str_eq(s->workload, "qlora70b");
    ck_assert_str_eq(s->model, "llama-3-70b");
    ck_assert_str_eq(s->task, "train");
    ck_assert_str_eq(s->oom_axis, "seq");
    ck_assert_int_eq(s->rank_by, VS_METRIC_TRAIN_TPS);
    /* Plain QLoRA does not fit 24 GB: what fits keeps the layers elsewhere. */
    ck_assert_uint_gt(s->fit_count, 0);
    for (size_t i = 0; i < s->fit_count; i++)
        ck_assert(vs_streq(axis_of(s->points[i], "offload"), "stream") ||
                  vs_streq(axis_of(s->points[i], "offload-param"), "cpu"));
    ck_assert_int_ge(s->best, 0);
    ck_assert(!s->points[s->best]->bound);
    ck_assert_str_eq(axis_of(s->points[s->best], "weights"), "nf4-dq");
}
END_TEST

/* ---- ranking ---- */

static bool in_order(const struct vs_outcome *a, const struct vs_outcome *b, enum vs_metric by) {
    if (a->fits != b->fits)
        return a->fits;
    if (!a->fits)
        return a->bound != b->bound || a->oom->needed_bytes - a->oom->capacity_bytes <=
                                           b->oom->needed_bytes - b->oom->capacity_bytes;
    if (a->bound != b->bound)
        return b->bound;
    double x = a->metrics[by], y = b->metrics[by];
    if (x > y * 1.001)
        return true;
    if (y > x * 1.001)
        return false;
    double v = a->metrics[VS_METRIC_PEAK_VRAM_GIB], w = b->metrics[VS_METRIC_PEAK_VRAM_GIB];
    return v < w || (v == w && strcmp(a->label, b->label) < 0);
}

/* What fits by speed, bounds behind engines; then what doesn't fit, least missing first. */
START_TEST(ranks) {
    static const char *const WORDS[] = {
        "--hw rtx4090 --workload qlora70b",
        "--hw rtx4090 --workload chat8b",
        "--hw rtx3060 --workload qlora8b",
        PINNED "--weights fp16,q8_0,q4_0 --batch 1,4,65536",
    };
    for (size_t i = 0; i < 4; i++) {
        const struct vs_sweep *s = sweep_of(WORDS[i]);
        ck_assert_uint_gt(s->point_count, 4);
        for (size_t k = 0; k < s->point_count; k++)
            ck_assert_int_eq(s->points[k]->fits, k < s->fit_count);
        for (size_t k = 1; k < s->point_count; k++)
            ck_assert_msg(in_order(s->points[k - 1], s->points[k], s->rank_by),
                          "%s: '%s' before '%s'", WORDS[i], s->points[k - 1]->label,
                          s->points[k]->label);
    }
}
END_TEST

/* Decoding of the toy is bound by bytes: two sequences at once are almost twice as fast, half the
 * bits too. */
START_TEST(ranks_by_hand) {
    const struct vs_sweep *s = sweep_of(PINNED "--weights fp16,q8_0 --batch 1,2");
    static const char *const ORDER[] = {"batch 2, q8_0", "batch 2, fp16", "batch 1, q8_0",
                                        "batch 1, fp16"};
    ck_assert_uint_eq(s->point_count, 4);
    ck_assert_uint_eq(s->fit_count, 4);
    for (size_t i = 0; i < 4; i++)
        ck_assert_str_eq(s->points[i]->label, ORDER[i]);
    ck_assert_int_eq(s->rank_by, VS_METRIC_DECODE_TPS);
    ck_assert_int_eq(s->best, -1); /* nothing that an engine runs */
    const struct vs_sweep_options by_ttft = {.threads = 1, .sort = "peak_vram_gib"};
    s = sweep_with(PINNED "--weights fp16,q8_0 --batch 1,2", &by_ttft);
    ck_assert_int_eq(s->rank_by, VS_METRIC_PEAK_VRAM_GIB);
    s = sweep_of(TOY "--task generate --kv fp16 --offload none --gpu-layers all --gen 0 --weights "
                     "fp16,q8_0");
    ck_assert_int_eq(s->rank_by, VS_METRIC_PREFILL_TPS);
}
END_TEST

/* The best keeps the workload's format and 8-bit KV at least; fewer bits are named as a trade. */
START_TEST(best_and_trade) {
    static const char *const WORDS =
        "--hw rtx4090 --model llama-3-8b --engine llamacpp --task "
        "generate --offload none --gpu-layers all --prompt 64 --gen 16 ";
    const struct vs_sweep *s =
        sweep_of(sim_words("--hw rtx4090 --workload chat8b --engine llamacpp --offload none "
                           "--gpu-layers all",
                           "--weights q4_k_m,q2_k,q8_0 --kv fp16,q4_0,q8_0"));
    ck_assert_int_ge(s->best, 0);
    ck_assert_str_eq(axis_of(s->points[s->best], "weights"), "q4_k_m"); /* chat8b's own */
    ck_assert_str_ne(axis_of(s->points[s->best], "kv"), "q4_0");
    for (long i = 0; i < s->best; i++)
        ck_assert(!vs_streq(axis_of(s->points[i], "weights"), "q4_k_m") ||
                  vs_streq(axis_of(s->points[i], "kv"), "q4_0"));
    ck_assert_int_ge(s->fastest_fewer_bits, 0);
    ck_assert_str_eq(axis_of(s->points[s->fastest_fewer_bits], "weights"), "q2_k");
    s = sweep_of(sim_words(WORDS, "--weights q8_0 --kv fp16"));
    ck_assert_int_eq(s->best, 0);
    ck_assert_int_eq(s->fastest_fewer_bits, -1);
}
END_TEST

/* ---- words ---- */

/* The words of each axis that differs, in the order of the table; baseline values say nothing. */
START_TEST(labels) {
    const struct vs_sweep *s = sweep_of(
        TOY_TRAIN
        "--method lora --optim adamw,adamw8bit --ckpt none,full,every:2 --loss "
        "full,fused --offload none,stream --offload-param none --offload-optim none --seq 64");
    ck_assert_uint_eq(s->point_count, 2 * 3 * 2 * 2);
    static const char *const SOME[] = {
        "AdamW, no checkpointing, full loss",
        "8-bit AdamW, full checkpointing, fused loss",
        "layers streamed from RAM, AdamW, a checkpoint every 2 layers, full loss",
    };
    for (size_t i = 0; i < 3; i++)
        ck_assert_msg(point_of(s, SOME[i]) >= 0, "no '%s'", SOME[i]);
    s = sweep_of(PINNED_TRAIN "--precision bf16,mixed-bf16");
    ck_assert_uint_eq(s->point_count, 2);
    ck_assert_int_ge(point_of(s, ""), 0);
    ck_assert_int_ge(point_of(s, "mixed bf16"), 0);
    s = sweep_of(PINNED "--weights q4_k_m");
    ck_assert_uint_eq(s->point_count, 1);
    ck_assert_str_eq(s->points[0]->label, "");
}
END_TEST

/* The command of a point, run alone, is that point. */
START_TEST(commands_repeat_the_point) {
    const struct vs_sweep *s = sweep_of("--hw rtx4090 --workload qlora70b --set "
                                        "device.memory.usable=30GiB --ckpt full --loss fused");
    ck_assert_uint_gt(s->point_count, 4);
    for (size_t i = 0; i < s->point_count; i++) {
        const struct vs_outcome *a = s->points[i];
        ck_assert(vs_starts(a->command, "vramsim run "));
        const struct vs_outcome *b = sim_run(a->command + strlen("vramsim run "));
        ck_assert_int_eq(a->fits, b->fits);
        ck_assert_str_eq(a->engine, b->engine);
        for (int m = 0; m < VS_METRIC_COUNT; m++)
            ck_assert_msg(a->metrics[m] == b->metrics[m] ||
                              (isnan(a->metrics[m]) && isnan(b->metrics[m])),
                          "%s: %s is %g, alone %g", a->command,
                          vs_metric_info((enum vs_metric)m)->name, a->metrics[m], b->metrics[m]);
    }
}
END_TEST

/* Points that lead to one plan are shown once, as the simplest: ZeRO shards nothing on one device,
 * and ideal knows no allocator's settings. */
START_TEST(equal_plans_are_merged) {
    const struct vs_sweep *s = sweep_of(PINNED_TRAIN "--zero 0,1,2,3");
    ck_assert_uint_eq(s->point_count, 1);
    ck_assert_uint_eq(s->merged, 3);
    ck_assert_str_eq(s->points[0]->label, "");
    s = sweep_of(PINNED "--weights fp16 --attn naive,flash --batch 1,2");
    ck_assert_uint_eq(s->point_count, 4);
    ck_assert_uint_eq(s->merged, 0);
}
END_TEST

/* ---- OOM points ---- */

/* Multiples of 64 tokens, for as many of the best rows as were asked for; `limit` finds the last
 * token. */
START_TEST(longest_that_fits) {
    const struct vs_sweep_options options = {.threads = 2, .oom_points = 2};
    const struct vs_sweep *s =
        sweep_with(PINNED "--weights fp16,q8_0,q4_0 --set device.memory.usable=20MB", &options);
    ck_assert_uint_eq(s->fit_count, 3);
    ck_assert_str_eq(s->oom_axis, "ctx");
    for (size_t i = 0; i < 2; i++) {
        struct vs_request request;
        struct vs_err err = {0};
        const struct vs_limit *limit;
        const char *words = s->points[i]->command + strlen("vramsim run ");
        ck_assert(sim_request(words, &request, &err));
        ck_assert(vs_limit_run(&sim_arena, &request, VS_AXIS_CTX, &limit, &err));
        ck_assert_int_eq(s->points[i]->oom_point, limit->value / 64 * 64);
        ck_assert(!s->points[i]->oom_point_open);
    }
    ck_assert_int_eq(s->points[2]->oom_point, 0); /* not asked */
}
END_TEST

/* ---- the same on any number of threads ---- */

static void same(const struct vs_outcome *a, const struct vs_outcome *b) {
    ck_assert_str_eq(a->label, b->label);
    ck_assert_str_eq(a->command, b->command);
    ck_assert_int_eq(a->oom_point, b->oom_point);
    for (int m = 0; m < VS_METRIC_COUNT; m++)
        ck_assert(a->metrics[m] == b->metrics[m] || (isnan(a->metrics[m]) && isnan(b->metrics[m])));
    ck_assert((a->oom == NULL) == (b->oom == NULL));
    if (a->oom) {
        ck_assert_str_eq(a->oom->tensor, b->oom->tensor);
        ck_assert_uint_eq(a->oom->short_bytes, b->oom->short_bytes);
        ck_assert(a->oom->at_s == b->oom->at_s);
    }
}

static void count_points(void *ctx, size_t done, size_t total) {
    size_t *most = ctx;
    ck_assert_uint_le(done, total);
    *most = done > *most ? done : *most;
}

START_TEST(threads_change_nothing) {
    static const char *const WORDS[] = {"--hw rtx4090 --workload qlora70b",
                                        "--hw rtx3060 --workload chat8b"};
    for (size_t i = 0; i < 2; i++) {
        size_t progress = 0;
        const struct vs_sweep_options one = {.threads = 1, .oom_points = 3};
        const struct vs_sweep_options two = {
            .threads = 2, .oom_points = 3, .progress = count_points, .progress_ctx = &progress};
        const struct vs_sweep *a = sweep_with(WORDS[i], &one), *b = sweep_with(WORDS[i], &two);
        ck_assert_uint_eq(a->point_count, b->point_count);
        ck_assert_uint_eq(a->fit_count, b->fit_count);
        ck_assert_int_eq(a->best, b->best);
        for (size_t k = 0; k < a->point_count; k++)
            same(a->points[k], b->points[k]);
        if (i == 0)
            ck_assert_uint_gt(progress, 0);
    }
}
END_TEST

/* One point that cannot be is an error; in a grid it is left out; when none can be, the reason. */
START_TEST(points_that_cannot_be) {
    refused(TOY_TRAIN "--method full --loss full --optim adamw --offload-param none "
                      "--offload-optim none --ckpt every:9",
            "every:9");
    refused(PINNED "--weights nosuch", "nosuch");
    const struct vs_sweep *s = sweep_of(
        TOY_TRAIN
        "--method full --loss full --optim adamw --offload-param none --offload-optim none --ckpt "
        "none,every:2,every:9 --seq 64");
    ck_assert_uint_eq(s->point_count, 2);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("sweep");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, NULL, sim_end);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, points_of_generation);
    tcase_add_test(tests, points_that_are_worth_it);
    tcase_add_test(tests, points_of_training);
    tcase_add_test(tests, points_of_serving);
    tcase_add_test(tests, expansion);
    tcase_add_test(tests, grid_without_end);
    tcase_add_test(tests, default_grid);
    tcase_add_test(tests, default_grid_of_the_flagship);
    tcase_add_test(tests, ranks);
    tcase_add_test(tests, ranks_by_hand);
    tcase_add_test(tests, best_and_trade);
    tcase_add_test(tests, labels);
    tcase_add_test(tests, commands_repeat_the_point);
    tcase_add_test(tests, equal_plans_are_merged);
    tcase_add_test(tests, longest_that_fits);
    tcase_add_test(tests, threads_change_nothing);
    tcase_add_test(tests, points_that_cannot_be);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
