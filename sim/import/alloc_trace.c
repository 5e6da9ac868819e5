#include "import/alloc_trace.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum { SLOTS_FIRST = 1024 };

void vs_alloc_trace_release(struct vs_alloc_trace *trace) {
    vs_vec_release(&trace->blocks);
    vs_vec_release(&trace->events);
    vs_vec_release(&trace->before);
    vs_vec_release(&trace->streams);
    vs_vec_release(&trace->slots);
    memset(trace, 0, sizeof *trace);
}

/* The slot of a key, or the free one where it would go. The table is never full. */
static struct vs_alloc_slot *slot_of(const struct vs_alloc_trace *trace, const uint64_t key[2]) {
    size_t mask = trace->slots.count - 1;
    size_t i = (size_t)vs_hash_pair(key[0], key[1]) & mask;
    while (trace->slots.at[i].used &&
           (trace->slots.at[i].key[0] != key[0] || trace->slots.at[i].key[1] != key[1]))
        i = (i + 1) & mask;
    return &trace->slots.at[i];
}

/* Makes sure that one more key finds a slot, with half of them free. */
static bool reserve_slot(struct vs_alloc_trace *trace) {
    struct vs_alloc_trace larger = {0};
    if (2 * (trace->slots_used + 1) <= trace->slots.count)
        return true;
    size_t wanted = trace->slots.count > 0 ? 2 * trace->slots.count : SLOTS_FIRST;
    if (!vs_vec_reserve(&larger.slots, wanted))
        return false;
    larger.slots.count = wanted;
    memset(larger.slots.at, 0, wanted * sizeof *larger.slots.at);
    for (size_t i = 0; i < trace->slots.count; i++)
        if (trace->slots.at[i].used)
            *slot_of(&larger, trace->slots.at[i].key) = trace->slots.at[i];
    vs_vec_release(&trace->slots);
    trace->slots.at = larger.slots.at;
    trace->slots.count = larger.slots.count;
    trace->slots.room = larger.slots.room;
    return true;
}

static void push_key(struct vs_alloc_trace *trace, const uint64_t key[2], uint32_t block) {
    struct vs_alloc_slot *slot = slot_of(trace, key);
    if (!slot->used) {
        *slot =
            (struct vs_alloc_slot){.key = {key[0], key[1]}, .block = VS_ALLOC_NONE, .used = true};
        trace->slots_used++;
    }
    trace->blocks.at[block].below = slot->block;
    slot->block = block;
}

static uint32_t pop_key(struct vs_alloc_trace *trace, const uint64_t key[2]) {
    struct vs_alloc_slot *slot = trace->slots.count > 0 ? slot_of(trace, key) : NULL;
    if (!slot || !slot->used || slot->block == VS_ALLOC_NONE)
        return VS_ALLOC_NONE;
    uint32_t block = slot->block;
    slot->block = trace->blocks.at[block].below;
    return block;
}

bool vs_alloc_is_live(const struct vs_alloc_trace *trace, const uint64_t key[2]) {
    if (trace->slots.count == 0)
        return false;
    const struct vs_alloc_slot *slot = slot_of(trace, key);
    return slot->used && slot->block != VS_ALLOC_NONE;
}

static bool add_block(struct vs_alloc_trace *trace, const struct vs_alloc_entry *entry,
                      uint32_t *block) {
    struct vs_alloc_block made = {.address = entry->address,
                                  .bytes = entry->bytes,
                                  .below = VS_ALLOC_NONE,
                                  .device = (uint8_t)entry->device,
                                  .stream = (uint8_t)entry->stream,
                                  .tag = (uint8_t)entry->tag};
    if (trace->blocks.count >= VS_ALLOC_NONE || !vs_vec_push(&trace->blocks, made))
        return false;
    *block = (uint32_t)(trace->blocks.count - 1);
    if (entry->device >= trace->device_count)
        trace->device_count = entry->device + 1;
    return true;
}

static bool add_event(struct vs_alloc_trace *trace, const struct vs_alloc_entry *entry,
                      enum vs_alloc_verb verb, uint32_t block) {
    struct vs_alloc_event event = {.time_ns = entry->time_ns,
                                   .place = entry->place,
                                   .block = block,
                                   .verb = (uint8_t)verb,
                                   .tag = (uint8_t)entry->tag};
    return vs_vec_push(&trace->events, event);
}

