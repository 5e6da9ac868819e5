#include <string.h>

#include "cli/docs.h"
#include "run/outcome.h"
#include "vramsim.h"

/* Text as roff wants it: a line may not begin with a control character, a hyphen is a minus (words
 * are copied to a terminal), a backslash is none of roff's. */
static void text(struct vs_text *out, const char *words) {
    if (words[0] == '.' || words[0] == '\'')
        vs_text_add(out, "\\&");
    for (const char *at = words; *at != '\0'; at++) {
        if (*at == '\\')
            vs_text_add(out, "\\e");
        else if (*at == '-')
            vs_text_add(out, "\\-");
        else
            vs_text_addn(out, at, 1);
    }
}

static void section(struct vs_text *out, const char *name) {
    vs_text_printf(out, ".SH %s\n", name);
}

static void subsection(struct vs_text *out, const char *name) {
    vs_text_printf(out, ".SS \"%s\"\n", name);
}

static void paragraph(struct vs_text *out, const char *words) {
    vs_text_add(out, ".PP\n");
    text(out, words);
    vs_text_add(out, "\n");
}

/* An item: its name in bold and, unless NULL, its value in italics; then the text. */
static void item(struct vs_text *out, const char *name, const char *value, const char *words) {
    vs_text_add(out, ".TP\n\\fB");
    text(out, name);
    vs_text_add(out, "\\fR");
    if (value) {
        vs_text_add(out, name[0] != '\0' ? " \\fI" : "\\fI");
        text(out, value);
        vs_text_add(out, "\\fR");
    }
    vs_text_add(out, "\n");
    text(out, words);
    vs_text_add(out, "\n");
}

/* Lines as they are. */
static void example(struct vs_text *out, const char *line) {
    vs_text_add(out, ".PP\n.RS 4\n.nf\n\\fB");
    text(out, line);
    vs_text_add(out, "\\fR\n.fi\n.RE\n");
}

/* Paragraphs whose lines were broken for a terminal; an empty line parts two of them. */
static void paragraphs(struct vs_text *out, const char *lines) {
    while (*lines != '\0') {
        char line[256];
        size_t length = strcspn(lines, "\n");
        size_t kept = length < sizeof line - 1 ? length : sizeof line - 1;
        memcpy(line, lines, kept);
        line[kept] = '\0';
        if (length == 0)
            vs_text_add(out, ".PP");
        else
            text(out, line);
        vs_text_add(out, "\n");
        lines += length + (lines[length] == '\n');
    }
}

static const char *about_axes(enum vs_cli_axes axes) {
    return axes == VS_CLI_GRID
               ? "All of OPTIONS apply. Each takes a comma list, which is one axis of a grid: "
                 "--seq 1024,2048,4096"
               : "All of OPTIONS apply, with one value each.";
}

static void command_section(struct vs_text *out, const struct vs_command *command) {
    subsection(out, command->name);
    vs_text_add(out, "\\fBvramsim ");
    text(out, command->name);
    vs_text_add(out, "\\fR ");
    text(out, command->usage);
    vs_text_add(out, "\n");
    paragraph(out, command->about);
    if (command->more[0] != '\0') {
        vs_text_add(out, ".PP\n");
        paragraphs(out, command->more);
    }
    for (size_t i = 0; i < command->option_count; i++) {
        const struct vs_cli_option *option = &command->options[i];
        item(out, option->name ? option->name : "", option->metavar, option->help);
    }
    if (command->axes != VS_CLI_NO_AXES)
        paragraph(out, about_axes(command->axes));
}

static void commands(struct vs_text *out) {
    section(out, "COMMANDS");
    for (size_t i = 0; vs_commands[i]; i++)
        command_section(out, vs_commands[i]);
    subsection(out, "help");
    vs_text_add(out, "\\fBvramsim help\\fR [\\fICOMMAND\\fR]\n");
    paragraph(out, "Print all options of a command; --help behind any command does the same.");
}

static void axis_item(struct vs_text *out, const struct vs_axis_info *info) {
    struct vs_text name = {0}, words = {0};
    vs_text_printf(&name, "--%s", info->name);
    vs_help_axis(&words, info);
    item(out, vs_text_str(&name), vs_help_metavar(info->type), vs_text_str(&words));
    out->failed = out->failed || name.failed || words.failed;
    vs_text_release(&name);
    vs_text_release(&words);
}

