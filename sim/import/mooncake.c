/* Mooncake (kvcache-ai/Mooncake), which AIPerf and GenAI-Perf read too: milliseconds, and an id for
 * each block of 512 tokens that begins alike. */
#include "import/reader.h"

extern const struct vs_trace_reader vs_trace_reader_mooncake;
const struct vs_trace_reader vs_trace_reader_mooncake = {
    .name = "mooncake",
    .help = "Mooncake, AIPerf (timestamp, input_length, output_length, hash_ids)",
    .form = VS_TRACE_JSON,
    .fields = {"timestamp", "input_length", "output_length", "hash_ids"},
    .unit_ns = 1000000,
    .hash_tokens = 512};
