/* Strategies compared: data, script and pictures in a folder, drawn by gnuplot. All is made in a
 * folder of its own inside the target and moved out when it is whole, so that a failure leaves
 * nothing behind. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/data.h"
#include "base/file.h"
#include "report/common.h"
#include "report/misfits.h"
#include "report/report.h"
#include "report/table.h"

enum { TOP = 20, OOM_ROWS = 6, ENGINES_MOST = 16, LINE = 56, TEMPLATE_BYTES_MOST = 1 << 20 };

static const char *const PRODUCTS[] = {"strategies.dat", "strategies.gp", "strategies.png",
                                       "strategies.svg"};
enum { PRODUCT_COUNT = sizeof PRODUCTS / sizeof PRODUCTS[0] };
static const char COMPLAINTS[] = "gnuplot.txt"; /* what gnuplot says; never kept */

struct chart {
    const struct vs_sweep *sweep;
    struct vs_text data, script;
    const char *engines[ENGINES_MOST];
    bool bounds[ENGINES_MOST];
    size_t engine_count, rows, fit_rows, oom_rows;
    size_t label_columns; /* of the longest line */
    bool two_lines;
};

/* Bars are speeds whatever the rank is by. */
static enum vs_metric speed_metric(const struct vs_sweep *sweep) {
    return vs_streq(sweep->task, "train")   ? VS_METRIC_TRAIN_TPS
           : vs_streq(sweep->task, "serve") ? VS_METRIC_OUT_TPS
                                            : VS_METRIC_DECODE_TPS;
}

/* 1, 2, ...: the engine's color; those beyond the last share it. */
static size_t engine_index(struct chart *chart, const struct vs_outcome *point) {
    const char *name = point->engine ? point->engine : "-";
    size_t i = 0;
    while (i < chart->engine_count && !vs_streq(chart->engines[i], name))
        i++;
    if (i == chart->engine_count && i == ENGINES_MOST)
        return ENGINES_MOST;
    if (i == chart->engine_count) {
        chart->engines[i] = name;
        chart->bounds[i] = point->bound;
        chart->engine_count++;
    }
    return i + 1;
}

/* Text that neither gnuplot's quotes nor our tabs can stumble over. */
static void put_safe(struct vs_text *out, const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        const char c = text[i];
        vs_put_n(out, c == '"' || c == '`' || c == '\\' || c == '\'' ? "." : &c, 1);
    }
}

/* A label, in two lines near its middle where it is long. gnuplot reads "\n" in data as a line
 * break. */
static void put_label(struct chart *chart, const char *label) {
    const size_t length = strlen(label);
    size_t cut = 0;
    for (size_t i = 1; length > LINE && i + 1 < length; i++) {
        const bool nearer =
            cut == 0 || labs((long)(2 * i) - (long)length) < labs((long)(2 * cut) - (long)length);
        if (label[i] == ' ' && label[i - 1] == ',' && nearer)
            cut = i;
    }
    const size_t first = cut > 0 ? cut : length, second = cut > 0 ? length - cut - 1 : 0;
    put_safe(&chart->data, label, first);
    if (cut > 0) {
        vs_text_add(&chart->data, "\\n");
        put_safe(&chart->data, label + cut + 1, second);
        chart->two_lines = true;
    }
    const size_t longest = first > second ? first : second;
    chart->label_columns = longest > chart->label_columns ? longest : chart->label_columns;
}

static void put_row(struct chart *chart, const struct vs_outcome *point, const char *remark) {
    char speed[VS_UNIT_TEXT];
    const double value = point->metrics[speed_metric(chart->sweep)];
    chart->rows++;
    (void)vs_print_g9(speed, point->fits && isfinite(value) ? value : 0);
    /* Only bars have the colour of an engine, and a place in the legend. */
    const bool bar = point->fits || chart->sweep->fit_count == 0;
    vs_text_printf(&chart->data, "%zu\t%s\t%zu\t%d\t", chart->rows, speed,
                   bar ? engine_index(chart, point) : 1, point->fits ? 0 : 1);
    put_safe(&chart->data, remark, strlen(remark));
    vs_text_add(&chart->data, "\t");
    put_label(chart, point->label && point->label[0] != '\0' ? point->label : "plain");
    vs_text_add(&chart->data, "\n");
}

