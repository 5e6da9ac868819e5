#include "base/text.h"
#include "sched/sched.h"

#define X(file) extern const struct vs_policy vs_policy_##file;
#include "sched/list.def"
#undef X

static const struct vs_policy *const POLICIES[] = {
#define X(file) &vs_policy_##file,
#include "sched/list.def"
#undef X
};

const struct vs_policy *vs_policy_find(const char *name) {
    for (size_t i = 0; i < sizeof POLICIES / sizeof *POLICIES; i++)
        if (vs_streq(POLICIES[i]->name, name))
            return POLICIES[i];
    return NULL;
}
