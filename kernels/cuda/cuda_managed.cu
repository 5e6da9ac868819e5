/* Managed memory that lies on the host and is wanted on the device: by faults of a kernel that
 * reads it in order, and by prefetch, there and back. bytes = size, which is at most a quarter of
 * the device memory that is free, so that nothing is evicted. Checked: the sum of what the kernel
 * read. nvcc -O3 -arch=native -I.. -c cuda_managed.cu */
#include "gpu.h"

struct managed {
    unsigned *at;
    size_t count;
    unsigned long long *sum;
};

static __global__ void read_all(const unsigned *at, size_t count, unsigned long long *sum) {
    size_t step = (size_t)gridDim.x * blockDim.x;
    unsigned long long mine = 0;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
        mine += at[i];
    for (int other = 16; other > 0; other /= 2)
        mine += __shfl_down_sync(0xffffffffu, mine, other);
    if (threadIdx.x % 32 == 0)
        atomicAdd(sum, mine);
}

static bool move(const struct managed *m, bool to_device, cudaStream_t stream) {
#if CUDART_VERSION >= 13000
    cudaMemLocation where = {};
    where.type = to_device ? cudaMemLocationTypeDevice : cudaMemLocationTypeHost;
    where.id = to_device ? gpu.index : 0;
    return cudaMemPrefetchAsync(m->at, m->count * sizeof *m->at, where, 0, stream) == cudaSuccess;
#else
    return cudaMemPrefetchAsync(m->at, m->count * sizeof *m->at,
                                to_device ? gpu.index : cudaCpuDeviceId, stream) == cudaSuccess;
#endif
}

static bool read_work(void *context, cudaStream_t stream) {
    const struct managed *m = (const struct managed *)context;
    read_all<<<8 * (unsigned)gpu.properties.multiProcessorCount, 256, 0, stream>>>(m->at, m->count,
                                                                                   m->sum);
    return gpu_launched();
}

static bool up_work(void *context, cudaStream_t stream) {
    return move((const struct managed *)context, true, stream);
}

static bool down_work(void *context, cudaStream_t stream) {
    return move((const struct managed *)context, false, stream);
}

static double by_faults(void *context) {
    return gpu_once(down_work, context) ? gpu_time(read_work, context, 1) : -1;
}

static double by_prefetch(void *context) {
    return gpu_once(down_work, context) ? gpu_time(up_work, context, 1) : -1;
}

static double back(void *context) {
    return gpu_once(up_work, context) ? gpu_time(down_work, context, 1) : -1;
}

static bool is_right(struct managed *m) {
    unsigned long long expected = 0, found = 0;
    for (size_t i = 0; i < m->count; i++) {
        m->at[i] = (unsigned)(i & 1023);
        expected += i & 1023;
    }
    return cudaMemset(m->sum, 0, sizeof found) == cudaSuccess && by_faults(m) >= 0 &&
           gpu_fetch(&found, m->sum, sizeof found) && found == expected;
}

static void measure(struct session *session, const struct probe_limits *limits, struct managed *m) {
    static const struct {
        const char *name;
        double (*repeat)(void *context);
    } KINDS[] = {{"fault-h2d", by_faults}, {"prefetch-h2d", by_prefetch}, {"prefetch-d2h", back}};
    for (const auto &kind : KINDS) {
        struct sample sample = {};
        sample.bytes = m->count * sizeof *m->at;
        sample.work = (double)sample.bytes;
        sample.unit = "bytes";
        sample.variant = kind.name;
        session_measure(session, limits, &sample, kind.repeat, m);
    }
}

static void run(struct session *session, const struct probe_limits *limits) {
    int concurrent = 0;
    size_t most = gpu_most_bytes(limits);
    void *at = NULL;
    struct managed m = {};
    gpu_memory sum(sizeof *m.sum);
    (void)cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, gpu.index);
    if (!concurrent) {
        gpu_skip(session, NULL, "kernels of this system can't fault on managed memory");
        return;
    }
    m.count = (most < limits->bytes ? most : limits->bytes) / sizeof *m.at;
    if (!sum || cudaMallocManaged(&at, m.count * sizeof *m.at) != cudaSuccess) {
        gpu_skip(session, NULL, "no managed memory");
        return;
    }
    m.at = (unsigned *)at;
    m.sum = sum.as<unsigned long long>();
    if (is_right(&m))
        measure(session, limits, &m);
    else
        gpu_skip(session, NULL, "its result was wrong");
    (void)cudaFree(at);
}

GPU_PROBE(cuda_managed, "managed memory: faults and prefetch")
