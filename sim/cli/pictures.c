#include "cli/pictures.h"

#include <stdio.h>
#include <string.h>

#include "report/page.h"
#include "report/plot/plot.h"
#include "report/report.h"

const char *vs_cli_command(const struct vs_cli *cli) {
    struct vs_text text = {0};
    vs_text_add(&text, "vramsim ");
    vs_report_words(&text, cli->words, cli->word_count);
    const char *command = text.failed ? NULL : vs_arena_strdup(cli->arena, vs_text_str(&text));
    vs_text_release(&text);
    return command;
}

/* "vramsim: plotted DIR/front, DIR/strategies" */
static void say(const struct vs_plot_report *report) {
    for (size_t i = 0; i < report->count; i++)
        (void)fprintf(stderr, "%s%s/%s", i == 0 ? "vramsim: plotted " : ", ", report->folder,
                      report->names[i]);
    (void)fprintf(stderr, "\n");
    if (report->complaints[0] != '\0')
        (void)fprintf(stderr, "vramsim: gnuplot said: %.*s\n",
                      (int)strcspn(report->complaints, "\n"), report->complaints);
}

bool vs_cli_plot(struct vs_cli *cli, const struct vs_result *result, const char *where,
                 struct vs_err *err) {
    struct vs_plot_report report;
    struct vs_result told = *result;
    const size_t top = cli->values.top > 0 ? (size_t)cli->values.top : 0;
    if (!told.command)
        told.command = vs_cli_command(cli);
    if (!told.command)
        return vs_err_nomem(err);
    if (!vs_plot(cli->arena, &told, where, top, &report, err))
        return false;
    if (report.drawn == VS_PLOT_NO_GNUPLOT) {
        cli->incomplete = true;
        (void)fprintf(
            stderr,
            "vramsim: gnuplot is not in PATH: tables and scripts are in %s, without "
            "pictures; install it (apt install gnuplot-nox, brew install gnuplot), then: cd "
            "%s && gnuplot %s.gp\n",
            report.folder, report.folder, report.names[0]);
    } else if (!cli->values.quiet) {
        say(&report);
    }
    return true;
}

bool vs_cli_page(struct vs_cli *cli, const struct vs_result *result, struct vs_err *err) {
    struct vs_text text = {0};
    struct vs_result told = *result;
    told.command = vs_cli_command(cli);
    bool done = told.command ? vs_report_page(&text, &told, err) : vs_err_nomem(err);
    done = done && vs_cli_write(cli, cli->values.html, &text, err);
    vs_text_release(&text);
    return done;
}
