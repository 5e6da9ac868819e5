/* libFuzzer's entry for step traces. */
#include <stdlib.h>

#include "import/steps.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void draw(const struct vs_step_trace *trace) {
    struct vs_step_trace drawn = {.form = NULL};
    if (vs_step_trace_is_histogram(trace) && !vs_step_trace_draw(trace, 1, 10, 10, &drawn))
        abort();
    vs_step_trace_release(&drawn);
}

/* Every step has samples, every sample tokens. */
static void check(const struct vs_step_trace *trace) {
    for (size_t i = 0; i < trace->steps.count; i++) {
        const struct vs_step *step = &trace->steps.at[i];
        if (step->count == 0 || step->count > trace->lengths.count ||
            step->first > trace->lengths.count - step->count)
            abort();
    }
    for (size_t i = 0; i < trace->lengths.count; i++)
        if (trace->lengths.at[i] == 0 || trace->lengths.at[i] > VS_STEP_TOKENS_MOST)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    for (int skip = 0; skip < 2; skip++) {
        struct vs_step_trace trace = {.form = NULL};
        struct vs_err err = {.status = VS_OK};
        struct vs_input *in = vs_input_over((const char *)bytes, length, "input", &err);
        if (in && vs_step_trace_read(in, skip == 1, &trace, &err)) {
            check(&trace);
            draw(&trace);
        } else if (err.status == VS_OK) {
            abort();
        }
        vs_step_trace_release(&trace);
        vs_input_close(in);
    }
    (void)vs_step_trace_looks_like((const char *)bytes, length);
    return 0;
}
