/* Python pickles of plain data, protocols 2 to 5: None, bool, int, float, str, bytes, list, tuple,
 * dict. A pickle is a program for a stack machine, and half of its opcodes load and call code.
 * Those are refused by name: nothing is executed, nothing is loaded (Python's pickletools.py
 * describes each opcode).
 *
 * Refused too: nesting deeper than 64, integers beyond 64 bits, lengths beyond the file, sets.
 * Values live in the arena; strings point into the bytes that were read. A value may be reached in
 * several places, and a list may hold itself: whoever walks a tree follows known keys only. */
#ifndef VS_IMPORT_PICKLE_H
#define VS_IMPORT_PICKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

enum vs_pickle_kind {
    VS_PICKLE_NONE,
    VS_PICKLE_BOOL,
    VS_PICKLE_INT,
    VS_PICKLE_FLOAT,
    VS_PICKLE_STR,
    VS_PICKLE_BYTES,
    VS_PICKLE_LIST,
    VS_PICKLE_TUPLE,
    VS_PICKLE_DICT, /* children: key, value, key, value, ... */
};

struct vs_pickle {
    uint8_t kind;  /* enum vs_pickle_kind */
    uint8_t depth; /* 0 for what holds nothing */
    bool negative; /* INT */
    size_t count;  /* of bytes or children */
    union {
        uint64_t integer; /* magnitude; BOOL: 0 or 1 */
        double number;
        const char *text; /* not terminated */
        const struct vs_pickle **children;
    };
    size_t room; /* of children */
};

/* Reads one pickle, which must be all there is. `name` is for messages: "NAME: byte 12: ...". */
bool vs_pickle_read(struct vs_arena *arena, const char *name, const char *bytes, size_t length,
                    const struct vs_pickle **value, struct vs_err *err);

/* The value of a key of a dict, or NULL. The last of equal keys counts, as in Python. */
const struct vs_pickle *vs_pickle_member(const struct vs_pickle *dict, const char *key);
bool vs_pickle_is(const struct vs_pickle *value, const char *text); /* a str with this text */
const char *vs_pickle_kind_name(enum vs_pickle_kind kind);          /* "dict" */

#endif
