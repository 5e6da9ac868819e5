/* Rows times vectors for one instruction set: included once for each, behind what it is made of:
 *   TARGET, VARIANT(name)      the attribute that turns the set on, and the name of a function in
 * it VARIANT(lanes)             a type: sums of a row stay in its lanes until the end
 *   VARIANT(weights)           a type: 32 weights as they are multiplied
 *   VARIANT(load_q8), VARIANT(load_q4)   a block's weights
 *   VARIANT(zero), VARIANT(add)          lanes of zeros; sum + scale x (weights times 32 values)
 *   VARIANT(all)               the sum of all lanes */

/* A block of weights times the same block of each row of x, which are `blocks` long. */
TARGET static inline void VARIANT(add_tile)(VARIANT(lanes) sums[LOOP_TILE], float scale,
                                            VARIANT(weights) w, const struct q8_block *x,
                                            size_t blocks) {
    for (size_t t = 0; t < LOOP_TILE; t++)
        sums[t] = VARIANT(add)(sums[t], scale * x[t * blocks].scale, w, x[t * blocks].q);
}

TARGET static float VARIANT(row_q8)(const void *row, const int8_t *x, const float *scales,
                                    size_t blocks) {
    const struct q8_block *w = row;
    VARIANT(lanes) sum = VARIANT(zero)();
    for (size_t b = 0; b < blocks; b++)
        sum =
            VARIANT(add)(sum, w[b].scale * scales[b], VARIANT(load_q8)(w + b), x + b * QUANT_BLOCK);
    return VARIANT(all)(sum);
}

TARGET static float VARIANT(row_q4)(const void *row, const int8_t *x, const float *scales,
                                    size_t blocks) {
    const struct q4_block *w = row;
    VARIANT(lanes) sum = VARIANT(zero)();
    for (size_t b = 0; b < blocks; b++)
        sum =
            VARIANT(add)(sum, w[b].scale * scales[b], VARIANT(load_q4)(w + b), x + b * QUANT_BLOCK);
    return VARIANT(all)(sum);
}

TARGET static void VARIANT(tile_q8)(const struct q8_block *row, const struct q8_block *x,
                                    size_t blocks, float y[LOOP_TILE]) {
    VARIANT(lanes) sums[LOOP_TILE];
    for (int t = 0; t < LOOP_TILE; t++)
        sums[t] = VARIANT(zero)();
    for (size_t b = 0; b < blocks; b++)
        VARIANT(add_tile)(sums, row[b].scale, VARIANT(load_q8)(row + b), x + b, blocks);
    for (int t = 0; t < LOOP_TILE; t++)
        y[t] = VARIANT(all)(sums[t]);
}

TARGET static void VARIANT(tile_q4)(const struct q4_block *row, const struct q8_block *x,
                                    size_t blocks, float y[LOOP_TILE]) {
    VARIANT(lanes) sums[LOOP_TILE];
    for (int t = 0; t < LOOP_TILE; t++)
        sums[t] = VARIANT(zero)();
    for (size_t b = 0; b < blocks; b++)
        VARIANT(add_tile)(sums, row[b].scale, VARIANT(load_q4)(row + b), x + b, blocks);
    for (int t = 0; t < LOOP_TILE; t++)
        y[t] = VARIANT(all)(sums[t]);
}

#undef TARGET
#undef VARIANT
