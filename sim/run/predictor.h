/* What validate asks for predictions: the simulator, or a stand-in where a test wants known
 * answers. Both are called from several threads at once, each with an arena of its own. */
#ifndef VS_RUN_PREDICTOR_H
#define VS_RUN_PREDICTOR_H

#include "run/run.h"

struct vs_predictor {
    bool (*run)(struct vs_arena *arena, const struct vs_request *request,
                const struct vs_run_options *options, const struct vs_outcome **outcome,
                struct vs_err *err);
    bool (*limit)(struct vs_arena *arena, const struct vs_request *request, enum vs_axis axis,
                  const struct vs_limit **limit, struct vs_err *err);
};

#endif
