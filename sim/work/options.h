/* Words of a command line become a grid: "--hw rtx4090 --batch 1,2,4 --set
 * device.memory.bandwidth=900GB/s". Only axes and --set are known here; a command's own options
 * (--json, --top) are offered to `other` first. */
#ifndef VS_WORK_OPTIONS_H
#define VS_WORK_OPTIONS_H

#include "work/axis.h"

/* Called at each word where an option may stand, stray words included; returns how many words it
 * took (0 = not mine, -1 = error in err). */
typedef int (*vs_other_option)(void *ctx, const char *const *words, size_t count,
                               struct vs_err *err);

struct vs_option_rules {
    bool lists; /* comma lists make a grid (sweep, limit); otherwise a list is an error */
    vs_other_option other; /* may be NULL */
    void *other_ctx;
    const char *const *other_names; /* for "nearest" in messages; NULL-terminated, may be NULL */
};

/* Accepts "--name value", "--name=value", "-ngl value". Unknown options name the three nearest; an
 * option given twice, a missing value and a stray word are errors. Everything lives in the arena.
 */
bool vs_options_parse(struct vs_arena *arena, const char *const *words, size_t count,
                      const struct vs_option_rules *rules, struct vs_grid *grid,
                      struct vs_err *err);

/* A grid that must be one point. */
bool vs_grid_point(const struct vs_grid *grid, struct vs_values *values, struct vs_err *err);

#endif
