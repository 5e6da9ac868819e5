#include "base/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"

extern char **environ;

enum { PATH_SIZE = 4096, WORDS_MOST = 16 };

/* The program beside the running one, else the bare name, for PATH. */
static const char *find_program(struct vs_arena *arena, const char *name) {
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

bool vs_program_file(struct vs_arena *arena, const char **path, struct vs_err *err) {
    const char *folder = getenv("TMPDIR");
    char *name =
        vs_arena_printf(arena, "%s/vramsim-XXXXXX", folder && folder[0] != '\0' ? folder : "/tmp");
    if (!name)
        return vs_err_nomem(err);
    int fd = mkstemp(name);
    if (fd < 0)
        return vs_err_set(err, VS_ERR_IO, "%s: no file can be made: %s", name, strerror(errno));
    *path = name;
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

bool vs_program_run(struct vs_arena *arena, const char *name, const char *const *words,
                    const char *output, int *status, struct vs_err *err) {
    const struct sigaction ignored = {.sa_handler = SIG_IGN};
    struct sigaction before;
    pid_t child;
    char *all[WORDS_MOST + 2] = {(char *)(uintptr_t)name};
    for (size_t i = 0; i < WORDS_MOST && words[i]; i++)
        all[i + 1] = (char *)(uintptr_t)words[i];
    (void)sigaction(SIGINT, &ignored, &before);
    int failure = start(find_program(arena, name), all, output, &child);
    bool ok = true;
    if (failure == 0)
        ok = wait_for(child, name, status, err);
    else if (failure == ENOENT)
        *status = VS_PROGRAM_NOT_FOUND;
    else
        ok = vs_err_set(err, VS_ERR_IO, "%s: %s", name, strerror(failure));
    (void)sigaction(SIGINT, &before, NULL);
    return ok;
}
