/* Blocks of a paged cache that a sequence fills. Where layers have a window, what they hold of
 * blocks before it goes back to the pool: a part of each block. */
#ifndef VS_MEMORY_PAGED_H
#define VS_MEMORY_PAGED_H

#include <stdint.h>

struct vs_paged {
    uint64_t block_tokens;
    uint64_t window_blocks; /* that a window needs at most; 0 = no layer has one */
    double window_part;     /* of a block's bytes, those of layers with a window */
};

static inline uint64_t vs_paged_blocks(const struct vs_paged *p, uint64_t tokens) {
    uint64_t blocks = (tokens + p->block_tokens - 1) / p->block_tokens;
    if (p->window_blocks == 0 || blocks <= p->window_blocks)
        return blocks;
    return blocks - (uint64_t)((double)(blocks - p->window_blocks) * p->window_part);
}

#endif
