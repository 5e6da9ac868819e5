/* The buffers of a plan, really allocated, and the pieces of them that work goes over.
 *
 * An operation of a plan says how many bytes it moves, not which. Work takes the buffers that are
 * held in turn, so that what it reads has left the caches by the time its turn comes again, as the
 * weights and caches of a model have. */
#ifndef VRAMSIM_EXEC_MEMORY_H
#define VRAMSIM_EXEC_MEMORY_H

#include "plan.h"

#ifdef __cplusplus
extern "C" {
#endif

struct piece {
    void *at;
    size_t bytes;
};

struct memory;

struct memory *memory_new(const struct plan *plan); /* NULL when memory runs out */
void memory_free(struct memory *memory);

/* Carries out the actions, and fills what it takes of the device where `fill`; false with the
 * buffer that could not be had in *missing. */
bool memory_act(struct memory *memory, const struct action *actions, size_t count, bool fill,
                uint32_t *missing);
/* Do the actions give back what lanes may still use? */
bool memory_must_drain(const struct memory *memory, const struct action *actions, size_t count);
/* Remembers which buffers are held; gives those that came since, takes those that went. */
void memory_keep(struct memory *memory);
bool memory_restore(struct memory *memory, uint32_t *missing);

enum { PIECES_MOST = 256 };
/* Step i of a walk over pieces that has `left` bytes to go: from the first again where they are too
 * few. */
static inline struct piece piece_at(const struct piece *pieces, size_t count, size_t i,
                                    double left) {
    struct piece p = pieces[i % count];
    p.bytes = left < (double)p.bytes ? (size_t)left : p.bytes;
    return p;
}
/* Pieces of held buffers of device memory, of page-locked or of other host memory, of `bytes` in
 * all or as many as there are room for; the count. Where none is held, of a scratch of this
 * program. */
enum side { SIDE_DEVICE, SIDE_HOST, SIDE_PINNED, SIDE_COUNT };
size_t memory_pieces(struct memory *memory, enum side side, double bytes,
                     struct piece pieces[PIECES_MOST]);

/* Calls `copy` for every stretch that lies in one piece of both sides, until `bytes` are through;
 * false as soon as it is. Its arguments: context, to, from, bytes. */
typedef bool (*piece_copy)(void *context, void *to, const void *from, size_t bytes);
bool pieces_copy(double bytes, const struct piece *to, size_t to_count, const struct piece *from,
                 size_t from_count, piece_copy copy, void *context);

/* Is any buffer held there? */
bool memory_holds(const struct memory *memory, enum side side);
/* Bytes of the scratch on the device; 0 where none was needed. */
size_t memory_scratch(const struct memory *memory);

/* Bytes of this process that lie in the host's memory, now or at most; 0 = not known. */
enum resident { RESIDENT_NOW, RESIDENT_PEAK };
size_t memory_resident(enum resident which);

#ifdef __cplusplus
}
#endif

#endif