static bool put_data(struct chart *chart, size_t top, struct vs_err *err) {
    const struct vs_sweep *sweep = chart->sweep;
    struct vs_misfits *groups;
    size_t count;
    char text[VS_UNIT_TEXT];
    if (!vs_misfits_find(sweep, &groups, &count))
        return vs_err_nomem(err);
    chart->oom_rows = count < OOM_ROWS ? count : OOM_ROWS;
    chart->oom_rows = chart->oom_rows < top / 2 + 1 ? chart->oom_rows : top / 2 + 1;
    chart->fit_rows = top > chart->oom_rows ? top - chart->oom_rows : 0;
    chart->fit_rows = chart->fit_rows < sweep->fit_count ? chart->fit_rows : sweep->fit_count;
    for (size_t i = 0; i < chart->fit_rows; i++) {
        struct vs_text remark = {0};
        vs_text_printf(
            &remark, "%s GiB",
            vs_report_gib_value(text, sweep->points[i]->metrics[VS_METRIC_PEAK_VRAM_GIB]));
        put_row(chart, sweep->points[i], vs_text_str(&remark));
        vs_text_release(&remark);
    }
    for (size_t g = 0; g < chart->oom_rows; g++) {
        const struct vs_outcome *point = sweep->points[groups[g].first];
        struct vs_text remark = {0};
        vs_text_printf(&remark, "OOM, %s: %s is %s short (", point->engine ? point->engine : "-",
                       point->oom->pool, vs_print_bytes(text, groups[g].least));
        vs_report_place(&remark, point->oom);
        vs_text_add(&remark, ")");
        put_row(chart, point, vs_text_str(&remark));
        vs_text_release(&remark);
    }
    free(groups);
    return true;
}

static void put_text_value(struct vs_text *out, const char *name, const struct vs_text *value) {
    vs_text_printf(out, "%s = '", name);
    put_safe(out, vs_text_str(value), value->length);
    vs_text_add(out, "'\n");
}

/* The values that the template expects, then the template. */
static void put_script(struct chart *chart, const char *template) {
    const struct vs_sweep *sweep = chart->sweep;
    struct vs_text *out = &chart->script, headline = {0}, remark = {0}, title = {0};
    vs_report_ask(&headline, sweep->workload, sweep->points, sweep->point_count);
    if (sweep->fit_count == 0)
        vs_text_add(&remark, "nothing fits");
    else if (chart->fit_rows < sweep->fit_count)
        vs_text_printf(&remark, "the first %zu of %zu strategies that fit, as ranked",
                       chart->fit_rows, sweep->fit_count);
    else
        vs_text_printf(&remark, "%zu strateg%s", sweep->fit_count,
                       sweep->fit_count == 1 ? "y fits" : "ies fit");
    if (sweep->point_count > sweep->fit_count)
        vs_text_printf(&remark, "; %zu run out of memory, shown by where: the nearest miss each",
                       sweep->point_count - sweep->fit_count);
    vs_text_add(&title, vs_metric_info(speed_metric(sweep))->help);
    vs_text_add(out, "data = 'strategies.dat'\n");
    put_text_value(out, "headline", &headline);
    put_text_value(out, "remark", &remark);
    put_text_value(out, "speed_title", &title);
    vs_text_printf(out, "rows = %zu\ntwo_lines = %d\nlabel_columns = %zu\nengines = '", chart->rows,
                   chart->two_lines, chart->label_columns);
    for (size_t i = 0; i < chart->engine_count; i++) {
        vs_text_add(out, i > 0 ? " " : "");
        put_safe(out, chart->engines[i], strcspn(chart->engines[i], " "));
    }
    vs_text_add(out, "'\nbounds = '");
    for (size_t i = 0; i < chart->engine_count; i++)
        vs_text_printf(out, "%s%d", i > 0 ? " " : "", chart->bounds[i]);
    vs_text_add(out, "'\n\n");
    vs_text_add(out, template);
    out->failed = out->failed || headline.failed || remark.failed || title.failed;
    vs_text_release(&headline);
    vs_text_release(&remark);
    vs_text_release(&title);
}

/* Whether the search path has gnuplot: asked before anything is written. */
static bool gnuplot_found(struct vs_arena *arena, struct vs_err *err) {
    const char *path = getenv("PATH");
    size_t count;
    char **folders = vs_split(arena, path ? path : "/usr/bin:/bin", ':', &count);
    if (!folders)
        return vs_err_nomem(err);
    for (size_t i = 0; i < count; i++) {
        const char *file =
            vs_arena_printf(arena, "%s/gnuplot", folders[i][0] != '\0' ? folders[i] : ".");
        if (!file)
            return vs_err_nomem(err);
        if (access(file, X_OK) == 0)
            return true;
    }
    return vs_err_set(err, VS_ERR_IO,
                      "--plot: gnuplot is not in PATH; install it (apt install gnuplot-nox)");
}

