/* Free blocks in the exact order (size, address), for best fit.
 *
 * Sizes fall into bins (128 per power of two, in units of 512 B) whose occupancy is a two-level
 * bitmap; within a bin the blocks form a treap whose nodes are records of the block table. Most
 * bins hold few blocks, so that a search is two bit scans and a step or two down a tree; with n
 * blocks of one bin it is O(log n). A second kind of list, of holes, is one treap in the order of
 * addresses.
 *
 * Lists own no memory: they link records by left and right. They hold indices, so the table may
 * move.
 */
#ifndef VS_MEMORY_FREE_LIST_H
#define VS_MEMORY_FREE_LIST_H

#include <stdint.h>

#include "memory/blocks.h"

/* Sizes below 128 units have a bin each, then come 128 for each of 31 powers of two; what is larger
 * than that (64 TiB) shares the last bin. One word says which of the 64 words of the bitmap are not
 * 0. */
enum { VS_FREE_BINS = 32 * 128, VS_FREE_WORDS = VS_FREE_BINS / 64 };

struct vs_free_list {
    uint64_t words;               /* which words of `bins` are not 0 */
    uint64_t bins[VS_FREE_WORDS]; /* which bins are not empty */
    uint32_t root[VS_FREE_BINS];  /* valid where the bin is not empty */
};

void vs_free_list_clear(struct vs_free_list *list);
void vs_free_list_insert(struct vs_free_list *list, struct vs_block_record *at, uint32_t index);
/* The block must be in the list, with the size and address with which it was inserted. */
void vs_free_list_remove(struct vs_free_list *list, struct vs_block_record *at, uint32_t index);
/* The first block that is not before (size, address); 0 = none. */
uint32_t vs_free_list_at_least(const struct vs_free_list *list, const struct vs_block_record *at,
                               uint64_t size_bytes, uint64_t address);
/* The last block that is before (size, address); 0 = none. */
uint32_t vs_free_list_below(const struct vs_free_list *list, const struct vs_block_record *at,
                            uint64_t size_bytes, uint64_t address);

/* Holes by address: *root is 0 for an empty list. */
void vs_holes_insert(uint32_t *root, struct vs_block_record *at, uint32_t index);
void vs_holes_remove(uint32_t *root, struct vs_block_record *at, uint32_t index);
uint32_t vs_holes_at_least(uint32_t root, const struct vs_block_record *at, uint64_t address);

#endif
