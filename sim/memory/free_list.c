#include "memory/free_list.h"

#include <stdbool.h>

enum { UNIT_BITS = 9, EXACT_BITS = 7, EXACT = 1 << EXACT_BITS, LAST_EXPONENT = 37 };

static unsigned lowest_bit(uint64_t x) /* x != 0 */
{
#if defined(__GNUC__)
    return (unsigned)__builtin_ctzll(x);
#else
    unsigned n = 0;
    for (; (x & 1) == 0; x >>= 1)
        n++;
    return n;
#endif
}

static unsigned highest_bit(uint64_t x) /* x != 0 */
{
#if defined(__GNUC__)
    return 63U - (unsigned)__builtin_clzll(x);
#else
    unsigned n = 0;
    for (; x > 1; x >>= 1)
        n++;
    return n;
#endif
}

/* Monotone in the size. */
static unsigned bin_of(uint64_t size_bytes) {
    uint64_t units = size_bytes >> UNIT_BITS;
    if (units < EXACT)
        return (unsigned)units;
    unsigned exponent = highest_bit(units);
    if (exponent > LAST_EXPONENT)
        return VS_FREE_BINS - 1;
    unsigned mantissa = (unsigned)(units >> (exponent - EXACT_BITS)) & (EXACT - 1);
    return ((exponent - EXACT_BITS + 1) << EXACT_BITS) | mantissa;
}

/* The order of a tree: by size then address, or by address alone. */
static bool is_before(const struct vs_block_record *block, uint64_t size_bytes, uint64_t address,
                      bool by_size) {
    if (by_size && block->size_bytes != size_bytes)
        return block->size_bytes < size_bytes;
    return block->address < address;
}

static inline void tree_insert(uint32_t *root, struct vs_block_record *at, uint32_t index,
                               bool by_size) {
    struct vs_block_record *block = &at[index];
    uint64_t size_bytes = block->size_bytes, address = block->address;
    uint32_t *link = root;
    while (*link != 0 && at[*link].priority >= block->priority) {
        struct vs_block_record *node = &at[*link];
        link = is_before(node, size_bytes, address, by_size) ? &node->right : &node->left;
    }
    /* The new node takes this place; what stood here is parted by the new key into its subtrees. */
    uint32_t rest = *link;
    *link = index;
    uint32_t *lower = &block->left, *upper = &block->right;
    while (rest != 0) {
        struct vs_block_record *node = &at[rest];
        if (is_before(node, size_bytes, address, by_size)) {
            *lower = rest;
            lower = &node->right;
            rest = node->right;
        } else {
            *upper = rest;
            upper = &node->left;
            rest = node->left;
        }
    }
    *lower = 0;
    *upper = 0;
}

static inline void tree_remove(uint32_t *root, struct vs_block_record *at, uint32_t index,
                               bool by_size) {
    struct vs_block_record *block = &at[index];
    uint32_t *link = root;
    while (*link != index && *link != 0) {
        struct vs_block_record *node = &at[*link];
        bool right = is_before(node, block->size_bytes, block->address, by_size);
        link = right ? &node->right : &node->left;
    }
    uint32_t lower = block->left, upper = block->right;
    while (lower != 0 && upper != 0) {
        if (at[lower].priority >= at[upper].priority) {
            *link = lower;
            link = &at[lower].right;
            lower = *link;
        } else {
            *link = upper;
            link = &at[upper].left;
            upper = *link;
        }
    }
    *link = lower != 0 ? lower : upper;
}

static inline uint32_t tree_at_least(uint32_t node, const struct vs_block_record *at,
                                     uint64_t size_bytes, uint64_t address, bool by_size) {
    uint32_t found = 0;
    while (node != 0) {
        if (is_before(&at[node], size_bytes, address, by_size)) {
            node = at[node].right;
        } else {
            found = node;
            node = at[node].left;
        }
    }
    return found;
}

static uint32_t tree_below(uint32_t node, const struct vs_block_record *at, uint64_t size_bytes,
                           uint64_t address) {
    uint32_t found = 0;
    while (node != 0) {
        if (is_before(&at[node], size_bytes, address, true)) {
            found = node;
            node = at[node].right;
        } else {
            node = at[node].left;
        }
    }
    return found;
}

void vs_free_list_clear(struct vs_free_list *list) {
    list->words = 0;
    for (unsigned i = 0; i < VS_FREE_WORDS; i++)
        list->bins[i] = 0;
}

void vs_free_list_insert(struct vs_free_list *list, struct vs_block_record *at, uint32_t index) {
    unsigned bin = bin_of(at[index].size_bytes);
    uint64_t bit = 1ULL << (bin % 64);
    if ((list->bins[bin / 64] & bit) == 0) {
        list->words |= 1ULL << (bin / 64);
        list->bins[bin / 64] |= bit;
        list->root[bin] = index;
        at[index].left = 0;
        at[index].right = 0;
        return;
    }
    tree_insert(&list->root[bin], at, index, true);
}

void vs_free_list_remove(struct vs_free_list *list, struct vs_block_record *at, uint32_t index) {
    unsigned bin = bin_of(at[index].size_bytes);
    tree_remove(&list->root[bin], at, index, true);
    if (list->root[bin] != 0)
        return;
    list->bins[bin / 64] &= ~(1ULL << (bin % 64));
    if (list->bins[bin / 64] == 0)
        list->words &= ~(1ULL << (bin / 64));
}

uint32_t vs_free_list_at_least(const struct vs_free_list *list, const struct vs_block_record *at,
                               uint64_t size_bytes, uint64_t address) {
    unsigned bin = bin_of(size_bytes);
    unsigned word = bin / 64;
    uint64_t bits = list->bins[word] & (~0ULL << (bin % 64));
    if ((bits >> (bin % 64)) & 1) {
        uint32_t found = tree_at_least(list->root[bin], at, size_bytes, address, true);
        if (found != 0)
            return found;
        bits &= bits - 1;
    }
    if (bits == 0) {
        uint64_t words = list->words & (~1ULL << word);
        if (words == 0)
            return 0;
        word = lowest_bit(words);
        bits = list->bins[word];
    }
    uint32_t node = list->root[word * 64 + lowest_bit(bits)];
    while (at[node].left != 0)
        node = at[node].left;
    return node;
}

uint32_t vs_free_list_below(const struct vs_free_list *list, const struct vs_block_record *at,
                            uint64_t size_bytes, uint64_t address) {
    unsigned bin = bin_of(size_bytes);
    unsigned word = bin / 64;
    uint64_t bit = 1ULL << (bin % 64);
    if (list->bins[word] & bit) {
        uint32_t found = tree_below(list->root[bin], at, size_bytes, address);
        if (found != 0)
            return found;
    }
    uint64_t bits = list->bins[word] & (bit - 1);
    if (bits == 0) {
        uint64_t words = list->words & ((1ULL << word) - 1);
        if (words == 0)
            return 0;
        word = highest_bit(words);
        bits = list->bins[word];
    }
    uint32_t node = list->root[word * 64 + highest_bit(bits)];
    while (at[node].right != 0)
        node = at[node].right;
    return node;
}

void vs_holes_insert(uint32_t *root, struct vs_block_record *at, uint32_t index) {
    tree_insert(root, at, index, false);
}

void vs_holes_remove(uint32_t *root, struct vs_block_record *at, uint32_t index) {
    tree_remove(root, at, index, false);
}

uint32_t vs_holes_at_least(uint32_t root, const struct vs_block_record *at, uint64_t address) {
    return tree_at_least(root, at, 0, address, false);
}
