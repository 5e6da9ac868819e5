/* Reads of one block size at one depth, as the two read probes share them. */
#ifndef VRAMSIM_STORAGE_READS_H
#define VRAMSIM_STORAGE_READS_H

#include "file.h"

struct reads {
    const struct storage_file *file;
    size_t block_bytes, blocks; /* of one repetition */
    unsigned depth;             /* requests in flight: one thread each */
    bool random;
};

void reads_measure(struct session *session, const struct probe_limits *limits, struct reads *reads);

#endif
