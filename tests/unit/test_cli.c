/* The command line as a whole: exit statuses, which stream a text goes to, options of the commands.
 * What the commands print is for the golden tests. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/listing.h"
#include "cli/progress.h"
#include "unit/suite.h"

static struct vs_arena arena;
static char out_path[64], err_path[64];

/* Sends a stream to a file and back. */
static int redirect(FILE *stream, const char *path) {
    (void)fflush(stream);
    int kept = dup(fileno(stream));
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ck_assert(kept >= 0 && fd >= 0);
    ck_assert(dup2(fd, fileno(stream)) >= 0);
    (void)close(fd);
    return kept;
}

static void restore(FILE *stream, int kept) {
    (void)fflush(stream);
    ck_assert(dup2(kept, fileno(stream)) >= 0);
    (void)close(kept);
    clearerr(stream);
}

/* Runs a line as `vramsim LINE`, standard output into `out`. */
static int run_into(const char *out, const char *line) {
    char **words = NULL;
    size_t count = 0;
    struct vs_err err = {0};
    ck_assert(vs_shell_split(&arena, line, &words, &count, &err));
    int kept_out = redirect(stdout, out), kept_err = redirect(stderr, err_path);
    int status = vs_cli_main((const char *const *)words, count);
    restore(stdout, kept_out);
    restore(stderr, kept_err);
    return status;
}

static int run(const char *line) { return run_into(out_path, line); }

static const char *text_of(const char *path) {
    char *text = NULL;
    size_t length = 0;
    struct vs_err err = {0};
    ck_assert_msg(vs_file_read(&arena, path, 1 << 20, &text, &length, &err), "%s", err.text);
    return text;
}

START_TEST(data_goes_to_stdout) {
    static const char *const LINES[] = {
        "",          "--help", "-h",   "help",         "help run",    "run --help",
        "--version", "-V",     "list", "list metrics", "list --json", "run --seq 0 -h"};
    for (size_t i = 0; i < sizeof LINES / sizeof LINES[0]; i++) {
        ck_assert_int_eq(run(LINES[i]), 0);
        ck_assert_str_ne(text_of(out_path), "");
        ck_assert_str_eq(text_of(err_path), "");
    }
}
END_TEST

/* One line on standard error, nothing on standard output. */
START_TEST(bad_usage_is_2) {
    static const char *const LINES[] = {
        "swep",
        "--hwx 1",
        "run --seq 0",
        "run stray",
        "list hw hosts",
        "list nothing",
        "list --top 1",
        "show",
        "help nothing",
        "help run limit",
        "show rtx4900",
        "sweep --top 0",
        "run --json=1",
        "run --json --json",
        "sweep --sort speed",
        "limit --axis ckpt",
        "limit --axis seq,seq",
        "list --min-memory 1parsec",
        "validate --where x",
        "list models --vendor nvidia",
        "run --csv ''",
    };
    for (size_t i = 0; i < sizeof LINES / sizeof LINES[0]; i++) {
        ck_assert_msg(run(LINES[i]) == 2, "%s", LINES[i]);
        ck_assert_str_eq(text_of(out_path), "");
        const char *message = text_of(err_path);
        ck_assert_msg(vs_starts(message, "vramsim: "), "%s", message);
        ck_assert_ptr_eq(strchr(message, '\n'), message + strlen(message) - 1);
    }
}
END_TEST

START_TEST(full_disk_is_1) {
    if (access("/dev/full", W_OK) != 0)
        return;
    ck_assert_int_eq(run_into("/dev/full", "list metrics"), 1);
    ck_assert_ptr_nonnull(strstr(text_of(err_path), "cannot write to standard output"));
    ck_assert_int_eq(run_into("/dev/full", "--help"), 1);
}
END_TEST

/* Every command has a line of help for each option, and prints it. */
START_TEST(help_is_complete) {
    for (size_t i = 0; vs_commands[i]; i++) {
        struct vs_text text = {0};
        const struct vs_command *command = vs_commands[i];
        vs_help_command(&text, command);
        ck_assert(!text.failed);
        for (size_t k = 0; k < command->option_count; k++) {
            const struct vs_cli_option *option = &command->options[k];
            ck_assert_str_ne(option->help, "");
            ck_assert_int_eq(option->kind == VS_CLI_FLAG, option->metavar == NULL);
            if (option->name)
                ck_assert_ptr_nonnull(strstr(vs_text_str(&text), option->name));
        }
        if (command->axes != VS_CLI_NO_AXES) {
            for (int axis = 0; axis < VS_AXIS_COUNT; axis++)
                ck_assert_ptr_nonnull(
                    strstr(vs_text_str(&text), vs_axis_info((enum vs_axis)axis)->help));
        }
        for (const char *line = vs_text_str(&text); *line; line += strcspn(line, "\n") + 1)
            ck_assert_msg(strcspn(line, "\n") <= 100, "%s", command->name);
        vs_text_release(&text);
    }
}
END_TEST