static void axes(struct vs_text *out) {
    section(out, "OPTIONS");
    text(out,
         "What sweep, run and limit take beside their own options. [generate] and [train] name the "
         "only task that an option is for.");
    vs_text_add(out, "\n");
    paragraph(out, vs_help_units);
    for (const struct vs_help_group *group = vs_help_groups; group->name; group++) {
        subsection(out, group->heading);
        for (int i = 0; i < VS_AXIS_COUNT; i++) {
            const struct vs_axis_info *info = vs_axis_info((enum vs_axis)i);
            if (vs_streq(info->group, group->name))
                axis_item(out, info);
        }
        if (group == vs_help_groups)
            item(out, "--set", "PATH=VALUE", vs_help_set);
    }
    subsection(out, "Everywhere");
    item(out, "-h, --help", NULL, "print the options of a command");
    item(out, "-V, --version", NULL, "print version and commit");
}

static void metrics(struct vs_text *out) {
    section(out, "METRICS");
    text(out, "What runs report and case files measure.");
    vs_text_add(out, "\n");
    for (int i = 0; i < VS_METRIC_COUNT; i++) {
        const struct vs_metric_info *info = vs_metric_info((enum vs_metric)i);
        item(out, info->name, info->unit, info->help);
    }
}

static void exit_statuses(struct vs_text *out) {
    section(out, "EXIT STATUS");
    for (const struct vs_exit_status *status = vs_exit_statuses; status->text; status++) {
        const char digit[] = {(char)('0' + status->status), '\0'};
        item(out, digit, NULL, status->text);
    }
}

static void files(struct vs_text *out) {
    static const struct {
        const char *path, *what;
    } FILES[] = {
        {"hwprofiles/devices/NAME.json", "devices (--hw), each number with its source"},
        {"hwprofiles/machines/NAME.json", "what a device stands in; a name for --hw too"},
        {"hwprofiles/hosts/NAME.json", "hosts (--host); links/ and storage/ beside it"},
        {"workloads/NAME.json", "named workloads (--workload)"},
        {"workloads/models/NAME.json", "models (--model)"},
        {"workloads/engines/NAME.json", "software stacks (--engine)"},
    };
    section(out, "FILES");
    text(out, "A name means a file below one of the data folders: those of VRAMSIM_PATH, then "
              "share/vramsim of the prefix where the program is installed. A word that holds a "
              "slash or ends in .json is the path of a file.");
    vs_text_add(out, "\n");
    for (size_t i = 0; i < sizeof FILES / sizeof *FILES; i++)
        item(out, FILES[i].path, NULL, FILES[i].what);
}

static void environment(struct vs_text *out) {
    section(out, "ENVIRONMENT");
    item(out, "VRAMSIM_PATH", NULL,
         "folders that are searched for data before all others, joined by ':'");
    item(out, "NO_COLOR", NULL, "not empty: no colors; nor are there any where TERM is dumb");
}

static void examples(struct vs_text *out) {
    section(out, "EXAMPLES");
    text(out, "Names are those of `vramsim list`.");
    vs_text_add(out, "\n");
    for (const struct vs_help_example *of = vs_help_examples; of->line; of++) {
        if (of->what)
            paragraph(out, of->what);
        example(out, of->line);
    }
}

void vs_docs_man(struct vs_text *out) {
    vs_text_printf(out, ".TH VRAMSIM 1 \"\" \"vramsim %s\" \"User Commands\"\n", vramsim_version());
    vs_text_add(out, ".\\\" Made from the option tables of the program.\n.nh\n.ad l\n");
    section(out, "NAME");
    vs_text_add(out, "vramsim \\- simulate the memory hierarchy under a language model\n");
    section(out, "SYNOPSIS");
    vs_text_add(out, "\\fBvramsim\\fR [\\fICOMMAND\\fR] \\fB\\-\\-hw\\fR \\fINAME\\fR "
                     "\\fB\\-\\-workload\\fR \\fINAME\\fR [\\fIOPTION\\fR...]\n");
    section(out, "DESCRIPTION");
    text(out, vs_help_claim);
    paragraph(out, "No GPU is needed. Without a command it is sweep. Standard output holds data "
                   "only; messages and progress go to standard error.");
    commands(out);
    axes(out);
    metrics(out);
    exit_statuses(out);
    files(out);
    environment(out);
    examples(out);
}
