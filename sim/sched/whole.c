/* TensorRT-LLM's in-flight batching: prompts join a step of decoding, but are not cut. */
#include "sched/sched.h"

static void fill(struct vs_sched *s) {
    vs_sched_decode(s);
    if (!s->pressed)
        vs_sched_admit(s, false);
}

extern const struct vs_policy vs_policy_whole;
const struct vs_policy vs_policy_whole = {.name = "whole", .fill = fill};
