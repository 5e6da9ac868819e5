/* The numbers of a machine as an outcome lists them, each with its method and source. */
#ifndef VS_RUN_PROFILE_H
#define VS_RUN_PROFILE_H

#include "hw/machine.h"
#include "run/outcome.h"

/* Fills outcome->profile: devices (equal ones once), host, link, storage. Texts live in the arena.
 */
bool vs_profile_list(struct vs_arena *arena, const struct vs_machine *machine,
                     struct vs_outcome *outcome, struct vs_err *err);

#endif
