/* Requests served: against the generation of single sequences, and against itself. */
#include <string.h>

#include "run/latency.h"
#include "sim_helpers.h"

#define H100 "--hw h100 --model llama-3.1-8b --weights bf16 --engine vllm --engine-version 0.12.0 "
#define SERVE H100 "--task serve --prompt 512 --gen 64 "

static double client_s(const struct vs_case *c) {
    return vs_engine_number(c->engine, "client_s", NULL, 0);
}

/* One client: its prompt, then a step for each further token. */
START_TEST(one_client) {
    const struct vs_outcome *one = sim_run(SERVE "--concurrency 1 --requests 5");
    const struct vs_outcome *alone = sim_run(H100 "--task generate --prompt 512 --gen 63");
    double prefill_s = alone->metrics[VS_METRIC_TTFT_S];
    double decode_s = 63 / alone->metrics[VS_METRIC_DECODE_TPS];
    ck_assert_near(one->metrics[VS_METRIC_TTFT_S] - client_s(sim_case(SERVE)), prefill_s, 1e-6);
    ck_assert_near(one->metrics[VS_METRIC_TPOT_S], decode_s / 63, 1e-3);
    ck_assert_near(one->metrics[VS_METRIC_ITL_S_P50], decode_s / 63, 1e-3);
    ck_assert_near(one->metrics[VS_METRIC_OUT_TPS], 64 / (prefill_s + decode_s), 1e-3);
}
END_TEST

static double number(const char *words, const char *name) {
    return vs_engine_number(sim_case(words)->engine, name, NULL, 0);
}

/* Two clients that start at once: the first prompt runs alone, for the other one reaches the
 * scheduler while it does. */
START_TEST(first_runs_alone) {
#define TWO                                                                                        \
    "--hw h100 --model llama-3.1-8b --weights bf16 --engine sglang --task serve "                  \
    "--prompt 512 --gen 64 "
    double client = client_s(sim_case(TWO)), intake = number(TWO, "intake_s");
    const struct vs_outcome *one = sim_run(TWO "--concurrency 1 --requests 1");
    const struct vs_outcome *two = sim_run(TWO "--concurrency 2 --requests 2");
    double prefill_s = one->metrics[VS_METRIC_TTFT_S] - client;
    ck_assert_double_gt(intake, 0);
    ck_assert_near(two->metrics[VS_METRIC_TTFT_S] - client, 1.5 * prefill_s - intake / 2, 0.01);
}
END_TEST

/* A host one step ahead hides what it does for each sequence, but where the device is sooner done.
 */
START_TEST(host_ahead) {
#define HOST "--weights bf16 --engine vllm --task serve --prompt 16 --gen 256 --requests 512 "
#define AHEAD HOST "--engine-version 0.19.0 "
    const char *toy = "--hw h100 --model toy --concurrency 512 ";
    const char *large = "--hw h100 --model llama-3.1-8b --concurrency 64 ";
    double each_s = number(sim_words("--hw h100 --model toy ", AHEAD), "sequence_beside_s");
    const struct vs_outcome *bound = sim_run(sim_words(toy, AHEAD));
    const struct vs_outcome *hidden = sim_run(sim_words(large, AHEAD));
    const struct vs_outcome *waits = sim_run(sim_words(large, HOST "--engine-version 0.13.0 "));
    double before = number(sim_words(large, HOST "--engine-version 0.13.0 "), "sequence_s");
    double after = number(sim_words(large, AHEAD), "sequence_s");
    ck_assert_near(bound->metrics[VS_METRIC_TPOT_S], 512 * each_s, 0.05);
    ck_assert_near(waits->metrics[VS_METRIC_TPOT_S] - hidden->metrics[VS_METRIC_TPOT_S],
                   64 * (before - after), 0.1);
}
END_TEST

/* More clients, more tokens, until the pool holds no more of them. */
START_TEST(throughput_grows) {
    double last = 0;
    for (int clients = 1; clients <= 64; clients *= 4) {
        const struct vs_outcome *o =
            sim_run(vs_arena_printf(&sim_arena, SERVE "--requests 128 --concurrency %d", clients));
        ck_assert_double_gt(o->metrics[VS_METRIC_OUT_TPS], last);
        last = o->metrics[VS_METRIC_OUT_TPS];
    }
#define SMALL H100 "--task serve --prompt 8192 --gen 256 --gpu-util 0.28 --requests 64 "
    const struct vs_outcome *full = sim_run(SMALL "--concurrency 16");
    const struct vs_outcome *more = sim_run(SMALL "--concurrency 64");
    ck_assert_double_lt(full->metrics[VS_METRIC_KV_TOKENS], 16 * 8448.0);
    ck_assert_near(more->metrics[VS_METRIC_OUT_TPS], full->metrics[VS_METRIC_OUT_TPS], 0.05);
    /* Requests of one length: all gaps between tokens together are all times after first tokens. */
    ck_assert_near(more->metrics[VS_METRIC_ITL_S], more->metrics[VS_METRIC_TPOT_S], 1e-9);
    ck_assert_double_lt(more->metrics[VS_METRIC_ITL_S_P50], more->metrics[VS_METRIC_ITL_S]);
}
END_TEST

