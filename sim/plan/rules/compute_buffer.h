/* llama.cpp's compute buffers: what its graph allocator reserves for the worst case, known in
 * closed form. u = tokens of one pass, everything in fp32. Reproduces logged sizes (Llama 3 8B, u
 * 512, context 8192, no flash attention: 560.0 MiB; with it 258.5 MiB; 640 MiB on each of several
 * devices). */
#ifndef VS_PLAN_RULES_COMPUTE_BUFFER_H
#define VS_PLAN_RULES_COMPUTE_BUFFER_H

#include "plan/plan.h"

struct vs_compute_buffer {
    uint64_t bytes;
    uint64_t pool_bytes; /* run-time pool beside it: dequantized weights and activations */
};
struct vs_compute_buffer vs_compute_buffer(const struct vs_plan *plan, uint8_t device);
uint64_t vs_host_compute_buffer(const struct vs_plan *plan);

#endif
