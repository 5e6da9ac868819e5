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

static const char *placeholder(enum vs_axis_type type) {
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
    return generate ? "generate" : "train";
}

static void axis_entry(struct vs_text *out, const struct vs_axis_info *info) {
    struct vs_text left = {0}, text = {0};
    vs_text_printf(&left, "--%s %s", info->name, placeholder(info->type));
    vs_text_add(&text, info->help);
    if (info->words[0] != '\0')
        vs_text_add(&text, ": ");
    vs_help_words(&text, info->words);
    const char *task = only_task(info->tasks);
    if (info->fallback[0] != '\0')
        vs_text_printf(&text, " (default %s)", info->fallback);
    if (task)
        vs_text_printf(&text, " [%s]", task);
    entry(out, vs_text_str(&left), vs_text_str(&text));
    out->failed = out->failed || left.failed || text.failed;
    vs_text_release(&left);
    vs_text_release(&text);
}

static void axis_groups(struct vs_text *out) {
    static const struct {
        const char *group, *heading;
    } GROUPS[] = {
        {"what", "What runs where"},
        {"shape", "Shape"},
        {"strategy", "Strategy"},
        {"engine", "Engine"},
    };
    for (size_t g = 0; g < sizeof GROUPS / sizeof GROUPS[0]; g++) {
        vs_text_printf(out, "\n%s:\n", GROUPS[g].heading);
        for (int i = 0; i < VS_AXIS_COUNT; i++) {
            const struct vs_axis_info *info = vs_axis_info((enum vs_axis)i);
            if (vs_streq(info->group, GROUPS[g].group))
                axis_entry(out, info);
        }
        if (g == 0)
            entry(out, "--set PATH=VALUE",
                  "overrides a number of the hardware profile or the model, again and again: "
                  "--set device.memory.bandwidth=900GB/s --set model.experts_active=6");
    }
}

/* Commands */

static void option_entry(struct vs_text *out, const struct vs_cli_option *option) {
    struct vs_text left = {0};
    if (option->name)
        vs_text_add(&left, option->name);
    if (option->placeholder)
        vs_text_printf(&left, "%s%s", option->name ? " " : "", option->placeholder);
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
    wrap(
        out,
        "Token counts accept 8k (= 8192). Sizes: B, KB/MB/GB/TB (powers of 1000), KiB/MiB/GiB/TiB; "
        "rates: a size per second, Gb/s counts bits. Names: vramsim list",
        0, 0);
}

static void commands(struct vs_text *out) {
    vs_text_add(out, "Commands:\n");
    for (size_t i = 0; vs_commands[i]; i++)
        entry(out, vs_commands[i]->name, vs_commands[i]->about);
    entry(out, "help [COMMAND]", "print all options of a command");
}

static const char CLAIM[] = "vramsim simulates the memory hierarchy under a language model: does "
                            "it fit, where does it run\n"
                            "out, how fast is it, what bounds it, and which strategy is best.\n\n";

void vs_help_short(struct vs_text *out) {
    vs_text_add(out, CLAIM);
    vs_text_add(out, "usage: vramsim [COMMAND] --hw NAME --workload NAME [OPTION...]\n"
                     "   try: vramsim --hw rtx4090 --workload qlora70b\n\n");
    commands(out);
}

void vs_help_program(struct vs_text *out) {
    vs_help_short(out);
    entry(out, "-V, --version", "print version and commit");
    vs_text_add(out,
                "\nWithout a command it is `sweep`. Examples:\n"
                "  vramsim --hw rtx4090 --workload qlora70b               every strategy, ranked\n"
                "  vramsim run --hw m2-ultra --workload chat8b            one point in full\n"
                "  vramsim limit --hw a100 --workload full7b-adamw        where it stops fitting\n"
                "  vramsim run --hw rtx3060 --model llama-3-8b --engine llamacpp --task generate "
                "--weights q4_k_m\n"
                "  vramsim list hw                                        devices that are known\n"
                "\nFiles are searched in the folders of VRAMSIM_PATH (joined by ':'), then where "
                "the program "
                "was\nbuilt, then where it is installed. NO_COLOR is honoured.\n"
                "\nExit status:\n"
                "  0  done; a predicted lack of memory is a result\n"
                "  1  could not finish: input, output, memory\n"
                "  2  bad usage or bad input\n"
                "  3  predicted lack of memory, only with --fail-on-oom\n");
}
