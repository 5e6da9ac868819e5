/* The rules of PyTorch's caching allocator once more, written for simplicity and not for speed: one
 * array of all blocks by address, searched from end to end at every step. test_caching.c compares
 * it with the real thing. Names in comments are those of CUDACachingAllocator.cpp. */
#ifndef CACHING_MODEL_H
#define CACHING_MODEL_H

#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "memory/pool.h"

#define MODEL_MIB (1ULL << 20)
enum { MODEL_BLOCKS = 4096 };
enum model_state { MODEL_FREE, MODEL_HELD, MODEL_RETIRED, MODEL_HOLE };
enum { MODEL_RETIRED_MOST = 64 };

struct model_block {
    uint64_t address, size, segment;
    uint64_t segment_size;
    enum model_state state;
    unsigned stream;
    bool small, fresh; /* fresh: unmapped by the present emptying of the cache */
};

struct model {
    struct model_block blocks[MODEL_BLOCKS];
    int count;
    bool expandable;
    unsigned divisions;
    uint64_t capacity, max_split, rounding;
    uint64_t raw, retries, asked;
    bool lifted;
    uint32_t in_flight[VS_POOL_STREAMS];
    uint64_t retired[VS_POOL_STREAMS][MODEL_RETIRED_MOST]; /* addresses, the oldest first */
    uint32_t retired_count[VS_POOL_STREAMS];
};

/* A free list: of one stream, of small blocks or of large ones. */
struct model_list {
    unsigned stream;
    bool small;
};

static bool model_is_in(const struct model_block *b, struct model_list list) {
    return b->stream == list.stream && b->small == list.small;
}

static bool model_is_taken(const struct model_block *b) {
    return b->state == MODEL_HELD || b->state == MODEL_RETIRED;
}

static uint64_t model_sum(const struct model *m, bool held_only) {
    uint64_t sum = 0;
    for (int i = 0; i < m->count; i++)
        if (m->blocks[i].state == MODEL_HELD || (!held_only && m->blocks[i].state != MODEL_HOLE))
            sum += m->blocks[i].size;
    return sum;
}

static bool model_fits(struct model *m, uint64_t bytes) {
    m->asked = bytes;
    return m->lifted || model_sum(m, false) + m->raw + bytes <= m->capacity;
}

static void model_insert(struct model *m, struct model_block block) {
    int at = 0;
    while (at < m->count && m->blocks[at].address < block.address)
        at++;
    ck_assert_int_lt(m->count, MODEL_BLOCKS);
    memmove(&m->blocks[at + 1], &m->blocks[at], (size_t)(m->count - at) * sizeof block);
    m->blocks[at] = block;
    m->count++;
}

static void model_erase(struct model *m, int at) {
    m->count--;
    memmove(&m->blocks[at], &m->blocks[at + 1], (size_t)(m->count - at) * sizeof m->blocks[0]);
}

/* Joins all neighbours of one segment that are both free or both holes. */
static void model_join(struct model *m) {
    for (int i = 0; i + 1 < m->count;) {
        struct model_block *a = &m->blocks[i], *b = a + 1;
        if (a->segment == b->segment && a->state == b->state && !model_is_taken(a)) {
            a->size += b->size;
            a->fresh |= b->fresh;
            model_erase(m, i + 1);
        } else {
            i++;
        }
    }
}

/* Makes an end of a block at an address, if that is inside of one. */
static void model_cut(struct model *m, uint64_t address) {
    for (int i = 0; i < m->count; i++) {
        struct model_block *block = &m->blocks[i];
        if (block->address >= address || block->address + block->size <= address)
            continue;
        struct model_block high = *block;
        high.address = address;
        high.size = block->address + block->size - address;
        block->size = address - block->address;
        model_insert(m, high);
        return;
    }
}

static int model_at(const struct model *m, uint64_t address) {
    for (int i = 0; i < m->count; i++)
        if (m->blocks[i].address == address)
            return i;
    return -1;
}

