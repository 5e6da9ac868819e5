#include "base/vec.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 8 };

/* `at` really points to a `T *`. It is read and written as bytes, because a `T *` may not be
 * accessed as a `void *`. */
static void *load(void **at) {
    void *memory = NULL;
    memcpy(&memory, (const void *)at, sizeof memory);
    return memory;
}

static void store(void **at, void *memory) { memcpy((void *)at, &memory, sizeof memory); }

bool vs_vec_grow(void **at, size_t *room, size_t wanted, size_t size_bytes) {
    if (wanted <= *room)
        return true;
    size_t new_room = *room > SIZE_MAX / 2 ? wanted : *room * 2;
    if (new_room < FIRST_ROOM)
        new_room = FIRST_ROOM;
    if (new_room < wanted)
        new_room = wanted;
    if (size_bytes > 0 && new_room > (SIZE_MAX / 2) / size_bytes)
        return false;
    void *memory = realloc(load(at), new_room * size_bytes);
    if (!memory)
        return false;
    store(at, memory);
    *room = new_room;
    return true;
}

void vs_vec_free(void **at) {
    free(load(at));
    store(at, NULL);
}
