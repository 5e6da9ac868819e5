#include "cli/cli.h"

/* Both come from the build. The commit stands here only, so that output doesn't change with it. */
#ifndef VRAMSIM_VERSION
#define VRAMSIM_VERSION "unknown"
#endif
#ifndef VRAMSIM_COMMIT
#define VRAMSIM_COMMIT "unknown"
#endif

void vs_version(struct vs_text *out) {
    vs_text_add(out, "vramsim " VRAMSIM_VERSION " (commit " VRAMSIM_COMMIT ")\n");
}
