/* memcpy of one half of a large array onto the other, in all numbers of threads: what staging
 * through host memory costs. bytes = read and written: the whole array. The last byte of each part
 * is checked. */
#include <stdlib.h>
#include <string.h>

#include "../probe.h"

struct halves {
    unsigned char *from, *to;
    size_t bytes; /* of a half */
    unsigned threads;
    unsigned char mark;
};

static void copy_part(void *context, unsigned part, unsigned parts) {
    struct halves *h = context;
    size_t first, number = team_share(h->bytes, part, parts, &first);
    memcpy(h->to + first, h->from + first, number);
}

static void fill_part(void *context, unsigned part, unsigned parts) {
    struct halves *h = context;
    size_t first, number = team_share(h->bytes, part, parts, &first);
    memset(h->from + first, 1, number);
    memset(h->to + first, 2, number);
}

static double copy_once(void *context) {
    struct halves *h = context;
    h->from[h->bytes - 1] = ++h->mark;
    double seconds = team_run(h->threads, copy_part, h);
    return h->to[h->bytes - 1] == h->mark ? seconds : -1;
}

static void run(struct session *session, const struct probe_limits *limits) {
    struct halves h = {.bytes = limits->bytes / 2};
    unsigned sizes[32];
    size_t count = team_sizes(limits->threads, sizes);
    unsigned char *both = malloc(2 * h.bytes);
    h.from = both;
    h.to = both ? both + h.bytes : NULL;
    if (!both || team_run(limits->threads, fill_part, &h) < 0) {
        session_skip(session, "no memory for the array");
        free(both);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        h.threads = sizes[i];
        session_measure(session, limits,
                        &(struct sample){.work = 2 * (double)h.bytes,
                                         .unit = "bytes",
                                         .threads = sizes[i],
                                         .bytes = 2 * h.bytes},
                        copy_once, &h);
    }
    free(both);
}

const struct probe probe_cpu_copy = {"cpu_copy", "memcpy, by threads", run};
