/* llama.cpp's compute buffer: what its graph allocator reserves for the worst case, known in closed
 * form. u = tokens of one pass, everything in fp32. Reproduces logged sizes (Llama 3 8B, u 512,
 * context 8192, no flash attention: 560.0 MiB; with it 258.5 MiB). */
#ifndef VS_PLAN_RULES_COMPUTE_BUFFER_H
#define VS_PLAN_RULES_COMPUTE_BUFFER_H

#include "plan/plan.h"

struct vs_compute_buffers {
    uint64_t gpu_bytes, host_bytes;
    uint64_t pool_bytes; /* run-time pool beside it: dequantized weights and activations */
};
struct vs_compute_buffers vs_compute_buffers(const struct vs_plan *plan);

#endif
