#include "calib/measure.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"

extern char **environ;

static const char HOST_PROBE[] = "vramsim-probe", GPU_PROBE[] = "vramsim-probe-cuda";
enum { PATH_SIZE = 4096, NOT_FOUND = 127 /* as shells have it */ };

/* The program beside the running one, else the bare name, for PATH. */
static const char *find_probe(struct vs_arena *arena, const char *name) {
    char self[PATH_SIZE];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    char *slash = NULL;
    if (length > 0) {
        self[length] = '\0';
        slash = strrchr(self, '/');
    }
    if (slash) {
        *slash = '\0';
        const char *beside = vs_arena_printf(arena, "%s/%s", self, name);
        if (beside && vs_file_exists(beside))
            return beside;
    }
    return name;
}

static bool make_file(struct vs_arena *arena, char **path, struct vs_err *err) {
    const char *folder = getenv("TMPDIR");
    *path = vs_arena_printf(arena, "%s/vramsim-samples-XXXXXX",
                            folder && folder[0] != '\0' ? folder : "/tmp");
    if (!*path)
        return vs_err_nomem(err);
    int fd = mkstemp(*path);
    if (fd < 0)
        return vs_err_set(err, VS_ERR_IO, "%s: no file can be made: %s", *path, strerror(errno));
    (void)close(fd);
    return true;
}

/* *status is the exit status. */
static bool wait_for(pid_t child, const char *name, int *status, struct vs_err *err) {
    int ended = 0;
    while (waitpid(child, &ended, 0) < 0)
        if (errno != EINTR)
            return vs_err_set(err, VS_ERR_IO, "%s: %s", name, strerror(errno));
    if (WIFSIGNALED(ended))
        return vs_err_set(err, VS_ERR_IO, "%s was ended by signal %d: nothing is written", name,
                          WTERMSIG(ended));
    *status = WEXITSTATUS(ended);
    return true;
}

/* The child takes the interrupts of the terminal, which the parent ignores meanwhile. */
static int start(const char *program, char *const *words, const char *path, pid_t *child) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t interrupts;
    (void)sigemptyset(&interrupts);
    (void)sigaddset(&interrupts, SIGINT);
    if (posix_spawn_file_actions_init(&actions) != 0)
        return ENOMEM;
    if (posix_spawnattr_init(&attributes) != 0) {
        (void)posix_spawn_file_actions_destroy(&actions);
        return ENOMEM;
    }
    int failure =
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, path, O_WRONLY | O_TRUNC, 0600);
    if (failure == 0)
        failure = posix_spawnattr_setsigdefault(&attributes, &interrupts);
    if (failure == 0)
        failure = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    if (failure == 0)
        failure = posix_spawnp(child, program, &actions, &attributes, words, environ);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&actions);
    return failure;
}

/* *status is the program's, NOT_FOUND where there is none. */
static bool run_probe(struct vs_arena *arena, const char *name,
                      const struct vs_measure_options *options, const char *path, int *status,
                      struct vs_err *err) {
    const struct sigaction ignored = {.sa_handler = SIG_IGN};
    struct sigaction before;
    pid_t child;
    char *words[] = {(char *)(uintptr_t)name,
                     (char *)(uintptr_t)(options->full ? "--full" : "--quick"),
                     (char *)(uintptr_t) "--folder",
                     (char *)(uintptr_t)(options->folder ? options->folder : "."), NULL};
    (void)sigaction(SIGINT, &ignored, &before);
    int failure = start(find_probe(arena, name), words, path, &child);
    bool ok = true;
    if (failure == 0)
        ok = wait_for(child, name, status, err);
    else if (failure == ENOENT)
        *status = NOT_FOUND;
    else
        ok = vs_err_set(err, VS_ERR_IO, "%s: %s", name, strerror(failure));
    (void)sigaction(SIGINT, &before, NULL);
    return ok;
}

static bool measure(struct vs_arena *arena, const char *name,
                    const struct vs_measure_options *options, const char **path, int *status,
                    struct vs_err *err) {
    char *file;
    *path = NULL;
    if (options->folder && !vs_dir_exists(options->folder))
        return vs_err_at(err, options->folder, 0, 0, "no such folder");
    if (!make_file(arena, &file, err))
        return false;
    bool ok = run_probe(arena, name, options, file, status, err);
    if (ok && *status == 0)
        *path = file;
    else
        (void)unlink(file);
    return ok;
}

static bool failed(const char *name, int status, struct vs_err *err) {
    return vs_err_set(err, VS_ERR_IO, "%s ended with status %d: nothing is written", name, status);
}

bool vs_measure(struct vs_arena *arena, const struct vs_measure_options *options, const char **path,
                struct vs_err *err) {
    int status = 0;
    if (!measure(arena, HOST_PROBE, options, path, &status, err))
        return false;
    if (status == NOT_FOUND)
        return vs_err_set(
            err, VS_ERR_IO,
            "%s was not found beside this program nor in PATH: it measures the machine",
            HOST_PROBE);
    return status == 0 || failed(HOST_PROBE, status, err);
}

bool vs_measure_gpu(struct vs_arena *arena, const struct vs_measure_options *options,
                    const char **path, struct vs_err *err) {
    int status = 0;
    if (!measure(arena, GPU_PROBE, options, path, &status, err))
        return false;
    return status == 0 || status == 1 || status == NOT_FOUND || failed(GPU_PROBE, status, err);
}
