/* What a run found, as plain values: all that reports may see. Everything lives in the arena of the
 * run. */
#ifndef VS_RUN_OUTCOME_H
#define VS_RUN_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Metrics: X(ID, "name", "unit", "help"); an outcome has NaN where a metric does not apply. */
enum vs_metric {
#define X(id, name, unit, help) VS_METRIC_##id,
#include "run/metrics.def"
#undef X
    VS_METRIC_COUNT
};
struct vs_metric_info {
    const char *name, *unit, *help;
};
const struct vs_metric_info *vs_metric_info(enum vs_metric metric);
bool vs_metric_find(const char *name, enum vs_metric *metric);
bool vs_metric_is_speed(enum vs_metric metric);

struct vs_tag_bytes {
    const char *tag;
    uint64_t bytes;
};

struct vs_pool_outcome {
    const char *name;        /* gpu0, host, pinned, storage */
    uint64_t capacity_bytes; /* UINT64_MAX = no ceiling */
    uint64_t peak_bytes;     /* as the driver sees it */
    uint64_t peak_allocated_bytes;
    const struct vs_tag_bytes *by_tag; /* at the peak, largest first, zeros left out */
    size_t by_tag_count;
};

/* Memory figures of one device; NaN where a metric does not apply. */
struct vs_device_outcome {
    double metrics[VS_METRIC_COUNT];
};

struct vs_oom_outcome {
    const char *pool, *phase, *operation, *tensor;
    double at_s; /* simulated time since the start; NaN when only capacity was simulated */
    uint64_t requested_bytes, in_use_bytes, capacity_bytes, short_bytes /* of this request */;
    uint64_t needed_bytes; /* peak of the pool had there been no ceiling */
    const struct vs_tag_bytes *by_tag;
    size_t by_tag_count;
};

/* Of the KV cache's memory: means over the steps of decoding, but for the last. Held = used +
 * reservation + internal. */
struct vs_kv_waste {
    double held_bytes, used_bytes;
    double reservation_bytes; /* slots kept for tokens to come */
    double internal_bytes;    /* rests of blocks, padding, rounding */
    double external_bytes;    /* beside it: free in the allocator's segments, where a cache grows */
    double outgrown_bytes;    /* at the peak: old copies beside the new ones */
};

struct vs_utilization {
    const char *resource;
    double fraction;
};

/* One operation on its stream. */
struct vs_span {
    const char *device, *stream; /* "gpu0" and "compute", "host" and "storage" */
    const char *kind, *what;     /* "gemm", "mlp.up_proj" */
    int layer;                   /* -1 outside the layers */
    double start_s, end_s;
    double flops, bytes;           /* bytes of its memory, or over its link */
    size_t first_wait, wait_count; /* spans of other streams that it waited for, in `waits` */
};
/* What a pool holds from a moment on. */
struct vs_level {
    double at_s;
    const char *pool;
    uint64_t bytes;
    const char *tag; /* NULL = all, as the driver sees it */
};
/* A phase that was timed; those that are alike stand for each other. */
struct vs_phase_time {
    const char *name;
    double start_s, end_s;
    double repeats;
};
/* The work of one kind that a processor did in all phases of a name, and the time it took. */
struct vs_work_done {
    const char *phase, *device, *kind;
    double flops, bytes, seconds;
};
/* What a resource gives at most: FLOP/s or bytes/s. */
struct vs_rate {
    const char *resource; /* as in utilization */
    double per_s;
};

/* A number of the machine's profile and where it comes from. */
struct vs_figure {
    const char *part, *name; /* "rtx4090", "memory.bandwidth" */
    const char *value;       /* with its unit */
    const char *method, *source;
};

/* What became of the requests that a server was sent. */
struct vs_request_counts {
    uint64_t arrived, served;
    uint64_t rejected;         /* longer than the context, or than the KV pool */
    uint64_t preempted;        /* times that one was thrown back from a full pool */
    uint64_t unanswered;       /* rows of a trace of requests that had failed then: not sent */
    uint64_t skipped;          /* bad rows of a trace: not sent */
    const char *first_skipped; /* why; "" = none */
};

struct vs_axis_word {
    const char *axis, *word;
};

struct vs_outcome {
    const char *hw, *machine, *model, *engine, *engine_version, *task;
    const char *arch;                 /* generation of the devices; "cpu" where there are none */
    const struct vs_axis_word *parts; /* of the machine, as asked: gpus, host, ram, ... */
    size_t part_count;
    const struct vs_axis_word *strategy; /* resolved axes that apply, in the order of the table */
    size_t strategy_count;
    const char *label;   /* strategy in words; set by sweep */
    const char *command; /* "vramsim run ..." of this point; NULL = made from its axes */
    const char *const *notes;
    size_t note_count;
    const char *const *assumed;
    size_t assumed_count;
    bool bound; /* engine `ideal`: a bound, not a recommendation */

    uint64_t plan_digest; /* equal for equal plans */
    bool fits;
    const struct vs_oom_outcome *oom; /* NULL when it fits */
    const char *const *remedies; /* options, each of which makes it fit; NULL = not looked for */
    size_t remedy_count;
    double metrics[VS_METRIC_COUNT];
    const struct vs_pool_outcome *pools;
    size_t pool_count;
    const struct vs_device_outcome
        *devices; /* in device order; `metrics` holds the largest of each */
    size_t device_count;
    const struct vs_kv_waste *kv_waste;       /* NULL = no cache, or its sequences did not run */
    bool memory_breakdown;                    /* the engine prints its memory as ggml programs do */
    const struct vs_request_counts *requests; /* NULL where none were served */
    const char *bound_by;                     /* NULL when it did not run */
    const struct vs_utilization *utilization;
    size_t utilization_count;
    double interval_low[VS_METRIC_COUNT], interval_high[VS_METRIC_COUNT]; /* NaN = none */
    bool extrapolating;

    /* Only when a timeline was asked for. */
    const struct vs_span *spans;
    size_t span_count;
    const size_t *waits; /* places in `spans` */
    const struct vs_level *levels, *tag_levels;
    size_t level_count, tag_level_count;
    const struct vs_phase_time *phases;
    size_t phase_count;
    const struct vs_work_done *work;
    size_t work_count;
    const struct vs_rate *rates;
    size_t rate_count;
    const struct vs_replayed *replayed; /* run/replayed.h; NULL = no requests were served */

    const struct vs_figure *profile; /* only when it was asked for */
    size_t profile_count;
    const struct vs_step_replay *steps; /* run/replay_steps.h; NULL = all steps are equal */
    const struct vs_executed *executed; /* import/executed.h; NULL = its plan was not carried out */
    const struct vs_memory_replay *allocator; /* run/replay_memory.h; NULL = no such replay */

    int64_t
        oom_point; /* sweep: the longest sequence / context that fits; 0 = not asked, -1 = none */
    bool oom_point_open; /* the search ended at its bound: ">=" */
};

#endif
