/* Where the data files are: each of the folders in the environment variable VRAMSIM_PATH (joined by
 * ':'), then the source tree that the program was built from, then the install prefix. The first
 * hit wins. */
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

/* The full path of an existing file or folder below any data root, or NULL. */
const char *vs_data_path(struct vs_arena *arena, const char *relative);

#endif
