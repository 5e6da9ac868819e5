/* Readers of request traces, plain and compressed: each sample is changed and read, with bad rows
 * refused or skipped. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "import/trace.h"

enum { SAMPLE_BYTES = 1 << 14 };

static struct {
    const char *file;
    char text[SAMPLE_BYTES];
    size_t length;
} samples[] = {{.file = "azure_conv.csv"},      {.file = "burstgpt.csv"},
               {.file = "splitwise.csv"},       {.file = "vidur_conv.csv"},
               {.file = "vidur_lengths.csv"},   {.file = "plain.csv"},
               {.file = "plain.csv.gz"},        {.file = "plain.csv.zst"},
               {.file = "bailian.jsonl"},       {.file = "mooncake.jsonl"},
               {.file = "llmservingsim.jsonl"}, {.file = "llmservingsim_log.jsonl"}};
enum { SAMPLES = sizeof samples / sizeof *samples };

static const char *const WORDS[] = {"timestamp", "input_length", "hash_ids", "arrived_at", "prompt",
                                    "gen",       "TIMESTAMP",    "nan",      "-1",         "[[["};

static void require(bool holds, const char *what) {
    const struct vs_err none = {.status = VS_OK};
    if (!holds)
        fuzz_check(false, &none, what);
}

static void load_samples(void) {
    for (size_t i = 0; i < SAMPLES; i++) {
        char path[128];
        (void)snprintf(path, sizeof path, "tests/traces/%s", samples[i].file);
        FILE *stream = fopen(path, "rb");
        if (!stream) {
            printf("no %s here\n", path);
            exit(2);
        }
        samples[i].length = fread(samples[i].text, 1, SAMPLE_BYTES, stream);
        (void)fclose(stream);
    }
}

/* What is read keeps the promises of trace.h. */
static bool read_all(struct vs_trace *trace, struct vs_err *err) {
    struct vs_trace_request r;
    double last_s = 0;
    for (bool more = true;;) {
        if (!vs_trace_next(trace, &r, &more, err))
            return false;
        if (!more)
            return true;
        require(r.prompt > 0 && r.prompt <= VS_TRACE_TOKENS_MOST, "tokens of a prompt");
        require(r.gen > 0 && r.gen <= VS_TRACE_TOKENS_MOST, "generated tokens");
        require(r.arrived_s >= last_s && r.arrived_s < 1e10, "times that go on");
        require(r.hash_count == 0 || vs_trace_hash_tokens(trace) > 0, "hashes of some length");
        last_s = r.arrived_s;
    }
}

static void one_round(void) {
    struct vs_text text = {0};
    struct vs_err err = {.status = VS_OK};
    size_t i = fuzz_below(SAMPLES);
    vs_text_addn(&text, samples[i].text, samples[i].length);
    fuzz_mutate(&text, WORDS, sizeof WORDS / sizeof *WORDS);
    struct vs_trace *trace =
        vs_trace_over(vs_text_str(&text), text.length, samples[i].file, fuzz_below(2), &err);
    fuzz_check(trace && read_all(trace, &err), &err, samples[i].file);
    vs_trace_close(trace);
    vs_text_release(&text);
}

int main(int count, char **words) {
    load_samples();
    return fuzz_main(count, words, one_round);
}
