#include "sched/prefix.h"

#include <stdlib.h>

#include "base/hash.h"

enum { SLOTS_FIRST = 256 };

void vs_prefix_release(struct vs_prefix *p) {
    vs_vec_release(&p->entries);
    free(p->table);
    *p = (struct vs_prefix){0};
}

/* Ids of traces are small numbers in a row. */
static size_t home_of(const struct vs_prefix *p, uint64_t key) {
    return (size_t)vs_hash_pair(1, key) & (p->slots - 1);
}

/* Where the key stands, or where it would. */
static size_t slot_of(const struct vs_prefix *p, uint64_t key) {
    size_t slot = home_of(p, key);
    while (p->table[slot] != 0 && p->entries.at[p->table[slot] - 1].key != key)
        slot = (slot + 1) & (p->slots - 1);
    return slot;
}

/* index + 1, 0 = not there */
static uint32_t find(const struct vs_prefix *p, uint64_t key) {
    return p->slots > 0 ? p->table[slot_of(p, key)] : 0;
}

/* At most half full. */
static bool widen(struct vs_prefix *p) {
    if (p->slots > 2 * p->entries.count)
        return true;
    size_t slots = p->slots > 0 ? 2 * p->slots : SLOTS_FIRST;
    uint32_t *table = calloc(slots, sizeof *table);
    if (!table)
        return false;
    free(p->table);
    p->table = table;
    p->slots = slots;
    for (size_t i = 0; i < p->entries.count; i++)
        table[slot_of(p, p->entries.at[i].key)] = (uint32_t)i + 1;
    return true;
}

static void link_newest(struct vs_prefix *p, uint32_t at) {
    struct vs_prefix_entry *e = &p->entries.at[at - 1];
    e->older = p->newest;
    e->newer = 0;
    if (p->newest != 0)
        p->entries.at[p->newest - 1].newer = at;
    else
        p->oldest = at;
    p->newest = at;
    p->idle++;
}

static void unlink_idle(struct vs_prefix *p, uint32_t at) {
    struct vs_prefix_entry *e = &p->entries.at[at - 1];
    *(e->older != 0 ? &p->entries.at[e->older - 1].newer : &p->oldest) = e->newer;
    *(e->newer != 0 ? &p->entries.at[e->newer - 1].older : &p->newest) = e->older;
    p->idle--;
}

bool vs_prefix_has(const struct vs_prefix *p, uint64_t key) { return find(p, key) != 0; }

bool vs_prefix_is_idle(const struct vs_prefix *p, uint64_t key) {
    uint32_t at = find(p, key);
    return at != 0 && p->entries.at[at - 1].holders == 0;
}

void vs_prefix_hold(struct vs_prefix *p, uint64_t key) {
    uint32_t at = find(p, key);
    if (p->entries.at[at - 1].holders++ == 0)
        unlink_idle(p, at);
}

bool vs_prefix_add(struct vs_prefix *p, uint64_t key, uint32_t holders) {
    struct vs_prefix_entry e = {.key = key, .holders = holders};
    if (!widen(p) || !vs_vec_push(&p->entries, e))
        return false;
    uint32_t at = (uint32_t)p->entries.count;
    p->table[slot_of(p, key)] = at;
    if (holders == 0)
        link_newest(p, at);
    return true;
}

void vs_prefix_drop(struct vs_prefix *p, uint64_t key) {
    uint32_t at = find(p, key);
    if (--p->entries.at[at - 1].holders == 0)
        link_newest(p, at);
}

void vs_prefix_touch(struct vs_prefix *p, uint64_t key) {
    uint32_t at = find(p, key);
    if (p->entries.at[at - 1].holders > 0)
        return;
    unlink_idle(p, at);
    link_newest(p, at);
}

/* Closes the gap that an open-addressed table must not have: what stands behind it moves up where
 * its home lies at or before the gap. */
static void close_gap(struct vs_prefix *p, size_t gap) {
    size_t mask = p->slots - 1;
    for (size_t i = (gap + 1) & mask; p->table[i] != 0; i = (i + 1) & mask) {
        size_t home = home_of(p, p->entries.at[p->table[i] - 1].key);
        if (((i - home) & mask) >= ((i - gap) & mask)) {
            p->table[gap] = p->table[i];
            gap = i;
        }
    }
    p->table[gap] = 0;
}

bool vs_prefix_evict(struct vs_prefix *p) {
    uint32_t at = p->oldest, last = (uint32_t)p->entries.count;
    if (at == 0)
        return false;
    unlink_idle(p, at);
    close_gap(p, slot_of(p, p->entries.at[at - 1].key));
    if (at != last) {
        struct vs_prefix_entry *e = &p->entries.at[last - 1];
        p->table[slot_of(p, e->key)] = at;
        if (e->holders == 0) {
            *(e->older != 0 ? &p->entries.at[e->older - 1].newer : &p->oldest) = at;
            *(e->newer != 0 ? &p->entries.at[e->newer - 1].older : &p->newest) = at;
        }
        p->entries.at[at - 1] = *e;
    }
    p->entries.count--;
    return true;
}
