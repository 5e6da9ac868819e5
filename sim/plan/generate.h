/* Phases of generation on one device: provisioning, prefill of some tokens, decode of one.
 *
 * Sequences are equal. A step is described by the tokens that enter it and the cells that the cache
 * holds before it, per sequence. */
#ifndef VS_PLAN_GENERATE_H
#define VS_PLAN_GENERATE_H

#include "plan/emit.h"

/* What stands for the whole run behind the weights: KV cache (unless it grows), compute buffers. */
bool vs_emit_provision(struct vs_plan *plan, struct vs_phase *phase, struct vs_err *err);

/* One pass over `tokens` new tokens per sequence with `past` cells in the cache; tokens 1 = a
 * decode step. */
struct vs_pass {
    uint64_t tokens, past;
    bool last; /* the last pass of the prompt: the head runs */
};
bool vs_emit_pass(struct vs_plan *plan, const struct vs_pass *pass, struct vs_phase *phase,
                  struct vs_err *err);

#endif
