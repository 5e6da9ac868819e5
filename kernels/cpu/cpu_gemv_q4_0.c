/* Decoding on the CPU with 4-bit weights: rows of Q4_0 times a vector in 8 bit.
 * bytes = 18 to a block of 32 weights. */
#include "gemv.h"
#include "loops.h"

static void fill(void *block, uint64_t seed) {
    struct q4_block *w = block;
    w->scale = 1 + (float)(seed % 7);
    for (int i = 0; i < QUANT_BLOCK / 2; i++)
        w->q[i] = (uint8_t)(seed * 31 + (uint64_t)i * 17);
}

static float value(const void *block, int i) {
    const struct q4_block *w = block;
    const int half = QUANT_BLOCK / 2;
    int bits = i < half ? w->q[i] & 15 : w->q[i - half] >> 4;
    return w->scale * (float)(bits - 8);
}

static void run(struct session *session, const struct probe_limits *limits) {
    static const struct gemv_format FORMAT = {.block_size = sizeof(struct q4_block),
                                              .block_bytes = Q4_0_BLOCK_BYTES,
                                              .fill = fill,
                                              .row = loop_row_q4_0,
                                              .value = value};
    gemv_measure(session, limits, &FORMAT);
}

const struct probe probe_cpu_gemv_q4_0 = {"cpu_gemv_q4_0",
                                          "4-bit matrix times a vector, by threads", run};
