#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"

/* Smaller buffers would stay in a cache from turn to turn. */
static const size_t LEAST_BYTES = 64 << 10;
static const size_t SCRATCH_BYTES = 4 << 20;

/* Held buffers of a side are a ring in the order in which they came. */
struct held {
    void *at; /* NULL = not held */
    bool kept;
    uint32_t next, before; /* on the ring, where `ringed` */
    bool ringed;
};

#define NOWHERE UINT32_MAX

struct memory {
    const struct plan *plan;
    struct held *held; /* by buffer */
    uint32_t turn[SIDE_COUNT];
    void *scratch[SIDE_COUNT];
    bool fill;
};

static enum side side_of(enum place place) {
    return place == PLACE_HOST ? SIDE_HOST : place == PLACE_PINNED ? SIDE_PINNED : SIDE_DEVICE;
}

static enum place place_of_side(enum side side) {
    return side == SIDE_HOST ? PLACE_HOST : side == SIDE_PINNED ? PLACE_PINNED : PLACE_RAW;
}

struct memory *memory_new(const struct plan *plan) {
    struct memory *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    m->plan = plan;
    m->held = calloc(plan->buffer_count + 1, sizeof *m->held);
    for (int i = 0; i < SIDE_COUNT; i++)
        m->turn[i] = NOWHERE;
    if (m->held)
        return m;
    free(m);
    return NULL;
}

/* ---- the rings ---- */

static void join(struct memory *m, uint32_t id) {
    struct held *h = &m->held[id];
    enum side side = side_of(m->plan->buffers[id].place);
    uint32_t turn = m->turn[side];
    if (m->plan->buffers[id].bytes < LEAST_BYTES)
        return;
    h->ringed = true;
    h->next = h->before = id;
    if (turn == NOWHERE) {
        m->turn[side] = id;
        return;
    }
    h->next = turn;
    h->before = m->held[turn].before;
    m->held[h->before].next = id;
    m->held[turn].before = id;
}

static void leave(struct memory *m, uint32_t id) {
    struct held *h = &m->held[id];
    enum side side = side_of(m->plan->buffers[id].place);
    if (!h->ringed)
        return;
    if (m->turn[side] == id)
        m->turn[side] = h->next != id ? h->next : NOWHERE;
    m->held[h->before].next = h->next;
    m->held[h->next].before = h->before;
    h->ringed = false;
}

/* ---- actions ---- */

static bool is_absent(const struct buffer *buffer) {
    return buffer->place == PLACE_NONE || buffer->context || buffer->bytes == 0;
}

static bool take(struct memory *m, uint32_t id) {
    const struct buffer *b = &m->plan->buffers[id];
    if (is_absent(b) || m->held[id].at)
        return true;
    m->held[id].at = device_take(b->place, b->bytes);
    if (!m->held[id].at)
        return false;
    if (m->fill && side_of(b->place) == SIDE_DEVICE)
        device_fill(m->held[id].at, b->bytes);
    join(m, id);
    return true;
}

static void give(struct memory *m, uint32_t id) {
    const struct buffer *b = &m->plan->buffers[id];
    if (!m->held[id].at)
        return;
    leave(m, id);
    device_give(b->place, m->held[id].at, b->bytes);
    m->held[id].at = NULL;
}

/* Adds to what is held through a temporary of its size, as autograd does with gradients. */
static bool accumulate(struct memory *m, uint32_t id) {
    const struct buffer *b = &m->plan->buffers[id];
    if (is_absent(b) || !m->held[id].at)
        return take(m, id);
    void *temporary = device_take(b->place, b->bytes);
    if (temporary)
        device_give(b->place, temporary, b->bytes);
    return temporary != NULL;
}

static bool act(struct memory *m, struct action action) {
    switch (action.verb) {
    case VERB_TAKE:
    case VERB_ENSURE:
        return take(m, action.buffer);
    case VERB_ACCUMULATE:
        return accumulate(m, action.buffer);
    case VERB_GIVE:
        give(m, action.buffer);
        return true;
    case VERB_TOUCH:
        return !m->held[action.buffer].at ||
               device_touch(m->held[action.buffer].at, m->plan->buffers[action.buffer].bytes);
    }
    return false;
}

bool memory_act(struct memory *m, const struct action *actions, size_t count, bool fill,
                uint32_t *missing) {
    m->fill = fill;
    for (size_t i = 0; i < count; i++) {
        *missing = actions[i].buffer;
        if (!act(m, actions[i]))
            return false;
    }
    return true;
}

