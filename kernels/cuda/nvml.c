#include "nvml.h"

#include <dlfcn.h>
#include <stddef.h>

/* Of nvml.h, alike in all versions of the library: every call returns 0 when it worked. */
enum { TEMPERATURE_GPU = 0, CLOCK_SM = 1 };
struct memory {
    unsigned long long total, free, used;
};
struct utilization {
    unsigned gpu, memory; /* percent */
};
typedef struct device *device;

struct nvml {
    int (*init)(void);
    int (*by_bus)(const char *bus, device *out);
    int (*memory)(device of, struct memory *out);
    int (*temperature)(device of, int sensor, unsigned *out);
    int (*clock)(device of, int which, unsigned *mhz);
    int (*power)(device of, unsigned *mw);
    int (*utilization)(device of, struct utilization *out);
};

static bool find(void *library, const char *name, void *function) {
    void *found = dlsym(library, name);
    *(void **)function = found; /* as POSIX has it */
    return found != NULL;
}

/* Loaded once and kept; NULL when there is none. */
static const struct nvml *load(void) {
    static struct nvml n;
    static bool tried, loaded;
    if (tried)
        return loaded ? &n : NULL;
    tried = true;
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    loaded = library && find(library, "nvmlInit_v2", &n.init) &&
             find(library, "nvmlDeviceGetHandleByPciBusId_v2", &n.by_bus) &&
             find(library, "nvmlDeviceGetMemoryInfo", &n.memory) &&
             find(library, "nvmlDeviceGetTemperature", &n.temperature) &&
             find(library, "nvmlDeviceGetClockInfo", &n.clock) &&
             find(library, "nvmlDeviceGetPowerUsage", &n.power) &&
             find(library, "nvmlDeviceGetUtilizationRates", &n.utilization) && n.init() == 0;
    return loaded ? &n : NULL;
}

bool nvml_read(const char *bus, struct nvml_state *state) {
    const struct nvml *n = load();
    device d = NULL;
    struct memory memory = {0};
    struct utilization utilization;
    unsigned value;
    *state = (struct nvml_state){.busy = -1};
    if (!n || n->by_bus(bus, &d) != 0)
        return false;
    if (n->memory(d, &memory) == 0)
        state->used_bytes = (double)memory.used;
    if (n->temperature(d, TEMPERATURE_GPU, &value) == 0)
        state->temperature_c = value;
    if (n->clock(d, CLOCK_SM, &value) == 0)
        state->clock_hz = 1e6 * value;
    if (n->power(d, &value) == 0)
        state->power_w = 1e-3 * value;
    if (n->utilization(d, &utilization) == 0)
        state->busy = utilization.gpu / 100.0;
    return true;
}
