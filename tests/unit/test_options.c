/* Words of a command line become a grid. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "unit/suite.h"
#include "work/options.h"

static struct vs_arena arena;

/* Splits `line` as a shell would and parses it. */
static bool parse(const char *line, const struct vs_option_rules *rules, struct vs_grid *grid,
                  struct vs_err *err) {
    char **words = NULL;
    size_t count = 0;
    ck_assert(vs_shell_split(&arena, line, &words, &count, err));
    return vs_options_parse(&arena, (const char *const *)words, count, rules, grid, err);
}

static struct vs_grid parsed(const char *line, bool lists) {
    const struct vs_option_rules rules = {.lists = lists};
    struct vs_grid grid = {0};
    struct vs_err err = {0};
    ck_assert_msg(parse(line, &rules, &grid, &err), "%s: %s", line, err.text);
    return grid;
}

static void check_refused(const char *line, bool lists, const char *message) {
    const struct vs_option_rules rules = {.lists = lists};
    struct vs_grid grid = {.set_count = 77};
    struct vs_err err = {0};
    ck_assert_msg(!parse(line, &rules, &grid, &err), "took '%s'", line);
    ck_assert_int_eq(err.status, VS_ERR_INPUT);
    ck_assert_str_eq(err.text, message);
    ck_assert_uint_eq(grid.set_count, 77);
}

static const char *only(const struct vs_grid *grid, enum vs_axis axis) {
    ck_assert_uint_eq(grid->lists[axis].count, 1);
    return grid->lists[axis].at[0].text;
}

START_TEST(spellings) {
    struct vs_grid grid = parsed("--hw rtx4090 --seq=4k -ngl 33", false);
    ck_assert_str_eq(only(&grid, VS_AXIS_HW), "rtx4090");
    ck_assert_str_eq(only(&grid, VS_AXIS_SEQ), "4096");
    ck_assert_str_eq(only(&grid, VS_AXIS_GPU_LAYERS), "33");
    ck_assert_uint_eq(grid.lists[VS_AXIS_BATCH].count, 0);
    ck_assert_uint_eq(grid.set_count, 0);
    grid = parsed("--ngl=all", false);
    ck_assert_str_eq(only(&grid, VS_AXIS_GPU_LAYERS), "all");
    (void)parsed("", false);
}
END_TEST

START_TEST(lists_make_a_grid) {
    struct vs_grid grid = parsed("--batch 1,2,4 --hw rtx4090,rtx3090", true);
    ck_assert_uint_eq(grid.lists[VS_AXIS_BATCH].count, 3);
    ck_assert_int_eq(grid.lists[VS_AXIS_BATCH].at[2].count, 4);
    ck_assert_str_eq(grid.lists[VS_AXIS_HW].at[1].text, "rtx3090");
    check_refused("--batch 1,2", false,
                  "--batch: found a list '1,2', expected one value (sweep and limit take lists)");
    check_refused("--batch 1,,2", true,
                  "--batch: found '', expected a whole number from 1 to 65536");
    /* 1024 and 1k are one value */
    check_refused("--seq 1024,1k", true, "--seq: '1024' stands twice in the list");
}
END_TEST

START_TEST(sets) {
    struct vs_grid grid =
        parsed("--set device.memory.bandwidth=900GB/s --set=model.experts_active=6", false);
    ck_assert_uint_eq(grid.set_count, 2);
    ck_assert_str_eq(grid.set_paths[0], "device.memory.bandwidth");
    ck_assert_str_eq(grid.set_values[0], "900GB/s");
    ck_assert_str_eq(grid.set_paths[1], "model.experts_active");
    ck_assert_str_eq(grid.set_values[1], "6");
    check_refused("--set a=1 --set a=2", false, "--set a is given twice");
    static const char *const WRONG[] = {"a", "=1", "a="};
    for (size_t i = 0; i < 3; i++) {
        char line[40], message[160];
        (void)snprintf(line, sizeof line, "--set %s", WRONG[i]);
        (void)snprintf(message, sizeof message,
                       "--set: found '%s', expected PATH=VALUE, such as "
                       "device.memory.bandwidth=900GB/s",
                       WRONG[i]);
        check_refused(line, false, message);
    }
}
END_TEST

