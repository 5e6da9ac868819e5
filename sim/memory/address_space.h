/* Where segments lie in a pool's virtual address space.
 *
 * A range goes to the lowest addresses at which it fits, freed ranges included. So the place of the
 * next segment follows from the set of live segments alone: work that frees what it took ends in
 * the state in which it began (addresses that only grow would never repeat), and CUDA's driver
 * reuses freed addresses too. Which addresses it picks is not documented; only ties of best fit
 * depend on it.
 */
#ifndef VS_MEMORY_ADDRESS_SPACE_H
#define VS_MEMORY_ADDRESS_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vs_gap {
    uint64_t begin, end;
};

struct vs_address_space {
    struct vs_gap *gaps; /* free ranges below the frontier, by address, never adjacent */
    size_t count, room;
    size_t live;       /* ranges taken; there are never more gaps than that */
    uint64_t frontier; /* everything from here on is free */
};

/* Makes sure that one more range can be taken, and all of them given back, without memory. False
 * when memory runs out or `bytes` more might not fit below 2^63. */
bool vs_address_space_reserve(struct vs_address_space *space, uint64_t bytes,
                              uint32_t *growths_left);
uint64_t vs_address_space_take(struct vs_address_space *space, uint64_t bytes);
void vs_address_space_give(struct vs_address_space *space, uint64_t address, uint64_t bytes);
void vs_address_space_reset(struct vs_address_space *space); /* memory kept */
void vs_address_space_release(struct vs_address_space *space);

#endif
