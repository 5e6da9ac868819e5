/* Worked examples of what breaks expectations in the real world too: with shared resources more
 * bandwidth can be slower, with best fit more memory can hold less. A law must not claim more. */
#include "des/des.h"
#include "unit/plan_helpers.h"
#include "unit/suite.h"

/* Faster is later: a copy of 10 units feeds a kernel of 10 units; beside it runs a kernel of 10
 * units on the same memory (1 unit a second), and then 20 s of other work.
 *   link 1/s:  copy 0-10, the other kernel alone 0-10, its 20 s until 30
 *   link 10/s: copy 0-1, then both kernels share: the other has 9 units left at half speed, ends at
 *              19, its 20 s until 39 */
static double makespan(double link_rate) {
    struct vs_des *des = vs_des_new();
    struct vs_err err = {0};
    vs_resource link = vs_des_resource(des, link_rate), memory = vs_des_resource(des, 1);
    vs_stream copies = vs_des_stream(des), a = vs_des_stream(des), b = vs_des_stream(des);
    struct vs_demand on_link = {link, 10}, on_memory = {memory, 10};
    vs_activity copy = vs_des_add(
        des, &(struct vs_activity_spec){.stream = copies, .demands = &on_link, .demand_count = 1});
    vs_des_add(des, &(struct vs_activity_spec){.stream = a,
                                               .demands = &on_memory,
                                               .demand_count = 1,
                                               .after = &copy,
                                               .after_count = 1});
    vs_des_add(des,
               &(struct vs_activity_spec){.stream = b, .demands = &on_memory, .demand_count = 1});
    vs_des_add(des,
               &(struct vs_activity_spec){.stream = b, .latency = 20 * (vs_time)VS_TIME_PER_S});
    ck_assert(vs_des_run(des, &err));
    double seconds = (double)vs_des_now(des) / (double)VS_TIME_PER_S;
    vs_des_free(des);
    return seconds;
}

START_TEST(a_faster_link_is_slower) {
    ck_assert_double_eq_tol(makespan(1), 30, 1e-9);
    ck_assert_double_eq_tol(makespan(10), 39, 1e-9);
}
END_TEST

/* More memory fits less: 200 MiB do, 220 MiB don't, with PyTorch's allocator. MiB:
 *   100 are taken and given back: cached.
 *   110 are taken. In 200 the cached 100 must go first; in 220 they stay.
 *   40 and 10 are taken, in 220 out of the cached 100; the 40 are given back.
 *   60 are taken. In 200: 110 + 10 are in use, 80 are free. In 220: 110 and the 100, of which the
 * 10 hold the middle: 40 and 50 are free there, 10 outside. */
static bool fits_in(unsigned mib) {
    struct vs_emit e;
    struct vs_err err = {0};
    forget();
    sim_plan(&plan, vs_arena_printf(&sim_arena,
                                    "--hw toy --model toy --engine hf --task train --method lora "
                                    "--set device.memory.usable=%uMiB",
                                    mib));
    sim_executor(&x, &plan);
    vs_emit_begin(&e, &plan, &phase, "by hand");
    vs_emit_give(&e, vs_emit_take(&e, VS_TAG_OTHER, "100", -1, 100 * MIB));
    vs_emit_take(&e, VS_TAG_OTHER, "110", -1, 110 * MIB);
    vs_buffer_id forty = vs_emit_take(&e, VS_TAG_OTHER, "40", -1, 40 * MIB);
    vs_emit_take(&e, VS_TAG_OTHER, "10", -1, 10 * MIB);
    vs_emit_give(&e, forty);
    vs_emit_take(&e, VS_TAG_OTHER, "60", -1, 60 * MIB);
    vs_emit_op(
        &e, &(struct vs_op){
                .kind = VS_WORK_NOTHING, .lane = VS_LANE_COMPUTE, .what = "nothing", .layer = -1});
    ck_assert(vs_emit_end(&e, &err));
    sim_walk(&x, &phase);
    return !x.out_of_memory;
}

START_TEST(more_memory_fits_less) {
    ck_assert(fits_in(200));
    ck_assert(!fits_in(220));
    ck_assert(fits_in(300));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("anomalies");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, NULL, end);
    tcase_add_test(tests, a_faster_link_is_slower);
    tcase_add_test(tests, more_memory_fits_less);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
