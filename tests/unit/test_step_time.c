/* Times of a server's steps between the nodes of their grid, against the steps themselves. */
#include "base/rng.h"
#include "plan_helpers.h"
#include "run/step_time.h"
#include "unit/suite.h"

/* A dense model, experts, windows; one device and several; decoding that is bound by the host. */
static const char *const CASES[] = {
    "--hw h100 --model llama-3.1-8b --weights bf16 --engine vllm --task serve --ctx 8192",
    "--hw h100x8 --tp 8 --model llama-2-70b --engine vllm --task serve --ctx 8192",
    ("--hw rtx4090 --model llama-3.1-8b --weights awq4 --engine vllm --engine-version 0.6.3 --task "
     "serve --ctx 4096 --cuda-graphs off"),
    "--hw h100x2 --tp 2 --model mixtral-8x7b --engine trtllm --task serve --ctx 8192",
    "--hw h100 --model gemma-3-4b --engine sglang --task serve --ctx 8192",
    "--hw a100 --model llama-2-13b --engine lmdeploy --task serve --ctx 4096",
    "--hw h200 --gpus 4 --tp 4 --attn-dp on --model qwen3-30b-a3b --weights bf16 --engine trtllm "
    "--task serve --ctx 8192"};
enum { CASE_COUNT = sizeof CASES / sizeof *CASES, STEPS = 600 };

static const double ERROR_MOST = 2e-3;

static struct vs_simulation s;
static struct vs_step_times times;

static void begin_case(const char *words) {
    static const struct vs_run_options options = {.capacity_only = false};
    struct vs_err err = {.status = VS_OK};
    s = (struct vs_simulation){.c = sim_case(words), .options = &options};
    sim_plan(&s.plan, words);
    ck_assert(vs_executor_init(&s.x, &s.plan, &err));
    times = (struct vs_step_times){.s = &s, .phase = &phase};
}

static void end_case(void) {
    vs_step_times_release(&times);
    vs_executor_release(&s.x);
    vs_plan_release(&s.plan);
    forget();
}

static double exact(const struct vs_serve_step *step) {
    struct vs_err err = {.status = VS_OK};
    double seconds;
    vs_forget_walk(&s.x);
    ck_assert(vs_emit_step(&s.plan, step, &phase, &err));
    ck_assert(vs_time_phase(&s.x, &phase, VS_NO_OP, 0, &seconds, &err));
    return seconds;
}

/* 1..2^octaves, as often small as large. */
static uint64_t any(struct vs_rng *rng, unsigned octaves) {
    uint64_t octave = 1ULL << vs_rng_below(rng, octaves);
    return octave + vs_rng_below(rng, octave);
}

/* Decoding, prompts, and both. */
static struct vs_serve_step any_step(struct vs_rng *rng, int form) {
    struct vs_serve_step step = {.decodes = 0};
    if (form % 3 != 1) {
        step.decodes = any(rng, 8);
        step.cells = 1 + any(rng, 12);
    }
    if (form % 3 != 0) {
        step.prompt_tokens = 8 + any(rng, 12);
        step.reach = (double)any(rng, 12);
        step.prompts = vs_rng_below(rng, 5);
        if (s.plan.attention_dp) /* no other group has more */
            step.other_tokens = vs_rng_below(rng, 3 * step.prompt_tokens + 1);
    }
    return step;
}

START_TEST(interpolates) {
    struct vs_rng *rng = vs_rng_new((uint64_t)_i + 1);
    ck_assert_ptr_nonnull(rng);
    begin_case(CASES[_i]);
    for (int i = 0; i < STEPS; i++) {
        const struct vs_serve_step step = any_step(rng, i);
        const struct vs_step_load load = {.decodes = (double)step.decodes,
                                          .cells = (double)(step.decodes * step.cells),
                                          .prompts = (double)step.prompts,
                                          .prompt_tokens = (double)step.prompt_tokens,
                                          .pairs = (double)step.prompt_tokens * step.reach,
                                          .other_tokens = (double)step.other_tokens};
        struct vs_step_estimate e;
        struct vs_err err = {.status = VS_OK};
        ck_assert_msg(vs_step_time(&times, &load, &e, &err), "%s", err.text);
        ck_assert_double_eq_tol(e.seconds / exact(&step), 1, ERROR_MOST);
    }
    end_case();
    vs_rng_free(rng);
}
END_TEST

