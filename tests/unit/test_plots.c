/* Every plot from real results: drawn without a complaint, and in its SVG no two texts overlap and
 * none leaves the page. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "report/plot/draw.h"
#include "report/plot/plot.h"
#include "report/saved.h"
#include "sim_helpers.h"

enum { TEXTS_MOST = 4000, SVG_BYTES_MOST = 32 << 20, PICTURE_BYTES_LEAST = 3000 };

/* A text of a picture, as it stands on the page. */
struct box {
    double left, right, top, bottom;
    char text[80];
};

static char folder[] = "/tmp/vramsim-plots-XXXXXX";
static struct box boxes[TEXTS_MOST];

static void setup(void) {
    memcpy(folder + sizeof folder - 7, "XXXXXX", 6);
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void teardown(void) {
    const char *const *names;
    size_t count;
    struct vs_err err;
    ck_assert(vs_dir_list(&sim_arena, folder, "", &names, &count, &err));
    for (size_t i = 0; i < count; i++)
        (void)unlink(vs_arena_printf(&sim_arena, "%s/%s", folder, names[i]));
    ck_assert_int_eq(rmdir(folder), 0); /* no folder was left in it */
    sim_end();
}

/* ---- pictures ---- */

/* Widths of DejaVu Sans, in parts of its size, by kinds of letters; near enough for boxes. */
static double letter_width(unsigned char c) {
    if (strchr("ijl.,:;'|!()[]tfr I", c))
        return 0.36;
    return strchr("mwMW%@+", c) ? 0.88 : c >= 'A' && c <= 'Z' ? 0.68 : 0.60;
}

static double text_width(const char *text, size_t length) {
    double width = 0;
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)text[i];
        if (c == '&')
            i += strcspn(text + i, ";"); /* an entity is a letter */
        if ((c & 0xc0) != 0x80)
            width += letter_width(c);
    }
    return width;
}

static double attribute(const char *tag, const char *name) {
    const char *at = strstr(tag, name);
    ck_assert_ptr_nonnull(at);
    return strtod(at + strlen(name), NULL);
}

/* Reads "<g transform="translate(X,Y) rotate(A)" ... font-size="S" text-anchor="P">
 * <text>T</text>". */
static size_t read_boxes(const char *svg) {
    size_t count = 0;
    for (const char *at = strstr(svg, "<text>"); at; at = strstr(at + 1, "<text>")) {
        const char *tag = at, *text = at + strlen("<text>");
        const size_t length = strcspn(text, "<");
        while (strncmp(tag, "<g transform", 12) != 0)
            tag--;
        if (length == 0 || strspn(text, " ") == length)
            continue;
        const double size = attribute(tag, "font-size=\""), x = attribute(tag, "translate(");
        const double y = strtod(strchr(strstr(tag, "translate("), ',') + 1, NULL);
        const double width = size * text_width(text, length);
        const char *anchor = strstr(tag, "text-anchor=\"") + strlen("text-anchor=\"");
        const double back = anchor[0] == 'e' ? width : anchor[0] == 'm' ? width / 2 : 0;
        const char *rotated = strstr(tag, "rotate(");
        struct box *box = &boxes[count++];
        ck_assert_uint_lt(count, TEXTS_MOST);
        *box = (struct box){x - back, x - back + width, y - 0.72 * size, y + 0.1 * size, ""};
        if (rotated && rotated < at)
            *box = (struct box){x - 0.72 * size, x + 0.1 * size, y + back - width, y + back, ""};
        (void)snprintf(box->text, sizeof box->text, "%.*s", (int)length, text);
    }
    return count;
}

static bool overlap(const struct box *a, const struct box *b) {
    enum { SLACK = 1 };
    return a->left < b->right - SLACK && b->left < a->right - SLACK && a->top < b->bottom - SLACK &&
           b->top < a->bottom - SLACK;
}

