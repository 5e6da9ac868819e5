/* Matrix products through cuBLASLt, Y = X W^T as in a linear layer: X is M x K, W is N x K, both
 * row after row, for M from 1 (decode) to 8192 (training) and matrices of Llama 3 8B and 70B. flops
 * = 2 M N K. Types: fp32, tf32 (fp32 in memory), fp16, bf16, int8 (into int32), fp8 (e4m3, into
 * bf16); what the device or the library has no kernel for is skipped. Several entries of the result
 * are checked in double precision on the host.
 *     nvcc -O3 -arch=native -I.. -c cuda_gemm.cu */
#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <math.h>
#include <stdio.h>

#include "gpu.h"

enum { THREADS = 256, BLOCKS = 1024 };
static const size_t WORKSPACE = (size_t)32 << 20; /* what frameworks give it on recent devices */

struct type {
    const char *name;
    cudaDataType in, out;
    size_t in_bytes, out_bytes;
    cublasComputeType_t compute;
    int capability;   /* the first that has units for it: 89 is 8.9 */
    double tolerance; /* of the sum of magnitudes: rounding of the result, and of sums in fp8 */
};

static const struct type TYPES[] = {
    {"fp32", CUDA_R_32F, CUDA_R_32F, 4, 4, CUBLAS_COMPUTE_32F, 0, 1e-5},
    {"tf32", CUDA_R_32F, CUDA_R_32F, 4, 4, CUBLAS_COMPUTE_32F_FAST_TF32, 80, 1e-4},
    {"fp16", CUDA_R_16F, CUDA_R_16F, 2, 2, CUBLAS_COMPUTE_32F, 70, 2e-4},
    {"bf16", CUDA_R_16BF, CUDA_R_16BF, 2, 2, CUBLAS_COMPUTE_32F, 80, 4e-4},
    {"int8", CUDA_R_8I, CUDA_R_32I, 1, 4, CUBLAS_COMPUTE_32I, 75, 1e-6},
    {"fp8", CUDA_R_8F_E4M3, CUDA_R_16BF, 1, 2, CUBLAS_COMPUTE_32F, 89, 2e-3},
};

struct product {
    const struct type *type;
    size_t m, n, k;
    unsigned char *x, *w, *y;
    void *workspace;
    cublasLtHandle_t handle;
    cublasLtMatmulDesc_t what;
    cublasLtMatrixLayout_t w_layout, x_layout, y_layout;
    cublasLtMatmulAlgo_t how;
};

static __host__ __device__ int small_integer(unsigned long long i) {
    return (int)(gpu_hash(i) % 15) - 7;
}

static __global__ void fill(void *at, size_t count, int type, unsigned long long first) {
    size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        float value = gpu_eighth(first + i);
        if (type == CUDA_R_32F)
            ((float *)at)[i] = value;
        else if (type == CUDA_R_16F)
            ((__half *)at)[i] = __float2half(value);
        else if (type == CUDA_R_16BF)
            ((__nv_bfloat16 *)at)[i] = __float2bfloat16(value);
        else if (type == CUDA_R_8I)
            ((signed char *)at)[i] = (signed char)small_integer(first + i);
        else
            ((__nv_fp8_e4m3 *)at)[i] = __nv_fp8_e4m3(value);
    }
}

/* W and X take their values from different places of the sequence. */
static const unsigned long long X_FIRST = 1ull << 40;

static double value_at(const struct type *type, unsigned long long i) {
    return type->in == CUDA_R_8I ? (double)small_integer(i) : (double)gpu_eighth(i);
}

static bool result_at(const struct product *p, size_t place, double *value) {
    unsigned char raw[4];
    if (!gpu_fetch(raw, p->y + place * p->type->out_bytes, p->type->out_bytes))
        return false;
    if (p->type->out == CUDA_R_32F)
        *value = (double)*(const float *)(const void *)raw;
    else if (p->type->out == CUDA_R_32I)
        *value = (double)*(const int *)(const void *)raw;
    else if (p->type->out == CUDA_R_16F)
        *value = (double)__half2float(*(const __half *)(const void *)raw);
    else
        *value = (double)__bfloat162float(*(const __nv_bfloat16 *)(const void *)raw);
    return true;
}

static bool is_right(const struct product *p) {
    for (size_t probe = 0; probe < 8; probe++) {
        size_t row = probe * (p->m - 1) / 7, column = (probe * 5 % 8) * (p->n - 1) / 7;
        double expected = 0, size = 1, found;
        for (size_t i = 0; i < p->k; i++) {
            double term =
                value_at(p->type, X_FIRST + row * p->k + i) * value_at(p->type, column * p->k + i);
            expected += term;
            size += fabs(term);
        }
        if (!result_at(p, row * p->n + column, &found) ||
            !(fabs(found - expected) <= p->type->tolerance * size))
            return false;
    }
    return true;
}

static bool multiply(void *context, cudaStream_t stream) {
    const struct product *p = (const struct product *)context;
    const float one = 1, zero = 0;
    const int int_one = 1, int_zero = 0;
    bool whole = p->type->out == CUDA_R_32I;
    return cublasLtMatmul(p->handle, p->what, whole ? (const void *)&int_one : &one, p->w,
                          p->w_layout, p->x, p->x_layout, whole ? (const void *)&int_zero : &zero,
                          p->y, p->y_layout, p->y, p->y_layout, &p->how, p->workspace, WORKSPACE,
                          stream) == CUBLAS_STATUS_SUCCESS;
}

