/* Attention of one new token over a KV cache in fp16, by context: 32 query heads in 8 groups of 128
 * values, as in Llama 3 8B, for so many sequences at once that the cache is past the L2. Split
 * along the context (as flash-decoding does), then merged. bytes = keys and values read: 2 x
 * sequences x 8 x 128 x 2 per token of context. One head of the first and the last sequence is
 * checked on the host. nvcc -O3 -arch=native -I.. -c cuda_attention.cu */
#include <cuda_fp16.h>
#include <math.h>
#include <stdlib.h>

#include "gpu.h"

enum { GROUPS = 8, SHARED = 4, HEAD = 128, SPLIT = 256, WARPS = 4, WARP = 32, EACH = HEAD / WARP };

struct cache {
    __half *k, *v; /* [sequence][group][token][value] */
    float *q;      /* [sequence][group][shared][value] */
    float *part;   /* [sequence][group][shared][split][value, then sum and maximum] */
    float *out;
    unsigned sequences, tokens, splits;
};

enum { PART = HEAD + 2 };

/* What one warp knows of the tokens that it saw: softmax kept in step, the sum rescaled as the
 * maximum grows (Milakov and Gimelshein 2018). A lane holds four of the 128 values. */
struct running {
    float most, sum, value[EACH];
};

static __device__ void take(struct running *r, float score, const __half *v) {
    float most = fmaxf(r->most, score), scale = __expf(r->most - most);
    float weight = __expf(score - most);
    r->sum = r->sum * scale + weight;
    for (int i = 0; i < EACH; i++)
        r->value[i] = r->value[i] * scale + weight * __half2float(v[i]);
    r->most = most;
}

static __device__ void load_four(__half out[EACH], const __half *at) {
    *(uint2 *)out = *(const uint2 *)at;
}

/* A block to a split of one group: its warps take a query head each, so that keys and values come
 * from memory once and from the L1 cache the other times. */
static __global__ void attend(struct cache c) {
    unsigned group = blockIdx.y, lane = threadIdx.x % WARP, head = threadIdx.x / WARP;
    unsigned first = blockIdx.x * SPLIT, last = min(first + SPLIT, c.tokens);
    size_t base = (size_t)group * c.tokens;
    size_t which = (size_t)group * SHARED + head;
    const float *q = c.q + which * HEAD + lane * EACH;
    struct running r = {-INFINITY, 0, {0, 0, 0, 0}};
    for (unsigned t = first; t < last; t++) {
        alignas(8) __half k[EACH], v[EACH]; /* as load_four writes them */
        load_four(k, c.k + (base + t) * HEAD + lane * EACH);
        load_four(v, c.v + (base + t) * HEAD + lane * EACH);
        float score = 0;
        for (int i = 0; i < EACH; i++)
            score += q[i] * __half2float(k[i]);
        for (int other = WARP / 2; other > 0; other /= 2)
            score += __shfl_xor_sync(0xffffffffu, score, other);
        take(&r, score * rsqrtf((float)HEAD), v);
    }
    float *part = c.part + (which * c.splits + blockIdx.x) * PART;
    for (int i = 0; i < EACH; i++)
        part[lane * EACH + i] = r.value[i];
    if (lane == 0) {
        part[HEAD] = r.sum;
        part[HEAD + 1] = r.most;
    }
}

static __global__ void merge(struct cache c) {
    size_t which = blockIdx.x;
    const float *part = c.part + which * c.splits * PART;
    float most = -INFINITY, sum = 0, value = 0;
    for (unsigned s = 0; s < c.splits; s++)
        most = fmaxf(most, part[s * PART + HEAD + 1]);
    for (unsigned s = 0; s < c.splits; s++) {
        float scale = __expf(part[s * PART + HEAD + 1] - most);
        sum += scale * part[s * PART + HEAD];
        value += scale * part[s * PART + threadIdx.x];
    }
    c.out[which * HEAD + threadIdx.x] = value / sum;
}

static __global__ void fill_half(__half *at, size_t count, unsigned long long first) {
    size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
        at[i] = __float2half(gpu_eighth(first + i));
}