static void check_svg(const char *name) {
    char *svg;
    size_t length;
    struct vs_err err;
    const char *path = vs_arena_printf(&sim_arena, "%s/%s.svg", folder, name);
    ck_assert_msg(vs_file_read(&sim_arena, path, SVG_BYTES_MOST, &svg, &length, &err), "%s",
                  err.text);
    const double width = attribute(svg, "width=\""), height = attribute(svg, "height=\"");
    const size_t count = read_boxes(svg);
    ck_assert_uint_gt(count, 5);
    ck_assert_double_eq(width, 1200);
    ck_assert_double_ge(height, 700);
    for (size_t i = 0; i < count; i++) {
        const struct box *a = &boxes[i];
        ck_assert_msg(a->left >= -1 && a->right <= width + 1 && a->top >= 0 && a->bottom <= height,
                      "%s: '%s' leaves the page", name, a->text);
        for (size_t k = 0; k < i; k++)
            ck_assert_msg(!overlap(a, &boxes[k]), "%s: '%s' lies over '%s'", name, a->text,
                          boxes[k].text);
    }
}

/* Draws all plots of a result: those named, blank-separated, and no other. */
static void check(const struct vs_result *result, size_t top, const char *expected) {
    static const char *const FORMS[] = {"svg", "png", "pdf"};
    struct vs_plot_report report;
    struct vs_err err;
    struct vs_text names = {0};
    ck_assert_msg(vs_plot(&sim_arena, result, folder, top, &report, &err), "%s", err.text);
    ck_assert_int_eq(report.drawn, VS_PLOT_PICTURES);
    ck_assert_str_eq(report.complaints, "");
    for (size_t i = 0; i < report.count; i++) {
        vs_text_printf(&names, "%s%s", i > 0 ? " " : "", report.names[i]);
        for (size_t f = 0; f < sizeof FORMS / sizeof FORMS[0]; f++) {
            struct stat info;
            const char *path =
                vs_arena_printf(&sim_arena, "%s/%s.%s", folder, report.names[i], FORMS[f]);
            ck_assert_int_eq(stat(path, &info), 0);
            ck_assert_int_gt(info.st_size, PICTURE_BYTES_LEAST);
        }
        check_svg(report.names[i]);
    }
    ck_assert_str_eq(vs_text_str(&names), expected);
    vs_text_release(&names);
}

/* ---- results ---- */

static void check_sweep(const char *words, size_t top, const char *expected) {
    const struct vs_result result = {
        .sweep = sim_sweep(words),
        .command = vs_arena_printf(&sim_arena, "vramsim %s --plot DIR", words)};
    check(&result, top, expected);
}

static void check_run(const char *words, const char *expected) {
    const struct vs_run_options options = {.timeline = true, .intervals = true};
    const struct vs_result result = {
        .run = sim_outcome(words, &options),
        .command = vs_arena_printf(&sim_arena, "vramsim run %s --plot DIR", words)};
    check(&result, 0, expected);
}

START_TEST(few_strategies) {
    check_sweep("--hw rtx4090 --workload qlora70b", 5, "front heat memory strategies");
}
END_TEST

START_TEST(many_strategies) {
    check_sweep("--hw rtx4090 --workload qlora70b", 60, "front heat memory strategies");
    check_sweep("--hw rtx4090 --workload chat8b --weights q4_k_m,q5_k_m,q6_k,q8_0 --kv "
                "fp16,q8_0,q4_0 --batch 1,2,4,8,16 --gpu-layers all",
                60, "curves front heat memory strategies");
}
END_TEST

START_TEST(along_an_axis) {
    check_sweep(
        "--hw rtx4090 --workload chat8b --ctx 80k --depth 1k,4k,16k,64k --weights q4_k_m,q8_0 "
        "--kv fp16,q8_0 --gpu-layers all",
        20, "curves front heat memory strategies");
}
END_TEST

START_TEST(hardware) {
    check_sweep("--hw rtx3060,rtx3090,rtx4090,rtx5090,a100,h100,b200,m2-ultra,m4-max --workload "
                "chat8b --gpu-layers all --kv fp16 --weights fp16,q4_k_m",
                20, "front hardware heat memory strategies");
}
END_TEST

START_TEST(one_strategy) {
    check_sweep("--hw toy --model toy --engine ideal --task generate --weights fp16 --kv fp16 "
                "--gpu-layers all --kv-place gpu",
                20, "memory strategies");
}
END_TEST

START_TEST(nothing_fits) {
    check_sweep("--hw rtx3060 --workload qlora70b --ram 8GiB", 20, "memory strategies");
}
END_TEST

