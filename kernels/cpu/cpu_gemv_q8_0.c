/* Decoding on the CPU with 8-bit weights: rows of Q8_0 times a vector in 8 bit.
 * bytes = 34 to a block of 32 weights. */
#include "gemv.h"
#include "loops.h"

static void fill(void *block, uint64_t seed) {
    struct q8_block *w = block;
    w->scale = 1 + (float)(seed % 7);
    for (int i = 0; i < QUANT_BLOCK; i++)
        w->q[i] = (int8_t)((seed * 31 + (uint64_t)i * 17) % 255 - 127);
}

static float value(const void *block, int i) {
    const struct q8_block *w = block;
    return w->scale * w->q[i];
}

static void run(struct session *session, const struct probe_limits *limits) {
    static const struct gemv_format FORMAT = {.block_size = sizeof(struct q8_block),
                                              .block_bytes = Q8_0_BLOCK_BYTES,
                                              .fill = fill,
                                              .row = loop_row_q8_0,
                                              .value = value};
    gemv_measure(session, limits, &FORMAT);
}

const struct probe probe_cpu_gemv_q8_0 = {"cpu_gemv_q8_0",
                                          "8-bit matrix times a vector, by threads", run};
