/* Runs plans: from a grid of values to outcomes. The library's front door; everything above
 * (report, cli) sees this and outcome.h only. */
#ifndef VS_RUN_RUN_H
#define VS_RUN_RUN_H

#include "base/arena.h"
#include "base/err.h"
#include "base/text.h"
#include "run/outcome.h"
#include "work/axis.h"

/* What is to be run: values as the user gave them. */
struct vs_request {
    struct vs_values user;        /* origin VS_FROM_USER where given */
    const char *const *set_paths; /* --set PATH=VALUE */
    const char *const *set_values;
    size_t set_count;
};

/* Of a run that serves requests; all-zero is the default of each. */
struct vs_serve_options {
    bool skip_bad; /* rows of a trace are left out where they are bad, and counted */
    double slo_ttft_s, slo_tpot_s; /* most of a request that counts for goodput_rps; 0 = none */
    const char *requests_csv;      /* a row per request, in the order in which they end; or NULL */
    const char *series_csv;        /* a row per `every_s` of simulated time; or NULL */
    double every_s;                /* 0 = a second */
};

struct vs_run_options {
    bool capacity_only; /* no clock: memory figures and OOM, speeds NaN */
    bool at_once;       /* a batch that a paged cache holds in waves alone does not fit */
    bool stop_at_oom; /* with capacity_only: ends at the first failure; memory figures are those so
                         far */
    uint64_t reserve_bytes;          /* of each device that must stay free */
    bool timeline;                   /* keep spans, levels, phases, work and rates */
    bool profile;                    /* list the machine's numbers with their sources */
    bool remedies;                   /* where it doesn't fit, find what would make it */
    const struct vs_step_run *steps; /* training: run/replay_steps.h; NULL = all steps are equal */
    const struct vs_serve_options *serve; /* NULL = defaults */
    bool intervals;                       /* attach 80 % intervals from the committed error table */
};

/* Runs one point; the outcome lives in the arena. False = the point cannot be run as asked (bad
 * input, or a mechanism that does not exist): err says why. An OOM is an outcome, not an error. */
bool vs_run(struct vs_arena *arena, const struct vs_request *request,
            const struct vs_run_options *options, const struct vs_outcome **outcome,
            struct vs_err *err);

/* The plan of a point as JSON text (run --plan-out). */
bool vs_run_plan_json(const struct vs_request *request, struct vs_text *out, struct vs_err *err);

/* The grid of a sweep: axes with several values, and the default grid for the others. */
struct vs_sweep_options {
    unsigned threads;  /* 0 = all */
    size_t oom_points; /* find the OOM point of this many best rows */
    const char *sort;  /* metric to rank by instead of the task's speed; NULL */
    bool profile;      /* each point lists its machine's numbers with their sources */
    void (*progress)(void *ctx, size_t done,
                     size_t total); /* may be NULL; called from one thread */
    void *progress_ctx;
};
struct vs_sweep_axis {
    const char *name;
    bool listed; /* by the user; else it varies by default */
};
struct vs_sweep {
    const struct vs_sweep_axis *axes; /* along which the points lie */
    size_t axis_count;
    const char *hw, *machine, *workload, *model, *task; /* as taken */
    const struct vs_outcome *const
        *points; /* ranked: those that fit by speed, then what does not fit */
    size_t point_count, fit_count;
    long best;               /* index into points, -1 = none */
    long fastest_fewer_bits; /* faster with fewer bits than the workload's format, -1 = none */
    enum vs_metric rank_by;
    const char *oom_axis; /* "seq" or "ctx" */
    size_t merged;        /* grid points that led to a plan that an earlier one has */
};
bool vs_sweep_run(struct vs_arena *arena, const struct vs_grid *grid,
                  const struct vs_sweep_options *options, const struct vs_sweep **sweep,
                  struct vs_err *err);

/* limit: the largest value of an axis that fits. */
struct vs_limit {
    const char *axis;            /* "ctx", "batch", "seq", "micro-batch", "gpu-layers" */
    const struct vs_outcome *at; /* the run at the limit, or NULL when nothing fits */
    const struct vs_outcome
        *beyond;   /* the first failure beyond it, or NULL when the search ended at its bound */
    int64_t value; /* 0 = nothing fits */
    bool open;     /* ended at the bound: ">=" */
    bool not_monotone;
    int64_t model_maximum; /* the model's own, 0 = none */
};
bool vs_limit_run(struct vs_arena *arena, const struct vs_request *request, enum vs_axis axis,
                  const struct vs_limit **limit, struct vs_err *err);

/* Expands a grid into requests, the last axis fastest. */
bool vs_grid_expand(struct vs_arena *arena, const struct vs_grid *grid,
                    const struct vs_request **requests, size_t *count, struct vs_err *err);

#endif
