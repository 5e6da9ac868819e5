/* Copies between host and device by size: pinned and pageable memory, each direction, and both
 * directions at once on two streams. bytes = size of the copy; both at once: of the two together.
 * Checked: first and last byte after a round trip.
 *     nvcc -O3 -arch=native -I.. -c cuda_host_copy.cu */
#include <stdlib.h>
#include <string.h>

#include "gpu.h"

struct ends {
    unsigned char *host, *device, *other_host, *other_device;
    size_t bytes;
    cudaStream_t second;
    cudaEvent_t forked, joined;
};

static bool up(void *context, cudaStream_t stream) {
    const struct ends *e = (const struct ends *)context;
    return cudaMemcpyAsync(e->device, e->host, e->bytes, cudaMemcpyHostToDevice, stream) ==
           cudaSuccess;
}

static bool down(void *context, cudaStream_t stream) {
    const struct ends *e = (const struct ends *)context;
    return cudaMemcpyAsync(e->host, e->device, e->bytes, cudaMemcpyDeviceToHost, stream) ==
           cudaSuccess;
}

/* The second stream starts with the first one, which waits for it at the end. */
static bool both(void *context, cudaStream_t stream) {
    const struct ends *e = (const struct ends *)context;
    return cudaEventRecord(e->forked, stream) == cudaSuccess &&
           cudaStreamWaitEvent(e->second, e->forked, 0) == cudaSuccess &&
           cudaMemcpyAsync(e->other_host, e->other_device, e->bytes, cudaMemcpyDeviceToHost,
                           e->second) == cudaSuccess &&
           cudaMemcpyAsync(e->device, e->host, e->bytes, cudaMemcpyHostToDevice, stream) ==
               cudaSuccess &&
           cudaEventRecord(e->joined, e->second) == cudaSuccess &&
           cudaStreamWaitEvent(stream, e->joined, 0) == cudaSuccess;
}

static bool round_trip(struct ends *e) {
    e->host[0] = 17;
    e->host[e->bytes - 1] = 23;
    if (!gpu_once(up, e))
        return false;
    memset(e->host, 0, e->bytes);
    return gpu_once(down, e) && e->host[e->bytes - 1] == 23 && (e->bytes == 1 || e->host[0] == 17);
}

struct kind {
    const char *name;
    gpu_work work;
    double copies;
};

static void measure_kinds(struct session *session, const struct probe_limits *limits,
                          struct ends *e, size_t most, const struct kind *kinds, size_t count) {
    for (size_t bytes = 4096; bytes <= most; bytes *= 4)
        for (size_t i = 0; i < count; i++) {
            struct sample sample = {};
            e->bytes = bytes;
            sample.bytes = bytes;
            sample.work = kinds[i].copies * (double)bytes;
            sample.unit = "bytes";
            sample.variant = kinds[i].name;
            if (round_trip(e))
                gpu_measure(session, limits, &sample, kinds[i].work, e);
            else
                gpu_skip(session, kinds[i].name, "its result was wrong");
        }
}

static void pageable(struct session *session, const struct probe_limits *limits, struct ends *e,
                     size_t most) {
    static const struct kind KINDS[] = {{"h2d-pageable", up, 1}, {"d2h-pageable", down, 1}};
    e->host = (unsigned char *)malloc(most);
    if (e->host) {
        memset(e->host, 1, most);
        measure_kinds(session, limits, e, most, KINDS, 2);
    } else {
        gpu_skip(session, "pageable", "no host memory for the array");
    }
    free(e->host);
}

static void pinned(struct session *session, const struct probe_limits *limits, struct ends *e,
                   size_t most) {
    static const struct kind KINDS[] = {
        {"h2d-pinned", up, 1}, {"d2h-pinned", down, 1}, {"both-pinned", both, 2}};
    void *host = NULL;
    if (cudaMallocHost(&host, 2 * most) != cudaSuccess) {
        gpu_skip(session, "pinned", "no host memory can be pinned");
        return;
    }
    e->host = (unsigned char *)host;
    e->other_host = e->host + most;
    if (cudaStreamCreateWithFlags(&e->second, cudaStreamNonBlocking) == cudaSuccess &&
        cudaEventCreateWithFlags(&e->forked, cudaEventDisableTiming) == cudaSuccess &&
        cudaEventCreateWithFlags(&e->joined, cudaEventDisableTiming) == cudaSuccess)
        measure_kinds(session, limits, e, most, KINDS, 3);
    else
        gpu_skip(session, "pinned", "no second stream");
    if (e->joined)
        (void)cudaEventDestroy(e->joined);
    if (e->forked)
        (void)cudaEventDestroy(e->forked);
    if (e->second)
        (void)cudaStreamDestroy(e->second);
    (void)cudaFreeHost(host);
}

static void run(struct session *session, const struct probe_limits *limits) {
    size_t most = gpu_most_bytes(limits) / 2;
    most = most < limits->bytes ? most : limits->bytes;
    gpu_memory memory(2 * most);
    struct ends e = {};
    if (!memory) {
        gpu_skip(session, NULL, "no device memory for the array");
        return;
    }
    e.device = memory.as<unsigned char>();
    e.other_device = e.device + most;
    pinned(session, limits, &e, most);
    pageable(session, limits, &e, most);
}

GPU_PROBE(cuda_host_copy, "copies between host and device, pinned and pageable")
