/* What holds for every system, and for numbers at the ends of their ranges. */
#include <float.h>

#include "des_helpers.h"
#include "unit/suite.h"

static uint64_t state;

/* SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t draw(void) {
    uint64_t z = (state += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

enum { RANDOM_STREAMS = 6, RANDOM_RESOURCES = 4, RANDOM_ACTIVITIES = 400 };

/* Random activities with one to three demands, latencies that are multiples of 4 ps, and
 * dependencies. Capacities are multiplied by `scale` and latencies divided by it. Sums up in
 * `asked`. */
static void add_random(uint64_t seed, int scale, double *asked) {
    state = seed;
    for (int r = 0; r < RANDOM_RESOURCES; r++)
        asked[r] = 0;
    for (uint32_t i = 0; i < RANDOM_ACTIVITIES; i++) {
        struct vs_demand demands[3];
        const size_t count = draw() % 4;
        const uint32_t first = (uint32_t)draw() % RANDOM_RESOURCES;
        for (size_t k = 0; k < count; k++) {
            demands[k] = (struct vs_demand){(first + (uint32_t)k) % RANDOM_RESOURCES,
                                            (double)(1 + draw() % 1000000)};
            asked[demands[k].resource] += demands[k].amount;
        }
        const vs_activity after = i ? (vs_activity)(draw() % i) : 0;
        const vs_time latency = (vs_time)(draw() % 2 ? 4 * (draw() % 1000000) : 0);
        add((struct vs_activity_spec){
            .stream = (vs_stream)(draw() % RANDOM_STREAMS),
            .latency = latency / scale,
            .demands = demands,
            .demand_count = count,
            .after = &after,
            .after_count = i && draw() % 2,
            .max_rate = draw() % 4 ? 0 : 2e9 * scale,
        });
    }
}

static struct vs_des *random_world(int scale) {
    struct vs_des *world = vs_des_new();
    ck_assert_ptr_nonnull(world);
    for (int r = 0; r < RANDOM_RESOURCES; r++)
        vs_des_resource(world, (3e9 + r * 1e9) * scale);
    for (int s = 0; s < RANDOM_STREAMS; s++)
        vs_des_stream(world);
    return world;
}

/* Capacities times 4 and latencies by 4: all times by 4, but for the rounding of each end to a
 * tick. */
START_TEST(scaling_capacities_scales_time) {
    double asked[RANDOM_RESOURCES];
    struct vs_des *plain = random_world(1), *fast = random_world(4);
    struct vs_des *mine = des;
    des = plain;
    add_random(3, 1, asked);
    run();
    des = fast;
    add_random(3, 4, asked);
    run();
    des = mine;
    for (vs_activity i = 0; i < RANDOM_ACTIVITIES; i++) {
        const vs_time difference = vs_des_end(plain, i) - 4 * vs_des_end(fast, i);
        ck_assert_int_le(difference, 4 * RANDOM_ACTIVITIES);
        ck_assert_int_ge(difference, -4 * RANDOM_ACTIVITIES);
    }
    ck_assert_int_gt(vs_des_now(plain), 1000000000);
    vs_des_free(plain);
    vs_des_free(fast);
}
END_TEST

/* Laws on random systems: everything starts and ends, in order of its stream and after its latency;
 * served is what was asked; nothing is busy for longer than time or saturated longer than busy; no
 * resource serves more than capacity times busy time; a second run after a reset gives the same
 * bits. */
START_TEST(random_systems_keep_the_laws) {
    for (uint64_t seed = 1; seed <= 50; seed++) {
        double asked[RANDOM_RESOURCES];
        static vs_time ends[RANDOM_ACTIVITIES];
        struct vs_des *mine = des;
        des = random_world(1);
        add_random(seed, 1, asked);
        run();
        for (vs_activity i = 0; i < RANDOM_ACTIVITIES; i++) {
            ends[i] = vs_des_end(des, i);
            ck_assert_int_ge(vs_des_start(des, i), 0);
            ck_assert_int_ge(ends[i], vs_des_start(des, i));
            ck_assert_int_le(ends[i], vs_des_now(des));
        }
        for (vs_resource r = 0; r < RANDOM_RESOURCES; r++) {
            const struct vs_usage usage = vs_des_usage(des, r);
            const double most = (3e9 + r * 1e9) * 1e-12 * (double)usage.busy;
            ck_assert_double_eq(usage.served, asked[r]);
            ck_assert_int_le(usage.busy, vs_des_now(des));
            ck_assert_int_le(usage.saturated, usage.busy);
            ck_assert_double_le(usage.served, most * (1 + 1e-12));
        }
        vs_des_reset(des);
        add_random(seed, 1, asked);
        run();
        for (vs_activity i = 0; i < RANDOM_ACTIVITIES; i++)
            ck_assert_int_eq(vs_des_end(des, i), ends[i]);
        vs_des_free(des);
        des = mine;
    }
}
END_TEST

