/* The loading phase: what an engine does before the first token, tensor by tensor, so that a model
 * that does not fit names the tensor at which it stops. */
#ifndef VS_PLAN_LOAD_H
#define VS_PLAN_LOAD_H

#include "plan/emit.h"

/* Creates the buffers that last: of weights at their homes and, in training, of gradients, master
 * copies and states. Call once, after the strategies. */
bool vs_plan_buffers(struct vs_plan *plan, struct vs_err *err);

/* context: bytes that the process takes on the device before anything else; workspace: BLAS scratch
 * that stays (through the allocator). */
struct vs_load_needs {
    uint64_t context_bytes, workspace_bytes;
    uint64_t communicator_bytes; /* NCCL's, for each communicator of a rank */
};
bool vs_emit_load(struct vs_plan *plan, const struct vs_load_needs *needs, struct vs_phase *phase,
                  struct vs_err *err);

#endif
