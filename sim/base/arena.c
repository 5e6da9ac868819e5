#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BLOCK_BYTES = 16 * 1024 };

struct vs_arena_block {
    struct vs_arena_block *next;
    size_t room_bytes, used_bytes;
    alignas(max_align_t) unsigned char data[];
};

void vs_arena_init(struct vs_arena *arena) { *arena = (struct vs_arena){0}; }

static size_t round_up(size_t size_bytes) {
    size_t unit = alignof(max_align_t);
    return (size_bytes + unit - 1) / unit * unit;
}

static struct vs_arena_block *new_block(size_t room_bytes) {
    if (room_bytes > SIZE_MAX - sizeof(struct vs_arena_block))
        return NULL;
    struct vs_arena_block *block = malloc(sizeof *block + room_bytes);
    if (!block)
        return NULL;
    *block = (struct vs_arena_block){.room_bytes = room_bytes};
    return block;
}

/* Doubling keeps the number of blocks logarithmic. Pages that nobody touches cost no memory, but
 * where the system counts them all the same, the exact size is tried too. */
static struct vs_arena_block *add_block(struct vs_arena *arena, size_t needed_bytes) {
    size_t room = FIRST_BLOCK_BYTES;
    if (arena->blocks && arena->blocks->room_bytes <= SIZE_MAX / 4)
        room = arena->blocks->room_bytes * 2;
    if (room < needed_bytes)
        room = needed_bytes;
    struct vs_arena_block *block = new_block(room);
    if (!block && room > needed_bytes)
        block = new_block(needed_bytes);
    if (!block)
        return NULL;
    block->next = arena->blocks;
    arena->blocks = block;
    return block;
}

void *vs_arena_alloc(struct vs_arena *arena, size_t count, size_t size_bytes) {
    if (size_bytes > 0 && count > (SIZE_MAX / 2) / size_bytes)
        return NULL;
    size_t asked = count * size_bytes;
    size_t needed = round_up(asked > 0 ? asked : 1);
    struct vs_arena_block *block = arena->blocks;
    if (!block || block->room_bytes - block->used_bytes < needed)
        block = add_block(arena, needed);
    if (!block)
        return NULL;
    void *memory = block->data + block->used_bytes;
    block->used_bytes += needed;
    arena->used_bytes += asked;
    return memset(memory, 0, needed);
}

char *vs_arena_strndup(struct vs_arena *arena, const char *text, size_t length) {
    const char *end = length > 0 ? memchr(text, '\0', length) : NULL;
    if (end)
        length = (size_t)(end - text);
    if (length == SIZE_MAX)
        return NULL;
    char *copy = vs_arena_alloc(arena, length + 1, 1);
    if (copy && length > 0)
        memcpy(copy, text, length);
    return copy;
}

void *vs_arena_copy(struct vs_arena *arena, const void *from, size_t count, size_t size_bytes) {
    void *copy = count < SIZE_MAX ? vs_arena_alloc(arena, count + 1, size_bytes) : NULL;
    if (copy && count > 0)
        memcpy(copy, from, count * size_bytes);
    return copy;
}

char *vs_arena_strdup(struct vs_arena *arena, const char *text) {
    return vs_arena_strndup(arena, text, strlen(text));
}

char *vs_arena_printf(struct vs_arena *arena, const char *fmt, ...) {
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    char *text = length < 0 ? NULL : vs_arena_alloc(arena, (size_t)length + 1, 1);
    if (text)
        (void)vsnprintf(text, (size_t)length + 1, fmt, again);
    va_end(again);
    return text;
}

static void free_blocks(struct vs_arena_block *block) {
    while (block) {
        struct vs_arena_block *next = block->next;
        free(block);
        block = next;
    }
}

void vs_arena_reset(struct vs_arena *arena) {
    struct vs_arena_block *largest = arena->blocks;
    for (struct vs_arena_block *b = largest; b; b = b->next) {
        if (b->room_bytes > largest->room_bytes)
            largest = b;
    }
    struct vs_arena_block *block = arena->blocks;
    arena->blocks = NULL;
    arena->used_bytes = 0;
    while (block) {
        struct vs_arena_block *next = block->next;
        if (block == largest) {
            block->next = NULL;
            block->used_bytes = 0;
            arena->blocks = block;
        } else {
            free(block);
        }
        block = next;
    }
}

void vs_arena_release(struct vs_arena *arena) {
    free_blocks(arena->blocks);
    *arena = (struct vs_arena){0};
}

void vs_arena_adopt(struct vs_arena *arena, struct vs_arena *other) {
    if (!other->blocks)
        return;
    struct vs_arena_block *last = other->blocks;
    while (last->next)
        last = last->next;
    /* Behind the block in use, so that its room is used up first. */
    if (arena->blocks) {
        last->next = arena->blocks->next;
        arena->blocks->next = other->blocks;
    } else {
        arena->blocks = other->blocks;
    }
    arena->used_bytes += other->used_bytes;
    *other = (struct vs_arena){0};
}
