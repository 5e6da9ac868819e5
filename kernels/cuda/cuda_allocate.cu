/* What taking device memory and giving it back costs, by size: cudaMalloc and cudaFree,
 * cudaMallocAsync from a pool that keeps what was freed, and pinned host memory. work = 1 pair;
 * host's clock, the device idle. Checked: the memory can be written to its end. nvcc -O3
 * -arch=native -I.. -c cuda_allocate.cu */
#include <stdint.h>

#include "gpu.h"

struct request {
    size_t bytes;
};

static bool last_byte_works(unsigned char *at, size_t bytes) {
    return cudaMemsetAsync(at + bytes - 1, 1, 1, gpu.stream) == cudaSuccess &&
           cudaStreamSynchronize(gpu.stream) == cudaSuccess;
}

static double by_malloc(void *context) {
    const struct request *r = (const struct request *)context;
    void *at = NULL;
    double first = now_s();
    if (cudaMalloc(&at, r->bytes) != cudaSuccess)
        return -1;
    double taken = now_s() - first;
    bool ok = last_byte_works((unsigned char *)at, r->bytes);
    first = now_s();
    return cudaFree(at) == cudaSuccess && ok ? taken + now_s() - first : -1;
}

static double by_pool(void *context) {
    const struct request *r = (const struct request *)context;
    void *at = NULL;
    double first = now_s();
    if (cudaMallocAsync(&at, r->bytes, gpu.stream) != cudaSuccess ||
        cudaStreamSynchronize(gpu.stream) != cudaSuccess)
        return -1;
    double taken = now_s() - first;
    bool ok = last_byte_works((unsigned char *)at, r->bytes);
    first = now_s();
    ok = cudaFreeAsync(at, gpu.stream) == cudaSuccess &&
         cudaStreamSynchronize(gpu.stream) == cudaSuccess && ok;
    return ok ? taken + now_s() - first : -1;
}

static double by_pinning(void *context) {
    const struct request *r = (const struct request *)context;
    void *at = NULL;
    double first = now_s();
    if (cudaMallocHost(&at, r->bytes) != cudaSuccess)
        return -1;
    ((unsigned char *)at)[r->bytes - 1] = 1;
    return cudaFreeHost(at) == cudaSuccess ? now_s() - first : -1;
}

/* The pool keeps everything: what is measured is a pool that is warm. */
static bool pool_keeps(uint64_t *before) {
    cudaMemPool_t pool;
    int supported = 0;
    uint64_t all = UINT64_MAX;
    return cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, gpu.index) ==
               cudaSuccess &&
           supported && cudaDeviceGetDefaultMemPool(&pool, gpu.index) == cudaSuccess &&
           cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, before) == cudaSuccess &&
           cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all) == cudaSuccess;
}

static void empty_pool(uint64_t threshold) {
    cudaMemPool_t pool;
    if (cudaDeviceGetDefaultMemPool(&pool, gpu.index) == cudaSuccess) {
        (void)cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold);
        (void)cudaMemPoolTrimTo(pool, 0);
    }
}

static void measure(struct session *session, const struct probe_limits *limits, const char *name,
                    double (*repeat)(void *context), size_t most) {
    for (size_t bytes = (size_t)1 << 20; bytes <= most; bytes *= 8) {
        struct request r = {bytes};
        struct sample sample = {};
        sample.bytes = bytes;
        sample.work = 1;
        sample.unit = "operations";
        sample.variant = name;
        session_measure(session, limits, &sample, repeat, &r);
    }
    (void)cudaGetLastError();
}

static void run(struct session *session, const struct probe_limits *limits) {
    size_t most = gpu_most_bytes(limits);
    uint64_t before = 0;
    measure(session, limits, "malloc", by_malloc, most);
    if (pool_keeps(&before)) {
        measure(session, limits, "pool", by_pool, most);
        empty_pool(before);
    } else {
        gpu_skip(session, "pool", "the device has no memory pools");
    }
    measure(session, limits, "pinned", by_pinning, limits->bytes);
}

GPU_PROBE(cuda_allocate, "taking memory and giving it back")