START_TEST(bad_words) {
    check_refused("--sqe 1", false, "unknown option '--sqe'; nearest: --seq, --seed, --set");
    check_refused("-seq 1", false, "unknown option '-seq'; nearest: --seq, --ep, --set");
    check_refused("stray", false, "unexpected word 'stray', expected an option");
    check_refused("--seq 1 2", false, "unexpected word '2', expected an option");
    check_refused("--seq", false, "--seq: found the end of the line, expected a value");
    check_refused("--seq --hw x", false, "--seq: found --hw, expected a value");
    check_refused("--seq 1 --seq 1", false, "--seq is given twice");
    check_refused("--seq 1 --seq 2", true,
                  "--seq is given twice; several values are one list: 1,2,4");
    check_refused("-ngl 1 --gpu-layers 2", false, "--gpu-layers is given twice");
    /* A number behind a dash is a wrong number, not the next option. */
    check_refused("--batch -1", false,
                  "--batch: found '-1', expected a whole number from 1 to 65536");
}
END_TEST

/* A command's own option: "--json", and "--top N" with a value. */
static int own(void *ctx, const char *const *words, size_t count, struct vs_err *err) {
    int *seen = ctx;
    if (vs_streq(words[0], "--json")) {
        (*seen)++;
        return 1;
    }
    if (!vs_streq(words[0], "--top"))
        return 0;
    if (count < 2) {
        (void)vs_err_set(err, VS_ERR_INPUT, "--top wants a number");
        return -1;
    }
    *seen += 10;
    return 2;
}

START_TEST(other_options_come_first) {
    static const char *const NAMES[] = {"--json", "--top", NULL};
    int seen = 0;
    const struct vs_option_rules rules = {.other = own, .other_ctx = &seen, .other_names = NAMES};
    struct vs_grid grid = {0};
    struct vs_err err = {0};
    ck_assert(parse("--json --seq 8 --top 5", &rules, &grid, &err));
    ck_assert_int_eq(seen, 11);
    ck_assert_str_eq(only(&grid, VS_AXIS_SEQ), "8");
    ck_assert(!parse("--top", &rules, &grid, &err));
    ck_assert_str_eq(err.text, "--top wants a number");
    ck_assert(!parse("--jsn", &rules, &grid, &err));
    ck_assert(vs_starts(err.text, "unknown option '--jsn'; nearest: --json"));
}
END_TEST

START_TEST(points) {
    struct vs_values values = {0};
    struct vs_err err = {0};
    struct vs_grid grid = parsed("--seq 8k --ckpt full", true);
    ck_assert(vs_grid_point(&grid, &values, &err));
    ck_assert_int_eq(vs_count(&values, VS_AXIS_SEQ), 8192);
    ck_assert(vs_is(&values, VS_AXIS_CKPT, "full"));
    ck_assert_int_eq(values.origin[VS_AXIS_SEQ], VS_FROM_USER);
    ck_assert_int_eq(values.origin[VS_AXIS_BATCH], VS_FROM_NOTHING);
    ck_assert(!vs_given(&values, VS_AXIS_BATCH));
    grid = parsed("--seq 8k,4k", true);
    ck_assert(!vs_grid_point(&grid, &values, &err));
    ck_assert_str_eq(err.text, "--seq: found a list of 2, expected one value");
    ck_assert_int_eq(vs_count(&values, VS_AXIS_SEQ), 8192); /* as it was */
}
END_TEST

int main(void) {
    Suite *suite = suite_create("options");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, spellings);
    tcase_add_test(tests, lists_make_a_grid);
    tcase_add_test(tests, sets);
    tcase_add_test(tests, bad_words);
    tcase_add_test(tests, other_options_come_first);
    tcase_add_test(tests, points);
    suite_add_tcase(suite, tests);
    int status = run_suite(suite);
    vs_arena_release(&arena);
    return status;
}
