#define _GNU_SOURCE /* O_DIRECT */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { WRITE_BYTES = 8 << 20 };

void *storage_buffer(size_t bytes) {
    void *buffer = NULL;
    return posix_memalign(&buffer, FILE_ALIGNMENT, bytes) == 0 ? buffer : NULL;
}

/* Each page holds its own number. */
static bool write_pages(int fd, size_t bytes) {
    unsigned char *buffer = storage_buffer(WRITE_BYTES);
    bool ok = buffer != NULL;
    for (size_t at = 0; ok && at < bytes; at += WRITE_BYTES) {
        for (size_t i = 0; i < WRITE_BYTES; i += FILE_ALIGNMENT) {
            uint64_t page = (at + i) / FILE_ALIGNMENT;
            memset(buffer + i, (int)(page * 131), FILE_ALIGNMENT);
            memcpy(buffer + i, &page, sizeof page);
        }
        ok = write(fd, buffer, WRITE_BYTES) == (ssize_t)WRITE_BYTES;
    }
    free(buffer);
    return ok && fsync(fd) == 0;
}

static bool has_room(const char *folder, size_t bytes) {
    struct statvfs room;
    return statvfs(folder, &room) != 0 ||
           (double)room.f_bavail * (double)room.f_frsize > 2.0 * (double)bytes;
}

bool storage_file_make(struct storage_file *file, const struct probe_limits *limits,
                       const char **reason) {
    char path[1024];
    *file =
        (struct storage_file){.fd = -1, .bytes = limits->file_bytes / WRITE_BYTES * WRITE_BYTES};
    if (!has_room(limits->folder, file->bytes)) {
        *reason = "the file would take more than half of what is free there";
        return false;
    }
    int length = snprintf(path, sizeof path, "%s/.vramsim-probe-XXXXXX", limits->folder);
    if (length < 0 || (size_t)length >= sizeof path) {
        *reason = "the folder's name is too long";
        return false;
    }
    int fd = mkstemp(path);
    if (fd < 0) {
        *reason = "no file can be made in the folder";
        return false;
    }
#ifdef O_DIRECT
    file->fd = open(path, O_RDONLY | O_DIRECT);
    file->direct = file->fd >= 0;
#endif
    if (file->fd < 0)
        file->fd = open(path, O_RDONLY);
    (void)unlink(path);
    double start = now_s();
    bool ok = file->fd >= 0 && write_pages(fd, file->bytes);
    file->write_s = now_s() - start;
    (void)close(fd);
    if (!ok) {
        *reason = "the file could not be written";
        storage_file_close(file);
    }
    return ok;
}

void storage_file_close(struct storage_file *file) {
    if (file->fd >= 0)
        (void)close(file->fd);
    file->fd = -1;
}

void storage_file_cool(const struct storage_file *file) {
    if (!file->direct)
        (void)posix_fadvise(file->fd, 0, 0, POSIX_FADV_DONTNEED);
}

bool storage_file_read(const struct storage_file *file, void *buffer, size_t bytes, size_t at) {
    uint64_t page;
    if (pread(file->fd, buffer, bytes, (off_t)at) != (ssize_t)bytes)
        return false;
    memcpy(&page, buffer, sizeof page);
    return page == at / FILE_ALIGNMENT;
}
