/* libFuzzer's entry for readers of request traces: the input is a file of any format, plain or
 * compressed; its first line says which reader takes it. */
#include <stddef.h>
#include <stdint.h>

#include "import/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void read_all(const uint8_t *bytes, size_t length, bool skip_bad) {
    struct vs_err err;
    struct vs_trace_request request;
    bool more = true;
    struct vs_trace *trace = vs_trace_over((const char *)bytes, length, "input", skip_bad, &err);
    while (trace && more && vs_trace_next(trace, &request, &more, &err))
        continue;
    vs_trace_close(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    read_all(bytes, length, false);
    read_all(bytes, length, true);
    return 0;
}
