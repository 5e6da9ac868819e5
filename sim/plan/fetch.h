/* Weights that do not live on the GPU: copied over the link before each use, some layers ahead.
 *
 * A pass over the layers is a sequence of uses (forward 0..L-1, backward L-1..0). vs_fetch_need
 * makes the weights of one use available and starts the copies of the next `prefetch` uses; a copy
 * waits until the use `prefetch`+1 before it is over, so that at most prefetch+1 layers are on the
 * GPU at once. The layer of the last forward use stays for the first backward use. */
#ifndef VS_PLAN_FETCH_H
#define VS_PLAN_FETCH_H

#include "plan/emit.h"

struct vs_fetch {
    uint32_t use_count, next; /* uses in all; the next use to be copied */
    uint32_t layers;
    unsigned ahead, overlap;
    vs_buffer_id *gathered; /* per use, where they are copied out of it: what a collective filled */
    vs_buffer_id result;    /* the last of those, which lives until the next unit was copied out */
    vs_buffer_id *held;     /* per use: the copy on the GPU, or VS_NO_BUFFER */
    vs_op_id *copied, *done; /* per use: its copy, the last operation of its use */
};

/* Arrays live in the plan's arena. backward: the pass goes back over the layers too. */
bool vs_fetch_begin(struct vs_fetch *f, struct vs_plan *plan, bool backward, struct vs_err *err);
/* Call before the operations of use number `use`, then vs_fetch_done behind its last one. */
void vs_fetch_need(struct vs_fetch *f, struct vs_emit *e, uint32_t use);
void vs_fetch_done(struct vs_fetch *f, struct vs_emit *e, uint32_t use, vs_op_id last);

/* What stands outside the layers, held for a pass (FSDP gathers it once; engines that gather tensor
 * by tensor hold one of them at a time); vs_fetch_end gives it back. */
vs_buffer_id vs_fetch_root(struct vs_fetch *f, struct vs_emit *e);
void vs_fetch_end(struct vs_fetch *f, struct vs_emit *e, vs_buffer_id root);

/* Bytes of a unit (a layer; -1: what stands outside the layers) that must be brought to the GPU for
 * one use. */
uint64_t vs_unit_fetch_bytes(const struct vs_plan *plan, int32_t unit);
/* Of its largest matrix alone: one expert of many. */
uint64_t vs_largest_fetch_bytes(const struct vs_plan *plan, int32_t unit);
/* Brings them: over the link, from the other ranks, or both. Returns the last operation. */
vs_op_id vs_emit_unit_copy(struct vs_emit *e, int32_t unit, uint64_t bytes);
/* The same for one tensor outside the layers of a plan that streams, in front of its only use: the
 * caller gives the copy back. VS_NO_BUFFER where it lives on the GPU. */
vs_buffer_id vs_emit_weight_copy(struct vs_emit *e, const struct vs_weight *w);

#endif
