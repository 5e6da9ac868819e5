/* What is kept of a server for pictures: bounded, and nothing lost but detail. */
#include <math.h>
#include <stdlib.h>

#include "run/serve_record.h"
#include "unit/suite.h"

static struct vs_arena arena;
static struct vs_serve_record record;

static void setup(void) {
    vs_arena_init(&arena);
    record = (struct vs_serve_record){.each = 0};
}

static void teardown(void) {
    vs_serve_record_release(&record);
    vs_arena_release(&arena);
}

static const struct vs_replayed *keep(void) {
    const struct vs_replayed *kept = vs_serve_record_keep(&record, 0, &arena);
    ck_assert_ptr_nonnull(kept);
    return kept;
}

START_TEST(nothing) {
    const struct vs_replayed *kept = keep();
    ck_assert_uint_eq(kept->request_count, 0);
    ck_assert_uint_eq(kept->moment_count, 0);
    ck_assert_uint_eq(kept->stretch_count, 0);
}
END_TEST

/* Two seconds of one running request, then one of rest: 300 moments of 10 ms. */
START_TEST(moments) {
    const struct vs_server_stretch list[] = {{0, 2, 1, 4, 10, 30, 0, 100, 100, 20},
                                             {.from_s = 2, .to_s = 3}};
    for (size_t i = 0; i < 2; i++)
        ck_assert(vs_serve_record_stretch(&record, &list[i]));
    const struct vs_replayed *kept = keep();
    ck_assert_uint_eq(kept->moment_count, 300);
    ck_assert_double_eq_tol(kept->moments[100].at_s, 1, 1e-9);
    ck_assert_double_eq_tol(kept->moments[100].waiting, 4, 1e-9);
    ck_assert_double_eq_tol(kept->moments[100].out_tps, 50, 1e-9);
    ck_assert_double_eq_tol(kept->moments[100].kv_percent, 20.05, 1e-9); /* the middle of it */
    ck_assert_double_eq_tol(kept->moments[250].running, 0, 1e-9);
    ck_assert_double_eq_tol(kept->moments[250].out_tps, 0, 1e-9);
}
END_TEST

/* A million steps of 1 ms, each 10,000th followed by ten seconds of rest: rest is not joined to
 * steps, and neither tokens nor time are lost. */
START_TEST(long_run) {
    enum { STEPS = 1000000 };
    double now_s = 0, tokens = 0;
    uint64_t steps = 0;
    bool kept_all = true, in_order = true;
    for (int i = 0; i < STEPS; i++) {
        struct vs_server_stretch s = {now_s, now_s + 1e-3, 3, 0, 50, 50, 0, 3, 3, 1};
        kept_all &= vs_serve_record_stretch(&record, &s);
        now_s += 1e-3;
        if (i % 10000 != 9999)
            continue;
        s = (struct vs_server_stretch){.from_s = now_s, .to_s = now_s + 10};
        kept_all &= vs_serve_record_stretch(&record, &s);
        now_s += 10;
    }
    ck_assert(kept_all);
    const struct vs_replayed *kept = keep();
    ck_assert_uint_lt(kept->stretch_count, 16384);
    ck_assert_uint_gt(kept->stretch_count, 1000);
    ck_assert_double_gt(kept->resolution_s, 0);
    for (size_t i = 0; i < kept->stretch_count; i++) {
        const struct vs_server_stretch *s = &kept->stretches[i];
        in_order &= i == 0 || s->from_s == kept->stretches[i - 1].to_s;
        in_order &= s->steps > 0 || s->out_tokens == 0;
        tokens += s->out_tokens;
        steps += s->steps;
    }
    ck_assert(in_order);
    ck_assert_double_eq(tokens, 3.0 * STEPS);
    ck_assert_uint_eq(steps, STEPS);
    ck_assert_double_eq(kept->stretches[kept->stretch_count - 1].to_s, now_s);
}
END_TEST

/* Of a million requests one of 16 is kept, evenly. */
START_TEST(many_requests) {
    bool kept_all = true, evenly = true;
    for (int i = 0; i < 1000000; i++)
        kept_all &= vs_serve_record_request(
            &record, &(struct vs_replayed_request){.arrived_s = i, .ttft_s = i});
    const struct vs_replayed *kept = keep();
    ck_assert_uint_eq(kept->requests_each, 16);
    ck_assert_uint_eq(kept->request_count, 1000000 / 16);
    for (size_t i = 0; i < kept->request_count; i++)
        evenly &= kept->requests[i].arrived_s == 16.0 * (double)i;
    ck_assert(kept_all && evenly);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("serve_record");
    TCase *tests = tcase_create("serve_record");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, nothing);
    tcase_add_test(tests, moments);
    tcase_add_test(tests, long_run);
    tcase_add_test(tests, many_requests);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
