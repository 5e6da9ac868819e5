/* A matrix of quantized weights times one vector, in threads: the two formats share all but the
 * block. */
#ifndef VRAMSIM_GEMV_H
#define VRAMSIM_GEMV_H

#include <stdint.h>

#include "../probe.h"

struct gemv_format {
    size_t block_size;  /* in memory here */
    size_t block_bytes; /* in the format */
    void (*fill)(void *block, uint64_t seed);
    /* Row of `blocks` blocks times x with one scale per block; the sum. */
    float (*row)(const void *row, const int8_t *x, const float *scales, size_t blocks);
    float (*value)(const void *block, int i); /* one weight, for the check */
};

void gemv_measure(struct session *session, const struct probe_limits *limits,
                  const struct gemv_format *format);

#endif
