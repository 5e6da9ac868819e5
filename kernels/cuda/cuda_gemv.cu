/* Products of one vector with quantized weights, as a decode step makes them: rows of 4,096
 * columns, so many that the weights are far more than the L2 cache holds. Formats are laid out like
 * GGUF's q8_0, q4_0 and q4_K and like NF4 with blocks of 64; scales are half precision. bytes =
 * those of the weights, 34 per 32, 18 per 32, 144 per 256, 34 per 64 (2 of a scale; double
 * quantization of scales is left out). The first and last row are checked on the host.
 *     nvcc -O3 -arch=native -I.. -c cuda_gemv.cu */
#include <cuda_fp16.h>
#include <math.h>
#include <stdlib.h>

#include "gpu.h"

enum { WARP = 32, WARPS = 4, COLUMNS = 4096 };

/* The sixteen levels of NormalFloat 4 (Dettmers et al. 2023, QLoRA, appendix E). */
#define NF4_LEVELS                                                                                 \
    -1.0f, -0.6961928f, -0.5250731f, -0.3949175f, -0.2844414f, -0.1847734f, -0.0910500f, 0.0f,     \
        0.0795803f, 0.1609302f, 0.2461123f, 0.3379152f, 0.4407098f, 0.5626170f, 0.7229568f, 1.0f
static __constant__ float nf4_device[16] = {NF4_LEVELS};
[[maybe_unused]] static const float nf4_host[16] = {NF4_LEVELS};

/* A format: bytes and values of a block, and value i of one. Codes lie behind the scales. */
struct q8_0 {
    static const int BYTES = 34, VALUES = 32;
    static __host__ __device__ float at(const unsigned char *b, int i, float scale) {
        return scale * (float)(signed char)b[2 + i];
    }
};
struct q4_0 {
    static const int BYTES = 18, VALUES = 32;
    static __host__ __device__ float at(const unsigned char *b, int i, float scale) {
        int code = i < 16 ? b[2 + i] & 15 : b[2 + i - 16] >> 4;
        return scale * (float)(code - 8);
    }
};
/* Two half scales, eight scales and minima of six bits in twelve bytes, 128 bytes of codes. (Bits
 * of the small scales are packed in another order than GGUF's: as many bytes, as much work.) */
struct q4_k {
    static const int BYTES = 144, VALUES = 256;
    static __host__ __device__ int six(const unsigned char *b, int index) {
        int bit = 6 * index, word = b[4 + bit / 8] | (bit / 8 < 11 ? b[5 + bit / 8] << 8 : 0);
        return word >> (bit % 8) & 63;
    }
    static __host__ __device__ float at(const unsigned char *b, int i, float scale) {
        int part = i / 32, code = b[16 + part / 2 * 32 + i % 32] >> (part % 2 * 4) & 15;
        return scale * (float)(six(b, part) * code - six(b, 8 + part));
    }
};
struct nf4 {
    static const int BYTES = 34, VALUES = 64;
    static __host__ __device__ float at(const unsigned char *b, int i, float scale) {
        int code = b[2 + i / 2] >> (i % 2 * 4) & 15;
#ifdef __CUDA_ARCH__
        return scale * nf4_device[code];
#else
        return scale * nf4_host[code];
#endif
    }
};

/* The scale of every block is this, in half precision; it lies in its first two bytes. */
static const float SCALE = 0.0078125f;

template <class F> static __global__ void fill(unsigned char *w, size_t blocks) {
    size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < blocks; i += step) {
        unsigned char *block = w + i * F::BYTES;
        for (int k = 0; k < F::BYTES; k++)
            block[k] = (unsigned char)gpu_hash(i * F::BYTES + (unsigned)k);
        unsigned short scale = __half_as_ushort(__float2half(SCALE));
        block[0] = (unsigned char)(scale & 255);
        block[1] = (unsigned char)(scale >> 8);
    }
}

