/* Request traces: each format, what is refused, and the reuse of prefixes in public samples. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/reader.h"
#include "import/trace.h"
#include "unit/suite.h"

static struct vs_err err;

#define FOLDER "tests/traces/"

static struct vs_trace *open_file(const char *name) {
    char path[128];
    (void)snprintf(path, sizeof path, FOLDER "%s", name);
    struct vs_trace *trace = vs_trace_open(path, false, &err);
    ck_assert_msg(trace != NULL, "%s", err.text);
    return trace;
}

static bool next(struct vs_trace *trace, struct vs_trace_request *request) {
    bool more = false;
    ck_assert_msg(vs_trace_next(trace, request, &more, &err), "%s", err.text);
    return more;
}

/* First and second request of each sample, and how many there are. */
static const struct {
    const char *file, *format;
    bool timed;
    uint64_t prompt, gen, count;
    double second_s;
    size_t hashes;
} SAMPLES[] = {
    {"azure_conv.csv", "azure", true, 374, 44, 39, 4.314579, 0},
    {"burstgpt.csv", "burstgpt", true, 472, 18, 2, 113.5, 0},
    {"splitwise.csv", "splitwise", true, 4096, 32, 3, 2, 0},
    {"vidur_conv.csv", "vidur", true, 374, 44, 39, 4.314579, 0},
    {"vidur_lengths.csv", "vidur", false, 3772, 54, 39, 0, 0},
    {"plain.csv", "plain", true, 100, 20, 3, 0.5, 0},
    {"plain.csv.gz", "plain", true, 100, 20, 3, 0.5, 0},
    {"plain.csv.zst", "plain", true, 100, 20, 3, 0.5, 0},
    {"bailian.jsonl", "bailian", true, 33, 132, 2, 0.386, 3},
    {"mooncake.jsonl", "mooncake", true, 6758, 500, 30, 0, 14},
    {"llmservingsim.jsonl", "llmservingsim", true, 2358, 531, 30, 0.301012143, 0},
    {"llmservingsim_log.jsonl", "llmservingsim_log", true, 2358, 531, 30, 0.2650914, 0},
};

START_TEST(formats) {
    struct vs_trace *trace = open_file(SAMPLES[_i].file);
    struct vs_trace_request r;
    ck_assert_str_eq(vs_trace_format(trace), SAMPLES[_i].format);
    ck_assert_int_eq(vs_trace_timed(trace), SAMPLES[_i].timed);
    ck_assert(next(trace, &r));
    ck_assert_uint_eq(r.prompt, SAMPLES[_i].prompt);
    ck_assert_uint_eq(r.gen, SAMPLES[_i].gen);
    ck_assert_uint_eq(r.hash_count, SAMPLES[_i].hashes);
    ck_assert_double_eq(r.arrived_s, 0);
    ck_assert(next(trace, &r));
    ck_assert_double_eq_tol(r.arrived_s, SAMPLES[_i].second_s, 1e-7);
    uint64_t count = 2;
    while (next(trace, &r))
        count++;
    ck_assert_uint_eq(count, SAMPLES[_i].count);
    ck_assert_uint_eq(vs_trace_skipped(trace), 0);
    ck_assert_uint_eq(vs_trace_unanswered(trace), _i == 1);
    vs_trace_close(trace);
}
END_TEST

/* Every reader has a sample. */
START_TEST(all_have_samples) {
    for (size_t i = 0; vs_trace_readers[i]; i++) {
        bool found = false;
        for (size_t k = 0; k < sizeof SAMPLES / sizeof *SAMPLES; k++)
            found |= strcmp(SAMPLES[k].format, vs_trace_readers[i]->name) == 0;
        ck_assert_msg(found, "%s", vs_trace_readers[i]->name);
    }
}
END_TEST

static struct vs_trace *over(const char *text, bool skip_bad) {
    return vs_trace_over(text, strlen(text), "x", skip_bad, &err);
}

