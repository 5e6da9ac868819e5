#include "gemv.h"

#include <math.h>
#include <stdlib.h>

#include "quant.h"

enum { COLUMNS = 4096, BLOCKS = COLUMNS / QUANT_BLOCK };

struct product {
    const struct gemv_format *format;
    unsigned char *weights;
    int8_t x[COLUMNS];
    float scales[BLOCKS];
    float *y;
    size_t rows;
    unsigned threads;
};

static unsigned char *row_at(const struct product *p, size_t row) {
    return p->weights + row * BLOCKS * p->format->block_size;
}

static void fill_part(void *context, unsigned part, unsigned parts) {
    struct product *p = context;
    size_t first, number = team_share(p->rows, part, parts, &first);
    for (size_t row = first; row < first + number; row++)
        for (size_t b = 0; b < BLOCKS; b++)
            p->format->fill(row_at(p, row) + b * p->format->block_size, row * BLOCKS + b);
}

static void multiply_part(void *context, unsigned part, unsigned parts) {
    struct product *p = context;
    size_t first, number = team_share(p->rows, part, parts, &first);
    for (size_t row = first; row < first + number; row++)
        p->y[row] = p->format->row(row_at(p, row), p->x, p->scales, BLOCKS);
}

static double multiply_once(void *context) {
    struct product *p = context;
    return team_run(p->threads, multiply_part, p);
}

/* The first and the last row in double precision, value by value. */
static bool is_right(const struct product *p) {
    for (size_t row = 0; row < p->rows; row += p->rows - 1) {
        double expected = 0, size = 0;
        for (size_t b = 0; b < BLOCKS; b++)
            for (int i = 0; i < QUANT_BLOCK; i++) {
                double term =
                    (double)p->format->value(row_at(p, row) + b * p->format->block_size, i) *
                    (double)p->scales[b] * p->x[b * QUANT_BLOCK + (size_t)i];
                expected += term;
                size += fabs(term);
            }
        if (fabs(expected - (double)p->y[row]) > 1e-4 * size)
            return false;
    }
    return true;
}

void gemv_measure(struct session *session, const struct probe_limits *limits,
                  const struct gemv_format *format) {
    struct product p = {.format = format, .rows = limits->bytes / (BLOCKS * format->block_bytes)};
    unsigned sizes[32];
    size_t count = team_sizes(limits->threads, sizes);
    for (int i = 0; i < COLUMNS; i++)
        p.x[i] = (int8_t)(i * 37 % 255 - 127);
    for (int b = 0; b < BLOCKS; b++)
        p.scales[b] = 1 / (1 + (float)b);
    p.weights = malloc(p.rows * BLOCKS * format->block_size);
    p.y = malloc(p.rows * sizeof *p.y);
    if (!p.weights || !p.y || team_run(limits->threads, fill_part, &p) < 0) {
        session_skip(session, "no memory for the matrix");
    } else if (team_run(limits->threads, multiply_part, &p) < 0 || !is_right(&p)) {
        session_skip(session, "its result was wrong");
    } else {
        for (size_t i = 0; i < count; i++) {
            p.threads = sizes[i];
            session_measure(
                session, limits,
                &(struct sample){.work = (double)(p.rows * BLOCKS * format->block_bytes),
                                 .unit = "bytes",
                                 .threads = sizes[i],
                                 .bytes = p.rows * BLOCKS * format->block_bytes,
                                 .m = 1,
                                 .n = p.rows,
                                 .k = COLUMNS},
                multiply_once, &p);
        }
    }
    free(p.weights);
    free(p.y);
}
