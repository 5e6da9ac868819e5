#include "report/plot/plot.h"

#include <string.h>

#include "base/data.h"
#include "base/file.h"
#include "report/common.h"
#include "report/plot/draw.h"
#include "report/plot/script.h"

enum { STYLE_BYTES_MOST = 1 << 20, NAMES_SIZE = 300 };
static const char SCRIPTS[] = "reports/plots";
static const char FORMS[] = "svg png pdf";

/* What is to be drawn where. */
struct job {
    struct vs_arena *arena;
    struct vs_book book;
    const char *folder;
    const char *only;  /* one plot; NULL = all */
    const char *forms; /* blank-separated */
    struct vs_script *scripts;
    size_t count;
};

static const struct vs_plot_table *const TABLES[] = {
#define X(id) &vs_plot_table_##id,
#include "report/plot/list.def"
#undef X
};

/* Points behind a result, for its headline. */
static const struct vs_outcome *const *asked(struct vs_book *book, size_t *count) {
    const struct vs_result *r = book->result;
    if (!r->limits)
        return vs_result_points(r, count);
    const struct vs_outcome **runs =
        VS_NEW_ARRAY(&book->arena, const struct vs_outcome *, r->limit_count + 1);
    *count = 0;
    for (size_t i = 0; runs && i < r->limit_count; i++) {
        const struct vs_outcome *run = r->limits[i]->at ? r->limits[i]->at : r->limits[i]->beyond;
        if (run)
            runs[(*count)++] = run;
    }
    return runs;
}

/* Values that every plot has. */
static void put_values(struct vs_book *book) {
    struct vs_text headline = {0};
    size_t count;
    const struct vs_outcome *const *points = asked(book, &count);
    if (book->result->validation)
        vs_text_printf(&headline,
                       "%zu rows of measured cases; those with a prediction and without "
                       "low trust are shown",
                       book->result->validation->row_count);
    else if (points && count > 0)
        vs_report_ask(&headline, book->result->sweep ? book->result->sweep->workload : NULL, points,
                      count);
    else if (book->result->replay && book->result->replay->request_count > 0)
        vs_text_printf(&headline, "replay: %zu requests answered",
                       book->result->replay->request_count);
    else if (book->result->replay)
        vs_text_add(&headline, "replay");
    vs_book_words(book, "headline", vs_text_str(&headline));
    vs_book_words(book, "command", book->result->command ? book->result->command : "");
    vs_book_words(book, "result", vs_result_kind(book->result));
    if (count > 0)
        vs_book_words(book, "speed_title", vs_metric_info(vs_result_speed(points[0]))->help);
    book->failed = book->failed || headline.failed;
    vs_text_release(&headline);
}

static bool book_write(struct job *job, struct vs_err *err) {
    put_values(&job->book);
    for (size_t i = 0; i < sizeof TABLES / sizeof TABLES[0]; i++)
        TABLES[i]->write(&job->book);
    return !job->book.failed || vs_err_nomem(err);
}

/* "DIR/NAME.svg" is one picture, everything else a folder. */
static bool understand(struct job *job, const char *where, struct vs_err *err) {
    const char *slash = strrchr(where, '/'), *file = slash ? slash + 1 : where;
    const char *dot = strrchr(file, '.');
    job->folder = where;
    job->forms = FORMS;
    if (!dot || dot == file || vs_dir_exists(where) ||
        (!vs_streq(dot, ".svg") && !vs_streq(dot, ".png") && !vs_streq(dot, ".pdf")))
        return true;
    job->forms = vs_arena_strdup(job->arena, dot + 1);
    job->only = vs_arena_strndup(job->arena, file, (size_t)(dot - file));
    job->folder = slash ? vs_arena_strndup(job->arena, where, (size_t)(slash - where)) : ".";
    if (slash == where)
        job->folder = "/";
    return (job->forms && job->only && job->folder) || vs_err_nomem(err);
}

static bool not_there(const struct job *job, const char *const *names, size_t count,
                      struct vs_err *err) {
    char text[NAMES_SIZE] = "";
    struct vs_text list = {0};
    for (size_t i = 0; i < count; i++)
        vs_text_printf(&list, "%s%s", i > 0 ? ", " : "", names[i]);
    strncat(text, vs_text_str(&list), sizeof text - 1);
    vs_text_release(&list);
    return job->only ? vs_err_set(err, VS_ERR_INPUT,
                                  "plot: found '%.80s', expected a plot of this result: %s",
                                  job->only, text)
                     : vs_err_set(err, VS_ERR_INPUT, "plot: the %s has nothing to draw",
                                  vs_result_kind(job->book.result));
}

