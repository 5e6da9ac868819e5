/* The inner loops that probes measure and the executor of plans runs. */
#ifndef VRAMSIM_LOOPS_H
#define VRAMSIM_LOOPS_H

#include <stddef.h>
#include <stdint.h>

#include "quant.h"

/* A row of `blocks` blocks times a vector in 8 bit with one scale per block. */
float loop_row_q8_0(const void *row, const int8_t *x, const float *scales, size_t blocks);
float loop_row_q4_0(const void *row, const int8_t *x, const float *scales, size_t blocks);

/* A row times TILE rows of Q8_0 of the same length, one behind the other: each weight is loaded
 * once for the tile. */
enum { LOOP_TILE = 4 };
void loop_tile_q8_0(const struct q8_block *row, const struct q8_block *x, size_t blocks,
                    float y[LOOP_TILE]);
void loop_tile_q4_0(const struct q4_block *row, const struct q8_block *x, size_t blocks,
                    float y[LOOP_TILE]);

/* One step of Adam in fp32 at this rate: 28 bytes to a parameter. */
#define LOOP_ADAM_RATE 1e-3F
void loop_adam(float *weight, const float *gradient, float *mean, float *square, size_t count);

/* The sum of an array. */
uint64_t loop_sum(const uint64_t *at, size_t count);

#endif
