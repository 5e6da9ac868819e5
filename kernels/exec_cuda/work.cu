#include "work.cuh"

#include <cublas_v2.h>
#include <math.h>

#include "../cuda/gpu.h"

enum { THREADS = 256, HEAD = 128, TILE = 2048, ALIGN = 64 };
static const size_t WORKSPACE = (size_t)32 << 20;

static struct {
    cublasHandle_t blas;
    unsigned char *scratch, *workspace;
    size_t scratch_bytes;
    int blocks_most;
} state;

/* ---- kernels ---- */

static __global__ void read_kernel(const uint4 *at, size_t count, unsigned never, unsigned *sink) {
    size_t step = (size_t)gridDim.x * blockDim.x;
    unsigned sum = 0;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        uint4 v = at[i];
        sum ^= v.x ^ v.y ^ v.z ^ v.w;
    }
    if (sum == never && never != 0)
        *sink = sum;
}

/* Bits stay as they are, which no compiler knows. */
static __global__ void element_kernel(uint4 *at, size_t count, unsigned zero) {
    size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        uint4 v = at[i];
        v.x ^= zero;
        v.y ^= zero;
        v.z ^= zero;
        v.w ^= zero;
        at[i] = v;
    }
}

/* Of sign and size 2^-8 to 2^-1: products of thousands stay finite in half precision. */
static __global__ void fill_kernel(unsigned short *at, size_t count) {
    size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        unsigned bits = gpu_hash(i);
        at[i] = (unsigned short)((bits & 0x8000u) | (0x3b80u + (bits & 0x3ffu)));
    }
}

static __global__ void empty_kernel() {}

static __global__ void spin_kernel(unsigned long long ns) {
    unsigned long long first, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(first));
    do
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    while (now - first < ns);
}

static unsigned blocks_for(size_t count) {
    size_t blocks = (count + THREADS - 1) / THREADS;
    return blocks < (size_t)state.blocks_most ? (unsigned)(blocks > 0 ? blocks : 1)
                                              : (unsigned)state.blocks_most;
}

bool work_read(const void *at, size_t bytes, cudaStream_t stream) {
    size_t count = bytes / sizeof(uint4);
    read_kernel<<<blocks_for(count), THREADS, 0, stream>>>((const uint4 *)at, count, 0, nullptr);
    return gpu_launched();
}

bool work_fill(void *at, size_t bytes, cudaStream_t stream) {
    size_t count = bytes / sizeof(unsigned short);
    fill_kernel<<<blocks_for(count), THREADS, 0, stream>>>((unsigned short *)at, count);
    return gpu_launched();
}

static bool change(void *at, size_t bytes, cudaStream_t stream) {
    size_t count = bytes / sizeof(uint4);
    element_kernel<<<blocks_for(count), THREADS, 0, stream>>>((uint4 *)at, count, 0);
    return gpu_launched();
}

/* ---- products ---- */

/* C (m x n) = A (m x k) B (k x n), `batch` times over the same ones. */
struct shape {
    size_t m, n, k, batch;
};

static size_t aligned(double x) {
    return x > ALIGN ? (size_t)(x / ALIGN + 0.5) * (size_t)ALIGN : (size_t)ALIGN;
}

static struct shape product_of(double flops, double tokens) {
    struct shape s = {aligned(tokens), 0, 0, 1};
    s.n = s.k = aligned(sqrt(flops / (2 * (double)s.m)));
    return s;
}

static struct shape attention_of(double flops, double tokens) {
    size_t side = tokens < TILE ? aligned(tokens) : (size_t)TILE;
    struct shape s = {side, side, HEAD, 1};
    s.batch = (size_t)ceil(flops / (2.0 * (double)(side * side) * HEAD));
    return s;
}

static size_t shape_bytes(struct shape s) {
    return (s.m * s.k + s.k * s.n + s.m * s.n) * sizeof(float);
}

