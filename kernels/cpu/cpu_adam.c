/* One step of Adam on the CPU in fp32: what an optimizer in host memory costs.
 * bytes = 28 to a parameter: weight, both moments read and written, gradient read. */
#include <math.h>
#include <stdlib.h>

#include "../probe.h"
#include "loops.h"

enum { BYTES_PER_PARAMETER = 28, ARRAYS = 4 };

struct adam {
    float *weight, *gradient, *mean, *square;
    size_t count;
    unsigned threads;
};

static void step_part(void *context, unsigned part, unsigned parts) {
    struct adam *a = context;
    size_t first, number = team_share(a->count, part, parts, &first);
    loop_adam(a->weight + first, a->gradient + first, a->mean + first, a->square + first, number);
}

static void fill_part(void *context, unsigned part, unsigned parts) {
    struct adam *a = context;
    size_t first, number = team_share(a->count, part, parts, &first);
    for (size_t i = first; i < first + number; i++) {
        a->weight[i] = 1;
        a->gradient[i] = 0.5F;
        a->mean[i] = a->square[i] = 0;
    }
}

static double step_once(void *context) {
    struct adam *a = context;
    return team_run(a->threads, step_part, a);
}

/* After the first step all weights have moved by the rate x 0.1 / sqrt(0.001). */
static bool is_right(const struct adam *a) {
    float expected = 1 - LOOP_ADAM_RATE * 0.1F / sqrtf(0.001F);
    return fabsf(a->weight[0] - expected) < 1e-5F &&
           fabsf(a->weight[a->count - 1] - expected) < 1e-5F;
}

static void run(struct session *session, const struct probe_limits *limits) {
    struct adam a = {.count = limits->bytes / (ARRAYS * sizeof(float)), .threads = limits->threads};
    float *all = malloc(ARRAYS * a.count * sizeof *all);
    if (all) {
        a.weight = all;
        a.gradient = all + a.count;
        a.mean = all + 2 * a.count;
        a.square = all + 3 * a.count;
    }
    if (!all || team_run(a.threads, fill_part, &a) < 0 || step_once(&a) < 0)
        session_skip(session, "no memory for the states");
    else if (!is_right(&a))
        session_skip(session, "its result was wrong");
    else
        session_measure(session, limits,
                        &(struct sample){.work = BYTES_PER_PARAMETER * (double)a.count,
                                         .unit = "bytes",
                                         .threads = a.threads,
                                         .bytes = ARRAYS * a.count * sizeof(float)},
                        step_once, &a);
    free(all);
}

const struct probe probe_cpu_adam = {"cpu_adam", "one step of Adam in fp32", run};
