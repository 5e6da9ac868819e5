#include "cli/cli.h"

#include <stdio.h>

enum {
#define X(id, status, text) id = status,
#include "cli/exit.def"
#undef X
};
enum { COMMANDS_MOST = 32 };

const struct vs_command *const vs_commands[] = {
#define X(id) &vs_command_##id,
#include "cli/list.def"
#undef X
    NULL,
};

static const struct vs_command *find_command(const char *name) {
    for (size_t i = 0; vs_commands[i]; i++) {
        if (vs_streq(vs_commands[i]->name, name))
            return vs_commands[i];
    }
    return NULL;
}

static bool unknown_command(const char *word, struct vs_err *err) {
    const char *names[COMMANDS_MOST];
    char nearest[200];
    size_t count = 0;
    for (; vs_commands[count] && count < COMMANDS_MOST; count++)
        names[count] = vs_commands[count]->name;
    vs_nearest(word, names, count, nearest, sizeof nearest);
    return vs_err_set(err, VS_ERR_INPUT, "unknown command '%.80s'; nearest: %s", word, nearest);
}

static int failed(const struct vs_err *err) {
    vs_cli_error(err);
    return err->status == VS_ERR_INPUT ? EXIT_BAD_INPUT : EXIT_TROUBLE;
}

static bool is_help(const char *word) { return vs_streq(word, "--help") || vs_streq(word, "-h"); }

static bool is_version(const char *word) {
    return vs_streq(word, "--version") || vs_streq(word, "-V");
}

/* Prints a text that needs no work: help, version. */
static int print_text(struct vs_text *text) {
    struct vs_err err = {0};
    bool done = vs_cli_print(text, &err);
    vs_text_release(text);
    return done ? EXIT_DONE : failed(&err);
}

/* "help", "help COMMAND" */
static int help(const char *const *words, size_t count) {
    struct vs_text text = {0};
    struct vs_err err = {0};
    const struct vs_command *command = count > 0 ? find_command(words[0]) : NULL;
    if (count > 1) {
        (void)vs_err_set(&err, VS_ERR_INPUT, "unexpected word '%.80s', expected: help [COMMAND]",
                         words[1]);
        return failed(&err);
    }
    if (count > 0 && !command) {
        (void)unknown_command(words[0], &err);
        return failed(&err);
    }
    if (command)
        vs_help_command(&text, command);
    else
        vs_help_program(&text);
    return print_text(&text);
}

/* `words` of which the first `named` (0 or 1) are the command's name. */
static int run_command(const struct vs_command *command, const char *const *words, size_t count,
                       size_t named) {
    struct vs_err err = {0};
    struct vs_arena arena;
    vs_arena_init(&arena);
    struct vs_cli cli = {.command = command, .arena = &arena, .words = words, .word_count = count};
    bool done = vs_cli_parse(&cli, words + named, count - named, &err) &&
                command->run(&cli, &err) && vs_cli_print(&cli.out, &err);
    int status = !done                               ? failed(&err)
                 : cli.incomplete                    ? EXIT_TROUBLE
                 : cli.oom && cli.values.fail_on_oom ? EXIT_OOM
                                                     : EXIT_DONE;
    vs_text_release(&cli.out);
    vs_cli_values_release(&cli.values);
    vs_arena_release(&arena);
    return status;
}

/* No words at all, or words that name no command. */
static int run_plain(const char *const *words, size_t count) {
    struct vs_text text = {0};
    struct vs_err err = {0};
    if (count == 0) {
        vs_help_short(&text);
        return print_text(&text);
    }
    if (is_version(words[0])) {
        vs_version(&text);
        return print_text(&text);
    }
    if (vs_streq(words[0], "help"))
        return help(words + 1, count - 1);
    if (words[0][0] == '-')
        return run_command(vs_commands[0], words, count, 0);
    (void)unknown_command(words[0], &err);
    return failed(&err);
}

int vs_cli_main(const char *const *words, size_t count) {
    const struct vs_command *command = count > 0 ? find_command(words[0]) : NULL;
    for (size_t i = 0; i < count; i++) {
        if (!is_help(words[i]))
            continue;
        return help(words, command ? 1 : 0);
    }
    return command ? run_command(command, words, count, 1) : run_plain(words, count);
}
