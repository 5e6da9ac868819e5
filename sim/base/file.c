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

/* Writes and closes; 0 or the errno of what failed first. */
static int write_and_close(int fd, const char *text, size_t length) {
    int code = write_fully(fd, text, length) ? 0 : errno;
    if (close(fd) != 0 && code == 0)
        code = errno;
    return code;
}

/* Devices and pipes cannot be replaced by a rename: /dev/null has to stay what it is. */
static bool write_in_place(const char *path, const char *text, size_t length, struct vs_err *err) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return write_failed(path, errno, err);
    int code = write_and_close(fd, text, length);
    return code == 0 ? true : write_failed(path, code, err);
}

static bool write_beside(const char *path, const char *text, size_t length, struct vs_err *err) {
    struct vs_text temporary = {0};
    bool done = false;
    int fd = -1;
    /* O_EXCL and a number instead of mkstemp: the file gets the permissions of the umask. */
    for (int i = 0; i < TEMPORARY_TRIES && fd < 0; i++) {
        temporary.length = 0;
        vs_text_printf(&temporary, "%s.tmp-%jd-%d", path, (intmax_t)getpid(), i);
        if (temporary.failed) {
            (void)vs_err_nomem(err);
            goto out;
        }
        fd = open(temporary.at, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    if (fd < 0) {
        (void)write_failed(path, errno, err);
        goto out;
    }
    int code = write_and_close(fd, text, length);
    if (code == 0 && rename(temporary.at, path) != 0)
        code = errno;
    if (code != 0) {
        (void)unlink(temporary.at);
        (void)write_failed(path, code, err);
        goto out;
    }
    done = true;
out:
    vs_text_release(&temporary);
    return done;
}

bool vs_file_write(const char *path, const char *text, size_t length, struct vs_err *err) {
    struct stat info;
    if (stat(path, &info) != 0)
        return write_beside(path, text, length, err);
    if (S_ISDIR(info.st_mode))
        return write_failed(path, EISDIR, err);
    if (!S_ISREG(info.st_mode))
        return write_in_place(path, text, length, err);
    /* A link stays a link: the file it leads to is what gets replaced. */
    char *real = realpath(path, NULL);
    if (!real)
        return write_failed(path, errno, err);
    bool done = write_beside(real, text, length, err);
    free(real);
    return done;
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
