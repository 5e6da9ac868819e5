/* Closed forms: each test is a system that can be worked out in the head. */
#include <float.h>

#include "des_helpers.h"
#include "unit/suite.h"

/* 1 GB at 25 GB/s takes 40 ms; after a latency of 5 us it starts at 0 and ends at 40.005 ms. */
START_TEST(one_flow) {
    const vs_resource link = vs_des_resource(des, 25 * GIGA);
    const vs_stream a = vs_des_stream(des), b = vs_des_stream(des);
    const vs_activity plain = add_flow(a, link, GIGA, VS_NONE);
    run();
    ck_assert_int_eq(vs_des_end(des, plain), 40000000000);
    ck_assert_int_eq(vs_des_now(des), 40000000000);
    vs_des_reset(des);
    const struct vs_demand bytes = {link, GIGA};
    const vs_activity late = add((struct vs_activity_spec){
        .stream = b, .latency = 5000000, .demands = &bytes, .demand_count = 1});
    run();
    ck_assert_int_eq(vs_des_start(des, late), 0);
    ck_assert_int_eq(vs_des_end(des, late), 40005000000);
    ck_assert_uint_eq(vs_des_events(des), 2); /* the latency's end and the service's */
}
END_TEST

/* 2 bytes at 3 bytes/s take 666,666,666,666.67 ps: the first tick that has served them is the next.
 */
START_TEST(ends_are_rounded_up) {
    const vs_resource link = vs_des_resource(des, 3);
    const vs_activity a = add_flow(vs_des_stream(des), link, 2, VS_NONE);
    run();
    ck_assert_int_eq(vs_des_end(des, a), 666666666667);
}
END_TEST

/* N flows of 1 GB on a link of 1 GB/s all end after N seconds, to the tick, though 1/3 of a link is
 * not a double. */
START_TEST(equal_flows) {
    const vs_resource link = vs_des_resource(des, GIGA);
    vs_activity flows[100];
    for (int n = 1; n <= 100; n++) {
        vs_des_reset(des);
        vs_des_stream(des);
        for (int i = 0; i < n; i++)
            flows[i] = add_flow((vs_stream)i, link, GIGA, VS_NONE);
        run();
        for (int i = 0; i < n; i++)
            ck_assert_int_eq(vs_des_end(des, flows[i]), n * SECOND);
        ck_assert_double_eq(vs_des_usage(des, link).served, n * GIGA);
        ck_assert_int_eq(vs_des_usage(des, link).busy, n * SECOND);
        ck_assert_int_eq(vs_des_usage(des, link).saturated, n * SECOND);
    }
}
END_TEST

/* Links of 10 and 4 GB/s. A flow over both gets 4; one on the first only gets the other 6. 8 GB and
 * 6 GB: the second ends after 1 s, the first after 2 s, held by the 4 GB/s link all the time. */
START_TEST(flow_crosses_two_links) {
    const vs_resource wide = vs_des_resource(des, 10 * GIGA);
    const vs_resource narrow = vs_des_resource(des, 4 * GIGA);
    const struct vs_demand both[] = {{wide, 8 * GIGA}, {narrow, 8 * GIGA}};
    const vs_activity long_way = add((struct vs_activity_spec){
        .stream = vs_des_stream(des), .demands = both, .demand_count = 2});
    const vs_activity short_way = add_flow(vs_des_stream(des), wide, 6 * GIGA, VS_NONE);
    run();
    ck_assert_int_eq(vs_des_end(des, short_way), SECOND);
    ck_assert_int_eq(vs_des_end(des, long_way), 2 * SECOND);
    const struct vs_usage first = vs_des_usage(des, wide), second = vs_des_usage(des, narrow);
    ck_assert_double_eq(first.served, 14 * GIGA);
    ck_assert_int_eq(first.busy, 2 * SECOND);
    ck_assert_int_eq(first.saturated, SECOND);
    ck_assert_int_eq(second.saturated, 2 * SECOND);
}
END_TEST

/* A memory of 80 GB/s, a processor of 1 TFLOP/s. The kernel moves 100 GB and computes 2 TFLOP, so
 * alone it is held to 50 GB/s by the processor. Beside a copy both get 40 GB/s: the copy of 40 GB
 * ends after 1 s; then the kernel has 60 GB left at 50 GB/s and ends after 2.2 s. */
