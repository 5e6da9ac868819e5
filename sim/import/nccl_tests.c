/* The table of nccl-tests (NVIDIA/nccl-tests, doc/PERFORMANCE.md): all_reduce_perf and its
 * siblings. A comment names the columns, comments before it the ranks with their devices; then a
 * row per size. Bytes are those that a device sends on a ring, as "bus bandwidth" counts them. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "import/tool.h"

enum { COLUMNS_MOST = 32, LINE_MOST = 1000 };

struct table {
    const char *path, *collective; /* "all-reduce" */
    double passes;                 /* of the buffer over the ring */
    size_t ranks, line, rows;
    size_t size_column, time_column, columns; /* columns = 0 before they were named */
};

static bool matches(const struct vs_tool_input *in) {
    return !in->root && strstr(in->text, "# nThread ") && strstr(in->text, "busbw");
}

static size_t split(char *line, char *words[COLUMNS_MOST]) {
    size_t count = 0;
    char *rest = NULL;
    for (char *word = strtok_r(line, " \t\r", &rest); word && count < COLUMNS_MOST;
         word = strtok_r(NULL, " \t\r", &rest))
        words[count++] = word;
    return count;
}

/* "# Collective test starting: all_gather_perf"; older releases don't say, and are taken for the
 * all-reduce that most people run. */
static void read_collective(struct table *t, const char *line) {
    static const struct {
        const char *word, *name;
        double passes;
    } KINDS[] = {{"all_reduce", "all-reduce", 2},
                 {"all_gather", "all-gather", 1},
                 {"reduce_scatter", "reduce-scatter", 1}};
    if (!strstr(line, "Collective test starting"))
        return;
    t->collective = NULL;
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
        if (strstr(line, KINDS[i].word)) {
            t->collective = KINDS[i].name;
            t->passes = KINDS[i].passes;
        }
}

/* "#  Rank  0 Group  0 Pid  4711 on node device  0 [0x07] NVIDIA H100 80GB HBM3" */
static bool read_rank(const struct vs_tool_input *in, struct table *t, const char *line,
                      struct vs_samples *samples, struct vs_err *err) {
    const char *name = strstr(line, "] ");
    t->ranks++;
    if (!name || samples->gpu.name)
        return true;
    samples->gpu.name = vs_arena_strdup(in->arena, name + 2);
    return samples->gpu.name || vs_err_nomem(err);
}

static void read_columns(struct table *t, char *line) {
    char *words[COLUMNS_MOST];
    size_t count = split(line, words);
    t->columns = 0;
    for (size_t i = count; i-- > 0;) {
        if (vs_streq(words[i], "size"))
            t->size_column = i;
        else if (vs_streq(words[i], "time"))
            t->time_column = i; /* the first one: out of place */
    }
    if (count > 1 && t->time_column < count)
        t->columns = t->time_column + 1;
}

static bool read_comment(const struct vs_tool_input *in, struct table *t, char *line,
                         struct vs_samples *samples, struct vs_err *err) {
    const char *text = line + 1 + strspn(line + 1, " ");
    if (vs_starts(text, "Rank "))
        return read_rank(in, t, line, samples, err);
    read_collective(t, line);
    if (vs_starts(text, "size "))
        read_columns(t, line + 1);
    return true;
}

static bool number_of(const char *text, double *value) {
    char *end = NULL;
    *value = strtod(text, &end);
    return end != text && *end == '\0' && *value >= 0 && *value < 1e18;
}

static bool read_row(const struct vs_tool_input *in, struct table *t, char *line,
                     struct vs_samples *samples, struct vs_err *err) {
    char *words[COLUMNS_MOST];
    double size, us;
    size_t count = split(line, words);
    if (count == 0 || t->columns == 0)
        return true; /* what a launcher prints before the table */
    if (count < t->columns || !number_of(words[t->size_column], &size) ||
        !number_of(words[t->time_column], &us))
        return vs_err_at(err, t->path, (int)t->line, 0,
                         "found no row of the table, expected a size and a time in us");
    if (t->ranks < 2)
        return vs_err_at(err, t->path, (int)t->line, 0,
                         "found %zu ranks before the table, expected two or more", t->ranks);
    if (!(size > 0 && us > 0) || !t->collective)
        return true;
    double ranks = (double)t->ranks, seconds = 1e-6 * us;
    const struct vs_sample sample = {.probe = "cuda_nccl",
                                     .variant = t->collective,
                                     .unit = "bytes",
                                     .work = t->passes * size * (ranks - 1) / ranks,
                                     .bytes = size,
                                     .devices = ranks};
    t->rows++;
    return vs_tool_sample(in->arena, samples, &sample, &seconds, 1) || vs_err_nomem(err);
}

static bool read(const struct vs_tool_input *in, struct vs_samples *samples, struct vs_err *err) {
    struct table t = {.path = in->path, .collective = "all-reduce", .passes = 2};
    samples->program = "nccl-tests";
    for (const char *at = in->text; *at != '\0';) {
        char line[LINE_MOST];
        size_t length = strcspn(at, "\n");
        size_t kept = length < sizeof line ? length : sizeof line - 1;
        memcpy(line, at, kept);
        line[kept] = '\0';
        at += length + (at[length] == '\n');
        t.line++;
        if (!(line[0] == '#' ? read_comment(in, &t, line, samples, err)
                             : read_row(in, &t, line, samples, err)))
            return false;
    }
    samples->gpu.count = (double)t.ranks;
    return t.rows > 0 || vs_err_at(err, in->path, (int)t.line, 0,
                                   "found no row of a collective that is known, expected "
                                   "all_reduce, all_gather or reduce_scatter");
}

const struct vs_tool_reader vs_tool_reader_nccl_tests = {"nccl-tests", "nccl-tests' table", matches,
                                                         read};
