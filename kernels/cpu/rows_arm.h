/* rows.h for ARM's dot products. */

typedef float32x4_t VARIANT(lanes);
typedef int8x16x2_t VARIANT(weights);

TARGET static inline VARIANT(weights) VARIANT(load_q8)(const struct q8_block *w) {
    return (VARIANT(weights)){{vld1q_s8(w->q), vld1q_s8(w->q + 16)}};
}

TARGET static inline VARIANT(weights) VARIANT(load_q4)(const struct q4_block *w) {
    uint8x16_t packed = vld1q_u8(w->q);
    int8x16_t low = vreinterpretq_s8_u8(vandq_u8(packed, vdupq_n_u8(15)));
    int8x16_t high = vreinterpretq_s8_u8(vshrq_n_u8(packed, 4));
    return (VARIANT(weights)){{vsubq_s8(low, vdupq_n_s8(8)), vsubq_s8(high, vdupq_n_s8(8))}};
}

TARGET static inline VARIANT(lanes) VARIANT(zero)(void) { return vdupq_n_f32(0); }

TARGET static inline VARIANT(lanes)
    VARIANT(add)(VARIANT(lanes) sum, float scale, VARIANT(weights) w, const int8_t *x) {
    int32x4_t products = vdotq_s32(vdupq_n_s32(0), w.val[0], vld1q_s8(x));
    products = vdotq_s32(products, w.val[1], vld1q_s8(x + 16));
    return vfmaq_n_f32(sum, vcvtq_f32_s32(products), scale);
}

TARGET static inline float VARIANT(all)(VARIANT(lanes) sum) { return vaddvq_f32(sum); }

#include "rows.h"
