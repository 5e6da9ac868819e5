/* Reads a large array once, in all numbers of threads: what weights that the CPU computes with cost
 * at least. bytes = those of the array. The sum of what was read is checked. */
#include <stdlib.h>

#include "../probe.h"
#include "loops.h"

struct array {
    uint64_t *at;
    size_t count;
    unsigned threads;
    uint64_t sums[256];
};

static void sum_part(void *context, unsigned part, unsigned parts) {
    struct array *a = context;
    size_t first, number = team_share(a->count, part, parts, &first);
    a->sums[part] = loop_sum(a->at + first, number);
}

/* Pages lie where they are first written: by the thread that will read them. */
static void fill_part(void *context, unsigned part, unsigned parts) {
    struct array *a = context;
    size_t first, number = team_share(a->count, part, parts, &first);
    for (size_t i = first; i < first + number; i++)
        a->at[i] = i;
}

static double read_once(void *context) {
    struct array *a = context;
    double seconds = team_run(a->threads, sum_part, a);
    uint64_t sum = 0, expected = (uint64_t)a->count * (a->count - 1) / 2;
    for (unsigned i = 0; i < a->threads; i++)
        sum += a->sums[i];
    return sum == expected ? seconds : -1;
}

static void run(struct session *session, const struct probe_limits *limits) {
    struct array a = {.count = limits->bytes / sizeof *a.at};
    unsigned sizes[32];
    unsigned most = limits->threads < 256 ? limits->threads : 256;
    size_t count = team_sizes(most, sizes);
    a.at = malloc(a.count * sizeof *a.at);
    if (!a.at || team_run(most, fill_part, &a) < 0) {
        session_skip(session, "no memory for the array");
        free(a.at);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        a.threads = sizes[i];
        session_measure(session, limits,
                        &(struct sample){.work = (double)limits->bytes,
                                         .unit = "bytes",
                                         .threads = sizes[i],
                                         .bytes = limits->bytes},
                        read_once, &a);
    }
    free(a.at);
}

const struct probe probe_cpu_read = {"cpu_read", "long reads of memory, by threads", run};
