/* What an NVIDIA GPU does for the operations of a plan.
 *
 * Products run through cuBLAS in 16 bit (fp32 where the plan says so), square in weights: m tokens
 * times n = k that make up the operation's flops. Attention is products with 128 columns in tiles
 * that stay in the L2 cache, as fused kernels keep theirs in registers. What reads memory reads it,
 * 16 bytes to a thread; what is element-wise reads and writes it. What an engine's own kernels are
 * slower or faster than that, these are not: executed is what the machine can do. */
#ifndef VRAMSIM_EXEC_WORK_CUH
#define VRAMSIM_EXEC_WORK_CUH

#include <cuda_runtime.h>

#include "../exec/memory.h"
#include "../exec/plan.h"

/* Makes room for the largest product of the plan; false when there is none. Once. */
bool work_open(const struct plan *plan, cudaStream_t compute);
void work_close();
size_t work_bytes(); /* of device memory that this takes */

/* Puts the operation onto the stream. In a graph (`captured`) the host launches nothing more. */
bool work_issue(const struct operation *op, double tokens, const struct piece *pieces, size_t count,
                bool captured, cudaStream_t stream);
/* Reads all of it. */
bool work_read(const void *at, size_t bytes, cudaStream_t stream);
/* Small numbers of 16 bit, all over it. */
bool work_fill(void *at, size_t bytes, cudaStream_t stream);

#endif
