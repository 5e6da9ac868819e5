/* Collective operations of all devices through NCCL, by size S of the whole buffer in fp32. bytes =
 * what each device sends on a ring: 2 (n - 1) / n S for all-reduce, (n - 1) / n S for all-gather
 * and reduce-scatter (the "bus bandwidth" of nccl-tests). The library is loaded as the probe runs,
 * so that the program needs none. Checked: last entry of every device's result. Time is the host's
 * clock from the first launch until all devices are done. nvcc -O3 -arch=native -I.. -c
 * cuda_nccl.cu */
#include <dlfcn.h>
#include <stdlib.h>

#include "gpu.h"

enum { DEVICES_MOST = 16, NCCL_FLOAT = 7, NCCL_SUM = 0 }; /* of nccl.h, alike in all of 2.x */

/* What is used of the library; every call returns 0 when it worked. */
struct nccl {
    int (*init_all)(void **comms, int count, const int *devices);
    int (*destroy)(void *comm);
    int (*group_start)(void);
    int (*group_end)(void);
    int (*all_reduce)(const void *from, void *to, size_t count, int type, int operation, void *comm,
                      cudaStream_t stream);
    int (*all_gather)(const void *from, void *to, size_t count, int type, void *comm,
                      cudaStream_t stream);
    int (*reduce_scatter)(const void *from, void *to, size_t count, int type, int operation,
                          void *comm, cudaStream_t stream);
};

enum collective { ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER };

struct ring {
    struct nccl nccl;
    enum collective which;
    int devices;
    size_t count; /* floats of the whole buffer, a multiple of the devices */
    void *comms[DEVICES_MOST];
    cudaStream_t streams[DEVICES_MOST];
    float *from[DEVICES_MOST], *to[DEVICES_MOST];
};

static bool find_symbol(void *library, const char *name, void *function) {
    void *found = dlsym(library, name);
    *(void **)function = found; /* as POSIX has it */
    return found != NULL;
}

static bool load(struct nccl *n) {
    void *library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    return library && find_symbol(library, "ncclCommInitAll", &n->init_all) &&
           find_symbol(library, "ncclCommDestroy", &n->destroy) &&
           find_symbol(library, "ncclGroupStart", &n->group_start) &&
           find_symbol(library, "ncclGroupEnd", &n->group_end) &&
           find_symbol(library, "ncclAllReduce", &n->all_reduce) &&
           find_symbol(library, "ncclAllGather", &n->all_gather) &&
           find_symbol(library, "ncclReduceScatter", &n->reduce_scatter);
}

static __global__ void fill(float *at, size_t count, float value) {
    size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
        at[i] = value;
}

static bool start_one(const struct ring *r, int i) {
    size_t part = r->count / (size_t)r->devices;
    switch (r->which) {
    case ALL_REDUCE:
        return r->nccl.all_reduce(r->from[i], r->to[i], r->count, NCCL_FLOAT, NCCL_SUM, r->comms[i],
                                  r->streams[i]) == 0;
    case ALL_GATHER:
        return r->nccl.all_gather(r->from[i], r->to[i], part, NCCL_FLOAT, r->comms[i],
                                  r->streams[i]) == 0;
    case REDUCE_SCATTER:
        return r->nccl.reduce_scatter(r->from[i], r->to[i], part, NCCL_FLOAT, NCCL_SUM, r->comms[i],
                                      r->streams[i]) == 0;
    }
    return false;
}

static bool wait_for_all(const struct ring *r) {
    for (int i = 0; i < r->devices; i++)
        if (cudaSetDevice(i) != cudaSuccess || cudaStreamSynchronize(r->streams[i]) != cudaSuccess)
            return false;
    return true;
}

static double collect(void *context) {
    const struct ring *r = (const struct ring *)context;
    double first = now_s();
    bool ok = r->nccl.group_start() == 0;
    for (int i = 0; ok && i < r->devices; i++)
        ok = start_one(r, i);
    ok = r->nccl.group_end() == 0 && ok && wait_for_all(r);
    return ok ? now_s() - first : -1;
}

