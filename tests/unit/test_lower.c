/* Phases written by hand, walked on the toy's pools and run on its clock. */
#include <string.h>

#include "plan/emit.h"
#include "run/lower.h"
#include "sim_helpers.h"

static struct vs_plan plan;
static struct vs_phase phase;
static struct vs_executor x;
static struct vs_emit e;

static void begin(void) {
    sim_plan(&plan, TOY_GENERATE);
    sim_executor(&x, &plan);
    vs_emit_begin(&e, &plan, &phase, "by hand");
}

static void end(void) {
    vs_executor_release(&x);
    vs_plan_release(&plan);
    vs_phase_release(&phase);
    memset(&plan, 0, sizeof plan);
    memset(&phase, 0, sizeof phase);
    sim_end();
}

/* Another case under the same tests. */
static void begin_again(const char *words) {
    end();
    sim_plan(&plan, words);
    sim_executor(&x, &plan);
    vs_emit_begin(&e, &plan, &phase, "by hand");
}

/* A kernel of so many microseconds. */
static vs_op_id kernel(enum vs_lane lane, double us) {
    return vs_emit_op(&e, &(struct vs_op){.kind = VS_WORK_FIXED,
                                          .lane = lane,
                                          .what = "kernel",
                                          .layer = -1,
                                          .cost_s = us * 1e-6});
}

/* A copy of so many microseconds at the link's 10 GB/s. */
static vs_op_id copy(enum vs_lane lane, double us) {
    return vs_emit_op(&e, &(struct vs_op){.kind = VS_WORK_COPY,
                                          .lane = lane,
                                          .what = "copy",
                                          .layer = -1,
                                          .bytes = us * 1e-6 * 10e9,
                                          .pinned = true});
}

/* Element-wise work of so many microseconds at the memory's 100 GB/s. */
static vs_op_id element(double us) {
    return vs_emit_op(&e, &(struct vs_op){.kind = VS_WORK_ELEMENT,
                                          .lane = VS_LANE_COMPUTE,
                                          .what = "element",
                                          .layer = -1,
                                          .bytes = us * 1e-6 * 100e9});
}

static double end_us(vs_op_id op) {
    return (double)vs_des_end(x.des, x.activity.at[op]) / (double)VS_TIME_PER_S * 1e6;
}

static double run_us(void) {
    struct vs_err err = {0};
    ck_assert(vs_emit_end(&e, &err));
    sim_walk(&x, &phase);
    return sim_time(&x, &phase) * 1e6;
}

#define ck_assert_us(a, b) ck_assert_double_eq_tol((a), (b), 1e-5)

static struct vs_pool_stats gpu(void) { return vs_pool_stats(x.pools[VS_HOME_GPU]); }

/* ---- memory ---- */

/* 100 + 200 bytes at most at once, 200 at the end. */
START_TEST(take_and_give) {
    vs_buffer_id a = vs_emit_take(&e, VS_TAG_WORKSPACE, "a", -1, 100);
    vs_emit_take(&e, VS_TAG_LOGITS, "b", -1, 200);
    kernel(VS_LANE_COMPUTE, 1);
    vs_emit_give(&e, a);
    run_us();
    ck_assert_uint_eq(gpu().allocated_bytes, 200);
    ck_assert_uint_eq(gpu().peak_allocated_bytes, 300);
    ck_assert_uint_eq(gpu().by_tag_at_peak[VS_TAG_WORKSPACE], 100);
    ck_assert_uint_eq(gpu().by_tag_at_peak[VS_TAG_LOGITS], 200);
    ck_assert_uint_eq(gpu().by_tag[VS_TAG_WORKSPACE], 0);
    ck_assert(!x.out_of_memory);
}
END_TEST

/* States: the first step makes them, later ones find them. Gradients: the first micro-step makes
 * one, later ones add a temporary of its size to it. */
START_TEST(ensure_and_accumulate) {
    struct vs_buffer b = {
        .what = "state", .layer = -1, .home = VS_HOME_GPU, .tag = VS_TAG_OPTIMIZER, .bytes = 1000};
    vs_buffer_id state = vs_plan_buffer(&plan, &b);
    b.tag = VS_TAG_GRADIENTS;
    b.bytes = 300;
    vs_buffer_id grad = vs_plan_buffer(&plan, &b);
    vs_emit_ensure(&e, state);
    vs_emit_accumulate(&e, grad);
    kernel(VS_LANE_COMPUTE, 1);
    run_us();
    ck_assert_uint_eq(gpu().allocated_bytes, 1300);
    ck_assert_uint_eq(gpu().peak_allocated_bytes, 1300);
    uint64_t state_number = vs_executor_state(&x);
    sim_walk(&x, &phase);
    ck_assert_uint_eq(gpu().allocated_bytes, 1300);
    ck_assert_uint_eq(gpu().peak_allocated_bytes, 1600);
    ck_assert_uint_eq(vs_executor_state(&x), state_number);
}
END_TEST

