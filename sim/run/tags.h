/* What holds memory, as outcomes tell it. */
#ifndef VS_RUN_TAGS_H
#define VS_RUN_TAGS_H

#include "base/arena.h"
#include "memory/pool.h"
#include "run/outcome.h"

/* Those that hold anything, the largest first; NULL when memory runs out. */
const struct vs_tag_bytes *vs_tags_by_size(struct vs_arena *arena,
                                           const uint64_t by_tag[VS_TAG_COUNT], size_t *count);

#endif
