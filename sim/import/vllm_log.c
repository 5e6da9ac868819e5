/* What vLLM logs while it starts (vllm-project/vllm: worker/worker.py, v1/worker/gpu_worker.py and
 * gpu_model_runner.py). Releases word it differently, and ranks, colors and time stamps stand
 * around: a line is searched for what it says, and only the numbers in it are read strictly.
 *
 *   0.6 to 0.10, V0   "total_gpu_memory (23.64GiB) x gpu_memory_utilization (0.90) = 21.28GiB",
 *                     "model weights take 7.56GiB; non_torch_memory takes 0.04GiB; ..."
 *   0.6.4             "total_gpu_memory=79.22GiB ... non_torch_memory=1.79GiB"
 *   V1, from 0.9      "Initial free memory: 43.82 GiB; Requested memory: 0.90 (util), 39.88 GiB",
 *                     "non-torch forward increase memory: 0.02GiB"
 *   V1, from 0.10     "Free memory on device (22.9/23.6 GiB) on startup. ... Actual usage is 15.0
 * GiB for weight, 1.2 GiB for peak activation, 0.1 GiB for non-torch memory, ..."
 *
 * Of a machine it tells how much memory CUDA shows, and what a process of PyTorch takes beside its
 * tensors: what is missing from the free memory at the start, and what kernels took since. Weights,
 * activations, graphs and the KV pool are the engine's. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "import/tool.h"

#define GIB_MOST 1e6
#define UNEQUAL 0.05 /* ranks of equal devices see the same memory but for some MiB */
enum { LINE_MOST = 4000, TEXT_MOST = 64 };

enum figure { TOTAL, FREE, UTILIZATION, REQUESTED, NON_TORCH, WEIGHTS, CONSUMED, POOL, FIGURES };

struct log {
    const char *path;
    size_t line;
    double gib[FIGURES]; /* NaN = not said; of several ranks the first, of TOTAL the least */
    double ranks;
};

/* What stands before a number. */
static const struct {
    const char *words;
    enum figure figure;
} BEFORE[] = {
    {"total_gpu_memory", TOTAL},
    {"Free memory on device", FREE},
    {"Initial free memory", FREE},
    {"Requested memory", UTILIZATION},
    {"(util),", REQUESTED},
    {"non_torch_memory", NON_TORCH},
    {"non-torch forward increase memory", NON_TORCH},
    {"Loading model weights took", WEIGHTS},
    {"Model loading took", WEIGHTS},
    {"model weights take", WEIGHTS},
    {"the rest of the memory reserved for KV Cache is", POOL},
    {"Available KV cache memory:", POOL},
};

/* What stands behind one, in the sentence of "Actual usage is". */
static const struct {
    const char *words;
    enum figure figure;
} BEHIND[] = {{"for consumed memory", CONSUMED},
              {"for weight", WEIGHTS},
              {"for non-torch memory", NON_TORCH}};

static bool matches(const struct vs_tool_input *in) {
    static const char *const MARKS[] = {"vLLM",
                                        "vllm",
                                        "total_gpu_memory",
                                        "gpu_worker.py",
                                        "Model loading took",
                                        "Available KV cache memory",
                                        "GPU KV cache size",
                                        "# GPU blocks"};
    for (size_t i = 0; !in->root && i < sizeof MARKS / sizeof *MARKS; i++)
        if (strstr(in->text, MARKS[i]))
            return true;
    return false;
}

/* A line without its colors ("\33[1;36m"), terminated; what is longer is cut. Returns the next. */
static const char *take_line(const char *at, char line[LINE_MOST]) {
    size_t length = 0;
    while (*at != '\0' && *at != '\n') {
        if (at[0] == '\33' && at[1] == '[') {
            at += 2 + strspn(at + 2, "0123456789;");
            at += *at >= '@' && *at <= '~';
        } else {
            if (length + 1 < LINE_MOST)
                line[length++] = *at;
            at++;
        }
    }
    line[length] = '\0';
    return *at == '\n' ? at + 1 : at;
}

/* A decimal number that ends where no further digit, point or exponent follows. */
static bool number_at(const char **at, double *value) {
    size_t sign = **at == '-', digits = strspn(*at + sign, "0123456789");
    const char *end = *at + sign + digits;
    size_t more = *end == '.' ? strspn(end + 1, "0123456789") : 0;
    if (digits == 0 || digits + more > TEXT_MOST || (*end == '.' && more == 0) || *end == 'x' ||
        *end == 'X')
        return false;
    end += more > 0 ? more + 1 : 0;
    *value = strtod(*at, NULL);
    *at = end;
    return strspn(end, ".,eE+-0123456789") == 0 || (*end == ',' && end[1] == ' ') ||
           (*end == '.' && (end[1] == ' ' || end[1] == '\0'));
}

