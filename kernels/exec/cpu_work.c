#include "cpu_work.h"

#include "../cpu/loops.h"
#include "../probe.h"

/* A vector that rows are multiplied with; longer rows are many of this length. */
enum { COLUMNS = 4096, BLOCKS = COLUMNS / QUANT_BLOCK };

static struct {
    int8_t x[COLUMNS];
    float scales[BLOCKS];
    struct q8_block tile[LOOP_TILE * BLOCKS];
} vectors;

struct rows {
    const struct operation *op;
    const unsigned char *at;
    size_t bytes;
    size_t tokens; /* vectors */
};

static void fill_vectors(void) {
    if (vectors.scales[0] > 0)
        return;
    for (int i = 0; i < COLUMNS; i++)
        vectors.x[i] = (int8_t)(i * 37 % 255 - 127);
    for (int b = 0; b < BLOCKS; b++)
        vectors.scales[b] = 1;
    for (int b = 0; b < LOOP_TILE * BLOCKS; b++)
        vectors.tile[b] = (struct q8_block){.scale = 1, .q = {1}};
}

/* Results go somewhere where no compiler can tell that nobody reads them. */
static void keep(float value) {
    volatile float sink = value;
    (void)sink;
}

static void rows_q8(const unsigned char *at, size_t blocks, size_t tokens) {
    float y[LOOP_TILE];
    for (size_t b = 0; b < blocks; b += BLOCKS) {
        size_t row = blocks - b < BLOCKS ? blocks - b : BLOCKS, t = 0;
        const struct q8_block *w = (const struct q8_block *)(const void *)at + b;
        for (; t + LOOP_TILE <= tokens; t += LOOP_TILE) {
            loop_tile_q8_0(w, vectors.tile, row, y);
            keep(y[0]);
        }
        for (; t < tokens; t++)
            keep(loop_row_q8_0(w, vectors.x, vectors.scales, row));
    }
}

static void rows_q4(const unsigned char *at, size_t blocks, size_t tokens) {
    float y[LOOP_TILE];
    for (size_t b = 0; b < blocks; b += BLOCKS) {
        size_t row = blocks - b < BLOCKS ? blocks - b : BLOCKS, t = 0;
        const struct q4_block *w = (const struct q4_block *)(const void *)at + b;
        for (; t + LOOP_TILE <= tokens; t += LOOP_TILE) {
            loop_tile_q4_0(w, vectors.tile, row, y);
            keep(y[0]);
        }
        for (; t < tokens; t++)
            keep(loop_row_q4_0(w, vectors.x, vectors.scales, row));
    }
}

/* Weights of 16 and 32 bit are read; products with many tokens count as those of 8 bit. */
static void rows_wide(const unsigned char *at, size_t bytes, size_t tokens) {
    keep((float)loop_sum((const uint64_t *)(const void *)at, bytes / sizeof(uint64_t)));
    if (tokens > 1)
        rows_q8(at, bytes / sizeof(struct q8_block), tokens - 1);
}

static void rows_part(void *context, unsigned part, unsigned parts) {
    const struct rows *r = context;
    size_t block = r->op->weight_bits <= 6    ? sizeof(struct q4_block)
                   : r->op->weight_bits <= 12 ? sizeof(struct q8_block)
                                              : sizeof(uint64_t);
    size_t first, number = team_share(r->bytes / block, part, parts, &first);
    const unsigned char *at = r->at + first * block;
    if (r->op->weight_bits <= 6)
        rows_q4(at, number, r->tokens);
    else if (r->op->weight_bits <= 12)
        rows_q8(at, number, r->tokens);
    else
        rows_wide(at, number * block, r->tokens);
}

/* Four arrays of equal length, read and written for 28 bytes to 16 of them. */
static void adam_part(void *context, unsigned part, unsigned parts) {
    const struct rows *r = context;
    size_t count = r->bytes / (4 * sizeof(float)), first;
    size_t number = team_share(count, part, parts, &first);
    float *at = (float *)(uintptr_t)r->at;
    loop_adam(at + first, at + count + first, at + 2 * count + first, at + 3 * count + first,
              number);
}

/* Vectors that make up the flops: 2 to a weight and vector. */
static size_t tokens_of(const struct operation *op) {
    double weights = op->bytes * 8 / op->weight_bits;
    double tokens = weights > 0 ? op->flops / (2 * weights) : 1;
    return tokens > 1.5 ? (size_t)(tokens + 0.5) : 1;
}

/* Adam's 28 bytes of traffic are of 16 in memory. */
double cpu_work_bytes(const struct operation *op) {
    return op->work == WORK_CPU_ADAM ? op->bytes * 16 / 28 : op->bytes;
}

void cpu_work(const struct operation *op, const struct piece *pieces, size_t count,
              unsigned threads) {
    bool adam = op->work == WORK_CPU_ADAM;
    size_t tokens = tokens_of(op);
    double left = cpu_work_bytes(op);
    fill_vectors();
    for (size_t i = 0; count > 0 && left >= 1; i++) {
        struct piece p = piece_at(pieces, count, i, left);
        struct rows rows = {op, p.at, p.bytes, tokens};
        left -= (double)p.bytes;
        (void)team_run(threads, adam ? adam_part : rows_part, &rows);
    }
}
