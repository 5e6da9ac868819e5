/* Allocator traces replayed: the requests of a recording, in their order, on the caching allocator
 * of another device, or with other settings of it. No model and no engine: the requests are the
 * plan. Where one fails, the replay goes on without a ceiling, to say how much would have been
 * needed. */
#ifndef VS_RUN_REPLAY_MEMORY_H
#define VS_RUN_REPLAY_MEMORY_H

#include "run/run.h"

struct vs_alloc_trace; /* import/alloc_trace.h */

/* One device of the recording. */
struct vs_allocator_outcome {
    const char *pool;                 /* gpu0 */
    uint64_t start_bytes;             /* asked for by blocks from before the recording */
    uint64_t peak_requested_bytes;    /* most asked for at once, as the file's own sums say */
    uint64_t peak_allocated_bytes;    /* the same in the allocator's blocks */
    uint64_t peak_reserved_bytes;     /* taken from the driver */
    uint64_t recorded_reserved_bytes; /* the same of the recorded program; 0 = not recorded */
    uint64_t retries;                 /* the cache was emptied to serve a request */
    /* Fragmentation: of all requests for which the driver gave memory though the cache held some,
     * the one beside which most lay idle. */
    uint64_t idle_bytes;         /* reserved and in no block, before it; 0 = there was no such */
    uint64_t idle_largest_bytes; /* the largest free block then */
    uint64_t idle_request_bytes; /* what was asked for, */
    uint64_t idle_place;         /* and where, in the trace's unit */
    uint64_t end_bytes, end_reserved_bytes; /* asked for, and reserved, at the end */
};

struct vs_memory_replay {
    const char *form, *unit;     /* "PyTorch memory snapshot"; what places count: "event" */
    uint64_t events;             /* requests and frees that were replayed */
    uint64_t before_blocks;      /* that were there before the recording */
    uint64_t unknown_frees;      /* frees of such blocks */
    uint64_t lost_frees;         /* blocks whose free was not recorded: their address was reused */
    uint64_t size_changes;       /* frees that state another size than their request */
    uint64_t skipped;            /* rows left out (--skip-bad) */
    uint64_t recorded_ooms;      /* failures that the recording itself notes; the first: */
    uint64_t recorded_oom_place; /* where, */
    uint64_t recorded_oom_bytes; /* and the request */
    uint64_t oom_place;          /* the first failure of the replay; 0 = none, or a block from
                                    before the recording: see outcome.fits */
    uint64_t oom_reserved_free_bytes; /* cached then, and of no use to the request */
    uint64_t oom_largest_free_bytes;  /* of these, the largest block */
    const struct vs_allocator_outcome *devices;
    size_t device_count;
};

/* Replays. Of the request, --hw (and what replaces parts of its machine), --set and
 * --expandable-segments count; what else is given is an error. Without --hw there is no ceiling. A
 * device of the recording stands on the machine's device of its number, or on its first one, and
 * finds a CUDA context there. `outcome->allocator` has the details; the outcome lives in the arena.
 */
bool vs_replay_memory(struct vs_arena *arena, const struct vs_request *request,
                      const struct vs_alloc_trace *trace, bool timeline,
                      const struct vs_outcome **outcome, struct vs_err *err);

#endif
