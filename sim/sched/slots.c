/* Room for requests: slots that are used again, a ring of those who wait. */
#include "sched/slots.h"

#include <stdlib.h>
#include <string.h>

enum { SLOTS_FIRST = 64 };

void vs_sched_init(struct vs_sched *s, const struct vs_policy *policy,
                   const struct vs_sched_limits *limits) {
    *s = (struct vs_sched){.policy = policy, .limits = *limits, .free_blocks = limits->blocks};
    s->limits.groups += s->limits.groups == 0;
    /* An entry is whole blocks of the pool and whole hashes: their least common multiple. */
    uint64_t block = limits->block_tokens, a = limits->hash_tokens, b = block;
    while (a != 0) {
        uint64_t rest = b % a;
        b = a;
        a = rest;
    }
    s->entry_tokens = limits->hash_tokens > 0 ? limits->hash_tokens / b * block : block;
    s->entry_blocks = block > 0 ? s->entry_tokens / block : 0;
}

void vs_sched_release(struct vs_sched *s) {
    for (size_t i = 0; i < s->room; i++)
        free(s->requests[i].hashes);
    vs_prefix_release(&s->prefix);
    vs_prefix_release(&s->host);
    free(s->requests);
    free(s->spare);
    free(s->queue);
    free(s->batch);
    free(s->groups);
    free(s->first);
    free(s->ended);
    *s = (struct vs_sched){0};
}

static bool grow_ids(uint32_t **ids, size_t room) {
    uint32_t *more = realloc(*ids, room * sizeof *more);
    if (more)
        *ids = more;
    return more != NULL;
}

/* Twice the slots; the ring is laid out afresh from its head. */
static bool grow(struct vs_sched *s) {
    size_t room = s->room > 0 ? 2 * s->room : SLOTS_FIRST;
    uint32_t *queue = calloc(room, sizeof *queue);
    if (!s->groups)
        s->groups = calloc(s->limits.groups, sizeof *s->groups);
    struct vs_sched_request *requests = realloc(s->requests, room * sizeof *requests);
    if (requests)
        s->requests = requests;
    if (!queue || !requests || !s->groups || !grow_ids(&s->spare, room) ||
        !grow_ids(&s->batch, room) || !grow_ids(&s->first, room) || !grow_ids(&s->ended, room)) {
        free(queue);
        return false;
    }
    memset(s->requests + s->room, 0, (room - s->room) * sizeof *requests);
    for (size_t i = 0; i < s->waiting; i++)
        queue[i] = s->queue[(s->queue_head + i) & (s->room - 1)];
    free(s->queue);
    s->queue = queue;
    s->queue_head = 0;
    for (size_t i = room; i-- > s->room;)
        s->spare[s->spare_count++] = (uint32_t)i;
    s->room = room;
    return true;
}

static void queue_back(struct vs_sched *s, uint32_t slot) {
    s->queue[(s->queue_head + s->waiting++) & (s->room - 1)] = slot;
}

void vs_queue_front(struct vs_sched *s, uint32_t slot) {
    s->queue_head = (s->queue_head - 1) & (s->room - 1);
    s->queue[s->queue_head] = slot;
    s->waiting++;
}

uint32_t vs_queue_head(const struct vs_sched *s) { return s->queue[s->queue_head]; }

void vs_queue_pop(struct vs_sched *s) {
    s->queue_head = (s->queue_head + 1) & (s->room - 1);
    s->waiting--;
}

void vs_slot_give(struct vs_sched *s, uint32_t slot) {
    free(s->requests[slot].hashes);
    s->requests[slot].hashes = NULL;
    s->spare[s->spare_count++] = slot;
}

bool vs_sched_arrive(struct vs_sched *s, const struct vs_sched_arrival *a, uint32_t *slot) {
    uint64_t *hashes = NULL;
    if (s->spare_count == 0 && !grow(s))
        return false;
    if (s->limits.prefix && a->hash_count > 0) {
        hashes = malloc(a->hash_count * sizeof *hashes);
        if (!hashes)
            return false;
        memcpy(hashes, a->hashes, a->hash_count * sizeof *hashes);
    }
    *slot = s->spare[--s->spare_count];
    s->requests[*slot] = (struct vs_sched_request){.prompt = a->prompt,
                                                   .gen = a->gen,
                                                   .fill = a->prompt - s->limits.first_decoded,
                                                   .serial = s->arrived++,
                                                   .hashes = hashes,
                                                   .hash_count = hashes ? a->hash_count : 0};
    queue_back(s, *slot);
    return true;
}
