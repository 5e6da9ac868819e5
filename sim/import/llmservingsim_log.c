/* Requests that LLMServingSim logged on real servers (casys-kaist/LLMServingSim); their results are
 * skipped. */
#include "import/reader.h"

extern const struct vs_trace_reader vs_trace_reader_llmservingsim_log;
const struct vs_trace_reader vs_trace_reader_llmservingsim_log = {
    .name = "llmservingsim_log",
    .help = "LLMServingSim log of a real run (arrival_time, input_toks, output_toks)",
    .form = VS_TRACE_JSON,
    .fields = {"arrival_time", "input_toks", "output_toks", NULL},
    .arrival_needed = true,
    .unit_ns = 1000000000};
