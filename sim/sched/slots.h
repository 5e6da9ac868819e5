/* Slots and queue of a scheduler, for sched.c alone. */
#ifndef VS_SCHED_SLOTS_H
#define VS_SCHED_SLOTS_H

#include "sched/sched.h"

void vs_queue_front(struct vs_sched *s, uint32_t slot); /* of those who wait */
uint32_t vs_queue_head(const struct vs_sched *s);       /* where somebody waits */
void vs_queue_pop(struct vs_sched *s);
void vs_slot_give(struct vs_sched *s, uint32_t slot); /* for the next arrival */

#endif