/* At a node there is nothing to interpolate; layers that repeat are run thrice at most, and stand
 * for all. */
START_TEST(nodes_are_exact) {
    static const struct vs_serve_step STEP_AT[] = {
        {.decodes = 32, .cells = 1024},
        {.prompt_tokens = 512, .reach = 256, .prompts = 2},
        {.decodes = 16, .cells = 512, .prompt_tokens = 1024, .reach = 128, .prompts = 1}};
    begin_case(CASES[_i]);
    for (size_t i = 0; i < sizeof STEP_AT / sizeof *STEP_AT; i++) {
        const struct vs_serve_step *step = &STEP_AT[i];
        const struct vs_step_load load = {.decodes = (double)step->decodes,
                                          .cells = (double)(step->decodes * step->cells),
                                          .prompts = (double)step->prompts,
                                          .prompt_tokens = (double)step->prompt_tokens,
                                          .pairs = (double)step->prompt_tokens * step->reach};
        struct vs_step_estimate e;
        struct vs_err err = {.status = VS_OK};
        ck_assert(vs_step_time(&times, &load, &e, &err));
        ck_assert_uint_eq(e.part_count, 1);
        ck_assert_double_eq_tol(e.seconds / exact(step), 1, 1e-8);
    }
    end_case();
}
END_TEST

/* What a run used is what its steps used, each as often as it was run. */
START_TEST(uses_add_up) {
    const struct vs_step_load load = {.decodes = 32, .cells = 32 * 1024};
    const struct vs_serve_step step = {.decodes = 32, .cells = 1024};
    struct vs_step_estimate e;
    struct vs_err err = {.status = VS_OK};
    double seconds;
    begin_case(CASES[0]);
    ck_assert(vs_step_time(&times, &load, &e, &err));
    vs_step_count(&times, &e, 5);
    vs_step_uses(&times);
    double memory_s = s.x.units[0].busy_s[VS_PART_MEMORY];
    ck_assert_double_gt(memory_s, 0);
    vs_clear_sums(&s.x);
    ck_assert(vs_emit_step(&s.plan, &step, &phase, &err));
    ck_assert(vs_time_phase(&s.x, &phase, VS_NO_OP, 5, &seconds, &err));
    ck_assert_double_eq_tol(s.x.units[0].busy_s[VS_PART_MEMORY] / memory_s, 1, 1e-8);
    end_case();
}
END_TEST

/* Copies over a link: half as many blocks more take half as long again, but for what a copy costs
 * at its start; they come back as they went. */
START_TEST(copies) {
    struct vs_step_estimate one, two, back;
    struct vs_err err = {.status = VS_OK};
    begin_case(CASES[0]);
    ck_assert(vs_copy_time(&times, 128, true, &one, &err));
    ck_assert(vs_copy_time(&times, 192, true, &two, &err));
    ck_assert(vs_copy_time(&times, 128, false, &back, &err));
    ck_assert_double_eq_tol(two.seconds / one.seconds, 1.5, 0.1);
    ck_assert_double_eq_tol(back.seconds / one.seconds, 1, 0.02);
    ck_assert(vs_copy_time(&times, 0, true, &one, &err));
    ck_assert_double_eq(one.seconds, 0);
    end_case();
}
END_TEST

int main(void) {
    Suite *suite = suite_create("step_time");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, NULL, sim_end);
    tcase_add_loop_test(tests, interpolates, 0, CASE_COUNT);
    tcase_add_loop_test(tests, nodes_are_exact, 0, CASE_COUNT);
    tcase_add_test(tests, uses_add_up);
    tcase_add_test(tests, copies);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