/* Homes have pools: page-locked memory is the host's; what is raw goes past the allocator. */
START_TEST(homes) {
    begin_again("--hw toy --model toy --engine hf --task train --method lora");
    struct vs_buffer b = {.what = "b", .layer = -1, .tag = VS_TAG_WEIGHTS, .bytes = 3 * MIB};
    static const uint8_t HOMES[] = {VS_HOME_GPU, VS_HOME_HOST, VS_HOME_PINNED};
    for (size_t i = 0; i < 3; i++) {
        b.home = HOMES[i];
        vs_emit_take_in(&e, &b);
    }
    b = (struct vs_buffer){.what = "c",
                           .layer = -1,
                           .home = VS_HOME_GPU,
                           .tag = VS_TAG_CONTEXT,
                           .bytes = 5,
                           .raw = true};
    vs_emit_take_in(&e, &b);
    kernel(VS_LANE_COMPUTE, 1);
    run_us();
    ck_assert_ptr_eq(x.pools[VS_HOME_PINNED], x.pools[VS_HOME_HOST]);
    /* PyTorch: 3 MiB of a segment of 20 MiB on the GPU; page-locked requests grow to a power of two
     * (3 -> 4 MiB), ordinary ones on the host don't. */
    ck_assert_uint_eq(gpu().reserved_bytes, 20 * MIB);
    ck_assert_uint_eq(gpu().raw_bytes, 5);
    ck_assert_uint_eq(vs_pool_stats(x.pools[VS_HOME_HOST]).allocated_bytes, 3 * MIB + 4 * MIB);
}
END_TEST

START_TEST(one_memory) {
    begin_again("--hw m2-ultra --model toy --engine ideal --task generate --weights fp16");
    ck_assert_ptr_eq(x.pools[VS_HOME_HOST], x.pools[VS_HOME_GPU]);
    ck_assert_ptr_eq(x.pools[VS_HOME_PINNED], x.pools[VS_HOME_GPU]);
    ck_assert_ptr_ne(x.pools[VS_HOME_STORAGE], x.pools[VS_HOME_GPU]);
}
END_TEST

/* The toy has 10 GiB. The second operation asks for 4 GiB with 7 in use: 1 GiB short. What comes
 * after is served without a ceiling, and the first failure stays. */
START_TEST(running_out) {
    vs_emit_take(&e, VS_TAG_WEIGHTS, "a", -1, 7 * GIB);
    kernel(VS_LANE_COMPUTE, 1);
    vs_emit_take(&e, VS_TAG_LOGITS, "b", 3, 4 * GIB);
    vs_op_id second = kernel(VS_LANE_COMPUTE, 1);
    vs_emit_take(&e, VS_TAG_KV, "c", -1, 20 * GIB);
    kernel(VS_LANE_COMPUTE, 1);
    run_us();
    ck_assert(x.out_of_memory);
    ck_assert_str_eq(x.oom_phase, "by hand");
    ck_assert_uint_eq(x.oom_index, second);
    ck_assert_str_eq(x.oom_buffer.what, "b");
    ck_assert_int_eq(x.oom_buffer.layer, 3);
    ck_assert_uint_eq(x.oom_home, VS_HOME_GPU);
    const struct vs_oom *oom = vs_pool_oom(x.pools[VS_HOME_GPU]);
    ck_assert_uint_eq(oom->requested_bytes, 4 * GIB);
    ck_assert_uint_eq(oom->in_use_bytes, 7 * GIB);
    ck_assert_uint_eq(oom->capacity_bytes, 10 * GIB);
    ck_assert_uint_eq(oom->short_bytes, 1 * GIB);
    ck_assert_uint_eq(gpu().peak_used_bytes, 31 * GIB);
}
END_TEST

/* With `stop` nothing behind the first failure is asked for. */
START_TEST(stopping_there) {
    struct vs_err err = {0};
    vs_emit_take(&e, VS_TAG_WEIGHTS, "a", -1, 11 * GIB);
    vs_emit_take(&e, VS_TAG_KV, "b", -1, 5 * GIB);
    kernel(VS_LANE_COMPUTE, 1);
    ck_assert(vs_emit_end(&e, &err));
    ck_assert(vs_walk(&x, &phase, true, &err));
    ck_assert(x.out_of_memory);
    ck_assert_uint_eq(gpu().peak_used_bytes, 11 * GIB);
}
END_TEST

