/* Accelerate's placement of a model's modules on devices (infer_auto_device_map and
 * get_balanced_memory, huggingface/accelerate:src/accelerate/utils/modeling.py@16cb6eb8).
 *
 * Modules are walked in the order of the model, devices in the order GPUs, CPU, disk. A device that
 * does not take the next module is left for good: nothing fills the gap behind it. The first GPU
 * and the CPU keep room for the largest module still to come, whether or not anything will have to
 * be brought there. Modules are those that may not be split: token embeddings, each layer, the last
 * norm, the head. Walking a tree of them, as Accelerate does, gives the same answer, since a whole
 * fits exactly where its parts fit one after the other. */
#ifndef VS_PLAN_RULES_DEVICE_MAP_H
#define VS_PLAN_RULES_DEVICE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vs_map_device {
    uint64_t limit_bytes; /* UINT64_MAX = takes all */
    bool keeps_room;      /* for the largest module still to come */
};

/* Writes place[i] for each of `count` modules: an index of `devices`, or device_count = disk, which
 * takes all. */
void vs_device_map(const uint64_t *module_bytes, size_t count, const struct vs_map_device *devices,
                   size_t device_count, size_t *place);

/* device_map "auto": all GPUs but the last are held to an even share of the model and a quarter
 * more than its largest part (`largest_bytes`: of the modules that may not be split, or the mean of
 * the innermost ones where that is more). GPUs of limit 0 do not count; with one left nothing
 * changes. */
void vs_device_map_balance(uint64_t model_bytes, uint64_t largest_bytes, uint64_t *limit_bytes,
                           size_t gpu_count);

#endif
