/* nvbandwidth -j (NVIDIA/nvbandwidth, json_output.cpp): one object per test case, with a matrix of
 * rates as text, in GB/s; "N/A" where two devices can't reach each other. Of copies with the host,
 * the first device counts. */
#include <math.h>
#include <stdlib.h>

#include "base/text.h"
#include "import/tool.h"

static const struct {
    const char *test, *probe, *variant;
} TESTS[] = {{"host_to_device_memcpy_ce", "cuda_host_copy", "h2d-pinned"},
             {"device_to_host_memcpy_ce", "cuda_host_copy", "d2h-pinned"},
             {"device_to_device_memcpy_read_ce", "cuda_peer", "direct"},
             {"device_to_device_memcpy_write_ce", "cuda_peer", "direct"}};
/* Each reports the rate of its own direction while the other is busy: together they are both. */
static const char *const BOTH[] = {"host_to_device_bidirectional_memcpy_ce",
                                   "device_to_host_bidirectional_memcpy_ce"};
#define GB_PER_S_MOST 1e6

static bool matches(const struct vs_tool_input *in) {
    return in->root && in->root->kind == VS_JSON_OBJECT && vs_json_member(in->root, "nvbandwidth");
}

/* The first rate of the matrix in bytes per second; NaN when it has none. */
static bool first_rate(const struct vs_json_reader *r, const struct vs_json *matrix, double *rate,
                       struct vs_err *err) {
    *rate = (double)NAN;
    for (const struct vs_json *row = matrix->child; row; row = row->next) {
        if (row->kind != VS_JSON_ARRAY)
            return vs_json_fail(r, row, err, "expected a row of rates");
        for (const struct vs_json *cell = row->child; cell; cell = cell->next) {
            char *end = NULL;
            if (cell->kind != VS_JSON_STRING)
                return vs_json_fail(r, cell, err, "expected a rate as text");
            if (vs_streq(cell->string, "N/A"))
                continue;
            double value = strtod(cell->string, &end);
            if (end == cell->string || *end != '\0' || !(value > 0 && value <= GB_PER_S_MOST))
                return vs_json_fail(r, cell, err, "found '%.40s', expected GB/s above 0",
                                    cell->string);
            *rate = 1e9 * value;
            return true;
        }
    }
    return true;
}

static bool add_rate(struct vs_arena *arena, struct vs_samples *samples, const char *probe,
                     const char *variant, double rate, struct vs_err *err) {
    const struct vs_sample sample = {
        .probe = probe, .variant = variant, .unit = "bytes", .work = rate};
    const double second = 1;
    return vs_tool_sample(arena, samples, &sample, &second, 1) || vs_err_nomem(err);
}

static bool read_test(const struct vs_tool_input *in, struct vs_json_reader *r, double both[2],
                      struct vs_samples *samples, struct vs_err *err) {
    const char *name = NULL, *status = NULL;
    const struct vs_json *matrix = NULL;
    double rate;
    if (!vs_json_get_string(r, "name", true, &name, err) ||
        !vs_json_get_string(r, "status", true, &status, err) ||
        !vs_json_get_array(r, "bandwidth_matrix", false, &matrix, err))
        return false;
    if (!matrix || !vs_streq(status, "Passed"))
        return true;
    for (size_t i = 0; i < 2; i++)
        if (vs_streq(name, BOTH[i]) && !first_rate(r, matrix, &both[i], err))
            return false;
    for (size_t i = 0; i < sizeof TESTS / sizeof *TESTS; i++) {
        if (!vs_streq(name, TESTS[i].test))
            continue;
        if (!first_rate(r, matrix, &rate, err) ||
            (rate > 0 &&
             !add_rate(in->arena, samples, TESTS[i].probe, TESTS[i].variant, rate, err)))
            return false;
    }
    return true;
}

static bool read(const struct vs_tool_input *in, struct vs_samples *samples, struct vs_err *err) {
    struct vs_json_reader root, top;
    const struct vs_json *list = NULL;
    bool present;
    size_t index = 0;
    double both[2] = {(double)NAN, (double)NAN};
    samples->program = "nvbandwidth";
    if (!vs_json_open(&root, in->path, "$", in->root, err) ||
        !vs_json_open_member(&root, "nvbandwidth", true, &top, &present, err) ||
        !vs_json_get_array(&top, "testcases", true, &list, err))
        return false;
    for (const struct vs_json *node = list->child; node; node = node->next) {
        struct vs_json_reader r;
        const char *path = vs_arena_printf(in->arena, "$.nvbandwidth.testcases[%zu]", index++);
        if (!path)
            return vs_err_nomem(err);
        if (!vs_json_open(&r, in->path, path, node, err) || !read_test(in, &r, both, samples, err))
            return false;
    }
    return !(both[0] + both[1] > 0) ||
           add_rate(in->arena, samples, "cuda_host_copy", "both-pinned", both[0] + both[1], err);
}

const struct vs_tool_reader vs_tool_reader_nvbandwidth = {"nvbandwidth", "nvbandwidth -j", matches,
                                                          read};