/* What only the end of the phase asks for can fail too. */
START_TEST(running_out_at_the_end) {
    vs_op_id last = kernel(VS_LANE_COMPUTE, 1);
    vs_emit_take(&e, VS_TAG_WEIGHTS, "a", -1, 11 * GIB);
    run_us();
    ck_assert(x.out_of_memory);
    ck_assert_uint_gt(x.oom_index, last);
    ck_assert_str_eq(x.oom_op.what, "kernel");
}
END_TEST

/* Host memory runs out in its own pool: 100 GiB. */
START_TEST(running_out_on_the_host) {
    struct vs_buffer b = {.what = "b",
                          .layer = -1,
                          .home = VS_HOME_PINNED,
                          .tag = VS_TAG_WEIGHTS,
                          .bytes = 101 * GIB};
    vs_emit_take_in(&e, &b);
    kernel(VS_LANE_COMPUTE, 1);
    run_us();
    ck_assert(x.out_of_memory);
    ck_assert_uint_eq(x.oom_home, VS_HOME_PINNED);
    ck_assert_uint_eq(vs_pool_oom(x.pools[VS_HOME_HOST])->short_bytes, 1 * GIB);
    ck_assert_ptr_null(vs_pool_oom(x.pools[VS_HOME_GPU]));
}
END_TEST

/* ---- time ---- */

/* A lane is FIFO; lanes run beside each other; a dependency orders them. */
START_TEST(lanes_and_dependencies) {
    vs_op_id a = kernel(VS_LANE_COMPUTE, 3);
    vs_op_id b = kernel(VS_LANE_COMPUTE, 4);
    vs_op_id c = kernel(VS_LANE_CPU, 5);
    vs_emit_after(&e, a);
    vs_op_id d = kernel(VS_LANE_STORAGE, 1);
    vs_emit_after(&e, c);
    vs_emit_after(&e, d);
    vs_op_id f = kernel(VS_LANE_COMPUTE, 2);
    ck_assert_us(run_us(), 9);
    ck_assert_us(end_us(a), 3);
    ck_assert_us(end_us(b), 7);
    ck_assert_us(end_us(c), 5);
    ck_assert_us(end_us(d), 4);
    ck_assert_us(end_us(f), 9);
}
END_TEST

/* An operation waits for all that it names, however many. */
START_TEST(many_dependencies) {
    vs_op_id before[121];
    for (size_t i = 0; i < 120; i++)
        before[i] = kernel(VS_LANE_CPU, 1);
    before[120] = kernel(VS_LANE_STORAGE, 200);
    for (size_t i = 0; i < 121; i++)
        vs_emit_after(&e, before[i]);
    vs_op_id last = kernel(VS_LANE_COMPUTE, 1);
    run_us();
    ck_assert_us(end_us(last), 201);
}
END_TEST

/* A copy at 10 GB/s takes a tenth of the memory's 100 GB/s from what runs beside it: 90 us of
 * element-wise work take 100 us beside a copy of 200 us, which is not slowed. */
START_TEST(copy_beside_a_kernel) {
    vs_op_id a = copy(VS_LANE_H2D, 200);
    vs_op_id b = element(90);
    ck_assert_us(run_us(), 200);
    ck_assert_us(end_us(a), 200);
    ck_assert_us(end_us(b), 100);
}
END_TEST

/* Both directions at once: the toy's link is full duplex. */
START_TEST(both_directions) {
    copy(VS_LANE_H2D, 100);
    copy(VS_LANE_D2H, 100);
    ck_assert_us(run_us(), 100);
    /* A link that carries 15 GB/s both ways together: 2 MB take 133.3 us. */
    begin_again(TOY_GENERATE "--set link.duplex=15GB/s");
    copy(VS_LANE_H2D, 100);
    copy(VS_LANE_D2H, 100);
    ck_assert_us(run_us(), 2e6 / 15e9 * 1e6);
}
END_TEST

/* The host issues in order, 2 us a kernel: three kernels of 1 us that are 1 launch each end at 3, 5
 * and 7 us; a kernel of 5 us behind them is issued at 8 us and ends at 13 us. */
