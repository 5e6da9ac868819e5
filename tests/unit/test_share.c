#include <float.h>
#include <math.h>

#include "des/share.h"
#include "unit/suite.h"

enum { RESOURCES_MAX = 24, FLOWS_MAX = 40 };

/* A random system, kept beside the one under test. */
struct system {
    int resource_count, flow_count;
    double capacity[RESOURCES_MAX];
    bool present[FLOWS_MAX];
    double limit[FLOWS_MAX]; /* 0 = none */
    int term_count[FLOWS_MAX];
    struct vs_share_term terms[FLOWS_MAX][VS_SHARE_TERMS_MAX];
    bool without_limits;
    /* As `changed` and `switched` told so far: */
    double told_rate[FLOWS_MAX];
    bool told_busy[RESOURCES_MAX], told_binding[RESOURCES_MAX];
};

/* By brute force: raise all rates together until a resource is full or a limit is met, stop those
 * flows, sum up everything anew, go on. */
static void solve_by_force(const struct system *s, double *rate) {
    bool open[FLOWS_MAX];
    int left = 0;
    for (int i = 0; i < s->flow_count; i++) {
        open[i] = s->present[i];
        left += open[i];
        rate[i] = 0;
    }
    while (left > 0) {
        double full[RESOURCES_MAX];
        double level = DBL_MAX;
        for (int r = 0; r < s->resource_count; r++) {
            double used = 0, slope = 0;
            for (int i = 0; i < s->flow_count; i++)
                for (int k = 0; s->present[i] && k < s->term_count[i]; k++)
                    if ((int)s->terms[i][k].resource == r) {
                        used += open[i] ? 0 : s->terms[i][k].coefficient * rate[i];
                        slope += open[i] ? s->terms[i][k].coefficient : 0;
                    }
            full[r] = slope > 0 ? (s->capacity[r] - used) / slope : DBL_MAX;
            level = fmin(level, full[r]);
        }
        for (int i = 0; i < s->flow_count; i++)
            if (open[i] && s->limit[i] > 0)
                level = fmin(level, s->limit[i]);
        for (int i = 0; i < s->flow_count; i++) {
            bool stops = s->limit[i] > 0 && s->limit[i] <= level;
            for (int k = 0; k < s->term_count[i]; k++)
                stops = stops || full[s->terms[i][k].resource] <= level;
            if (open[i] && stops) {
                open[i] = false;
                rate[i] = level;
                left--;
            }
        }
    }
}

static uint64_t state;

/* SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t draw(void) {
    uint64_t z = (state += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

static int below(int n) { return (int)(draw() % (uint64_t)n); }

/* In [0.01, 100), from few values half of the time, so that ties happen. */
static double positive(void) {
    return below(2) ? 1 + below(4) : 0.01 * pow(10, 4 * (double)(draw() >> 11) * 0x1p-53);
}

static void come(struct system *s, struct vs_share *share, int flow, int terms_max) {
    const int most = terms_max < s->resource_count ? terms_max : s->resource_count;
    s->term_count[flow] = 1 + below(most);
    const int first = below(s->resource_count);
    const int step = s->resource_count > 2 && s->resource_count % 2 ? 2 : 1;
    for (int k = 0; k < s->term_count[flow]; k++) {
        struct vs_share_term *term = &s->terms[flow][k];
        term->resource = (uint32_t)((first + k * step) % s->resource_count);
        term->coefficient = k == 0 ? 1 : positive();
    }
    s->limit[flow] = s->without_limits || below(3) ? 0 : positive();
    s->present[flow] = true;
    s->told_rate[flow] = 0;
    vs_share_enter(share, (uint32_t)flow, s->limit[flow], s->terms[flow],
                   (size_t)s->term_count[flow]);
}

static void compare_rates(const struct system *s, const struct vs_share *share) {
    double rate[FLOWS_MAX];
    solve_by_force(s, rate);
    for (int i = 0; i < s->flow_count; i++)
        ck_assert_double_eq_tol(vs_share_rate(share, (uint32_t)i), rate[i],
                                1e-11 * rate[i] + DBL_MIN);
}

/* The certificate: no resource gives more than it has, and each flow meets its limit or crosses a
 * binding resource that is full and on which no rate is higher. */
static void check_certificate(const struct system *s, const struct vs_share *share) {
    double used[RESOURCES_MAX] = {0}, highest[RESOURCES_MAX] = {0};
    for (int i = 0; i < s->flow_count; i++)
        for (int k = 0; s->present[i] && k < s->term_count[i]; k++) {
            const struct vs_share_term *term = &s->terms[i][k];
            const double rate = vs_share_rate(share, (uint32_t)i);
            used[term->resource] += term->coefficient * rate;
            highest[term->resource] = fmax(highest[term->resource], rate);
        }
    for (int r = 0; r < s->resource_count; r++) {
        ck_assert_double_le(used[r], s->capacity[r] * (1 + 1e-11));
        if (share->resources.at[r].binding)
            ck_assert_double_ge(used[r], s->capacity[r] * (1 - 1e-11));
    }
    for (int i = 0; i < s->flow_count; i++) {
        const double rate = vs_share_rate(share, (uint32_t)i);
        bool held = !s->present[i] || (s->limit[i] > 0 && rate >= s->limit[i]);
        for (int k = 0; k < s->term_count[i]; k++) {
            const uint32_t r = s->terms[i][k].resource;
            held = held || (share->resources.at[r].binding && rate >= highest[r] * (1 - 1e-11));
        }
        ck_assert(held);
    }
}