/* A warp to a row. A thread takes the same place of each block, so a warp's loads lie together. */
template <class F>
static __global__ void multiply(const unsigned char *w, const float *x, float *y, size_t rows,
                                int columns) {
    size_t row = (size_t)blockIdx.x * WARPS + threadIdx.x / WARP;
    int lane = (int)threadIdx.x % WARP, blocks = columns / F::VALUES;
    if (row >= rows)
        return;
    const unsigned char *at = w + row * (size_t)blocks * F::BYTES;
    float sum = 0;
    for (int b = 0; b < blocks; b++, at += F::BYTES) {
        float scale = __half2float(__ushort_as_half(*(const unsigned short *)at));
#pragma unroll
        for (int i = 0; i < F::VALUES / WARP; i++)
            sum += F::at(at, i * WARP + lane, scale) * x[b * F::VALUES + i * WARP + lane];
    }
    for (int other = WARP / 2; other > 0; other /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, other);
    if (lane == 0)
        y[row] = sum;
}

struct product {
    unsigned char *w;
    float *x, *y;
    size_t rows;
};

template <class F> static bool do_multiply(void *context, cudaStream_t stream) {
    const struct product *p = (const struct product *)context;
    multiply<F><<<(unsigned)((p->rows + WARPS - 1) / WARPS), WARPS * WARP, 0, stream>>>(
        p->w, p->x, p->y, p->rows, COLUMNS);
    return gpu_launched();
}

template <class F> static bool is_right(const struct product *p, const float *x) {
    enum { ROW_BYTES = COLUMNS / F::VALUES * F::BYTES };
    static unsigned char row[ROW_BYTES];
    for (size_t r = 0; r < p->rows; r += p->rows - 1) {
        double expected = 0, size = 0;
        float found;
        if (!gpu_fetch(row, p->w + r * ROW_BYTES, ROW_BYTES) ||
            !gpu_fetch(&found, p->y + r, sizeof found))
            return false;
        for (int i = 0; i < COLUMNS; i++) {
            double term =
                (double)F::at(row + i / F::VALUES * F::BYTES, i % F::VALUES, SCALE) * (double)x[i];
            expected += term;
            size += fabs(term);
        }
        if (!(fabs((double)found - expected) <= 1e-4 * size))
            return false;
    }
    return true;
}

template <class F>
static void measure(struct session *session, const struct probe_limits *limits, const char *name,
                    const float *x) {
    const size_t row_bytes = COLUMNS / F::VALUES * F::BYTES;
    struct product p = {};
    struct sample sample = {};
    p.rows = gpu_most_bytes(limits) / row_bytes;
    gpu_memory w(p.rows * row_bytes), device_x(COLUMNS * sizeof *x), y(p.rows * sizeof *x);
    if (!w || !device_x || !y || p.rows < 2) {
        gpu_skip(session, name, "no device memory for the matrix");
        return;
    }
    p.w = w.as<unsigned char>();
    p.x = device_x.as<float>();
    p.y = y.as<float>();
    fill<F><<<1024, 256, 0, gpu.stream>>>(p.w, p.rows * (COLUMNS / F::VALUES));
    sample.bytes = p.rows * row_bytes;
    sample.work = (double)sample.bytes;
    sample.unit = "bytes";
    sample.m = 1;
    sample.n = p.rows;
    sample.k = COLUMNS;
    sample.variant = name;
    if (cudaMemcpyAsync(p.x, x, COLUMNS * sizeof *x, cudaMemcpyHostToDevice, gpu.stream) !=
            cudaSuccess ||
        !gpu_once(do_multiply<F>, &p) || !is_right<F>(&p, x))
        gpu_skip(session, name, "its result was wrong");
    else
        gpu_measure(session, limits, &sample, do_multiply<F>, &p);
}

static void run(struct session *session, const struct probe_limits *limits) {
    static float x[COLUMNS];
    for (unsigned i = 0; i < COLUMNS; i++)
        x[i] = gpu_eighth(i);
    measure<q8_0>(session, limits, "q8_0", x);
    measure<q4_0>(session, limits, "q4_0", x);
    measure<q4_k>(session, limits, "q4_k", x);
    measure<nf4>(session, limits, "nf4", x);
}

GPU_PROBE(cuda_gemv, "products of a vector with weights in 4 and 8 bits")
