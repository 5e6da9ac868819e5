/* Workloads of LLMServingSim (casys-kaist/LLMServingSim); token ids beside the lengths are skipped.
 */
#include "import/reader.h"

extern const struct vs_trace_reader vs_trace_reader_llmservingsim;
const struct vs_trace_reader vs_trace_reader_llmservingsim = {
    .name = "llmservingsim",
    .help = "LLMServingSim workload (input_toks, output_toks[, arrival_time_ns])",
    .form = VS_TRACE_JSON,
    .fields = {"arrival_time_ns", "input_toks", "output_toks", NULL},
    .unit_ns = 1};
