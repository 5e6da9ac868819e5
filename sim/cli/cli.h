/* The command line: words become a command, its options and a grid of axes; what the command prints
 * goes to standard output once it is whole.
 *
 * A command is one file, cmd_NAME.c, and one line of list.def. It declares its options in a table,
 * from which parser, help and messages are made. Standard output holds data only; messages go to
 * standard error. */
#ifndef VS_CLI_CLI_H
#define VS_CLI_CLI_H

#include "base/arena.h"
#include "base/err.h"
#include "base/text.h"
#include "base/vec.h"
#include "work/axis.h"

struct vs_cli_words {
    VS_VEC(const char *) list;
};

/* What the options of all commands set; a command's table names those that it knows. */
struct vs_cli_values {
    bool json, markdown, fail_on_oom, quiet, names_only;
    const char *timeline, *plan_out, *on, *csv, *plot, *html; /* files to write, and a folder */
    bool skip_bad, packed;
    const char *steps_csv;
    int64_t steps;
    const char *requests_csv, *series_csv, *every, *slo_ttft, *slo_tpot; /* replay */
    const char *write_accuracy, *write_predicted;
    const char *axis, *sort, *vendor;
    const char *out_file, *folder, *samples, *from_cases, *check; /* calibrate */
    bool quick, full;
    const char *hw, *host, *model, *workload, *engine, *engine_version; /* show */
    int64_t top, threads, seed;
    uint64_t min_memory_bytes;
    struct vs_cli_words cases, where, names; /* names: words without an option */
};

enum vs_cli_kind {
    VS_CLI_FLAG,     /* bool: no value */
    VS_CLI_TEXT,     /* const char * */
    VS_CLI_COUNT,    /* int64_t, 0 or more */
    VS_CLI_POSITIVE, /* int64_t, 1 or more */
    VS_CLI_BYTES,    /* uint64_t */
    VS_CLI_EACH,     /* struct vs_cli_words: may be given again */
    VS_CLI_MANY,     /* struct vs_cli_words: takes all words up to the next option */
};

struct vs_cli_option {
    const char *name; /* "--json"; NULL: words that stand alone */
    enum vs_cli_kind kind;
    size_t offset;       /* into struct vs_cli_values */
    const char *metavar; /* "FILE"; NULL for a flag */
    const char *help;
};

/* Options that several commands share. */
#define VS_CLI_AT(member) offsetof(struct vs_cli_values, member)
#define VS_CLI_JSON                                                                                \
    { "--json", VS_CLI_FLAG, VS_CLI_AT(json), NULL, "print JSON instead of a table" }
#define VS_CLI_QUIET                                                                               \
    { "--quiet", VS_CLI_FLAG, VS_CLI_AT(quiet), NULL, "nothing but errors on standard error" }
#define VS_CLI_THREADS                                                                             \
    {                                                                                              \
        "--threads", VS_CLI_COUNT, VS_CLI_AT(threads), "N",                                        \
            "threads; the result doesn't depend on it (default: all processors)"                   \
    }
/* Of a command that works on one point after the other. */
#define VS_CLI_THREADS_IGNORED                                                                     \
    { "--threads", VS_CLI_COUNT, VS_CLI_AT(threads), "N", "taken for scripts: one is enough here" }
#define VS_CLI_SEED                                                                                \
    { "--seed", VS_CLI_COUNT, VS_CLI_AT(seed), "N", "taken for scripts: cases say their own" }
#define VS_CLI_CSV                                                                                 \
    { "--csv", VS_CLI_TEXT, VS_CLI_AT(csv), "FILE", "also write CSV" }

struct vs_cli {
    const struct vs_command *command;
    struct vs_arena *arena;   /* lives until the output is written */
    const char *const *words; /* as given, the command's name included */
    size_t word_count;
    struct vs_cli_values values;
    struct vs_grid grid;
    struct vs_text out; /* becomes standard output */
    bool incomplete;    /* something that was asked for could not be made, as was said: status 1 */
    bool oom;           /* the prediction is that it doesn't fit: status 3 with --fail-on-oom */
};

enum vs_cli_axes { VS_CLI_NO_AXES, VS_CLI_ONE_POINT, VS_CLI_GRID };

struct vs_command {
    const char *name, *about; /* one line */
    const char *usage;        /* behind "vramsim NAME " */
    const char *more;      /* paragraphs of the help, each line of at most 78 columns; "" = none */
    enum vs_cli_axes axes; /* --set too */
    const struct vs_cli_option *options;
    size_t option_count;
    bool (*run)(struct vs_cli *cli, struct vs_err *err);
};

#define X(id) extern const struct vs_command vs_command_##id;
#include "cli/list.def"
#undef X

/* All commands; NULL-terminated. */
extern const struct vs_command *const vs_commands[];

/* The whole program but for main(): returns the exit status. `words` leave out the program's name.
 */
int vs_cli_main(const char *const *words, size_t count);

/* parse.c: reads a command's words into cli->values and cli->grid. */
bool vs_cli_parse(struct vs_cli *cli, const char *const *words, size_t count, struct vs_err *err);
void vs_cli_values_release(struct vs_cli_values *values);
bool vs_cli_one_format(const struct vs_cli *cli,
                       struct vs_err *err); /* not --json and --markdown */
unsigned vs_cli_threads(const struct vs_cli *cli);

/* help.c, version.c */
void vs_help_short(struct vs_text *out);
void vs_help_program(struct vs_text *out);
void vs_help_command(struct vs_text *out, const struct vs_command *command);
/* "none, full, every:N, sqrt" from the words of an axis. */
void vs_help_words(struct vs_text *out, const char *words);
void vs_version(struct vs_text *out);

/* What help and the manual page share. Tables end in a row of NULL. */
struct vs_help_group {
    const char *name, *heading; /* `group` of an axis */
};
struct vs_help_example {
    const char *line, *what; /* `what` may be NULL */
};
struct vs_exit_status {
    int status;
    const char *text;
};
extern const struct vs_help_group vs_help_groups[];
extern const struct vs_help_example vs_help_examples[];
extern const struct vs_exit_status vs_exit_statuses[];
extern const char vs_help_claim[]; /* what the program does, in two lines */
extern const char vs_help_set[], vs_help_units[];
const char *vs_help_metavar(enum vs_axis_type type); /* "N" */
/* Meaning, words, default and task of an axis, on one line. */
void vs_help_axis(struct vs_text *out, const struct vs_axis_info *info);

/* output.c */
bool vs_cli_color(
    void); /* standard output is a terminal that shows colors, and NO_COLOR is empty */
/* Columns of the terminal that standard output is, from 80 to 200; 0 where it is none. */
size_t vs_cli_columns(void);
/* Writes a file and says so on standard error, unless --quiet. */
bool vs_cli_write(const struct vs_cli *cli, const char *path, const struct vs_text *text,
                  struct vs_err *err);
/* Says that a file was written; NULL = none was. */
void vs_cli_wrote(const struct vs_cli *cli, const char *path);
/* Writes to standard output; a closed pipe is no error. */
bool vs_cli_print(const struct vs_text *text, struct vs_err *err);
void vs_cli_error(const struct vs_err *err); /* "vramsim: TEXT" on standard error */

#endif
