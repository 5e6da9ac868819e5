/* Layers that come again: where a stretch of equal ones follows itself to the end, a step over
 * fewer of them tells the time of all. */
#ifndef VS_PLAN_REPEAT_H
#define VS_PLAN_REPEAT_H

#include "plan/plan.h"

/* Each layer from `from + period` on equals the one `period` layers before it; period 0 = they
 * don't repeat. Layers are equal when they ask the same work of the same device. */
struct vs_repeat {
    uint32_t from, period;
};
struct vs_repeat vs_plan_repeat(const struct vs_plan *plan);

#endif
