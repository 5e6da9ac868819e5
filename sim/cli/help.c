#include <string.h>

#include "cli/cli.h"

enum { COLUMNS = 100, TEXT_COLUMN = 30 };

static void pad(struct vs_text *out, size_t columns) {
    while (columns-- > 0)
        vs_text_addn(out, " ", 1);
}

/* Appends words, beginning at `column`; lines that would pass COLUMNS go on at `indent`. */
static void wrap(struct vs_text *out, const char *words, size_t column, size_t indent) {
    bool fresh = true;
    for (const char *at = words; *at != '\0';) {
        size_t length = strcspn(at, " ");
        if (!fresh && column + 1 + length > COLUMNS) {
            vs_text_add(out, "\n");
            pad(out, indent);
            column = indent;
            fresh = true;
        }
        if (!fresh)
            vs_text_add(out, " ");
        vs_text_addn(out, at, length);
        column += length + (fresh ? 0 : 1);
        fresh = false;
        at += length;
        at += strspn(at, " ");
    }
    vs_text_add(out, "\n");
}

/* "  --left            text", the text on a line of its own where the left side is wide. */
static void entry(struct vs_text *out, const char *left, const char *text) {
    size_t column = 2 + strlen(left);
    vs_text_printf(out, "  %s", left);
    if (column + 2 > TEXT_COLUMN) {
        vs_text_add(out, "\n");
        column = 0;
    }
    pad(out, TEXT_COLUMN - column);
    wrap(out, text, TEXT_COLUMN, TEXT_COLUMN);
}

/* Axes */

const char *vs_help_metavar(enum vs_axis_type type) {
    switch (type) {
    case VS_TYPE_COUNT:
        return "N";
    case VS_TYPE_BYTES:
        return "SIZE";
    case VS_TYPE_RATE:
        return "RATE";
    case VS_TYPE_REAL:
        return "X";
    case VS_TYPE_WORD:
        return "WORD";
    case VS_TYPE_WORDS:
        return "WORD+WORD";
    case VS_TYPE_NAME:
        return "NAME";
    case VS_TYPE_TEXT:
        return "TEXT";
    }
    return "";
}

void vs_help_words(struct vs_text *text, const char *words) {
    for (const char *at = words; *at != '\0';) {
        size_t length = strcspn(at, " "), stem = strcspn(at, "=# %");
        stem = stem < length ? stem : length;
        vs_text_add(text, at == words ? "" : ", ");
        vs_text_addn(text, at, stem);
        if (at[stem] == '#' || at[stem] == '%')
            vs_text_add(text, at[stem] == '#' ? "N" : "X");
        else if (at[stem] == '=')
            vs_text_printf(text, " (= %.*s)", (int)(length - stem - 1), at + stem + 1);
        at += length;
        at += strspn(at, " ");
    }
}

/* Which task an axis is for; NULL for those that serve all. */
static const char *only_task(const char *tasks) {
    bool generate = strchr(tasks, 'g') != NULL, train = strchr(tasks, 't') != NULL;
    if (generate == train)
        return NULL;
    return train ? "train" : strchr(tasks, 's') ? "generate, serve" : "generate";
}

void vs_help_axis(struct vs_text *out, const struct vs_axis_info *info) {
    const char *task = only_task(info->tasks);
    vs_text_add(out, info->help);
    if (info->words[0] != '\0')
        vs_text_add(out, ": ");
    vs_help_words(out, info->words);
    if (info->fallback[0] != '\0')
        vs_text_printf(out, " (default %s)", info->fallback);
    if (task)
        vs_text_printf(out, " [%s]", task);
}

static void axis_entry(struct vs_text *out, const struct vs_axis_info *info) {
    struct vs_text left = {0}, text = {0};
    vs_text_printf(&left, "--%s %s", info->name, vs_help_metavar(info->type));
    vs_help_axis(&text, info);
    entry(out, vs_text_str(&left), vs_text_str(&text));
    out->failed = out->failed || left.failed || text.failed;
    vs_text_release(&left);
    vs_text_release(&text);
}

const struct vs_help_group vs_help_groups[] = {
    {"what", "What runs where"}, {"shape", "Shape"}, {"strategy", "Strategy"},
    {"engine", "Engine"},        {NULL, NULL},
};

const char vs_help_set[] =
    "overrides a number of the hardware profile or the model, again and again: "
    "--set device.memory.bandwidth=900GB/s --set model.experts_active=6";