START_TEST(kernel_and_copy_on_one_memory) {
    const vs_resource memory = vs_des_resource(des, 80 * GIGA);
    const vs_resource processor = vs_des_resource(des, 1000 * GIGA);
    const struct vs_demand demands[] = {{memory, 100 * GIGA}, {processor, 2000 * GIGA}};
    const vs_stream compute = vs_des_stream(des);
    const vs_activity kernel =
        add((struct vs_activity_spec){.stream = compute, .demands = demands, .demand_count = 2});
    const vs_activity copy = add_flow(vs_des_stream(des), memory, 40 * GIGA, VS_NONE);
    run();
    ck_assert_int_eq(vs_des_end(des, copy), SECOND);
    ck_assert_int_eq(vs_des_end(des, kernel), 2200000000000);
    ck_assert_int_eq(vs_des_usage(des, memory).saturated, SECOND);
    ck_assert_int_eq(vs_des_usage(des, memory).busy, 2200000000000);
    ck_assert_int_eq(vs_des_usage(des, processor).saturated, 1200000000000);
    ck_assert_double_eq(vs_des_usage(des, processor).served, 2000 * GIGA);
    ck_assert_int_eq(vs_des_stream_busy(des, compute), 2200000000000);
}
END_TEST

enum { LAYERS = 12 };

/* Copies of copy[i] s on a link and kernels of kernel[i] s on a processor. The copy of layer i
 * needs the buffer of layer i - 1 - depth to be free. */
static vs_time pipeline(const int *copy, const int *kernel, int depth) {
    vs_activity kernels[LAYERS];
    vs_des_reset(des);
    for (int i = 0; i < LAYERS; i++) {
        const vs_activity buffer = i > depth ? kernels[i - 1 - depth] : VS_NONE;
        const vs_activity c = add_flow(0, 0, copy[i], buffer);
        kernels[i] = add_flow(1, 1, kernel[i], c);
    }
    run();
    return vs_des_now(des) / SECOND;
}

/* Equal layers of 3 s to copy and 2 s to compute: without prefetch 12 * 5 = 60 s; with depth 1 the
 * link never stops, 12 * 3 + 2 = 38 s, and depth 2 can't do better. Copies of 1, 1, 4 s and kernels
 * of 2 s are 24 s of each; only depth 2 keeps the link busy: depth 1: copied 1 2 7 8 10 15 16 18 23
 * 24 26 31, computed 3 5 9 11 13 17 19 21 25 27 29 33 depth 2: copied 1 2 6 7  8 12 13 14 18 19 20
 * 24, computed 3 5 8 10 12 14 16 18 20 22 24 26 from copied(i) = max(copied(i-1),
 * computed(i-1-depth)) + copy(i) and computed(i) = max(computed(i-1), copied(i)) + kernel(i). */
START_TEST(pipelines) {
    vs_des_resource(des, 1);
    vs_des_resource(des, 1);
    vs_des_stream(des);
    vs_des_stream(des);
    int copy[LAYERS], kernel[LAYERS];
    for (int i = 0; i < LAYERS; i++) {
        copy[i] = 3;
        kernel[i] = 2;
    }
    ck_assert_int_eq(pipeline(copy, kernel, 0), 60);
    ck_assert_int_eq(pipeline(copy, kernel, 1), 38);
    ck_assert_int_eq(pipeline(copy, kernel, 2), 38);
    for (int i = 0; i < LAYERS; i++)
        copy[i] = i % 3 == 2 ? 4 : 1;
    ck_assert_int_eq(pipeline(copy, kernel, 1), 33);
    ck_assert_int_eq(pipeline(copy, kernel, 2), 26);
}
END_TEST

/* Latencies only: 3 then 0 then 4 ps on one stream. */
START_TEST(latency_only) {
    const vs_stream stream = vs_des_stream(des);
    const vs_activity a = add_wait(stream, 3), b = add_wait(stream, 0), c = add_wait(stream, 4);
    run();
    ck_assert_int_eq(vs_des_end(des, a), 3);
    ck_assert_int_eq(vs_des_start(des, b), 3);
    ck_assert_int_eq(vs_des_end(des, b), 3);
    ck_assert_int_eq(vs_des_end(des, c), 7);
    ck_assert_int_eq(vs_des_stream_busy(des, stream), 7);
    ck_assert_uint_eq(vs_des_events(des), 3);
}
END_TEST

/* A link of 10 GB/s: a copy that can do 2 GB/s leaves 8 to the other; 4 GB and 16 GB end after 2 s.
 * Alone, it does not saturate the link. */
