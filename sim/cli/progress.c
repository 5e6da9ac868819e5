#include "cli/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BAR_COLUMNS = 30 };
#define PATIENCE_S 1.0 /* shorter work needs no bar */
#define REDRAW_S 0.1

static double seconds_between(struct timespec from, struct timespec to) {
    return (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
}

static struct timespec now(void) {
    struct timespec time = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return time;
}

void vs_progress_begin(struct vs_progress *progress, const char *what, bool quiet) {
    *progress = (struct vs_progress){
        .what = what, .wanted = !quiet && isatty(STDERR_FILENO), .began = now()};
}

void vs_progress_step(void *ctx, size_t done, size_t total) {
    struct vs_progress *progress = ctx;
    if (!progress->wanted || total == 0)
        return;
    struct timespec time = now();
    if (seconds_between(progress->began, time) < PATIENCE_S ||
        (progress->shown && seconds_between(progress->drawn, time) < REDRAW_S))
        return;
    char bar[BAR_COLUMNS + 1];
    size_t full = done >= total ? BAR_COLUMNS : BAR_COLUMNS * done / total;
    memset(bar, '.', BAR_COLUMNS);
    memset(bar, '#', full);
    bar[BAR_COLUMNS] = '\0';
    (void)fprintf(stderr, "\r[%s] %zu of %zu %s", bar, done, total, progress->what);
    progress->shown = true;
    progress->drawn = time;
}

void vs_progress_end(struct vs_progress *progress) {
    if (progress->shown)
        (void)fprintf(stderr, "\r%*s\r", BAR_COLUMNS + 60, "");
    progress->wanted = progress->shown = false;
}
