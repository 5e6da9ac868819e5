/* Times of a server's steps, from its plan and the event engine. A step is run once for each node
 * of a grid that a run comes near; between nodes times are interpolated. */
#ifndef VS_RUN_STEP_TIME_H
#define VS_RUN_STEP_TIME_H

#include "base/vec.h"
#include "run/simulate.h"

/* A node: decodes, their cells, prompt tokens, their reach, prompts. */
enum { VS_STEP_DIMS = 5 };
struct vs_step_node {
    uint32_t at[VS_STEP_DIMS];
    double seconds;
};

/* All-zero but for `s` is empty and ready. */
struct vs_step_times {
    struct vs_simulation *s;
    struct vs_phase *phase;
    VS_VEC(struct vs_step_node) nodes;
    uint32_t *table; /* open addressing: index into nodes + 1, 0 = free */
    size_t slots;
};
void vs_step_times_release(struct vs_step_times *times);

/* Totals of the ranks that share a step, as a scheduler counts them; means where several groups of
 * ranks share the requests. */
struct vs_step_load {
    double decodes, cells; /* of all that decode */
    double prompts, prompt_tokens;
    double pairs; /* of prompt tokens and the cells that they attend to */
};
bool vs_step_time(struct vs_step_times *times, const struct vs_step_load *load, double *seconds,
                  struct vs_err *err);

#endif
