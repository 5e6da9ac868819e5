/* Random points in the words of the command line, from all axes, devices, models and engines. What
 * is refused is refused with a reason; what runs keeps the laws of any run, is printed in every
 * format; and the command that a report prints leads to the same plan. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data.h"
#include "base/json.h"
#include "fuzz/fuzz.h"
#include "model/format.h"
#include "report/report.h"
#include "work/options.h"

static struct vs_arena arena; /* of a round */
static struct vs_text words;

static void require(bool holds, const char *what) {
    const struct vs_err err = {.status = VS_OK};
    if (holds)
        return;
    printf("%s\n", vs_text_str(&words));
    fuzz_check(false, &err, what);
}

#define ANY(list) (list)[fuzz_below(sizeof(list) / sizeof *(list))]

/* Names with a file in a data folder. */
static const char *any_file(const char *folder) {
    const char *const *names = NULL;
    size_t count = 0;
    struct vs_err err = {.status = VS_OK};
    if (!vs_data_list(&arena, folder, &names, &count, &err) || count == 0)
        exit(2);
    return names[fuzz_below(count)];
}

static const char *any_name(enum vs_axis axis) {
    static const char *const kv[] = {"fp16", "bf16", "fp32", "fp8", "int8", "q8_0", "q4_0", "int4"};
    size_t count = 0;
    switch (axis) {
    case VS_AXIS_HOST:
        return any_file("hwprofiles/hosts");
    case VS_AXIS_LINK:
        return any_file("hwprofiles/links");
    case VS_AXIS_STORAGE:
        return any_file("hwprofiles/storage");
    case VS_AXIS_KV:
    case VS_AXIS_KV_K:
    case VS_AXIS_KV_V:
        return ANY(kv);
    case VS_AXIS_ENGINE_VERSION:
        return "b2824";
    default:
        break;
    }
    const char *const *names = vs_format_names(&count);
    return names[fuzz_below(count)];
}

/* Mostly small, now and then a bound. */
static double any_number(const struct vs_axis_info *info) {
    static const double small[] = {0, 1, 1, 1, 2, 2, 3, 4, 5, 8, 16, 33, 64, 100, 256, 1000, 4096};
    double number = fuzz_below(60) ? ANY(small) : fuzz_below(2) ? info->low : info->high;
    number = number < info->low ? info->low : number;
    return number > info->high ? info->high : number;
}

/* One of the words of an axis: "every:#" gets its number. */
static void put_word(const struct vs_axis_info *info) {
    size_t count = 0;
    char **list = vs_split(&arena, info->words, ' ', &count);
    if (!list)
        exit(2);
    const char *word = list[fuzz_below(count)];
    const size_t length = strcspn(word, "#%=");
    vs_text_addn(&words, word, length);
    if (word[length] == '#')
        vs_text_printf(&words, "%zu", 1 + fuzz_below(8));
    if (word[length] == '%')
        vs_text_add(&words, "4.5");
}

static void put_value(enum vs_axis axis) {
    static const char *const sizes[] = {"1", "64MiB", "1GiB", "24GB", "2TiB"};
    static const char *const rates[] = {"1GB/s", "25GiB/s", "400Gb/s"};
    const struct vs_axis_info *info = vs_axis_info(axis);
    const bool word = info->words[0] != '\0' && (info->type == VS_TYPE_WORD || fuzz_below(2));
    if (word) {
        put_word(info);
        for (size_t i = 0; info->type == VS_TYPE_WORDS && i < fuzz_below(3); i++) {
            vs_text_add(&words, "+");
            put_word(info);
        }
    } else if (info->type == VS_TYPE_BYTES) {
        vs_text_add(&words, ANY(sizes));
    } else if (info->type == VS_TYPE_RATE) {
        vs_text_add(&words, ANY(rates));
    } else if (info->type == VS_TYPE_NAME) {
        vs_text_add(&words, any_name(axis));
    } else if (info->type == VS_TYPE_TEXT) {
        vs_text_add(&words, axis == VS_AXIS_TENSOR_SPLIT ? "3,1" : "'ffn_.*_exps=CPU'");
    } else if (info->type == VS_TYPE_REAL) {
        vs_text_printf(&words, "%.3g",
                       info->low + (info->high - info->low) * (double)fuzz_below(9) / 8);
    } else {
        vs_text_printf(&words, "%.0f", any_number(info));
    }
}

