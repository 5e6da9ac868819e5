/* BurstGPT (HPMLL/BurstGPT): its releases differ in columns, so that they go by name. A request
 * without a response failed. */
#include "import/reader.h"

extern const struct vs_trace_reader vs_trace_reader_burstgpt;
const struct vs_trace_reader vs_trace_reader_burstgpt = {
    .name = "burstgpt",
    .help = "BurstGPT (Timestamp, Request tokens, Response tokens)",
    .form = VS_TRACE_CSV,
    .fields = {"Timestamp", "Request tokens", "Response tokens", NULL},
    .arrival_needed = true,
    .unit_ns = 1000000000,
    .zero_is_failure = true};
