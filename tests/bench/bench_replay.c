/* How long it takes to serve a million requests that are drawn, and how much memory that takes: a
 * model of 8 billion parameters on one card, at a rate that it keeps up with. Printed, not judged:
 * machines differ. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "run/run.h"
#include "work/options.h"

static const char *const WORDS[] = {"--hw",  "h100",   "--model", "llama-3.1-8b", "--engine",
                                    "vllm",  "--task", "serve",   "--prompt",     "1024",
                                    "--gen", "256",    "--rate",  "20",           "--length-range",
                                    "0.3",   "--cv",   "2",       "--requests"};
enum { WORD_COUNT = sizeof WORDS / sizeof *WORDS };

static double processor_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double peak_mib(void) {
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (double)usage.ru_maxrss / 1024 : 0;
}

static bool serve(const char *requests, struct vs_err *err) {
    struct vs_arena arena = {0};
    struct vs_grid grid = {.set_count = 0};
    struct vs_request request = {.set_count = 0};
    const struct vs_option_rules rules = {.lists = false};
    const struct vs_run_options options = {.capacity_only = false};
    const struct vs_outcome *outcome = NULL;
    const char *words[WORD_COUNT + 1];
    for (size_t i = 0; i < WORD_COUNT; i++)
        words[i] = WORDS[i];
    words[WORD_COUNT] = requests;
    double before_s = processor_s();
    bool done = vs_options_parse(&arena, words, WORD_COUNT + 1, &rules, &grid, err) &&
                vs_grid_point(&grid, &request.user, err) &&
                vs_run(&arena, &request, &options, &outcome, err);
    if (done)
        printf("%8s requests: %6.2f s of processor time, %5.1f MiB, %5.1f running on average\n",
               requests, processor_s() - before_s, peak_mib(),
               outcome->metrics[VS_METRIC_RUNNING_MEAN]);
    vs_arena_release(&arena);
    return done;
}

int main(void) {
    static const char *const COUNTS[] = {"1000", "10000", "100000", "1000000"};
    struct vs_err err = {.status = VS_OK};
    for (size_t i = 0; i < sizeof COUNTS / sizeof *COUNTS; i++)
        if (!serve(COUNTS[i], &err)) {
            printf("%s\n", err.text);
            return EXIT_FAILURE;
        }
    return EXIT_SUCCESS;
}
