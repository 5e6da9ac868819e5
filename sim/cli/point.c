#include "cli/point.h"

#include "report/report.h"

struct vs_run_options vs_cli_point_options(const struct vs_cli *cli) {
    const struct vs_cli_values *v = &cli->values;
    return (struct vs_run_options){.timeline = v->timeline || v->plot || v->html,
                                   .remedies = true,
                                   .intervals = true,
                                   .profile = v->html != NULL};
}

bool vs_cli_point_file(struct vs_cli *cli, const char *path,
                       void (*make)(struct vs_text *, const struct vs_outcome *),
                       const struct vs_outcome *outcome, struct vs_err *err) {
    struct vs_text text = {0};
    if (!path)
        return true;
    make(&text, outcome);
    bool done = vs_cli_write(cli, path, &text, err);
    vs_text_release(&text);
    return done;
}

bool vs_cli_point(struct vs_cli *cli, const struct vs_outcome *outcome, struct vs_err *err) {
    const struct vs_cli_values *v = &cli->values;
    const struct vs_result result = vs_result_of_run(outcome);
    const struct vs_report_style style = {.color = vs_cli_color(), .columns = vs_cli_columns()};
    if (!vs_cli_point_file(cli, v->csv, vs_report_run_csv, outcome, err) ||
        !vs_cli_point_file(cli, v->timeline, vs_report_timeline, outcome, err) ||
        (v->html && !vs_cli_page(cli, &result, err)) ||
        (v->plot && !vs_cli_plot(cli, &result, v->plot, err)))
        return false;
    if (v->json)
        vs_report_run_json(&cli->out, outcome);
    else if (v->markdown)
        vs_report_run_markdown(&cli->out, outcome);
    else
        vs_report_run_table(&cli->out, outcome, &style);
    cli->oom = !outcome->fits;
    return true;
}