bool memory_must_drain(const struct memory *m, const struct action *actions, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (actions[i].verb == VERB_GIVE && m->held[actions[i].buffer].at &&
            device_gives_at_once(m->plan->buffers[actions[i].buffer].place))
            return true;
    return false;
}

void memory_keep(struct memory *m) {
    for (size_t i = 0; i < m->plan->buffer_count; i++)
        m->held[i].kept = m->held[i].at != NULL;
}

bool memory_restore(struct memory *m, uint32_t *missing) {
    for (size_t i = 0; i < m->plan->buffer_count; i++)
        if (!m->held[i].kept)
            give(m, (uint32_t)i);
    for (size_t i = 0; i < m->plan->buffer_count; i++) {
        *missing = (uint32_t)i;
        if (m->held[i].kept && !take(m, (uint32_t)i))
            return false;
    }
    return true;
}

void memory_free(struct memory *m) {
    if (!m)
        return;
    for (size_t i = 0; i < m->plan->buffer_count; i++)
        give(m, (uint32_t)i);
    for (int side = 0; side < SIDE_COUNT; side++)
        if (m->scratch[side])
            device_give(place_of_side((enum side)side), m->scratch[side], SCRATCH_BYTES);
    free(m->held);
    free(m);
}

/* ---- pieces ---- */

static size_t scratch_piece(struct memory *m, enum side side, double bytes, struct piece *piece) {
    if (!m->scratch[side])
        m->scratch[side] = device_take(place_of_side(side), SCRATCH_BYTES);
    *piece = (struct piece){m->scratch[side],
                            bytes < (double)SCRATCH_BYTES ? (size_t)bytes : SCRATCH_BYTES};
    return piece->at ? 1 : 0;
}

size_t memory_pieces(struct memory *m, enum side side, double bytes,
                     struct piece pieces[PIECES_MOST]) {
    size_t count = 0;
    if (!memory_holds(m, side))
        return scratch_piece(m, side, bytes, &pieces[0]);
    for (double left = bytes; left >= 1 && count < PIECES_MOST; count++) {
        uint32_t id = m->turn[side];
        const struct piece whole = {m->held[id].at, m->plan->buffers[id].bytes};
        pieces[count] = piece_at(&whole, 1, 0, left);
        left -= (double)pieces[count].bytes;
        m->turn[side] = m->held[id].next;
    }
    return count;
}

/* A place in pieces that are gone over again and again. */
struct cursor {
    const struct piece *pieces;
    size_t count, i, done; /* bytes of piece i */
};

static size_t rest(const struct cursor *c) { return c->pieces[c->i % c->count].bytes - c->done; }
static char *place(const struct cursor *c) {
    return (char *)c->pieces[c->i % c->count].at + c->done;
}

static void advance(struct cursor *c, size_t bytes) {
    c->done += bytes;
    if (rest(c) == 0) {
        c->i++;
        c->done = 0;
    }
}

bool pieces_copy(double bytes, const struct piece *to, size_t to_count, const struct piece *from,
                 size_t from_count, piece_copy copy, void *context) {
    struct cursor t = {to, to_count, 0, 0}, f = {from, from_count, 0, 0};
    if (to_count == 0 || from_count == 0)
        return true;
    for (double left = bytes; left >= 1;) {
        size_t part = rest(&t) < rest(&f) ? rest(&t) : rest(&f);
        part = left < (double)part ? (size_t)left : part;
        if (!copy(context, place(&t), place(&f), part))
            return false;
        left -= (double)part;
        advance(&t, part);
        advance(&f, part);
    }
    return true;
}

bool memory_holds(const struct memory *m, enum side side) { return m->turn[side] != NOWHERE; }

size_t memory_scratch(const struct memory *m) {
    return m->scratch[SIDE_DEVICE] ? SCRATCH_BYTES : 0;
}

size_t memory_resident(enum resident which) {
    const char *key = which == RESIDENT_NOW ? "VmRSS:" : "VmHWM:";
    char line[200];
    double kib = 0;
    FILE *in = fopen("/proc/self/status", "r");
    while (in && fgets(line, sizeof line, in))
        if (strncmp(line, key, strlen(key)) == 0)
            kib = strtod(line + strlen(key), NULL);
    if (in)
        (void)fclose(in);
    return (size_t)(1024 * kib);
}
