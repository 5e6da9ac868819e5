#include "base/text.h"
#include "calib/execute.h"
#include "cli/point.h"
#include "run/run.h"
#include "work/options.h"

static const struct vs_cli_option OPTIONS[] = {
    VS_CLI_POINT_FORMS,
    {"--plan-out", VS_CLI_TEXT, VS_CLI_AT(plan_out), "FILE",
     "also write the plan: where each tensor lives, the operations of each phase"},
    {"--on", VS_CLI_TEXT, VS_CLI_AT(on), "DEVICE",
     "also carry the plan out, on cuda:N or cpu, and compare"},
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

/* Carries the plan out; *outcome is a copy that knows what came of it. */
static bool carry_out(struct vs_cli *cli, const struct vs_request *request,
                      const struct vs_outcome **outcome, struct vs_err *err) {
    const char *on = cli->values.on;
    const bool host = (*outcome)->device_count == 0;
    struct vs_outcome *both = VS_NEW(cli->arena, struct vs_outcome);
    if (!both)
        return vs_err_nomem(err);
    *both = **outcome;
    if (vs_streq(on, "cpu") != host)
        return vs_err_set(err, VS_ERR_INPUT, "--on %.40s: the plan is for %s: expected --on %s", on,
                          host ? "a processor" : (*outcome)->hw, host ? "cpu" : "cuda:N");
    *outcome = both;
    return vs_execute(cli->arena, request, on, cli->values.timeline != NULL, &both->executed, err);
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
           (!cli->values.on || carry_out(cli, request, &outcome, err)) &&
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
