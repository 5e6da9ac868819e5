#include <string.h>

#include "base/data.h"
#include "cli/cli.h"
#include "cli/list_hw.h"
#include "cli/listing.h"
#include "engine/engine.h"
#include "import/reader.h"
#include "model/model.h"
#include "run/outcome.h"
#include "work/workload.h"

enum { NEAREST_SIZE = 200 };
#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

static const struct vs_cli_option OPTIONS[] = {
    {NULL, VS_CLI_EACH, VS_CLI_AT(names), "KIND", "what to list; without it, the kinds"},
    {"--vendor", VS_CLI_TEXT, VS_CLI_AT(vendor), "NAME", "hw: of this vendor only"},
    {"--min-memory", VS_CLI_BYTES, VS_CLI_AT(min_memory_bytes), "SIZE",
     "hw: with at least so much memory by its label"},
    {"--names", VS_CLI_FLAG, VS_CLI_AT(names_only), NULL, "print names only, one a line"},
    VS_CLI_JSON,
    VS_CLI_QUIET,
};

/* Joins strings with ", ". */
static const char *join(struct vs_arena *arena, const char *const *words, size_t count) {
    const char *joined = "";
    for (size_t i = 0; i < count && joined; i++)
        joined = vs_arena_printf(arena, "%s%s%s", joined, i > 0 ? ", " : "", words[i]);
    return joined;
}

/* One row per data file */

typedef bool (*add_row)(struct vs_cli *cli, const char *name, struct vs_listing *listing,
                        struct vs_err *err);

static bool each_file(struct vs_cli *cli, const char *folder, add_row add,
                      struct vs_listing *listing, struct vs_err *err) {
    const char *const *names = NULL;
    size_t count = 0;
    if (!vs_data_list(cli->arena, folder, &names, &count, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!add(cli, names[i], listing, err))
            return false;
    }
    return true;
}

static const struct vs_listing_column MODEL_COLUMNS[] = {
    {"name", "name", false, false},      {"parameters", "params_total", true, false},
    {"layers", "layers", true, false},   {"hidden", "hidden", true, false},
    {"heads", "heads", true, false},     {"KV heads", "kv_heads", true, false},
    {"context", "max_ctx", true, false}, {"Hugging Face id", "hf_id", false, true},
};

static bool add_model(struct vs_cli *cli, const char *name, struct vs_listing *listing,
                      struct vs_err *err) {
    const struct vs_model *model = NULL;
    if (!vs_model_load(cli->arena, name, &model, err))
        return false;
    double billions = (double)model->params_total / 1e9;
    const struct vs_cell cells[COUNT_OF(MODEL_COLUMNS)] = {
        vs_cell_text(model->name),
        vs_cell_number(cli->arena, (double)model->params_total,
                       vs_arena_printf(cli->arena, "%.3f B", billions)),
        vs_cell_number(cli->arena, model->layers, NULL),
        vs_cell_number(cli->arena, model->hidden, NULL),
        vs_cell_number(cli->arena, model->heads, NULL),
        vs_cell_number(cli->arena, model->kv_heads, NULL),
        vs_cell_number(cli->arena, model->max_ctx, NULL),
        vs_cell_text(model->hf_id),
    };
    vs_listing_add(listing, cells);
    return true;
}

static bool list_models(struct vs_cli *cli, struct vs_listing *listing, struct vs_err *err) {
    return each_file(cli, "workloads/models", add_model, listing, err);
}

static const struct vs_listing_column WORKLOAD_COLUMNS[] = {
    {"name", "name", false, false},   {"task", "task", false, false},
    {"model", "model", false, false}, {"engines", "engines", false, false},
    {"about", "about", false, true},
};

static bool add_workload(struct vs_cli *cli, const char *name, struct vs_listing *listing,
                         struct vs_err *err) {
    struct vs_workload workload;
    if (!vs_workload_load(cli->arena, name, &workload, err))
        return false;
    const struct vs_cell cells[COUNT_OF(WORKLOAD_COLUMNS)] = {
        vs_cell_text(workload.name),
        vs_cell_text(workload.task),
        vs_cell_text(workload.values.at[VS_AXIS_MODEL].text),
        vs_cell_text(join(cli->arena, workload.engines, workload.engine_count)),
        vs_cell_text(workload.about),
    };
    vs_listing_add(listing, cells);
    return true;
}

