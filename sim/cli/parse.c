#include <string.h>

#include "base/units.h"
#include "cli/cli.h"
#include "work/options.h"

enum { OPTIONS_MOST = 32, NEAREST_SIZE = 200, THREADS_MOST = 1024, FOUND_SHOWN = 80 };

/* The option being read, with its value where one belongs to it. */
struct given {
    const struct vs_cli_option *option;
    const char *value;
    int taken; /* words */
};

struct state {
    struct vs_cli *cli;
    bool seen[OPTIONS_MOST];
};

/* "-1" is a value, "-x" and "--json" are options; "-" alone is a word. */
static bool is_option(const char *word) {
    return word[0] == '-' && word[1] != '\0' && !strchr(".0123456789", word[1]);
}

/* The option that `word` names; "--name=value" too. */
static const struct vs_cli_option *find(const struct vs_command *command, const char *word) {
    size_t length = strcspn(word, "=");
    for (size_t i = 0; i < command->option_count; i++) {
        const struct vs_cli_option *option = &command->options[i];
        bool alone = !is_option(word) && !option->name;
        if (alone || (option->name && strlen(option->name) == length &&
                      strncmp(option->name, word, length) == 0))
            return option;
    }
    return NULL;
}

static bool wrong(const struct given *given, const char *expected, struct vs_err *err) {
    return vs_err_set(err, VS_ERR_INPUT, "%s: found '%.*s', expected %s", given->option->name,
                      FOUND_SHOWN, given->value, expected);
}

static bool store_count(const struct given *given, int64_t *count, struct vs_err *err) {
    char why[VS_WHY_SIZE];
    int64_t read = 0, low = given->option->kind == VS_CLI_POSITIVE ? 1 : 0;
    if (!vs_parse_count(given->value, &read, why) || read < low)
        return wrong(given, low > 0 ? "a whole number from 1 on" : "a whole number from 0 on", err);
    *count = read;
    return true;
}

static bool store_bytes(const struct given *given, uint64_t *bytes, struct vs_err *err) {
    char why[VS_WHY_SIZE];
    if (vs_parse_bytes(given->value, bytes, why))
        return true;
    return wrong(given, why + strlen("expected "), err);
}

static bool store_word(struct vs_cli_words *words, const char *word, struct vs_err *err) {
    return vs_vec_push(&words->list, word) ? true : vs_err_nomem(err);
}

/* VS_CLI_MANY: the value and all words behind it up to the next option. */
static bool store_many(struct vs_cli_words *list, struct given *given, const char *const *words,
                       size_t count, struct vs_err *err) {
    if (!store_word(list, given->value, err))
        return false;
    while ((size_t)given->taken < count && !is_option(words[given->taken])) {
        if (!store_word(list, words[given->taken++], err))
            return false;
    }
    return true;
}

static bool store(struct vs_cli_values *values, struct given *given, const char *const *words,
                  size_t count, struct vs_err *err) {
    void *at = (char *)values + given->option->offset;
    switch (given->option->kind) {
    case VS_CLI_FLAG:
        *(bool *)at = true;
        return true;
    case VS_CLI_TEXT:
        *(const char **)at = given->value;
        return given->value[0] != '\0' || wrong(given, given->option->metavar, err);
    case VS_CLI_COUNT:
    case VS_CLI_POSITIVE:
        return store_count(given, at, err);
    case VS_CLI_BYTES:
        return store_bytes(given, at, err);
    case VS_CLI_EACH:
        return store_word(at, given->value, err);
    case VS_CLI_MANY:
        return store_many(at, given, words, count, err);
    }
    return false;
}

