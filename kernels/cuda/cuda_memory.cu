/* Device memory, read, written, and copied, by size (small sizes live in the L2 cache).
 * bytes = size for a read or a write, 2 x (size / 2) for a copy of one half onto the other.
 * Checked: the sum of what was read, and places of what was written or copied.
 *     nvcc -O3 -arch=native -I.. -c cuda_memory.cu */
#include "gpu.h"

enum { THREADS = 256 };

struct area {
    uint4 *at;
    size_t count; /* of uint4 */
    unsigned long long *sum;
    unsigned mark;
};

static __global__ void fill(uint4 *at, size_t count) {
    size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        unsigned v = (unsigned)(i & 1023);
        at[i] = make_uint4(v, v + 1, v + 2, v + 3);
    }
}

/* Four loads in flight per thread; one addition of a warp ends it. */
static __global__ void read_all(const uint4 *at, size_t count, unsigned long long *sum) {
    size_t step = (size_t)gridDim.x * blockDim.x;
    unsigned long long mine = 0;
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (; i + 3 * step < count; i += 4 * step) {
        uint4 a = at[i], b = at[i + step], c = at[i + 2 * step], d = at[i + 3 * step];
        mine += (unsigned long long)(a.x + a.y + a.z + a.w) + (b.x + b.y + b.z + b.w) +
                (c.x + c.y + c.z + c.w) + (d.x + d.y + d.z + d.w);
    }
    for (; i < count; i += step)
        mine += at[i].x + at[i].y + at[i].z + at[i].w;
    for (int other = 16; other > 0; other /= 2)
        mine += __shfl_down_sync(0xffffffffu, mine, other);
    if (threadIdx.x % 32 == 0)
        atomicAdd(sum, mine);
}

static __global__ void write_all(uint4 *at, size_t count, unsigned mark) {
    size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
        at[i] = make_uint4(mark, mark, mark, mark);
}

static __global__ void copy_half(uint4 *at, size_t half) {
    size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < half; i += step)
        at[half + i] = at[i];
}

/* As many blocks as run at once, or fewer where there is less to do. */
static unsigned blocks_of(size_t count) {
    size_t needed = (count + THREADS - 1) / THREADS;
    size_t most = (size_t)gpu.properties.multiProcessorCount * 8;
    return (unsigned)(needed < most ? needed : most);
}

static bool do_fill(void *context, cudaStream_t stream) {
    const struct area *a = (const struct area *)context;
    fill<<<blocks_of(a->count), THREADS, 0, stream>>>(a->at, a->count);
    return gpu_launched();
}

static bool do_read(void *context, cudaStream_t stream) {
    const struct area *a = (const struct area *)context;
    read_all<<<blocks_of(a->count), THREADS, 0, stream>>>(a->at, a->count, a->sum);
    return gpu_launched();
}

static bool do_write(void *context, cudaStream_t stream) {
    const struct area *a = (const struct area *)context;
    write_all<<<blocks_of(a->count), THREADS, 0, stream>>>(a->at, a->count, a->mark);
    return gpu_launched();
}

static bool do_copy(void *context, cudaStream_t stream) {
    const struct area *a = (const struct area *)context;
    copy_half<<<blocks_of(a->count / 2), THREADS, 0, stream>>>(a->at, a->count / 2);
    return gpu_launched();
}

/* Sum of fill(): 4 i + 6 over each run of 1,024. */
static bool read_is_right(struct area *a) {
    unsigned long long expected = 0, found = 0;
    for (size_t v = 0; v < 1024; v++)
        expected += (4 * v + 6) * (a->count / 1024);
    return cudaMemset(a->sum, 0, sizeof found) == cudaSuccess && gpu_once(do_read, a) &&
           gpu_fetch(&found, a->sum, sizeof found) && found == expected;
}

static bool holds(const struct area *a, size_t place, unsigned value) {
    uint4 found;
    return gpu_fetch(&found, a->at + place, sizeof found) && found.x == value;
}

static bool copy_is_right(struct area *a) {
    size_t half = a->count / 2;
    return gpu_once(do_fill, a) && gpu_once(do_copy, a) && holds(a, half + 5, 5) &&
           holds(a, 2 * half - 1, (unsigned)((half - 1) & 1023));
}

static bool write_is_right(struct area *a) {
    a->mark = 77;
    return gpu_once(do_write, a) && holds(a, 0, 77) && holds(a, a->count - 1, 77);
}

static void measure_size(struct session *session, const struct probe_limits *limits,
                         struct area *a) {
    static const struct {
        const char *name;
        bool (*is_right)(struct area *a);
        gpu_work work;
    } KINDS[] = {{"read", read_is_right, do_read},
                 {"copy", copy_is_right, do_copy},
                 {"write", write_is_right, do_write}};
    struct sample sample = {};
    sample.bytes = a->count * sizeof *a->at;
    sample.work = (double)sample.bytes;
    sample.unit = "bytes";
    if (!gpu_once(do_fill, a)) {
        gpu_skip(session, NULL, "memory could not be filled");
        return;
    }
    for (const auto &kind : KINDS) {
        sample.variant = kind.name;
        if (kind.is_right(a))
            gpu_measure(session, limits, &sample, kind.work, a);
        else
            gpu_skip(session, kind.name, "its result was wrong");
    }
}

static void run(struct session *session, const struct probe_limits *limits) {
    const size_t least = (size_t)1 << 20;
    size_t most = gpu_most_bytes(limits) / least * least;
    gpu_memory memory(most), sum(sizeof(unsigned long long));
    struct area a = {memory.as<uint4>(), 0, sum.as<unsigned long long>(), 0};
    if (!memory || !sum) {
        gpu_skip(session, NULL, "no device memory for the array");
        return;
    }
    for (size_t bytes = least; bytes <= most; bytes *= 4) {
        a.count = bytes / sizeof *a.at;
        measure_size(session, limits, &a);
    }
}

GPU_PROBE(cuda_memory, "device memory read, copied, written, by size")
