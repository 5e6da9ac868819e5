/* What the CPU does for llama.cpp: attention by its kernels, and weights that are pages of a file.
 * The toy host has 10 cores; the toy model 4 heads of 64 and 4 layers. */
#include "plan/pass.h"
#include "plan_helpers.h"
#include "unit/suite.h"

#define ON_CPU "--hw toy --model toy --engine llamacpp --task generate --weights fp16 -ngl 0 "

static double number(const char *name) { return vs_engine_number(plan.c->engine, name, NULL, -1); }

static double asked(const char *what, enum vs_work_kind kind, bool flops) {
    double sum = 0;
    for (size_t i = 0; i < phase.ops.count; i++)
        if (phase.ops.at[i].kind == kind && vs_streq(phase.ops.at[i].what, what))
            sum += flops ? phase.ops.at[i].flops : phase.ops.at[i].bytes;
    return sum;
}

static void decode(const char *words, uint64_t past) {
    struct vs_err err = {0};
    forget();
    sim_plan(&plan, words);
    ck_assert_msg(vs_emit_decode(&plan, past, &phase, &err), "%s", err.text);
}

static double attention(const char *more) {
    decode(sim_words(ON_CPU "--offload cpu --prompt 99 --gen 1", more), 99);
    return asked("self_attn", VS_WORK_CPU_ATTENTION, true);
}

/* 100 cells, of which the new token's own counts half where a mask is skipped; 4 layers. Naive
 * kernels are shared by all threads, fused ones by heads: of 10 threads 4 work, 3 need two rounds.
 */
START_TEST(attention_on_the_cpu) {
    double naive = attention("--attn naive");
    double pair =
        4 * 4 * 64 * number("cpu_attention_work_naive") + 4 * number("cpu_attention_cell_naive");
    ck_assert_double_eq_tol(naive, 4 * 100 * pair, 1);
    double fused = 4 * 99.5 * 4 * number("cpu_attention_cell_fused");
    ck_assert_double_eq_tol(attention("--attn flash"), fused * 10 / 4, 1);
    ck_assert_double_eq_tol(attention("--attn flash --cpu-threads 3"), fused * 6 / 4, 1);
    ck_assert_double_eq_tol(attention("--attn flash --cpu-threads 4"), fused, 1);
}
END_TEST

static double read_again(const char *more) {
    decode(sim_words(ON_CPU "--offload disk --prompt 0 --gen 8", more), 0);
    return asked("mapped weights", VS_WORK_STORAGE_READ, false);
}

/* 4 layers and the head are 10 MiB, beside 2 MiB of embeddings of which a token needs a row. What
 * does not fit is read in a circle. */
START_TEST(pages_of_weights) {
    ck_assert_double_eq(read_again("--set host.ram=64MiB"), 0);
    ck_assert_double_eq(read_again("--set host.ram=8MiB"), 5.0 * 2 * TOY_LINEAR);
    const struct vs_outcome *o =
        sim_run(ON_CPU "--offload disk --prompt 0 --gen 8 --set host.ram=8MiB");
    ck_assert(o->fits);
    ck_assert_uint_le(sim_tag(o, "host", "weights"), 8 * MIB);
    /* 10 MiB at 1 GB/s. */
    ck_assert_double_gt(o->metrics[VS_METRIC_TPOT_S], 10.0 * (double)MIB / 1e9);
}
END_TEST

/* A token is sent to one of four experts; there is room for half of them. Two passes touch 7/16 of
 * the experts, three more than half: what was last touched two passes ago is there. */
START_TEST(pages_of_experts) {
    struct vs_model model = {.experts = 4, .experts_active = 1};
    struct vs_plan mapping = {.pages = {.every = 10, .experts = 100, .room = 60}};
    struct vs_pass pass = {.plan = &mapping, .m = &model, .tokens = 1, .few = true};
    ck_assert_double_eq(vs_pass_missing(&pass, true), 9.0 / 16);
    ck_assert_double_eq(vs_pass_missing(&pass, false), 0);
    pass.tokens = 8; /* nine tenths of the experts in each pass */
    ck_assert_double_eq(vs_pass_missing(&pass, true), 1);
    ck_assert_double_eq(vs_pass_missing(&pass, false), 1);
    mapping.pages.room = 110;
    ck_assert_double_eq(vs_pass_missing(&pass, true), 0);
}
END_TEST

START_TEST(refusals) {
    sim_refused("--hw m2-ultra --model toy --engine llamacpp --task generate --offload disk "
                "--weights fp16 -ngl 0",
                "--offload disk: m2-ultra has one memory for CPU and GPU");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("host_weights");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, NULL, end);
    tcase_add_test(tests, attention_on_the_cpu);
    tcase_add_test(tests, pages_of_weights);
    tcase_add_test(tests, pages_of_experts);
    tcase_add_test(tests, refusals);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
