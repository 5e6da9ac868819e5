/* What was executed, as JSON: kernels/README.md says what its members mean. */
#ifndef VRAMSIM_EXEC_RESULT_H
#define VRAMSIM_EXEC_RESULT_H

#include "execute.h"
#include "plan.h"

/* To be freed; NULL when memory runs out. */
char *result_text(const struct plan *plan, const struct executed *executed, const char *program,
                  const char *device);

#endif
