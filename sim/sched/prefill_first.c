/* SGLang, LMDeploy, vLLM V0: a step is of prompts alone while some can be admitted; who decodes
 * waits. */
#include "sched/sched.h"

static void fill(struct vs_sched *s) {
    vs_sched_admit(s, false);
    if (!vs_sched_any(s))
        vs_sched_decode(s);
}

extern const struct vs_policy vs_policy_prefill_first;
const struct vs_policy vs_policy_prefill_first = {.name = "prefill_first", .fill = fill};
