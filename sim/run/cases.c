#include "run/cases.h"

#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/text.h"
#include "base/units.h"

enum { ID, ARGS, METRIC, VALUE, UNIT, TOLERANCE, TRUST, GROUP, SOURCE, NOTES, COLUMNS };
static const char *const header[COLUMNS] = {"id",        "args",  "metric", "value",  "unit",
                                            "tolerance", "trust", "group",  "source", "notes"};

/* Longer ones would let a pattern overflow the stack of the C library's compiler of expressions. */
enum { PATTERN_BYTES_MOST = 1000 };

struct filter {
    const struct vs_where *where;
    regex_t regex;
};

struct reader {
    struct vs_arena *arena, scratch; /* scratch: words of one command line */
    struct filter *filters;
    size_t filter_count;
    struct vs_cases *cases;
};

static const char *const fields[] = {"id", "args", "metric", "trust", "group", "engine"};
enum { FIELD_COUNT = sizeof fields / sizeof fields[0] };

static const char *field_of(const struct vs_case_row *row, const char *field) {
    const char *const values[FIELD_COUNT] = {row->id,    row->args,  row->metric,
                                             row->trust, row->group, row->engine};
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        if (vs_streq(field, fields[i]))
            return values[i];
    }
    return NULL;
}

static bool filter_open(struct filter *filter, const struct vs_where *where, struct vs_err *err) {
    const struct vs_case_row none = {
        .id = "", .args = "", .metric = "", .trust = "", .group = "", .engine = ""};
    if (!field_of(&none, where->field)) {
        char near[128];
        vs_nearest(where->field, fields, FIELD_COUNT, near, sizeof near);
        return vs_err_set(err, VS_ERR_INPUT, "--where: unknown field '%s'; nearest: %s",
                          where->field, near);
    }
    if (strlen(where->pattern) > PATTERN_BYTES_MOST)
        return vs_err_set(err, VS_ERR_INPUT, "--where %s: expression longer than %d bytes",
                          where->field, PATTERN_BYTES_MOST);
    int status = regcomp(&filter->regex, where->pattern, REG_EXTENDED | REG_NOSUB);
    if (status != 0) {
        char why[128];
        (void)regerror(status, &filter->regex, why, sizeof why);
        return vs_err_set(err, VS_ERR_INPUT,
                          "--where %s: '%s' is no extended regular expression: %s", where->field,
                          where->pattern, why);
    }
    filter->where = where;
    return true;
}

static bool wanted(const struct reader *reader, const struct vs_case_row *row) {
    for (size_t i = 0; i < reader->filter_count; i++) {
        const struct filter *filter = &reader->filters[i];
        bool match = regexec(&filter->regex, field_of(row, filter->where->field), 0, NULL, 0) == 0;
        if (match == filter->where->negate)
            return false;
    }
    return true;
}

/* The engine that `args` names, "" where none or where the quoting is broken (running it will say
 * so). */
static const char *engine_of(struct reader *reader, const char *args) {
    static const char option[] = "--engine";
    char **words;
    size_t count;
    struct vs_err ignored;
    const char *engine = "";
    vs_arena_reset(&reader->scratch);
    if (!vs_shell_split(&reader->scratch, args, &words, &count, &ignored))
        return "";
    for (size_t i = 0; i < count; i++) {
        if (vs_streq(words[i], option) && i + 1 < count)
            engine = words[i + 1];
        else if (vs_starts(words[i], option) && words[i][sizeof option - 1] == '=')
            engine = words[i] + sizeof option;
    }
    return vs_arena_strdup(reader->arena, engine);
}

