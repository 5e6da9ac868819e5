/* For tests of the event engine: one engine for each case. */
#ifndef VS_TESTS_DES_HELPERS_H
#define VS_TESTS_DES_HELPERS_H

#include <check.h>

#include "des/des.h"

#define SECOND VS_TIME_PER_S
#define GIGA 1e9

static struct vs_des *des;
static struct vs_err err;

static inline void set_up(void) {
    des = vs_des_new();
    ck_assert_ptr_nonnull(des);
}

static inline void tear_down(void) { vs_des_free(des); }

static inline void run(void) { ck_assert(vs_des_run(des, &err)); }

static inline vs_activity add(struct vs_activity_spec spec) {
    const vs_activity activity = vs_des_add(des, &spec);
    ck_assert_uint_ne(activity, VS_NONE);
    return activity;
}

/* `amount` of one resource, behind at most one other activity. */
static inline vs_activity add_flow(vs_stream stream, vs_resource resource, double amount,
                                   vs_activity after) {
    const struct vs_demand demand = {resource, amount};
    return add((struct vs_activity_spec){.stream = stream,
                                         .demands = &demand,
                                         .demand_count = 1,
                                         .after = &after,
                                         .after_count = after != VS_NONE});
}

static inline vs_activity add_wait(vs_stream stream, vs_time latency) {
    return add((struct vs_activity_spec){.stream = stream, .latency = latency});
}

#endif
