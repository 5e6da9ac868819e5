/* Where the data files are: the folder that a program gave (vs_data_root_swap), then each of the
 * folders in the environment variable VRAMSIM_PATH (joined by ':'), then the source tree that the
 * program was built from, then the install prefix: the one beside the running program
 * (../share/vramsim, so that a prefix may be moved; known on Linux), then the one it was built for.
 * The first hit wins. What gets installed knows no source tree, and what runs in the build tree
 * looks beside no program: each is built with its own data.c. */
#ifndef VS_BASE_DATA_H
#define VS_BASE_DATA_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

/* Finds the file that a user means by `word` in data folder `folder` ("hwprofiles/devices"): a path
 * to a file (has a '/' or ends in .json), FOLDER/word.json, or the file whose "aliases" hold the
 * word (lower case compares equal). Otherwise an error that names the kind (`what`, e.g. "device")
 * and the three nearest names: unknown device 'rtx4900'; nearest: rtx4090, rtx3090, rtx4090d `path`
 * lives in the arena. */
bool vs_data_find(struct vs_arena *arena, const char *folder, const char *what, const char *word,
                  const char **path, struct vs_err *err);

/* The names (file names without .json) in a data folder over all roots, sorted, each once. */
bool vs_data_list(struct vs_arena *arena, const char *folder, const char *const **names,
                  size_t *count, struct vs_err *err);

/* The same for files that end in another suffix (".gp"). */
bool vs_data_list_files(struct vs_arena *arena, const char *folder, const char *suffix,
                        const char *const **names, size_t *count, struct vs_err *err);

/* The full path of an existing file or folder below any data root, or NULL. */
const char *vs_data_path(struct vs_arena *arena, const char *relative);

/* The folder that comes before all others, for the calling thread only; NULL = none. It is
 * borrowed: put the one before, which is returned, back before it goes. */
const char *vs_data_root_swap(const char *root);

#endif
