#include <stdio.h>

#include "gpu.h"
#include "nvml.h"

struct gpu gpu;

static const size_t LEAST_FREE = (size_t)512 << 20;
static const double BUSY = 0.2; /* a desktop's own work stays below */

static cudaError_t start(int index, size_t *free_bytes) {
    size_t all_bytes;
    cudaError_t error = cudaGetDeviceProperties(&gpu.properties, index);
    gpu.index = index;
    if (error == cudaSuccess)
        error = cudaSetDevice(index);
    if (error == cudaSuccess)
        error = cudaMemGetInfo(free_bytes, &all_bytes); /* the first call that needs a context */
    if (error == cudaSuccess)
        error = cudaStreamCreateWithFlags(&gpu.stream, cudaStreamNonBlocking);
    if (error == cudaSuccess)
        error = cudaEventCreate(&gpu.first);
    if (error == cudaSuccess)
        error = cudaEventCreate(&gpu.last);
    return error;
}

/* What others do on the device would be measured too. */
static bool is_busy(int index, char *line, size_t size) {
    struct nvml_state state;
    if (cudaDeviceGetPCIBusId(gpu.bus, sizeof gpu.bus, index) != cudaSuccess ||
        !nvml_read(gpu.bus, &state))
        return false;
    gpu.used_before = (size_t)state.used_bytes;
    if (state.busy <= BUSY)
        return false;
    (void)snprintf(line, size, "device %d is busy (%.0f %% of the time): others' work would count",
                   index, 100 * state.busy);
    return true;
}

const char *gpu_open(int index) {
    static char line[300];
    int count = 0, driver = 0;
    size_t free_bytes = 0;
    if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0)
        return "no NVIDIA driver was found";
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaSuccess && count == 0)
        return "no CUDA device was found";
    if (error == cudaSuccess && index >= count) {
        (void)snprintf(line, sizeof line, "there is no device %d: found %d", index, count);
        return line;
    }
    if (error == cudaSuccess && is_busy(index, line, sizeof line))
        return line;
    if (error == cudaSuccess)
        error = start(index, &free_bytes);
    if (error != cudaSuccess) {
        (void)snprintf(line, sizeof line, "no CUDA device can be used: %s",
                       cudaGetErrorString(error));
        return line;
    }
    if (free_bytes >= LEAST_FREE)
        return NULL;
    (void)snprintf(line, sizeof line, "%s has %zu MiB free, expected at least %zu MiB",
                   gpu.properties.name, free_bytes >> 20, LEAST_FREE >> 20);
    return line;
}

bool gpu_launched(void) { return cudaPeekAtLastError() == cudaSuccess; }
