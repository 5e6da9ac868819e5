/* A plain server: a batch is filled when the one before has ended, and all wait for its longest
 * answer. Who is done stays in it and is decoded on, as padding (Hugging Face's generate). */
#include "sched/sched.h"

static void fill(struct vs_sched *s) {
    s->open |= s->running == 0;
    if (s->open)
        vs_sched_admit(s, false);
    if (vs_sched_any(s))
        return;
    vs_sched_decode(s);
    s->open = false;
}

extern const struct vs_policy vs_policy_static;
const struct vs_policy vs_policy_static = {.name = "static", .pads = true, .fill = fill};