static bool list_workloads(struct vs_cli *cli, struct vs_listing *listing, struct vs_err *err) {
    return each_file(cli, "workloads", add_workload, listing, err);
}

static const struct vs_listing_column ENGINE_COLUMNS[] = {
    {"name", "name", false, false},
    {"tasks", "tasks", false, false},
    {"newest rules", "release", false, false},
    {"title", "title", false, true},
};

static bool add_engine(struct vs_cli *cli, const char *name, struct vs_listing *listing,
                       struct vs_err *err) {
    const struct vs_engine *engine = NULL;
    if (!vs_engine_load(cli->arena, name, NULL, NULL, &engine, err))
        return false;
    const struct vs_cell cells[COUNT_OF(ENGINE_COLUMNS)] = {
        vs_cell_text(engine->name),
        vs_cell_text(join(cli->arena, engine->tasks, engine->task_count)),
        vs_cell_text(engine->release),
        vs_cell_text(engine->title),
    };
    vs_listing_add(listing, cells);
    return true;
}

static bool list_engines(struct vs_cli *cli, struct vs_listing *listing, struct vs_err *err) {
    return each_file(cli, "workloads/engines", add_engine, listing, err);
}

/* Tables of the program */

static const struct vs_listing_column FORMAT_COLUMNS[] = {
    {"name", "name", false, false},
    {"bits of a linear weight", "bits_per_weight", true, false},
    {"in labels", "label", false, false},
};

static bool list_formats(struct vs_cli *cli, struct vs_listing *listing, struct vs_err *err) {
    enum { SIDE = 4096 }; /* a usual matrix: scales and tables count by their share */
    size_t count = 0;
    const char *const *names = vs_format_names(&count);
    for (size_t i = 0; i < count; i++) {
        struct vs_format format;
        if (!vs_format_parse(names[i], &format, err))
            return false;
        double bytes = (double)vs_type_bytes(format.base, SIDE, SIDE);
        double bits = bytes * 8 / ((double)SIDE * SIDE);
        const struct vs_cell cells[COUNT_OF(FORMAT_COLUMNS)] = {
            vs_cell_text(names[i]),
            vs_cell_number(cli->arena, bits, vs_arena_printf(cli->arena, "%.3f", bits)),
            vs_cell_text(format.label),
        };
        vs_listing_add(listing, cells);
    }
    return true;
}

static const struct vs_listing_column STRATEGY_COLUMNS[] = {
    {"axis", "axis", false, false},       {"values", "values", false, true},
    {"default", "default", false, false}, {"tasks", "tasks", false, false},
    {"what", "help", false, false},
};

static const char *tasks_of(const struct vs_axis_info *info) {
    bool generate = strchr(info->tasks, 'g') != NULL, train = strchr(info->tasks, 't') != NULL;
    bool serve = strchr(info->tasks, 's') != NULL;
    if (generate && train)
        return serve ? "generate, serve, train" : "generate, train";
    return train ? "train" : serve ? "generate, serve" : "generate";
}

static bool takes_format(enum vs_axis axis) {
    return axis == VS_AXIS_WEIGHTS || axis == VS_AXIS_WEIGHTS_EXPERTS || axis == VS_AXIS_KV ||
           axis == VS_AXIS_KV_K || axis == VS_AXIS_KV_V;
}

static const char *values_of(enum vs_axis axis) {
    const struct vs_axis_info *info = vs_axis_info(axis);
    switch (info->type) {
    case VS_TYPE_COUNT:
        return "N";
    case VS_TYPE_BYTES:
        return "SIZE";
    case VS_TYPE_RATE:
        return "RATE";
    case VS_TYPE_REAL:
        return "X";
    case VS_TYPE_NAME:
        return takes_format(axis) ? "NAME (list formats)" : "NAME";
    case VS_TYPE_WORD:
    case VS_TYPE_WORDS:
    case VS_TYPE_TEXT:
        return "";
    }
    return "";
}