static void axis_groups(struct vs_text *out) {
    for (const struct vs_help_group *group = vs_help_groups; group->name; group++) {
        vs_text_printf(out, "\n%s:\n", group->heading);
        for (int i = 0; i < VS_AXIS_COUNT; i++) {
            const struct vs_axis_info *info = vs_axis_info((enum vs_axis)i);
            if (vs_streq(info->group, group->name))
                axis_entry(out, info);
        }
        if (group == vs_help_groups)
            entry(out, "--set PATH=VALUE", vs_help_set);
    }
}

/* Commands */

const char vs_help_units[] =
    "Token counts accept 8k (= 8192). Sizes: B, KB/MB/GB/TB (powers of 1000), KiB/MiB/GiB/TiB; "
    "rates: a size per second, Gb/s counts bits. Names: vramsim list";

static void option_entry(struct vs_text *out, const struct vs_cli_option *option) {
    struct vs_text left = {0};
    if (option->name)
        vs_text_add(&left, option->name);
    if (option->metavar)
        vs_text_printf(&left, "%s%s", option->name ? " " : "", option->metavar);
    entry(out, vs_text_str(&left), option->help);
    out->failed = out->failed || left.failed;
    vs_text_release(&left);
}

void vs_help_command(struct vs_text *out, const struct vs_command *command) {
    vs_text_printf(out, "usage: vramsim %s ", command->name);
    size_t column = strlen("usage: vramsim  ") + strlen(command->name);
    wrap(out, command->usage, column, column);
    vs_text_add(out, "\n");
    wrap(out, command->about, 0, 0);
    if (command->more[0] != '\0')
        vs_text_printf(out, "\n%s", command->more);
    vs_text_add(out, "\nOptions:\n");
    for (size_t i = 0; i < command->option_count; i++)
        option_entry(out, &command->options[i]);
    entry(out, "-h, --help", "print this");
    if (command->axes == VS_CLI_NO_AXES)
        return;
    axis_groups(out);
    if (command->axes == VS_CLI_GRID)
        vs_text_add(out, "\nEach of these takes a comma list, which is one axis of a grid: "
                         "--seq 1024,2048,4096\n");
    vs_text_add(out, "\n");
    wrap(out, vs_help_units, 0, 0);
}

static void commands(struct vs_text *out) {
    vs_text_add(out, "Commands:\n");
    for (size_t i = 0; vs_commands[i]; i++)
        entry(out, vs_commands[i]->name, vs_commands[i]->about);
    entry(out, "help [COMMAND]", "print all options of a command");
}

const char vs_help_claim[] = "vramsim simulates the memory hierarchy under a language model: does "
                             "it fit, where does it run\n"
                             "out, how fast is it, what bounds it, and which strategy is best.\n";

void vs_help_short(struct vs_text *out) {
    vs_text_add(out, vs_help_claim);
    vs_text_add(out, "\nusage: vramsim [COMMAND] --hw NAME --workload NAME [OPTION...]\n"
                     "   try: vramsim --hw rtx4090 --workload qlora70b\n\n");
    commands(out);
}

const struct vs_help_example vs_help_examples[] = {
    {"vramsim --hw rtx4090 --workload qlora70b", "every strategy, ranked"},
    {"vramsim run --hw m2-ultra --workload chat8b", "one point in full"},
    {"vramsim limit --hw a100 --workload full7b-adamw", "where it stops fitting"},
    {"vramsim run --hw rtx3060 --model llama-3-8b --engine llamacpp --task generate "
     "--weights q4_k_m",
     NULL},
    {"vramsim list hw", "devices that are known"},
    {NULL, NULL},
};

const struct vs_exit_status vs_exit_statuses[] = {
#define X(id, status, text) {status, text},
#include "cli/exit.def"
#undef X
    {0, NULL},
};

void vs_help_program(struct vs_text *out) {
    vs_help_short(out);
    entry(out, "-V, --version", "print version and commit");
    vs_text_add(out, "\nWithout a command it is `sweep`. Examples:\n");
    for (const struct vs_help_example *example = vs_help_examples; example->line; example++) {
        if (example->what)
            vs_text_printf(out, "  %-55s%s\n", example->line, example->what);
        else
            vs_text_printf(out, "  %s\n", example->line);
    }
    vs_text_add(out, "\nFiles are searched in the folders of VRAMSIM_PATH (joined by ':'), then "
                     "where the program was\n"
                     "built, then where it is installed. NO_COLOR is honoured.\n"
                     "\nExit status:\n");
    for (const struct vs_exit_status *status = vs_exit_statuses; status->text; status++)
        vs_text_printf(out, "  %d  %s\n", status->status, status->text);
}
