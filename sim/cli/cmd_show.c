#include <string.h>

#include "base/data.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/show.h"
#include "engine/engine.h"
#include "model/model.h"
#include "work/workload.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])
enum { NAMES_MOST = 2000, NEAREST_SIZE = 200 };

static const struct vs_cli_option OPTIONS[] = {
    {NULL, VS_CLI_EACH, VS_CLI_AT(names), "NAME", "whatever has this name"},
    {"--hw", VS_CLI_TEXT, VS_CLI_AT(hw), "NAME", "a device with the machine that it stands in"},
    {"--host", VS_CLI_TEXT, VS_CLI_AT(host), "NAME", "a host"},
    {"--model", VS_CLI_TEXT, VS_CLI_AT(model), "NAME", "a model"},
    {"--workload", VS_CLI_TEXT, VS_CLI_AT(workload), "NAME", "a workload"},
    {"--engine", VS_CLI_TEXT, VS_CLI_AT(engine), "NAME", "a software stack"},
    {"--engine-version", VS_CLI_TEXT, VS_CLI_AT(engine_version), "V",
     "its release (default: the newest rules known)"},
    VS_CLI_JSON,
    VS_CLI_QUIET,
};

/* Models */

/* The "source" of a model file of ours; NULL for a config.json from elsewhere. */
static const char *model_source(struct vs_arena *arena, const struct vs_model *model) {
    const struct vs_json *root = NULL;
    struct vs_err ignored;
    if (!vs_json_load(arena, model->file, &root, &ignored) || root->kind != VS_JSON_OBJECT)
        return NULL;
    const struct vs_json *source = vs_json_member(root, "source");
    return source && source->kind == VS_JSON_STRING ? source->string : NULL;
}

static double kv_bytes_per_token(const struct vs_model *model) {
    const struct vs_type *fp16 = vs_type_find("fp16");
    uint64_t bytes = 0;
    for (uint32_t layer = 0; fp16 && layer < model->layers; layer++)
        bytes += vs_kv_layer_bytes(model, layer, 1, fp16, fp16);
    return (double)bytes;
}

static bool show_model(struct vs_doc *doc, const char *name, struct vs_err *err) {
    const struct vs_model *model = NULL;
    struct vs_arena *arena = doc->cli->arena;
    if (!vs_model_load(arena, name, &model, err))
        return false;
    const struct {
        const char *key;
        double number;
    } numbers[] = {
        {"layers", model->layers},
        {"hidden", model->hidden},
        {"heads", model->heads},
        {"kv_heads", model->kv_heads},
        {"head_dim", model->head_dim},
        {"ffn", model->ffn},
        {"vocab", model->vocab},
        {"max_ctx", model->max_ctx},
        {"window", model->window},
        {"experts", model->experts},
        {"experts_active", model->experts_active},
        {"params_total", (double)model->params_total},
        {"params_active", (double)model->params_active},
        {"params_linear", (double)model->params_linear},
        {"kv_fp16_bytes_per_token", kv_bytes_per_token(model)},
    };
    vs_doc_begin(doc, "model", model->name, model->hf_id, model->file);
    vs_doc_property(doc, "family", vs_cell_text(model->family));
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        if (numbers[i].number > 0) /* a dense model has no experts */
            vs_doc_property(doc, numbers[i].key, vs_cell_number(arena, numbers[i].number, NULL));
    }
    vs_doc_property(doc, "tied_embeddings", vs_cell_text(model->tied_embeddings ? "yes" : "no"));
    vs_doc_property(doc, "source", vs_cell_text(model_source(arena, model)));
    vs_doc_end(doc);
    return true;
}

/* Workloads */

static const struct vs_listing_column AXIS_COLUMNS[] = {
    {"axis", "axis", false, false},
    {"value", "value", false, true},
};

static bool show_workload(struct vs_doc *doc, const char *name, struct vs_err *err) {
    struct vs_workload workload;
    struct vs_arena *arena = doc->cli->arena;
    if (!vs_workload_load(arena, name, &workload, err))
        return false;
    struct vs_listing axes = {.heading = "Axes",
                              .key = "axes",
                              .columns = AXIS_COLUMNS,
                              .column_count = COUNT_OF(AXIS_COLUMNS)};
    const char *engines = workload.engines[0];
    for (size_t i = 1; i < workload.engine_count && engines; i++)
        engines = vs_arena_printf(arena, "%s, %s", engines, workload.engines[i]);
    for (int i = 0; i < VS_AXIS_COUNT; i++) {
        const char *text = i == VS_AXIS_TASK ? workload.task : workload.values.at[i].text;
        const struct vs_cell cells[] = {vs_cell_text(vs_axis_info((enum vs_axis)i)->name),
                                        vs_cell_text(text)};
        if (text)
            vs_listing_add(&axes, cells);
    }
    vs_doc_begin(doc, "workload", workload.name, workload.about, workload.file);
    vs_doc_property(doc, "engines", vs_cell_text(engines));
    vs_doc_section(doc, &axes);
    vs_doc_end(doc);
    vs_listing_release(&axes);
    return true;
}

