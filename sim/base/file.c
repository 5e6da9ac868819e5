#define _XOPEN_SOURCE 700 /* realpath */

#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "base/vec.h"

enum { REASON_SIZE = 128, TEMPORARY_TRIES = 100 };

/* The system's word for an errno, in the form of our messages: lower case first. */
static const char *reason(int code, char out[REASON_SIZE]) {
    if (strerror_r(code, out, REASON_SIZE) != 0)
        (void)snprintf(out, REASON_SIZE, "error %d", code);
    if (out[0] >= 'A' && out[0] <= 'Z' && out[1] >= 'a' && out[1] <= 'z')
        out[0] = (char)(out[0] - 'A' + 'a');
    return out;
}

/* What the user can mend by naming another file is bad input; the rest is the system's trouble. */
static enum vs_status read_status(int code) {
    switch (code) {
    case EIO:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
        return VS_ERR_IO;
    default:
        return VS_ERR_INPUT;
    }
}

static bool read_failed(const char *path, int code, struct vs_err *err) {
    char why[REASON_SIZE];
    return vs_err_set(err, read_status(code), "cannot read '%s': %s", path, reason(code, why));
}

static bool write_failed(const char *path, int code, struct vs_err *err) {
    char why[REASON_SIZE];
    return vs_err_set(err, VS_ERR_IO, "cannot write '%s': %s", path, reason(code, why));
}

