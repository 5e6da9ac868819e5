#include "report/plot/script.h"

#include <string.h>

#include "base/file.h"
#include "base/units.h"

enum { BYTES_MOST = 1 << 20 };
static const char MARK[] = "#: ";

/* The rest of a head line behind its keyword, without blanks around it. */
static const char *rest_of(struct vs_arena *arena, const char *line, size_t length) {
    while (length > 0 && *line == ' ') {
        line++;
        length--;
    }
    while (length > 0 && (line[length - 1] == ' ' || line[length - 1] == '\r'))
        length--;
    return vs_arena_strndup(arena, line, length);
}

static bool read_line(struct vs_arena *arena, struct vs_script *script, const char *line,
                      size_t length, int number, struct vs_err *err) {
    static const char *const KEYS[] = {"result", "tables", "needs"};
    const char **const targets[] = {&script->results, &script->tables, &script->needs};
    for (size_t i = 0; i < sizeof KEYS / sizeof KEYS[0]; i++) {
        const size_t key = strlen(KEYS[i]);
        if (length <= key || strncmp(line, KEYS[i], key) != 0 || line[key] != ' ')
            continue;
        *targets[i] = rest_of(arena, line + key, length - key);
        return *targets[i] || vs_err_nomem(err);
    }
    return vs_err_at(err, script->file, number, 1, "found '%.*s', expected result, tables or needs",
                     (int)(length < 40 ? length : 40), line);
}

bool vs_script_load(struct vs_arena *arena, const char *name, const char *file,
                    struct vs_script *script, struct vs_err *err) {
    *script = (struct vs_script){.name = name, .file = file, .needs = ""};
    if (!vs_file_read(arena, file, BYTES_MOST, &script->text, &script->length, err))
        return false;
    int number = 1;
    for (const char *line = script->text; *line == '#'; number++) {
        const size_t length = strcspn(line, "\n"), mark = sizeof MARK - 1;
        if (strncmp(line, MARK, mark) == 0 &&
            !read_line(arena, script, line + mark, length - mark, number, err))
            return false;
        line += length + (line[length] == '\n');
    }
    if (!script->results || !script->tables)
        return vs_err_at(err, file, 1, 1,
                         "expected '#: result ...' and '#: tables ...' in the head");
    return true;
}

/* One "NAME >= NUMBER". */
static bool holds(const struct vs_script *script, const struct vs_book *book, char **words,
                  bool *does, struct vs_err *err) {
    double value, bound;
    char why[VS_WHY_SIZE];
    if (!vs_streq(words[1], ">=") || !vs_parse_number(words[2], &bound, why))
        return vs_err_at(err, script->file, 1, 1,
                         "found '%.40s %.10s %.40s', expected NAME >= NUMBER", words[0], words[1],
                         words[2]);
    *does = vs_book_find(book, words[0], &value) && value >= bound;
    return true;
}

static bool needs_hold(struct vs_arena *arena, const struct vs_script *script,
                       const struct vs_book *book, bool *hold, struct vs_err *err) {
    size_t count;
    char **words;
    if (script->needs[0] == '\0')
        return true;
    if (!vs_shell_split(arena, script->needs, &words, &count, err))
        return false;
    for (size_t i = 0; i < count; i += 4) {
        bool does = false;
        if (count - i < 3 || (count - i > 3 && !vs_streq(words[i + 3], "and")))
            return vs_err_at(err, script->file, 1, 1,
                             "found needs '%.80s', expected NAME >= NUMBER and ...", script->needs);
        if (!holds(script, book, words + i, &does, err))
            return false;
        *hold = *hold && does;
    }
    return true;
}

bool vs_script_applies(struct vs_arena *arena, const struct vs_script *script,
                       const struct vs_book *book, bool *applies, struct vs_err *err) {
    size_t count, result_count;
    char **results = vs_split(arena, script->results, ' ', &result_count);
    char **tables = vs_split(arena, script->tables, ' ', &count);
    if (!results || !tables)
        return vs_err_nomem(err);
    *applies = false;
    for (size_t i = 0; i < result_count; i++)
        *applies = *applies || vs_result_is(book->result, results[i]);
    for (size_t i = 0; i < count; i++)
        *applies = *applies && (tables[i][0] == '\0' || vs_book_table(book, tables[i]));
    return needs_hold(arena, script, book, applies, err);
}

void vs_script_write(const struct vs_script *script, const struct vs_book *book, const char *forms,
                     struct vs_text *out) {
    vs_text_printf(out, "# The values of one result. Draw again: gnuplot %s.gp\n", script->name);
    vs_text_printf(out, "name = '%s'\nforms = '%s'\n", script->name, forms);
    for (size_t i = 0; i < book->values.count; i++)
        vs_text_printf(out, "%s\n", book->values.at[i].line);
    vs_text_add(out, "\n");
    vs_text_addn(out, script->text, script->length);
}
