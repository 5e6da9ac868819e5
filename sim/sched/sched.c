#include "sched/sched.h"

#include <stdlib.h>
#include <string.h>

bool vs_sched_init(struct vs_sched *s, const struct vs_policy *policy,
                   const struct vs_sched_limits *limits, size_t requests) {
    *s = (struct vs_sched){
        .policy = policy, .limits = *limits, .room = requests, .free_blocks = limits->blocks};
    s->requests = calloc(requests, sizeof *s->requests);
    s->queue = calloc(requests, sizeof *s->queue);
    s->batch = calloc(requests, sizeof *s->batch);
    s->first = calloc(requests, sizeof *s->first);
    s->ended = calloc(requests, sizeof *s->ended);
    return s->requests && s->queue && s->batch && s->first && s->ended;
}

void vs_sched_release(struct vs_sched *s) {
    free(s->requests);
    free(s->queue);
    free(s->batch);
    free(s->first);
    free(s->ended);
    *s = (struct vs_sched){0};
}

void vs_sched_arrive(struct vs_sched *s, uint64_t prompt, uint64_t gen) {
    s->requests[s->count] = (struct vs_sched_request){
        .prompt = prompt, .gen = gen, .fill = prompt - s->limits.first_decoded};
    s->queue[s->tail++] = (uint32_t)s->count++;
}

static struct vs_sched_request *at(const struct vs_sched *s, size_t place) {
    return &s->requests[s->batch[place]];
}

static uint64_t blocks_for(const struct vs_sched *s, uint64_t tokens) {
    return (tokens + s->limits.block_tokens - 1) / s->limits.block_tokens +
           s->limits.sequence_blocks;
}

/* Blocks up to `tokens`; false when the pool has too few. */
static bool take(struct vs_sched *s, struct vs_sched_request *r, uint64_t tokens) {
    uint64_t wanted = blocks_for(s, tokens), more = wanted > r->blocks ? wanted - r->blocks : 0;
    if (more > s->free_blocks)
        return false;
    s->free_blocks -= more;
    r->blocks += more;
    return true;
}

static void give(struct vs_sched *s, struct vs_sched_request *r) {
    s->free_blocks += r->blocks;
    r->blocks = 0;
}

/* All that the newest had computed is lost; what it had generated becomes part of its prompt. */
static void throw_back(struct vs_sched *s) {
    uint32_t id = s->batch[--s->running];
    struct vs_sched_request *r = &s->requests[id];
    give(s, r);
    s->tokens_left += r->chunk + r->decodes;
    r->chunk = r->cached = 0;
    r->decodes = false;
    r->fill = r->prompt + r->made - s->limits.first_decoded;
    s->queue[--s->head] = id;
    s->thrown_back++;
    s->pressed = true;
}

void vs_sched_decode(struct vs_sched *s) {
    for (size_t i = 0; i < s->running && s->tokens_left > 0; i++) {
        struct vs_sched_request *r = at(s, i);
        if (r->cached < r->fill)
            continue;
        while (i < s->running && !take(s, r, r->cached + 1))
            throw_back(s);
        if (i >= s->running)
            return;
        r->decodes = true;
        s->tokens_left--;
    }
}

void vs_sched_go_on(struct vs_sched *s) {
    for (size_t i = 0; i < s->running && s->tokens_left > 0; i++) {
        struct vs_sched_request *r = at(s, i);
        uint64_t left = r->fill - (r->cached < r->fill ? r->cached : r->fill);
        if (left == 0)
            continue;
        uint64_t chunk = left < s->tokens_left ? left : s->tokens_left;
        while (i < s->running && !take(s, r, r->cached + chunk))
            throw_back(s);
        if (i >= s->running)
            return;
        r->chunk = chunk;
        s->tokens_left -= chunk;
    }
}

bool vs_sched_any(const struct vs_sched *s) {
    for (size_t i = s->running; i-- > 0;)
        if (at(s, i)->chunk > 0)
            return true;
    return false;
}

