/* How much a kernel and a copy slow each other: each alone, then both at once, for a kernel that
 * reads device memory and one that only computes. work = bytes that the copy moves, or operations
 * or bytes of the kernel; "X-with-Y" counts the time until X is done while Y runs all along. Copies
 * are host to device, pinned. Checked: the kernels' results and the copy's last byte. nvcc -O3
 * -arch=native -I.. -c cuda_overlap.cu */
#include <math.h>
#include <string.h>

#include "gpu.h"

enum { THREADS = 256, STEPS = 4096 };

struct pair {
    float *data, *result;
    size_t count; /* of float */
    unsigned blocks;
    unsigned char *host, *device;
    size_t bytes;
    cudaStream_t second;
};

/* 2 operations a step; 0.5 x + 1 ends at 2. */
static __global__ void compute(float *result) {
    float x = (float)threadIdx.x;
#pragma unroll 16
    for (int i = 0; i < STEPS; i++)
        x = x * 0.5f + 1.0f;
    result[blockIdx.x * THREADS + threadIdx.x] = x;
}

static __global__ void read_all(const float *data, size_t count, float *result) {
    size_t step = (size_t)gridDim.x * blockDim.x;
    float sum = 0;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
        sum += data[i];
    result[blockIdx.x * THREADS + threadIdx.x] = sum;
}

static bool compute_work(void *context, cudaStream_t stream) {
    const struct pair *p = (const struct pair *)context;
    compute<<<p->blocks, THREADS, 0, stream>>>(p->result);
    return gpu_launched();
}

static bool read_work(void *context, cudaStream_t stream) {
    const struct pair *p = (const struct pair *)context;
    read_all<<<p->blocks, THREADS, 0, stream>>>(p->data, p->count, p->result);
    return gpu_launched();
}

static bool copy_work(void *context, cudaStream_t stream) {
    const struct pair *p = (const struct pair *)context;
    return cudaMemcpyAsync(p->device, p->host, p->bytes, cudaMemcpyHostToDevice, stream) ==
           cudaSuccess;
}

/* X is timed on the first stream; Y is queued on the second as often as outlasts it. */
struct race {
    struct pair *pair;
    gpu_work timed, beside;
    unsigned besides, rounds;
};

static double race_once(void *context) {
    const struct race *r = (const struct race *)context;
    for (unsigned i = 0; i < r->besides; i++)
        if (!r->beside(r->pair, r->pair->second))
            return -1;
    double seconds = gpu_time(r->timed, r->pair, r->rounds);
    return cudaStreamSynchronize(r->pair->second) == cudaSuccess ? seconds : -1;
}

static void measure(struct session *session, const struct probe_limits *limits, struct pair *p,
                    const char *name, gpu_work timed, gpu_work beside, double work,
                    const char *unit) {
    struct race r = {p, timed, beside, 0, 1};
    struct sample sample = {};
    double one = gpu_time(timed, p, 1), other = beside ? gpu_time(beside, p, 1) : 1;
    if (one <= 0 || other <= 0) {
        gpu_skip(session, name, "a repetition failed");
        return;
    }
    r.rounds = one < 1e-3 ? (unsigned)(1e-3 / one) + 1 : 1;
    if (beside)
        r.besides = (unsigned)fmin(3 * r.rounds * one / other + 2, 512);
    sample.bytes = p->bytes;
    sample.work = work;
    sample.unit = unit;
    sample.variant = name;
    session_measure(session, limits, &sample, race_once, &r);
}

static bool results_are(const struct pair *p, float expected) {
    float found;
    size_t last = (size_t)p->blocks * THREADS - 1;
    return gpu_fetch(&found, p->result + last, sizeof found) && found == expected;
}

static bool is_right(struct pair *p) {
    unsigned char last = 0;
    memset(p->host, 5, p->bytes);
    return cudaMemset(p->data, 0, p->count * sizeof *p->data) == cudaSuccess &&
           gpu_once(compute_work, p) && results_are(p, 2) && gpu_once(read_work, p) &&
           results_are(p, 0) && gpu_once(copy_work, p) &&
           gpu_fetch(&last, p->device + p->bytes - 1, 1) && last == 5;
}

static void measure_all(struct session *session, const struct probe_limits *limits,
                        struct pair *p) {
    double operations = 2.0 * STEPS * THREADS * p->blocks;
    double read = (double)(p->count * sizeof *p->data), copied = (double)p->bytes;
    measure(session, limits, p, "copy", copy_work, NULL, copied, "bytes");
    measure(session, limits, p, "compute", compute_work, NULL, operations, "flops");
    measure(session, limits, p, "read", read_work, NULL, read, "bytes");
    measure(session, limits, p, "copy-with-compute", copy_work, compute_work, copied, "bytes");
    measure(session, limits, p, "copy-with-read", copy_work, read_work, copied, "bytes");
    measure(session, limits, p, "compute-with-copy", compute_work, copy_work, operations, "flops");
    measure(session, limits, p, "read-with-copy", read_work, copy_work, read, "bytes");
}

static void run(struct session *session, const struct probe_limits *limits) {
    struct pair p = {};
    void *host = NULL;
    p.bytes = gpu_most_bytes(limits) / 8;
    p.count = gpu_most_bytes(limits) / 2 / sizeof *p.data;
    p.blocks = 8 * (unsigned)gpu.properties.multiProcessorCount;
    gpu_memory data(p.count * sizeof *p.data), device(p.bytes),
        result((size_t)p.blocks * THREADS * sizeof *p.result);
    p.data = data.as<float>();
    p.device = device.as<unsigned char>();
    p.result = result.as<float>();
    if (!data || !device || !result || cudaMallocHost(&host, p.bytes) != cudaSuccess) {
        gpu_skip(session, NULL, "no memory for the arrays");
        return;
    }
    p.host = (unsigned char *)host;
    if (cudaStreamCreateWithFlags(&p.second, cudaStreamNonBlocking) != cudaSuccess) {
        gpu_skip(session, NULL, "no second stream");
    } else {
        if (is_right(&p))
            measure_all(session, limits, &p);
        else
            gpu_skip(session, NULL, "its result was wrong");
        (void)cudaStreamDestroy(p.second);
    }
    (void)cudaFreeHost(host);
}

GPU_PROBE(cuda_overlap, "kernels and copies at once")
