#include "sched/sched.h"

#include "sched/room.h"
#include "sched/slots.h"

static struct vs_sched_request *at(const struct vs_sched *s, size_t place) {
    return &s->requests[s->batch[place]];
}

static struct vs_sched_group *group_of(const struct vs_sched *s, const struct vs_sched_request *r) {
    return &s->groups[r->group];
}

/* Takes so many tokens of a prompt into the step; a whole one may be longer than what is left. */
static void take_chunk(struct vs_sched *s, struct vs_sched_request *r, uint64_t tokens) {
    struct vs_sched_group *g = group_of(s, r);
    r->chunk = tokens;
    g->prompts.tokens += tokens;
    g->tokens_left -= tokens < g->tokens_left ? tokens : g->tokens_left;
}

/* The newest waits again, in front. Swapped, it goes on where it was; otherwise what it had
 * computed is lost but for what the prefix cache keeps, and what it had generated becomes part of
 * its prompt. */
static void throw_back(struct vs_sched *s) {
    uint32_t slot = s->batch[--s->running];
    struct vs_sched_request *r = &s->requests[slot];
    struct vs_sched_group *g = group_of(s, r);
    g->sequences--;
    if (r->pads) { /* it has all its tokens */
        vs_room_give(s, r, false);
        vs_slot_give(s, slot);
        return;
    }
    g->tokens_left += r->chunk + r->decodes;
    g->prompts.tokens -= r->chunk;
    r->chunk = 0;
    r->decodes = false;
    r->thrown = true;
    if (!s->limits.swap || !vs_room_swap_out(s, r)) {
        vs_room_give(s, r, true);
        r->cached = 0;
        r->fill = r->prompt + r->made - s->limits.first_decoded;
    }
    vs_queue_front(s, slot);
    s->thrown_back++;
    s->pressed = true;
}

void vs_sched_decode(struct vs_sched *s) {
    for (size_t i = 0; i < s->running; i++) {
        struct vs_sched_request *r = at(s, i);
        if (r->cached < r->fill || r->decodes || group_of(s, r)->tokens_left == 0)
            continue;
        while (i < s->running && !vs_room_take(s, r, r->cached + 1))
            throw_back(s);
        if (i >= s->running)
            return;
        r->decodes = true;
        group_of(s, r)->tokens_left--;
    }
}

void vs_sched_go_on(struct vs_sched *s) {
    for (size_t i = 0; i < s->running; i++) {
        struct vs_sched_request *r = at(s, i);
        uint64_t left = r->fill - (r->cached < r->fill ? r->cached : r->fill);
        uint64_t budget = group_of(s, r)->tokens_left, chunk = left < budget ? left : budget;
        if (chunk == 0)
            continue;
        while (i < s->running && !vs_room_take(s, r, r->cached + chunk))
            throw_back(s);
        if (i >= s->running)
            return;
        take_chunk(s, r, chunk);
    }
}

bool vs_sched_any(const struct vs_sched *s) {
    for (size_t i = s->running; i-- > 0;)
        if (at(s, i)->chunk > 0)
            return true;
    return false;
}

/* The first of those who wait joins, with what it finds in the prefix cache and a first piece of
 * the rest; false where it has to wait on. */
static bool admit_prompt(struct vs_sched *s, struct vs_sched_request *r, bool cut) {
    const struct vs_sched_limits *l = &s->limits;
    uint64_t hits = vs_room_hits(s, r), chunk = r->fill - hits;
    const struct vs_sched_group *g = group_of(s, r);
    if (chunk > g->tokens_left && cut)
        chunk = g->tokens_left;
    else if (chunk > g->tokens_left && g->prompts.tokens > 0)
        return false;
    uint64_t tokens = l->reserve == VS_RESERVE_CONTEXT   ? l->context
                      : l->reserve == VS_RESERVE_REQUEST ? r->prompt + r->gen
                                                         : hits + chunk + (chunk == 0);
    uint64_t whole = l->reserve == VS_RESERVE_PROMPT && r->fill > tokens ? r->fill : tokens;
    if (!vs_room_enter(s, r, hits, tokens, whole))
        return false;
    if (!r->thrown) {
        s->prefix_tokens += r->prompt;
        s->prefix_hits += hits;
    }
    take_chunk(s, r, chunk);
    r->decodes = chunk == 0; /* a prompt of one token that is left to decoding */
    return true;
}

