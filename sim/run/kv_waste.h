/* What of a KV cache's memory holds no token, by kind, as a mean over the steps of decoding (the
 * kinds of Kwon et al., "Efficient Memory Management for Large Language Model Serving with
 * PagedAttention", section 3.1):
 *
 *   reservation  slots that are kept for tokens to come
 *   internal     what no token will fill: the rest of a block, padding, an allocator's rounding
 *   external     free in the allocator's segments, in pieces that its requests left
 *
 * A pool of blocks that no sequence holds is no waste: any sequence may have them. */
#ifndef VS_RUN_KV_WASTE_H
#define VS_RUN_KV_WASTE_H

#include "run/simulate.h"

/* Bytes times weight. */
struct vs_kv_tally {
    double weight, held, used, reservation, internal, external;
};

/* The pools of a run as they are now, each sequence with `cells` tokens in the cache. */
void vs_kv_tally_add(struct vs_kv_tally *tally, const struct vs_simulation *s, uint64_t cells,
                     double weight);
/* The means, into the arena and the outcome; nothing where nothing was added. */
bool vs_kv_tally_report(const struct vs_kv_tally *tally, struct vs_simulation *s,
                        struct vs_err *err);

#endif
