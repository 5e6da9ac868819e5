#include "plan/rules/device_map.h"

static uint64_t largest_after(const uint64_t *module_bytes, size_t count, size_t i) {
    uint64_t most = 0;
    while (++i < count)
        most = module_bytes[i] > most ? module_bytes[i] : most;
    return most;
}

void vs_device_map(const uint64_t *module_bytes, size_t count, const struct vs_map_device *devices,
                   size_t device_count, size_t *place) {
    size_t at = 0;
    uint64_t used = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t to_come = largest_after(module_bytes, count, i);
        for (; at < device_count; at++, used = 0) {
            uint64_t reserve = devices[at].keeps_room ? to_come : 0;
            if (devices[at].limit_bytes == UINT64_MAX ||
                used + module_bytes[i] + reserve <= devices[at].limit_bytes)
                break;
        }
        used += module_bytes[i];
        place[i] = at;
    }
}

void vs_device_map_balance(uint64_t model_bytes, uint64_t largest_bytes, uint64_t *limit_bytes,
                           size_t gpu_count) {
    size_t usable = 0, last = 0;
    for (size_t i = 0; i < gpu_count; i++) {
        if (limit_bytes[i] == 0)
            continue;
        usable++;
        last = i;
    }
    if (usable < 2)
        return;
    uint64_t share = model_bytes / usable + largest_bytes + largest_bytes / 4;
    for (size_t i = 0; i < last; i++)
        if (share < limit_bytes[i])
            limit_bytes[i] = share;
}
