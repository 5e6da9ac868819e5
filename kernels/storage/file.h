/* The file that storage probes read: it has no name once it is open, so that nothing stays behind,
 * whatever ends the program. Reads go past the page cache (O_DIRECT) where the file system allows
 * it; elsewhere the cache is emptied of the file before each repetition. */
#ifndef VRAMSIM_STORAGE_FILE_H
#define VRAMSIM_STORAGE_FILE_H

#include "../probe.h"

enum { FILE_ALIGNMENT = 4096 };

struct storage_file {
    int fd;
    size_t bytes;
    bool direct;
    double write_s; /* that writing it took, until it was on the medium */
};

/* False with a reason that may be shown. */
bool storage_file_make(struct storage_file *file, const struct probe_limits *limits,
                       const char **reason);
void storage_file_close(struct storage_file *file);
/* Forgets what the page cache holds of it. */
void storage_file_cool(const struct storage_file *file);
/* Reads [at, at + bytes) and checks what is read; false when that fails. */
bool storage_file_read(const struct storage_file *file, void *buffer, size_t bytes, size_t at);
/* Aligned memory; free() it. */
void *storage_buffer(size_t bytes);

#endif
