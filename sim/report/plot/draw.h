/* Files of plots and gnuplot: a folder aside, what is put into it, what is drawn, what stays. */
#ifndef VS_REPORT_PLOT_DRAW_H
#define VS_REPORT_PLOT_DRAW_H

#include "base/arena.h"
#include "base/err.h"
#include "base/text.h"
#include "base/vec.h"

struct vs_easel {
    struct vs_arena *arena;
    const char *target; /* where all ends up */
    char *folder;       /* aside, within it */
    bool existed;       /* the target did before */
    VS_VEC(const char *) files;
    struct vs_text complaints;
};

/* Makes the target where it is missing and a folder aside in it. */
bool vs_easel_open(struct vs_easel *easel, struct vs_arena *arena, const char *target,
                   struct vs_err *err);
/* Writes a file that is to stay. */
bool vs_easel_put(struct vs_easel *easel, const char *name, const char *text, size_t length,
                  struct vs_err *err);
/* Has gnuplot run a script that was put there; pictures NAME.FORM (forms parted by blanks) are to
 * stay, each of which must have come about. What gnuplot says is added to the complaints. */
bool vs_easel_draw(struct vs_easel *easel, const char *name, const char *forms, struct vs_err *err);
/* Moves what is to stay into the target. */
bool vs_easel_keep(struct vs_easel *easel, struct vs_err *err);
/* Takes away what is left aside, and a target that is empty and was not there before. */
void vs_easel_close(struct vs_easel *easel);

/* Whether the search path has gnuplot. */
bool vs_gnuplot_found(struct vs_arena *arena);

#endif
