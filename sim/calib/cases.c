#include "calib/cases.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/stats.h"
#include "base/units.h"
#include "run/cases.h"
#include "work/options.h"

#define STEP_BOUND 3.0 /* a factor of 20: further off, the profile is another machine's */
enum { NUMBERS_MOST = 32, PATHS_MOST = 8, ROWS_MOST = 10000 };

static const struct {
    const char *paths, *more;
} FREE[] = {
#define X(paths, more) {paths, more},
#include "calib/free.def"
#undef X
};

/* Rows that a prediction of a number answers, of trust. */
static const struct vs_where USABLE[] = {
    {.field = "metric", .pattern = "^(fits|max_.*)$", .negate = true},
    {.field = "trust", .pattern = "^low$", .negate = true}};

/* One free number: its fields, and their values in the profile. */
struct number {
    const struct vs_field *fields[PATHS_MOST];
    const char *paths[PATHS_MOST];
    const struct vs_num *prior[PATHS_MOST];
    size_t count;
};

struct work {
    struct vs_arena *arena;
    const struct vs_case_fit_options *options;
    struct vs_case_fit *out;
    struct number numbers[NUMBERS_MOST];
    size_t count;
    struct vs_case_number *named; /* the same for the caller */
    size_t *index;                /* of rows that are fitted, among those of a validation */
    size_t validated;             /* rows of a validation */
};

/* ---- the machine of the rows ---- */

static const enum vs_axis MACHINE[] = {VS_AXIS_HW, VS_AXIS_HOST, VS_AXIS_RAM, VS_AXIS_LINK,
                                       VS_AXIS_STORAGE};
enum { MACHINE_WORDS = sizeof MACHINE / sizeof *MACHINE };

static bool read_words(struct vs_arena *arena, const struct vs_case_row *row,
                       struct vs_values *values, struct vs_err *err) {
    const struct vs_option_rules rules = {.lists = false};
    struct vs_grid *grid = VS_NEW(arena, struct vs_grid);
    struct vs_err why = {0};
    char **words;
    size_t count;
    if (!grid)
        return vs_err_nomem(err);
    if (!vs_shell_split(arena, row->args, &words, &count, &why) ||
        !vs_options_parse(arena, (const char *const *)words, count, &rules, grid, &why) ||
        !vs_grid_point(grid, values, &why))
        return vs_err_at(err, row->file, row->line, 0, "case '%.60s': %s", row->id, why.text);
    if (grid->set_count > 0)
        return vs_err_at(err, row->file, row->line, 0,
                         "case '%.60s': found --set, expected the machine's numbers in its profile",
                         row->id);
    return values->at[VS_AXIS_HW].text ||
           vs_err_at(err, row->file, row->line, 0, "case '%.60s': expected --hw, the machine",
                     row->id);
}

static bool same_machine(const struct vs_case_row *a, const struct vs_values *of_a,
                         const struct vs_case_row *b, const struct vs_values *of_b,
                         struct vs_err *err) {
    for (size_t i = 0; i < MACHINE_WORDS; i++) {
        const char *x = of_a->at[MACHINE[i]].text, *y = of_b->at[MACHINE[i]].text;
        const char *name = vs_axis_info(MACHINE[i])->name;
        if (x == y || (x && y && vs_streq(x, y)))
            continue;
        return vs_err_at(err, b->file, b->line, 0,
                         "case '%.60s' is of --%s %.60s, case '%.60s' in line %d of --%s %.60s: "
                         "expected rows of one machine",
                         b->id, name, y ? y : "(none)", a->id, a->line, name, x ? x : "(none)");
    }
    return true;
}

static bool load_machine(struct work *w, const struct vs_values *v, struct vs_err *err) {
    const struct vs_machine_request request = {
        .hw = v->at[VS_AXIS_HW].text,
        .host = v->at[VS_AXIS_HOST].text,
        .link = v->at[VS_AXIS_LINK].text,
        .storage = v->at[VS_AXIS_STORAGE].text,
        .ram_bytes = (uint64_t)v->at[VS_AXIS_RAM].count,
    };
    if (!vs_machine_load(w->arena, &request, &w->out->machine, err))
        return false;
    const struct vs_machine *m = w->out->machine;
    for (size_t i = 1; i < m->device_count; i++)
        if (!vs_streq(m->devices[i]->name, m->devices[0]->name))
            return vs_err_set(err, VS_ERR_INPUT,
                              "--hw %.100s has unequal devices, expected equal ones", m->hw);
    return true;
}

