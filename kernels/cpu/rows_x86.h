/* rows.h for one x86 instruction set: beside TARGET and VARIANT there is MULTIPLY_ADD(a, b), sums
 * of four products each of unsigned and signed bytes, as 8 x int32. */

typedef __m256 VARIANT(lanes);
typedef struct {
    __m256i sizes, values; /* the latter for their signs */
} VARIANT(weights);

TARGET static inline VARIANT(weights) VARIANT(load_q8)(const struct q8_block *w) {
    __m256i values = _mm256_loadu_si256((const __m256i *)(const void *)w->q);
    return (VARIANT(weights)){_mm256_sign_epi8(values, values), values};
}

TARGET static inline VARIANT(weights) VARIANT(load_q4)(const struct q4_block *w) {
    __m128i packed = _mm_loadu_si128((const __m128i *)(const void *)w->q);
    __m256i both = _mm256_set_m128i(_mm_srli_epi16(packed, 4), packed);
    __m256i values =
        _mm256_sub_epi8(_mm256_and_si256(both, _mm256_set1_epi8(15)), _mm256_set1_epi8(8));
    return (VARIANT(weights)){_mm256_sign_epi8(values, values), values};
}

TARGET static inline VARIANT(lanes) VARIANT(zero)(void) { return _mm256_setzero_ps(); }

TARGET static inline VARIANT(lanes)
    VARIANT(add)(VARIANT(lanes) sum, float scale, VARIANT(weights) w, const int8_t *x) {
    __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)x);
    __m256i products = MULTIPLY_ADD(w.sizes, _mm256_sign_epi8(v, w.values));
    return _mm256_fmadd_ps(_mm256_set1_ps(scale), _mm256_cvtepi32_ps(products), sum);
}

TARGET static inline float VARIANT(all)(VARIANT(lanes) sum) {
    float lanes[8], all = 0;
    _mm256_storeu_ps(lanes, sum);
    for (int i = 0; i < 8; i++)
        all += lanes[i];
    return all;
}

#include "rows.h"
#undef MULTIPLY_ADD
