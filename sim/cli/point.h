/* What `run` and `replay` have found at one point: the files that were asked for, and the answer.
 */
#ifndef VS_CLI_POINT_H
#define VS_CLI_POINT_H

#include "cli/pictures.h"

#define VS_CLI_POINT_FORMS                                                                         \
    VS_CLI_JSON,                                                                                   \
        {"--markdown", VS_CLI_FLAG, VS_CLI_AT(markdown), NULL,                                     \
         "print Markdown instead of a "                                                            \
         "table"},                                                                                 \
        VS_CLI_CSV,                                                                                \
        {"--timeline", VS_CLI_TEXT, VS_CLI_AT(timeline), "FILE",                                   \
         "also write what ran when, as Chrome trace-event JSON (opens in Perfetto)"},              \
        VS_CLI_PLOT, VS_CLI_HTML

/* How to run for what was asked: pictures need to know what ran when. */
struct vs_run_options vs_cli_point_options(const struct vs_cli *cli);

/* Writes a file of an outcome, where `path` is not NULL. */
bool vs_cli_point_file(struct vs_cli *cli, const char *path,
                       void (*make)(struct vs_text *, const struct vs_outcome *),
                       const struct vs_outcome *outcome, struct vs_err *err);

/* Writes the files of VS_CLI_POINT_FORMS, and prints. */
bool vs_cli_point(struct vs_cli *cli, const struct vs_outcome *outcome, struct vs_err *err);

#endif