/* Names may hold anything; pictures show them, and no reader of ours or of gnuplot's stumbles. */
START_TEST(odd_names) {
    const struct vs_sweep *made = sim_sweep("--hw toy --model toy --engine ideal --task generate "
                                            "--weights fp16 --kv fp16,q8_0 --gpu-layers all "
                                            "--offload none");
    struct vs_outcome *point = (struct vs_outcome *)(uintptr_t)made->points[0];
    point->label = "a 'b' \"c\" `touch x` $HOME <b>&amp;</b> \\n \t \xc3\xa4 \xe2\x82\xac";
    const struct vs_result result = {.sweep = made, .command = "vramsim 'it''s' \"<&>\" `x`"};
    check(&result, 20, "memory strategies");
}
END_TEST

START_TEST(limits) {
    enum { COUNT = 8 };
    static const char *const CTX[] = {"1k", "4k", "16k", "64k"};
    const struct vs_limit *list[COUNT];
    struct vs_err err;
    for (size_t i = 0; i < COUNT; i++) {
        struct vs_request request;
        const char *words =
            vs_arena_printf(&sim_arena, "--hw rtx4090 --workload chat8b --ctx %s --kv %s",
                            CTX[i % 4], i < 4 ? "fp16" : "q8_0");
        ck_assert(sim_request(words, &request, &err));
        ck_assert_msg(vs_limit_run(&sim_arena, &request, VS_AXIS_BATCH, &list[i], &err), "%s",
                      err.text);
    }
    const struct vs_result result = {.limits = list, .limit_count = COUNT, .command = "x"};
    check(&result, 0, "frontier");
}
END_TEST

START_TEST(a_training_step) {
    check_run("--hw rtx4090 --workload qlora70b --engine fsdp --optim adamw --offload-param cpu",
              "levels memory roofline streams");
}
END_TEST

START_TEST(generation_on_two_processors) {
    check_run("--hw rtx4090 --workload chat70b-q4 --offload cpu --gpu-layers auto",
              "levels memory roofline streams");
}
END_TEST

START_TEST(a_run_that_runs_out) {
    check_run("--hw rtx4090 --workload qlora70b --engine hf", "levels memory streams");
}
END_TEST

START_TEST(validation) {
    const char *const paths[] = {"tests/measured/training.csv", "tests/measured/llamacpp.csv"};
    const struct vs_validate_options options = {.paths = paths, .path_count = 2, .threads = 1};
    struct vs_result result = {.command = "vramsim validate --plot DIR"};
    struct vs_err err;
    ck_assert_msg(vs_validate_run(&sim_arena, &options, &result.validation, &err), "%s", err.text);
    check(&result, 0, "accuracy");
}
END_TEST

/* What a replay of 400 requests wrote, with a time of heavy load (tests/replay). */
START_TEST(replay) {
    struct vs_result requests, series;
    struct vs_err err;
    ck_assert_msg(vs_saved_load(&sim_arena, "tests/replay/requests.csv", &requests, &err), "%s",
                  err.text);
    ck_assert_msg(vs_saved_load(&sim_arena, "tests/replay/series.csv", &series, &err), "%s",
                  err.text);
    ck_assert_uint_eq(requests.replay->request_count, 400);
    struct vs_replayed both = *requests.replay;
    both.moments = series.replay->moments;
    both.moment_count = series.replay->moment_count;
    const struct vs_result result = {.replay = &both, .command = "vramsim plot requests.csv"};
    check(&result, 0, "latencies serving");
}
END_TEST

/* The same from a run itself: it keeps what it takes to draw. */
START_TEST(served) {
    const struct vs_run_options options = {.timeline = true};
    struct vs_result result = vs_result_of_run(sim_outcome(
        "--hw rtx4090 --model llama-3.1-8b --engine vllm --task serve --requests 400 --rate 4 "
        "--prompt 700 --gen 200 --length-range 0.3 --ctx 8192",
        &options));
    ck_assert_ptr_nonnull(result.replay);
    ck_assert_uint_eq(result.replay->request_count, 400);
    result.command = "vramsim replay --plot DIR";
    check(&result, 0, "latencies memory serving");
}
END_TEST

