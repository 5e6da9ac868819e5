/* Plots of a result, drawn by gnuplot.
 *
 * A plot is a script, reports/plots/NAME.gp in a data folder. It says in its head to which results
 * it belongs, which tables it reads and what must hold:
 *
 *     #: result  sweep
 *     #: tables  hardware
 *     #: needs   hardware >= 2
 *
 * This code knows no plot. It writes the tables of a result (list.def; tab-separated, a line of
 * names first), puts the result's values before each script whose tables exist and whose needs
 * hold, and has gnuplot draw it. Tables, scripts and what they load stay beside the pictures, so
 * that anyone can restyle them: `gnuplot NAME.gp` draws again. */
#ifndef VS_REPORT_PLOT_PLOT_H
#define VS_REPORT_PLOT_PLOT_H

#include "base/arena.h"
#include "base/err.h"
#include "report/result.h"

enum vs_plot_drawn {
    VS_PLOT_PICTURES,   /* all was drawn */
    VS_PLOT_NO_GNUPLOT, /* tables and scripts only */
};

struct vs_plot_report {
    enum vs_plot_drawn drawn;
    const char *folder;
    const char *const *names; /* of the plots, without extension */
    size_t count;
    const char *complaints; /* what gnuplot said besides; "" = nothing */
};

/* Draws into `where`: a folder, made where it is missing, or one picture: DIR/NAME.svg, .png or
 * .pdf. `top` = rows of bar charts, 0 = 20. Everything is made in a folder aside and moved when it
 * is whole: on failure nothing is left behind. The report lives in the arena. VS_ERR_INPUT where
 * the result has nothing to draw, or not that picture; VS_ERR_IO where files or gnuplot fail. */
bool vs_plot(struct vs_arena *arena, const struct vs_result *result, const char *where, size_t top,
             struct vs_plot_report *report, struct vs_err *err);

#endif
