/* --plot and --html: pictures and a page of what a command found. */
#ifndef VS_CLI_PICTURES_H
#define VS_CLI_PICTURES_H

#include "cli/cli.h"
#include "report/result.h"

#define VS_CLI_PLOT                                                                                \
    {                                                                                              \
        "--plot", VS_CLI_TEXT, VS_CLI_AT(plot), "DIR",                                             \
            "also plot into a folder, or one picture: DIR/NAME.svg, .png, .pdf (needs gnuplot)"    \
    }

#define VS_CLI_HTML                                                                                \
    {                                                                                              \
        "--html", VS_CLI_TEXT, VS_CLI_AT(html), "FILE",                                            \
            "also write one page that explains itself: table, plots, sources; needs no network"    \
    }

/* The words of the command line as a shell takes them, with the program's name; in the arena. NULL
 * when memory runs out. */
const char *vs_cli_command(const struct vs_cli *cli);

/* Draws where --plot asks for it, and says so on standard error. Without gnuplot tables and scripts
 * are written all the same, and the command ends with the status of trouble. */
bool vs_cli_plot(struct vs_cli *cli, const struct vs_result *result, const char *where,
                 struct vs_err *err);
/* Writes the page of --html. */
bool vs_cli_page(struct vs_cli *cli, const struct vs_result *result, struct vs_err *err);

#endif
