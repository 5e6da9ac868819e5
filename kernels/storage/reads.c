#include "reads.h"

#include <stdatomic.h>
#include <stdlib.h>

struct turn {
    const struct reads *reads;
    atomic_bool failed;
};

/* Block number i of the repetition: in order, or where a multiplicative hash puts it. */
static size_t place(const struct reads *r, size_t i) {
    size_t all = r->file->bytes / r->block_bytes;
    uint64_t hash = (uint64_t)i * 0x9E3779B97F4A7C15u;
    return (r->random ? (size_t)(hash >> 20) % all : i % all) * r->block_bytes;
}

static void read_part(void *context, unsigned part, unsigned parts) {
    struct turn *turn = context;
    size_t first, number = team_share(turn->reads->blocks, part, parts, &first);
    void *buffer = storage_buffer(turn->reads->block_bytes);
    bool ok = buffer != NULL;
    for (size_t i = first; ok && i < first + number; i++)
        ok = storage_file_read(turn->reads->file, buffer, turn->reads->block_bytes,
                               place(turn->reads, i));
    if (!ok)
        atomic_store(&turn->failed, true);
    free(buffer);
}

static double read_once(void *context) {
    const struct reads *reads = context;
    struct turn turn = {.reads = reads};
    storage_file_cool(reads->file);
    double seconds = team_run(reads->depth, read_part, &turn);
    return atomic_load(&turn.failed) ? -1 : seconds;
}

void reads_measure(struct session *session, const struct probe_limits *limits,
                   struct reads *reads) {
    session_measure(session, limits,
                    &(struct sample){.work = (double)reads->block_bytes * (double)reads->blocks,
                                     .unit = "bytes",
                                     .bytes = reads->file->bytes,
                                     .block_bytes = reads->block_bytes,
                                     .depth = reads->depth},
                    read_once, reads);
}
