/* Qwen-Bailian (alibaba-edu/qwen-bailian-usagetraces-anon): Mooncake's keys, but seconds and blocks
 * of 16 tokens. */
#include "import/reader.h"

extern const struct vs_trace_reader vs_trace_reader_bailian;
const struct vs_trace_reader vs_trace_reader_bailian = {
    .name = "bailian",
    .help = "Qwen-Bailian (chat_id, timestamp, input_length, output_length, hash_ids)",
    .form = VS_TRACE_JSON,
    .fields = {"timestamp", "input_length", "output_length", "hash_ids"},
    .mark = "chat_id",
    .arrival_needed = true,
    .unit_ns = 1000000000,
    .hash_tokens = 16};