START_TEST(launches) {
    x.units[0].rates.launch_s = 2e-6;
    for (int i = 0; i < 3; i++)
        vs_emit_op(&e, &(struct vs_op){.kind = VS_WORK_FIXED,
                                       .lane = VS_LANE_COMPUTE,
                                       .what = "small",
                                       .layer = -1,
                                       .cost_s = 1e-6,
                                       .launches = 1});
    vs_op_id big = vs_emit_op(&e, &(struct vs_op){.kind = VS_WORK_ELEMENT,
                                                  .lane = VS_LANE_COMPUTE,
                                                  .what = "big",
                                                  .layer = -1,
                                                  .bytes = 500e3,
                                                  .launches = 1});
    ck_assert_us(run_us(), 13);
    ck_assert_us(end_us(0), 3);
    ck_assert_us(end_us(2), 7);
    ck_assert_us(end_us(big), 13);
    /* 4 launches, and the three fixed costs, are what the launch column counts. */
    ck_assert_us(x.launch_s * 1e6, 4 * 2 + 3);
}
END_TEST

/* Sums: 30 us of element-wise work saturate the memory; a copy takes the link. Twice as often,
 * twice as much; with count 0 nothing. */
START_TEST(sums) {
    element(30);
    copy(VS_LANE_H2D, 40);
    struct vs_err err = {0};
    double seconds;
    run_us();
    ck_assert_us(x.units[0].busy_s[VS_PART_H2D] * 1e6, 40);
    ck_assert_us(x.units[0].busy_s[VS_PART_MEMORY] * 1e6, 30 + 4);
    ck_assert_us(x.units[0].busy_s[VS_PART_COMPUTE] * 1e6, 0);
    ck_assert_us(x.time_s * 1e6, 40);
    ck_assert_us(x.units[0].saturated_s[VS_PART_H2D] * 1e6, 40);
    ck_assert(vs_time_phase(&x, &phase, VS_NO_OP, 2, &seconds, &err));
    ck_assert_us(x.units[0].busy_s[VS_PART_H2D] * 1e6, 3 * 40);
    ck_assert(vs_time_phase(&x, &phase, VS_NO_OP, 0, &seconds, &err));
    ck_assert_us(x.units[0].busy_s[VS_PART_H2D] * 1e6, 3 * 40);
    vs_clear_sums(&x);
    ck_assert_double_eq(x.units[0].busy_s[VS_PART_H2D], 0);
    ck_assert_double_eq(x.units[0].saturated_s[VS_PART_MEMORY], 0);
}
END_TEST

/* Up to an operation: what a failure there leaves behind. */
START_TEST(until) {
    struct vs_err err = {0};
    double seconds;
    kernel(VS_LANE_COMPUTE, 3);
    vs_op_id second = kernel(VS_LANE_COMPUTE, 4);
    run_us();
    ck_assert(vs_time_phase(&x, &phase, second, 1, &seconds, &err));
    ck_assert_us(seconds * 1e6, 3);
    ck_assert(vs_time_phase(&x, &phase, 0, 1, &seconds, &err));
    ck_assert_us(seconds * 1e6, 0);
}
END_TEST

/* Intervals for a timeline: inside the run, in lane order, without overlap; levels of memory. */
START_TEST(recorded) {
    x.record = &sim_arena;
    vs_buffer_id a = vs_emit_take(&e, VS_TAG_WORKSPACE, "a", -1, 1000);
    kernel(VS_LANE_COMPUTE, 3);
    copy(VS_LANE_H2D, 10);
    vs_emit_give(&e, a);
    kernel(VS_LANE_COMPUTE, 4);
    kernel(VS_LANE_COMPUTE, 0); /* takes no time: not shown */
    run_us();
    ck_assert_uint_eq(x.spans.count, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct vs_span *s = &x.spans.at[i];
        ck_assert(s->start_s >= 0 && s->end_s > s->start_s && s->end_s <= x.time_s + 1e-15);
        for (size_t k = 0; k < i; k++)
            ck_assert(!vs_streq(s->stream, x.spans.at[k].stream) ||
                      x.spans.at[k].end_s <= s->start_s + 1e-15);
    }
    ck_assert_uint_eq(x.levels.count, 2); /* taken, and given back behind the copy's issue */
    ck_assert_uint_eq(x.levels.at[0].bytes, 1000);
    ck_assert_uint_eq(x.levels.at[1].bytes, 0);
    ck_assert(x.levels.at[0].at_s <= x.levels.at[1].at_s);
    double before = x.time_s;
    sim_walk(&x, &phase);
    sim_time(&x, &phase);
    ck_assert(x.spans.at[3].start_s >= before - 1e-15); /* a second run stands behind the first */
}
END_TEST

static vs_buffer_id managed_buffer(uint64_t bytes) {
    struct vs_buffer b = {.what = "pages",
                          .layer = -1,
                          .home = VS_HOME_GPU,
                          .tag = VS_TAG_OPTIMIZER,
                          .managed = true,
                          .bytes = bytes};
    vs_buffer_id id = vs_plan_buffer(&plan, &b);
    vs_emit_ensure(&e, id);
    return id;
}

