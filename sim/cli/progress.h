/* A progress bar on standard error: only on a terminal, only for work that takes longer than a
 * second. */
#ifndef VS_CLI_PROGRESS_H
#define VS_CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

struct vs_progress {
    const char *what; /* "points", "cases" */
    bool wanted, shown;
    struct timespec began, drawn;
};

void vs_progress_begin(struct vs_progress *progress, const char *what, bool quiet);
/* Fits the callbacks of run/: `ctx` is a struct vs_progress. */
void vs_progress_step(void *ctx, size_t done, size_t total);
/* Takes the bar away. */
void vs_progress_end(struct vs_progress *progress);

#endif
