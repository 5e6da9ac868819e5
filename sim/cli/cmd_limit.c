#include <string.h>

#include "cli/pictures.h"
#include "cli/progress.h"
#include "report/report.h"
#include "run/run.h"
#include "work/workload.h"

enum { AXES_MOST = 5 };

static const struct vs_cli_option OPTIONS[] = {
    {"--axis", VS_CLI_TEXT, VS_CLI_AT(axis), "AXIS",
     "what to search: ctx, batch, seq, micro-batch, gpu-layers; a comma list searches each "
     "(default: "
     "ctx at batch 1, and batch; training: seq, and micro-batch)"},
    VS_CLI_JSON,
    VS_CLI_CSV,
    VS_CLI_PLOT,
    {"--fail-on-oom", VS_CLI_FLAG, VS_CLI_AT(fail_on_oom), NULL, "exit with 3 if nothing fits"},
    VS_CLI_QUIET,
    VS_CLI_THREADS_IGNORED,
};

static const enum vs_axis SEARCHABLE[AXES_MOST] = {
    VS_AXIS_CTX, VS_AXIS_BATCH, VS_AXIS_SEQ, VS_AXIS_MICRO_BATCH, VS_AXIS_GPU_LAYERS,
};

struct search {
    enum vs_axis axes[AXES_MOST];
    size_t count;
    bool chosen; /* by the user, not by default */
};

static bool add_axis(struct search *search, const char *name, struct vs_err *err) {
    enum vs_axis axis;
    bool known = vs_axis_find(name, &axis), searchable = false;
    for (size_t i = 0; known && i < AXES_MOST; i++)
        searchable = searchable || SEARCHABLE[i] == axis;
    if (!searchable)
        return vs_err_set(err, VS_ERR_INPUT,
                          "--axis: found '%.80s', expected one of ctx, batch, seq, micro-batch, "
                          "gpu-layers",
                          name);
    for (size_t i = 0; i < search->count; i++) {
        if (search->axes[i] == axis)
            return vs_err_set(err, VS_ERR_INPUT, "--axis: '%s' stands twice in the list", name);
    }
    search->axes[search->count++] = axis;
    return true;
}

static bool chosen_axes(struct vs_cli *cli, struct search *search, struct vs_err *err) {
    size_t count = 0;
    char **names = vs_split(cli->arena, cli->values.axis, ',', &count);
    if (!names)
        return vs_err_nomem(err);
    for (size_t i = 0; i < count; i++) {
        if (!add_axis(search, names[i], err))
            return false;
        if (cli->grid.lists[search->axes[i]].count > 0)
            return vs_err_set(err, VS_ERR_INPUT,
                              "--%s is given, but --axis %s searches it: leave one out",
                              vs_axis_info(search->axes[i])->name, names[i]);
    }
    search->chosen = true;
    return true;
}

/* The task that the words ask for; "" where nothing says so, which the run will report. */
static bool find_task(struct vs_cli *cli, const char **task, struct vs_err *err) {
    const struct vs_value_list *tasks = &cli->grid.lists[VS_AXIS_TASK];
    const struct vs_value_list *workloads = &cli->grid.lists[VS_AXIS_WORKLOAD];
    struct vs_workload workload;
    *task = tasks->count > 0 ? tasks->at[0].text : "";
    if (tasks->count > 0 || workloads->count == 0)
        return true;
    if (!vs_workload_load(cli->arena, workloads->at[0].text, &workload, err))
        return false;
    *task = workload.task;
    return true;
}

static bool default_axes(struct vs_cli *cli, struct search *search, struct vs_err *err) {
    static const enum vs_axis GENERATE[] = {VS_AXIS_CTX, VS_AXIS_BATCH};
    static const enum vs_axis TRAIN[] = {VS_AXIS_SEQ, VS_AXIS_MICRO_BATCH};
    const char *task = "";
    if (!find_task(cli, &task, err))
        return false;
    const enum vs_axis *axes = vs_streq(task, "train") ? TRAIN : GENERATE;
    for (size_t i = 0; i < 2; i++) {
        if (cli->grid.lists[axes[i]].count == 0)
            search->axes[search->count++] = axes[i];
    }
    if (search->count == 0)
        return vs_err_set(err, VS_ERR_INPUT,
                          "--%s and --%s are both given: leave out the one to be searched",
                          vs_axis_info(axes[0])->name, vs_axis_info(axes[1])->name);
    return true;
}

