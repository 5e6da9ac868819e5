#include <string.h>

#include "cli/docs.h"

/* Before the cases that are made from the tables. A value may be a list ("a,b" spans a grid, "q+v"
 * joins words): its last element is completed. "--hw=x" reaches us as three words. Where there is
 * nothing to propose, the shell completes file names by itself, but for numbers. */
static const char HEAD[] =
    "# bash completion for vramsim; made from the option tables of the program.\n"
    "\n"
    "_vramsim_words() {\n"
    "    local IFS=$' \\t\\n' head=${cur%\"${cur##*[,+]}\"}\n"
    "    COMPREPLY=($(compgen -P \"$head\" -W \"$1\" -- \"${cur##*[,+]}\"))\n"
    "    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *: ]]; then\n"
    "        compopt -o nospace 2> /dev/null\n"
    "    fi\n"
    "}\n"
    "\n"
    "_vramsim_names() {\n"
    "    _vramsim_words \"$(\"$program\" list ${1:+\"$1\"} --names 2> /dev/null)\"\n"
    "}\n"
    "\n"
    "_vramsim_folders() {\n"
    "    local IFS=$'\\n'\n"
    "    COMPREPLY=($(compgen -d -- \"$cur\"))\n"
    "    compopt -o filenames 2> /dev/null\n"
    "}\n"
    "\n"
    "_vramsim_nothing() {\n"
    "    compopt +o default +o bashdefault 2> /dev/null\n"
    "}\n"
    "\n"
    "_vramsim() {\n"
    "    local program=$1 cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "    local command=sweep\n"
    "    COMPREPLY=()\n"
    "    if [[ $cur == = ]]; then\n"
    "        cur=\n"
    "    elif [[ $prev == = && $COMP_CWORD -ge 2 ]]; then\n"
    "        prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "    fi\n";

static const char TAIL[] = "}\n"
                           "\n"
                           "complete -o bashdefault -o default -F _vramsim vramsim\n";

/* The end of a case: what to do behind the option. */
static void action(struct vs_text *out, struct vs_docs_value value) {
    switch (value.kind) {
    case VS_DOCS_NAMES:
        vs_text_printf(out, "_vramsim_names %s", value.words);
        break;
    case VS_DOCS_WORDS:
        vs_text_add(out, "_vramsim_words '");
        vs_docs_words(out, value.words, "");
        vs_text_add(out, "'");
        break;
    case VS_DOCS_FOLDER:
        vs_text_add(out, "_vramsim_folders");
        break;
    case VS_DOCS_FILE:
        vs_text_add(out, ":");
        break;
    case VS_DOCS_ANY:
    case VS_DOCS_NOTHING:
        vs_text_add(out, "_vramsim_nothing");
        break;
    }
    vs_text_add(out, "; return ;;\n");
}

static void axis_cases(struct vs_text *out) {
    for (int i = 0; i < VS_AXIS_COUNT; i++) {
        const struct vs_axis_info *info = vs_axis_info((enum vs_axis)i);
        vs_text_printf(out, "    --%s) ", info->name);
        action(out, vs_docs_axis_value(info));
    }
    vs_text_add(out, "    --set) _vramsim_nothing; return ;;\n");
}

/* Does an axis or an option of an earlier command have this name? It means the same there. */
static bool stands_before(const struct vs_command *const *last, const char *name) {
    enum vs_axis axis;
    if (vs_axis_find(name + strlen("--"), &axis))
        return true;
    for (size_t c = 0; &vs_commands[c] != last; c++) {
        for (size_t i = 0; i < vs_commands[c]->option_count; i++) {
            const char *other = vs_commands[c]->options[i].name;
            if (other && vs_streq(other, name))
                return true;
        }
    }
    return false;
}

static void option_cases(struct vs_text *out) {
    for (const struct vs_command *const *command = vs_commands; *command; command++) {
        for (size_t i = 0; i < (*command)->option_count; i++) {
            const struct vs_cli_option *option = &(*command)->options[i];
            if (!option->name || option->kind == VS_CLI_FLAG ||
                stands_before(command, option->name))
                continue;
            vs_text_printf(out, "    %s) ", option->name);
            action(out, vs_docs_option_value(option));
        }
    }
}

/* What stands alone behind a command: "list KIND", "show NAME". */
static void alone(struct vs_text *out, const struct vs_command *command) {
    for (size_t i = 0; i < command->option_count; i++) {
        if (command->options[i].name)
            continue;
        struct vs_docs_value value = vs_docs_option_value(&command->options[i]);
        if (value.kind == VS_DOCS_ANY) /* a name of any kind */
            value = (struct vs_docs_value){VS_DOCS_NAMES, "hw"};
        vs_text_printf(out, "    %s:[!-]* | %s:) ", command->name, command->name);
        action(out, value);
    }
}

static void command_cases(struct vs_text *out) {
    for (size_t c = 0; vs_commands[c]; c++) {
        const struct vs_command *command = vs_commands[c];
        alone(out, command);
        vs_text_printf(out, "    %s:*) _vramsim_words '", command->name);
        for (size_t i = 0; i < command->option_count; i++) {
            if (command->options[i].name)
                vs_text_printf(out, "%s ", command->options[i].name);
        }
        vs_text_printf(out, "--help'%s ;;\n", command->axes != VS_CLI_NO_AXES ? "\" $axes\"" : "");
    }
    vs_text_add(out, "    help:*) _vramsim_words \"$commands\" ;;\n");
}

static void lists(struct vs_text *out) {
    vs_text_add(out, "    local commands='");
    for (size_t c = 0; vs_commands[c]; c++)
        vs_text_printf(out, "%s ", vs_commands[c]->name);
    vs_text_add(out, "help'\n    local axes='");
    for (int i = 0; i < VS_AXIS_COUNT; i++)
        vs_text_printf(out, "--%s ", vs_axis_info((enum vs_axis)i)->name);
    vs_text_add(out, "--set'\n");
}

void vs_docs_bash(struct vs_text *out) {
    vs_text_add(out, HEAD);
    lists(out);
    vs_text_add(out, "    if [[ $COMP_CWORD -eq 1 && $cur != -* ]]; then\n"
                     "        _vramsim_words \"$commands\"\n"
                     "        return\n"
                     "    fi\n"
                     "    case $prev in\n");
    axis_cases(out);
    option_cases(out);
    vs_text_add(out, "    esac\n"
                     "    [[ ${COMP_WORDS[1]} == -* ]] || command=${COMP_WORDS[1]}\n"
                     "    case $command:$cur in\n");
    command_cases(out);
    vs_text_add(out, "    esac\n");
    vs_text_add(out, TAIL);
}
