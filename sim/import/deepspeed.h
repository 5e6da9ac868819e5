/* DeepSpeed's own configuration file (ds_config.json), read into axes.
 *
 * A file speaks of an axis where it has a key for it whose value is not "auto" (which leaves the
 * value to the trainer, and so to the command line, the workload or the engine). Keys that change
 * neither memory nor time as they are simulated (logging, learning rates, loss scales) are known
 * and pass; a key that DeepSpeed does not have is refused, and so is a mechanism that is not
 * modelled, each with the place where it stands.
 *
 * It knows no devices: that a batch is made up of micro-batches, accumulation and ranks is checked
 * by plan/resolve, which knows the ranks. */
#ifndef VS_IMPORT_DEEPSPEED_H
#define VS_IMPORT_DEEPSPEED_H

#include "base/arena.h"
#include "base/err.h"
#include "work/axis.h"

struct vs_deepspeed {
    struct vs_values values;       /* of the axes that the file speaks of; origin VS_FROM_CONFIG */
    uint64_t train_batch;          /* samples of an optimizer step over all ranks; 0 = not stated */
    const char *train_batch_where; /* "ds.json:3:5: at $.train_batch_size" */
};

/* Texts live in the arena. False: the file cannot be read or is not what DeepSpeed takes; err names
 * file, place, what was found and what was expected, and *config is untouched. */
bool vs_deepspeed_read(struct vs_arena *arena, const char *path, struct vs_deepspeed *config,
                       struct vs_err *err);

#endif