static __global__ void fill_float(float *at, size_t count, unsigned long long first) {
    size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
        at[i] = gpu_eighth(first + i);
}

static const unsigned long long V_FIRST = 1ull << 40, Q_FIRST = 1ull << 41;

static bool decode(void *context, cudaStream_t stream) {
    const struct cache *c = (const struct cache *)context;
    unsigned groups = c->sequences * GROUPS;
    attend<<<dim3(c->splits, groups), WARPS * WARP, 0, stream>>>(*c);
    merge<<<groups * SHARED, HEAD, 0, stream>>>(*c);
    return gpu_launched();
}

/* Head `which` of all, in double precision. */
static bool head_is_right(const struct cache *c, size_t which) {
    float found[HEAD];
    double most = -INFINITY, sum = 0, value[HEAD] = {};
    size_t base = which / SHARED * c->tokens;
    double *score = (double *)malloc(c->tokens * sizeof *score);
    if (!score || !gpu_fetch(found, c->out + which * HEAD, sizeof found)) {
        free(score);
        return false;
    }
    for (unsigned t = 0; t < c->tokens; t++) {
        score[t] = 0;
        for (unsigned i = 0; i < HEAD; i++)
            score[t] += (double)gpu_eighth(Q_FIRST + which * HEAD + i) *
                        (double)gpu_eighth((base + t) * HEAD + i) / sqrt((double)HEAD);
        most = fmax(most, score[t]);
    }
    for (unsigned t = 0; t < c->tokens; t++) {
        double weight = exp(score[t] - most);
        sum += weight;
        for (unsigned i = 0; i < HEAD; i++)
            value[i] += weight * (double)gpu_eighth(V_FIRST + (base + t) * HEAD + i);
    }
    free(score);
    for (unsigned i = 0; i < HEAD; i++)
        if (!(fabs((double)found[i] - value[i] / sum) <= 1e-3))
            return false;
    return true;
}

static void measure(struct session *session, const struct probe_limits *limits, struct cache *c) {
    size_t heads = (size_t)c->sequences * GROUPS * SHARED;
    size_t values = (size_t)c->sequences * GROUPS * c->tokens * HEAD;
    c->splits = (c->tokens + SPLIT - 1) / SPLIT;
    gpu_memory k(values * sizeof *c->k), v(values * sizeof *c->v), q(heads * HEAD * sizeof *c->q),
        part(heads * c->splits * PART * sizeof *c->part), out(heads * HEAD * sizeof *c->out);
    struct sample sample = {};
    if (!k || !v || !q || !part || !out) {
        gpu_skip(session, NULL, "no device memory for the cache");
        return;
    }
    c->k = k.as<__half>();
    c->v = v.as<__half>();
    c->q = q.as<float>();
    c->part = part.as<float>();
    c->out = out.as<float>();
    fill_half<<<1024, 256, 0, gpu.stream>>>(c->k, values, 0);
    fill_half<<<1024, 256, 0, gpu.stream>>>(c->v, values, V_FIRST);
    fill_float<<<64, 256, 0, gpu.stream>>>(c->q, heads * HEAD, Q_FIRST);
    sample.bytes = 2 * values * sizeof *c->k;
    sample.work = (double)sample.bytes;
    sample.unit = "bytes";
    sample.m = c->sequences;
    sample.n = c->tokens;
    if (!gpu_once(decode, c) || !head_is_right(c, 0) || !head_is_right(c, heads - 1))
        gpu_skip(session, NULL, "its result was wrong");
    else
        gpu_measure(session, limits, &sample, decode, c);
}

static void run(struct session *session, const struct probe_limits *limits) {
    const size_t token_bytes = 2 * GROUPS * HEAD * sizeof(__half);
    size_t tokens_most = gpu_most_bytes(limits) / 2 / token_bytes;
    for (unsigned tokens = 1024; tokens <= 65536 && tokens <= tokens_most; tokens *= 4) {
        struct cache c = {};
        size_t sequences = tokens_most / tokens;
        c.tokens = tokens;
        c.sequences = (unsigned)(sequences < 64 ? sequences : 64);
        measure(session, limits, &c);
    }
}

GPU_PROBE(cuda_attention, "attention of one token over a KV cache, by context")
