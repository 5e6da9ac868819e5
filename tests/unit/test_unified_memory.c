/* --offload uvm: weights and cache in managed memory, whose pages come when a kernel misses them.
 *
 * The toy's weights are 4 layers of 2,098,176 bytes, embedding and head of 2 MiB each and a norm of
 * 512 bytes: 12,587,520 bytes, which 7 pages of 2 MiB hold, two of them begun in the first layer
 * and one in each other. With one for the cache 8 pages are used in a step of decoding. */
#include "plan/managed.h"
#include "plan_helpers.h"
#include "unit/suite.h"

#define TOY_UVM TOY_GENERATE "--offload uvm --prompt 0 --gen 64 "

static const double PAGE_S = 2.0 * MIB / 10e9; /* over the toy's link */

static double step_s(const char *words) { return sim_run(words)->metrics[VS_METRIC_TPOT_S]; }

/* Where all fits nothing moves: the same as without it. */
START_TEST(fits) {
    double plain_s = step_s(TOY_GENERATE "--prompt 0 --gen 64");
    ck_assert_near(step_s(TOY_UVM), plain_s, 1e-9);
    const struct vs_outcome *o = sim_run(TOY_UVM);
    ck_assert_uint_eq(sim_tag(o, "gpu0", "weights"), 7 * 2 * MIB);
    ck_assert_uint_le(sim_tag(o, "host", "weights"), 2 * 2 * MIB); /* a layer before it is loaded */
}
END_TEST

/* The cliff: with less than the 8 pages each is pushed out before its next use, so that all come
 * and go in every step, whatever the size. Six kernels miss, of one or two pages: a batch of
 * faults of 100 us each. */
START_TEST(thrashes) {
    static const char *const MEMORY[] = {"4MiB", "8MiB", "12MiB", "14MiB"};
    double plain_s = step_s(TOY_GENERATE "--prompt 0 --gen 64");
    for (size_t i = 0; i < sizeof MEMORY / sizeof *MEMORY; i++) {
        double s = step_s(sim_words(
            TOY_UVM "--set", vs_arena_printf(&sim_arena, "device.memory.nominal=%s", MEMORY[i])));
        ck_assert_near(s, plain_s + 8 * 2 * PAGE_S + 6 * 100e-6, 1e-3);
    }
    ck_assert_near(step_s(TOY_UVM "--set device.memory.nominal=16MiB"), plain_s, 1e-9);
}
END_TEST

/* Device and host together must hold what there is. */
START_TEST(host_runs_out) {
    const char *words = "--hw toy --model llama-3-8b --engine ideal --task generate --weights fp16 "
                        "--offload uvm --set host.reserved=0B --ram ";
    ck_assert(sim_memory(sim_words(words, "8GiB"))->fits); /* 10 + 8 GiB for 15 GiB */
    const struct vs_outcome *o = sim_memory(sim_words(words, "4GiB"));
    ck_assert(!o->fits);
    ck_assert_str_eq(o->oom->pool, "host");
}
END_TEST

/* Experts of two and a half pages, 1 % of which are touched: a page belongs to 1.4 of them on
 * average, 3 in 5 to one and 2 in 5 to two. Experts of a third of a page: four to each. */
START_TEST(pages_of_experts) {
    ck_assert_near(vs_managed_page_share(0.01, 2.5), 0.6 * 0.01 + 0.4 * (1 - 0.99 * 0.99), 1e-12);
    ck_assert_near(vs_managed_page_share(0.5, 1.0 / 3), 1 - 1.0 / 16, 1e-9);
    ck_assert_near(vs_managed_page_share(0.25, 1e12), 0.25, 1e-9);
    ck_assert_double_eq(vs_managed_page_share(1, 2.5), 1);
    ck_assert_double_eq(vs_managed_page_share(0, 2.5), 0);
}
END_TEST

/* gpt-oss-120b on 32 GB: a token uses 4 of 128 experts of each of 36 layers. Between the bound of
 * the link (about half of some 4.5 % of 59 GiB come and go) and what a GPU that holds all would do.
 */
START_TEST(experts_on_demand) {
    const char *words = "--hw rtx5090 --model gpt-oss-120b --engine llamacpp --task generate "
                        "--weights mxfp4 --prompt 0 --gen 16 --ram 128GiB --offload uvm";
    double moved = 0.045 * 59 * (double)GIB * (1 - 31.0 / 59);
    double s = step_s(words);
    ck_assert_double_gt(s, 2 * moved / 56e9);
    ck_assert_double_lt(s, 8 * moved / 56e9);
}
END_TEST

/* GGUF files of gpt-oss have Q8_0 where MXFP4 is not (ggml-org on Hugging Face: 11.27 and 59.02
 * GiB); the checkpoint itself has 16 bit there. */
START_TEST(files_of_gpt_oss) {
    static const struct {
        const char *model;
        double gib;
    } FILES[] = {{"gpt-oss-20b", 11.27}, {"gpt-oss-120b", 59.02}};
    for (size_t i = 0; i < sizeof FILES / sizeof *FILES; i++) {
        const struct vs_outcome *o = sim_memory(vs_arena_printf(
            &sim_arena, "--hw h200 --model %s --engine llamacpp --task generate --weights mxfp4",
            FILES[i].model));
        double bytes = (double)(sim_tag(o, "gpu0", "weights") + sim_tag(o, "host", "weights"));
        ck_assert_near(bytes, FILES[i].gib * (double)GIB, 0.005);
    }
}
END_TEST

START_TEST(refused) {
    sim_refused(TOY_TRAIN "--offload uvm", "does not support it for train");
    sim_refused("--hw cpu --model toy --engine ideal --task generate --weights fp16 --offload uvm",
                "has no device");
    sim_refused("--hw m2-ultra-76c --model toy --engine ideal --task generate --weights fp16 "
                "--offload uvm",
                "has one memory for CPU and GPU");
    sim_refused("--hw rx7900xtx --model toy --engine ideal --task generate --weights fp16 "
                "--offload uvm",
                "can't wait for pages");
    sim_refused("--hw rtx4090 --model llama-3-8b --engine vllm --task generate --weights fp16 "
                "--offload uvm",
                "engine 'vllm' as of 0.19 does not support it");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("unified memory");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, NULL, end);
    tcase_add_test(tests, fits);
    tcase_add_test(tests, thrashes);
    tcase_add_test(tests, host_runs_out);
    tcase_add_test(tests, pages_of_experts);
    tcase_add_test(tests, experts_on_demand);
    tcase_add_test(tests, files_of_gpt_oss);
    tcase_add_test(tests, refused);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
