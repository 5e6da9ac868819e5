#include "report/plot/draw.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"

enum { COMPLAINTS_MOST = 1 << 16 };
static const char COMPLAINTS[] = "gnuplot.txt"; /* what gnuplot says; never kept */

bool vs_gnuplot_found(struct vs_arena *arena) {
    const char *path = getenv("PATH");
    size_t count = 0;
    char **folders = vs_split(arena, path ? path : "/usr/bin:/bin", ':', &count);
    for (size_t i = 0; folders && i < count; i++) {
        const char *file =
            vs_arena_printf(arena, "%s/gnuplot", folders[i][0] != '\0' ? folders[i] : ".");
        if (file && access(file, X_OK) == 0)
            return true;
    }
    return false;
}

bool vs_easel_open(struct vs_easel *easel, struct vs_arena *arena, const char *target,
                   struct vs_err *err) {
    *easel = (struct vs_easel){.arena = arena, .target = target, .existed = vs_dir_exists(target)};
    char *folder = vs_arena_printf(arena, "%s/.plot-XXXXXX", target);
    if (!folder)
        return vs_err_nomem(err);
    if (!vs_dir_make(target, err))
        return false;
    if (!mkdtemp(folder))
        return vs_err_set(err, VS_ERR_IO, "%s: can't write here: %s", target, strerror(errno));
    easel->folder = folder;
    return true;
}

bool vs_easel_put(struct vs_easel *easel, const char *name, const char *text, size_t length,
                  struct vs_err *err) {
    const char *path = vs_arena_printf(easel->arena, "%s/%s", easel->folder, name);
    if (!path || !vs_vec_push(&easel->files, name))
        return vs_err_nomem(err);
    return vs_file_write(path, text, length, err);
}

/* In the child: never returns. */
static void gnuplot_exec(const char *folder, const char *script) {
    if (chdir(folder) == 0) {
        const int in = open("/dev/null", O_RDONLY);
        const int out = open(COMPLAINTS, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (in >= 0 && out >= 0 && dup2(in, 0) >= 0 && dup2(out, 1) >= 0 && dup2(out, 2) >= 0)
            (void)execlp("gnuplot", "gnuplot", script, (char *)NULL);
    }
    _exit(127);
}

/* Waits for gnuplot; what it said is added to the complaints. */
static bool gnuplot_wait(struct vs_easel *easel, pid_t child, int *status, struct vs_err *err) {
    char *text;
    size_t length;
    struct vs_err ignored;
    while (waitpid(child, status, 0) < 0) {
        if (errno != EINTR)
            return vs_err_set(err, VS_ERR_IO, "can't wait for gnuplot: %s", strerror(errno));
    }
    const char *path = vs_arena_printf(easel->arena, "%s/%s", easel->folder, COMPLAINTS);
    if (path && vs_file_read(easel->arena, path, COMPLAINTS_MOST, &text, &length, &ignored))
        vs_text_addn(&easel->complaints, text, length);
    return true;
}

static bool pictures_there(struct vs_easel *easel, const char *name, const char *forms,
                           struct vs_err *err) {
    size_t count;
    char **form = vs_split(easel->arena, forms, ' ', &count);
    if (!form)
        return vs_err_nomem(err);
    for (size_t i = 0; i < count; i++) {
        const char *file = vs_arena_printf(easel->arena, "%s.%s", name, form[i]);
        const char *path = vs_arena_printf(easel->arena, "%s/%s", easel->folder, file ? file : "");
        if (!file || !path || !vs_vec_push(&easel->files, file))
            return vs_err_nomem(err);
        if (!vs_file_exists(path))
            return vs_err_set(err, VS_ERR_IO, "gnuplot drew no %s", file);
    }
    return true;
}

/* Warnings come first, what ended it last. */
static const char *last_line(const char *text) {
    const char *last = text;
    for (const char *c = text; *c != '\0'; c++)
        if (*c == '\n' && c[1 + strspn(c + 1, " ^\r\n")] != '\0')
            last = c + 1;
    return last + strspn(last, " ^\r\n");
}

bool vs_easel_draw(struct vs_easel *easel, const char *name, const char *forms,
                   struct vs_err *err) {
    int status = 0;
    const size_t before = easel->complaints.length;
    const char *script = vs_arena_printf(easel->arena, "%s.gp", name);
    if (!script)
        return vs_err_nomem(err);
    const pid_t child = fork();
    if (child == 0)
        gnuplot_exec(easel->folder, script);
    if (child < 0)
        return vs_err_set(err, VS_ERR_IO, "can't start gnuplot: %s", strerror(errno));
    if (!gnuplot_wait(easel, child, &status, err))
        return false;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return pictures_there(easel, name, forms, err);
    const char *why = last_line(vs_text_str(&easel->complaints) + before);
    return vs_err_set(err, VS_ERR_IO, "gnuplot failed at %s: %.*s", script, (int)strcspn(why, "\n"),
                      why);
}

bool vs_easel_keep(struct vs_easel *easel, struct vs_err *err) {
    for (size_t i = 0; i < easel->files.count; i++) {
        const char *name = easel->files.at[i];
        const char *from = vs_arena_printf(easel->arena, "%s/%s", easel->folder, name);
        const char *to = vs_arena_printf(easel->arena, "%s/%s", easel->target, name);
        if (!from || !to)
            return vs_err_nomem(err);
        if (rename(from, to) != 0)
            return vs_err_set(err, VS_ERR_IO, "%s: can't write: %s", to, strerror(errno));
    }
    return true;
}

void vs_easel_close(struct vs_easel *easel) {
    const char *const *left = NULL;
    size_t count = 0;
    struct vs_err ignored;
    if (easel->folder && vs_dir_list(easel->arena, easel->folder, "", &left, &count, &ignored))
        for (size_t i = 0; i < count; i++) {
            const char *path = vs_arena_printf(easel->arena, "%s/%s", easel->folder, left[i]);
            if (path)
                (void)unlink(path);
        }
    if (easel->folder)
        (void)rmdir(easel->folder);
    if (!easel->existed)
        (void)rmdir(easel->target); /* fails where something was kept */
    vs_vec_release(&easel->files);
    vs_text_release(&easel->complaints);
}
