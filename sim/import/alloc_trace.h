/* Allocation traces: what a program asked of a CUDA allocator, event by event, whatever file it was
 * recorded in. A reader (one file per format) hands what it finds to the recorder below, which
 * tells blocks apart; run/replay_memory.c carries the events out on pools.
 *
 * A recording rarely begins at the start of its program. A block that is given back and was never
 * taken was there before; so was one that a format lists as alive at the end or at the start. Such
 * blocks come first in a replay, in the order of their addresses.
 *
 * Bytes are those asked for, before an allocator rounds them. */
#ifndef VS_IMPORT_ALLOC_TRACE_H
#define VS_IMPORT_ALLOC_TRACE_H

#include <stdint.h>

#include "base/err.h"
#include "base/input.h"
#include "base/vec.h"
#include "memory/pool.h"

enum {
    VS_ALLOC_DEVICES = 64,
    VS_ALLOC_STREAMS = VS_POOL_STREAMS_MOST,
};
/* A larger request is no request of a GPU: the largest today have 288 GB. */
#define VS_ALLOC_REQUEST_BYTES (1ULL << 44)

enum vs_alloc_verb { VS_ALLOC_TAKE, VS_ALLOC_GIVE, VS_ALLOC_RETAG };

struct vs_alloc_block {
    uint64_t address; /* 0 where a format has none */
    uint64_t bytes;
    uint32_t below; /* recorder: the next older live block of the same key */
    uint8_t device, stream;
    uint8_t tag; /* enum vs_tag when it was taken */
};

struct vs_alloc_event {
    int64_t time_ns; /* of the recording's own clock */
    uint64_t place;  /* row, or number of the event on its device, from 1 */
    uint32_t block;  /* index into vs_alloc_trace.blocks */
    uint8_t verb;    /* enum vs_alloc_verb */
    uint8_t tag;     /* RETAG: from now on */
};

/* What the recording itself says about running out. */
struct vs_alloc_oom {
    uint64_t place, bytes, device_free_bytes;
};

/* Segments of the recorded program's own allocator, on one device. */
struct vs_alloc_segments {
    int64_t net_bytes, peak_bytes; /* taken less given back since the start, and most of that */
    uint64_t end_bytes;            /* held at the end, where `known` */
    bool known;
};

/* A slot of the recorder's hash table: the newest live block of a key. */
struct vs_alloc_slot {
    uint64_t key[2];
    uint32_t block; /* VS_ALLOC_NONE = none any more */
    bool used;
};

struct vs_alloc_reader;

struct vs_alloc_trace {
    const struct vs_alloc_reader *reader; /* that made it */
    VS_VEC(struct vs_alloc_block) blocks;
    VS_VEC(struct vs_alloc_event) events;
    VS_VEC(uint32_t) before; /* blocks that were there, by device and address */
    unsigned device_count;   /* the largest device number + 1 */
    uint64_t unknown_frees;  /* of blocks taken before the recording */
    uint64_t lost_frees;     /* blocks whose address was taken again without a free between */
    uint64_t size_changes;   /* frees that state another size than the request did */
    uint64_t skipped;        /* rows that were left out */
    struct vs_alloc_segments segments[VS_ALLOC_DEVICES];
    uint64_t ooms; /* recorded ones; the first: */
    struct vs_alloc_oom oom;

    VS_VEC(uint64_t) streams;           /* recorder: as the file calls them, by number */
    VS_VEC(struct vs_alloc_slot) slots; /* recorder: by key, a power of two of them */
    size_t slots_used;
};

struct vs_alloc_options {
    bool skip_bad; /* rows and events that make no sense are counted and left out */
};

/* A file format: one file and one line of alloc_list.def. */
struct vs_alloc_reader {
    const char *form; /* "PyTorch memory snapshot" */
    const char *unit; /* what `place` counts: "row", "event" */
    /* Do the first bytes of a file look like this format? */
    bool (*looks_like)(const char *head, size_t length);
    /* Fills an empty trace. False with a message that names file and row, or file and byte. */
    bool (*read)(struct vs_input *in, const struct vs_alloc_options *options,
                 struct vs_alloc_trace *trace, struct vs_err *err);
};

/* All formats; NULL-terminated. */
extern const struct vs_alloc_reader *const vs_alloc_readers[];
/* The format of a file by its first bytes (at most VS_ALLOC_HEAD_BYTES are looked at), or NULL. */
enum { VS_ALLOC_HEAD_BYTES = 4096 };
const struct vs_alloc_reader *vs_alloc_reader_find(const char *head, size_t length);
/* Reads a whole trace, ready to be replayed. vs_alloc_trace_release frees what comes out, after a
 * failure too. */
bool vs_alloc_trace_read(const struct vs_alloc_reader *reader, struct vs_input *in,
                         const struct vs_alloc_options *options, struct vs_alloc_trace *trace,
                         struct vs_err *err);

void vs_alloc_trace_release(struct vs_alloc_trace *trace);

/* ---- recorder ---- */
#define VS_ALLOC_NONE UINT32_MAX

/* A request, or the end of one, as a reader found it. The key tells blocks apart: equal keys are
 * given back newest first. */
struct vs_alloc_entry {
    uint64_t key[2];
    uint64_t address, bytes;
    int64_t time_ns;
    uint64_t place;
    unsigned device, stream;
    enum vs_tag tag;
};

/* All false only where memory runs out. */
bool vs_alloc_take(struct vs_alloc_trace *trace, const struct vs_alloc_entry *entry);
/* A block that nobody took was there before. 0 bytes = the file states no size here. */
bool vs_alloc_give(struct vs_alloc_trace *trace, const struct vs_alloc_entry *entry);
/* The block changes its key and its tag (entry->tag). */
bool vs_alloc_retag(struct vs_alloc_trace *trace, const struct vs_alloc_entry *entry,
                    const uint64_t to_key[2]);
/* A block that was there before the first event, and still is. */
bool vs_alloc_before(struct vs_alloc_trace *trace, const struct vs_alloc_entry *entry);
/* Is a block of this key alive? */
bool vs_alloc_is_live(const struct vs_alloc_trace *trace, const uint64_t key[2]);
/* Most that the recorded program's allocator held of a device; 0 = the recording doesn't say. */
uint64_t vs_alloc_recorded_reserved(const struct vs_alloc_trace *trace, unsigned device);
void vs_alloc_note_oom(struct vs_alloc_trace *trace, const struct vs_alloc_oom *oom);

#endif