/* Who follows `changed` and `switched` knows all rates, and what is busy and binding. */
static void check_told(struct system *s, const struct vs_share *share) {
    bool twice[FLOWS_MAX] = {false};
    for (size_t i = 0; i < share->changed.count; i++) {
        const uint32_t flow = share->changed.at[i];
        ck_assert(!twice[flow]);
        twice[flow] = true;
        s->told_rate[flow] = vs_share_rate(share, flow);
    }
    for (size_t i = 0; i < share->switched.count; i++) {
        const uint32_t r = share->switched.at[i];
        const bool busy = share->resources.at[r].flow_count > 0;
        const bool binding = share->resources.at[r].binding;
        ck_assert(busy != s->told_busy[r] || binding != s->told_binding[r]);
        s->told_busy[r] = busy;
        s->told_binding[r] = binding;
    }
    for (int i = 0; i < s->flow_count; i++)
        if (s->present[i])
            ck_assert_double_eq(vs_share_rate(share, (uint32_t)i), s->told_rate[i]);
    for (int r = 0; r < s->resource_count; r++) {
        ck_assert(s->told_busy[r] == (share->resources.at[r].flow_count > 0));
        ck_assert(s->told_binding[r] == share->resources.at[r].binding);
    }
}

static void change(struct system *s, struct vs_share *share, int terms_max) {
    const int flow = below(s->flow_count);
    if (s->present[flow])
        vs_share_leave(share, (uint32_t)flow);
    if (s->present[flow] && below(2))
        s->present[flow] = false;
    else
        come(s, share, flow, terms_max);
}

static void check_random_system(const int *size, int steps, bool without_limits) {
    struct system s = {
        .resource_count = size[0], .flow_count = size[1], .without_limits = without_limits};
    struct vs_share share = {0};
    for (int r = 0; r < s.resource_count; r++) {
        s.capacity[r] = 10 * positive();
        ck_assert_uint_eq(vs_share_add_resource(&share, s.capacity[r]), (uint32_t)r);
    }
    for (int i = 0; i < s.flow_count; i++)
        ck_assert_uint_eq(vs_share_add_flow(&share), (uint32_t)i);
    for (int step = 0; step < steps; step++) {
        for (int more = below(step == 0 ? s.flow_count : 3); more >= 0; more--)
            change(&s, &share, size[2]);
        vs_share_solve(&share);
        compare_rates(&s, &share);
        check_certificate(&s, &share);
        check_told(&s, &share);
    }
    vs_share_release(&share);
}

static const int sizes[][3] = {{1, 8, 1}, {3, 4, 3}, {6, 10, 2}, {16, 40, 3}, {24, 30, 6}};

/* 1,200 systems of five sizes, ten states of each; seed 7. */
START_TEST(random_systems_agree_with_brute_force) {
    state = 7;
    for (int i = 0; i < 1200; i++)
        check_random_system(sizes[i % 5], 10, false);
}
END_TEST

/* Without limits what is one component is solved as one for a while, though it may fall apart or
 * grow: 60 systems, a hundred states of each; seed 8. */
START_TEST(components_that_fall_apart) {
    state = 8;
    for (int i = 0; i < 60; i++)
        check_random_system(sizes[i % 5], 100, true);
}
END_TEST

static struct vs_share two_resources(double a, double b, uint32_t flows) {
    struct vs_share share = {0};
    ck_assert_uint_eq(vs_share_add_resource(&share, a), 0);
    ck_assert_uint_eq(vs_share_add_resource(&share, b), 1);
    for (uint32_t i = 0; i < flows; i++)
        ck_assert_uint_eq(vs_share_add_flow(&share), i);
    return share;
}

/* The example of the header: capacity 6, one flow stops at 1, the others share 5. */
START_TEST(limit_leaves_more_to_others) {
    struct vs_share share = two_resources(6, 1, 3);
    const struct vs_share_term term = {0, 1};
    vs_share_enter(&share, 0, 0, &term, 1);
    vs_share_enter(&share, 1, 1, &term, 1);
    vs_share_enter(&share, 2, 0, &term, 1);
    vs_share_solve(&share);
    ck_assert_double_eq(vs_share_rate(&share, 0), 2.5);
    ck_assert_double_eq(vs_share_rate(&share, 1), 1);
    ck_assert_double_eq(vs_share_rate(&share, 2), 2.5);
    ck_assert(share.resources.at[0].binding);
    vs_share_release(&share);
}
END_TEST

/* A flow alone: 10 on a, and 2 of b per unit with 8 of b: b binds at 4. With limit 3 nothing binds.
 */