static void put_axis(enum vs_axis axis) {
    vs_text_printf(&words, " --%s ", vs_axis_info(axis)->name);
    put_value(axis);
}

/* What runs where; then a handful of other axes that the task has. */
static void make_words(void) {
    static const char *const tasks[] = {"generate", "generate", "train", "train", "serve"};
    bool given[VS_AXIS_COUNT] = {false};
    const char *task = ANY(tasks);
    words.length = 0;
    vs_text_printf(&words, "--hw %s", any_file("hwprofiles/devices"));
    if (fuzz_below(4) == 0)
        vs_text_printf(&words, "x%zu", 1 + fuzz_below(8));
    vs_text_printf(&words, " --model %s --task %s --engine %s", any_file("workloads/models"), task,
                   fuzz_below(2) ? "ideal" : any_file("workloads/engines"));
    /* Small steps, unless drawn below. */
    for (size_t left = fuzz_below(7); left > 0; left--) {
        const enum vs_axis axis = (enum vs_axis)fuzz_below(VS_AXIS_COUNT);
        const bool fixed = axis == VS_AXIS_HW || axis == VS_AXIS_MODEL || axis == VS_AXIS_ENGINE ||
                           axis == VS_AXIS_TASK || axis == VS_AXIS_WORKLOAD;
        if (fixed || given[axis] || !strchr(vs_axis_info(axis)->tasks, task[0]))
            continue;
        given[axis] = true;
        put_axis(axis);
    }
    if (task[0] != 't' && !given[VS_AXIS_GEN])
        vs_text_add(&words, " --gen 4");
}

static bool parse(const char *line, bool lists, struct vs_grid *grid, struct vs_err *err) {
    const struct vs_option_rules rules = {.lists = lists};
    char **list = NULL;
    size_t count = 0;
    *grid = (struct vs_grid){.set_count = 0};
    return vs_shell_split(&arena, line, &list, &count, err) &&
           vs_options_parse(&arena, (const char *const *)list, count, &rules, grid, err);
}

static bool run(const char *line, const struct vs_outcome **outcome, struct vs_request *request,
                struct vs_err *err) {
    static struct vs_grid grid;
    const struct vs_run_options options = {.timeline = true, .intervals = true};
    *request = (struct vs_request){.set_count = 0};
    return parse(line, false, &grid, err) && vs_grid_point(&grid, &request->user, err) &&
           vs_run(&arena, request, &options, outcome, err);
}

static void check_laws(const struct vs_outcome *outcome) {
    require(outcome->fits == (outcome->oom == NULL), "it fits, or says where it doesn't");
    for (size_t i = 0; i < outcome->pool_count; i++) {
        const struct vs_pool_outcome *pool = &outcome->pools[i];
        require(pool->peak_allocated_bytes <= pool->peak_bytes, "allocated at most reserved");
        /* What doesn't fit reports what it would have taken. */
        require(!outcome->fits || pool->peak_bytes <= pool->capacity_bytes,
                "no pool holds more than it can");
    }
    for (size_t i = 0; i < VS_METRIC_COUNT; i++)
        require(isnan(outcome->metrics[i]) ||
                    (outcome->metrics[i] >= 0 && outcome->metrics[i] < 1e300),
                "a metric is a number that is not negative");
    for (size_t i = 0; i < outcome->utilization_count; i++)
        require(outcome->utilization[i].fraction >= 0 &&
                    outcome->utilization[i].fraction <= 1 + 1e-9,
                "no resource is used more than always");
    for (size_t i = 0; i < outcome->span_count; i++)
        require(outcome->spans[i].start_s >= 0 &&
                    outcome->spans[i].end_s >= outcome->spans[i].start_s,
                "what runs ends after it begins");
    if (outcome->oom)
        require(outcome->oom->short_bytes > 0 && outcome->oom->requested_bytes > 0,
                "what runs out lacks something");
}

