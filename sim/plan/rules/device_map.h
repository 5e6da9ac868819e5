/* Accelerate's automatic device map (huggingface/accelerate: infer_auto_device_map): where modules
 * of a model go, in its order, by bytes alone. */
#ifndef VS_PLAN_RULES_DEVICE_MAP_H
#define VS_PLAN_RULES_DEVICE_MAP_H

#include <stddef.h>
#include <stdint.h>

/* `place[i]` becomes the device of module i: the first from that of the module before on that has
 * room. Device 0 keeps room for the largest module still to come, which may be brought to it; the
 * last one takes what is left, whatever its room. A module that may be split is given as its parts;
 * one that may not, as a whole. `devices` > 0; nothing goes back to a device that was passed. */
void vs_device_map(const double *bytes, size_t count, const double *room, size_t devices,
                   uint8_t *place);

#endif
