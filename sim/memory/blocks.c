#include "memory/blocks.h"

#include <stdlib.h>

void *vs_table_grow(void *at, size_t *room, size_t wanted, size_t element_bytes,
                    uint32_t *growths_left) {
    size_t grown = *room + *room / 2 + 16;
    if (grown < wanted)
        grown = wanted;
    if (grown > SIZE_MAX / element_bytes || *growths_left == 0)
        return NULL;
    void *moved = realloc(at, grown * element_bytes);
    if (moved == NULL)
        return NULL;
    if (*growths_left != UINT32_MAX)
        --*growths_left;
    *room = grown;
    return moved;
}

bool vs_blocks_grow(struct vs_blocks *blocks, uint64_t spare, uint32_t *growths_left) {
    uint64_t wanted = (uint64_t)blocks->in_use + 1 + spare;
    if (wanted > UINT32_MAX / 2)
        return false;
    size_t room = blocks->room;
    void *at = vs_table_grow(blocks->at, &room, (size_t)wanted, sizeof *blocks->at, growths_left);
    if (at == NULL)
        return false;
    blocks->at = at;
    blocks->room = (uint32_t)room;
    if (blocks->count == 0)
        vs_blocks_reset(blocks);
    return true;
}

/* The finalizer of MurmurHash3 (public domain, Austin Appleby): neighbouring slots get unrelated
 * numbers. */
static uint32_t scatter(uint32_t x) {
    x ^= x >> 16;
    x *= 0x85ebca6bU;
    x ^= x >> 13;
    x *= 0xc2b2ae35U;
    return x ^ (x >> 16);
}

uint32_t vs_blocks_take(struct vs_blocks *blocks) {
    uint32_t index = blocks->unused;
    if (index != 0) {
        blocks->unused = blocks->at[index].after;
    } else {
        index = blocks->count++;
        blocks->at[index].priority = scatter(index);
    }
    blocks->in_use++;
    return index;
}

void vs_blocks_give(struct vs_blocks *blocks, uint32_t index) {
    blocks->at[index].state = VS_BLOCK_UNUSED;
    blocks->at[index].after = blocks->unused;
    blocks->unused = index;
    blocks->in_use--;
}

void vs_blocks_reset(struct vs_blocks *blocks) {
    blocks->in_use = 0;
    blocks->unused = 0;
    blocks->count = 0;
    if (blocks->room == 0)
        return;
    blocks->at[0] = (struct vs_block_record){.state = VS_BLOCK_UNUSED};
    blocks->count = 1;
}

void vs_blocks_release(struct vs_blocks *blocks) {
    free(blocks->at);
    *blocks = (struct vs_blocks){.at = NULL};
}
