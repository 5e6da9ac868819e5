/* A case: five names and their numbers, resolved. Nothing else reaches the simulator. */
#ifndef VS_WORK_CASE_H
#define VS_WORK_CASE_H

#include "work/axis.h"

struct vs_machine; /* hw/machine.h */
struct vs_model;   /* model/model.h */
struct vs_engine;  /* engine/engine.h */

enum vs_task { VS_TASK_GENERATE, VS_TASK_SERVE, VS_TASK_TRAIN };

struct vs_case {
    enum vs_task task;
    const struct vs_machine *machine;
    const struct vs_model *model;
    const struct vs_engine *engine;
    struct vs_values axes;    /* every axis that applies has a value or is deliberately empty */
    const char *const *notes; /* remarks for the user: "--zero 3 on one GPU shards nothing" */
    size_t note_count;
};

#endif