static uint64_t model_up(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

/* round_size */
static uint64_t model_round(const struct model *m, uint64_t bytes) {
    if (bytes < 512)
        return 512;
    if (m->divisions <= 1 || bytes <= 512 * (uint64_t)m->divisions)
        return model_up(bytes, 512);
    unsigned floor_log = 0, division_log = 0;
    while ((bytes >> floor_log) > 1)
        floor_log++;
    while ((m->divisions >> division_log) > 1)
        division_log++;
    if (bytes == 1ULL << floor_log)
        return bytes;
    return model_up(bytes, 1ULL << (floor_log - division_log));
}

/* The lowest address at which a new segment has room; segments follow each other in the array. */
static uint64_t model_new_address(const struct model *m, uint64_t bytes) {
    uint64_t address = 0;
    for (int i = 0; i < m->count; i++) {
        if (m->blocks[i].segment >= address + bytes)
            break;
        address = m->blocks[i].segment + m->blocks[i].segment_size;
    }
    return address;
}

static void model_new_segment(struct model *m, struct model_list list, uint64_t bytes,
                              enum model_state state) {
    uint64_t address = model_new_address(m, bytes);
    model_insert(m, (struct model_block){.address = address,
                                         .size = bytes,
                                         .segment = address,
                                         .segment_size = bytes,
                                         .state = state,
                                         .stream = list.stream,
                                         .small = list.small});
}

/* The size to which a free block could grow. */
static uint64_t model_growth(const struct model *m, int i) {
    const struct model_block *block = &m->blocks[i];
    bool grows = m->expandable && i + 1 < m->count && block[1].segment == block->segment &&
                 block[1].state == MODEL_HOLE;
    return block->size + (grows ? block[1].size : 0);
}

/* The free block that follows (size, address) in the order of size, then address; -1 = none. */
static int model_next(const struct model *m, struct model_list list, uint64_t size,
                      uint64_t address) {
    int best = -1;
    for (int i = 0; i < m->count; i++) {
        const struct model_block *b = &m->blocks[i];
        bool after = b->size > size || (b->size == size && b->address >= address);
        if (b->state != MODEL_FREE || !model_is_in(b, list) || !after)
            continue;
        if (best < 0 || b->size < m->blocks[best].size) /* ties: the first, which is the lowest */
            best = i;
    }
    return best;
}

/* get_free_block */
static int model_find(const struct model *m, struct model_list list, uint64_t size) {
    int found = model_next(m, list, size, 0);
    while (found >= 0 && m->expandable) {
        const struct model_block *b = &m->blocks[found];
        int next = model_next(m, list, b->size, b->address + 1);
        if (next < 0 || model_growth(m, next) >= model_growth(m, found))
            break;
        found = next;
    }
    if (found < 0)
        return -1;
    uint64_t found_size = m->blocks[found].size;
    if (size < m->max_split && found_size >= m->max_split)
        return -1;
    if (size >= m->max_split && found_size >= size + m->rounding)
        return -1;
    return found;
}

/* find_expandable_block: the address from which free blocks and holes have room, the first hole not
 * later than the second block. */
static bool model_find_room(const struct model *m, struct model_list list, uint64_t size,
                            uint64_t *address) {
    for (int i = 0; i < m->count; i++) {
        uint64_t room = 0;
        const struct model_block *b = &m->blocks[i];
        bool hole_next = i + 1 < m->count && b[1].segment == b->segment && b[1].state == MODEL_HOLE;
        if (!model_is_in(b, list) || model_is_taken(b) || (b->state == MODEL_FREE && !hole_next))
            continue;
        for (int j = i; j < m->count && m->blocks[j].segment == b->segment; j++) {
            if (model_is_taken(&m->blocks[j]))
                break;
            room += m->blocks[j].size;
        }
        *address = b->address;
        if (room >= size)
            return true;
    }
    return false;
}

static uint64_t model_page(bool small) { return (small ? 2 : 20) * MODEL_MIB; }

/* try_allocate_expandable_block: gives memory to holes until the block at `address` is large
 * enough. */
static int model_grow(struct model *m, struct model_list list, uint64_t size) {
    uint64_t address, reserved = model_up(m->capacity + m->capacity / 8, 20 * MODEL_MIB);
    if (!model_find_room(m, list, size, &address)) {
        uint64_t least = model_up(size, 20 * MODEL_MIB);
        model_new_segment(m, list, reserved > least ? reserved : least, MODEL_HOLE);
        model_find_room(m, list, size, &address);
    }
    for (;;) {
        int i = model_at(m, address);
        uint64_t have = m->blocks[i].state == MODEL_FREE ? m->blocks[i].size : 0;
        if (have >= size)
            return i;
        const struct model_block *hole = &m->blocks[have == 0 ? i : i + 1];
        uint64_t wanted = size - have < hole->size ? size - have : hole->size;
        uint64_t hole_address = hole->address, mapped = model_up(wanted, model_page(list.small));
        if (!model_fits(m, mapped))
            return -1;
        model_cut(m, hole_address + mapped);
        m->blocks[model_at(m, hole_address)].state = MODEL_FREE;
        model_join(m);
    }
}

/* alloc_block */
static int model_driver(struct model *m, struct model_list list, uint64_t size) {
    if (m->expandable)
        return model_grow(m, list, size);
    uint64_t segment = list.small              ? 2 * MODEL_MIB
                       : size < 10 * MODEL_MIB ? 20 * MODEL_MIB
                                               : model_up(size, 2 * MODEL_MIB);
    if (!model_fits(m, segment))
        return -1;
    uint64_t address = model_new_address(m, segment);
    model_new_segment(m, list, segment, MODEL_FREE);
    return model_at(m, address);
}

static bool model_is_whole(const struct model *m, int i) {
    return m->blocks[i].size == m->blocks[i].segment_size;
}

/* release_available_cached_blocks */
static bool model_free_oversize(struct model *m, struct model_list list, uint64_t size) {
    if (m->max_split == UINT64_MAX || m->expandable)
        return false;
    uint64_t needed = size < m->max_split ? m->max_split : size, freed = 0;
    int found = model_next(m, list, needed, 0);
    if (found >= 0) {
        ck_assert(model_is_whole(m, found));
        model_erase(m, found);
        return true;
    }
    while (freed < needed) {
        int largest = -1; /* of equals the one with the highest address */
        for (int i = 0; i < m->count; i++) {
            const struct model_block *b = &m->blocks[i];
            if (b->state == MODEL_FREE && model_is_in(b, list) && b->size >= m->max_split &&
                (largest < 0 || b->size >= m->blocks[largest].size))
                largest = i;
        }
        if (largest < 0)
            return false;
        freed += m->blocks[largest].size;
        model_erase(m, largest);
    }
    return true;
}

/* Unmaps the whole pages of all free blocks, and releases segments of which nothing is left. */
static void model_unmap(struct model *m) {
    for (int i = 0; i < m->count; i++) {
        struct model_block b = m->blocks[i];
        uint64_t page = model_page(b.small);
        uint64_t begin = b.segment + model_up(b.address - b.segment, page);
        uint64_t end = b.segment + (b.address + b.size - b.segment) / page * page;
        if (b.state != MODEL_FREE || begin >= end)
            continue;
        model_cut(m, begin);
        model_cut(m, end);
        int whole = model_at(m, begin);
        m->blocks[whole].state = MODEL_HOLE;
        m->blocks[whole].fresh = true;
    }
    model_join(m);
    for (int i = m->count - 1; i >= 0; i--) {
        if (m->blocks[i].state == MODEL_HOLE && model_is_whole(m, i) && m->blocks[i].fresh)
            model_erase(m, i);
        else
            m->blocks[i].fresh = false;
    }
}

/* process_events: the oldest retired blocks of a stream are free. */
static void model_reclaim(struct model *m, unsigned stream, uint32_t kept) {
    while (m->retired_count[stream] > kept) {
        uint64_t *first = m->retired[stream];
        m->blocks[model_at(m, first[0])].state = MODEL_FREE;
        model_join(m);
        m->retired_count[stream]--;
        memmove(first, first + 1, m->retired_count[stream] * sizeof *first);
    }
}

static void model_settle(struct model *m) {
    for (unsigned stream = 0; stream < VS_POOL_STREAMS; stream++)
        model_reclaim(m, stream, 0);
}

static void model_retire(struct model *m, uint64_t address) {
    struct model_block *block = &m->blocks[model_at(m, address)];
    ck_assert_uint_lt(m->retired_count[block->stream], MODEL_RETIRED_MOST);
    m->retired[block->stream][m->retired_count[block->stream]++] = address;
    block->state = MODEL_RETIRED;
}

/* release_cached_blocks */
static void model_empty_cache(struct model *m) {
    model_settle(m);
    if (m->expandable)
        model_unmap(m);
    for (int i = m->count - 1; i >= 0 && !m->expandable; i--)
        if (m->blocks[i].state == MODEL_FREE && model_is_whole(m, i))
            model_erase(m, i);
}

static enum vs_pool_result model_alloc(struct model *m, unsigned stream, uint64_t bytes,
                                       uint64_t *address) {
    enum vs_pool_result result = VS_POOL_OK;
    uint64_t size = model_round(m, bytes);
    const struct model_list list = {stream, size <= MODEL_MIB};
    model_reclaim(m, stream, m->in_flight[stream]);
    int i = model_find(m, list, size);
    if (i < 0)
        i = model_driver(m, list, size);
    if (i < 0 && model_free_oversize(m, list, size))
        i = model_driver(m, list, size);
    if (i < 0) {
        model_empty_cache(m);
        m->retries++;
        result = VS_POOL_RETRIED;
        i = model_driver(m, list, size);
    }
    if (i < 0) {
        result = VS_POOL_OOM;
        m->lifted = true;
        uint64_t asked = m->asked;
        i = model_driver(m, list, size);
        m->asked = asked;
    }
    uint64_t rest = m->blocks[i].size - size;
    *address = m->blocks[i].address;
    bool split =
        list.small || m->expandable ? rest >= 512 : size < m->max_split && rest > MODEL_MIB;
    if (split)
        model_cut(m, *address + size);
    m->blocks[model_at(m, *address)].state = MODEL_HELD;
    return result;
}

static void model_release(struct model *m, uint64_t address) {
    m->blocks[model_at(m, address)].state = MODEL_FREE;
    model_join(m);
}

#endif
