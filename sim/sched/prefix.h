/* Blocks of a KV pool that are known by the hash of all tokens up to their end, so that a sequence
 * that begins alike takes them over. A block is held by those who use it; one that nobody holds
 * stays until room is needed, the least recently used first. Counts blocks; owns nothing of a
 * pool. */
#ifndef VS_SCHED_PREFIX_H
#define VS_SCHED_PREFIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct vs_prefix_entry {
    uint64_t key;
    uint32_t holders;
    uint32_t older, newer; /* among those that nobody holds; index + 1, 0 = none */
};

/* All-zero is empty and ready. */
struct vs_prefix {
    VS_VEC(struct vs_prefix_entry) entries; /* dense: the last one moves into a gap */
    uint32_t *table;                        /* open addressing: index + 1, 0 = free */
    size_t slots;
    uint32_t oldest, newest; /* of those that nobody holds; index + 1 */
    size_t idle;             /* how many */
};
void vs_prefix_release(struct vs_prefix *p);

bool vs_prefix_has(const struct vs_prefix *p, uint64_t key);
/* Is it there, and does nobody hold it? */
bool vs_prefix_is_idle(const struct vs_prefix *p, uint64_t key);
/* One more holder of what is there. */
void vs_prefix_hold(struct vs_prefix *p, uint64_t key);
/* Adds what is not there, with `holders` of them; idle where there are none. False when memory runs
 * out. */
bool vs_prefix_add(struct vs_prefix *p, uint64_t key, uint32_t holders);
/* One holder less; the last one leaves it idle, as the most recently used. */
void vs_prefix_drop(struct vs_prefix *p, uint64_t key);
/* What nobody holds becomes the most recently used. */
void vs_prefix_touch(struct vs_prefix *p, uint64_t key);
/* Forgets the least recently used of the idle ones; false where there is none. */
bool vs_prefix_evict(struct vs_prefix *p);

#endif