static bool read_machine(struct work *w, struct vs_err *err) {
    const struct vs_validate_options all = {.paths = &w->options->path, .path_count = 1};
    struct vs_cases cases = {.rows = {.count = 0}};
    struct vs_values *values = VS_NEW_ARRAY(w->arena, struct vs_values, 2);
    bool ok = values ? vs_cases_read(w->arena, &all, &cases, err) : vs_err_nomem(err);
    for (size_t i = 0; ok && i < cases.rows.count; i++) {
        const struct vs_case_row *row = &cases.rows.at[i];
        bool searched = vs_streq(row->metric, "fits") || vs_starts(row->metric, "max_");
        w->out->searched += searched;
        w->out->low_trust += !searched && row->low_trust;
        ok = read_words(w->arena, row, &values[i > 0], err) &&
             (i == 0 || same_machine(&cases.rows.at[0], &values[0], row, &values[1], err));
    }
    if (ok && cases.rows.count == 0)
        ok = vs_err_at(err, w->options->path, 0, 0, "found no case, expected at least one");
    if (ok && cases.rows.count > ROWS_MOST)
        ok = vs_err_at(err, w->options->path, 0, 0, "found %zu cases, expected at most %d",
                       cases.rows.count, ROWS_MOST);
    vs_cases_release(&cases);
    return ok && load_machine(w, &values[0], err);
}

/* ---- the free numbers ---- */

/* How far off a number may be, by where it comes from: one standard deviation, relative. Assumed:
 * data sheets bound what is reached, clocks and boards differ; a guess says little. */
static double width_of(const char *method) {
    static const struct {
        const char *method;
        double width;
    } WIDTHS[] = {{"datasheet", 0.10}, {"measured", 0.15}, {"reported", 0.15},
                  {"derived", 0.20},   {"assumed", 0.30},  {"set", 0.10}};
    for (size_t i = 0; i < sizeof WIDTHS / sizeof *WIDTHS; i++)
        if (vs_streq(WIDTHS[i].method, method))
            return WIDTHS[i].width;
    return 0.20;
}

static bool find_numbers(struct work *w, struct vs_err *err) {
    w->named = VS_NEW_ARRAY(w->arena, struct vs_case_number, NUMBERS_MOST);
    if (!w->named)
        return vs_err_nomem(err);
    for (size_t i = 0; i < sizeof FREE / sizeof *FREE; i++) {
        struct number *n = &w->numbers[w->count];
        size_t count;
        char **paths = vs_split(w->arena, FREE[i].paths, ' ', &count);
        if (!paths)
            return vs_err_nomem(err);
        n->count = 0;
        for (size_t k = 0; k < count && k < PATHS_MOST; k++) {
            const struct vs_num *prior = vs_profile_number(w->out->machine, paths[k]);
            if (!prior || !(prior->value > 0))
                continue;
            n->fields[n->count] = vs_profile_field(paths[k]);
            n->paths[n->count] = paths[k];
            n->prior[n->count++] = prior;
        }
        bool shared = w->out->machine->unified && n->count > 0 &&
                      vs_streq(n->paths[0], "host.bandwidth_bytes_per_s"); /* the device's */
        if (n->count == 0 || shared)
            continue;
        w->named[w->count++] = (struct vs_case_number){.path = n->paths[0],
                                                       .more = n->count > 1 ? FREE[i].more : "",
                                                       .prior = *n->prior[0],
                                                       .width = width_of(n->prior[0]->method),
                                                       .value = n->prior[0]->value};
    }
    w->out->numbers = w->named;
    w->out->count = w->count;
    return true;
}

static double moved(const struct number *n, size_t k, double step) {
    double value = n->prior[k]->value * exp(step);
    return fmin(n->fields[k]->high, fmax(n->fields[k]->low, value));
}

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && vs_streq(text + length - tail, end);
}

/* The words of --set: the path without its unit, the value with it. */
static bool put_set(struct vs_arena *arena, const struct number *n, size_t k, double step,
                    const char **path, const char **value) {
    static const char *const UNITS[][2] = {
        {"_bytes_per_s", "B/s"}, {"_bytes", "B"}, {"_flops", "FLOPS"}, {"_hz", "Hz"}, {"_s", "s"}};
    const struct vs_field *field = n->fields[k];
    size_t part = strlen(n->paths[k]) - strlen(field->path);
    double to = moved(n, k, step);
    const char *unit = "";
    for (size_t i = 0; i < sizeof UNITS / sizeof *UNITS && unit[0] == '\0'; i++)
        if (ends_with(field->path, UNITS[i][0]))
            unit = UNITS[i][1];
    *path = vs_arena_strndup(arena, n->paths[k], part + vs_field_name_length(field));
    *value = vs_streq(unit, "B") ? vs_arena_printf(arena, "%.0fB", to)
                                 : vs_arena_printf(arena, "%.17g%s", to, unit);
    return *path && *value;
}

