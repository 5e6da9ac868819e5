#include "gpu.h"

#include <stdio.h>

#include "nvml.h"

static const double LONG_ENOUGH = 1e-3; /* events tell half a microsecond */
enum { ROUNDS_MOST = 64 };

/* The device as it is now, and again when all probes have run: a hot one is slower. */
static void describe_state(struct session *session, const char *const keys[3]) {
    struct nvml_state state;
    if (!nvml_read(gpu.bus, &state))
        return;
    session_fact(session, keys[0], state.temperature_c);
    session_fact(session, keys[1], state.clock_hz);
    session_fact(session, keys[2], state.power_w);
}

static void describe(struct session *session) {
    static const char *const BEFORE[] = {"temperature_c", "clock_now_hz", "power_w"};
    int driver = 0, runtime = 0, clock_khz = 0, count = 0;
    size_t free_bytes = 0, all_bytes = 0;
    (void)cudaMemGetInfo(&free_bytes, &all_bytes);
    (void)cudaGetDeviceCount(&count);
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
    describe_state(session, BEFORE);
}

extern "C" const char *machine_prepare(struct session *session) {
    const char *why = gpu_open(0);
    if (!why)
        describe(session);
    return why;
}

extern "C" void machine_finish(struct session *session) {
    static const char *const AFTER[] = {"temperature_end_c", "clock_end_hz", "power_end_w"};
    describe_state(session, AFTER);
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