static void check_json(const struct vs_text *text) {
    enum { READ_BYTES = 1 << 24 }; /* a timeline may be longer than what our reader takes */
    const struct vs_json *root = NULL;
    struct vs_err err = {.status = VS_OK};
    if (text->length <= READ_BYTES &&
        !vs_json_parse(&arena, "report", vs_text_str(text), text->length, &root, &err)) {
        printf("%s\n", err.text);
        require(false, "JSON that is none");
    }
}

static void check_reports(const struct vs_outcome *outcome, const struct vs_request *request) {
    const struct vs_report_style style = {.columns = 20 + fuzz_below(120)};
    struct vs_text text = {0};
    struct vs_err err = {.status = VS_OK};
    vs_report_run_table(&text, outcome, &style);
    vs_report_run_csv(&text, outcome);
    vs_report_run_markdown(&text, outcome);
    require(!text.failed && text.length > 0, "reports");
    text.length = 0;
    vs_report_run_json(&text, outcome);
    check_json(&text);
    text.length = 0;
    vs_report_timeline(&text, outcome);
    check_json(&text);
    text.length = 0;
    require(vs_run_plan_json(request, &text, &err), "a plan");
    check_json(&text);
    vs_text_release(&text);
}

/* The command of a point of a sweep. */
static void check_command(const struct vs_outcome *point) {
    static struct vs_request request;
    const struct vs_outcome *again = NULL;
    struct vs_text text = {0};
    struct vs_err err = {.status = VS_OK};
    vs_report_command(&text, point);
    const char *line = vs_text_str(&text);
    require(vs_starts(line, "vramsim run "), "a command");
    const bool done = run(line + strlen("vramsim run "), &again, &request, &err);
    if (!done || again->plan_digest != point->plan_digest)
        printf("%s\n%s\n", line, err.text);
    require(done, "the command of a point is refused");
    require(again->plan_digest == point->plan_digest, "the command leads to another plan");
    vs_text_release(&text);
}

static void check_sweep(void) {
    static struct vs_grid grid;
    const struct vs_sweep *sweep = NULL;
    const struct vs_sweep_options options = {.threads = 1, .oom_points = 1};
    const struct vs_report_style style = {.columns = 20 + fuzz_below(150)};
    struct vs_text text = {0};
    struct vs_err err = {.status = VS_OK};
    const bool done = parse(vs_text_str(&words), true, &grid, &err) &&
                      vs_sweep_run(&arena, &grid, &options, &sweep, &err);
    fuzz_check(done, &err, vs_text_str(&words));
    if (!done)
        return;
    vs_report_sweep_table(&text, sweep, &style);
    vs_report_sweep_csv(&text, sweep);
    vs_report_sweep_markdown(&text, sweep);
    text.length = 0;
    vs_report_sweep_json(&text, sweep);
    check_json(&text);
    vs_text_release(&text);
    require(sweep->fit_count <= sweep->point_count, "what fits is a part of all");
    if (sweep->point_count > 0)
        check_command(sweep->points[fuzz_below(sweep->point_count)]);
}

static void one_round(void) {
    static struct vs_request request;
    const struct vs_outcome *outcome = NULL;
    struct vs_err err = {.status = VS_OK};
    vs_arena_reset(&arena);
    make_words();
    if (fuzz_below(24) == 0) {
        check_sweep();
        return;
    }
    const bool done = run(vs_text_str(&words), &outcome, &request, &err);
    fuzz_check(done, &err, vs_text_str(&words));
    if (!done)
        return;
    check_laws(outcome);
    check_reports(outcome, &request);
}

int main(int count, char **list) {
    const int status = fuzz_main(count, list, one_round);
    vs_text_release(&words);
    vs_arena_release(&arena);
    return status;
}