static bool parse(struct vs_cli *cli, const char *line, struct vs_err *err) {
    char **words = NULL;
    size_t count = 0;
    ck_assert(vs_shell_split(&arena, line, &words, &count, err));
    return vs_cli_parse(cli, (const char *const *)words, count, err);
}

START_TEST(options_reach_their_values) {
    struct vs_err err = {0};
    struct vs_cli cli = {.command = &vs_command_sweep, .arena = &arena};
    ck_assert(parse(&cli, "--json --top 5 --seq 1k,2k --csv=a.csv --threads 2", &err));
    ck_assert(cli.values.json && !cli.values.markdown);
    ck_assert_int_eq(cli.values.top, 5);
    ck_assert_str_eq(cli.values.csv, "a.csv");
    ck_assert_uint_eq(vs_cli_threads(&cli), 2);
    ck_assert_uint_eq(cli.grid.lists[VS_AXIS_SEQ].count, 2);
    vs_cli_values_release(&cli.values);

    cli = (struct vs_cli){.command = &vs_command_validate, .arena = &arena};
    ck_assert(parse(&cli, "--cases a b --where 'x=1' --where 'y!=2' --json --cases c", &err));
    ck_assert_uint_eq(cli.values.cases.list.count, 3);
    ck_assert_str_eq(cli.values.cases.list.at[2], "c");
    ck_assert_uint_eq(cli.values.where.list.count, 2);
    ck_assert(cli.values.json);
    vs_cli_values_release(&cli.values);

    cli = (struct vs_cli){.command = &vs_command_list, .arena = &arena};
    ck_assert(parse(&cli, "hw --min-memory 24GiB", &err));
    ck_assert_str_eq(cli.values.names.list.at[0], "hw");
    ck_assert_uint_eq(cli.values.min_memory_bytes, 24ULL << 30);
    vs_cli_values_release(&cli.values);
}
END_TEST

static const struct vs_listing_column COLUMNS[] = {
    {"name", "name", false, false},
    {"size", "size_bytes", true, false},
};

START_TEST(listings) {
    struct vs_listing listing = {.columns = COLUMNS, .column_count = 2};
    const struct vs_num gib = {.value = 1073741824.0, .method = "derived", .source = "x"};
    const struct vs_num unknown = {.value = strtod("nan", NULL)};
    const struct vs_cell rows[][2] = {
        {vs_cell_text("a"), vs_cell_num(&arena, "size_bytes", gib)},
        {vs_cell_text("bc"), vs_cell_num(&arena, "size_bytes", unknown)},
        {vs_cell_text("d"), vs_cell_number(&arena, 0.5, NULL)},
    };
    for (size_t i = 0; i < 3; i++)
        vs_listing_add(&listing, rows[i]);
    ck_assert_uint_eq(vs_listing_rows(&listing), 3);
    struct vs_text text = {0};
    vs_listing_table(&listing, &text);
    ck_assert_str_eq(vs_text_str(&text), "name   size\n"
                                         "----  -----\n"
                                         "a     1 GiB\n"
                                         "bc\n"
                                         "d       0.5\n");
    vs_text_release(&text);
    struct vs_json_writer w;
    vs_json_begin(&w, &text);
    vs_listing_json(&listing, &w);
    ck_assert_ptr_nonnull(strstr(vs_text_str(&text), "\"size_bytes\": 1073741824"));
    ck_assert_ptr_nonnull(strstr(vs_text_str(&text), "\"size_bytes\": null"));
    ck_assert_ptr_nonnull(strstr(vs_text_str(&text), "\"size_bytes\": 0.5"));
    vs_text_release(&text);
    vs_listing_release(&listing);
}
END_TEST

/* In a pipe there is no bar, however long the work takes. */
START_TEST(no_bar_in_a_pipe) {
    struct vs_progress progress;
    int kept = redirect(stderr, err_path);
    vs_progress_begin(&progress, "points", false);
    progress.began.tv_sec -= 10;
    vs_progress_step(&progress, 1, 2);
    vs_progress_end(&progress);
    restore(stderr, kept);
    ck_assert_str_eq(text_of(err_path), "");
}
END_TEST

int main(void) {
    (void)snprintf(out_path, sizeof out_path, "/tmp/vramsim-test-cli-%ld.out", (long)getpid());
    (void)snprintf(err_path, sizeof err_path, "/tmp/vramsim-test-cli-%ld.err", (long)getpid());
    Suite *suite = suite_create("cli");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, data_goes_to_stdout);
    tcase_add_test(tests, bad_usage_is_2);
    tcase_add_test(tests, full_disk_is_1);
    tcase_add_test(tests, help_is_complete);
    tcase_add_test(tests, options_reach_their_values);
    tcase_add_test(tests, listings);
    tcase_add_test(tests, no_bar_in_a_pipe);
    suite_add_tcase(suite, tests);
    int status = run_suite(suite);
    vs_arena_release(&arena);
    (void)remove(out_path);
    (void)remove(err_path);
    return status;
}
