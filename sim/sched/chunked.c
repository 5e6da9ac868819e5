/* vLLM since V1: a token for all that decode, prompts under way, then the queue, all from one
 * budget of tokens; while sequences are thrown back nobody is admitted (vllm-project/vllm:
 * v1/core/sched/scheduler.py). */
#include "sched/sched.h"

static void fill(struct vs_sched *s) {
    vs_sched_decode(s);
    vs_sched_go_on(s);
    if (!s->pressed)
        vs_sched_admit(s, true);
}

extern const struct vs_policy vs_policy_chunked;
const struct vs_policy vs_policy_chunked = {.name = "chunked", .fill = fill};
