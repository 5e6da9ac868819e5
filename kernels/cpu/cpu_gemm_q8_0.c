/* A prompt on the CPU: a matrix of Q8_0 times 64 vectors in 8 bit, bound by arithmetic.
 * flops = 2 m n k. */
#include <math.h>
#include <stdlib.h>

#include "../probe.h"
#include "loops.h"

enum { TOKENS = 64, ROWS = 2048, COLUMNS = 2048, BLOCKS = COLUMNS / QUANT_BLOCK };

struct product {
    struct q8_block *weights, *x; /* ROWS and TOKENS rows */
    float *y;                     /* ROWS x TOKENS */
    unsigned threads;
};

static void multiply_part(void *context, unsigned part, unsigned parts) {
    struct product *p = context;
    size_t first, number = team_share(ROWS, part, parts, &first);
    for (size_t row = first; row < first + number; row++)
        for (size_t t = 0; t < TOKENS; t += LOOP_TILE)
            loop_tile_q8_0(p->weights + row * BLOCKS, p->x + t * BLOCKS, BLOCKS,
                           p->y + row * TOKENS + t);
}

static double multiply_once(void *context) {
    struct product *p = context;
    return team_run(p->threads, multiply_part, p);
}

static void fill(struct q8_block *at, size_t rows) {
    for (size_t i = 0; i < rows * BLOCKS; i++) {
        at[i].scale = 1 / (1 + (float)(i % 5));
        for (size_t k = 0; k < QUANT_BLOCK; k++)
            at[i].q[k] = (int8_t)((i * 31 + k * 17) % 255 - 127);
    }
}

static bool is_right(const struct product *p) {
    const struct q8_block *w = p->weights + (ROWS - 1) * BLOCKS, *x = p->x + (TOKENS - 1) * BLOCKS;
    double expected = 0, size = 0;
    for (size_t b = 0; b < BLOCKS; b++)
        for (int i = 0; i < QUANT_BLOCK; i++) {
            double term = (double)w[b].scale * w[b].q[i] * (double)x[b].scale * x[b].q[i];
            expected += term;
            size += fabs(term);
        }
    return fabs(expected - (double)p->y[ROWS * TOKENS - 1]) <= 1e-4 * size;
}

static void run(struct session *session, const struct probe_limits *limits) {
    struct product p = {.threads = limits->threads};
    unsigned sizes[32];
    size_t count = team_sizes(limits->threads, sizes);
    p.weights = malloc(ROWS * BLOCKS * sizeof *p.weights);
    p.x = malloc(TOKENS * BLOCKS * sizeof *p.x);
    p.y = malloc(ROWS * TOKENS * sizeof *p.y);
    bool memory = p.weights && p.x && p.y;
    if (memory) {
        fill(p.weights, ROWS);
        fill(p.x, TOKENS);
    }
    if (!memory || multiply_once(&p) < 0)
        session_skip(session, "no memory for the matrices");
    else if (!is_right(&p))
        session_skip(session, "its result was wrong");
    else
        for (size_t i = 0; i < count; i++) {
            p.threads = sizes[i];
            session_measure(session, limits,
                            &(struct sample){.work = 2.0 * TOKENS * ROWS * COLUMNS,
                                             .unit = "flops",
                                             .threads = sizes[i],
                                             .m = TOKENS,
                                             .n = ROWS,
                                             .k = COLUMNS},
                            multiply_once, &p);
        }
    free(p.weights);
    free(p.x);
    free(p.y);
}

const struct probe probe_cpu_gemm_q8_0 = {"cpu_gemm_q8_0",
                                          "8-bit matrix times 64 vectors, by threads", run};
