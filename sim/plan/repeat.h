/* Layers that come again: where a stretch of equal ones follows itself to the end, a step over
 * fewer of them tells the time of all. */
#ifndef VS_PLAN_REPEAT_H
#define VS_PLAN_REPEAT_H

#include "plan/plan.h"

/* Two layers that ask the same work, whatever the devices that do it. */
bool vs_layers_ask_alike(const struct vs_plan *plan, uint32_t i, uint32_t k);

/* Each layer from `from + period` on equals the one `period` layers before it; period 0 = they
 * don't repeat. Layers are equal when they ask the same work of the same device. */
struct vs_repeat {
    uint32_t from, period;
};
struct vs_repeat vs_plan_repeat(const struct vs_plan *plan);

#endif
