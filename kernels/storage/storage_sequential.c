/* Reads a file from its beginning, by block size and requests in flight: how fast weights come from
 * disk. bytes = those of the blocks read. */
#include "reads.h"

static void run(struct session *session, const struct probe_limits *limits) {
    static const size_t BLOCKS[] = {128 << 10, 1 << 20, 8 << 20};
    static const unsigned DEPTHS[] = {1, 4};
    struct storage_file file;
    const char *reason;
    if (!storage_file_make(&file, limits, &reason)) {
        session_skip(session, reason);
        return;
    }
    for (size_t b = 0; b < sizeof BLOCKS / sizeof *BLOCKS; b++)
        for (size_t d = 0; d < sizeof DEPTHS / sizeof *DEPTHS; d++) {
            struct reads reads = {.file = &file,
                                  .block_bytes = BLOCKS[b],
                                  .blocks = file.bytes / 4 / BLOCKS[b],
                                  .depth = DEPTHS[d]};
            reads_measure(session, limits, &reads);
        }
    storage_file_close(&file);
}

const struct probe probe_storage_sequential = {"storage_sequential", "reads of a file in order",
                                               run};