/* Finds the value of the option at words[0]. */
static bool take_value(struct given *given, const char *const *words, size_t count,
                       struct vs_err *err) {
    const struct vs_cli_option *option = given->option;
    const char *equals = option->name ? strchr(words[0], '=') : NULL;
    given->taken = 1;
    if (!option->name) {
        given->value = words[0];
        return true;
    }
    if (option->kind == VS_CLI_FLAG)
        return !equals || vs_err_set(err, VS_ERR_INPUT, "%s takes no value, found '%.*s'",
                                     option->name, FOUND_SHOWN, equals + 1);
    if (equals) {
        given->value = equals + 1;
        return true;
    }
    if (count < 2 || is_option(words[1]))
        return vs_err_set(err, VS_ERR_INPUT, "%s: found %s, expected %s", option->name,
                          count < 2 ? "the end of the line" : words[1], option->metavar);
    given->value = words[1];
    given->taken = 2;
    return true;
}

/* A vs_other_option: an option of the command's own table. */
static int take_option(void *ctx, const char *const *words, size_t count, struct vs_err *err) {
    struct state *state = ctx;
    const struct vs_command *command = state->cli->command;
    struct given given = {.option = find(command, words[0])};
    if (!given.option)
        return 0;
    size_t index = (size_t)(given.option - command->options);
    bool again = given.option->kind == VS_CLI_EACH || given.option->kind == VS_CLI_MANY;
    if (state->seen[index] && !again) {
        (void)vs_err_set(err, VS_ERR_INPUT, "%s is given twice", given.option->name);
        return -1;
    }
    state->seen[index] = true;
    if (!take_value(&given, words, count, err) ||
        !store(&state->cli->values, &given, words, count, err))
        return -1;
    return given.taken;
}

static size_t option_names(const struct vs_command *command, const char *names[OPTIONS_MOST + 1]) {
    size_t count = 0;
    for (size_t i = 0; i < command->option_count && i < OPTIONS_MOST; i++) {
        if (command->options[i].name)
            names[count++] = command->options[i].name;
    }
    names[count] = NULL;
    return count;
}

static bool unknown(const struct vs_command *command, const char *word, struct vs_err *err) {
    const char *names[OPTIONS_MOST + 1];
    char nearest[NEAREST_SIZE] = "";
    size_t count = option_names(command, names);
    if (!is_option(word))
        return vs_err_set(err, VS_ERR_INPUT, "unexpected word '%.*s', expected: vramsim %s %s",
                          FOUND_SHOWN, word, command->name, command->usage);
    vs_nearest(word, names, count, nearest, sizeof nearest);
    return vs_err_set(err, VS_ERR_INPUT, "unknown option '%.*s' of '%s'; nearest: %s", FOUND_SHOWN,
                      word, command->name, nearest);
}

static bool parse_own(struct state *state, const char *const *words, size_t count,
                      struct vs_err *err) {
    for (size_t i = 0; i < count;) {
        int taken = take_option(state, words + i, count - i, err);
        if (taken < 0)
            return false;
        if (taken == 0)
            return unknown(state->cli->command, words[i], err);
        i += (size_t)taken;
    }
    return true;
}

bool vs_cli_parse(struct vs_cli *cli, const char *const *words, size_t count, struct vs_err *err) {
    const char *names[OPTIONS_MOST + 1];
    struct state state = {.cli = cli};
    if (cli->command->axes == VS_CLI_NO_AXES)
        return parse_own(&state, words, count, err);
    (void)option_names(cli->command, names);
    struct vs_option_rules rules = {.lists = cli->command->axes == VS_CLI_GRID,
                                    .other = take_option,
                                    .other_ctx = &state,
                                    .other_names = names};
    return vs_options_parse(cli->arena, words, count, &rules, &cli->grid, err);
}

bool vs_cli_one_format(const struct vs_cli *cli, struct vs_err *err) {
    return !(cli->values.json && cli->values.markdown) ||
           vs_err_set(err, VS_ERR_INPUT, "--json and --markdown exclude each other");
}

unsigned vs_cli_threads(const struct vs_cli *cli) {
    int64_t threads = cli->values.threads;
    return threads < THREADS_MOST ? (unsigned)threads : THREADS_MOST;
}

void vs_cli_values_release(struct vs_cli_values *values) {
    vs_vec_release(&values->cases.list);
    vs_vec_release(&values->where.list);
    vs_vec_release(&values->names.list);
}
