/* fio --output-format=json (fio's documentation, "JSON output"): one object per job, with its
 * options as text and what it read and wrote. A job is one repetition. */
#include <stdlib.h>

#include "base/text.h"
#include "import/tool.h"

#define NUMBER_MOST 1e18
#define BLOCK_MOST 1e12

static bool matches(const struct vs_tool_input *in) {
    return in->root && in->root->kind == VS_JSON_OBJECT && vs_json_member(in->root, "fio version");
}

struct job {
    const char *mode;
    double block_bytes, depth, copies;
};

/* "4096", "128k", "1m": fio counts in 1,024 (its default kb_base). 0 = nothing of the kind. */
static double parse_size(const char *text) {
    char *end = NULL;
    double value = strtod(text, &end);
    if (end == text || !(value > 0 && value < BLOCK_MOST))
        return 0;
    switch (*end) {
    case 'k':
    case 'K':
        return 1024 * value;
    case 'm':
    case 'M':
        return 1048576 * value;
    case 'g':
    case 'G':
        return 1073741824 * value;
    default:
        return *end == '\0' ? value : 0;
    }
}

static bool read_size(const struct vs_json_reader *r, const char *key, double *value,
                      struct vs_err *err) {
    const struct vs_json *node = vs_json_member(r->object, key);
    if (!node)
        return true;
    *value = node->kind == VS_JSON_STRING ? parse_size(node->string) : 0;
    return *value > 0 || vs_json_fail(r, node, err, "expected a size as text, such as \"128k\"");
}

/* Options of all jobs, then of this one. */
static bool read_options(struct vs_json_reader *outer, const char *key, struct job *job,
                         struct vs_err *err) {
    struct vs_json_reader r;
    bool present;
    if (!vs_json_open_member(outer, key, false, &r, &present, err))
        return false;
    return !present || (vs_json_get_string(&r, "rw", false, &job->mode, err) &&
                        vs_json_get_string(&r, "readwrite", false, &job->mode, err) &&
                        read_size(&r, "bs", &job->block_bytes, err) &&
                        read_size(&r, "iodepth", &job->depth, err) &&
                        read_size(&r, "numjobs", &job->copies, err));
}

static bool add_direction(const struct vs_tool_input *in, struct vs_json_reader *r,
                          const struct job *job, const char *key, const char *probe,
                          struct vs_samples *samples, struct vs_err *err) {
    struct vs_json_reader side;
    bool present;
    double bytes = 0, ms = 0;
    if (!vs_json_open_member(r, key, true, &side, &present, err) ||
        !vs_json_get_number(&side, "io_bytes", true, 0, NUMBER_MOST, &bytes, err) ||
        !vs_json_get_number(&side, "runtime", true, 0, NUMBER_MOST, &ms, err))
        return false;
    if (!(bytes > 0 && ms > 0))
        return vs_tool_skip(in->arena, samples, probe, "the job moved nothing", err);
    const struct vs_sample sample = {.probe = probe,
                                     .unit = "bytes",
                                     .work = bytes,
                                     .block_bytes = job->block_bytes,
                                     .depth = job->depth * job->copies};
    const double seconds = 1e-3 * ms;
    return vs_tool_sample(in->arena, samples, &sample, &seconds, 1) || vs_err_nomem(err);
}

static bool read_job(const struct vs_tool_input *in, struct vs_json_reader *root,
                     struct vs_json_reader *r, struct vs_samples *samples, struct vs_err *err) {
    static const struct {
        const char *mode, *key, *probe;
    } MODES[] = {{"read", "read", "storage_sequential"},
                 {"randread", "read", "storage_random"},
                 {"write", "write", "storage_write"}};
    struct job job = {.mode = "read", .block_bytes = 4096, .depth = 1, .copies = 1}; /* fio's own */
    double failed = 0;
    if (!read_options(root, "global options", &job, err) ||
        !read_options(r, "job options", &job, err) ||
        !vs_json_get_number(r, "error", false, 0, NUMBER_MOST, &failed, err))
        return false;
    if (failed > 0)
        return vs_tool_skip(in->arena, samples, "storage_sequential", "the job failed", err);
    for (size_t i = 0; i < sizeof MODES / sizeof *MODES; i++)
        if (vs_streq(job.mode, MODES[i].mode))
            return add_direction(in, r, &job, MODES[i].key, MODES[i].probe, samples, err);
    return true; /* mixed and other jobs say nothing that a profile has */
}

static bool read(const struct vs_tool_input *in, struct vs_samples *samples, struct vs_err *err) {
    struct vs_json_reader root;
    const struct vs_json *list = NULL;
    size_t index = 0;
    if (!vs_json_open(&root, in->path, "$", in->root, err) ||
        !vs_json_get_string(&root, "fio version", true, &samples->program, err) ||
        !vs_json_get_array(&root, "jobs", true, &list, err))
        return false;
    for (const struct vs_json *node = list->child; node; node = node->next) {
        struct vs_json_reader r;
        const char *path = vs_arena_printf(in->arena, "$.jobs[%zu]", index++);
        if (!path)
            return vs_err_nomem(err);
        if (!vs_json_open(&r, in->path, path, node, err) || !read_job(in, &root, &r, samples, err))
            return false;
    }
    return true;
}

const struct vs_tool_reader vs_tool_reader_fio = {"fio", "fio --output-format=json", matches, read};
