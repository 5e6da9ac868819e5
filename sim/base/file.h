/* Whole files: read with a bound, written so that nothing half-written stays behind. */
#ifndef VS_BASE_FILE_H
#define VS_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/err.h"

/* Reads a regular file of at most max_bytes; *text is terminated and lives in the arena. A missing
 * or unreadable file that the user named is bad input (VS_ERR_INPUT). */
bool vs_file_read(struct vs_arena *arena, const char *path, size_t max_bytes, char **text,
                  size_t *length, struct vs_err *err);

/* Opens a file (or pipe) to be read piece by piece; the caller closes it. A missing or unreadable
 * one is bad input. */
bool vs_file_open(const char *path, FILE **stream, struct vs_err *err);

/* Output piece by piece: to a temporary file beside `path`, which takes its place at the end. On
 * failure, and where it is abandoned, nothing stays behind. NULL on failure. */
struct vs_file_out;
struct vs_file_out *vs_file_begin(const char *path, struct vs_err *err);
bool vs_file_put(struct vs_file_out *out, const char *text, size_t length, struct vs_err *err);
/* Ends it, whether or not it succeeds. */
bool vs_file_commit(struct vs_file_out *out, struct vs_err *err);
void vs_file_abandon(struct vs_file_out *out); /* NULL is fine */

/* The same at once. */
bool vs_file_write(const char *path, const char *text, size_t length, struct vs_err *err);

bool vs_file_exists(const char *path);
bool vs_dir_exists(const char *path);
/* mkdir -p. */
bool vs_dir_make(const char *path, struct vs_err *err);

/* Names in a folder that end in `suffix`, without it, sorted by bytes. A missing folder has none.
 */
bool vs_dir_list(struct vs_arena *arena, const char *path, const char *suffix,
                 const char *const **names, size_t *count, struct vs_err *err);

#endif