static const char *error_of(const char *text) {
    struct vs_trace_request r;
    bool more = true;
    struct vs_trace *trace = over(text, false);
    while (trace && more && vs_trace_next(trace, &r, &more, &err))
        continue;
    ck_assert_msg(more, "accepted: %s", text);
    vs_trace_close(trace);
    ck_assert_int_eq(err.status, VS_ERR_INPUT);
    return err.text;
}

#define HEAD "arrived_at,prompt,gen\n"
#define TOKENS "expected a whole number of tokens from 1 to 4194304"
static const struct {
    const char *text, *error;
} BAD[] = {
    {"", "x: found an empty file, expected a trace"},
    {"a,b\n1,2\n", "x:1: found no format of a trace in the first line, expected a header such as "
                   "arrived_at,prompt,gen"},
    {"{\"a\":1}\n", "x:1: found no format of a trace in the first line, expected keys such as "
                    "timestamp, input_length, output_length"},
    {HEAD "0,5\n", "x:2: found 2 columns, expected 3 as in the header"},
    {HEAD "0,5,5\n\n", "x:3: found 1 column, expected 3 as in the header"},
    {HEAD "0,5,5\n1,5,0\n", "x:3: gen: found '0', " TOKENS},
    {HEAD "0,5,5\n1,,5\n", "x:3: prompt: found '', " TOKENS},
    {HEAD "0,4294967296,5\n", "x:2: prompt: found '4294967296', " TOKENS},
    {HEAD "0,4194305,5\n", "x:2: prompt: found '4194305', " TOKENS},
    {HEAD "0,5,-5\n", "x:2: gen: found '-5', " TOKENS},
    {HEAD "0,5.5,5\n", "x:2: prompt: found '5.5', " TOKENS},
    {HEAD "-1,5,5\n", "x:2: arrived_at: found '-1', expected a time, 0 or later"},
    {HEAD "NaN,5,5\n", "x:2: arrived_at: found 'NaN', expected a time, 0 or later"},
    {HEAD "1e999,5,5\n", "x:2: arrived_at: found '1e999', expected a time, 0 or later"},
    {HEAD "99999999999,5,5\n", "x:2: arrived_at: found '99999999999', expected a time, 0 or later"},
    {HEAD "2,5,5\n1,5,5\n",
     "x:3: arrived_at: found '1', expected no time before that of the row above"},
    {HEAD "\"2,5,5\n", "x:2: found the end of the line, expected a quote that closes a field"},
    {"TIMESTAMP,ContextTokens,GeneratedTokens\n12:00,5,5\n",
     "x:2: TIMESTAMP: found '12:00', expected a time such as 2023-11-16 18:17:03.9799600"},
    {"{\"timestamp\":0,\"input_length\":5,\"output_length\":5}\n{\"timestamp\":0}\n",
     "x:2: input_length: found nothing, " TOKENS},
    {"{\"timestamp\":0,\"input_length\":5,\"output_length\":5,\"hash_ids\":[1,-2]}\n",
     "x:1: expected a hash id, a whole number below 2^64"},
    {"{\"timestamp\":0,\"input_length\":5,\"output_length\":5}\n{\"timestamp\":0,\n",
     "x:2: expected a key and a colon"},
    {"{\"timestamp\":0,\"input_length\":5,\"output_length\":5}\n[1]\n", "x:2: expected an object"},
    {"TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:15:46.68,374,44\r\n"
     "2023-11-16 18:15:46.67,374,44\r\n",
     "x:3: TIMESTAMP: found '2023-11-16 18:15:46.67', expected no time before that of the row "
     "above"},
    {"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-02-30 18:15:46,374,44\n",
     "x:2: TIMESTAMP: found '2023-02-30 18:15:46', expected a time such as "
     "2023-11-16 18:17:03.9799600"},
    {"Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
     "5,GPT-4,nan,18,490,API log\n",
     "x:2: Request tokens: found 'nan', " TOKENS},
    {"request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,token_size\n"
     "1,2,0,inf,1,2048,8\n",
     "x:2: arrival_timestamp: found 'inf', expected a time, 0 or later"},
    {"\xEF\xBB\xBFnum_prefill_tokens,num_decode_tokens\r\n3772,54\r\n-1,5\r\n",
     "x:3: num_prefill_tokens: found '-1', " TOKENS},
    {"{\"timestamp\":0,\"input_length\":5,\"output_length\":5,\"hash_ids\":[1]}\n"
     "{\"timestamp\":1,\"input_length\":1e99,\"output_length\":5,\"hash_ids\":[1]}\n",
     "x:2: input_length: found '1e99', " TOKENS},
    {"{\"input_toks\":5,\"output_toks\":5,\"arrival_time_ns\":9}\n"
     "{\"input_toks\":5,\"output_toks\":5,\"arrival_time_ns\":-1}\n",
     "x:2: arrival_time_ns: found '-1', expected a time, 0 or later"},
};