START_TEST(max_rate) {
    const vs_resource link = vs_des_resource(des, 10 * GIGA);
    const vs_stream slow = vs_des_stream(des);
    const struct vs_demand four = {link, 4 * GIGA};
    const struct vs_activity_spec limited = {
        .stream = slow, .demands = &four, .demand_count = 1, .max_rate = 2 * GIGA};
    const vs_activity a = add(limited);
    const vs_activity b = add_flow(vs_des_stream(des), link, 16 * GIGA, VS_NONE);
    run();
    ck_assert_int_eq(vs_des_end(des, a), 2 * SECOND);
    ck_assert_int_eq(vs_des_end(des, b), 2 * SECOND);
    ck_assert_int_eq(vs_des_usage(des, link).saturated, 2 * SECOND);
    vs_des_reset(des);
    add(limited);
    run();
    ck_assert_int_eq(vs_des_now(des), 2 * SECOND);
    ck_assert_int_eq(vs_des_usage(des, link).saturated, 0);
    ck_assert_int_eq(vs_des_usage(des, link).busy, 2 * SECOND);
}
END_TEST

/* One stream runs one activity at a time, in order, though the link has room and the second waits
 * for something: the third stays behind it. */
START_TEST(streams_are_fifo) {
    const vs_resource link = vs_des_resource(des, 1);
    const vs_stream queue = vs_des_stream(des), other = vs_des_stream(des);
    const vs_activity five = add_wait(other, 5 * SECOND);
    const vs_activity a = add_flow(queue, link, 2, VS_NONE);
    const vs_activity b = add_flow(queue, link, 3, five);
    const vs_activity c = add_flow(queue, link, 1, VS_NONE);
    run();
    ck_assert_int_eq(vs_des_end(des, a), 2 * SECOND);
    ck_assert_int_eq(vs_des_start(des, b), 5 * SECOND);
    ck_assert_int_eq(vs_des_end(des, b), 8 * SECOND);
    ck_assert_int_eq(vs_des_start(des, c), 8 * SECOND);
    ck_assert_int_eq(vs_des_end(des, c), 9 * SECOND);
    ck_assert_int_eq(vs_des_stream_busy(des, queue), 6 * SECOND);
    ck_assert_int_eq(vs_des_usage(des, link).busy, 6 * SECOND);
}
END_TEST

/* A diamond over four streams: a, then b (2 s) and c (3 s), then d, which names b twice. */
START_TEST(dependencies_across_streams) {
    for (int i = 0; i < 4; i++)
        vs_des_stream(des);
    const vs_activity a = add_wait(0, SECOND);
    const vs_activity b = add((struct vs_activity_spec){
        .stream = 1, .latency = 2 * SECOND, .after = &a, .after_count = 1});
    const vs_activity c = add((struct vs_activity_spec){
        .stream = 2, .latency = 3 * SECOND, .after = &a, .after_count = 1});
    const vs_activity all[] = {b, c, b};
    const vs_activity d = add(
        (struct vs_activity_spec){.stream = 3, .latency = SECOND, .after = all, .after_count = 3});
    run();
    ck_assert_int_eq(vs_des_start(des, b), SECOND);
    ck_assert_int_eq(vs_des_start(des, c), SECOND);
    ck_assert_int_eq(vs_des_start(des, d), 4 * SECOND);
    ck_assert_int_eq(vs_des_end(des, d), 5 * SECOND);
}
END_TEST

/* Streams without activities, and one that waits for the very end, delay nobody. */
START_TEST(idle_streams_delay_nobody) {
    const vs_resource link = vs_des_resource(des, 1);
    const vs_stream busy = vs_des_stream(des), waits = vs_des_stream(des);
    vs_des_stream(des);
    const vs_activity a = add_flow(busy, link, 1, VS_NONE);
    const vs_activity b = add_flow(busy, link, 1, VS_NONE);
    const vs_activity c = add_flow(waits, link, 1, b);
    run();
    ck_assert_int_eq(vs_des_end(des, a), SECOND);
    ck_assert_int_eq(vs_des_end(des, b), 2 * SECOND);
    ck_assert_int_eq(vs_des_end(des, c), 3 * SECOND);
}
END_TEST

