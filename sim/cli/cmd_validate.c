#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/csv.h"
#include "base/data.h"
#include "base/units.h"
#include "cli/pictures.h"
#include "cli/progress.h"
#include "report/report.h"
#include "run/validate.h"

static const struct vs_cli_option OPTIONS[] = {
    {"--cases", VS_CLI_MANY, VS_CLI_AT(cases), "PATH...",
     "case files, or folders of them (default: tests/measured)"},
    {"--where", VS_CLI_EACH, VS_CLI_AT(where), "FIELD=RE",
     "keep matching rows, FIELD!=RE the others; may be repeated; fields id, args, metric, trust, "
     "group, engine; POSIX extended: --where 'metric=^decode_tps$'"},
    VS_CLI_JSON,
    VS_CLI_CSV,
    VS_CLI_PLOT,
    {"--write-predicted", VS_CLI_TEXT, VS_CLI_AT(write_predicted), "FILE",
     "also write id,metric,predicted as CSV, 6 significant digits"},
    {"--write-accuracy", VS_CLI_TEXT, VS_CLI_AT(write_accuracy), "FILE",
     "also write the error table from which predictions take their intervals"},
    {"--top", VS_CLI_POSITIVE, VS_CLI_AT(top), "N", "worst cases to show (default 20)"},
    VS_CLI_QUIET,
    VS_CLI_THREADS,
    VS_CLI_SEED,
};

/* "FIELD=RE" or "FIELD!=RE"; what fields there are is for the reader of case files to say. */
static bool parse_where(struct vs_cli *cli, const char *text, struct vs_where *where,
                        struct vs_err *err) {
    size_t length = strcspn(text, "=!");
    where->negate = text[length] == '!';
    const char *equals = text + length + (where->negate ? 1 : 0);
    if (length == 0 || *equals != '=')
        return vs_err_set(err, VS_ERR_INPUT,
                          "--where: found '%.80s', expected FIELD=RE or FIELD!=RE", text);
    where->field = vs_arena_strndup(cli->arena, text, length);
    where->pattern = equals + 1;
    return where->field ? true : vs_err_nomem(err);
}

static bool parse_wheres(struct vs_cli *cli, struct vs_validate_options *options,
                         struct vs_err *err) {
    size_t count = cli->values.where.list.count;
    struct vs_where *wheres = VS_NEW_ARRAY(cli->arena, struct vs_where, count + 1);
    if (!wheres)
        return vs_err_nomem(err);
    for (size_t i = 0; i < count; i++) {
        if (!parse_where(cli, cli->values.where.list.at[i], &wheres[i], err))
            return false;
    }
    options->where = wheres;
    options->where_count = count;
    return true;
}

/* The measured cases of the source tree, unless the user names others. */
static bool find_cases(struct vs_cli *cli, struct vs_validate_options *options,
                       struct vs_err *err) {
    if (cli->values.cases.list.count == 0) {
        const char *folder = vs_data_path(cli->arena, "tests/measured");
        if (!folder)
            return vs_err_set(err, VS_ERR_INPUT,
                              "no measured cases found, expected --cases PATH...");
        if (!vs_vec_push(&cli->values.cases.list, folder))
            return vs_err_nomem(err);
    }
    options->paths = cli->values.cases.list.at;
    options->path_count = cli->values.cases.list.count;
    return true;
}

/* 6 digits: two compilers may differ in the last of 17. "oom": a speed was measured and our run
 * doesn't fit; empty: not simulated. */
static void predicted_csv(struct vs_text *out, const struct vs_validation *validation) {
    vs_text_add(out, "id,metric,predicted\n");
    for (size_t i = 0; i < validation->row_count; i++) {
        const struct vs_case_row *row = &validation->rows[i];
        char predicted[VS_UNIT_TEXT] = "";
        if (!isnan(row->predicted))
            (void)snprintf(predicted, sizeof predicted, "%.6g", row->predicted);
        vs_csv_put(out, row->id, false);
        vs_csv_put(out, row->metric, false);
        vs_csv_put(out, isnan(row->predicted) && !row->failure ? "oom" : predicted, true);
    }
}

/* One output file, made by one of the writers above or of report/. */
static bool write_file(struct vs_cli *cli, const char *path,
                       void (*make)(struct vs_text *, const struct vs_validation *),
                       const struct vs_validation *validation, struct vs_err *err) {
    struct vs_text text = {0};
    if (!path)
        return true;
    make(&text, validation);
    bool done = vs_cli_write(cli, path, &text, err);
    vs_text_release(&text);
    return done;
}

static bool run(struct vs_cli *cli, struct vs_err *err) {
    const struct vs_cli_values *values = &cli->values;
    const struct vs_validation *validation = NULL;
    struct vs_progress progress;
    struct vs_validate_options options = {
        .threads = vs_cli_threads(cli), .progress = vs_progress_step, .progress_ctx = &progress};
    if (!find_cases(cli, &options, err) || !parse_wheres(cli, &options, err))
        return false;
    vs_progress_begin(&progress, "cases", values->quiet);
    bool done = vs_validate_run(cli->arena, &options, &validation, err);
    vs_progress_end(&progress);
    if (!done || !write_file(cli, values->csv, vs_report_validate_csv, validation, err) ||
        !write_file(cli, values->write_predicted, predicted_csv, validation, err) ||
        !write_file(cli, values->write_accuracy, vs_report_accuracy, validation, err) ||
        (values->plot &&
         !vs_cli_plot(cli, &(struct vs_result){.validation = validation}, values->plot, err)))
        return false;
    const struct vs_report_style style = {
        .color = vs_cli_color(), .columns = vs_cli_columns(), .top = (size_t)values->top};
    if (values->json)
        vs_report_validate_json(&cli->out, validation);
    else
        vs_report_validate_table(&cli->out, validation, &style);
    return true;
}

const struct vs_command vs_command_validate = {
    .name = "validate",
    .about = "Predict every case of case files and compare with what was measured.",
    .usage = "[--cases PATH...] [--where FIELD=RE]... [OPTION...]",
    .more =
        "Case files are CSV with the header\n"
        "id,args,metric,value,unit,tolerance,trust,group,source,notes; args is what would stand "
        "after\n`vramsim run`. In a folder, files with another header are named and left out.\n",
    .axes = VS_CLI_NO_AXES,
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof OPTIONS[0],
    .run = run,
};
