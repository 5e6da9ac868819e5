/* Decides between steps who runs next: a queue, a batch, and the blocks of a KV pool. Pure
 * bookkeeping in tokens and blocks; it knows no time and no device. An engine names its policy and
 * how it admits.
 *
 *     while (vs_sched_next(s, &step)) {
 *         ... the step takes its time, step.repeat times at most ...
 *         vs_sched_done(s, times);          s->first and s->ended say whom it served
 *     }
 *
 * Memory grows with those who wait and run, not with those who have been.
 */
#ifndef VS_SCHED_SCHED_H
#define VS_SCHED_SCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sched/prefix.h"

struct vs_sched_request {
    uint64_t prompt, gen;
    uint64_t fill;    /* tokens that prefill puts into the cache: more after a recomputation */
    uint64_t cached;  /* of the sequence, now */
    uint64_t made;    /* generated so far; the last one is not in the cache yet */
    uint64_t blocks;  /* that it alone holds */
    uint64_t held;    /* entries of the prefix cache in front of them */
    uint64_t chunk;   /* prompt tokens of the current step */
    uint64_t swapped; /* blocks that wait in host memory */
    uint64_t serial;  /* in the order of arrival */
    uint64_t *hashes; /* of its prompt's blocks, owned */
    size_t hash_count;
    uint32_t group; /* of ranks that attends for it, while it runs */
    bool decodes;   /* in the current step */
    bool thrown;    /* back, at least once */
    bool pads;      /* has its last token, and stays until its batch ends */
};

/* What admission sets aside. */
enum vs_reserve {
    VS_RESERVE_NOTHING, /* blocks are taken as the sequence grows, and the newest is thrown back
                           when they run out */
    VS_RESERVE_PROMPT,  /* the same, but admission waits until the whole prompt would fit */
    VS_RESERVE_REQUEST, /* prompt and output */
    VS_RESERVE_CONTEXT  /* the longest context, whatever is asked (contiguous allocation) */
};

struct vs_sched_limits {
    uint64_t step_tokens, sequences; /* most of a group's step; a longer whole prompt is the only
                                        one of its group */
    uint32_t groups;                 /* of ranks that the requests are dealt to; 0 = 1 */
    uint64_t blocks, block_tokens;   /* the pool */
    uint64_t sequence_blocks;        /* that a sequence holds beside those of its tokens */
    uint64_t
        window_blocks;  /* from which on a token's block is given back in part, that of layers */
    double window_part; /* with a window; 0 blocks = none has one (memory/paged.h) */
    enum vs_reserve reserve;
    uint64_t context;   /* tokens, for VS_RESERVE_CONTEXT */
    uint64_t watermark; /* blocks that admission leaves free, unless nobody runs */
    bool first_decoded; /* the last prompt token is left to a step of decoding */
    bool swap;          /* who is thrown back goes to host memory while that has room; otherwise all
                           that it had computed is lost */
    uint64_t host_blocks; /* room there: for swapping, and beneath the prefix cache */
    bool prefix; /* blocks that are known by a hash are shared, and stay while there is room */
    uint64_t hash_tokens; /* of a block that requests have a hash for; 0 = they have none */
};

/* Prompts of a step, or pieces of them. */
struct vs_sched_prompts {
    uint64_t ending; /* prompts that the step ends */
    uint64_t tokens;
    double pairs; /* of tokens and the cells that they attend to */
};

/* Ranks with sequences of their own: one limit to each. */
struct vs_sched_group {
    uint64_t sequences;
    uint64_t tokens_left; /* of the current step */
    struct vs_sched_prompts prompts;
};

/* What runs together in a step. */
struct vs_sched_step {
    uint64_t decodes;
    double cells; /* of all sequences that decode, the new tokens included */
    struct vs_sched_prompts prompts, fullest; /* of all, and of the group with the most tokens */
    uint64_t repeat; /* so often it comes alike, each time with one more cell to a sequence */
    uint64_t blocks_in, blocks_out; /* copied from and to host memory before it runs */
    uint64_t blocks_stored;         /* copied there while it runs */
};

struct vs_sched;

struct vs_policy {
    const char *name;
    bool pads; /* who is done stays until all are */
    void (*fill)(struct vs_sched *s);
};
const struct vs_policy *vs_policy_find(const char *name); /* NULL = none of this name */

struct vs_sched {
    const struct vs_policy *policy;
    struct vs_sched_limits limits;
    struct vs_sched_request *requests; /* owned; a slot serves another request once one has ended */
    size_t room;                       /* slots */
    uint32_t *spare;                   /* free slots */
    size_t spare_count;
    uint32_t *queue; /* slots that wait, a ring: who was thrown back stands in front */
    size_t queue_head, waiting;
    uint32_t *batch; /* slots that run, the newest last */
    size_t running;
    struct vs_sched_group *groups; /* limits.groups of them */
    uint64_t free_blocks;
    uint64_t own_tokens; /* in blocks that one sequence alone holds, and */
    uint64_t own_blocks; /* these blocks */
    struct vs_prefix prefix, host;
    uint64_t entry_tokens, entry_blocks; /* of an entry of the prefix cache */
    uint64_t swapped_blocks;             /* in host memory */
    uint64_t stored_blocks;              /* on their way there since the last step */
    bool open;                           /* static batches: still being filled */
    bool failed;                         /* memory ran out: nothing more can be relied on */

    uint64_t arrived, thrown_back;
    uint64_t prefix_tokens, prefix_hits; /* tokens of prompts that were looked up, and found */

    /* of the current step */
    uint64_t blocks_in, blocks_out;
    bool pressed; /* somebody was thrown back */

    uint32_t *first, *ended; /* by vs_sched_done: who got the first token, who the last */
    size_t first_count, ended_count;
};

/* All-zero but for what is given; nothing is allocated yet. */
void vs_sched_init(struct vs_sched *s, const struct vs_policy *policy,
                   const struct vs_sched_limits *limits);
void vs_sched_release(struct vs_sched *s);

struct vs_sched_arrival {
    uint64_t prompt, gen;   /* > 0 */
    const uint64_t *hashes; /* copied */
    size_t hash_count;
};
/* Can it ever be served? */
bool vs_sched_fits(const struct vs_sched *s, uint64_t prompt, uint64_t gen);
/* A request that fits arrives; *slot is its own until the vs_sched_done that ends it, and keeps its
 * values until the next arrival. False when memory runs out. */
bool vs_sched_arrive(struct vs_sched *s, const struct vs_sched_arrival *arrival, uint32_t *slot);

/* False: nobody runs, and nobody who waits can; or memory ran out (`failed`). */
bool vs_sched_next(struct vs_sched *s, struct vs_sched_step *step);
/* The step was run `times` times, 1..repeat. */
void vs_sched_done(struct vs_sched *s, uint64_t times);

/* Blocks that sequences hold; what only the prefix cache keeps counts as free. */
uint64_t vs_sched_used_blocks(const struct vs_sched *s);

/* For policies. Who decodes gets a token, the oldest first. */
void vs_sched_decode(struct vs_sched *s);
/* Prompts under way go on, within the budget. */
void vs_sched_go_on(struct vs_sched *s);
/* The queue, in order, within budget and pool: `cut` to what is left of the budget, or whole. */
void vs_sched_admit(struct vs_sched *s, bool cut);
bool vs_sched_any(const struct vs_sched *s); /* is a prompt in the current step? */

#endif