START_TEST(alone) {
    struct vs_share share = two_resources(10, 8, 1);
    const struct vs_share_term terms[] = {{0, 1}, {1, 2}};
    vs_share_enter(&share, 0, 0, terms, 2);
    vs_share_solve(&share);
    ck_assert_double_eq(vs_share_rate(&share, 0), 4);
    ck_assert(!share.resources.at[0].binding);
    ck_assert(share.resources.at[1].binding);
    vs_share_leave(&share, 0);
    vs_share_enter(&share, 0, 3, terms, 2);
    vs_share_solve(&share);
    ck_assert_double_eq(vs_share_rate(&share, 0), 3);
    ck_assert(!share.resources.at[1].binding);
    vs_share_release(&share);
}
END_TEST

/* Flow 0 on a, flow 1 on b. When flow 1 goes only b is reported; flow 0 keeps its rate unreported.
 * When a flow replaces another of its kind, no rate changes but its own. */
START_TEST(reports_what_changed) {
    struct vs_share share = two_resources(10, 8, 3);
    const struct vs_share_term a = {0, 1}, b = {1, 1};
    vs_share_enter(&share, 0, 0, &a, 1);
    vs_share_enter(&share, 1, 0, &b, 1);
    vs_share_solve(&share);
    ck_assert_uint_eq(share.changed.count, 2);
    ck_assert_uint_eq(share.switched.count, 2);
    vs_share_leave(&share, 1);
    vs_share_solve(&share);
    ck_assert_uint_eq(share.changed.count, 0);
    ck_assert_uint_eq(share.switched.count, 1);
    ck_assert_uint_eq(share.switched.at[0], 1);
    vs_share_enter(&share, 1, 0, &a, 1);
    vs_share_solve(&share);
    ck_assert_uint_eq(share.changed.count, 2);
    vs_share_leave(&share, 1);
    vs_share_enter(&share, 2, 0, &a, 1);
    vs_share_solve(&share);
    ck_assert_uint_eq(share.changed.count, 1);
    ck_assert_uint_eq(share.changed.at[0], 2);
    ck_assert_uint_eq(share.switched.count, 0);
    vs_share_solve(&share);
    ck_assert_uint_eq(share.changed.count, 0);
    vs_share_release(&share);
}
END_TEST

/* Clearing takes flows away: the next one is alone. */
START_TEST(clear) {
    struct vs_share share = two_resources(10, 8, 2);
    const struct vs_share_term a = {0, 1};
    vs_share_enter(&share, 0, 0, &a, 1);
    vs_share_solve(&share);
    vs_share_clear(&share);
    ck_assert_double_eq(vs_share_rate(&share, 0), 0);
    vs_share_enter(&share, 1, 0, &a, 1);
    vs_share_solve(&share);
    ck_assert_double_eq(vs_share_rate(&share, 1), 10);
    vs_share_release(&share);
}
END_TEST

/* Coefficients 24 orders of magnitude apart on one resource: after the large ones have stopped, the
 * slope of the small one is summed up anew instead of being lost in a difference. Flow 0 (1e12 per
 * unit) stops at its limit 1e-12 and takes 1 of 10; flow 1 (1e-12 per unit) gets the other 9, rate
 * 9e12. */
START_TEST(small_coefficients_survive) {
    struct vs_share share = two_resources(10, 8, 2);
    const struct vs_share_term large = {0, 1e12}, small = {0, 1e-12};
    vs_share_enter(&share, 0, 1e-12, &large, 1);
    vs_share_enter(&share, 1, 0, &small, 1);
    vs_share_solve(&share);
    ck_assert_double_eq(vs_share_rate(&share, 0), 1e-12);
    ck_assert_double_eq_tol(vs_share_rate(&share, 1), 9e12, 1);
    vs_share_release(&share);
}
END_TEST

/* Two flows share 10 and have 5 each; when one goes the other has 10: also where the numbers of
 * solutions, which mark flows, come to their end. */
START_TEST(numbers_start_again) {
    struct vs_share share = two_resources(10, 8, 2);
    const struct vs_share_term a = {0, 1};
    share.solution = UINT32_MAX / 2 - 3;
    vs_share_enter(&share, 0, 0, &a, 1);
    for (int i = 0; i < 4; i++) {
        vs_share_enter(&share, 1, 0, &a, 1);
        vs_share_solve(&share);
        ck_assert_double_eq(vs_share_rate(&share, 0), 5);
        ck_assert_double_eq(vs_share_rate(&share, 1), 5);
        vs_share_leave(&share, 1);
        vs_share_solve(&share);
        ck_assert_double_eq(vs_share_rate(&share, 0), 10);
    }
    ck_assert_uint_lt(share.solution, 8);
    vs_share_release(&share);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("share");
    TCase *tests = tcase_create("share");
    tcase_add_test(tests, random_systems_agree_with_brute_force);
    tcase_add_test(tests, components_that_fall_apart);
    tcase_add_test(tests, numbers_start_again);
    tcase_add_test(tests, limit_leaves_more_to_others);
    tcase_add_test(tests, alone);
    tcase_add_test(tests, reports_what_changed);
    tcase_add_test(tests, clear);
    tcase_add_test(tests, small_coefficients_survive);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