bool vs_alloc_take(struct vs_alloc_trace *trace, const struct vs_alloc_entry *entry) {
    uint32_t block;
    if (!reserve_slot(trace) || !add_block(trace, entry, &block) ||
        !add_event(trace, entry, VS_ALLOC_TAKE, block))
        return false;
    push_key(trace, entry->key, block);
    return true;
}

static bool add_before(struct vs_alloc_trace *trace, const struct vs_alloc_entry *entry,
                       uint32_t *block) {
    return add_block(trace, entry, block) && vs_vec_push(&trace->before, *block);
}

bool vs_alloc_before(struct vs_alloc_trace *trace, const struct vs_alloc_entry *entry) {
    uint32_t block;
    if (!reserve_slot(trace) || !add_before(trace, entry, &block))
        return false;
    push_key(trace, entry->key, block);
    return true;
}

bool vs_alloc_give(struct vs_alloc_trace *trace, const struct vs_alloc_entry *entry) {
    uint32_t block = pop_key(trace, entry->key);
    if (block == VS_ALLOC_NONE) {
        trace->unknown_frees++;
        if (!add_before(trace, entry, &block))
            return false;
    }
    trace->size_changes += entry->bytes != 0 && trace->blocks.at[block].bytes != entry->bytes;
    return add_event(trace, entry, VS_ALLOC_GIVE, block);
}

bool vs_alloc_retag(struct vs_alloc_trace *trace, const struct vs_alloc_entry *entry,
                    const uint64_t to_key[2]) {
    uint32_t block = pop_key(trace, entry->key);
    if (block == VS_ALLOC_NONE && !add_before(trace, entry, &block))
        return false;
    if (!reserve_slot(trace) || !add_event(trace, entry, VS_ALLOC_RETAG, block))
        return false;
    push_key(trace, to_key, block);
    return true;
}

uint64_t vs_alloc_recorded_reserved(const struct vs_alloc_trace *trace, unsigned device) {
    const struct vs_alloc_segments *s = &trace->segments[device];
    /* Before the first event: what is held at the end, less what came since. */
    double peak = (double)s->end_bytes - (double)s->net_bytes + (double)s->peak_bytes;
    return s->known && peak > 0 ? (uint64_t)peak : 0;
}

void vs_alloc_note_oom(struct vs_alloc_trace *trace, const struct vs_alloc_oom *oom) {
    if (trace->ooms++ == 0)
        trace->oom = *oom;
}

/* Sorting needs the blocks: keys and indices together. */
struct placed {
    uint64_t address;
    uint32_t block;
    uint8_t device;
};

static int by_place(const void *a, const void *b) {
    const struct placed *x = a, *y = b;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return x->block < y->block ? -1 : x->block > y->block;
}

/* Sorts the blocks from before the recording. */
static bool finish(struct vs_alloc_trace *trace) {
    VS_VEC(struct placed) order = {0};
    if (!vs_vec_reserve(&order, trace->before.count))
        return false;
    for (size_t i = 0; i < trace->before.count; i++) {
        uint32_t block = trace->before.at[i];
        order.at[i] =
            (struct placed){trace->blocks.at[block].address, block, trace->blocks.at[block].device};
    }
    if (trace->before.count > 0)
        qsort(order.at, trace->before.count, sizeof *order.at, by_place);
    for (size_t i = 0; i < trace->before.count; i++)
        trace->before.at[i] = order.at[i].block;
    vs_vec_release(&order);
    vs_vec_release(&trace->slots);
    trace->slots_used = 0;
    return true;
}

#define X(file) extern const struct vs_alloc_reader vs_alloc_reader_##file;
#include "import/alloc_list.def"
#undef X

const struct vs_alloc_reader *const vs_alloc_readers[] = {
#define X(file) &vs_alloc_reader_##file,
#include "import/alloc_list.def"
#undef X
    NULL};

const struct vs_alloc_reader *vs_alloc_reader_find(const char *head, size_t length) {
    if (length > VS_ALLOC_HEAD_BYTES)
        length = VS_ALLOC_HEAD_BYTES;
    for (size_t i = 0; vs_alloc_readers[i]; i++)
        if (vs_alloc_readers[i]->looks_like(head, length))
            return vs_alloc_readers[i];
    return NULL;
}

bool vs_alloc_trace_read(const struct vs_alloc_reader *reader, struct vs_input *in,
                         const struct vs_alloc_options *options, struct vs_alloc_trace *trace,
                         struct vs_err *err) {
    trace->reader = reader;
    if (!reader->read(in, options, trace, err))
        return false;
    return finish(trace) ? true : vs_err_nomem(err);
}
