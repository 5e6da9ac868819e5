/* Products in 8 bit are what engines have written by hand for each instruction set, and compilers
 * don't find: here too for AVX2, AVX-512 VNNI and ARM's dot products; elsewhere compilers do what
 * they can. */
#include "loops.h"

#include <math.h>
#include <stdbool.h>

static const float BETA1 = 0.9F, BETA2 = 0.999F, EPSILON = 1e-8F;

/* ---- any processor ---- */

static int32_t dot_plain(const int8_t *a, const int8_t *b) {
    int32_t sum = 0;
    for (int i = 0; i < QUANT_BLOCK; i++)
        sum += (int32_t)a[i] * b[i];
    return sum;
}

static float row_q8_plain(const void *row, const int8_t *x, const float *scales, size_t blocks) {
    const struct q8_block *w = row;
    float sum = 0;
    for (size_t b = 0; b < blocks; b++)
        sum += w[b].scale * scales[b] * (float)dot_plain(w[b].q, x + b * QUANT_BLOCK);
    return sum;
}

/* Unpacked first: compilers turn both loops into vector instructions, and a fused one not. */
static void unpack(const struct q4_block *w, int8_t wide[QUANT_BLOCK]) {
    for (int i = 0; i < QUANT_BLOCK / 2; i++) {
        wide[i] = (int8_t)((w->q[i] & 15) - 8);
        wide[i + QUANT_BLOCK / 2] = (int8_t)((w->q[i] >> 4) - 8);
    }
}

static float row_q4_plain(const void *row, const int8_t *x, const float *scales, size_t blocks) {
    const struct q4_block *w = row;
    float sum = 0;
    for (size_t b = 0; b < blocks; b++) {
        int8_t wide[QUANT_BLOCK];
        unpack(w + b, wide);
        sum += w[b].scale * scales[b] * (float)dot_plain(wide, x + b * QUANT_BLOCK);
    }
    return sum;
}

static void tile_q4_plain(const struct q4_block *row, const struct q8_block *x, size_t blocks,
                          float y[LOOP_TILE]) {
    float sums[LOOP_TILE] = {0};
    for (size_t b = 0; b < blocks; b++) {
        int8_t wide[QUANT_BLOCK];
        unpack(row + b, wide);
        for (size_t t = 0; t < LOOP_TILE; t++)
            sums[t] += row[b].scale * x[t * blocks + b].scale *
                       (float)dot_plain(wide, x[t * blocks + b].q);
    }
    for (size_t t = 0; t < LOOP_TILE; t++)
        y[t] = sums[t];
}

static void tile_q8_plain(const struct q8_block *row, const struct q8_block *x, size_t blocks,
                          float y[LOOP_TILE]) {
    float sums[LOOP_TILE] = {0};
    for (size_t b = 0; b < blocks; b++)
        for (size_t t = 0; t < LOOP_TILE; t++)
            sums[t] += row[b].scale * x[t * blocks + b].scale *
                       (float)dot_plain(row[b].q, x[t * blocks + b].q);
    for (size_t t = 0; t < LOOP_TILE; t++)
        y[t] = sums[t];
}

/* ---- x86 and ARM ---- */

#if defined(__x86_64__)
#include <immintrin.h>

#define TARGET __attribute__((target("avx2,fma")))
#define VARIANT(name) name##_avx2
#define MULTIPLY_ADD(a, b) _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), _mm256_set1_epi16(1))
#include "rows_x86.h"

#define TARGET __attribute__((target("avx2,fma,avx512f,avx512vl,avx512vnni")))
#define VARIANT(name) name##_vnni
#define MULTIPLY_ADD(a, b) _mm256_dpbusd_epi32(_mm256_setzero_si256(), a, b)
#include "rows_x86.h"

static bool has_avx2(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool has_vnni(void) {
    return has_avx2() && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
}

#define FIND(name) (has_vnni() ? name##_vnni : has_avx2() ? name##_avx2 : name##_plain)

/* clang before 16 knows dot products only where all code may use them, as on Apple's processors. */
#elif defined(__ARM_FEATURE_DOTPROD) ||                                                            \
    (defined(__aarch64__) && defined(__GNUC__) && !defined(__clang__))
#include <arm_neon.h>

#if defined(__ARM_FEATURE_DOTPROD)
#define TARGET
#else
#define TARGET __attribute__((target("arch=armv8.2-a+dotprod")))
#endif
#define VARIANT(name) name##_dot
#include "rows_arm.h"

#if defined(__linux__)
#include <sys/auxv.h>
static bool has_dot(void) { return (getauxval(AT_HWCAP) >> 20 & 1) != 0; } /* HWCAP_ASIMDDP */
#else
static bool has_dot(void) { return true; }
#endif

#define FIND(name) (has_dot() ? name##_dot : name##_plain)
#else
#define FIND(name) (name##_plain)
#endif

float loop_row_q8_0(const void *row, const int8_t *x, const float *scales, size_t blocks) {
    return FIND(row_q8)(row, x, scales, blocks);
}

float loop_row_q4_0(const void *row, const int8_t *x, const float *scales, size_t blocks) {
    return FIND(row_q4)(row, x, scales, blocks);
}

void loop_tile_q8_0(const struct q8_block *row, const struct q8_block *x, size_t blocks,
                    float y[LOOP_TILE]) {
    FIND(tile_q8)(row, x, blocks, y);
}

void loop_tile_q4_0(const struct q4_block *row, const struct q8_block *x, size_t blocks,
                    float y[LOOP_TILE]) {
    FIND(tile_q4)(row, x, blocks, y);
}

/* ---- what compilers do well ---- */

/* Static: clang 14 gives a function of several targets no name that others can call. */
FOR_EACH_TARGET static void adam(float *weight, const float *gradient, float *mean, float *square,
                                 size_t count) {
    for (size_t i = 0; i < count; i++) {
        mean[i] = BETA1 * mean[i] + (1 - BETA1) * gradient[i];
        square[i] = BETA2 * square[i] + (1 - BETA2) * gradient[i] * gradient[i];
        weight[i] -= LOOP_ADAM_RATE * mean[i] / (sqrtf(square[i]) + EPSILON);
    }
}

void loop_adam(float *weight, const float *gradient, float *mean, float *square, size_t count) {
    adam(weight, gradient, mean, square, count);
}

/* Eight lanes, so that additions don't wait for each other. */
uint64_t loop_sum(const uint64_t *at, size_t count) {
    enum { LANES = 8 };
    uint64_t lanes[LANES] = {0}, sum = 0;
    size_t i = 0;
    for (; i + LANES <= count; i += LANES)
        for (size_t lane = 0; lane < LANES; lane++)
            lanes[lane] += at[i + lane];
    for (; i < count; i++)
        sum += at[i];
    for (size_t lane = 0; lane < LANES; lane++)
        sum += lanes[lane];
    return sum;
}
