/* What the driver's management library knows of a device: clocks, temperature, memory of all
 * processes. The library is loaded as the program runs; without it nothing is known. */
#ifndef VRAMSIM_NVML_H
#define VRAMSIM_NVML_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Zero where something is not known. */
struct nvml_state {
    double used_bytes; /* by all processes, the driver's own included */
    double temperature_c, clock_hz, power_w;
    double busy; /* share of the last moments in which a kernel ran; -1 = not known */
};

/* By PCI bus, as CUDA prints it; true when the device was found. */
bool nvml_read(const char *bus, struct nvml_state *state);

#ifdef __cplusplus
}
#endif

#endif