/* ---- what can go wrong ---- */

static const struct vs_result *small(void) {
    static struct vs_result result;
    result = (struct vs_result){
        .sweep = sim_sweep("--hw toy --model toy --engine ideal --task generate --weights fp16")};
    return &result;
}

START_TEST(one_picture) {
    struct vs_plot_report report;
    struct vs_err err;
    const char *const *names;
    size_t count;
    const char *file = vs_arena_printf(&sim_arena, "%s/memory.png", folder);
    ck_assert_msg(vs_plot(&sim_arena, small(), file, 0, &report, &err), "%s", err.text);
    ck_assert_uint_eq(report.count, 1);
    ck_assert(vs_dir_list(&sim_arena, folder, ".png", &names, &count, &err));
    ck_assert_uint_eq(count, 1);
    ck_assert(vs_dir_list(&sim_arena, folder, ".svg", &names, &count, &err));
    ck_assert_uint_eq(count, 0);
    file = vs_arena_printf(&sim_arena, "%s/nonsense.svg", folder);
    ck_assert(!vs_plot(&sim_arena, small(), file, 0, &report, &err));
    ck_assert_int_eq(err.status, VS_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(err.text, "memory"));
}
END_TEST

/* Tables and scripts are there for a machine that has gnuplot. */
START_TEST(no_gnuplot) {
    struct vs_plot_report report;
    struct vs_err err;
    const char *old = getenv("PATH"), *const * names;
    char *kept = strdup(old ? old : "/usr/bin:/bin");
    size_t scripts, pictures;
    ck_assert_int_eq(setenv("PATH", "/nonexistent", 1), 0);
    ck_assert(vs_plot(&sim_arena, small(), folder, 0, &report, &err));
    ck_assert_int_eq(setenv("PATH", kept, 1), 0);
    free(kept);
    ck_assert_int_eq(report.drawn, VS_PLOT_NO_GNUPLOT);
    ck_assert(vs_dir_list(&sim_arena, folder, ".gp", &names, &scripts, &err));
    ck_assert(vs_dir_list(&sim_arena, folder, ".svg", &names, &pictures, &err));
    ck_assert_uint_eq(scripts, report.count);
    ck_assert_uint_eq(pictures, 0);
}
END_TEST

START_TEST(nowhere_to_write) {
    struct vs_plot_report report;
    struct vs_err err;
    ck_assert(!vs_plot(&sim_arena, small(), "/dev/null/x", 0, &report, &err));
    ck_assert_int_eq(err.status, VS_ERR_IO);
}
END_TEST

START_TEST(nothing_to_draw) {
    const struct vs_sweep none = {.point_count = 0};
    const struct vs_result result = {.sweep = &none};
    struct vs_plot_report report;
    struct vs_err err;
    ck_assert(!vs_plot(&sim_arena, &result, folder, 0, &report, &err));
    ck_assert_int_eq(err.status, VS_ERR_INPUT);
}
END_TEST

int main(void) {
    enum { SKIPPED = 77 };
    Suite *suite = suite_create("plots");
    TCase *tests = tcase_create("plots");
    const bool can = vs_gnuplot_found(&sim_arena);
    sim_end();
    if (!can) {
        (void)fprintf(stderr, "skipped: gnuplot is not in PATH\n");
        return SKIPPED;
    }
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, few_strategies);
    tcase_add_test(tests, many_strategies);
    tcase_add_test(tests, along_an_axis);
    tcase_add_test(tests, hardware);
    tcase_add_test(tests, one_strategy);
    tcase_add_test(tests, nothing_fits);
    tcase_add_test(tests, odd_names);
    tcase_add_test(tests, limits);
    tcase_add_test(tests, a_training_step);
    tcase_add_test(tests, generation_on_two_processors);
    tcase_add_test(tests, a_run_that_runs_out);
    tcase_add_test(tests, validation);
    tcase_add_test(tests, replay);
    tcase_add_test(tests, served);
    tcase_add_test(tests, one_picture);
    tcase_add_test(tests, no_gnuplot);
    tcase_add_test(tests, nowhere_to_write);
    tcase_add_test(tests, nothing_to_draw);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
