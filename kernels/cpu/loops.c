#include "loops.h"

#include <math.h>

static const float BETA1 = 0.9F, BETA2 = 0.999F, EPSILON = 1e-8F;

FOR_EACH_TARGET float loop_row_q8_0(const void *row, const int8_t *x, const float *scales,
                                    size_t blocks) {
    const struct q8_block *w = row;
    float sum = 0;
    for (size_t b = 0; b < blocks; b++)
        sum += w[b].scale * scales[b] * (float)dot_block_q8(w[b].q, x + b * QUANT_BLOCK);
    return sum;
}

FOR_EACH_TARGET float loop_row_q4_0(const void *row, const int8_t *x, const float *scales,
                                    size_t blocks) {
    const struct q4_block *w = row;
    float sum = 0;
    for (size_t b = 0; b < blocks; b++)
        sum += w[b].scale * scales[b] * (float)dot_block_q4(w[b].q, x + b * QUANT_BLOCK);
    return sum;
}

FOR_EACH_TARGET void loop_tile_q8_0(const struct q8_block *row, const struct q8_block *x,
                                    size_t blocks, float y[LOOP_TILE]) {
    float sums[LOOP_TILE] = {0};
    for (size_t b = 0; b < blocks; b++)
        for (size_t t = 0; t < LOOP_TILE; t++)
            sums[t] += row[b].scale * x[t * blocks + b].scale *
                       (float)dot_block_q8(row[b].q, x[t * blocks + b].q);
    for (size_t t = 0; t < LOOP_TILE; t++)
        y[t] = sums[t];
}

FOR_EACH_TARGET void loop_adam(float *weight, const float *gradient, float *mean, float *square,
                               size_t count) {
    for (size_t i = 0; i < count; i++) {
        mean[i] = BETA1 * mean[i] + (1 - BETA1) * gradient[i];
        square[i] = BETA2 * square[i] + (1 - BETA2) * gradient[i] * gradient[i];
        weight[i] -= LOOP_ADAM_RATE * mean[i] / (sqrtf(square[i]) + EPSILON);
    }
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
