/* Copies from the first device to the second by size, directly where the devices can reach each
 * other, else through the host. bytes = size of the copy. Checked: the last byte. nvcc -O3
 * -arch=native -I.. -c cuda_peer.cu */
#include "gpu.h"

enum { OTHER = 1 };

struct peers {
    unsigned char *from, *to;
    size_t bytes;
};

static bool copy(void *context, cudaStream_t stream) {
    const struct peers *p = (const struct peers *)context;
    return cudaMemcpyPeerAsync(p->to, OTHER, p->from, gpu.index, p->bytes, stream) == cudaSuccess;
}

static bool is_right(struct peers *p) {
    unsigned char last = 0;
    return cudaMemset(p->from, 9, p->bytes) == cudaSuccess && gpu_once(copy, p) &&
           gpu_fetch(&last, p->to + p->bytes - 1, 1) && last == 9;
}

static void *other_memory(size_t bytes) {
    void *at = NULL;
    bool ok = cudaSetDevice(OTHER) == cudaSuccess && cudaMalloc(&at, bytes) == cudaSuccess;
    return cudaSetDevice(gpu.index) == cudaSuccess && ok ? at : NULL;
}

static void run(struct session *session, const struct probe_limits *limits) {
    int count = 0, direct = 0;
    size_t most = gpu_most_bytes(limits);
    if (cudaGetDeviceCount(&count) != cudaSuccess || count <= OTHER) {
        gpu_skip(session, NULL, "there is one device");
        return;
    }
    gpu_memory from(most);
    struct peers p = {from.as<unsigned char>(), (unsigned char *)other_memory(most), 0};
    if (!from || !p.to) {
        gpu_skip(session, NULL, "no device memory for the array");
        (void)cudaFree(p.to);
        return;
    }
    if (cudaDeviceCanAccessPeer(&direct, gpu.index, OTHER) == cudaSuccess && direct &&
        cudaDeviceEnablePeerAccess(OTHER, 0) != cudaSuccess)
        direct = 0;
    (void)cudaGetLastError();
    for (p.bytes = 4096; p.bytes <= most; p.bytes *= 4) {
        struct sample sample = {};
        sample.bytes = p.bytes;
        sample.work = (double)p.bytes;
        sample.unit = "bytes";
        sample.devices = 2;
        sample.variant = direct ? "direct" : "through-host";
        if (is_right(&p))
            gpu_measure(session, limits, &sample, copy, &p);
        else
            gpu_skip(session, sample.variant, "its result was wrong");
    }
    (void)cudaFree(p.to);
}

GPU_PROBE(cuda_peer, "copies between two devices")