static bool multiply(struct shape s, bool fp32, cudaStream_t stream) {
    static const size_t BATCH_MOST = 4096;
    const float one = 1, zero = 0;
    cudaDataType half =
        gpu.properties.major >= 8 ? CUDA_R_16BF : CUDA_R_16F; /* Turing has no bf16 */
    cudaDataType type = fp32 ? CUDA_R_32F : half;
    size_t element = fp32 ? sizeof(float) : 2;
    const unsigned char *a = state.scratch, *b = a + s.m * s.k * element;
    unsigned char *c = state.scratch + (s.m * s.k + s.k * s.n) * element;
    bool ok = cublasSetStream(state.blas, stream) == CUBLAS_STATUS_SUCCESS &&
              cublasSetWorkspace(state.blas, state.workspace, WORKSPACE) == CUBLAS_STATUS_SUCCESS;
    /* column-major: C' (n x m) = B' (n x k) A' (k x m) */
    for (size_t left = s.batch; ok && left > 0;) {
        size_t batch = left < BATCH_MOST ? left : BATCH_MOST;
        ok = cublasGemmStridedBatchedEx(state.blas, CUBLAS_OP_N, CUBLAS_OP_N, (int)s.n, (int)s.m,
                                        (int)s.k, &one, b, type, (int)s.n, 0, a, type, (int)s.k, 0,
                                        &zero, c, type, (int)s.n, 0, (int)batch, CUBLAS_COMPUTE_32F,
                                        CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS;
        left -= batch;
    }
    return ok;
}

/* Kernels that a product of the plan is made of, each with a part of its flops. */
static double parts_of(const struct operation *op) { return op->kernels > 1 ? op->kernels : 1; }

static bool multiply_all(const struct operation *op, double tokens, cudaStream_t stream) {
    double parts = parts_of(op);
    struct shape s = op->work == WORK_ATTENTION ? attention_of(op->flops / parts, tokens)
                                                : product_of(op->flops / parts, tokens);
    bool ok = true;
    for (double i = 0; ok && op->flops > 0 && i < parts; i++)
        ok = multiply(s, op->fp32, stream);
    return ok;
}

static bool is_product(const struct operation *op) {
    return op->work == WORK_GEMM || op->work == WORK_ATTENTION || op->work == WORK_ADAPTER;
}

static size_t scratch_for(const struct plan *plan) {
    size_t most = shape_bytes(attention_of(1, TILE));
    for (size_t p = 0; p < plan->phase_count; p++)
        for (size_t i = 0; i < plan->phases[p].operation_count; i++) {
            const struct operation *op = &plan->phases[p].operations[i];
            if (!is_product(op) || op->work == WORK_ATTENTION)
                continue;
            size_t bytes =
                shape_bytes(product_of(op->flops / parts_of(op), plan->phases[p].tokens));
            most = bytes > most ? bytes : most;
        }
    return most;
}

/* ---- operations ---- */

/* Piece by piece, from the first again where they are too few. */
static size_t over_pieces(const struct operation *op, const struct piece *pieces, size_t count,
                          double bytes, cudaStream_t stream) {
    size_t launched = 0;
    for (double left = bytes; count > 0 && left >= sizeof(uint4); launched++) {
        struct piece p = piece_at(pieces, count, launched, left);
        bool ok = op->work == WORK_READ ? work_read(p.at, p.bytes, stream)
                                        : change(p.at, p.bytes, stream);
        if (!ok)
            return SIZE_MAX;
        left -= (double)p.bytes;
    }
    return launched;
}

/* Small kernels beside the work: the host launches them, and each starts and drains. */
static bool pad(const struct operation *op, double launched, bool captured, cudaStream_t stream) {
    double wanted = captured || op->launches < op->kernels ? op->kernels : op->launches;
    for (double i = launched; i + 0.5 < wanted; i++)
        empty_kernel<<<1, 1, 0, stream>>>();
    return gpu_launched();
}

bool work_issue(const struct operation *op, double tokens, const struct piece *pieces, size_t count,
                bool captured, cudaStream_t stream) {
    double launched = 0;
    if (is_product(op)) {
        if (!multiply_all(op, tokens, stream))
            return false;
        launched = op->flops > 0 ? parts_of(op) : 0;
    }
    if (op->work == WORK_READ || op->work == WORK_ELEMENT || op->work == WORK_ADAPTER) {
        double bytes = op->work == WORK_READ ? op->bytes : op->bytes / 2; /* read and written */
        size_t more = over_pieces(op, pieces, count, bytes, stream);
        if (more == SIZE_MAX)
            return false;
        launched += (double)more;
    }
    if (op->cost_s > 0)
        spin_kernel<<<1, 1, 0, stream>>>((unsigned long long)(1e9 * op->cost_s));
    return pad(op, launched, captured, stream);
}

/* ---- begin and end ---- */

bool work_open(const struct plan *plan, cudaStream_t compute) {
    void *scratch = nullptr, *workspace = nullptr;
    state.scratch_bytes = scratch_for(plan);
    state.blocks_most = 16 * gpu.properties.multiProcessorCount;
    if (cudaMalloc(&scratch, state.scratch_bytes) != cudaSuccess ||
        cudaMalloc(&workspace, WORKSPACE) != cudaSuccess ||
        cublasCreate(&state.blas) != CUBLAS_STATUS_SUCCESS)
        return false;
    state.scratch = (unsigned char *)scratch;
    state.workspace = (unsigned char *)workspace;
    return work_fill(scratch, state.scratch_bytes, compute) &&
           cudaStreamSynchronize(compute) == cudaSuccess;
}

void work_close() {
    if (state.blas)
        (void)cublasDestroy(state.blas);
    (void)cudaFree(state.scratch);
    (void)cudaFree(state.workspace);
}

size_t work_bytes() { return state.scratch_bytes + WORKSPACE; }