/* "N, all, auto"; NULL when memory runs out. */
static const char *all_values(struct vs_arena *arena, enum vs_axis axis) {
    const struct vs_axis_info *info = vs_axis_info(axis);
    const char *values = values_of(axis);
    struct vs_text text = {0};
    vs_text_add(&text, values);
    if (values[0] != '\0' && info->words[0] != '\0')
        vs_text_add(&text, ", ");
    vs_help_words(&text, info->words);
    const char *copy = text.failed ? NULL : vs_arena_strdup(arena, vs_text_str(&text));
    vs_text_release(&text);
    return copy;
}

static bool list_strategies(struct vs_cli *cli, struct vs_listing *listing, struct vs_err *err) {
    for (int i = 0; i < VS_AXIS_COUNT; i++) {
        const struct vs_axis_info *info = vs_axis_info((enum vs_axis)i);
        if (!vs_streq(info->group, "strategy") && !vs_streq(info->group, "engine"))
            continue;
        const char *values = all_values(cli->arena, (enum vs_axis)i);
        if (!values)
            return vs_err_nomem(err);
        const struct vs_cell cells[COUNT_OF(STRATEGY_COLUMNS)] = {
            vs_cell_text(info->name),
            vs_cell_text(values),
            vs_cell_text(info->fallback[0] != '\0' ? info->fallback : NULL),
            vs_cell_text(tasks_of(info)),
            vs_cell_text(info->help),
        };
        vs_listing_add(listing, cells);
    }
    return true;
}

static const struct vs_listing_column METRIC_COLUMNS[] = {
    {"name", "name", false, false},
    {"unit", "unit", false, false},
    {"meaning", "help", false, true},
};

static bool list_metrics(struct vs_cli *cli, struct vs_listing *listing, struct vs_err *err) {
    (void)cli;
    (void)err;
    for (int i = 0; i < VS_METRIC_COUNT; i++) {
        const struct vs_metric_info *info = vs_metric_info((enum vs_metric)i);
        const struct vs_cell cells[COUNT_OF(METRIC_COLUMNS)] = {
            vs_cell_text(info->name),
            vs_cell_text(info->unit),
            vs_cell_text(info->help),
        };
        vs_listing_add(listing, cells);
    }
    return true;
}

static const struct vs_listing_column TRACE_COLUMNS[] = {
    {"name", "name", false, false},
    {"file", "form", false, false},
    {"what", "help", false, true},
};

static bool list_traces(struct vs_cli *cli, struct vs_listing *listing, struct vs_err *err) {
    (void)cli;
    (void)err;
    for (size_t i = 0; vs_trace_readers[i]; i++) {
        const struct vs_trace_reader *reader = vs_trace_readers[i];
        const struct vs_cell cells[COUNT_OF(TRACE_COLUMNS)] = {
            vs_cell_text(reader->name),
            vs_cell_text(reader->form == VS_TRACE_JSON ? "JSON lines" : "CSV"),
            vs_cell_text(reader->help),
        };
        vs_listing_add(listing, cells);
    }
    return true;
}

/* Kinds */

struct kind {
    const char *name, *about;
    const struct vs_listing_column *columns; /* NULL: `fill` sets them */
    size_t column_count;
    bool (*fill)(struct vs_cli *cli, struct vs_listing *listing, struct vs_err *err);
    const char *note; /* below the table */
};

static const struct kind KINDS[] = {
    {"hw", "devices (--hw)", NULL, 0, vs_list_hw,
     "memory: what a process can use; ~ = by a rule, not from a log (show NAME tells which)"},
    {"machines", "machines and cloud instances; those with devices are values of --hw", NULL, 0,
     vs_list_machines, NULL},
    {"hosts", "hosts (--host); without a GPU also --hw", NULL, 0, vs_list_hosts, NULL},
    {"links", "links between host and device (--link), and between devices", NULL, 0, vs_list_links,
     NULL},
    {"storage", "storage (--storage)", NULL, 0, vs_list_storage, NULL},
    {"models", "models (--model)", MODEL_COLUMNS, COUNT_OF(MODEL_COLUMNS), list_models, NULL},
    {"workloads", "named workloads (--workload)", WORKLOAD_COLUMNS, COUNT_OF(WORKLOAD_COLUMNS),
     list_workloads, NULL},
    {"engines", "software stacks (--engine)", ENGINE_COLUMNS, COUNT_OF(ENGINE_COLUMNS),
     list_engines, NULL},
    {"formats", "types in which weights are stored (--weights)", FORMAT_COLUMNS,
     COUNT_OF(FORMAT_COLUMNS), list_formats, NULL},
    {"strategies", "strategy axes and their values", STRATEGY_COLUMNS, COUNT_OF(STRATEGY_COLUMNS),
     list_strategies, NULL},
    {"traces", "formats of request traces (--trace)", TRACE_COLUMNS, COUNT_OF(TRACE_COLUMNS),
     list_traces, "recognised by the first line; plain or compressed by gzip or zstd"},
    {"metrics", "what runs report and case files measure", METRIC_COLUMNS, COUNT_OF(METRIC_COLUMNS),
     list_metrics, NULL},
};