/* Early releases write GB and mean GiB. */
static bool unit_at(const char *at) {
    at += strspn(at, " ");
    return vs_starts(at, "GiB") || vs_starts(at, "GB");
}

static bool refuse(const struct log *log, const char *line, const char *at, const char *what,
                   struct vs_err *err) {
    size_t length = strcspn(at, " \t;\r");
    return vs_err_at(err, log->path, (int)log->line, (int)(at - line) + 1,
                     "found '%.*s', expected %s", (int)(length < TEXT_MOST ? length : TEXT_MOST),
                     at, what);
}

static bool keep(struct log *log, enum figure figure, double value, const char *line,
                 const char *at, struct vs_err *err) {
    double *kept = &log->gib[figure];
    bool above = figure == TOTAL || figure == UTILIZATION || figure == REQUESTED;
    if (!(value < GIB_MOST && value > -GIB_MOST) || (above && !(value > 0)))
        return refuse(log, line, at, figure == UTILIZATION ? "a fraction above 0" : "GiB above 0",
                      err);
    if (figure == TOTAL && *kept > 0 && fabs(value / *kept - 1) > UNEQUAL)
        return vs_err_at(err, log->path, (int)log->line, (int)(at - line) + 1,
                         "found a device of %g GiB beside one of %g GiB, expected equal ones",
                         value, *kept);
    if (isnan(*kept) || (figure == TOTAL && value < *kept))
        *kept = value;
    return true;
}

/* "(22.9/23.6 GiB)", with " cuda:0" before it in some releases. */
static bool read_free(struct log *log, const char *line, const char *at, struct vs_err *err) {
    double free_gib, total;
    const char *open = strchr(at, '(');
    if (!open)
        return true;
    const char *first = open + 1, *second = first;
    bool slash = number_at(&second, &free_gib) && *second == '/';
    at = second + slash;
    if (!slash || !number_at(&at, &total) || !unit_at(at))
        return refuse(log, line, first, "free and all memory, such as (22.9/23.6 GiB)", err);
    return keep(log, FREE, free_gib, line, first, err) &&
           keep(log, TOTAL, total, line, second + 1, err);
}

static bool read_before(struct log *log, const char *line, struct vs_err *err) {
    for (size_t i = 0; i < sizeof BEFORE / sizeof *BEFORE; i++) {
        const char *at = strstr(line, BEFORE[i].words), *from;
        double value;
        if (!at)
            continue;
        at += strlen(BEFORE[i].words);
        if (vs_streq(BEFORE[i].words, "Free memory on device")) {
            if (!read_free(log, line, at, err))
                return false;
            continue;
        }
        if (vs_starts(at, " takes"))
            at += strlen(" takes");
        from = at += strspn(at, " \t=:(");
        if (strspn(at, "-0123456789") == 0)
            continue; /* the words without a number say nothing */
        if (!number_at(&at, &value) || (BEFORE[i].figure != UTILIZATION && !unit_at(at)))
            return refuse(log, line, from, "GiB, such as 23.64GiB", err);
        if (!keep(log, BEFORE[i].figure, value, line, from, err))
            return false;
    }
    return true;
}

static bool read_behind(struct log *log, const char *line, struct vs_err *err) {
    const char *start = strstr(line, "Actual usage is ");
    for (size_t i = 0; start && i < sizeof BEHIND / sizeof *BEHIND; i++) {
        const char *words = strstr(start, BEHIND[i].words), *at = words;
        double value;
        if (!words)
            continue;
        while (at > start && strchr(" GiB", at[-1]))
            at--;
        while (at > start && strchr("-.0123456789", at[-1]))
            at--;
        const char *from = at;
        if (!number_at(&at, &value) || !unit_at(at))
            return refuse(log, line, from, "GiB, such as 23.64 GiB", err);
        if (!keep(log, BEHIND[i].figure, value, line, from, err))
            return false;
    }
    return true;
}

