#include "cli/docs.h"

/* Before the specifications that are made from the tables; _arguments of zshcompsys(1) reads them.
 * Where a grid may stand, each element of a comma list is completed. */
static const char HEAD[] =
    "#compdef vramsim\n"
    "# zsh completion for vramsim; made from the option tables of the program.\n"
    "\n"
    "_vramsim_words() {\n"
    "    local -a proposals\n"
    "    proposals=(\"$@\")\n"
    "    if (( vramsim_grid )); then\n"
    "        _sequence compadd - -a proposals\n"
    "    else\n"
    "        compadd -a proposals\n"
    "    fi\n"
    "}\n"
    "\n"
    "_vramsim_names() {\n"
    "    _vramsim_words ${(f)\"$(_call_program names $vramsim list $1 --names 2> /dev/null)\"}\n"
    "}\n"
    "\n"
    "_vramsim_names_or_files() {\n"
    "    _vramsim_names $1\n"
    "    _files -g '*.json'\n"
    "}\n"
    "\n";

/* Inside of [...] in single quotes. */
static void description(struct vs_text *out, const char *words) {
    vs_text_add(out, "[");
    for (const char *at = words; *at != '\0'; at++) {
        const char one[] = {*at, '\0'};
        if (*at == '\'')
            vs_text_add(out, "'\\''");
        else
            vs_docs_escape(out, one, "[]:\\");
    }
    vs_text_add(out, "]");
}

/* ":MESSAGE:ACTION". The blank before a function of ours: it is called with these words alone. */
static void action(struct vs_text *out, const char *message, struct vs_docs_value value) {
    if (value.kind == VS_DOCS_NOTHING)
        return;
    vs_text_printf(out, ":%s:", message);
    switch (value.kind) {
    case VS_DOCS_NAMES:
        vs_text_printf(out, " %s %s",
                       value.words[0] != '\0' && !vs_streq(value.words, "metrics") &&
                               !vs_streq(value.words, "formats")
                           ? "_vramsim_names_or_files"
                           : "_vramsim_names",
                       value.words);
        break;
    case VS_DOCS_WORDS:
        vs_text_add(out, " _vramsim_words ");
        vs_docs_words(out, value.words, ":");
        break;
    case VS_DOCS_FOLDER:
        vs_text_add(out, "_files -/");
        break;
    case VS_DOCS_FILE:
        vs_text_add(out, "_files");
        break;
    case VS_DOCS_ANY:
        vs_text_add(out, " ");
        break;
    case VS_DOCS_NOTHING:
        break;
    }
}

static void axes(struct vs_text *out) {
    vs_text_add(out, "    local -a axes commands\n    axes=(\n");
    for (int i = 0; i < VS_AXIS_COUNT; i++) {
        const struct vs_axis_info *info = vs_axis_info((enum vs_axis)i);
        vs_text_printf(out, "        '--%s=", info->name);
        description(out, info->help);
        action(out, vs_help_metavar(info->type), vs_docs_axis_value(info));
        vs_text_add(out, "'\n");
    }
    vs_text_add(out, "        '*--set=[overrides a number of the hardware or the model]"
                     ":PATH=VALUE: '\n    )\n");
}

static void commands(struct vs_text *out) {
    vs_text_add(out, "    commands=(\n");
    for (size_t i = 0; vs_commands[i]; i++) {
        vs_text_printf(out, "        '%s:", vs_commands[i]->name);
        vs_docs_escape(out, vs_commands[i]->about, ":\\");
        vs_text_add(out, "'\n");
    }
    vs_text_add(out, "        'help:print all options of a command'\n    )\n");
}

static void option(struct vs_text *out, const struct vs_cli_option *of) {
    bool again = of->kind == VS_CLI_EACH || of->kind == VS_CLI_MANY;
    struct vs_docs_value value = vs_docs_option_value(of);
    vs_text_add(out, " \\\n            '");
    if (!of->name && value.kind == VS_DOCS_ANY) /* a name of any kind */
        value = (struct vs_docs_value){VS_DOCS_NAMES, "hw"};
    if (of->name) {
        vs_text_printf(out, "%s%s%s", again ? "*" : "", of->name,
                       of->kind == VS_CLI_FLAG ? "" : "=");
        description(out, of->help);
    } else {
        vs_text_add(out, "*");
    }
    action(out, of->metavar ? of->metavar : "", value);
    vs_text_add(out, "'");
}

static void cases(struct vs_text *out) {
    for (size_t c = 0; vs_commands[c]; c++) {
        const struct vs_command *command = vs_commands[c];
        vs_text_printf(out,
                       "    %s)\n        vramsim_grid=%d\n        _arguments \\\n"
                       "            '(- *)'{-h,--help}'[print help]'",
                       command->name, command->axes == VS_CLI_GRID);
        for (size_t i = 0; i < command->option_count; i++)
            option(out, &command->options[i]);
        vs_text_add(out, command->axes != VS_CLI_NO_AXES ? " \\\n            $axes\n" : "\n");
        vs_text_add(out, "        ;;\n");
    }
    vs_text_add(out, "    help) _describe command commands ;;\n");
}

void vs_docs_zsh(struct vs_text *out) {
    vs_text_add(out, HEAD);
    vs_text_add(out, "_vramsim() {\n"
                     "    local vramsim=$words[1] vramsim_grid=0 command=sweep\n");
    axes(out);
    commands(out);
    vs_text_add(out, "    if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n"
                     "        _describe command commands\n"
                     "        return\n"
                     "    fi\n"
                     "    if [[ $words[2] != -* ]]; then\n"
                     "        command=$words[2]\n"
                     "        shift words\n"
                     "        (( CURRENT-- ))\n"
                     "    fi\n"
                     "    case $command in\n");
    cases(out);
    vs_text_add(out, "    esac\n}\n\n_vramsim \"$@\"\n");
}
