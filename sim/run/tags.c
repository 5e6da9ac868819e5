#include "run/tags.h"

#include <stdlib.h>
#include <string.h>

static int by_size(const void *a, const void *b) {
    const struct vs_tag_bytes *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return strcmp(x->tag, y->tag);
}

const struct vs_tag_bytes *vs_tags_by_size(struct vs_arena *arena,
                                           const uint64_t by_tag[VS_TAG_COUNT], size_t *count) {
    struct vs_tag_bytes *out = VS_NEW_ARRAY(arena, struct vs_tag_bytes, VS_TAG_COUNT);
    *count = 0;
    if (!out)
        return NULL;
    for (int i = 0; i < VS_TAG_COUNT; i++)
        if (by_tag[i] > 0)
            out[(*count)++] = (struct vs_tag_bytes){vs_tag_name((enum vs_tag)i), by_tag[i]};
    qsort(out, *count, sizeof *out, by_size);
    return out;
}