/* The scripts that apply, and of these the one that is wanted. */
static bool scripts_find(struct job *job, struct vs_err *err) {
    const char *const *names;
    size_t count, there = 0;
    if (!vs_data_list_files(job->arena, SCRIPTS, ".gp", &names, &count, err))
        return false;
    const char **found = VS_NEW_ARRAY(job->arena, const char *, count + 1);
    job->scripts = VS_NEW_ARRAY(job->arena, struct vs_script, count + 1);
    if (!found || !job->scripts)
        return vs_err_nomem(err);
    for (size_t i = 0; i < count; i++) {
        struct vs_script *script = &job->scripts[job->count];
        const char *path = vs_arena_printf(job->arena, "%s/%s.gp", SCRIPTS, names[i]);
        bool applies;
        path = path ? vs_data_path(job->arena, path) : NULL;
        if (!path)
            return vs_err_nomem(err);
        if (!vs_script_load(job->arena, names[i], path, script, err) ||
            !vs_script_applies(job->arena, script, &job->book, &applies, err))
            return false;
        if (applies)
            found[there++] = names[i];
        job->count += applies && (!job->only || vs_streq(job->only, names[i]));
    }
    return job->count > 0 || not_there(job, found, there, err);
}

/* What scripts load: copied as it is. */
static bool put_styles(struct job *job, struct vs_easel *easel, struct vs_err *err) {
    const char *const *names;
    size_t count, length;
    char *text;
    if (!vs_data_list_files(job->arena, SCRIPTS, ".gpi", &names, &count, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        const char *file = vs_arena_printf(job->arena, "%s.gpi", names[i]);
        const char *path = file ? vs_arena_printf(job->arena, "%s/%s", SCRIPTS, file) : NULL;
        path = path ? vs_data_path(job->arena, path) : NULL;
        if (!path)
            return vs_err_nomem(err);
        if (!vs_file_read(job->arena, path, STYLE_BYTES_MOST, &text, &length, err) ||
            !vs_easel_put(easel, file, text, length, err))
            return false;
    }
    return true;
}

static bool is_read(const struct job *job, const char *table) {
    for (size_t i = 0; i < job->count; i++) {
        const char *at = strstr(job->scripts[i].tables, table);
        const size_t length = strlen(table);
        for (; at; at = strstr(at + 1, table))
            if ((at == job->scripts[i].tables || at[-1] == ' ') &&
                (at[length] == '\0' || at[length] == ' '))
                return true;
    }
    return false;
}

static bool put_tables(struct job *job, struct vs_easel *easel, struct vs_err *err) {
    for (size_t i = 0; i < job->book.tables.count; i++) {
        const struct vs_book_table *table = &job->book.tables.at[i];
        const char *file = vs_arena_printf(job->arena, "%s.tsv", table->name);
        if (!file)
            return vs_err_nomem(err);
        if (is_read(job, table->name) &&
            !vs_easel_put(easel, file, table->text.at, table->text.length, err))
            return false;
    }
    return true;
}

static bool put_scripts(struct job *job, struct vs_easel *easel, struct vs_err *err) {
    for (size_t i = 0; i < job->count; i++) {
        struct vs_text text = {0};
        const char *file = vs_arena_printf(job->arena, "%s.gp", job->scripts[i].name);
        vs_script_write(&job->scripts[i], &job->book, job->forms, &text);
        const bool ok = file && !text.failed ? vs_easel_put(easel, file, text.at, text.length, err)
                                             : vs_err_nomem(err);
        vs_text_release(&text);
        if (!ok)
            return false;
    }
    return true;
}

static bool draw(struct job *job, struct vs_easel *easel, struct vs_plot_report *report,
                 struct vs_err *err) {
    const char **names = VS_NEW_ARRAY(job->arena, const char *, job->count);
    const bool can = vs_gnuplot_found(job->arena);
    if (!names)
        return vs_err_nomem(err);
    for (size_t i = 0; i < job->count; i++) {
        names[i] = job->scripts[i].name;
        if (can && !vs_easel_draw(easel, names[i], job->forms, err))
            return false;
    }
    *report = (struct vs_plot_report){.drawn = can ? VS_PLOT_PICTURES : VS_PLOT_NO_GNUPLOT,
                                      .folder = job->folder,
                                      .names = names,
                                      .count = job->count};
    report->complaints = vs_arena_strdup(job->arena, vs_text_str(&easel->complaints));
    return report->complaints || vs_err_nomem(err);
}

bool vs_plot(struct vs_arena *arena, const struct vs_result *result, const char *where, size_t top,
             struct vs_plot_report *report, struct vs_err *err) {
    struct job job = {.arena = arena};
    struct vs_easel easel;
    vs_book_init(&job.book, result, top);
    bool done = book_write(&job, err) && understand(&job, where, err) && scripts_find(&job, err);
    if (done) {
        done = vs_easel_open(&easel, arena, job.folder, err) && put_styles(&job, &easel, err) &&
               put_tables(&job, &easel, err) && put_scripts(&job, &easel, err) &&
               draw(&job, &easel, report, err) && vs_easel_keep(&easel, err);
        vs_easel_close(&easel);
    }
    vs_book_release(&job.book);
    return done;
}
