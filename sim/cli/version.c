#include "cli/cli.h"
#include "vramsim.h"

/* From the build. It stands here only, so that output doesn't change with the commit. */
#ifndef VRAMSIM_COMMIT
#define VRAMSIM_COMMIT "unknown"
#endif

void vs_version(struct vs_text *out) {
    vs_text_printf(out, "vramsim %s (commit %s)\n", vramsim_version(), VRAMSIM_COMMIT);
}
