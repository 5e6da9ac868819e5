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

static const char PROBE[] = "vramsim-probe";
enum { PATH_SIZE = 4096 };

/* The program beside the running one, else the bare name, for PATH. */
static const char *find_probe(struct vs_arena *arena) {
    char self[PATH_SIZE];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    char *slash = NULL;
    if (length > 0) {
        self[length] = '\0';
        slash = strrchr(self, '/');
    }
    if (slash) {
        *slash = '\0';
        const char *beside = vs_arena_printf(arena, "%s/%s", self, PROBE);
        if (beside && vs_file_exists(beside))
            return beside;
    }
    return PROBE;
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

static bool not_found(struct vs_err *err) {
    return vs_err_set(err, VS_ERR_IO,
                      "%s was not found beside this program nor in PATH: it measures the machine",
                      PROBE);
}

static bool wait_for(pid_t child, struct vs_err *err) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return vs_err_set(err, VS_ERR_IO, "%s: %s", PROBE, strerror(errno));
    if (WIFSIGNALED(status))
        return vs_err_set(err, VS_ERR_IO, "%s was ended by signal %d: nothing is written", PROBE,
                          WTERMSIG(status));
    if (WEXITSTATUS(status) == 127)
        return not_found(err);
    return WEXITSTATUS(status) == 0 ||
           vs_err_set(err, VS_ERR_IO, "%s ended with status %d: nothing is written", PROBE,
                      WEXITSTATUS(status));
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

static bool run_probe(const char *program, const struct vs_measure_options *options,
                      const char *path, struct vs_err *err) {
    const struct sigaction ignored = {.sa_handler = SIG_IGN};
    struct sigaction before;
    pid_t child;
    char *words[] = {(char *)(uintptr_t)program,
                     (char *)(uintptr_t)(options->full ? "--full" : "--quick"),
                     (char *)(uintptr_t) "--folder",
                     (char *)(uintptr_t)(options->folder ? options->folder : "."), NULL};
    (void)sigaction(SIGINT, &ignored, &before);
    int failure = start(program, words, path, &child);
    bool ok = failure == 0        ? wait_for(child, err)
              : failure == ENOENT ? not_found(err)
                                  : vs_err_set(err, VS_ERR_IO, "%s: %s", PROBE, strerror(failure));
    (void)sigaction(SIGINT, &before, NULL);
    return ok;
}

bool vs_measure(struct vs_arena *arena, const struct vs_measure_options *options, const char **path,
                struct vs_err *err) {
    char *file;
    const char *program = find_probe(arena);
    if (options->folder && !vs_dir_exists(options->folder))
        return vs_err_at(err, options->folder, 0, 0, "no such folder");
    if (!make_file(arena, &file, err))
        return false;
    if (!run_probe(program, options, file, err)) {
        (void)unlink(file);
        return false;
    }
    *path = file;
    return true;
}
