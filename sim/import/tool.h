/* The output of programs that people measure their machines with, in the terms of samples
 * (import/samples.h). A format is told by its content, never by the file's name. What a tool knows
 * besides is passed over: its documents grow with every release. */
#ifndef VS_IMPORT_TOOL_H
#define VS_IMPORT_TOOL_H

#include "base/json.h"
#include "import/samples.h"

/* A file, whole: `root` is NULL unless it is JSON. */
struct vs_tool_input {
    struct vs_arena *arena;
    const char *path, *text;
    const struct vs_json *root;
};

struct vs_tool_reader {
    const char *name, *help; /* "fio", "fio --output-format=json" */
    bool (*matches)(const struct vs_tool_input *in);
    /* Fills in program, date, gpu and samples; errors name the place. */
    bool (*read)(const struct vs_tool_input *in, struct vs_samples *samples, struct vs_err *err);
};

/* All of them, in the order in which they are tried; NULL-terminated. */
extern const struct vs_tool_reader *const vs_tool_readers[];

/* A new sample of one series, with `count` repetitions of `seconds` (copied); NULL when memory runs
 * out. It is valid until the next call. */
struct vs_sample *vs_tool_sample(struct vs_arena *arena, struct vs_samples *samples,
                                 const struct vs_sample *sample, const double *seconds,
                                 size_t count);
/* One that was not measured, with the reason; false when memory runs out. */
bool vs_tool_skip(struct vs_arena *arena, struct vs_samples *samples, const char *probe,
                  const char *reason, struct vs_err *err);

#endif
