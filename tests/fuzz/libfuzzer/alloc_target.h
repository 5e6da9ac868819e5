/* What the targets of allocator traces share: one reader, whatever the first bytes say, and the
 * replay of what it took. */
#ifndef FUZZ_ALLOC_TARGET_H
#define FUZZ_ALLOC_TARGET_H

#include <stdlib.h>
#include <string.h>

#include "import/alloc_trace.h"
#include "run/replay_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static inline void fuzz_replay(const struct vs_alloc_trace *trace, bool expandable) {
    static struct vs_request request;
    const struct vs_outcome *outcome = NULL;
    struct vs_arena arena = {0};
    struct vs_err err = {.status = VS_OK};
    request.user.at[VS_AXIS_EXPANDABLE_SEGMENTS].text = expandable ? "on" : "off";
    request.user.at[VS_AXIS_EXPANDABLE_SEGMENTS].word = expandable ? "on" : "off";
    if (!vs_replay_memory(&arena, &request, trace, true, &outcome, &err) && err.status == VS_OK)
        abort();
    vs_arena_release(&arena);
}

static inline int fuzz_alloc_reader(const char *form, const uint8_t *bytes, size_t length) {
    for (size_t i = 0; vs_alloc_readers[i]; i++) {
        if (strcmp(vs_alloc_readers[i]->form, form) != 0)
            continue;
        for (int skip = 0; skip < 2; skip++) {
            struct vs_alloc_trace trace = {.reader = NULL};
            struct vs_err err = {.status = VS_OK};
            const struct vs_alloc_options options = {.skip_bad = skip == 1};
            struct vs_input *in = vs_input_over((const char *)bytes, length, "input", &err);
            if (in && vs_alloc_trace_read(vs_alloc_readers[i], in, &options, &trace, &err))
                fuzz_replay(&trace, skip == 1);
            else if (err.status == VS_OK)
                abort();
            vs_alloc_trace_release(&trace);
            vs_input_close(in);
        }
        return 0;
    }
    abort();
}

#endif
