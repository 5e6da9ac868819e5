#include "gpu.h"

#include <stdio.h>

struct gpu gpu;

static const size_t LEAST_FREE = (size_t)512 << 20;
static const double LONG_ENOUGH = 1e-3; /* events tell half a microsecond */
enum { ROUNDS_MOST = 64 };

static void describe(struct session *session, size_t free_bytes, size_t all_bytes, int count) {
    int driver = 0, runtime = 0, clock_khz = 0;
    (void)cudaDriverGetVersion(&driver);
    (void)cudaRuntimeGetVersion(&runtime);
    (void)cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, gpu.index);
    session_fact_text(session, "name", gpu.properties.name);
    session_fact(session, "count", count);
    session_fact(session, "memory_bytes", (double)all_bytes);
    session_fact(session, "free_bytes", (double)free_bytes);
    session_fact(session, "driver", driver); /* 13000 is CUDA 13.0 */
    session_fact(session, "runtime", runtime);
    session_fact(session, "compute_capability", gpu.properties.major + gpu.properties.minor / 10.0);
    session_fact(session, "sms", gpu.properties.multiProcessorCount);
    session_fact(session, "clock_hz", 1e3 * clock_khz);
    session_fact(session, "l2_bytes", gpu.properties.l2CacheSize);
}

extern "C" const char *machine_prepare(struct session *session) {
    static char line[300];
    int count = 0;
    size_t free_bytes = 0, all_bytes = 0;
    int driver = 0;
    if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0)
        return "no NVIDIA driver was found";
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaSuccess && count == 0)
        return "no CUDA device was found";
    if (error == cudaSuccess)
        error = cudaGetDeviceProperties(&gpu.properties, gpu.index);
    if (error == cudaSuccess)
        error = cudaSetDevice(gpu.index);
    if (error == cudaSuccess)
        error = cudaMemGetInfo(&free_bytes, &all_bytes); /* the first call that needs a context */
    if (error == cudaSuccess)
        error = cudaStreamCreateWithFlags(&gpu.stream, cudaStreamNonBlocking);
    if (error == cudaSuccess)
        error = cudaEventCreate(&gpu.first);
    if (error == cudaSuccess)
        error = cudaEventCreate(&gpu.last);
    if (error != cudaSuccess) {
        (void)snprintf(line, sizeof line, "no CUDA device can be used: %s",
                       cudaGetErrorString(error));
        return line;
    }
    if (free_bytes < LEAST_FREE) {
        (void)snprintf(line, sizeof line, "%s has %zu MiB free, expected at least %zu MiB",
                       gpu.properties.name, free_bytes >> 20, LEAST_FREE >> 20);
        return line;
    }
    describe(session, free_bytes, all_bytes, count);
    return NULL;
}

size_t gpu_most_bytes(const struct probe_limits *limits) {
    size_t free_bytes = 0, all_bytes = 0;
    if (cudaMemGetInfo(&free_bytes, &all_bytes) != cudaSuccess)
        return 0;
    size_t most = 4 * limits->bytes;
    return most < free_bytes / 4 ? most : free_bytes / 4;
}

double gpu_time(gpu_work work, void *context, unsigned rounds) {
    float ms = 0;
    if (cudaEventRecord(gpu.first, gpu.stream) != cudaSuccess)
        return -1;
    for (unsigned i = 0; i < rounds; i++)
        if (!work(context, gpu.stream))
            return -1;
    if (cudaEventRecord(gpu.last, gpu.stream) != cudaSuccess ||
        cudaEventSynchronize(gpu.last) != cudaSuccess ||
        cudaEventElapsedTime(&ms, gpu.first, gpu.last) != cudaSuccess)
        return -1;
    return 1e-3 * ms / rounds;
}

struct repeated {
    gpu_work work;
    void *context;
    unsigned rounds;
};

static double repeat(void *context) {
    const struct repeated *r = static_cast<const struct repeated *>(context);
    return gpu_time(r->work, r->context, r->rounds);
}

void gpu_measure(struct session *session, const struct probe_limits *limits,
                 const struct sample *sample, gpu_work work, void *context) {
    struct repeated r = {work, context, 1};
    double one = gpu_once(work, context) ? gpu_time(work, context, 1) : -1;
    if (one < 0) {
        gpu_skip(session, sample->variant, "a repetition failed");
        return;
    }
    if (one * ROUNDS_MOST < LONG_ENOUGH)
        r.rounds = ROUNDS_MOST;
    else if (one < LONG_ENOUGH)
        r.rounds = (unsigned)(LONG_ENOUGH / one) + 1;
    session_measure(session, limits, sample, repeat, &r);
}

bool gpu_once(gpu_work work, void *context) {
    return work(context, gpu.stream) && cudaStreamSynchronize(gpu.stream) == cudaSuccess;
}

bool gpu_launched(void) { return cudaPeekAtLastError() == cudaSuccess; }

bool gpu_fetch(void *host, const void *device, size_t bytes) {
    return cudaMemcpyAsync(host, device, bytes, cudaMemcpyDefault, gpu.stream) == cudaSuccess &&
           cudaStreamSynchronize(gpu.stream) == cudaSuccess;
}

void gpu_skip(struct session *session, const char *variant, const char *reason) {
    char line[300];
    cudaError_t error = cudaGetLastError();
    (void)snprintf(line, sizeof line, "%s%s%s%s%s", variant ? variant : "", variant ? ": " : "",
                   reason, error == cudaSuccess ? "" : ": ",
                   error == cudaSuccess ? "" : cudaGetErrorString(error));
    session_skip(session, line);
}
