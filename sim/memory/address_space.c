#include "memory/address_space.h"

#include <stdlib.h>
#include <string.h>

#include "memory/blocks.h"

bool vs_address_space_reserve(struct vs_address_space *space, uint64_t bytes,
                              uint32_t *growths_left) {
    if (bytes > INT64_MAX || space->frontier > INT64_MAX - bytes)
        return false;
    if (space->live + 1 < space->room)
        return true;
    void *gaps = vs_table_grow(space->gaps, &space->room, space->live + 2, sizeof *space->gaps,
                               growths_left);
    if (gaps == NULL)
        return false;
    space->gaps = gaps;
    return true;
}

static void erase_gap(struct vs_address_space *space, size_t i) {
    space->count--;
    memmove(&space->gaps[i], &space->gaps[i + 1], (space->count - i) * sizeof *space->gaps);
}

uint64_t vs_address_space_take(struct vs_address_space *space, uint64_t bytes) {
    space->live++;
    for (size_t i = 0; i < space->count; i++) {
        struct vs_gap *gap = &space->gaps[i];
        if (gap->end - gap->begin < bytes)
            continue;
        uint64_t address = gap->begin;
        gap->begin += bytes;
        if (gap->begin == gap->end)
            erase_gap(space, i);
        return address;
    }
    uint64_t address = space->frontier;
    space->frontier += bytes;
    return address;
}

/* The first gap that begins after the address. */
static size_t gap_after(const struct vs_address_space *space, uint64_t address) {
    size_t low = 0, high = space->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (space->gaps[middle].begin > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

void vs_address_space_give(struct vs_address_space *space, uint64_t address, uint64_t bytes) {
    struct vs_gap range = {address, address + bytes};
    space->live--;
    size_t i = gap_after(space, address);
    if (i < space->count && space->gaps[i].begin == range.end) {
        range.end = space->gaps[i].end;
        erase_gap(space, i);
    }
    if (i > 0 && space->gaps[i - 1].end == range.begin) {
        range.begin = space->gaps[i - 1].begin;
        erase_gap(space, --i);
    }
    if (range.end == space->frontier) {
        space->frontier = range.begin;
        return;
    }
    memmove(&space->gaps[i + 1], &space->gaps[i], (space->count - i) * sizeof *space->gaps);
    space->gaps[i] = range;
    space->count++;
}

void vs_address_space_reset(struct vs_address_space *space) {
    space->count = 0;
    space->live = 0;
    space->frontier = 0;
}

void vs_address_space_release(struct vs_address_space *space) {
    free(space->gaps);
    *space = (struct vs_address_space){.gaps = NULL};
}