/* Engines */

static const struct vs_listing_column DEFAULT_COLUMNS[] = {
    {"task", "task", false, false},
    {"axis", "axis", false, false},
    {"value", "value", false, false},
    {"source", "source", false, true},
};

static void engine_defaults(struct vs_doc *doc, const struct vs_engine *engine) {
    struct vs_listing listing = {.heading = "Defaults",
                                 .key = "defaults",
                                 .columns = DEFAULT_COLUMNS,
                                 .column_count = COUNT_OF(DEFAULT_COLUMNS)};
    for (size_t i = 0; i < engine->default_count; i++) {
        const struct vs_engine_word *word = &engine->defaults[i];
        const struct vs_cell cells[] = {vs_cell_text(word->task), vs_cell_text(word->key),
                                        vs_cell_text(word->word), vs_cell_text(word->source)};
        vs_listing_add(&listing, cells);
    }
    vs_doc_section(doc, &listing);
    vs_listing_release(&listing);
}

static const struct vs_listing_column SUPPORT_COLUMNS[] = {
    {"task", "task", false, false},
    {"axis", "axis", false, false},
    {"values", "values", false, true},
};

static void engine_supports(struct vs_doc *doc, const struct vs_engine *engine) {
    struct vs_listing listing = {.heading = "Supports (what isn't named has its default only)",
                                 .key = "supports",
                                 .columns = SUPPORT_COLUMNS,
                                 .column_count = COUNT_OF(SUPPORT_COLUMNS)};
    for (size_t i = 0; i < engine->support_count; i++) {
        const struct vs_engine_support *support = &engine->supports[i];
        const char *words = support->any ? "any" : "";
        for (size_t k = 0; k < support->count && words; k++)
            words = vs_arena_printf(doc->cli->arena, "%s%s%s", words, k > 0 ? " " : "",
                                    support->words[k]);
        const struct vs_cell cells[] = {vs_cell_text(support->task), vs_cell_text(support->axis),
                                        vs_cell_text(words)};
        listing.failed = listing.failed || !words;
        vs_listing_add(&listing, cells);
    }
    vs_doc_section(doc, &listing);
    vs_listing_release(&listing);
}

static const struct vs_listing_column RULE_COLUMNS[] = {
    {"rule", "rule", false, false},
    {"value", "value", false, true},
};

static void engine_rules(struct vs_doc *doc, const struct vs_engine *engine) {
    struct vs_listing listing = {.heading = "Rules",
                                 .key = "rules",
                                 .columns = RULE_COLUMNS,
                                 .column_count = COUNT_OF(RULE_COLUMNS)};
    for (size_t i = 0; i < engine->rule_count; i++) {
        const struct vs_cell cells[] = {vs_cell_text(engine->rules[i].name),
                                        vs_cell_text(engine->rules[i].word)};
        vs_listing_add(&listing, cells);
    }
    vs_doc_section(doc, &listing);
    vs_listing_release(&listing);
}

/* "name@arch" has its unit before the '@'. */
static const char *unit_path(struct vs_arena *arena, const char *name) {
    const char *path = vs_arena_strndup(arena, name, strcspn(name, "@"));
    return path ? path : name;
}

static void engine_numbers(struct vs_doc *doc, const struct vs_engine *engine) {
    struct vs_listing listing;
    vs_doc_numbers_begin(&listing, "Numbers");
    for (size_t i = 0; i < engine->number_count; i++) {
        const char *name = engine->numbers[i].name;
        vs_doc_number(doc, &listing, name, name, unit_path(doc->cli->arena, name),
                      engine->numbers[i].num);
    }
    vs_doc_section(doc, &listing);
    vs_listing_release(&listing);
}

