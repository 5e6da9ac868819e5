#include "cli/pictures.h"
#include "cli/progress.h"
#include "report/report.h"
#include "run/run.h"

enum { TOP_DEFAULT = 20, NEAREST_SIZE = 200 };

static const struct vs_cli_option OPTIONS[] = {
    VS_CLI_JSON,
    {"--markdown", VS_CLI_FLAG, VS_CLI_AT(markdown), NULL, "print Markdown instead of a table"},
    VS_CLI_CSV,
    VS_CLI_PLOT,
    VS_CLI_HTML,
    {"--top", VS_CLI_POSITIVE, VS_CLI_AT(top), "N",
     "rows of the table and bars of the plot; how many points get their OOM point (default 20)"},
    {"--sort", VS_CLI_TEXT, VS_CLI_AT(sort), "METRIC",
     "rank by this metric instead of the task's speed (vramsim list metrics)"},
    {"--fail-on-oom", VS_CLI_FLAG, VS_CLI_AT(fail_on_oom), NULL, "exit with 3 if no point fits"},
    VS_CLI_QUIET,
    VS_CLI_THREADS,
};

static bool check_sort(const char *sort, struct vs_err *err) {
    enum vs_metric metric;
    const char *names[VS_METRIC_COUNT];
    char nearest[NEAREST_SIZE];
    if (!sort || vs_metric_find(sort, &metric))
        return true;
    for (int i = 0; i < VS_METRIC_COUNT; i++)
        names[i] = vs_metric_info((enum vs_metric)i)->name;
    vs_nearest(sort, names, VS_METRIC_COUNT, nearest, sizeof nearest);
    return vs_err_set(err, VS_ERR_INPUT, "--sort: unknown metric '%.80s'; nearest: %s", sort,
                      nearest);
}

static bool write_csv(struct vs_cli *cli, const struct vs_sweep *sweep, struct vs_err *err) {
    struct vs_text text = {0};
    vs_report_sweep_csv(&text, sweep);
    bool done = vs_cli_write(cli, cli->values.csv, &text, err);
    vs_text_release(&text);
    return done;
}

static void print(struct vs_cli *cli, const struct vs_sweep *sweep, size_t top) {
    const struct vs_report_style style = {
        .color = vs_cli_color(), .columns = vs_cli_columns(), .top = top};
    if (cli->values.json)
        vs_report_sweep_json(&cli->out, sweep);
    else if (cli->values.markdown)
        vs_report_sweep_markdown(&cli->out, sweep);
    else
        vs_report_sweep_table(&cli->out, sweep, &style);
}

static bool run(struct vs_cli *cli, struct vs_err *err) {
    const struct vs_cli_values *values = &cli->values;
    const struct vs_sweep *sweep = NULL;
    struct vs_progress progress;
    size_t top = values->top > 0 ? (size_t)values->top : TOP_DEFAULT;
    struct vs_sweep_options options = {.threads = vs_cli_threads(cli),
                                       .oom_points = top,
                                       .sort = values->sort,
                                       .profile = values->html != NULL,
                                       .progress = vs_progress_step,
                                       .progress_ctx = &progress};
    if (!vs_cli_one_format(cli, err) || !check_sort(values->sort, err))
        return false;
    vs_progress_begin(&progress, "points", values->quiet);
    bool done = vs_sweep_run(cli->arena, &cli->grid, &options, &sweep, err);
    vs_progress_end(&progress);
    if (!done || (values->csv && !write_csv(cli, sweep, err)) ||
        (values->html && !vs_cli_page(cli, &(struct vs_result){.sweep = sweep}, err)) ||
        (values->plot && !vs_cli_plot(cli, &(struct vs_result){.sweep = sweep}, values->plot, err)))
        return false;
    print(cli, sweep, top);
    cli->oom = sweep->fit_count == 0;
    return true;
}

const struct vs_command vs_command_sweep = {
    .name = "sweep",
    .about =
        "Run every strategy that makes sense for the workload, or the grid that comma lists span, "
        "and rank them.",
    .usage = "--hw NAME (--workload NAME | --model NAME --engine NAME --task TASK) [OPTION...]",
    .more =
        "An option with one value pins that axis, a list spans it; the others vary as far as the\n"
        "engine supports it. Model, task, method, shape and machine are fixed.\n",
    .axes = VS_CLI_GRID,
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof OPTIONS[0],
    .run = run,
};
