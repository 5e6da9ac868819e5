/* Traces of any kind replayed: requests are served, training steps run, allocations carried out.
 * The kind is recognised by the trace's first bytes. */
#ifndef VS_RUN_REPLAY_H
#define VS_RUN_REPLAY_H

#include "run/replay_memory.h"
#include "run/replay_steps.h"
#include "run/run.h"

enum vs_replay_kind { VS_REPLAY_REQUESTS, VS_REPLAY_STEPS, VS_REPLAY_ALLOCATIONS };

struct vs_replay_options {
    struct vs_run_options run;
    struct vs_step_options steps;
    bool skip_bad; /* bad rows are counted and left out */
};

/* The kind of the trace that `user` names with --trace. Standard input can be read once only, so
 * that words say what it is: steps with --task train, allocations where neither a model nor a
 * workload is named, requests otherwise. What nobody recognises is taken for requests, whose reader
 * says what it expected. */
bool vs_replay_kind_of(struct vs_arena *arena, const struct vs_values *user,
                       enum vs_replay_kind *kind, struct vs_err *err);

/* Replays the trace of --trace; the outcome lives in the arena. */
bool vs_replay(struct vs_arena *arena, const struct vs_request *request, enum vs_replay_kind kind,
               const struct vs_replay_options *options, const struct vs_outcome **outcome,
               struct vs_err *err);

#endif
