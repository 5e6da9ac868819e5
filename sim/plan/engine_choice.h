/* Which engine runs a case, and whether it can: what its file supports, the devices that it is
 * written for, the layers that it is modelled for. */
#ifndef VS_PLAN_ENGINE_CHOICE_H
#define VS_PLAN_ENGINE_CHOICE_H

#include "plan/catalog.h"

/* Does this engine support all that is given in `values` for the task? If not, *axis is the first
 * it lacks. */
bool vs_engine_can(struct vs_catalog *catalog, const struct vs_values *values, const char *engine,
                   const char *task, enum vs_axis *axis, bool *can, struct vs_err *err);

/* Takes the first of the workload's engines, or of the task's, that can. */
bool vs_choose_engine(struct vs_catalog *catalog, const struct vs_workload *workload,
                      const struct vs_model *model, const struct vs_machine *machine,
                      struct vs_values *v, const char *task, struct vs_err *err);

/* Each says in one line what the engine lacks: a word of an axis; a device of that vendor, also for
 * the library behind the weight format; a kind of layers. */
bool vs_check_engine(struct vs_catalog *catalog, const struct vs_values *v,
                     const struct vs_engine *engine, const char *task, struct vs_err *err);
bool vs_check_vendor(const struct vs_machine *m, const struct vs_engine *engine,
                     const struct vs_value *weights, struct vs_err *err);
bool vs_check_model(const struct vs_model *m, const struct vs_engine *engine, const char *task,
                    struct vs_err *err);

#endif
