/* Input as a stream: a file or standard input ("-"), plain or compressed by gzip or zstd (seen from
 * its first bytes, whatever the name), read piece by piece or line by line. Memory doesn't grow
 * with its length. */
#ifndef VS_BASE_INPUT_H
#define VS_BASE_INPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct vs_input;

/* NULL on failure: a missing or unreadable file is bad input, and so is standard input a second
 * time in one process, for nothing is left of it. The caller closes it. */
struct vs_input *vs_input_open(const char *path, struct vs_err *err);
/* The same over bytes in memory, borrowed until the input is closed; `name` is for messages. */
struct vs_input *vs_input_over(const char *bytes, size_t length, const char *name,
                               struct vs_err *err);
void vs_input_close(struct vs_input *in); /* NULL is fine */

const char *vs_input_name(const struct vs_input *in); /* for messages: the path, or "stdin" */

/* Up to `most` bytes, decompressed; *got = 0 at the end. Compressed data that is damaged or ends
 * too early is bad input. */
bool vs_input_read(struct vs_input *in, char *out, size_t most, size_t *got, struct vs_err *err);

/* The first bytes that the next read would give, up to 64 KiB of them, without taking them; valid
 * until the next call. A fault behind some good bytes is left to the reads that come to it. */
bool vs_input_peek(struct vs_input *in, const char **head, size_t *length, struct vs_err *err);

/* The next line without its end ("\n" or "\r\n"; the last one needs none), terminated; valid until
 * the next call. *line is NULL at the end. A byte order mark before the first line is skipped.
 * Lines over 16 MiB and NUL bytes are bad input. */
bool vs_input_line(struct vs_input *in, const char **line, size_t *length, struct vs_err *err);
int vs_input_line_number(const struct vs_input *in); /* of the last line, from 1 */

#endif
