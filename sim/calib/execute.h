/* Carries out the plan of a point for real: vramsim-execute and vramsim-execute-cuda, programs of
 * their own beside this one or in PATH. */
#ifndef VS_CALIB_EXECUTE_H
#define VS_CALIB_EXECUTE_H

#include "import/executed.h"
#include "run/run.h"

/* `on` is "cpu", for plans without a device, or "cuda:N", for plans of one. `spans`: also what ran
 * when. A program that is missing, finds no device, fails or is interrupted is VS_ERR_IO. Where
 * memory ran out the result says so. */
bool vs_execute(struct vs_arena *arena, const struct vs_request *request, const char *on,
                bool spans, const struct vs_executed **executed, struct vs_err *err);

#endif
