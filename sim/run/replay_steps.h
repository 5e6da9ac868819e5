/* Training driven by a step trace: each optimizer step has the samples of the trace, on one
 * allocator from the first to the last, so that what varying lengths leave of its memory adds up.
 *
 * A micro-step takes --micro-batch samples in their order. They are padded to the longest of them,
 * or packed into rows of --seq tokens (in order; a sample that doesn't fit into a row begins the
 * next one). Samples longer than --seq are cut where --seq is given or rows are packed. */
#ifndef VS_RUN_REPLAY_STEPS_H
#define VS_RUN_REPLAY_STEPS_H

#include "run/run.h"

struct vs_step_trace; /* import/steps.h */

struct vs_step_options {
    bool packed;
    uint64_t seed;  /* of samples drawn from a histogram */
    uint64_t steps; /* drawn from a histogram; of other traces, the first so many; 0 = 100, all */
};

/* What the run of a point is told of its steps (vs_run_options.steps). */
struct vs_step_run {
    const struct vs_step_trace *trace; /* with steps, not a histogram */
    struct vs_step_options how;
};

/* One optimizer step that was walked to its end. */
struct vs_step_outcome {
    uint64_t number;          /* as the trace calls it */
    uint64_t samples, tokens; /* of the trace, cut ones as they are trained */
    uint64_t computed_tokens; /* padding included */
    uint64_t longest;         /* tokens of its longest sample */
    uint64_t micro_steps;
    double start_s, seconds;       /* simulated; since the first step */
    uint64_t peak_allocated_bytes; /* of the first device: largest sum of blocks so far, */
    uint64_t reserved_bytes;       /* segments held at the step's end, */
    uint64_t peak_reserved_bytes;  /* most so far, */
    uint64_t largest_free_bytes;   /* largest free block at its end, */
    uint64_t retries; /* and how often so far the cache was emptied to serve a request */
};

/* The allocator at the end of a replay, or where it ran out. */
struct vs_step_memory {
    const char *expandable; /* "on", "off" */
    bool fits;
    uint64_t steps;                    /* walked to their end */
    uint64_t oom_step, oom_micro_step; /* as in struct vs_step_replay */
    uint64_t peak_allocated_bytes, peak_reserved_bytes, retries;
};

struct vs_step_replay {
    const char *form; /* "step lengths, CSV" */
    bool packed;
    uint64_t trace_steps; /* that were to be run */
    uint64_t skipped;     /* rows left out (--skip-bad) */
    bool limit;           /* samples are cut to --seq */
    uint64_t cut;         /* samples longer than --seq */
    uint64_t tokens, computed_tokens;
    double seconds;
    uint64_t oom_step;       /* where it does not fit, as the trace calls it; */
    uint64_t oom_micro_step; /* counted from 1, 0 = in the optimizer step */
    uint64_t oom_sample;     /* the longest of that micro-step, counted from 1 in its step */
    uint64_t oom_tokens;     /* its tokens */
    struct vs_step_memory memory;
    const struct vs_step_memory *other; /* the same with the other setting of expandable segments;
                                           NULL where the engine's allocator knows none */
    const struct vs_step_outcome *steps;
    size_t step_count;
};

/* The request is that of a training run; --seq is what samples are cut to. The outcome's metrics
 * are of all steps, its `steps` has the details; it lives in the arena. */
bool vs_replay_steps(struct vs_arena *arena, const struct vs_request *request,
                     const struct vs_step_trace *trace, const struct vs_step_options *how,
                     const struct vs_run_options *options, const struct vs_outcome **outcome,
                     struct vs_err *err);

#endif