/* Columns of cuBLAS are our rows: W^T is its transposed first operand, and Y comes out N x M. */
static bool prepare(struct product *p) {
    const struct type *t = p->type;
    const cublasOperation_t transposed = CUBLAS_OP_T;
    cublasLtMatmulPreference_t preference = NULL;
    cublasLtMatmulHeuristicResult_t found = {};
    int count = 0;
    bool ok = cublasLtMatmulDescCreate(&p->what, t->compute,
                                       t->out == CUDA_R_32I ? CUDA_R_32I : CUDA_R_32F) ==
                  CUBLAS_STATUS_SUCCESS &&
              cublasLtMatmulDescSetAttribute(p->what, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
                                             sizeof transposed) == CUBLAS_STATUS_SUCCESS &&
              cublasLtMatrixLayoutCreate(&p->w_layout, t->in, p->k, p->n, (int64_t)p->k) ==
                  CUBLAS_STATUS_SUCCESS &&
              cublasLtMatrixLayoutCreate(&p->x_layout, t->in, p->k, p->m, (int64_t)p->k) ==
                  CUBLAS_STATUS_SUCCESS &&
              cublasLtMatrixLayoutCreate(&p->y_layout, t->out, p->n, p->m, (int64_t)p->n) ==
                  CUBLAS_STATUS_SUCCESS &&
              cublasLtMatmulPreferenceCreate(&preference) == CUBLAS_STATUS_SUCCESS &&
              cublasLtMatmulPreferenceSetAttribute(
                  preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &WORKSPACE,
                  sizeof WORKSPACE) == CUBLAS_STATUS_SUCCESS &&
              cublasLtMatmulAlgoGetHeuristic(p->handle, p->what, p->w_layout, p->x_layout,
                                             p->y_layout, p->y_layout, preference, 1, &found,
                                             &count) == CUBLAS_STATUS_SUCCESS &&
              count > 0;
    p->how = found.algo;
    if (preference)
        (void)cublasLtMatmulPreferenceDestroy(preference);
    return ok;
}

static void release(struct product *p) {
    if (p->y_layout)
        (void)cublasLtMatrixLayoutDestroy(p->y_layout);
    if (p->x_layout)
        (void)cublasLtMatrixLayoutDestroy(p->x_layout);
    if (p->w_layout)
        (void)cublasLtMatrixLayoutDestroy(p->w_layout);
    if (p->what)
        (void)cublasLtMatmulDescDestroy(p->what);
    p->y_layout = p->x_layout = p->w_layout = NULL;
    p->what = NULL;
}

static void measure(struct session *session, const struct probe_limits *limits, struct product *p) {
    struct sample sample = {};
    char size[80];
    (void)snprintf(size, sizeof size, "%s, %zu x %zu x %zu", p->type->name, p->m, p->n, p->k);
    sample.work = 2.0 * (double)p->m * (double)p->n * (double)p->k;
    sample.unit = "flops";
    sample.m = p->m;
    sample.n = p->n;
    sample.k = p->k;
    sample.variant = p->type->name;
    if (!prepare(p))
        gpu_skip(session, size, "cuBLASLt has no kernel for it");
    else if (!gpu_once(multiply, p) || !is_right(p))
        gpu_skip(session, size, "its result was wrong");
    else
        gpu_measure(session, limits, &sample, multiply, p);
    release(p);
}

static void measure_type(struct session *session, const struct probe_limits *limits,
                         struct product *p) {
    static const size_t MATRICES[][2] = {{14336, 4096}, {4096, 14336}, {4096, 4096}, {28672, 8192}};
    static const size_t ROWS[] = {1, 4, 16, 64, 256, 1024, 4096, 8192};
    size_t matrices = limits->seconds > 1 ? 4 : 1;
    for (size_t i = 0; i < matrices; i++)
        for (size_t m : ROWS) {
            p->n = MATRICES[i][0];
            p->k = MATRICES[i][1];
            p->m = m;
            gpu_memory w(p->n * p->k * p->type->in_bytes), x(m * p->k * p->type->in_bytes),
                y(m * p->n * p->type->out_bytes);
            if (!w || !x || !y) {
                gpu_skip(session, p->type->name, "no device memory for the matrices");
                return;
            }
            p->w = w.as<unsigned char>();
            p->x = x.as<unsigned char>();
            p->y = y.as<unsigned char>();
            fill<<<BLOCKS, THREADS, 0, gpu.stream>>>(p->w, p->n * p->k, p->type->in, 0);
            fill<<<BLOCKS, THREADS, 0, gpu.stream>>>(p->x, m * p->k, p->type->in, X_FIRST);
            measure(session, limits, p);
        }
}

static void run(struct session *session, const struct probe_limits *limits) {
    struct product p = {};
    int capability = 10 * gpu.properties.major + gpu.properties.minor;
    gpu_memory workspace(WORKSPACE);
    if (!workspace || cublasLtCreate(&p.handle) != CUBLAS_STATUS_SUCCESS) {
        gpu_skip(session, NULL, "cuBLASLt can't be started");
        return;
    }
    p.workspace = workspace.as<void>();
    for (const struct type &type : TYPES) {
        p.type = &type;
        if (capability >= type.capability)
            measure_type(session, limits, &p);
        else
            gpu_skip(session, type.name, "this generation has no units for it");
    }
    (void)cublasLtDestroy(p.handle);
}

GPU_PROBE(cuda_gemm, "matrix products by type and size (cuBLASLt)")
