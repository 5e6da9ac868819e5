/* Reads 4 KiB here and there in a file, one and 16 in flight: the latency of a request, and how
 * requests overlap. bytes = those of the blocks read. */
#include "reads.h"

enum { BLOCK_BYTES = 4096, BLOCKS = 256 };

static void run(struct session *session, const struct probe_limits *limits) {
    static const unsigned DEPTHS[] = {1, 16};
    struct storage_file file;
    const char *reason;
    if (!storage_file_make(&file, limits, &reason)) {
        session_skip(session, reason);
        return;
    }
    for (size_t d = 0; d < sizeof DEPTHS / sizeof *DEPTHS; d++) {
        struct reads reads = {.file = &file,
                              .block_bytes = BLOCK_BYTES,
                              .blocks = BLOCKS * DEPTHS[d],
                              .depth = DEPTHS[d],
                              .random = true};
        reads_measure(session, limits, &reads);
    }
    storage_file_close(&file);
}

const struct probe probe_storage_random = {"storage_random", "reads of 4 KiB anywhere in a file",
                                           run};
