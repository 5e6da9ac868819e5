#include "import/tool.h"

#include <string.h>

#define X(file) extern const struct vs_tool_reader vs_tool_reader_##file;
#include "import/tool_list.def"
#undef X

const struct vs_tool_reader *const vs_tool_readers[] = {
#define X(file) &vs_tool_reader_##file,
#include "import/tool_list.def"
#undef X
    NULL};

/* Room doubles at each power of two, so that no count need be kept beside. */
static bool make_room(struct vs_arena *arena, struct vs_samples *s) {
    if ((s->count & (s->count - 1)) != 0)
        return true;
    struct vs_sample *more = VS_NEW_ARRAY(arena, struct vs_sample, s->count > 0 ? 2 * s->count : 1);
    if (!more)
        return false;
    for (size_t i = 0; i < s->count; i++)
        more[i] = s->at[i];
    s->at = more;
    return true;
}

struct vs_sample *vs_tool_sample(struct vs_arena *arena, struct vs_samples *samples,
                                 const struct vs_sample *sample, const double *seconds,
                                 size_t count) {
    double *copy = VS_NEW_ARRAY(arena, double, count + 1);
    if (!copy || !make_room(arena, samples))
        return NULL;
    for (size_t i = 0; i < count; i++)
        copy[i] = seconds[i];
    struct vs_sample *added = &samples->at[samples->count++];
    *added = *sample;
    added->seconds = copy;
    added->count = count;
    return added;
}

bool vs_tool_skip(struct vs_arena *arena, struct vs_samples *samples, const char *probe,
                  const char *reason, struct vs_err *err) {
    const struct vs_sample skipped = {.probe = probe, .skipped = reason};
    return (reason && vs_tool_sample(arena, samples, &skipped, NULL, 0)) || vs_err_nomem(err);
}