START_TEST(seeds) {
    static const enum vs_metric SPEEDS[] = {VS_METRIC_OUT_TPS, VS_METRIC_TTFT_S, VS_METRIC_TPOT_S};
    const char *words = SERVE "--rate 20 --requests 40 --length-range 0.5 ";
    const struct vs_outcome *a = sim_run(words), *b = sim_run(words);
    const struct vs_outcome *other = sim_run(sim_words(words, "--seed 2"));
    for (size_t i = 0; i < sizeof SPEEDS / sizeof *SPEEDS; i++) {
        ck_assert(a->metrics[SPEEDS[i]] > 0);
        ck_assert(memcmp(&a->metrics[SPEEDS[i]], &b->metrics[SPEEDS[i]], sizeof(double)) == 0);
        ck_assert(a->metrics[SPEEDS[i]] > other->metrics[SPEEDS[i]] ||
                  a->metrics[SPEEDS[i]] < other->metrics[SPEEDS[i]]);
    }
}
END_TEST

/* Hardly any load: arrivals set the pace, and nobody waits. */
START_TEST(arrivals) {
    const struct vs_outcome *o = sim_run(SERVE "--rate 0.1 --requests 200");
    const struct vs_outcome *one = sim_run(SERVE "--concurrency 1 --requests 5");
    ck_assert_near(o->metrics[VS_METRIC_OUT_TPS], 64 * 0.1, 0.2);
    ck_assert_near(o->metrics[VS_METRIC_TPOT_S], one->metrics[VS_METRIC_TPOT_S], 0.1);
}
END_TEST

/* Ten waits of 1..10 s, and one request of a single token: percentiles lie between order
 * statistics. Of the ten, four have their first token within 4.5 s, and three of these their others
 * in time. */
START_TEST(percentiles) {
    struct vs_latency latency = {.client_s = 0.5, .slo_first_s = 4.5, .slo_token_s = 3};
    double m[VS_METRIC_COUNT] = {0};
    vs_latency_metrics(&latency, 1, m);
    ck_assert(m[VS_METRIC_TTFT_S] >= 0 && m[VS_METRIC_TTFT_S] <= 0);
    for (int i = 10; i >= 1; i--) {
        const struct vs_served served = {100, 100 + i, 100 + i + 2 * i, i == 5 ? 1 : 3};
        ck_assert(vs_latency_note(&latency, &served));
    }
    vs_latency_metrics(&latency, 10, m);
    ck_assert_near(m[VS_METRIC_TTFT_S], 6, 1e-12);
    ck_assert_near(m[VS_METRIC_TTFT_S_P50], 6, 1e-12);
    ck_assert_near(m[VS_METRIC_TTFT_S_P90], 9.6, 1e-12);
    ck_assert_near(m[VS_METRIC_TTFT_S_P99], 10.41, 1e-12);
    ck_assert_near(m[VS_METRIC_TPOT_S], 50.0 / 9, 1e-12);
    ck_assert_near(m[VS_METRIC_TPOT_S_P50], 6, 1e-12);
    ck_assert_near(m[VS_METRIC_TPOT_S_P99], 9.92, 1e-12);
    ck_assert_near(m[VS_METRIC_E2E_S], 17, 1e-12);
    ck_assert_near(m[VS_METRIC_E2E_S_P50], 17, 1e-12);
    ck_assert_near(m[VS_METRIC_GOODPUT_RPS], 0.3, 1e-12);
    vs_latency_release(&latency);
}
END_TEST

/* Each engine has a scheduler; without requests none of them runs. */
START_TEST(engines) {
    static const char *const ENGINES[] = {"vllm", "vllm --engine-version 0.6.3", "trtllm", "sglang",
                                          "lmdeploy"};
    for (size_t i = 0; i < sizeof ENGINES / sizeof *ENGINES; i++) {
        const char *words = vs_arena_printf(
            &sim_arena, "--hw h100 --model llama-3.1-8b --weights fp16 --task serve --engine %s",
            ENGINES[i]);
        const struct vs_outcome *o = sim_run(sim_words(words, "--rate inf --requests 20"));
        ck_assert_double_gt(o->metrics[VS_METRIC_OUT_TPS], 0);
        ck_assert(isnan(sim_run(words)->metrics[VS_METRIC_OUT_TPS]));
    }
}
END_TEST

START_TEST(refused) {
    sim_refused(SERVE "--concurrency 4 --rate 5", "--rate 5 does not apply to --concurrency");
    sim_refused(SERVE "--requests 0", "found '0', expected a whole number from 1");
    sim_refused(SERVE "--rate 0", "--rate");
    sim_refused(SERVE "--rate inf --depth 8", "--depth 8 does not apply to requests");
    ck_assert_double_gt(sim_run(SERVE "--concurrency 4 --rate inf")->metrics[VS_METRIC_OUT_TPS], 0);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("serve");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, NULL, sim_end);
    tcase_add_test(tests, one_client);
    tcase_add_test(tests, first_runs_alone);
    tcase_add_test(tests, host_ahead);
    tcase_add_test(tests, throughput_grows);
    tcase_add_test(tests, seeds);
    tcase_add_test(tests, arrivals);
    tcase_add_test(tests, percentiles);
    tcase_add_test(tests, engines);
    tcase_add_test(tests, refused);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
