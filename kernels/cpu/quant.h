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

#endif
