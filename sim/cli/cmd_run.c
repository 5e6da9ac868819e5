#include "cli/point.h"
#include "run/run.h"
#include "work/options.h"

static const struct vs_cli_option OPTIONS[] = {
    VS_CLI_POINT_FORMS,
    {"--plan-out", VS_CLI_TEXT, VS_CLI_AT(plan_out), "FILE",
     "also write the plan: where each tensor lives, the operations of each phase"},
    {"--fail-on-oom", VS_CLI_FLAG, VS_CLI_AT(fail_on_oom), NULL, "exit with 3 if it doesn't fit"},
    VS_CLI_QUIET,
    VS_CLI_THREADS_IGNORED,
};

static bool write_plan(struct vs_cli *cli, const struct vs_request *request, struct vs_err *err) {
    struct vs_text text = {0};
    bool done = vs_run_plan_json(request, &text, err) &&
                vs_cli_write(cli, cli->values.plan_out, &text, err);
    vs_text_release(&text);
    return done;
}

static bool run(struct vs_cli *cli, struct vs_err *err) {
    const struct vs_outcome *outcome = NULL;
    struct vs_request *request = VS_NEW(cli->arena, struct vs_request);
    const struct vs_run_options options = vs_cli_point_options(cli);
    if (!request)
        return vs_err_nomem(err);
    request->set_paths = cli->grid.set_paths;
    request->set_values = cli->grid.set_values;
    request->set_count = cli->grid.set_count;
    return vs_cli_one_format(cli, err) && vs_grid_point(&cli->grid, &request->user, err) &&
           vs_run(cli->arena, request, &options, &outcome, err) &&
           (!cli->values.plan_out || write_plan(cli, request, err)) &&
           vs_cli_point(cli, outcome, err);
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
