/* The GPU that is measured, and what all CUDA probes need of it: memory, a stream, a clock.
 *
 * Times are those between two events of a stream, so neither the host's work nor the way back
 * counts. A kernel shorter than the clock is fine is run many times between them. */
#ifndef VRAMSIM_GPU_H
#define VRAMSIM_GPU_H

#include <cuda_runtime.h>

#include "../probe.h"

/* Defines the probe of a file; its function is `run`. */
#define GPU_PROBE(name, what)                                                                      \
    extern "C" {                                                                                   \
    extern const struct probe probe_##name;                                                        \
    const struct probe probe_##name = {#name, what, run};                                          \
    }

struct gpu {
    int index;
    char bus[32]; /* "0000:01:00.0" */
    size_t
        used_before; /* of its memory, by all, before this process had a context; 0 = not known */
    cudaDeviceProp properties;
    cudaStream_t stream;
    cudaEvent_t first, last;
};
/* The device that gpu_open took. */
extern struct gpu gpu;

/* Takes device `index` of those that CUDA_VISIBLE_DEVICES leaves; NULL, or a line that says why it
 * can't be had. gpu_open.cu */
const char *gpu_open(int index);

/* Device memory of a probe; freed as the object goes. */
class gpu_memory {
  public:
    explicit gpu_memory(size_t bytes) {
        if (bytes == 0 || cudaMalloc(&at_, bytes) != cudaSuccess)
            at_ = nullptr;
        (void)cudaGetLastError(); /* a refusal is not the next call's error */
    }
    ~gpu_memory() { (void)cudaFree(at_); }
    gpu_memory(const gpu_memory &) = delete;
    gpu_memory &operator=(const gpu_memory &) = delete;
    explicit operator bool() const { return at_ != nullptr; }
    template <class T> T *as() const { return static_cast<T *>(at_); }

  private:
    void *at_ = nullptr;
};

/* The largest working set: a quarter of the memory that is free now, at most four times what the
 * session allows on a host (devices are that much faster). */
size_t gpu_most_bytes(const struct probe_limits *limits);

/* Puts work onto a stream; false when it can't be. */
typedef bool (*gpu_work)(void *context, cudaStream_t stream);

/* Seconds of the device between the events around `rounds` calls, for one; negative: failed. */
double gpu_time(gpu_work work, void *context, unsigned rounds);
/* Measures it as a sample, with as many rounds as make a millisecond. */
void gpu_measure(struct session *session, const struct probe_limits *limits,
                 const struct sample *sample, gpu_work work, void *context);
/* Runs it once and waits. */
bool gpu_once(gpu_work work, void *context);
/* Did the last launch work? For the end of a gpu_work. */
bool gpu_launched(void);
/* Copies back to the host; false when that fails. */
bool gpu_fetch(void *host, const void *device, size_t bytes);
/* session_skip with "VARIANT: REASON", and CUDA's words for the last error behind it, if any. */
void gpu_skip(struct session *session, const char *variant, const char *reason);

/* Numbers that host and device can both tell: a hash of the place, 32 bits. */
static __host__ __device__ inline unsigned gpu_hash(unsigned long long i) {
    unsigned x = (unsigned)(i ^ (i >> 32)) * 0x9e3779b1u;
    x = (x ^ (x >> 15)) * 0x85ebca6bu;
    return x ^ (x >> 13);
}
/* A multiple of 1/8 in [-1, 1): exact in every type down to fp8. */
static __host__ __device__ inline float gpu_eighth(unsigned long long i) {
    return (float)((int)(gpu_hash(i) % 16) - 8) / 8;
}

#endif
