#include "cli/pictures.h"
#include "report/report.h"
#include "run/run.h"
#include "work/options.h"

static const struct vs_cli_option OPTIONS[] = {
    VS_CLI_JSON,
    {"--markdown", VS_CLI_FLAG, VS_CLI_AT(markdown), NULL, "print Markdown instead of a table"},
    VS_CLI_CSV,
    {"--timeline", VS_CLI_TEXT, VS_CLI_AT(timeline), "FILE",
     "also write what ran when, as Chrome trace-event JSON (opens in Perfetto)"},
    VS_CLI_PLOT,
    VS_CLI_HTML,
    {"--plan-out", VS_CLI_TEXT, VS_CLI_AT(plan_out), "FILE",
     "also write the plan: where each tensor lives, the operations of each phase"},
    {"--fail-on-oom", VS_CLI_FLAG, VS_CLI_AT(fail_on_oom), NULL, "exit with 3 if it doesn't fit"},
    VS_CLI_QUIET,
    VS_CLI_THREADS,
    VS_CLI_SEED,
};

static bool write_csv(struct vs_cli *cli, const struct vs_outcome *outcome, struct vs_err *err) {
    struct vs_text text = {0};
    vs_report_run_csv(&text, outcome);
    bool done = vs_cli_write(cli, cli->values.csv, &text, err);
    vs_text_release(&text);
    return done;
}

static bool write_timeline(struct vs_cli *cli, const struct vs_outcome *outcome,
                           struct vs_err *err) {
    struct vs_text text = {0};
    vs_report_timeline(&text, outcome);
    bool done = vs_cli_write(cli, cli->values.timeline, &text, err);
    vs_text_release(&text);
    return done;
}

static bool write_plan(struct vs_cli *cli, const struct vs_request *request, struct vs_err *err) {
    struct vs_text text = {0};
    bool done = vs_run_plan_json(request, &text, err) &&
                vs_cli_write(cli, cli->values.plan_out, &text, err);
    vs_text_release(&text);
    return done;
}

static bool run(struct vs_cli *cli, struct vs_err *err) {
    const struct vs_cli_values *values = &cli->values;
    const struct vs_outcome *outcome = NULL;
    struct vs_request *request = VS_NEW(cli->arena, struct vs_request);
    const struct vs_run_options options = {.timeline = values->timeline || values->plot,
                                           .remedies = true,
                                           .intervals = true,
                                           .profile = values->html != NULL};
    if (!request)
        return vs_err_nomem(err);
    request->set_paths = cli->grid.set_paths;
    request->set_values = cli->grid.set_values;
    request->set_count = cli->grid.set_count;
    if (!vs_cli_one_format(cli, err) || !vs_grid_point(&cli->grid, &request->user, err) ||
        !vs_run(cli->arena, request, &options, &outcome, err) ||
        (values->csv && !write_csv(cli, outcome, err)) ||
        (values->timeline && !write_timeline(cli, outcome, err)) ||
        (values->html && !vs_cli_page(cli, &(struct vs_result){.run = outcome}, err)) ||
        (values->plot &&
         !vs_cli_plot(cli, &(struct vs_result){.run = outcome}, values->plot, err)) ||
        (values->plan_out && !write_plan(cli, request, err)))
        return false;
    const struct vs_report_style style = {.color = vs_cli_color(), .columns = vs_cli_columns()};
    if (values->json)
        vs_report_run_json(&cli->out, outcome);
    else if (values->markdown)
        vs_report_run_markdown(&cli->out, outcome);
    else
        vs_report_run_table(&cli->out, outcome, &style);
    cli->oom = !outcome->fits;
    return true;
}

const struct vs_command vs_command_run = {
    .name = "run",
    .about =
        "Simulate one point: speed, memory by what holds it, where it runs out, what bounds it.",
    .usage = "--hw NAME (--workload NAME | --model NAME --engine NAME --task TASK) [OPTION...]",
    .more = "",
    .axes = VS_CLI_ONE_POINT,
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof OPTIONS[0],
    .run = run,
};
