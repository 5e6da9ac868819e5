/* Request traces as they are published: who asked when for how many tokens. The format is
 * recognised by the first line (a CSV header, or the keys of a JSON object), never by the file's
 * name; a file may be plain or compressed, "-" is standard input. Streamed: memory doesn't grow
 * with its length.
 *
 * Rows come in the order of arrival. A row that is not whole (a column missing, times that go back,
 * no tokens) is an error that names file and line, or is counted and left out where bad rows are
 * skipped. */
#ifndef VS_IMPORT_TRACE_H
#define VS_IMPORT_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { VS_TRACE_TOKENS_MOST = 4194304 }; /* of a prompt, and of an answer */

struct vs_trace_request {
    double arrived_s; /* since the first request; 0 in a trace of lengths alone */
    uint64_t prompt, gen;
    const uint64_t *hashes; /* of the prompt's blocks, each chained to those before; borrowed until
                               the next request */
    size_t hash_count;
};

struct vs_trace;

/* NULL on failure. */
struct vs_trace *vs_trace_open(const char *path, bool skip_bad, struct vs_err *err);
/* The same over bytes that stay until the trace is closed. */
struct vs_trace *vs_trace_over(const char *bytes, size_t length, const char *name, bool skip_bad,
                               struct vs_err *err);
void vs_trace_close(struct vs_trace *trace); /* NULL is fine */

/* *more is false at the end. */
bool vs_trace_next(struct vs_trace *trace, struct vs_trace_request *request, bool *more,
                   struct vs_err *err);

const char *vs_trace_format(const struct vs_trace *trace);        /* "azure" */
bool vs_trace_timed(const struct vs_trace *trace);                /* false: lengths alone */
uint64_t vs_trace_hash_tokens(const struct vs_trace *trace);      /* of a hashed block; 0 = none */
uint64_t vs_trace_skipped(const struct vs_trace *trace);          /* bad rows so far */
const char *vs_trace_first_skipped(const struct vs_trace *trace); /* its error; "" = none */
uint64_t vs_trace_unanswered(const struct vs_trace *trace); /* rows of requests that failed then */

#endif
