/* Named workloads: workloads/NAME.json {"schema": "vramsim-workload/1", "name", "about", "model",
 * "task", "engines": [..], "axes": {axis: word}}, and "aliases" where there are any. Words of
 * "axes" are those of the command line without dashes; numbers may stand without quotes. Knows no
 * devices.
 */
#ifndef VS_WORK_WORKLOAD_H
#define VS_WORK_WORKLOAD_H

#include "work/axis.h"

struct vs_workload {
    const char *name, *about, *file;
    const char *task;
    const char *const *engines;
    size_t engine_count;     /* in order of preference */
    struct vs_values values; /* model, task and axes; origin VS_FROM_WORKLOAD */
};

bool vs_workload_load(struct vs_arena *arena, const char *name_or_file,
                      struct vs_workload *workload, struct vs_err *err);

#endif