static const struct vs_listing_column KIND_COLUMNS[] = {
    {"kind", "kind", false, false},
    {"about", "about", false, true},
};

static bool find_kind(const char *name, const struct kind **kind, struct vs_err *err) {
    const char *names[COUNT_OF(KINDS)];
    char nearest[NEAREST_SIZE];
    for (size_t i = 0; i < COUNT_OF(KINDS); i++) {
        names[i] = KINDS[i].name;
        if (vs_streq(KINDS[i].name, name)) {
            *kind = &KINDS[i];
            return true;
        }
    }
    vs_nearest(name, names, COUNT_OF(KINDS), nearest, sizeof nearest);
    return vs_err_set(err, VS_ERR_INPUT, "unknown kind '%.80s'; nearest: %s", name, nearest);
}

static void list_kinds(struct vs_listing *listing) {
    for (size_t i = 0; i < COUNT_OF(KINDS); i++) {
        const struct vs_cell cells[COUNT_OF(KIND_COLUMNS)] = {vs_cell_text(KINDS[i].name),
                                                              vs_cell_text(KINDS[i].about)};
        vs_listing_add(listing, cells);
    }
}

/* The first column of each listing is what the command line takes. */
static void print_names(struct vs_text *out, const struct vs_listing *listing) {
    for (size_t i = 0; i < vs_listing_rows(listing); i++)
        vs_text_printf(out, "%s\n", listing->cells.at[i * listing->column_count].text);
    out->failed = out->failed || listing->failed;
}

static void print(struct vs_cli *cli, const struct vs_listing *listing, const char *note) {
    struct vs_json_writer w;
    if (cli->values.names_only) {
        print_names(&cli->out, listing);
        return;
    }
    if (!cli->values.json) {
        vs_listing_table(listing, &cli->out);
        if (note)
            vs_text_printf(&cli->out, "\n%s\n", note);
        return;
    }
    vs_json_begin(&w, &cli->out);
    vs_listing_json(listing, &w);
    vs_text_add(&cli->out, "\n");
}

static bool run(struct vs_cli *cli, struct vs_err *err) {
    const struct vs_cli_values *values = &cli->values;
    const struct kind *kind = NULL;
    struct vs_listing listing = {.columns = KIND_COLUMNS, .column_count = COUNT_OF(KIND_COLUMNS)};
    if (values->names.list.count > 1)
        return vs_err_set(err, VS_ERR_INPUT, "found %zu kinds, expected one",
                          values->names.list.count);
    if (values->names.list.count == 1 && !find_kind(values->names.list.at[0], &kind, err))
        return false;
    if (values->names_only && values->json)
        return vs_err_set(err, VS_ERR_INPUT, "--names and --json exclude each other");
    if ((values->vendor || values->min_memory_bytes > 0) && (!kind || kind->fill != vs_list_hw))
        return vs_err_set(err, VS_ERR_INPUT, "--vendor and --min-memory go with: list hw");
    bool done = true;
    if (kind) {
        listing.columns = kind->columns;
        listing.column_count = kind->column_count;
        done = kind->fill(cli, &listing, err);
    } else {
        list_kinds(&listing);
    }
    if (done)
        print(cli, &listing, kind ? kind->note : NULL);
    vs_listing_release(&listing);
    return done;
}

const struct vs_command vs_command_list = {
    .name = "list",
    .about = "List what is known: hw, machines, hosts, links, storage, models, workloads, engines, "
             "formats, "
             "strategies, traces, metrics.",
    .usage = "[KIND] [OPTION...]",
    .more = "",
    .axes = VS_CLI_NO_AXES,
    .options = OPTIONS,
    .option_count = COUNT_OF(OPTIONS),
    .run = run,
};
