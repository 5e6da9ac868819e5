/* What offloaded training holds on the host beyond weights and states: page-locked buffers, and
 * those through which storage is read and written. */
#ifndef VS_PLAN_TRAIN_HOST_H
#define VS_PLAN_TRAIN_HOST_H

#include "plan/emit.h"

/* Joins what is page-locked to flat buffers, and makes those that last. Call once, behind the
 * buffers of gradients, master copies and states. False when memory runs out. */
bool vs_plan_host_buffers(struct vs_plan *plan);
/* Takes those that last. */
void vs_emit_host_buffers(struct vs_emit *e);

/* Elements that an optimizer step works on at once; UINT64_MAX = all. */
uint64_t vs_tile_elements(const struct vs_plan *plan);
/* The update of states that live on storage: tile by tile they are read, updated on the CPU
 * (`bytes` of traffic in all) and written back. */
void vs_emit_disk_update(struct vs_emit *e, double bytes);
/* New weights go back to where they live, if that is storage. */
void vs_emit_disk_weights(struct vs_emit *e);

#endif