/* Two demands on one resource count as their sum: 1 + 2 bytes at 1 byte/s take 3 s. */
START_TEST(two_demands_on_one_resource) {
    const vs_resource link = vs_des_resource(des, 1);
    const struct vs_demand demands[] = {{link, 1}, {link, 2}};
    const vs_activity a = add((struct vs_activity_spec){
        .stream = vs_des_stream(des), .demands = demands, .demand_count = 2});
    run();
    ck_assert_int_eq(vs_des_end(des, a), 3 * SECOND);
    ck_assert_double_eq(vs_des_usage(des, link).served, 3);
}
END_TEST

/* After a run more can be added: it starts then. What ended counts as done. */
START_TEST(runs_can_go_on) {
    const vs_stream stream = vs_des_stream(des), other = vs_des_stream(des);
    const vs_activity a = add_wait(stream, 5);
    run();
    const vs_activity b = add(
        (struct vs_activity_spec){.stream = other, .latency = 2, .after = &a, .after_count = 1});
    ck_assert_int_eq(vs_des_end(des, b), -1);
    run();
    ck_assert_int_eq(vs_des_start(des, b), 5);
    ck_assert_int_eq(vs_des_end(des, b), 7);
    ck_assert_uint_eq(vs_des_events(des), 1);
}
END_TEST

static bool is_refused(struct vs_activity_spec spec) { return vs_des_add(des, &spec) == VS_NONE; }

/* Each rule of the header, broken once; nothing is added. */
START_TEST(bad_specifications) {
    const double zero = 0, nan = zero / (zero + DBL_MIN * DBL_MIN);
    const vs_resource link = vs_des_resource(des, 1);
    const vs_stream stream = vs_des_stream(des);
    ck_assert_uint_eq(vs_des_resource(des, 0), VS_NONE);
    ck_assert_uint_eq(vs_des_resource(des, -1), VS_NONE);
    ck_assert_uint_eq(vs_des_resource(des, 2 * DBL_MAX), VS_NONE);
    ck_assert_uint_eq(vs_des_resource(des, nan), VS_NONE);
    const vs_activity unknown = 0;
    ck_assert(is_refused((struct vs_activity_spec){.stream = stream + 1}));
    ck_assert(is_refused((struct vs_activity_spec){.stream = VS_NONE}));
    ck_assert(is_refused((struct vs_activity_spec){.latency = -1}));
    ck_assert(is_refused((struct vs_activity_spec){.max_rate = -1}));
    ck_assert(is_refused((struct vs_activity_spec){.max_rate = nan}));
    ck_assert(is_refused((struct vs_activity_spec){.after = &unknown, .after_count = 1}));
    const struct vs_demand demands[VS_DEMANDS_MAX + 1] = {
        {link + 1, 1}, {link, 0}, {link, -1}, {link, 2 * DBL_MAX}, {link, nan}};
    for (int i = 0; i < 5; i++)
        ck_assert(is_refused((struct vs_activity_spec){.demands = &demands[i], .demand_count = 1}));
    ck_assert(is_refused(
        (struct vs_activity_spec){.demands = demands, .demand_count = VS_DEMANDS_MAX + 1}));
    run();
    ck_assert_int_eq(vs_des_now(des), 0);
    ck_assert_int_eq(vs_des_end(des, 0), -1);
    ck_assert_int_eq(vs_des_start(des, 7), -1);
    ck_assert_double_eq(vs_des_usage(des, link).served, 0);
    ck_assert_double_eq(vs_des_usage(des, 99).served, 0);
    ck_assert_int_eq(vs_des_stream_busy(des, 99), 0);
    vs_des_free(NULL);
}
END_TEST

static Suite *des_suite(void) {
    Suite *suite = suite_create("des");
    TCase *tests = tcase_create("des");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, one_flow);
    tcase_add_test(tests, ends_are_rounded_up);
    tcase_add_test(tests, equal_flows);
    tcase_add_test(tests, flow_crosses_two_links);
    tcase_add_test(tests, kernel_and_copy_on_one_memory);
    tcase_add_test(tests, pipelines);
    tcase_add_test(tests, latency_only);
    tcase_add_test(tests, max_rate);
    tcase_add_test(tests, streams_are_fifo);
    tcase_add_test(tests, dependencies_across_streams);
    tcase_add_test(tests, idle_streams_delay_nobody);
    tcase_add_test(tests, two_demands_on_one_resource);
    tcase_add_test(tests, runs_can_go_on);
    tcase_add_test(tests, bad_specifications);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void) { return run_suite(des_suite()); }