/* Sends all managed pages to the host, behind the clock's back. */
static void send_away(void) {
    struct vs_pool *pool = x.pools[VS_HOME_GPU];
    vs_block all;
    ck_assert_int_eq(vs_pool_alloc_raw(pool, vs_pool_capacity(pool), VS_TAG_OTHER, &all),
                     VS_POOL_OK);
    vs_pool_release_block(pool, all);
    ck_assert_uint_gt(vs_pool_take_evicted(pool), 0);
}

/* Paged states are prefetched: the first touch copies nothing; 4 MiB that were sent away come at
 * the link's rate before the kernel, 419.4 us. A further touch finds them there. */
START_TEST(managed_pages) {
    begin_again(TOY_TRAIN "--optim paged-adamw");
    vs_emit_touch(&e, managed_buffer(4 * MIB));
    vs_op_id k = kernel(VS_LANE_COMPUTE, 5);
    ck_assert_us(run_us(), 5);
    ck_assert_uint_eq(x.moved.count, 0);
    send_away();
    double us = run_us();
    ck_assert_uint_eq(x.moved.count, 1);
    ck_assert_uint_eq(x.moved.at[0].in_bytes, 4 * MIB);
    ck_assert_uint_eq(x.moved.at[0].out_bytes, 0);
    ck_assert_us(us, 4 * MIB / 10e9 * 1e6 + 5);
    ck_assert_us(end_us(k), us);
    ck_assert_us(run_us(), 5);
    ck_assert_uint_eq(x.moved.count, 0);
}
END_TEST

/* Faults of a kernel come once the kernel before has ended: 7 us, then 6 MiB behind one and a half
 * batches of faults of 100 us (two pages each), then 5 us. A matrix product waits for all three
 * pages in one batch. */
START_TEST(faults) {
    begin_again(TOY_GENERATE "--offload uvm");
    vs_buffer_id pages = managed_buffer(6 * MIB);
    kernel(VS_LANE_COMPUTE, 7);
    vs_emit_touch(&e, pages);
    vs_op_id k = kernel(VS_LANE_COMPUTE, 5);
    ck_assert_us(run_us(), 12);
    send_away();
    ck_assert_us(run_us(), 7 + 150 + 6 * MIB / 10e9 * 1e6 + 5);
    phase.ops.at[k].kind = VS_WORK_GEMM;
    send_away();
    ck_assert_us(run_us(), 7 + 100 + 6 * MIB / 10e9 * 1e6 + 5);
}
END_TEST

/* Pages come into the places of those that leave: first out, then in. Drawn pages are a part: of 4
 * pages, 2 of which are here, half are one. */
START_TEST(faults_in_place) {
    begin_again(TOY_GENERATE "--offload uvm --set device.memory.nominal=8MiB");
    vs_buffer_id a = managed_buffer(8 * MIB), b = managed_buffer(4 * MIB);
    vs_emit_touch(&e, a);
    vs_emit_touch(&e, b);
    kernel(VS_LANE_COMPUTE, 5);
    run_us();
    vs_phase_clear(&phase, "again");
    vs_emit_begin(&e, &plan, &phase, "again");
    vs_emit_draw(&e, a, 4 * MIB);
    kernel(VS_LANE_COMPUTE, 5);
    ck_assert_us(run_us(), 100 + 2 * (2 * MIB / 10e9 * 1e6) + 5);
    ck_assert_uint_eq(x.moved.at[0].in_bytes, 2 * MIB);
    ck_assert_uint_eq(x.moved.at[0].out_bytes, 2 * MIB);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("lower");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, take_and_give);
    tcase_add_test(tests, ensure_and_accumulate);
    tcase_add_test(tests, homes);
    tcase_add_test(tests, one_memory);
    tcase_add_test(tests, running_out);
    tcase_add_test(tests, stopping_there);
    tcase_add_test(tests, running_out_at_the_end);
    tcase_add_test(tests, running_out_on_the_host);
    tcase_add_test(tests, lanes_and_dependencies);
    tcase_add_test(tests, many_dependencies);
    tcase_add_test(tests, copy_beside_a_kernel);
    tcase_add_test(tests, both_directions);
    tcase_add_test(tests, launches);
    tcase_add_test(tests, sums);
    tcase_add_test(tests, until);
    tcase_add_test(tests, recorded);
    tcase_add_test(tests, managed_pages);
    tcase_add_test(tests, faults);
    tcase_add_test(tests, faults_in_place);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
