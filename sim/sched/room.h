/* Blocks of the pool, of the prefix cache and of host memory, for sched.c alone. */
#ifndef VS_SCHED_ROOM_H
#define VS_SCHED_ROOM_H

#include "sched/sched.h"

uint64_t vs_room_blocks_for(const struct vs_sched *s, uint64_t tokens);
/* Free, or kept by nobody but the prefix cache. */
uint64_t vs_room_free(const struct vs_sched *s);
/* Blocks up to `tokens`; false when there are too few. */
bool vs_room_take(struct vs_sched *s, struct vs_sched_request *r, uint64_t tokens);
/* All that a sequence holds; with `keep` its whole blocks stay known, for its return. */
void vs_room_give(struct vs_sched *s, struct vs_sched_request *r, bool keep);

/* Tokens that a new sequence finds in the prefix cache or beneath it. */
uint64_t vs_room_hits(const struct vs_sched *s, const struct vs_sched_request *r);
/* Admits a sequence with `hits` such tokens and blocks up to `tokens`; false unless there are
 * enough for `whole` tokens, and the watermark. */
bool vs_room_enter(struct vs_sched *s, struct vs_sched_request *r, uint64_t hits, uint64_t tokens,
                   uint64_t whole);
/* Blocks of the prompt that are full now become known. */
void vs_room_publish(struct vs_sched *s, struct vs_sched_request *r);

/* To host memory, where it has room, and back. */
bool vs_room_swap_out(struct vs_sched *s, struct vs_sched_request *r);
bool vs_room_swap_in(struct vs_sched *s, struct vs_sched_request *r);

#endif
