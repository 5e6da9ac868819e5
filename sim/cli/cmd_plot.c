#include "cli/pictures.h"
#include "cli/progress.h"
#include "report/saved.h"

static const struct vs_cli_option OPTIONS[] = {
    {NULL, VS_CLI_EACH, VS_CLI_AT(names), "FILE",
     "results of sweep, run, limit or validate, JSON or CSV, or the CSV lists of a replay; without "
     "one, a sweep is run"},
    {"--out", VS_CLI_TEXT, VS_CLI_AT(plot), "DIR",
     "folder for the pictures, or one of them: DIR/NAME.svg, .png, .pdf (default: plots)"},
    {"--top", VS_CLI_POSITIVE, VS_CLI_AT(top), "N", "rows of bar charts (default 20)"},
    VS_CLI_QUIET,
    VS_CLI_THREADS,
};

/* The lists of a replay come in two files. */
static void join(struct vs_replayed *all, const struct vs_replayed *part) {
    if (part->request_count > 0) {
        all->requests = part->requests;
        all->request_count = part->request_count;
    }
    if (part->moment_count > 0) {
        all->moments = part->moments;
        all->moment_count = part->moment_count;
    }
}

static bool plot_saved(struct vs_cli *cli, const char *out, struct vs_err *err) {
    struct vs_replayed all = {.request_count = 0};
    bool replay = false;
    for (size_t i = 0; i < cli->values.names.list.count; i++) {
        struct vs_result result;
        if (!vs_saved_load(cli->arena, cli->values.names.list.at[i], &result, err))
            return false;
        if (result.replay) {
            join(&all, result.replay);
            replay = true;
        } else if (!vs_cli_plot(cli, &result, out, err)) {
            return false;
        }
    }
    return !replay || vs_cli_plot(cli, &(struct vs_result){.replay = &all}, out, err);
}

static bool plot_sweep(struct vs_cli *cli, const char *out, struct vs_err *err) {
    const struct vs_sweep *sweep = NULL;
    struct vs_progress progress;
    const struct vs_sweep_options options = {
        .threads = vs_cli_threads(cli), .progress = vs_progress_step, .progress_ctx = &progress};
    vs_progress_begin(&progress, "points", cli->values.quiet);
    const bool done = vs_sweep_run(cli->arena, &cli->grid, &options, &sweep, err);
    vs_progress_end(&progress);
    return done && vs_cli_plot(cli, &(struct vs_result){.sweep = sweep}, out, err);
}

static bool run(struct vs_cli *cli, struct vs_err *err) {
    const char *out = cli->values.plot ? cli->values.plot : "plots";
    return cli->values.names.list.count > 0 ? plot_saved(cli, out, err) : plot_sweep(cli, out, err);
}

const struct vs_command vs_command_plot = {
    .name = "plot",
    .about = "Plot saved results, or a sweep: all plots that the result has the values for.",
    .usage = "(FILE... | --hw NAME --workload NAME) [--out DIR] [OPTION...]",
    .more =
        "Tables and scripts stay beside the pictures: edit a script or style.gpi and run gnuplot\n"
        "on it to draw again. What holds memory over time and what streams do is not saved: see\n"
        "`vramsim run --plot DIR`.\n",
    .axes = VS_CLI_GRID,
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof OPTIONS[0],
    .run = run,
};
