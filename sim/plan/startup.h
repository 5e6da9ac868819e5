/* How an engine with a paged KV cache starts, behind the weights: its buffers for the largest step
 * are tried out or kept, what is left is measured, and a pool of blocks takes a share of it. Sizes
 * are of one rank. The measuring is the caller's: a plan knows no pools. */
#ifndef VS_PLAN_STARTUP_H
#define VS_PLAN_STARTUP_H

#include "memory/paged.h"
#include "plan/emit.h"

/* Rule "profile" of the engine: "run" = activations of the largest step come and go; "buffers" =
 * they stay; none otherwise. */
bool vs_emit_profile(struct vs_plan *plan, struct vs_phase *phase, struct vs_err *err);

/* What the engine sees behind it, in bytes of one device. */
struct vs_memory_seen {
    uint64_t capacity, in_use, peak;
    uint64_t before; /* in use before the weights came */
};

/* Blocks of the KV pool, by the rule "kv_pool" of the engine and --gpu-util:
 *   total   the fraction of all memory, less the peak so far (vLLM)
 *   free    the fraction of what is free (TensorRT-LLM)
 *   static  what is free, less the rest of what was free before the weights came (SGLang)
 *   share   the fraction of all memory for the pool alone, as far as it is free (LMDeploy) */
uint64_t vs_kv_pool_blocks(const struct vs_plan *plan, unsigned device,
                           const struct vs_memory_seen *seen);

/* The most that one step takes: tokens, and sequences. */
struct vs_step_limits {
    uint64_t tokens, sequences;
    bool cut; /* prompts, to what is left of a step, by an engine that could take them whole */
};
struct vs_step_limits vs_step_limits(const struct vs_plan *plan);

/* How sequences fill blocks. */
struct vs_paged vs_kv_paged(const struct vs_plan *plan);
/* Blocks that a sequence of --ctx tokens fills, its recurrent states included. */
uint64_t vs_kv_sequence_blocks(const struct vs_plan *plan);
/* Of them those for its recurrent states, which share the pool: on the device where they are most.
 */
uint64_t vs_state_blocks(const struct vs_plan *plan);
/* What a block takes on a device: it holds its tokens' K and V of that device's layers. */
uint64_t vs_kv_block_bytes(const struct vs_plan *plan, unsigned device);
/* Host memory that the engine takes for KV blocks of all devices: --kv-host, or what it takes where
 * it swaps. */
uint64_t vs_kv_host_bytes(const struct vs_plan *plan);

/* Takes the pool, room for blocks in host memory, and what `sequences` of --ctx tokens lack in it.
 * An engine refuses to start where one does not fit. */
bool vs_emit_kv_pool(struct vs_plan *plan, uint64_t blocks, uint64_t sequences,
                     struct vs_phase *phase, struct vs_err *err);

#endif
