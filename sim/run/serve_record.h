/* Keeps what a server did within bounds: of many requests every n-th, of many short steps what they
 * come to together. So a replay of any length can be drawn. */
#ifndef VS_RUN_SERVE_RECORD_H
#define VS_RUN_SERVE_RECORD_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/vec.h"
#include "run/replayed.h"

/* All zeros is empty and ready; owns its lists. */
struct vs_serve_record {
    VS_VEC(struct vs_replayed_request) requests;
    VS_VEC(struct vs_server_stretch) stretches;
    uint64_t met, each;  /* requests that ended; of them the first of `each` is kept, 0 = all */
    double resolution_s; /* stretches shorter than this are joined; 0 = none is */
};

/* A request ended. False when memory runs out. */
bool vs_serve_record_request(struct vs_serve_record *record,
                             const struct vs_replayed_request *request);
/* Time went on, from where the last stretch ended. False when memory runs out. */
bool vs_serve_record_stretch(struct vs_serve_record *record,
                             const struct vs_server_stretch *stretch);

/* Copies of the lists, and moments evenly over time, into the arena; NULL when memory runs out. */
const struct vs_replayed *vs_serve_record_keep(const struct vs_serve_record *record, double start_s,
                                               struct vs_arena *arena);
void vs_serve_record_release(struct vs_serve_record *record);

#endif
