/* Rows times vectors for one x86 instruction set: included by loops.c once for each, with TARGET
 * (the attribute that turns it on), VARIANT(name) and MULTIPLY_ADD(a, b): sums of four products
 * each of unsigned and signed bytes, as 8 x int32. Sums of a row stay in 8 lanes until its end. */

/* What 32 weights contribute for every vector: their sizes, and themselves for the signs. */
struct VARIANT(weights) {
    __m256i sizes, values;
};

TARGET static inline struct VARIANT(weights) VARIANT(load_q8)(const struct q8_block *w) {
    __m256i values = _mm256_loadu_si256((const __m256i *)(const void *)w->q);
    return (struct VARIANT(weights)){_mm256_sign_epi8(values, values), values};
}

TARGET static inline struct VARIANT(weights) VARIANT(load_q4)(const struct q4_block *w) {
    __m128i packed = _mm_loadu_si128((const __m128i *)(const void *)w->q);
    __m256i both = _mm256_set_m128i(_mm_srli_epi16(packed, 4), packed);
    __m256i values =
        _mm256_sub_epi8(_mm256_and_si256(both, _mm256_set1_epi8(15)), _mm256_set1_epi8(8));
    return (struct VARIANT(weights)){_mm256_sign_epi8(values, values), values};
}

TARGET static inline __m256 VARIANT(dot)(struct VARIANT(weights) w, const int8_t *x) {
    __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)x);
    return _mm256_cvtepi32_ps(MULTIPLY_ADD(w.sizes, _mm256_sign_epi8(v, w.values)));
}

TARGET static inline float VARIANT(add_lanes)(__m256 sum) {
    float lanes[8], all = 0;
    _mm256_storeu_ps(lanes, sum);
    for (int i = 0; i < 8; i++)
        all += lanes[i];
    return all;
}

TARGET static float VARIANT(row_q8)(const void *row, const int8_t *x, const float *scales,
                                    size_t blocks) {
    const struct q8_block *w = row;
    __m256 sum = _mm256_setzero_ps();
    for (size_t b = 0; b < blocks; b++)
        sum = _mm256_fmadd_ps(_mm256_set1_ps(w[b].scale * scales[b]),
                              VARIANT(dot)(VARIANT(load_q8)(w + b), x + b * QUANT_BLOCK), sum);
    return VARIANT(add_lanes)(sum);
}

TARGET static float VARIANT(row_q4)(const void *row, const int8_t *x, const float *scales,
                                    size_t blocks) {
    const struct q4_block *w = row;
    __m256 sum = _mm256_setzero_ps();
    for (size_t b = 0; b < blocks; b++)
        sum = _mm256_fmadd_ps(_mm256_set1_ps(w[b].scale * scales[b]),
                              VARIANT(dot)(VARIANT(load_q4)(w + b), x + b * QUANT_BLOCK), sum);
    return VARIANT(add_lanes)(sum);
}

TARGET static void VARIANT(tile_q8)(const struct q8_block *row, const struct q8_block *x,
                                    size_t blocks, float y[LOOP_TILE]) {
    __m256 sums[LOOP_TILE];
    for (int t = 0; t < LOOP_TILE; t++)
        sums[t] = _mm256_setzero_ps();
    for (size_t b = 0; b < blocks; b++) {
        struct VARIANT(weights) w = VARIANT(load_q8)(row + b);
        for (size_t t = 0; t < LOOP_TILE; t++) {
            const struct q8_block *v = x + t * blocks + b;
            sums[t] = _mm256_fmadd_ps(_mm256_set1_ps(row[b].scale * v->scale),
                                      VARIANT(dot)(w, v->q), sums[t]);
        }
    }
    for (int t = 0; t < LOOP_TILE; t++)
        y[t] = VARIANT(add_lanes)(sums[t]);
}

#undef TARGET
#undef VARIANT
#undef MULTIPLY_ADD
