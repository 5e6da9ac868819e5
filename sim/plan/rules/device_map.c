#include "plan/rules/device_map.h"

static double largest(const double *bytes, size_t from, size_t count) {
    double most = 0;
    for (size_t i = from; i < count; i++)
        most = bytes[i] > most ? bytes[i] : most;
    return most;
}

void vs_device_map(const double *bytes, size_t count, const double *room, size_t devices,
                   uint8_t *place) {
    size_t device = 0;
    double left = room[0];
    for (size_t i = 0; i < count; i++) {
        double kept = device == 0 ? largest(bytes, i + 1, count) : 0;
        while (bytes[i] + kept > left && device + 1 < devices) {
            left = room[++device];
            kept = 0;
        }
        left -= bytes[i];
        place[i] = (uint8_t)device;
    }
}
