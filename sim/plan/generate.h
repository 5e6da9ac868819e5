/* Phases of generation: provisioning, the prompt, one token.
 *
 * Sequences are equal. A step is described by the tokens that enter it and the cells that the cache
 * holds before it, per sequence. */
#ifndef VS_PLAN_GENERATE_H
#define VS_PLAN_GENERATE_H

#include "plan/emit.h"

/* What stands for the whole run behind the weights: KV cache (unless it grows), compute buffers. */
bool vs_emit_provision(struct vs_plan *plan, struct vs_phase *phase, struct vs_err *err);

/* The prompt, in passes of at most plan->ubatch tokens; passes follow each other through the
 * devices as through a pipeline. `depth` cells are in the cache before it. */
bool vs_emit_prefill(struct vs_plan *plan, uint64_t prompt, uint64_t depth, struct vs_phase *phase,
                     struct vs_err *err);

/* One token for each sequence, with `past` cells in the cache. */
bool vs_emit_decode(struct vs_plan *plan, uint64_t past, struct vs_phase *phase,
                    struct vs_err *err);

/* A step of a server: sequences that decode, and pieces of prompts beside them. */
struct vs_serve_step {
    uint64_t decodes, cells; /* sequences; cells of each with the new token, on average */
    uint64_t prompt_tokens;
    uint64_t prompts;      /* that end in this step */
    double reach;          /* cells that a prompt token attends to, on average */
    uint64_t other_tokens; /* of prompts of all other groups of ranks that share experts */
    uint32_t layers;       /* the first ones alone; 0 = all */
};
/* Blocks of the KV pool go to page-locked host memory, or come back: K and V of each layer are
 * copies of their own, in some engines those of each block too. */
bool vs_emit_kv_copy(struct vs_plan *plan, uint64_t blocks, bool to_host, struct vs_phase *phase,
                     struct vs_err *err);
bool vs_emit_step(struct vs_plan *plan, const struct vs_serve_step *step, struct vs_phase *phase,
                  struct vs_err *err);

/* What layers with a recurrence keep of all sequences. */
uint64_t vs_plan_state_bytes(const struct vs_plan *plan);

#endif
