/* Kernels of training and inference that only pass over memory: RMS norm, softmax of rows, and the
 * element-wise a x + y. bytes = read and written once: 2 x 2 per element of norm and softmax in
 * fp16, 3 x 2 per element of a x + y. Rows of 4,096, as a hidden state. The last row is checked on
 * the host. nvcc -O3 -arch=native -I.. -c cuda_stream.cu */
#include <cuda_fp16.h>
#include <math.h>

#include "gpu.h"

enum { WIDTH = 4096, THREADS = 256, EACH = WIDTH / THREADS / 2 };

struct rows {
    __half2 *x, *y;
    size_t count;
};

static __global__ void fill(__half *at, size_t count) {
    size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
        at[i] = __float2half(gpu_eighth(i));
}

struct plus {
    __device__ float operator()(float a, float b) const { return a + b; }
};
struct greater {
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

/* Of all threads of the block, for all of them. */
template <class F> static __device__ float reduce(float mine, F join) {
    __shared__ float of_warp[THREADS / 32];
    for (int other = 16; other > 0; other /= 2)
        mine = join(mine, __shfl_xor_sync(0xffffffffu, mine, other));
    __syncthreads(); /* nobody reads the last reduction any more */
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = mine;
    __syncthreads();
    mine = of_warp[0];
    for (int w = 1; w < THREADS / 32; w++)
        mine = join(mine, of_warp[w]);
    return mine;
}

static __global__ void norm_rows(const __half2 *x, __half2 *y) {
    const size_t base = (size_t)blockIdx.x * (WIDTH / 2) + threadIdx.x;
    float2 v[EACH];
    float squares = 0;
    for (int i = 0; i < EACH; i++) {
        v[i] = __half22float2(x[base + i * THREADS]);
        squares += v[i].x * v[i].x + v[i].y * v[i].y;
    }
    float scale = rsqrtf(reduce(squares, plus()) / WIDTH + 1e-5f);
    for (int i = 0; i < EACH; i++)
        y[base + i * THREADS] = __floats2half2_rn(v[i].x * scale, v[i].y * scale);
}

static __global__ void softmax_rows(const __half2 *x, __half2 *y) {
    const size_t base = (size_t)blockIdx.x * (WIDTH / 2) + threadIdx.x;
    float2 v[EACH];
    float most = -INFINITY, sum = 0;
    for (int i = 0; i < EACH; i++) {
        v[i] = __half22float2(x[base + i * THREADS]);
        most = fmaxf(most, fmaxf(v[i].x, v[i].y));
    }
    most = reduce(most, greater());
    for (int i = 0; i < EACH; i++) {
        v[i] = make_float2(__expf(v[i].x - most), __expf(v[i].y - most));
        sum += v[i].x + v[i].y;
    }
    float scale = 1 / reduce(sum, plus());
    for (int i = 0; i < EACH; i++)
        y[base + i * THREADS] = __floats2half2_rn(v[i].x * scale, v[i].y * scale);
}

/* A factor of 0 leaves y as it is, however often this runs. */
static __global__ void add_rows(const __half2 *x, __half2 *y, float factor) {
    const size_t base = (size_t)blockIdx.x * (WIDTH / 2) + threadIdx.x;
    for (int i = 0; i < EACH; i++) {
        float2 a = __half22float2(x[base + i * THREADS]), b = __half22float2(y[base + i * THREADS]);
        y[base + i * THREADS] = __floats2half2_rn(factor * a.x + b.x, factor * a.y + b.y);
    }
}

static bool do_norm(void *context, cudaStream_t stream) {
    const struct rows *r = (const struct rows *)context;
    norm_rows<<<(unsigned)r->count, THREADS, 0, stream>>>(r->x, r->y);
    return gpu_launched();
}

static bool do_softmax(void *context, cudaStream_t stream) {
    const struct rows *r = (const struct rows *)context;
    softmax_rows<<<(unsigned)r->count, THREADS, 0, stream>>>(r->x, r->y);
    return gpu_launched();
}

static bool do_add(void *context, cudaStream_t stream) {
    const struct rows *r = (const struct rows *)context;
    add_rows<<<(unsigned)r->count, THREADS, 0, stream>>>(r->x, r->y, 0);
    return gpu_launched();
}

/* y = 2 x from y = 0, to be checked; then only rows with a factor of 0 are timed. */
static bool add_once(const struct rows *r) {
    if (cudaMemsetAsync(r->y, 0, r->count * WIDTH * sizeof(__half), gpu.stream) != cudaSuccess)
        return false;
    add_rows<<<(unsigned)r->count, THREADS, 0, gpu.stream>>>(r->x, r->y, 2);
    return gpu_launched();
}

enum kind { NORM, SOFTMAX, ADD };

static bool is_right(const struct rows *r, enum kind kind) {
    static __half found[WIDTH];
    size_t first = (r->count - 1) * WIDTH;
    double squares = 0, sum = 0;
    for (size_t i = 0; i < WIDTH; i++) {
        double x = (double)gpu_eighth(first + i);
        squares += x * x;
        sum += exp(x);
    }
    if (!gpu_fetch(found, (const __half *)r->y + first, sizeof found))
        return false;
    for (size_t i = 0; i < WIDTH; i++) {
        double x = (double)gpu_eighth(first + i);
        double expected = kind == NORM      ? x / sqrt(squares / WIDTH + 1e-5)
                          : kind == SOFTMAX ? exp(x) / sum
                                            : 2 * x;
        if (!(fabs((double)__half2float(found[i]) - expected) <= 2e-3 * fabs(expected) + 1e-6))
            return false;
    }
    return true;
}

static void run(struct session *session, const struct probe_limits *limits) {
    static const struct {
        const char *name;
        enum kind kind;
        gpu_work work;
        double passes; /* over the elements */
    } KINDS[] = {
        {"norm", NORM, do_norm, 2}, {"softmax", SOFTMAX, do_softmax, 2}, {"add", ADD, do_add, 3}};
    struct rows r = {};
    r.count = gpu_most_bytes(limits) / 2 / (WIDTH * sizeof(__half));
    gpu_memory x(r.count * WIDTH * sizeof(__half)), y(r.count * WIDTH * sizeof(__half));
    if (!x || !y) {
        gpu_skip(session, NULL, "no device memory for the rows");
        return;
    }
    r.x = x.as<__half2>();
    r.y = y.as<__half2>();
    fill<<<1024, THREADS, 0, gpu.stream>>>(x.as<__half>(), r.count * WIDTH);
    for (const auto &kind : KINDS) {
        struct sample sample = {};
        sample.bytes = 2 * r.count * WIDTH * sizeof(__half);
        sample.work = kind.passes * (double)r.count * WIDTH * sizeof(__half);
        sample.unit = "bytes";
        sample.variant = kind.name;
        bool done = kind.kind == ADD ? add_once(&r) : gpu_once(kind.work, &r);
        if (done && is_right(&r, kind.kind))
            gpu_measure(session, limits, &sample, kind.work, &r);
        else
            gpu_skip(session, kind.name, "its result was wrong");
    }
}

GPU_PROBE(cuda_stream, "norm, softmax, element-wise")