/* Reads until the end or `most` bytes; false leaves errno. */
static bool read_fully(int fd, char *at, size_t most, size_t *length) {
    size_t done = 0;
    while (done < most) {
        ssize_t got = read(fd, at + done, most - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return false;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    *length = done;
    return true;
}

bool vs_file_read(struct vs_arena *arena, const char *path, size_t max_bytes, char **text,
                  size_t *length, struct vs_err *err) {
    /* Without O_NONBLOCK opening a pipe would wait for a writer. */
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return read_failed(path, errno, err);
    bool done = false;
    struct stat info;
    if (fstat(fd, &info) != 0) {
        (void)read_failed(path, errno, err);
        goto out;
    }
    if (!S_ISREG(info.st_mode)) {
        (void)vs_err_set(err, VS_ERR_INPUT, "cannot read '%s': not a regular file", path);
        goto out;
    }
    if (info.st_size < 0 || (uintmax_t)info.st_size > max_bytes ||
        (uintmax_t)info.st_size > SIZE_MAX / 4) {
        (void)vs_err_set(err, VS_ERR_INPUT,
                         "cannot read '%s': found %" PRIdMAX " bytes, expected at most %zu", path,
                         (intmax_t)info.st_size, max_bytes);
        goto out;
    }
    size_t size = (size_t)info.st_size, got = 0;
    char *copy = vs_arena_alloc(arena, size + 1, 1);
    if (!copy) {
        (void)vs_err_nomem(err);
        goto out;
    }
    if (!read_fully(fd, copy, size + 1, &got)) {
        (void)read_failed(path, errno, err);
        goto out;
    }
    if (got > size) {
        (void)vs_err_set(err, VS_ERR_IO, "cannot read '%s': it grew while it was read", path);
        goto out;
    }
    copy[got] = '\0';
    *text = copy;
    *length = got;
    done = true;
out:
    (void)close(fd);
    return done;
}

bool vs_file_open(const char *path, FILE **stream, struct vs_err *err) {
    if (vs_dir_exists(path)) /* fopen would take it, and only reading would fail */
        return read_failed(path, EISDIR, err);
    FILE *opened = fopen(path, "rb");
    if (!opened)
        return read_failed(path, errno, err);
    *stream = opened;
    return true;
}

static bool write_fully(int fd, const char *at, size_t length) {
    while (length > 0) {
        ssize_t put = write(fd, at, length);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return false;
        at += put;
        length -= (size_t)put;
    }
    return true;
}

enum { OUT_BYTES = 64 * 1024 };

struct vs_file_out {
    int fd;
    char *path;               /* what is replaced in the end */
    struct vs_text temporary; /* its name; empty: written in place */
    size_t filled;
    char buffer[OUT_BYTES];
};

static void out_free(struct vs_file_out *out) {
    free(out->path);
    vs_text_release(&out->temporary);
    free(out);
}

/* O_EXCL and a number instead of mkstemp: the file gets the permissions of the umask. */
static bool open_beside(struct vs_file_out *out, struct vs_err *err) {
    out->fd = -1;
    for (int i = 0; i < TEMPORARY_TRIES && out->fd < 0; i++) {
        out->temporary.length = 0;
        vs_text_printf(&out->temporary, "%s.tmp-%jd-%d", out->path, (intmax_t)getpid(), i);
        if (out->temporary.failed)
            return vs_err_nomem(err);
        out->fd = open(out->temporary.at, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (out->fd < 0 && errno != EEXIST)
            break;
    }
    return out->fd >= 0 || write_failed(out->path, errno, err);
}

/* A link stays a link: the file it leads to is what gets replaced. Devices and pipes cannot be
 * replaced by a rename: /dev/null has to stay what it is. */
static bool open_out(struct vs_file_out *out, const char *path, struct vs_err *err) {
    struct stat info;
    bool there = stat(path, &info) == 0;
    if (there && S_ISDIR(info.st_mode))
        return write_failed(path, EISDIR, err);
    bool regular = there && S_ISREG(info.st_mode);
    out->path = regular ? realpath(path, NULL) : strdup(path);
    if (!out->path)
        return write_failed(path, errno, err);
    if (!there || regular)
        return open_beside(out, err);
    out->fd = open(path, O_WRONLY | O_CLOEXEC);
    return out->fd >= 0 || write_failed(path, errno, err);
}

struct vs_file_out *vs_file_begin(const char *path, struct vs_err *err) {
    struct vs_file_out *out = calloc(1, sizeof *out);
    if (!out) {
        (void)vs_err_nomem(err);
        return NULL;
    }
    if (open_out(out, path, err))
        return out;
    out_free(out);
    return NULL;
}

bool vs_file_put(struct vs_file_out *out, const char *text, size_t length, struct vs_err *err) {
    if (length > OUT_BYTES - out->filled) {
        if (!write_fully(out->fd, out->buffer, out->filled))
            return write_failed(out->path, errno, err);
        out->filled = 0;
    }
    if (length > OUT_BYTES)
        return write_fully(out->fd, text, length) || write_failed(out->path, errno, err);
    memcpy(out->buffer + out->filled, text, length);
    out->filled += length;
    return true;
}

bool vs_file_commit(struct vs_file_out *out, struct vs_err *err) {
    int code = write_fully(out->fd, out->buffer, out->filled) ? 0 : errno;
    if (close(out->fd) != 0 && code == 0)
        code = errno;
    if (out->temporary.length > 0) {
        if (code == 0 && rename(out->temporary.at, out->path) != 0)
            code = errno;
        if (code != 0)
            (void)unlink(out->temporary.at);
    }
    bool done = code == 0 || write_failed(out->path, code, err);
    out_free(out);
    return done;
}

void vs_file_abandon(struct vs_file_out *out) {
    if (!out)
        return;
    (void)close(out->fd);
    if (out->temporary.length > 0)
        (void)unlink(out->temporary.at);
    out_free(out);
}

bool vs_file_write(const char *path, const char *text, size_t length, struct vs_err *err) {
    struct vs_file_out *out = vs_file_begin(path, err);
    if (!out)
        return false;
    if (vs_file_put(out, text, length, err))
        return vs_file_commit(out, err);
    vs_file_abandon(out);
    return false;
}

bool vs_file_exists(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

bool vs_dir_exists(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

bool vs_dir_make(const char *path, struct vs_err *err) {
    struct vs_text part = {0};
    int code = path[0] == '\0' ? ENOENT : 0;
    for (const char *at = path; *at != '\0' && code == 0;) {
        at += strspn(at, "/");
        at += strcspn(at, "/");
        part.length = 0;
        vs_text_addn(&part, path, (size_t)(at - path));
        if (part.failed || mkdir(part.at, 0777) != 0)
            code = part.failed ? ENOMEM : errno;
        if (code != 0 && !part.failed && vs_dir_exists(part.at))
            code = 0;
    }
    vs_text_release(&part);
    if (code == 0)
        return true;
    if (code == ENOMEM)
        return vs_err_nomem(err);
    char why[REASON_SIZE];
    return vs_err_set(err, VS_ERR_IO, "cannot make the folder '%s': %s", path, reason(code, why));
}

static int by_bytes(const void *a, const void *b) {
    const char *const *left = a;
    const char *const *right = b;
    return strcmp(*left, *right);
}

struct name_list {
    VS_VEC(const char *) names;
};

/* Keeps a name without its suffix; false when memory runs out. */
static bool keep_name(struct vs_arena *arena, struct name_list *list, const char *name,
                      const char *suffix) {
    size_t length = strlen(name), cut = strlen(suffix);
    if (name[0] == '.' || length <= cut || strcmp(name + length - cut, suffix) != 0)
        return true;
    const char *stem = vs_arena_strndup(arena, name, length - cut);
    return stem && vs_vec_push(&list->names, stem);
}

bool vs_dir_list(struct vs_arena *arena, const char *path, const char *suffix,
                 const char *const **names, size_t *count, struct vs_err *err) {
    struct name_list list = {0};
    bool done = false;
    DIR *dir = opendir(path);
    if (!dir && errno != ENOENT)
        return read_failed(path, errno, err);
    while (dir) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (!entry)
            break;
        if (!keep_name(arena, &list, entry->d_name, suffix))
            goto nomem;
    }
    if (dir && errno != 0) {
        (void)read_failed(path, errno, err);
        goto out;
    }
    const char **sorted = VS_NEW_ARRAY(arena, const char *, list.names.count);
    if (!sorted)
        goto nomem;
    for (size_t i = 0; i < list.names.count; i++)
        sorted[i] = list.names.at[i];
    qsort(sorted, list.names.count, sizeof *sorted, by_bytes);
    *names = sorted;
    *count = list.names.count;
    done = true;
    goto out;
nomem:
    (void)vs_err_nomem(err);
out:
    vs_vec_release(&list.names);
    if (dir)
        (void)closedir(dir);
    return done;
}