/* ---- predictions ---- */

/* Simulates all rows with the numbers moved by `steps` (NULL = not at all). */
static bool simulate(struct work *w, struct vs_arena *arena, const double *steps,
                     const struct vs_validation **validation, struct vs_err *err) {
    struct vs_validate_options options = {.paths = &w->options->path,
                                          .path_count = 1,
                                          .where = USABLE,
                                          .where_count = sizeof USABLE / sizeof *USABLE,
                                          .threads = w->options->threads};
    enum { SETS_MOST = NUMBERS_MOST * PATHS_MOST };
    const char **paths = VS_NEW_ARRAY(arena, const char *, SETS_MOST);
    const char **values = VS_NEW_ARRAY(arena, const char *, SETS_MOST);
    if (!paths || !values)
        return vs_err_nomem(err);
    for (size_t j = 0; steps && j < w->count; j++) {
        const struct number *n = &w->numbers[j];
        for (size_t k = 0; steps[j] != 0 && k < n->count; k++, options.set_count++)
            if (!put_set(arena, n, k, steps[j], &paths[options.set_count],
                         &values[options.set_count]))
                return vs_err_nomem(err);
    }
    options.set_paths = paths;
    options.set_values = values;
    return vs_validate_run(arena, &options, validation, err);
}

static bool predict(void *ctx, const double *steps, double *predicted, struct vs_err *err) {
    struct work *w = ctx;
    struct vs_arena arena;
    const struct vs_validation *v;
    vs_arena_init(&arena);
    bool ok = simulate(w, &arena, steps, &v, err) &&
              (v->row_count == w->validated ||
               vs_err_at(err, w->options->path, 0, 0, "changed while it was read"));
    for (size_t i = 0; ok && i < w->out->row_count; i++) {
        const struct vs_case_row *row = &v->rows[w->index[i]];
        bool known = !row->failure && row->predicted > 0;
        predicted[i] = known ? log(row->predicted) : (double)NAN;
    }
    vs_arena_release(&arena);
    return ok;
}

/* Rows that have a prediction, and those that have none. */
static bool sort_rows(struct work *w, struct vs_err *err) {
    const struct vs_validation *v;
    struct vs_case_fit *out = w->out;
    if (!simulate(w, w->arena, NULL, &v, err))
        return false;
    w->validated = v->row_count;
    w->index = VS_NEW_ARRAY(w->arena, size_t, v->row_count + 1);
    struct vs_case_row *rows = VS_NEW_ARRAY(w->arena, struct vs_case_row, v->row_count + 1);
    struct vs_case_row *failed = VS_NEW_ARRAY(w->arena, struct vs_case_row, v->row_count + 1);
    if (!w->index || !rows || !failed)
        return vs_err_nomem(err);
    for (size_t i = 0; i < v->row_count; i++) {
        const struct vs_case_row *row = &v->rows[i];
        if (row->failure || !(row->predicted > 0) || !(row->measured > 0)) {
            failed[out->failed_count++] = *row;
            continue;
        }
        w->index[out->row_count] = i;
        rows[out->row_count++] = *row;
    }
    out->rows = rows;
    out->failed = failed;
    if (out->row_count > 0)
        return true;
    return vs_err_at(err, w->options->path, 0, 0,
                     "found no row that can be fitted (%zu of low trust, %zu OOM points or yes or "
                     "no, %zu without a prediction), expected at least one",
                     out->low_trust, out->searched, out->failed_count);
}

/* ---- the fit ---- */

static double median_error(struct work *w, const double *predicted, const double *measured,
                           double *scratch) {
    size_t n = 0;
    for (size_t i = 0; i < w->out->row_count; i++)
        if (w->out->fit.depends[i])
            scratch[n++] = fabs(exp(predicted[i] - measured[i]) - 1);
    return n > 0 ? vs_quantile(scratch, n, 0.5) : 0;
}

