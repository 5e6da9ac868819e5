/* Writes a file until it is on the medium. bytes = those of the file. */
#include "file.h"

static double write_once(void *context) {
    const struct probe_limits *limits = context;
    struct storage_file file;
    const char *reason;
    if (!storage_file_make(&file, limits, &reason))
        return -1;
    storage_file_close(&file);
    return file.write_s;
}

static void run(struct session *session, const struct probe_limits *limits) {
    struct probe_limits fewer =
        *limits; /* a repetition is long: its file is the smallest of the probes' */
    fewer.file_bytes = limits->file_bytes / 4;
    session_measure(session, limits,
                    &(struct sample){.work = (double)fewer.file_bytes,
                                     .unit = "bytes",
                                     .bytes = fewer.file_bytes},
                    write_once, &fewer);
}

const struct probe probe_storage_write = {"storage_write",
                                          "writes of a file, until it is on the medium", run};
