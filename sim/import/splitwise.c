/* Traces of splitwise-sim (Mutinifni/splitwise-sim); times in seconds. */
#include "import/reader.h"

extern const struct vs_trace_reader vs_trace_reader_splitwise;
const struct vs_trace_reader vs_trace_reader_splitwise = {
    .name = "splitwise",
    .help = "splitwise-sim (arrival_timestamp, prompt_size, token_size)",
    .form = VS_TRACE_CSV,
    .fields = {"arrival_timestamp", "prompt_size", "token_size", NULL},
    .arrival_needed = true,
    .unit_ns = 1000000000};