/* In the child: never returns. */
static void gnuplot_exec(const char *folder) {
    if (chdir(folder) == 0) {
        const int in = open("/dev/null", O_RDONLY);
        const int out = open(COMPLAINTS, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (in >= 0 && out >= 0 && dup2(in, 0) >= 0 && dup2(out, 1) >= 0 && dup2(out, 2) >= 0)
            (void)execlp("gnuplot", "gnuplot", "strategies.gp", (char *)NULL);
    }
    _exit(127);
}

static bool gnuplot_run(struct vs_arena *arena, const char *folder, struct vs_err *err) {
    int status = 0;
    const pid_t child = fork();
    if (child == 0)
        gnuplot_exec(folder);
    if (child < 0)
        return vs_err_set(err, VS_ERR_IO, "--plot: can't start gnuplot: %s", strerror(errno));
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR)
            return vs_err_set(err, VS_ERR_IO, "--plot: can't wait for gnuplot: %s",
                              strerror(errno));
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    char *text = NULL;
    size_t length;
    struct vs_err ignored;
    const char *path = vs_arena_printf(arena, "%s/%s", folder, COMPLAINTS);
    if (!path || !vs_file_read(arena, path, TEMPLATE_BYTES_MOST, &text, &length, &ignored))
        text = NULL;
    const char *why = text ? text + strspn(text, " ^\r\n") : "";
    return vs_err_set(err, VS_ERR_IO, "--plot: gnuplot failed: %.*s", (int)strcspn(why, "\n"), why);
}

static bool product_write(struct vs_arena *arena, const char *folder, const char *name,
                          const struct vs_text *text, struct vs_err *err) {
    const char *path = vs_arena_printf(arena, "%s/%s", folder, name);
    if (!path || text->failed)
        return vs_err_nomem(err);
    return vs_file_write(path, vs_text_str(text), text->length, err);
}

static bool products_move(struct vs_arena *arena, const char *from, const char *to,
                          struct vs_err *err) {
    for (size_t i = 0; i < PRODUCT_COUNT; i++) {
        const char *old = vs_arena_printf(arena, "%s/%s", from, PRODUCTS[i]);
        const char *new = vs_arena_printf(arena, "%s/%s", to, PRODUCTS[i]);
        if (!old || !new)
            return vs_err_nomem(err);
        if (rename(old, new) != 0)
            return vs_err_set(err, VS_ERR_IO, "%s: can't write: %s", new, strerror(errno));
    }
    return true;
}

static void folder_remove(struct vs_arena *arena, const char *folder) {
    for (size_t i = 0; i <= PRODUCT_COUNT; i++) {
        const char *path =
            vs_arena_printf(arena, "%s/%s", folder, i < PRODUCT_COUNT ? PRODUCTS[i] : COMPLAINTS);
        if (path)
            (void)unlink(path);
    }
    (void)rmdir(folder);
}

/* Draws in a folder of its own, then moves what was drawn. */
static bool draw(struct vs_arena *arena, const struct chart *chart, const char *dir,
                 struct vs_err *err) {
    const bool existed = vs_dir_exists(dir);
    char *folder = vs_arena_printf(arena, "%s/.strategies-XXXXXX", dir);
    if (!folder)
        return vs_err_nomem(err);
    if (!vs_dir_make(dir, err))
        return false;
    if (!mkdtemp(folder))
        return vs_err_set(err, VS_ERR_IO, "%s: can't write here: %s", dir, strerror(errno));
    const bool done = product_write(arena, folder, "strategies.dat", &chart->data, err) &&
                      product_write(arena, folder, "strategies.gp", &chart->script, err) &&
                      gnuplot_run(arena, folder, err) && products_move(arena, folder, dir, err);
    folder_remove(arena, folder);
    if (!done && !existed)
        (void)rmdir(dir);
    return done;
}

bool vs_report_plot(const struct vs_sweep *sweep, const char *dir, size_t top, struct vs_err *err) {
    struct chart chart = {.sweep = sweep, .label_columns = 8};
    struct vs_arena arena;
    bool done = false;
    char *template;
    size_t length;
    vs_arena_init(&arena);
    if (sweep->point_count == 0) {
        (void)vs_err_set(err, VS_ERR_INPUT, "--plot: the sweep has no strategies");
        goto out;
    }
    const char *path = vs_data_path(&arena, "reports/plots/strategies.gp");
    if (!path) {
        (void)vs_err_set(err, VS_ERR_IO,
                         "--plot: reports/plots/strategies.gp is not in the data folders");
        goto out;
    }
    if (!gnuplot_found(&arena, err) ||
        !vs_file_read(&arena, path, TEMPLATE_BYTES_MOST, &template, &length, err) ||
        !put_data(&chart, top > 0 ? top : TOP, err))
        goto out;
    put_script(&chart, template);
    done = draw(&arena, &chart, dir, err);
out:
    vs_text_release(&chart.data);
    vs_text_release(&chart.script);
    vs_arena_release(&arena);
    return done;
}