START_TEST(refused) { ck_assert_str_eq(error_of(BAD[_i].text), BAD[_i].error); }
END_TEST

/* CRLF, a byte order mark, a quoted field, columns nobody asked for; a row without a line end. */
START_TEST(tolerated) {
    struct vs_trace_request r;
    struct vs_trace *trace = over("\xEF\xBB\xBFgen,\"prompt\",note,arrived_at\r\n"
                                  "7,\"5\",\"a, \"\"b\"\"\",1.5\r\n8,6,,2e0",
                                  false);
    ck_assert_msg(trace != NULL, "%s", err.text);
    ck_assert(next(trace, &r));
    ck_assert_uint_eq(r.prompt, 5);
    ck_assert_uint_eq(r.gen, 7);
    ck_assert(next(trace, &r));
    ck_assert_double_eq_tol(r.arrived_s, 0.5, 1e-9);
    ck_assert(!next(trace, &r));
    vs_trace_close(trace);
    trace = over("{\"text\": \"a \\\" }\", \"ids\": [[1, 2], {\"x\": null}], \"output_toks\": 3, "
                 "\"input_toks\": 2}",
                 false);
    ck_assert_msg(trace != NULL, "%s", err.text);
    ck_assert(!vs_trace_timed(trace));
    ck_assert(next(trace, &r));
    ck_assert_uint_eq(r.gen, 3);
    vs_trace_close(trace);
}
END_TEST

/* Times of day go over the end of a month in a leap year; a zone is that of UTC. */
START_TEST(times_of_day) {
    struct vs_trace_request r;
    struct vs_trace *trace = over("TIMESTAMP,ContextTokens,GeneratedTokens\n"
                                  "2024-02-28 23:59:59.5,5,5\n2024-03-01 00:00:00.25+00:00,5,5\n",
                                  false);
    ck_assert_msg(trace != NULL, "%s", err.text);
    ck_assert(next(trace, &r));
    ck_assert(next(trace, &r));
    ck_assert_double_eq_tol(r.arrived_s, 86400.75, 1e-9);
    vs_trace_close(trace);
}
END_TEST

START_TEST(skips_bad_rows) {
    struct vs_trace_request r;
    struct vs_trace *trace = over(HEAD "0,5,5\n1,0,5\n0.5,6,5\n0.1,7,7\n,1\n2,8,8\n", true);
    static const uint64_t prompts[] = {5, 6, 8};
    for (size_t i = 0; i < 3; i++) {
        ck_assert(next(trace, &r));
        ck_assert_uint_eq(r.prompt, prompts[i]);
    }
    ck_assert(!next(trace, &r));
    ck_assert_uint_eq(vs_trace_skipped(trace), 3);
    ck_assert_str_eq(vs_trace_first_skipped(trace), "x:3: prompt: found '0', " TOKENS);
    vs_trace_close(trace);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("trace");
    TCase *tests = tcase_create("all");
    tcase_add_loop_test(tests, formats, 0, sizeof SAMPLES / sizeof *SAMPLES);
    tcase_add_test(tests, all_have_samples);
    tcase_add_loop_test(tests, refused, 0, sizeof BAD / sizeof *BAD);
    tcase_add_test(tests, tolerated);
    tcase_add_test(tests, times_of_day);
    tcase_add_test(tests, skips_bad_rows);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
