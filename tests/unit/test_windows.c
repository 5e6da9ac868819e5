/* What engines keep and read of layers with a window. gpt-oss-20b: 24 layers, every other one with
 * a window of 128; 8 KV heads of 64 make 2048 bytes of a cell in 16 bit. */
#include "plan/startup.h"
#include "plan_helpers.h"
#include "sched/sched.h"
#include "unit/suite.h"

#define GPT_OSS "--model gpt-oss-20b --task generate "
enum { CELL = 2048, HALF = 12 };

static void plan_of(const char *words) {
    forget();
    sim_plan(&plan, words);
}

static double kv_bytes(const char *words) {
    return nearbyint(sim_bytes(sim_memory(words), VS_METRIC_KV_GIB));
}

/* The window and a ubatch, 128 + 512, are padded to 768. */
START_TEST(cache_by_release) {
    const char *all = GPT_OSS "--hw rtx4090 --engine llamacpp ";
    const char *long_one = sim_words(all, "--ctx 8192");
    ck_assert_double_eq(kv_bytes(long_one), HALF * CELL * (8192.0 + 768));
    ck_assert_double_eq(kv_bytes(sim_words(long_one, "--ubatch 1024")),
                        HALF * CELL * (8192.0 + 1280));
    ck_assert_double_eq(kv_bytes(sim_words(all, "--ctx 640")), HALF * CELL * (768.0 + 768));
    ck_assert_double_eq(kv_bytes(sim_words(long_one, "--engine-version b5000")),
                        2 * HALF * CELL * 8192.0);
    ck_assert_double_eq(kv_bytes(GPT_OSS "--hw rtx4090 --engine ikllama --ctx 8192"),
                        2 * HALF * CELL * 8192.0);
}
END_TEST

/* Mistral 7B v0.1 has a window of 4096 in all layers, which llama.cpp runs as Llama's. */
START_TEST(windows_that_nobody_knows) {
    ck_assert_double_eq(kv_bytes("--hw rtx4090 --model mistral-7b-v0.1 --task generate --engine "
                                 "llamacpp --weights q4_0 --ctx 16384"),
                        32 * 2 * CELL * 16384.0);
}
END_TEST

/* Kernels that know the window read it alone; llama.cpp goes over all that it keeps. */
START_TEST(cells_read_and_attended) {
    plan_of(GPT_OSS "--hw rtx4090 --engine llamacpp --ctx 8192 --ubatch 512");
    ck_assert_uint_eq(vs_plan_kv_read(&plan, 0, 8192), 768);
    ck_assert_uint_eq(vs_plan_kv_read(&plan, 1, 8192), 8192);
    ck_assert_double_eq(vs_plan_kv_reach(&plan, 0, 0, 128), 64);
    ck_assert_double_eq(vs_plan_kv_reach(&plan, 0, 0, 256), (64 + 128) / 2.0);
    ck_assert_double_eq(vs_plan_kv_reach(&plan, 0, 512, 1024), 128);
    ck_assert_double_eq(vs_plan_kv_reach(&plan, 1, 512, 1024), 768);
    plan_of(GPT_OSS "--hw rtx4090 --engine ikllama --ctx 8192");
    ck_assert_uint_eq(vs_plan_kv_read(&plan, 0, 8192), 128);
    ck_assert_uint_eq(vs_plan_kv_kept(&plan, 0, 8192), 8192);
    plan_of(GPT_OSS "--hw m2-ultra-76c --engine mlx --weights mlx4 --ctx 8192");
    ck_assert_uint_eq(vs_plan_kv_read(&plan, 0, 8192), 128);
    ck_assert_uint_eq(vs_plan_kv_kept(&plan, 0, 8192), 128);
}
END_TEST

static uint64_t sequence_blocks(const char *model, const char *version) {
    plan_of(vs_arena_printf(&sim_arena,
                            "--hw h100 --gpus 4 --tp 4 --split tensor --task serve --engine vllm "
                            "--rate 1 --ctx 16384 --model %s --engine-version %s",
                            model, version));
    return vs_kv_sequence_blocks(&plan);
}

/* Of 1024 blocks those before the window are given back by half of the layers; 128 tokens lie in 9
 * blocks of 16. Chunks stay. */
START_TEST(blocks_given_back) {
    ck_assert_uint_eq(sequence_blocks("gpt-oss-20b", "0.9.1"), 1024);
    ck_assert_uint_eq(sequence_blocks("gpt-oss-20b", "0.10"), 1024 - (1024 - 9) / 2);
    ck_assert_uint_eq(sequence_blocks("mistral-7b-v0.1", "0.6"), 4096 / 16 + 1);
    ck_assert_uint_eq(sequence_blocks("llama-4-scout-17b-16e", "0.19"), 1024);
}
END_TEST

/* A pool of 517 blocks is one sequence of 16384 tokens to the scheduler too. */
START_TEST(scheduler_counts_alike) {
    struct vs_sched sched;
    const struct vs_sched_limits limits = {.step_tokens = 512,
                                           .sequences = 8,
                                           .blocks = 517,
                                           .block_tokens = 16,
                                           .window_blocks = 9,
                                           .window_part = 0.5};
    struct vs_sched_arrival a = {16000, 384, NULL, 0};
    struct vs_sched_step step;
    uint32_t slot;
    vs_sched_init(&sched, vs_policy_find("chunked"), &limits);
    ck_assert(vs_sched_fits(&sched, 16000, 384));
    ck_assert(!vs_sched_fits(&sched, 16000, 384 + 32));
    ck_assert(vs_sched_arrive(&sched, &a, &slot));
    while (vs_sched_next(&sched, &step))
        vs_sched_done(&sched, step.repeat);
    ck_assert_uint_eq(sched.thrown_back, 0);
    ck_assert_uint_eq(sched.free_blocks, 517);
    vs_sched_release(&sched);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("windows");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, NULL, end);
    tcase_add_test(tests, cache_by_release);
    tcase_add_test(tests, windows_that_nobody_knows);
    tcase_add_test(tests, cells_read_and_attended);
    tcase_add_test(tests, blocks_given_back);
    tcase_add_test(tests, scheduler_counts_alike);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
