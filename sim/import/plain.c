/* Our own: seconds, prompt tokens, generated tokens; or lengths alone. */
#include "import/reader.h"

extern const struct vs_trace_reader vs_trace_reader_plain;
const struct vs_trace_reader vs_trace_reader_plain = {
    .name = "plain",
    .help = "[arrived_at,] prompt, gen",
    .form = VS_TRACE_CSV,
    .fields = {"arrived_at", "prompt", "gen", NULL},
    .unit_ns = 1000000000};