/* Device i holds i + 1 everywhere: sums are n (n + 1) / 2, and what was gathered last is n. */
static bool is_right(struct ring *r) {
    int n = r->devices;
    float expected = r->which == ALL_GATHER ? (float)n : (float)(n * (n + 1)) / 2, found;
    size_t last = r->which == REDUCE_SCATTER ? r->count / (size_t)n - 1 : r->count - 1;
    if (collect(r) < 0)
        return false;
    for (int i = 0; i < n; i++)
        if (cudaSetDevice(i) != cudaSuccess ||
            cudaMemcpy(&found, r->to[i] + last, sizeof found, cudaMemcpyDeviceToHost) !=
                cudaSuccess ||
            found != expected)
            return false;
    return true;
}

static bool open_device(struct ring *r, int i, size_t bytes) {
    void *from = NULL, *to = NULL;
    if (cudaSetDevice(i) != cudaSuccess || cudaMalloc(&from, bytes) != cudaSuccess)
        return false;
    r->from[i] = (float *)from;
    if (cudaMalloc(&to, bytes) != cudaSuccess ||
        cudaStreamCreateWithFlags(&r->streams[i], cudaStreamNonBlocking) != cudaSuccess)
        return false;
    r->to[i] = (float *)to;
    fill<<<256, 256, 0, r->streams[i]>>>(r->from[i], bytes / sizeof(float), (float)(i + 1));
    return gpu_launched() && cudaStreamSynchronize(r->streams[i]) == cudaSuccess;
}

static void close_all(struct ring *r) {
    for (int i = 0; i < r->devices; i++) {
        (void)cudaSetDevice(i);
        if (r->comms[i])
            (void)r->nccl.destroy(r->comms[i]);
        if (r->streams[i])
            (void)cudaStreamDestroy(r->streams[i]);
        (void)cudaFree(r->from[i]);
        (void)cudaFree(r->to[i]);
    }
    (void)cudaSetDevice(gpu.index);
    (void)cudaGetLastError();
}

static void measure(struct session *session, const struct probe_limits *limits, struct ring *r,
                    size_t most) {
    static const struct {
        const char *name;
        enum collective which;
        double passes; /* of the buffer over the ring */
    } KINDS[] = {{"all-reduce", ALL_REDUCE, 2},
                 {"all-gather", ALL_GATHER, 1},
                 {"reduce-scatter", REDUCE_SCATTER, 1}};
    size_t step = (size_t)r->devices * 4096;
    for (const auto &kind : KINDS)
        for (size_t bytes = step; bytes <= most; bytes *= 4) {
            struct sample sample = {};
            r->which = kind.which;
            r->count = bytes / sizeof(float);
            sample.bytes = bytes;
            sample.work = kind.passes * (double)bytes * (r->devices - 1) / r->devices;
            sample.unit = "bytes";
            sample.devices = (unsigned)r->devices;
            sample.variant = kind.name;
            if (is_right(r))
                session_measure(session, limits, &sample, collect, r);
            else
                gpu_skip(session, kind.name, "its result was wrong");
        }
}

static void run(struct session *session, const struct probe_limits *limits) {
    struct ring r = {};
    size_t most = gpu_most_bytes(limits);
    bool ok = true;
    if (cudaGetDeviceCount(&r.devices) != cudaSuccess || r.devices < 2) {
        gpu_skip(session, NULL, "there is one device");
        return;
    }
    if (!load(&r.nccl)) {
        gpu_skip(session, NULL, "no libnccl.so.2 can be loaded");
        return;
    }
    r.devices = r.devices < DEVICES_MOST ? r.devices : DEVICES_MOST;
    for (int i = 0; ok && i < r.devices; i++)
        ok = open_device(&r, i, most);
    if (!ok)
        gpu_skip(session, NULL, "no device memory for the buffers");
    else if (r.nccl.init_all(r.comms, r.devices, NULL) != 0)
        gpu_skip(session, NULL, "NCCL can't be started");
    else
        measure(session, limits, &r, most);
    close_all(&r);
}

GPU_PROBE(cuda_nccl, "collective operations of all devices")
