/* A discrete-event simulator of activities that share resources. It knows mathematics only.
 *
 * A *resource* has a capacity in units per second (bytes/s, FLOP/s; the caller decides). An
 * *activity* belongs to one FIFO *stream*, waits for the activities that it depends on, then for a
 * fixed latency, then progresses until its *demands* are met: `amount` units on each of some
 * resources, all in proportion. Its rate is what its scarcest resource grants.
 *
 * Sharing is max-min fair in the unit of an activity's first demand: y_i is the rate of activity i
 * in units of its first demand per second, it uses c_ir * y_i of resource r with c_ir = amount_ir /
 * amount_i0, and the vector y is the max-min fair one under sum_i c_ir * y_i <= capacity_r for all
 * r,   y_i <= max_rate_i. An activity without demands ends after its latency.
 *
 * Time is int64_t picoseconds (106 days). An activity ends at the first tick at which all that it
 * asked for was served. At equal times the order of creation decides: the same input gives the same
 * result, always. No tolerance, no floating time, no allocation in a run.
 *
 *     struct vs_des *des = vs_des_new();
 *     vs_resource link = vs_des_resource(des, 25e9);
 *     vs_stream copy = vs_des_stream(des);
 *     struct vs_demand bytes = {link, 1e9};
 *     vs_activity a = vs_des_add(des, &(struct vs_activity_spec){.stream = copy, .demands = &bytes,
 *                                                               .demand_count = 1});
 *     if (vs_des_run(des, &err)) ... vs_des_end(des, a) == 40000000000 ...
 */
#ifndef VS_DES_DES_H
#define VS_DES_DES_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

typedef int64_t vs_time; /* picoseconds */
#define VS_TIME_PER_S 1000000000000LL
#define VS_TIME_MAX INT64_MAX

typedef uint32_t vs_resource;
typedef uint32_t vs_stream;
typedef uint32_t vs_activity;
#define VS_NONE UINT32_MAX /* no such resource, stream or activity */

enum { VS_DEMANDS_MAX = 6 }; /* demands of one activity */

struct vs_demand {
    vs_resource resource;
    double amount; /* units of the resource; > 0, finite */
};

struct vs_activity_spec {
    vs_stream stream;
    vs_time latency;                 /* >= 0, before the demands are served */
    const struct vs_demand *demands; /* copied; the first one sets the unit of sharing */
    size_t demand_count;             /* 0..VS_DEMANDS_MAX */
    const vs_activity *after;        /* copied; all created earlier */
    size_t after_count;
    double max_rate; /* units of the first demand per second; 0 = no limit */
};

struct vs_des;

/* NULL when memory runs out. vs_des_free(NULL) is fine. */
struct vs_des *vs_des_new(void);
void vs_des_free(struct vs_des *des);

/* Forgets activities, keeps resources, streams, the memory; time starts again at 0. */
void vs_des_reset(struct vs_des *des);

/* capacity in units/s, > 0 and finite. VS_NONE when memory runs out. */
vs_resource vs_des_resource(struct vs_des *des, double capacity);
vs_stream vs_des_stream(struct vs_des *des);

/* Adds an activity behind the others of its stream. VS_NONE when memory runs out or the
 * specification breaks a rule above. */
vs_activity vs_des_add(struct vs_des *des, const struct vs_activity_spec *spec);

/* Runs until every activity has ended; what is added after a run starts at its end in the next one.
 * False when time would pass VS_TIME_MAX (then only vs_des_reset leads on). Allocates nothing. */
bool vs_des_run(struct vs_des *des, struct vs_err *err);

/* After a run: when an activity left the queue and began its latency, and when it ended; -1 when it
 * has not. */
vs_time vs_des_start(const struct vs_des *des, vs_activity activity);
vs_time vs_des_end(const struct vs_des *des, vs_activity activity);
vs_time vs_des_now(const struct vs_des *des);   /* the last end; 0 before a run */
size_t vs_des_events(const struct vs_des *des); /* events handled by the last run */

/* After a run: units served by a resource (the sum of what its activities asked for), the time
 * during which it served anything, and the time during which it was saturated (it was the resource
 * at which some running activity was held back). */
struct vs_usage {
    double served;
    vs_time busy;
    vs_time saturated;
};
struct vs_usage vs_des_usage(const struct vs_des *des, vs_resource resource);
/* After a run: the time between starts and ends (latencies are part of it) of a stream's
 * activities. */
vs_time vs_des_stream_busy(const struct vs_des *des, vs_stream stream);

#endif
