/* Processed traces of vidur (microsoft/vidur); some state lengths alone. */
#include "import/reader.h"

extern const struct vs_trace_reader vs_trace_reader_vidur;
const struct vs_trace_reader vs_trace_reader_vidur = {
    .name = "vidur",
    .help = "vidur ([arrived_at,] num_prefill_tokens, num_decode_tokens)",
    .form = VS_TRACE_CSV,
    .fields = {"arrived_at", "num_prefill_tokens", "num_decode_tokens", NULL},
    .unit_ns = 1000000000};