static bool row_read(struct reader *reader, const struct vs_csv *csv, const char *path,
                     struct vs_err *err) {
    const int line = vs_csv_line(csv);
    const char *texts[COLUMNS];
    for (size_t i = 0; i < COLUMNS; i++) {
        texts[i] = vs_arena_strdup(reader->arena, vs_csv_field(csv, i));
        if (!texts[i])
            return vs_err_nomem(err);
    }
    struct vs_case_row row = {.file = path,
                              .line = line,
                              .id = texts[ID],
                              .args = texts[ARGS],
                              .metric = texts[METRIC],
                              .unit = texts[UNIT],
                              .trust = texts[TRUST],
                              .group = texts[GROUP],
                              .source = texts[SOURCE],
                              .notes = texts[NOTES],
                              .predicted = (double)NAN,
                              .error = (double)NAN,
                              .signed_error = (double)NAN,
                              .low = (double)NAN,
                              .high = (double)NAN,
                              .low_trust = vs_streq(texts[TRUST], "low")};
    char why[VS_WHY_SIZE];
    if (!vs_parse_number(texts[VALUE], &row.measured, why))
        return vs_err_at(err, path, line, 0, "case '%s': value '%s': %s", row.id, texts[VALUE],
                         why);
    if (!row.low_trust && !vs_streq(row.trust, "medium") && !vs_streq(row.trust, "high"))
        return vs_err_at(err, path, line, 0, "case '%s': trust '%s', expected high, medium or low",
                         row.id, row.trust);
    row.engine = engine_of(reader, row.args);
    if (!row.engine)
        return vs_err_nomem(err);
    if (wanted(reader, &row) && !vs_vec_push(&reader->cases->rows, row))
        return vs_err_nomem(err);
    return true;
}

static bool header_fits(const struct vs_csv *csv) {
    if (vs_csv_columns(csv) != COLUMNS)
        return false;
    for (size_t i = 0; i < COLUMNS; i++) {
        if (!vs_streq(vs_csv_header(csv, i), header[i]))
            return false;
    }
    return true;
}

static bool file_read(struct reader *reader, const char *path, bool named, struct vs_err *err) {
    struct vs_csv *csv = vs_csv_open(path, err);
    if (!csv)
        return false;
    bool done = false, more = true;
    if (!header_fits(csv)) {
        if (named)
            done = vs_err_at(err, path, 1, 0,
                             "not a case file, expected the header "
                             "id,args,metric,value,unit,tolerance,trust,group,source,notes");
        else
            done = vs_vec_push(&reader->cases->skipped, path) || vs_err_nomem(err);
        goto out;
    }
    while (more) {
        if (!vs_csv_next(csv, &more, err) || (more && !row_read(reader, csv, path, err)))
            goto out;
    }
    done = true;
out:
    vs_csv_close(csv);
    return done;
}

static bool folder_read(struct reader *reader, const char *folder, struct vs_err *err) {
    const char *const *names;
    size_t count;
    if (!vs_dir_list(reader->arena, folder, ".csv", &names, &count, err))
        return false;
    if (count == 0)
        return vs_err_set(err, VS_ERR_INPUT, "%s: no *.csv in this folder", folder);
    const char *slash = folder[strlen(folder) - 1] == '/' ? "" : "/";
    for (size_t i = 0; i < count; i++) {
        const char *path = vs_arena_printf(reader->arena, "%s%s%s.csv", folder, slash, names[i]);
        if (!path)
            return vs_err_nomem(err);
        if (!file_read(reader, path, false, err))
            return false;
    }
    return true;
}

bool vs_cases_read(struct vs_arena *arena, const struct vs_validate_options *options,
                   struct vs_cases *cases, struct vs_err *err) {
    struct reader reader = {.arena = arena, .cases = cases};
    bool done = false;
    vs_arena_init(&reader.scratch);
    reader.filters = calloc(options->where_count + 1, sizeof *reader.filters);
    if (!reader.filters) {
        (void)vs_err_nomem(err);
        goto out;
    }
    for (size_t i = 0; i < options->where_count; i++) {
        if (!filter_open(&reader.filters[i], &options->where[i], err))
            goto out;
        reader.filter_count++;
    }
    for (size_t i = 0; i < options->path_count; i++) {
        const char *path = vs_arena_strdup(arena, options->paths[i]);
        if (!path) {
            (void)vs_err_nomem(err);
            goto out;
        }
        if (!(vs_dir_exists(path) ? folder_read(&reader, path, err)
                                  : file_read(&reader, path, true, err)))
            goto out;
    }
    done = true;
out:
    for (size_t i = 0; i < reader.filter_count; i++)
        regfree(&reader.filters[i].regex);
    free(reader.filters);
    vs_arena_release(&reader.scratch);
    return done;
}

void vs_cases_release(struct vs_cases *cases) {
    vs_vec_release(&cases->rows);
    vs_vec_release(&cases->skipped);
}
