#include "des/lines.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 16 };

bool vs_lines_grow(void *at, size_t *room, size_t wanted, size_t size_bytes) {
    size_t new_room = *room > 0 ? *room : FIRST_ROOM;
    while (new_room < wanted) {
        if (new_room > SIZE_MAX / 4 / size_bytes)
            return false;
        new_room *= 2;
    }
    if (new_room == *room)
        return true;
    /* aligned_alloc wants a multiple of the alignment. */
    const size_t lines = (new_room * size_bytes + VS_LINE_BYTES - 1) / VS_LINE_BYTES;
    void *fresh = aligned_alloc(VS_LINE_BYTES, lines * VS_LINE_BYTES);
    if (!fresh)
        return false;
    /* `at` points to a pointer of some type: copied as bytes, for it is not a `void *`. */
    void *old = NULL;
    memcpy(&old, at, sizeof old);
    if (old)
        memcpy(fresh, old, *room * size_bytes);
    free(old);
    memcpy(at, &fresh, sizeof fresh);
    *room = new_room;
    return true;
}