static bool fit_numbers(struct work *w, struct vs_err *err) {
    struct vs_case_fit *out = w->out;
    double *measured = VS_NEW_ARRAY(w->arena, double, 2 * out->row_count);
    bool *kind = VS_NEW_ARRAY(w->arena, bool, out->row_count);
    size_t *run = VS_NEW_ARRAY(w->arena, size_t, out->row_count);
    double width[NUMBERS_MOST], low[NUMBERS_MOST], high[NUMBERS_MOST];
    if (!measured || !kind || !run)
        return vs_err_nomem(err);
    for (size_t i = 0; i < out->row_count; i++) {
        enum vs_metric metric;
        measured[i] = log(out->rows[i].measured);
        while (!vs_streq(out->rows[run[i]].args, out->rows[i].args))
            run[i]++;
        kind[i] = vs_metric_find(out->rows[i].metric, &metric) && vs_metric_is_speed(metric);
    }
    for (size_t j = 0; j < w->count; j++) {
        const struct number *n = &w->numbers[j];
        width[j] = w->named[j].width;
        low[j] = -STEP_BOUND;
        high[j] = STEP_BOUND;
        for (size_t k = 0; k < n->count; k++) {
            double value = n->prior[k]->value;
            high[j] = fmin(high[j], fmax(0, log(n->fields[k]->high / value)));
            if (n->fields[k]->low > 0)
                low[j] = fmax(low[j], fmin(0, log(n->fields[k]->low / value)));
        }
    }
    const struct vs_nonlinear problem = {.rows = out->row_count,
                                         .numbers = w->count,
                                         .measured = measured,
                                         .kind = kind,
                                         .run = run,
                                         .width = width,
                                         .low = low,
                                         .high = high,
                                         .predict = predict,
                                         .ctx = w};
    if (!vs_fit_nonlinear(w->arena, &problem, &out->fit, err))
        return false;
    for (size_t j = 0; j < w->count; j++)
        w->named[j].value = moved(&w->numbers[j], 0, out->fit.numbers[j].step);
    double *scratch = measured + out->row_count;
    out->median_before = median_error(w, out->fit.before, measured, scratch);
    out->median_after = median_error(w, out->fit.after, measured, scratch);
    return true;
}

/* ---- the profile ---- */

static bool add_found(struct work *w, const struct number *n, size_t k,
                      const struct vs_nonlinear_number *fitted, struct vs_err *err) {
    struct vs_profile *p = &w->out->profile;
    const struct vs_nonlinear_fit *fit = &w->out->fit;
    const char *slash = strrchr(w->options->path, '/');
    char before[64], half[VS_UNIT_TEXT];
    vs_field_print(n->fields[k], *n->prior[k], before, sizeof before);
    double value = moved(n, k, fitted->step);
    const char *source = vs_arena_printf(
        w->arena, "fit of %s: %zu of %zu rows, %zu outliers left out, +-%s %%; before: %s (%s)",
        slash ? slash + 1 : w->options->path, fitted->rows, fit->used + fit->outliers,
        fit->outliers, vs_print_g9(half, round(1000 * fitted->half) / 10), before,
        n->prior[k]->method);
    if (!source)
        return vs_err_nomem(err);
    if (p->found_count == sizeof p->found / sizeof *p->found)
        return vs_err_set(err, VS_ERR_NOMEM, "more numbers than a profile holds");
    p->found[p->found_count++] = (struct vs_found){
        .path = n->paths[k],
        .fitted = {.value = value, .half = value * fitted->half, .used = fitted->rows},
        .source = source};
    return true;
}

/* The whole machine, so that what was not fitted stays what the rows named. */
static bool make_profile(struct work *w, struct vs_err *err) {
    const struct vs_machine *m = w->out->machine;
    struct vs_profile *p = &w->out->profile;
    *p = (struct vs_profile){.name = w->options->name,
                             .title = m->device_count > 0 ? m->devices[0]->title : m->host->title,
                             .host_title = m->host->title,
                             .host = true,
                             .storage = m->storage != NULL,
                             .device = m->device_count > 0,
                             .link = m->link != NULL,
                             .base = m,
                             .other_host = m->host,
                             .link_base = m->link,
                             .storage_base = m->storage};
    for (size_t j = 0; j < w->count; j++) {
        const struct vs_nonlinear_number *fitted = &w->out->fit.numbers[j];
        for (size_t k = 0; fitted->verdict == VS_CARRIED && k < w->numbers[j].count; k++)
            if (!add_found(w, &w->numbers[j], k, fitted, err))
                return false;
    }
    return true;
}

bool vs_cases_fit(struct vs_arena *arena, const struct vs_case_fit_options *options,
                  struct vs_case_fit *result, struct vs_err *err) {
    struct work *w = VS_NEW(arena, struct work);
    if (!w)
        return vs_err_nomem(err);
    *result = (struct vs_case_fit){0};
    w->arena = arena;
    w->options = options;
    w->out = result;
    return read_machine(w, err) && find_numbers(w, err) && sort_rows(w, err) &&
           fit_numbers(w, err) && make_profile(w, err);
}
