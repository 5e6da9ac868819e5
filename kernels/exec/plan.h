/* A plan as vramsim writes it (run --plan-out, schema "vramsim-plan/1"; sim/run/plan_json.h says
 * what its members mean), read for execution on one device. Whoever writes a plan for this program
 * by hand needs only what is read here. */
#ifndef VRAMSIM_EXEC_PLAN_H
#define VRAMSIM_EXEC_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { LINE_SIZE = 400 }; /* of a message */

/* Where a buffer lies. Storage holds none that is allocated. */
enum place {
    PLACE_DEVICE,
    PLACE_RAW,     /* on the device, past the allocator */
    PLACE_MANAGED, /* pages that migrate */
    PLACE_HOST,
    PLACE_PINNED,
    PLACE_NONE,
    PLACE_COUNT
};

/* Lanes run their operations in the order of issue. The first four are streams of the device. */
enum lane {
    LANE_COMPUTE,
    LANE_TO_DEVICE,
    LANE_FROM_DEVICE,
    LANE_COLLECTIVE,
    LANE_CPU,
    LANE_STORAGE,
    LANE_ISSUE, /* the thread that issues */
    LANE_COUNT
};
static inline bool lane_is_device(enum lane lane) { return lane <= LANE_COLLECTIVE; }

/* What this program does for the kinds of work that plans have. */
enum work {
    WORK_NOTHING,
    WORK_READ,      /* reads device memory: few tokens times weights, attention over a cache */
    WORK_GEMM,      /* matrix product of the phase's tokens */
    WORK_ATTENTION, /* products with a head's 128 columns */
    WORK_ELEMENT,   /* reads and writes device memory */
    WORK_ADAPTER,   /* both */
    WORK_FIXED,     /* keeps its lane busy for cost_s */
    WORK_COPY,
    WORK_CPU_ROWS, /* rows of weights in host memory times the tokens */
    WORK_CPU_ADAM,
    WORK_SYNC,
    WORK_STORAGE,
    WORK_OTHER /* can't be executed here, unless it takes no time */
};

enum verb { VERB_TAKE, VERB_GIVE, VERB_ENSURE, VERB_ACCUMULATE, VERB_TOUCH };

struct action {
    enum verb verb;
    uint32_t buffer;
};

struct buffer {
    const char *what;
    enum place place;
    size_t bytes;
    bool context; /* the driver's own, which is there without being taken */
};

struct operation {
    enum work work;
    enum lane lane;
    const char *kind, *what; /* the plan's words */
    int layer;               /* -1 outside the layers */
    double flops, bytes, kernels, launches, cost_s;
    double weight_bits;
    bool fp32, pinned;
    bool awaited;          /* by a later operation on another lane */
    const uint32_t *after; /* earlier operations of the phase */
    size_t after_count;
    const struct action *actions; /* just before it is issued */
    size_t action_count;
};

struct phase {
    const char *name;
    double count;       /* in a step or request */
    double tokens;      /* that enter it */
    double predicted_s; /* NaN = not said */
    bool once;
    struct operation *operations;
    size_t operation_count;
    const struct action *at_end;
    size_t at_end_count;
};

struct plan {
    bool trains;
    struct phase *phases;
    size_t phase_count;
    struct buffer *buffers;
    size_t buffer_count;
    void *document; /* strings point into it */
};

/* Reads the file; false with one line in `line`. Release it in either case. */
bool plan_read(const char *path, struct plan *plan, char line[LINE_SIZE]);
void plan_release(struct plan *plan);

#ifdef __cplusplus
}
#endif

#endif
