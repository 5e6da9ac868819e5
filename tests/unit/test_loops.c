/* The inner loops that probes measure and the executor runs, on the instruction set that this
 * processor has, against sums in double precision. */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "cpu/loops.h"
#include "unit/suite.h"

enum { BLOCKS_MOST = 37 };

static struct q8_block weights8[BLOCKS_MOST], vectors[LOOP_TILE * BLOCKS_MOST];
static struct q4_block weights4[BLOCKS_MOST];
static int8_t x[BLOCKS_MOST * QUANT_BLOCK];
static float scales[BLOCKS_MOST];

/* All values of a byte, the ends often; activations are symmetric, as engines make them. */
static int8_t draw(struct vs_rng *rng, int least) {
    int value = (int)vs_rng_below(rng, 256) - 128;
    if (vs_rng_below(rng, 2) == 0)
        value = value < 0 ? least : 127;
    return (int8_t)(value < least ? least : value);
}

static float draw_scale(struct vs_rng *rng) { return (float)(1 + vs_rng_below(rng, 1000)) / 64; }

static void fill(uint64_t seed) {
    struct vs_rng *rng = vs_rng_new(seed);
    ck_assert_ptr_nonnull(rng);
    for (int b = 0; b < BLOCKS_MOST; b++) {
        weights8[b].scale = draw_scale(rng);
        weights4[b].scale = draw_scale(rng);
        scales[b] = draw_scale(rng);
        for (int i = 0; i < QUANT_BLOCK; i++) {
            weights8[b].q[i] = draw(rng, -128);
            x[b * QUANT_BLOCK + i] = draw(rng, -127);
        }
        for (int i = 0; i < QUANT_BLOCK / 2; i++)
            weights4[b].q[i] = (uint8_t)vs_rng_below(rng, 256);
    }
    for (int b = 0; b < LOOP_TILE * BLOCKS_MOST; b++) {
        vectors[b].scale = draw_scale(rng);
        for (int i = 0; i < QUANT_BLOCK; i++)
            vectors[b].q[i] = draw(rng, -127);
    }
    vs_rng_free(rng);
}

/* Single precision adds up to some rounding of the terms' sizes. */
static void is_near(float found, double expected, double size) {
    ck_assert_double_le(fabs((double)found - expected), 1e-6 * size + 1e-6);
}

static int weight4(const struct q4_block *w, int i) {
    const int half = QUANT_BLOCK / 2;
    return (i < half ? w->q[i] & 15 : w->q[i - half] >> 4) - 8;
}

static void check_rows(size_t blocks) {
    double sum8 = 0, size8 = 0, sum4 = 0, size4 = 0;
    for (size_t b = 0; b < blocks; b++)
        for (int i = 0; i < QUANT_BLOCK; i++) {
            double v = (double)scales[b] * x[b * QUANT_BLOCK + (size_t)i];
            double term8 = (double)weights8[b].scale * weights8[b].q[i] * v;
            double term4 = (double)weights4[b].scale * weight4(&weights4[b], i) * v;
            sum8 += term8;
            size8 += fabs(term8);
            sum4 += term4;
            size4 += fabs(term4);
        }
    is_near(loop_row_q8_0(weights8, x, scales, blocks), sum8, size8);
    is_near(loop_row_q4_0(weights4, x, scales, blocks), sum4, size4);
}

static void check_tile(size_t blocks) {
    float y8[LOOP_TILE], y4[LOOP_TILE];
    loop_tile_q8_0(weights8, vectors, blocks, y8);
    loop_tile_q4_0(weights4, vectors, blocks, y4);
    for (size_t t = 0; t < LOOP_TILE; t++) {
        double sum8 = 0, size8 = 0, sum4 = 0, size4 = 0;
        for (size_t b = 0; b < blocks; b++)
            for (int i = 0; i < QUANT_BLOCK; i++) {
                double v = (double)vectors[t * blocks + b].scale * vectors[t * blocks + b].q[i];
                double term8 = (double)weights8[b].scale * weights8[b].q[i] * v;
                double term4 = (double)weights4[b].scale * weight4(&weights4[b], i) * v;
                sum8 += term8;
                size8 += fabs(term8);
                sum4 += term4;
                size4 += fabs(term4);
            }
        is_near(y8[t], sum8, size8);
        is_near(y4[t], sum4, size4);
    }
}

START_TEST(rows_and_tiles) {
    for (uint64_t seed = 1; seed <= 50; seed++) {
        fill(seed);
        for (size_t blocks = 0; blocks <= BLOCKS_MOST; blocks++) {
            check_rows(blocks);
            check_tile(blocks);
        }
    }
}
END_TEST

/* 1 + 2 + ... + n, for all remainders of the lanes. */
START_TEST(sums) {
    uint64_t numbers[100];
    for (uint64_t i = 0; i < 100; i++)
        numbers[i] = i + 1;
    for (uint64_t n = 0; n <= 100; n++)
        ck_assert_uint_eq(loop_sum(numbers, n), n * (n + 1) / 2);
}
END_TEST

/* The first step of Adam moves every weight by the rate x 0.1 g / sqrt(0.001 g^2). */
START_TEST(adam) {
    enum { COUNT = 19 };
    float weight[COUNT], gradient[COUNT], mean[COUNT] = {0}, square[COUNT] = {0};
    for (int i = 0; i < COUNT; i++) {
        weight[i] = (float)i;
        gradient[i] = i % 2 ? 0.5F : -2;
    }
    loop_adam(weight, gradient, mean, square, COUNT);
    for (int i = 0; i < COUNT; i++) {
        double step = (double)LOOP_ADAM_RATE * 0.1 / sqrt(0.001);
        ck_assert_double_eq_tol((double)weight[i], i % 2 ? i - step : i + step, 1e-5);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("loops");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, rows_and_tiles);
    tcase_add_test(tests, sums);
    tcase_add_test(tests, adam);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
