/* Times of a server's steps, from its plan and the event engine. A step is run once for each node
 * of a grid that a run comes near; between nodes times are interpolated. So is what a run used of a
 * machine: each node has a weight, the number of steps that it stood for. */
#ifndef VS_RUN_STEP_TIME_H
#define VS_RUN_STEP_TIME_H

#include "base/vec.h"
#include "plan/repeat.h"
#include "run/simulate.h"

/* A node: decodes, their cells, prompt tokens, their reach, prompts, prompt tokens of other groups.
 * Or a copy of KV blocks between device and host. */
enum { VS_STEP_DIMS = 6 };
struct vs_step_node {
    uint32_t at[VS_STEP_DIMS];
    double seconds;
    double weight; /* steps that it stood for */
};

/* All-zero but for `s` is empty and ready. */
struct vs_step_times {
    struct vs_simulation *s;
    struct vs_phase *phase;
    VS_VEC(struct vs_step_node) nodes;
    VS_VEC(double) uses; /* of each node, `use_count` numbers: what it used of the machine */
    size_t use_count;
    struct vs_repeat repeat; /* of layers, once it has been looked for */
    bool looked;
    uint32_t *table; /* open addressing: index into nodes + 1, 0 = free */
    size_t slots;
};
void vs_step_times_release(struct vs_step_times *times);

/* Totals of the ranks that share a step, as a scheduler counts them. Where several groups of ranks
 * share the requests: the mean of what decodes, and the prompts of the fullest group. */
struct vs_step_load {
    double decodes, cells; /* of all that decode */
    double prompts, prompt_tokens;
    double pairs;        /* of prompt tokens and the cells that they attend to */
    double other_tokens; /* of the prompts of all other groups */
};

/* A time and the nodes that it was made from, with their shares. */
enum { VS_STEP_PARTS = 20 };
struct vs_step_estimate {
    double seconds;
    size_t part_count;
    struct {
        uint32_t node;
        double share;
    } parts[VS_STEP_PARTS];
};
bool vs_step_time(struct vs_step_times *times, const struct vs_step_load *load,
                  struct vs_step_estimate *estimate, struct vs_err *err);
/* Copies of so many KV blocks of each device, to or from the host. */
bool vs_copy_time(struct vs_step_times *times, uint64_t blocks, bool to_host,
                  struct vs_step_estimate *estimate, struct vs_err *err);

/* It was run `count` times. */
void vs_step_count(struct vs_step_times *times, const struct vs_step_estimate *estimate,
                   double count);
/* Adds what all of them used to the sums of the executor. */
void vs_step_uses(const struct vs_step_times *times);

#endif
