/* Weights as GGUF stores them, and products with activations in 8 bit: blocks of 32 values with one
 * scale. (Scales are float here, half precision there: the formats' bytes are counted, not these.)
 */
#ifndef VRAMSIM_QUANT_H
#define VRAMSIM_QUANT_H

#include <stdint.h>

enum { QUANT_BLOCK = 32, Q8_0_BLOCK_BYTES = 34, Q4_0_BLOCK_BYTES = 18 };

struct q8_block {
    float scale;
    int8_t q[QUANT_BLOCK];
};
/* Value i of the first half in the low, i + 16 in the high four bits; 8 is zero. */
struct q4_block {
    float scale;
    uint8_t q[QUANT_BLOCK / 2];
};

/* gcc and clang build these for several instruction sets and choose as the program starts. */
#if defined(__x86_64__) && defined(__linux__) && !defined(__SANITIZE_ADDRESS__)
#define FOR_EACH_TARGET                                                                            \
    __attribute__((target_clones("arch=skylake-avx512", "arch=haswell", "default")))
#else
#define FOR_EACH_TARGET
#endif

static inline int32_t dot_block_q8(const int8_t *a, const int8_t *b) {
    int32_t sum = 0;
    for (int i = 0; i < QUANT_BLOCK; i++)
        sum += (int32_t)a[i] * b[i];
    return sum;
}

/* Unpacked first: compilers turn both loops into vector instructions, and a fused one not. */
static inline int32_t dot_block_q4(const uint8_t *a, const int8_t *b) {
    int8_t wide[QUANT_BLOCK];
    for (int i = 0; i < QUANT_BLOCK / 2; i++) {
        wide[i] = (int8_t)((a[i] & 15) - 8);
        wide[i + QUANT_BLOCK / 2] = (int8_t)((a[i] >> 4) - 8);
    }
    return dot_block_q8(wide, b);
}

#endif