/* Who was swapped out comes back before any new prompt, and decodes at once. */
static bool admit_swapped(struct vs_sched *s, struct vs_sched_request *r) {
    if (!vs_room_swap_in(s, r))
        return false;
    uint64_t left = r->fill - (r->cached < r->fill ? r->cached : r->fill);
    uint64_t budget = group_of(s, r)->tokens_left;
    uint64_t chunk = left < budget ? left : budget;
    if (chunk > 0 && vs_room_take(s, r, r->cached + chunk))
        take_chunk(s, r, chunk);
    r->decodes = left == 0 && vs_room_take(s, r, r->cached + 1);
    group_of(s, r)->tokens_left -= r->decodes;
    return true;
}

/* Whose turn it is: the group with the most of its budget left, of those the one with the fewest
 * sequences (NVIDIA/TensorRT-LLM 1.0, _torch/pyexecutor: new requests of attention data parallelism
 * are dealt to the rank with the fewest new tokens). limits.groups: none has room. */
static uint32_t next_group(const struct vs_sched *s) {
    uint32_t best = s->limits.groups;
    for (uint32_t i = 0; i < s->limits.groups; i++) {
        const struct vs_sched_group *g = &s->groups[i];
        if (g->sequences >= s->limits.sequences || g->tokens_left == 0)
            continue;
        if (best == s->limits.groups || g->tokens_left > s->groups[best].tokens_left ||
            (g->tokens_left == s->groups[best].tokens_left &&
             g->sequences < s->groups[best].sequences))
            best = i;
    }
    return best;
}

void vs_sched_admit(struct vs_sched *s, bool cut) {
    bool back = false;
    while (s->waiting > 0) {
        uint32_t slot = vs_queue_head(s);
        struct vs_sched_request *r = &s->requests[slot];
        bool swapped = r->swapped > 0;
        r->group = next_group(s);
        if (r->group == s->limits.groups || (back && !swapped))
            return;
        if (!(swapped ? admit_swapped(s, r) : admit_prompt(s, r, cut)))
            return;
        vs_queue_pop(s);
        s->batch[s->running++] = slot;
        group_of(s, r)->sequences++;
        back = swapped;
    }
}

/* Do all that decode find blocks for `times` more tokens? */
static bool grows(const struct vs_sched *s, uint64_t times) {
    uint64_t wanted = 0, block = s->limits.block_tokens, room = vs_room_free(s);
    if (s->running * (times / block + 1) <= room)
        return true;
    for (size_t i = 0; i < s->running; i++) {
        const struct vs_sched_request *r = at(s, i);
        uint64_t has = r->held * s->entry_blocks + r->blocks;
        uint64_t blocks = r->decodes ? vs_room_blocks_for(s, r->cached + times) : 0;
        wanted += blocks > has ? blocks - has : 0;
    }
    return wanted <= room;
}

/* Until one ends or the pool is full a step of decoding comes again alike: who could not be
 * admitted to it cannot be later. */
static uint64_t repeats(const struct vs_sched *s) {
    uint64_t most = UINT64_MAX, fits = 1;
    for (size_t i = 0; i < s->running; i++) {
        const struct vs_sched_request *r = at(s, i);
        if (r->chunk > 0 || !r->decodes || r->made == 0 || s->pressed)
            return 1;
        if (!r->pads)
            most = r->gen - r->made < most ? r->gen - r->made : most;
    }
    if (grows(s, most))
        return most;
    while (most - fits > 1) {
        uint64_t middle = fits + (most - fits) / 2;
        if (grows(s, middle))
            fits = middle;
        else
            most = middle;
    }
    return fits;
}

