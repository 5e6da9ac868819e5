/* Carries out phases on a machine: memory actions on pools, operations as activities. The only
 * place where plans meet the two engines.
 *
 * Memory acts in the order in which the host issues (as real allocators do), so a phase is first
 * walked on the pools; then, where time is asked for, it is run as activities. A walk can be had
 * without the clock. */
#ifndef VS_RUN_LOWER_H
#define VS_RUN_LOWER_H

#include "base/vec.h"
#include "des/des.h"
#include "memory/pool.h"
#include "run/cost.h"
#include "run/outcome.h"

/* Managed pages that moved while the last walk was at an operation. */
struct vs_moved {
    vs_op_id op;
    uint8_t device;
    uint64_t in_bytes, out_bytes;
};

/* Levels: the pools as a timeline tells them apart: devices, host, storage. */
enum { VS_LEVELS_MAX = VS_DEVICES_PLANNED + 2 };

/* What a tag holds in a pool behind the memory actions of an operation, where it changed. */
struct vs_held {
    vs_op_id op;
    uint32_t level; /* of the pool */
    enum vs_tag tag;
    uint64_t bytes;
};

/* For a timeline: what a driver has handed out of each pool, behind the memory actions of each
 * operation of a walk, and at its end; and what it is held for. */
struct vs_walked {
    const struct vs_phase *phase; /* NULL = none, or no longer what was walked */
    VS_VEC(uint64_t) uses;        /* bytes by operation and level */
    VS_VEC(struct vs_held) held;
};

/* What a stream was given, for its bounded queue: operations in order, each with the launches up to
 * its end. */
struct vs_queued {
    double launches;
    vs_activity activity;
};

/* A device as the executor sees it. */
struct vs_unit {
    char name[8]; /* "gpu0" */
    size_t like; /* the unit that stands for it: itself, or one whose pool is walked in its place */
    struct vs_rates rates;
    vs_resource part[VS_PART_COUNT]; /* parts and lanes of the host are the same for all devices */
    vs_stream lane[VS_LANE_COUNT];
    VS_VEC(struct vs_queued) queue;
    size_t queue_first; /* the first that may still matter */
    double busy_s[VS_PART_COUNT],
        saturated_s[VS_PART_COUNT]; /* sums over phases run with the clock */
};

struct vs_executor {
    const struct vs_plan *plan;
    struct vs_unit *units; /* at least one: without a device its lanes stay empty */
    size_t unit_count;
    bool rounds_pinned;                   /* page-locked requests grow to a power of two */
    struct vs_pool *pools[VS_HOME_COUNT]; /* with unified memory all but storage are one */
    VS_VEC(vs_block) held;   /* per buffer of the plan, and again per slot beyond the first */
    vs_buffer_id slots_from; /* buffers from here on exist once to a slot */
    uint32_t slot, slots;    /* the current one, and how many there are */
    VS_VEC(struct vs_moved) moved;
    bool pages; /* the plan has managed buffers: pages may move */

    struct vs_des *des;
    VS_VEC(vs_activity) after;    /* scratch: what the next activity waits for */
    VS_VEC(vs_activity) activity; /* per operation of the phase that ran last */
    double launch_s, time_s;      /* sums over phases run with the clock */

    /* the first failure */
    const char *oom_phase;
    struct vs_op oom_op;
    struct vs_buffer oom_buffer;
    unsigned oom_home;
    vs_op_id oom_index;
    bool out_of_memory;

    /* for a timeline; NULL = not wanted */
    struct vs_arena *record;
    VS_VEC(struct vs_span) spans;
    VS_VEC(size_t) waits;
    VS_VEC(size_t) span_of; /* scratch: by operation of the phase, the span that stands for it */
    VS_VEC(struct vs_level) levels, tag_levels;
    VS_VEC(struct vs_phase_time) phases;
    VS_VEC(struct vs_work_done) work;
    struct vs_walked walked[2];                  /* the last walks of two phases */
    size_t older;                                /* which of them was walked first */
    uint64_t noted[VS_LEVELS_MAX][VS_TAG_COUNT]; /* by the walk that goes on */
    uint64_t shown[VS_LEVELS_MAX], shown_by_tag[VS_LEVELS_MAX][VS_TAG_COUNT]; /* recorded last, */
    double shown_s;                                                           /* and when */
};

bool vs_executor_init(struct vs_executor *x, const struct vs_plan *plan, struct vs_err *err);
void vs_executor_release(struct vs_executor *x);

/* Phases that run several times at once (micro-batches on their way through a pipeline): buffers
 * from `first` on exist once to a slot, and walks act on those of x->slot. Call before they are
 * walked, behind the last emission. */
bool vs_executor_slots(struct vs_executor *x, vs_buffer_id first, uint32_t slots,
                       struct vs_err *err);

/* For schedules of phases that were timed, between vs_des_reset and vs_des_run: an activity that
 * occupies a device for so long, and a single operation; `after` may be VS_NONE. VS_NONE when
 * memory runs out. */
vs_activity vs_add_timed(struct vs_executor *x, size_t device, double seconds, vs_activity after);
vs_activity vs_add_operation(struct vs_executor *x, const struct vs_op *op, vs_activity after);

/* Memory actions of a phase. After the first OOM the pools have no ceiling; with `stop` the walk
 * ends there. */
bool vs_walk(struct vs_executor *x, const struct vs_phase *phase, bool stop, struct vs_err *err);

/* Time of the phase (after its walk), drained at both ends. Operations from `until` on are left out
 * (VS_NO_OP = none). Adds to the sums when `count` > 0, that often. */
bool vs_time_phase(struct vs_executor *x, const struct vs_phase *phase, vs_op_id until,
                   double count, double *seconds, struct vs_err *err);

/* Equal numbers: the pools would answer all that follows alike. */
uint64_t vs_executor_state(const struct vs_executor *x);

/* What is timed next was not walked: no pages move, no levels are recorded. */
void vs_forget_walk(struct vs_executor *x);

/* "gpu0 compute", "host issue" into the arena; NULL when memory runs out. */
const char *vs_lane_name(struct vs_arena *arena, const struct vs_unit *unit, enum vs_lane lane);

/* Of lower_record.c, for a timeline: the phase that was timed last, which began at `from_s`. */
void vs_record_release(struct vs_executor *x);
bool vs_record(struct vs_executor *x, const struct vs_phase *phase, double from_s, double repeats);
/* A phase that is one activity of a device, such as a step of a pipeline's stage. */
bool vs_record_whole(struct vs_executor *x, size_t device, const char *kind, const char *what,
                     vs_activity activity);

/* Of lower_levels.c, for a timeline: a walk begins; an operation's actions were done; the phase was
 * timed, from `from_s` to `end_s`. */
void vs_levels_begin(struct vs_executor *x, const struct vs_phase *phase);
bool vs_levels_note(struct vs_executor *x);
bool vs_levels_time(struct vs_executor *x, const struct vs_phase *phase, double from_s,
                    double end_s);

/* The sums over phases run with the clock, as `vs_sum_count` numbers: read, and added so often. */
void vs_clear_sums(struct vs_executor *x);
size_t vs_sum_count(const struct vs_executor *x);
void vs_sums_read(const struct vs_executor *x, double *sums);
void vs_sums_add(struct vs_executor *x, const double *sums, double count);

#endif