/* The default search for the context is at batch 1, whatever the workload says. */
static bool limit_one(struct vs_cli *cli, const struct vs_request *request,
                      const struct search *search, enum vs_axis axis, const struct vs_limit **limit,
                      struct vs_err *err) {
    struct vs_request *asked = VS_NEW(cli->arena, struct vs_request);
    if (!asked)
        return vs_err_nomem(err);
    *asked = *request;
    if (!search->chosen && axis == VS_AXIS_CTX && !vs_given(&asked->user, VS_AXIS_BATCH)) {
        if (!vs_axis_parse(cli->arena, VS_AXIS_BATCH, "1", "--batch",
                           &asked->user.at[VS_AXIS_BATCH], err))
            return false;
        asked->user.origin[VS_AXIS_BATCH] = VS_FROM_USER;
    }
    return vs_limit_run(cli->arena, asked, axis, limit, err);
}

/* All limits, request by request. */
static bool limit_all(struct vs_cli *cli, const struct search *search,
                      const struct vs_request *requests, size_t request_count,
                      const struct vs_limit **limits, struct vs_progress *progress,
                      struct vs_err *err) {
    for (size_t i = 0; i < request_count; i++) {
        for (size_t k = 0; k < search->count; k++) {
            vs_progress_step(progress, i * search->count + k, request_count * search->count);
            const struct vs_limit **limit = &limits[i * search->count + k];
            if (!limit_one(cli, &requests[i], search, search->axes[k], limit, err))
                return false;
            cli->oom = cli->oom || (*limit)->value == 0;
        }
    }
    return true;
}

/* One document for one request, an array of documents for a grid. */
static void print_json(struct vs_text *out, const struct vs_limit *const *limits,
                       size_t request_count, size_t axis_count) {
    if (request_count > 1)
        vs_text_add(out, "[\n");
    for (size_t i = 0; i < request_count; i++) {
        vs_report_limit_json(out, limits + i * axis_count, axis_count);
        if (request_count > 1)
            vs_text_add(out, i + 1 < request_count ? ",\n" : "]\n");
    }
}

static void print(struct vs_cli *cli, const struct vs_limit *const *limits, size_t request_count,
                  size_t axis_count) {
    const struct vs_report_style style = {.color = vs_cli_color(), .columns = vs_cli_columns()};
    if (cli->values.json) {
        print_json(&cli->out, limits, request_count, axis_count);
        return;
    }
    for (size_t i = 0; i < request_count; i++) {
        if (i > 0)
            vs_text_add(&cli->out, "\n");
        vs_report_limit_table(&cli->out, limits + i * axis_count, axis_count, &style);
    }
}

static bool write_csv(struct vs_cli *cli, const struct vs_limit *const *limits, size_t count,
                      struct vs_err *err) {
    struct vs_text text = {0};
    vs_report_limit_csv(&text, limits, count);
    bool done = vs_cli_write(cli, cli->values.csv, &text, err);
    vs_text_release(&text);
    return done;
}

static bool run(struct vs_cli *cli, struct vs_err *err) {
    struct search search = {.count = 0};
    const struct vs_request *requests = NULL;
    size_t request_count = 0;
    bool ready =
        cli->values.axis ? chosen_axes(cli, &search, err) : default_axes(cli, &search, err);
    if (!ready || !vs_grid_expand(cli->arena, &cli->grid, &requests, &request_count, err))
        return false;
    size_t count = request_count * search.count;
    const struct vs_limit **limits = VS_NEW_ARRAY(cli->arena, const struct vs_limit *, count + 1);
    if (!limits)
        return vs_err_nomem(err);
    struct vs_progress progress;
    vs_progress_begin(&progress, "searches", cli->values.quiet);
    const bool done = limit_all(cli, &search, requests, request_count, limits, &progress, err);
    vs_progress_end(&progress);
    if (!done || (cli->values.csv && !write_csv(cli, limits, count, err)))
        return false;
    const struct vs_result result = {.limits = limits, .limit_count = count};
    if (cli->values.plot && !vs_cli_plot(cli, &result, cli->values.plot, err))
        return false;
    print(cli, limits, request_count, search.count);
    return true;
}

const struct vs_command vs_command_limit = {
    .name = "limit",
    .about =
        "Find where it stops fitting: the largest context, batch, sequence or number of layers, by "
        "search on the simulator.",
    .usage = "--hw NAME (--workload NAME | --model NAME --engine NAME --task TASK) "
             "[OPTION...]",
    .more = "",
    .axes = VS_CLI_GRID,
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof OPTIONS[0],
    .run = run,
};
