/* Decides between steps who runs next: a queue, a batch, and the blocks of a KV pool. Pure
 * bookkeeping in tokens and blocks; it knows no time and no device. An engine names its policy and
 * how it admits.
 *
 *     while (vs_sched_next(s, &step)) {
 *         ... the step takes its time, step.repeat times at most ...
 *         vs_sched_done(s, times);          s->first and s->ended say whom it served
 *     }
 */
#ifndef VS_SCHED_SCHED_H
#define VS_SCHED_SCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vs_sched_request {
    uint64_t prompt, gen;
    uint64_t fill;   /* tokens that prefill puts into the cache: more after a recomputation */
    uint64_t cached; /* of the sequence, now */
    uint64_t made;   /* generated so far; the last one is not in the cache yet */
    uint64_t blocks; /* that it holds */
    uint64_t chunk;  /* prompt tokens of the current step */
    bool decodes;    /* in the current step */
};

struct vs_sched_limits {
    uint64_t step_tokens, sequences; /* most of one step; a longer whole prompt runs alone */
    uint64_t blocks, block_tokens;   /* the pool */
    uint64_t sequence_blocks;        /* that a sequence holds beside those of its tokens */
    bool reserve;       /* admits where prompt and output fit; otherwise blocks are taken as the
                           sequence grows, and the newest is thrown back when they run out */
    bool first_decoded; /* the last prompt token is left to a step of decoding */
};

/* What runs together in a step. */
struct vs_sched_step {
    uint64_t decodes;
    double cells; /* of all sequences that decode, the new tokens included */
    uint64_t prompts, prompt_tokens;
    double pairs;    /* prompt tokens, each with the cells that it attends to */
    uint64_t repeat; /* so often it comes alike, each time with one more cell to a sequence */
};

struct vs_sched;

struct vs_policy {
    const char *name, *help;
    void (*fill)(struct vs_sched *s);
};
const struct vs_policy *vs_policy_find(const char *name); /* NULL = none of this name */

struct vs_sched {
    const struct vs_policy *policy;
    struct vs_sched_limits limits;
    struct vs_sched_request *requests; /* owned, by id */
    size_t count, room;
    uint32_t *queue; /* ids waiting, [head, tail): who was thrown back stands in front */
    size_t head, tail;
    uint32_t *batch; /* ids running, the newest last */
    size_t running;
    uint64_t free_blocks, thrown_back;

    /* of the current step */
    uint64_t tokens_left;
    bool pressed; /* somebody was thrown back */

    uint32_t *first, *ended; /* by vs_sched_done: who got the first token, who the last */
    size_t first_count, ended_count;
};

/* Room for `requests` of them; false when memory runs out. */
bool vs_sched_init(struct vs_sched *s, const struct vs_policy *policy,
                   const struct vs_sched_limits *limits, size_t requests);
void vs_sched_release(struct vs_sched *s);

/* The next request of the room arrives; prompt, gen > 0, and together they fit the pool. */
void vs_sched_arrive(struct vs_sched *s, uint64_t prompt, uint64_t gen);

/* False: nobody runs and nobody waits. */
bool vs_sched_next(struct vs_sched *s, struct vs_sched_step *step);
/* The step was run `times` times, 1..repeat. */
void vs_sched_done(struct vs_sched *s, uint64_t times);

/* For policies. Who decodes gets a token, the oldest first. */
void vs_sched_decode(struct vs_sched *s);
/* Prompts under way go on, within the budget. */
void vs_sched_go_on(struct vs_sched *s);
/* The queue, in order, within budget and pool: `cut` to what is left of the budget, or whole. */
void vs_sched_admit(struct vs_sched *s, bool cut);
bool vs_sched_any(const struct vs_sched *s); /* is a prompt in the current step? */

#endif