void vs_sched_admit(struct vs_sched *s, bool cut) {
    bool any = vs_sched_any(s);
    while (s->head < s->tail && s->running < s->limits.sequences && s->tokens_left > 0) {
        struct vs_sched_request *r = &s->requests[s->queue[s->head]];
        uint64_t chunk = r->fill;
        if (chunk > s->tokens_left && cut)
            chunk = s->tokens_left;
        else if (chunk > s->tokens_left && any)
            return;
        if (!take(s, r, s->limits.reserve ? r->prompt + r->gen : chunk + (chunk == 0)))
            return;
        r->chunk = chunk;
        r->decodes = chunk == 0; /* a prompt of one token that is left to decoding */
        s->tokens_left -= chunk < s->tokens_left ? chunk : s->tokens_left;
        s->batch[s->running++] = s->queue[s->head++];
        any = true;
    }
}

/* Do all that decode find blocks for `times` more tokens? */
static bool grows(const struct vs_sched *s, uint64_t times) {
    uint64_t wanted = 0;
    for (size_t i = 0; i < s->running; i++) {
        const struct vs_sched_request *r = at(s, i);
        uint64_t blocks = r->decodes ? blocks_for(s, r->cached + times) : 0;
        wanted += blocks > r->blocks ? blocks - r->blocks : 0;
    }
    return wanted <= s->free_blocks;
}

/* Until one ends or the pool is full a step of decoding comes again alike: who could not be
 * admitted to it cannot be later. */
static uint64_t repeats(const struct vs_sched *s) {
    uint64_t most = UINT64_MAX, fits = 1;
    for (size_t i = 0; i < s->running; i++) {
        const struct vs_sched_request *r = at(s, i);
        if (r->chunk > 0 || !r->decodes || r->made == 0 || s->pressed)
            return 1;
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

bool vs_sched_next(struct vs_sched *s, struct vs_sched_step *step) {
    *step = (struct vs_sched_step){.repeat = 1};
    s->tokens_left = s->limits.step_tokens;
    s->pressed = false;
    s->policy->fill(s);
    for (size_t i = 0; i < s->running; i++) {
        const struct vs_sched_request *r = at(s, i);
        double chunk = (double)r->chunk;
        step->decodes += r->decodes;
        step->cells += r->decodes ? (double)(r->cached + 1) : 0;
        step->prompts += r->chunk > 0 && r->cached + r->chunk == r->fill;
        step->prompt_tokens += r->chunk;
        step->pairs += chunk * ((double)r->cached + chunk / 2);
    }
    if (step->decodes + step->prompt_tokens == 0)
        return false;
    step->repeat = repeats(s);
    return true;
}

/* What the step did to one; true = it has its last token. */
static bool advance(struct vs_sched *s, uint32_t id, uint64_t times) {
    struct vs_sched_request *r = &s->requests[id];
    uint64_t before = r->made;
    if (r->decodes) {
        (void)take(s, r, r->cached + times); /* vs_sched_next has seen to it */
        r->cached += times;
        r->made += times;
    } else if (r->chunk > 0) {
        r->cached += r->chunk;
        if (r->cached == r->fill && !s->limits.first_decoded)
            r->made++;
    }
    r->chunk = 0;
    r->decodes = false;
    if (before == 0 && r->made > 0)
        s->first[s->first_count++] = id;
    return r->made >= r->gen;
}

void vs_sched_done(struct vs_sched *s, uint64_t times) {
    size_t kept = 0;
    s->first_count = s->ended_count = 0;
    for (size_t i = 0; i < s->running; i++) {
        uint32_t id = s->batch[i];
        if (advance(s, id, times)) {
            give(s, &s->requests[id]);
            s->ended[s->ended_count++] = id;
        } else {
            s->batch[kept++] = id;
        }
    }
    s->running = kept;
}
