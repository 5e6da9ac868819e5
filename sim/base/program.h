/* Runs a program of this project that lies beside the running one, or in PATH. */
#ifndef VS_BASE_PROGRAM_H
#define VS_BASE_PROGRAM_H

#include "base/arena.h"
#include "base/err.h"

enum { VS_PROGRAM_NOT_FOUND = 127 }; /* as shells have it */

/* A new empty file in TMPDIR; its name lives in the arena, the caller removes it. */
bool vs_program_file(struct vs_arena *arena, const char **path, struct vs_err *err);

/* Runs `name` with the words behind it (NULL-terminated, the name not among them) and its standard
 * output in the file. *status is how it ended, VS_PROGRAM_NOT_FOUND where there is none. An
 * interrupt of the terminal ends the program, not this one; a program that a signal ended is
 * VS_ERR_IO. */
bool vs_program_run(struct vs_arena *arena, const char *name, const char *const *words,
                    const char *output, int *status, struct vs_err *err);

#endif