/* A long flow of 600 GB on a link of 3 GB/s beside 100,000 short ones: 1 ms pause, then 1.5 MB,
 * which take 1 ms at half the link. The long one's rate changes 200,000 times; the link never
 * rests, so the end is (600 + 150) GB / 3 GB/s = 250 s, to the tick. */
START_TEST(rate_changes_do_not_drift) {
    const vs_resource link = vs_des_resource(des, 3 * GIGA);
    const vs_stream slow = vs_des_stream(des), quick = vs_des_stream(des);
    const vs_activity flow = add_flow(slow, link, 600 * GIGA, VS_NONE);
    vs_activity last = VS_NONE;
    for (int i = 0; i < 100000; i++) {
        const struct vs_demand bytes = {link, 1.5e6};
        last = add((struct vs_activity_spec){
            .stream = quick, .latency = SECOND / 1000, .demands = &bytes, .demand_count = 1});
    }
    run();
    ck_assert_int_eq(vs_des_end(des, last), 200 * SECOND);
    ck_assert_int_eq(vs_des_end(des, flow), 250 * SECOND);
    ck_assert_int_eq(vs_des_usage(des, link).saturated, 250 * SECOND);
}
END_TEST

/* 106 days are the end of time: 107 in one latency sum or in one slow flow are an error,
 * VS_TIME_MAX itself is not. A flow that would need 120 days beside another, which ends soon, needs
 * 61 (a double keeps 53 bits of these 63). */
START_TEST(time_has_an_end) {
    const vs_time day = 86400 * SECOND;
    const vs_resource link = vs_des_resource(des, 1);
    const vs_stream stream = vs_des_stream(des), other = vs_des_stream(des);
    add_wait(stream, VS_TIME_MAX);
    run();
    ck_assert_int_eq(vs_des_now(des), VS_TIME_MAX);
    vs_des_reset(des);
    add_wait(stream, 53 * day);
    add_wait(stream, 54 * day);
    ck_assert(!vs_des_run(des, &err));
    ck_assert_int_eq(err.status, VS_ERR_INPUT);
    vs_des_reset(des);
    add_flow(stream, link, 107 * 86400, VS_NONE);
    ck_assert(!vs_des_run(des, &err));
    vs_des_reset(des);
    add_flow(stream, link, DBL_MAX, VS_NONE);
    ck_assert(!vs_des_run(des, &err));
    vs_des_reset(des);
    const vs_activity a = add_flow(stream, link, 60 * 86400, VS_NONE);
    add_flow(other, link, 86400, VS_NONE);
    run();
    ck_assert_int_le(vs_des_end(des, a) - 61 * day, 4096);
    ck_assert_int_ge(vs_des_end(des, a) - 61 * day, -4096);
}
END_TEST

/* Amounts and capacities at the ends of the range of doubles end in an error or an end, never in a
 * trap. */
START_TEST(absurd_magnitudes) {
    const double sizes[] = {DBL_MIN, 1, DBL_MAX};
    vs_des_stream(des);
    vs_des_stream(des);
    for (uint32_t r = 0; r < 3; r++)
        vs_des_resource(des, sizes[r]);
    for (uint32_t i = 0; i < 729; i++) {
        vs_des_reset(des);
        const struct vs_demand demands[] = {{i % 3, sizes[i / 3 % 3]},
                                            {(i + 1) % 3, sizes[i / 9 % 3]}};
        add((struct vs_activity_spec){.stream = 0, .demands = demands, .demand_count = 2});
        add((struct vs_activity_spec){.stream = 1,
                                      .demands = &demands[i / 81 % 2],
                                      .demand_count = 1,
                                      .max_rate = i / 243 ? sizes[i / 243] : 0});
        if (vs_des_run(des, &err))
            ck_assert_int_gt(vs_des_end(des, 0), 0);
        else
            ck_assert_int_eq(err.status, VS_ERR_INPUT);
    }
}
END_TEST

static Suite *laws_suite(void) {
    Suite *suite = suite_create("des laws");
    TCase *tests = tcase_create("des laws");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, scaling_capacities_scales_time);
    tcase_add_test(tests, random_systems_keep_the_laws);
    tcase_add_test(tests, rate_changes_do_not_drift);
    tcase_add_test(tests, time_has_an_end);
    tcase_add_test(tests, absurd_magnitudes);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void) { return run_suite(laws_suite()); }