static void start_step(struct vs_sched *s) {
    for (uint32_t i = 0; s->groups && i < s->limits.groups; i++) {
        s->groups[i].tokens_left = s->limits.step_tokens;
        s->groups[i].prompts = (struct vs_sched_prompts){0};
    }
    s->blocks_in = s->blocks_out = 0;
    s->pressed = false;
}

/* What the policy has put into the step. */
static void sum_up(struct vs_sched *s, struct vs_sched_step *step) {
    for (size_t i = 0; i < s->running; i++) {
        const struct vs_sched_request *r = at(s, i);
        struct vs_sched_prompts *p = &group_of(s, r)->prompts;
        double chunk = (double)r->chunk;
        step->decodes += r->decodes;
        step->cells += r->decodes ? (double)(r->cached + 1) : 0;
        p->ending += r->chunk > 0 && r->cached + r->chunk == r->fill;
        p->pairs += chunk * ((double)r->cached + chunk / 2);
    }
    for (uint32_t i = 0; s->groups && i < s->limits.groups; i++) {
        const struct vs_sched_prompts *p = &s->groups[i].prompts;
        step->prompts.ending += p->ending;
        step->prompts.tokens += p->tokens;
        step->prompts.pairs += p->pairs;
        if (p->tokens > step->fullest.tokens)
            step->fullest = *p;
    }
}

bool vs_sched_next(struct vs_sched *s, struct vs_sched_step *step) {
    *step = (struct vs_sched_step){.repeat = 1};
    start_step(s);
    s->policy->fill(s);
    sum_up(s, step);
    if (s->failed || step->decodes + step->prompts.tokens == 0)
        return false;
    step->blocks_in = s->blocks_in;
    step->blocks_out = s->blocks_out;
    step->blocks_stored = s->stored_blocks;
    s->stored_blocks = 0;
    step->repeat = step->blocks_in + step->blocks_out + step->blocks_stored > 0 ? 1 : repeats(s);
    return true;
}

/* What the step did to one; true = it has its last token. */
static bool advance(struct vs_sched *s, uint32_t slot, uint64_t times) {
    struct vs_sched_request *r = &s->requests[slot];
    uint64_t before = r->made;
    if (r->decodes) {
        (void)vs_room_take(s, r, r->cached + times); /* vs_sched_next has seen to it */
        r->cached += times;
        s->own_tokens += times;
        r->made += times;
    } else if (r->chunk > 0) {
        r->cached += r->chunk;
        s->own_tokens += r->chunk;
        if (r->cached == r->fill && !s->limits.first_decoded)
            r->made++;
        vs_room_publish(s, r);
    }
    r->chunk = 0;
    r->decodes = false;
    if (before == 0 && r->made > 0)
        s->first[s->first_count++] = slot;
    return r->made >= r->gen;
}

/* A padded batch ends as a whole. */
static void end_batch(struct vs_sched *s) {
    for (size_t i = 0; i < s->running; i++)
        if (!at(s, i)->pads)
            return;
    for (size_t i = 0; i < s->running; i++) {
        group_of(s, at(s, i))->sequences--;
        vs_room_give(s, at(s, i), false);
        vs_slot_give(s, s->batch[i]);
    }
    s->running = 0;
}

void vs_sched_done(struct vs_sched *s, uint64_t times) {
    size_t kept = 0;
    s->first_count = s->ended_count = 0;
    for (size_t i = 0; i < s->running; i++) {
        uint32_t slot = s->batch[i];
        struct vs_sched_request *r = &s->requests[slot];
        bool last = advance(s, slot, times) && !r->pads;
        if (last)
            s->ended[s->ended_count++] = slot;
        if (last && !s->policy->pads) {
            group_of(s, r)->sequences--;
            vs_room_give(s, r, false);
            vs_slot_give(s, slot);
            continue;
        }
        r->pads |= last;
        s->batch[kept++] = slot;
    }
    s->running = kept;
    if (s->policy->pads)
        end_batch(s);
}