/* "tensor_parallel_size=4": how many ranks share the machine. */
static void read_ranks(struct log *log, const char *line) {
    static const char *const KEYS[] = {
        "tensor_parallel_size=", "pipeline_parallel_size=", "data_parallel_size="};
    double ranks = 1;
    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++) {
        const char *at = strstr(line, KEYS[i]);
        double value;
        if (at && (at += strlen(KEYS[i]), number_at(&at, &value)) && value >= 1)
            ranks *= value;
    }
    log->ranks = fmax(log->ranks, ranks);
}

/* The text behind `before`, up to one of `end`; NULL where it is not in the line. */
static char *word_in(struct vs_arena *arena, const char *line, const char *before,
                     const char *end) {
    const char *at = strstr(line, before);
    if (!at)
        return NULL;
    at += strlen(before);
    size_t length = strcspn(at, end);
    return length > 0 && length < TEXT_MOST ? vs_arena_strndup(arena, at, length) : NULL;
}

/* A release where it begins, and the device in the names of tables that vLLM looked for:
 * "device_name=NVIDIA_H100_80GB_HBM3.json". */
static void read_names(const struct vs_tool_input *in, const char *line,
                       struct vs_samples *samples) {
    const char *release = word_in(in->arena, line, "LLM engine (v", ")");
    if (!release)
        release = word_in(in->arena, line, "vLLM API server version ", " \r");
    if (release && vs_streq(samples->program, "vLLM")) {
        const char *program = vs_arena_printf(in->arena, "vLLM %s", release);
        samples->program = program ? program : samples->program;
    }
    char *device = samples->gpu.name ? NULL : word_in(in->arena, line, "device_name=", ".,'\" \r");
    for (char *at = device; at && *at != '\0'; at++)
        *at = *at == '_' ? ' ' : *at;
    if (device)
        samples->gpu.name = device;
}

static bool read_lines(const struct vs_tool_input *in, struct log *log, struct vs_samples *samples,
                       struct vs_err *err) {
    char line[LINE_MOST];
    for (const char *at = in->text; *at != '\0';) {
        at = take_line(at, line);
        log->line++;
        read_names(in, line, samples);
        read_ranks(log, line);
        if (!read_before(log, line, err) || !read_behind(log, line, err))
            return false;
    }
    return true;
}

/* What a process takes beside its tensors. Communicators of several ranks are in what is missing
 * at the start: not in a profile's number. */
static bool put_context(const struct vs_tool_input *in, const struct log *log,
                        struct vs_samples *samples, struct vs_err *err) {
    double since = log->gib[NON_TORCH];
    if (isnan(since))
        since = log->gib[CONSUMED] - log->gib[WEIGHTS];
    double context = log->gib[TOTAL] - log->gib[FREE] + since;
    const char *reason = isnan(context)   ? "the log has no free memory at the start, or no memory "
                                            "beside PyTorch's"
                         : log->ranks > 1 ? "buffers between ranks are in it"
                         : !(context > 0) ? "other processes gave memory back meanwhile"
                                          : NULL;
    if (reason)
        return vs_tool_skip(in->arena, samples, "vllm_context", reason, err);
    samples->gpu.context_bytes = context * (double)VS_GIB;
    return true;
}

static bool read(const struct vs_tool_input *in, struct vs_samples *samples, struct vs_err *err) {
    struct log log = {.path = in->path, .ranks = 1};
    for (int i = 0; i < FIGURES; i++)
        log.gib[i] = (double)NAN;
    samples->program = "vLLM";
    if (!read_lines(in, &log, samples, err))
        return false;
    if (isnan(log.gib[TOTAL]))
        log.gib[TOTAL] = log.gib[REQUESTED] / log.gib[UTILIZATION];
    if (isnan(log.gib[TOTAL]))
        return vs_err_at(err, in->path, (int)log.line, 0,
                         "found no memory of a device in a log of vLLM, expected a line such as "
                         "'total_gpu_memory (23.64GiB)' or 'Free memory on device (22.9/23.6 GiB)' "
                         "(some releases log it with VLLM_LOGGING_LEVEL=DEBUG)");
    samples->gpu.memory_bytes = log.gib[TOTAL] * (double)VS_GIB;
    if (!put_context(in, &log, samples, err))
        return false;
    if (isnan(log.gib[POOL]))
        return true;
    return vs_tool_skip(in->arena, samples, "vllm_kv_pool",
                        vs_arena_printf(in->arena,
                                        "%g GiB are what the engine takes, no number of a machine",
                                        log.gib[POOL]),
                        err);
}

const struct vs_tool_reader vs_tool_reader_vllm_log = {"vllm-log", "the log of a vLLM start",
                                                       matches, read};
