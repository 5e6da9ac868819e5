/* A number that is equal for two layouts from which the same phases are emitted and carried out
 * alike. */
#ifndef VS_PLAN_DIGEST_H
#define VS_PLAN_DIGEST_H

#include "plan/plan.h"

/* Call behind the strategies. */
uint64_t vs_plan_digest(const struct vs_plan *plan);

#endif