static bool show_engine(struct vs_doc *doc, const char *name, struct vs_err *err) {
    const struct vs_engine *engine = NULL;
    if (!vs_engine_load(doc->cli->arena, name, doc->cli->values.engine_version, NULL, &engine, err))
        return false;
    vs_doc_begin(doc, "engine", engine->name, engine->title, engine->file);
    vs_doc_property(doc, "version", vs_cell_text(engine->version));
    vs_doc_property(doc, "rules_of", vs_cell_text(engine->release));
    engine_defaults(doc, engine);
    engine_supports(doc, engine);
    engine_rules(doc, engine);
    engine_numbers(doc, engine);
    vs_doc_end(doc);
    return true;
}

/* Which things */

enum { NO_OPTION = 0 };

struct kind {
    const char *name, *folder;
    size_t offset; /* of the option's value in struct vs_cli_values; NO_OPTION */
    bool (*show)(struct vs_doc *doc, const char *name, struct vs_err *err);
    bool alone; /* only where nothing else has the name: a device is shown with its machine */
};

static const struct kind KINDS[] = {
    {"device", "hwprofiles/devices", VS_CLI_AT(hw), vs_show_hw, false},
    {"host", "hwprofiles/hosts", VS_CLI_AT(host), vs_show_host, false},
    {"link", "hwprofiles/links", NO_OPTION, vs_show_link, false},
    {"storage", "hwprofiles/storage", NO_OPTION, vs_show_storage, false},
    {"model", "workloads/models", VS_CLI_AT(model), show_model, false},
    {"workload", "workloads", VS_CLI_AT(workload), show_workload, false},
    {"engine", "workloads/engines", VS_CLI_AT(engine), show_engine, false},
    {"machine", "hwprofiles/machines", NO_OPTION, vs_show_board, true},
};

static const char *option_value(const struct vs_cli *cli, const struct kind *kind) {
    if (kind->offset == NO_OPTION)
        return NULL;
    return *(const char *const *)(const void *)((const char *)&cli->values + kind->offset);
}

static bool unknown(struct vs_cli *cli, const char *name, struct vs_err *err) {
    const char *all[NAMES_MOST];
    char nearest[NEAREST_SIZE];
    size_t total = 0;
    for (size_t i = 0; i < COUNT_OF(KINDS); i++) {
        const char *const *names = NULL;
        size_t count = 0;
        if (!vs_data_list(cli->arena, KINDS[i].folder, &names, &count, err))
            return false;
        for (size_t k = 0; k < count && total < NAMES_MOST; k++)
            all[total++] = names[k];
    }
    vs_nearest(name, all, total, nearest, sizeof nearest);
    return vs_err_set(err, VS_ERR_INPUT, "unknown name '%.80s'; nearest: %s", name, nearest);
}

/* Shows all that has this name: a toy is a device, a host and a model. */
static bool show_name(struct vs_doc *doc, const char *name, struct vs_err *err) {
    bool found = false;
    for (size_t i = 0; i < COUNT_OF(KINDS); i++) {
        const char *path = NULL;
        struct vs_err ignored;
        if (found && KINDS[i].alone)
            continue;
        if (!vs_data_find(doc->cli->arena, KINDS[i].folder, KINDS[i].name, name, &path, &ignored))
            continue;
        found = true;
        if (!KINDS[i].show(doc, name, err))
            return false;
    }
    return found || unknown(doc->cli, name, err);
}

static bool show_all(struct vs_doc *doc, struct vs_err *err) {
    const struct vs_cli *cli = doc->cli;
    for (size_t i = 0; i < COUNT_OF(KINDS); i++) {
        const char *name = option_value(cli, &KINDS[i]);
        if (name && !KINDS[i].show(doc, name, err))
            return false;
    }
    for (size_t i = 0; i < cli->values.names.list.count; i++) {
        if (!show_name(doc, cli->values.names.list.at[i], err))
            return false;
    }
    return doc->count > 0 ||
           vs_err_set(err, VS_ERR_INPUT, "nothing to show, expected: vramsim show NAME");
}

static bool run(struct vs_cli *cli, struct vs_err *err) {
    struct vs_doc doc = {.cli = cli};
    vs_doc_open(&doc);
    if (!show_all(&doc, err))
        return false;
    vs_doc_close(&doc);
    return true;
}

const struct vs_command vs_command_show = {
    .name = "show",
    .about = "Show one thing with every number that it has, how it was found and where it stands.",
    .usage = "(NAME | --hw NAME | --host NAME | --model NAME | --workload NAME | --engine NAME) "
             "[OPTION...]",
    .more = "Paths of numbers are those of --set: --set device.memory.bandwidth=900GB/s\n",
    .axes = VS_CLI_NO_AXES,
    .options = OPTIONS,
    .option_count = COUNT_OF(OPTIONS),
    .run = run,
};
