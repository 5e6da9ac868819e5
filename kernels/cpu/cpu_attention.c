/* Decode attention of one token on the CPU over a cache of 16-bit keys and values: 32 heads of 128
 * that share 8 of the cache, 4,096 tokens. flops = 4 x heads x tokens x head size. */
#include <math.h>
#include <stdlib.h>

#include "../probe.h"
#include "quant.h"

enum { HEADS = 32, KV_HEADS = 8, DIM = 128, TOKENS = 4096, GROUP = HEADS / KV_HEADS };

struct attention {
    uint16_t *keys, *values; /* bf16, KV_HEADS x TOKENS x DIM */
    float *queries, *outputs, *scores;
    unsigned threads;
};

static inline float wide(uint16_t bf16) {
    union {
        uint32_t bits;
        float value;
    } u = {.bits = (uint32_t)bf16 << 16};
    return u.value;
}

FOR_EACH_TARGET static float score(const float *query, const uint16_t *key) {
    float lanes[16] = {0};
    float sum = 0;
    for (int i = 0; i < DIM; i += 16)
        for (int lane = 0; lane < 16; lane++)
            lanes[lane] += query[i + lane] * wide(key[i + lane]);
    for (int lane = 0; lane < 16; lane++)
        sum += lanes[lane];
    return sum;
}

FOR_EACH_TARGET static void add_value(float *output, const uint16_t *value, float weight) {
    for (int i = 0; i < DIM; i++)
        output[i] += weight * wide(value[i]);
}

static void one_head(struct attention *a, size_t head) {
    const uint16_t *keys = a->keys + head / GROUP * TOKENS * DIM;
    const uint16_t *values = a->values + head / GROUP * TOKENS * DIM;
    const float *query = a->queries + head * DIM;
    float *output = a->outputs + head * DIM, *scores = a->scores + head * TOKENS, most = -INFINITY,
          sum = 0;
    for (size_t t = 0; t < TOKENS; t++) {
        scores[t] = score(query, keys + t * DIM);
        most = fmaxf(most, scores[t]);
    }
    for (int i = 0; i < DIM; i++)
        output[i] = 0;
    for (size_t t = 0; t < TOKENS; t++) {
        float weight = expf(scores[t] - most);
        sum += weight;
        add_value(output, values + t * DIM, weight);
    }
    for (int i = 0; i < DIM; i++)
        output[i] /= sum;
}

static void attend_part(void *context, unsigned part, unsigned parts) {
    size_t first, number = team_share(HEADS, part, parts, &first);
    for (size_t head = first; head < first + number; head++)
        one_head(context, head);
}

static double attend_once(void *context) {
    struct attention *a = context;
    return team_run(a->threads, attend_part, a);
}

/* All keys are equal, so that each output is the mean of the values: 1 and 3 in turn. */
static void fill(struct attention *a) {
    const uint16_t one = 0x3f80, three = 0x4040;
    for (size_t i = 0; i < (size_t)KV_HEADS * TOKENS * DIM; i++) {
        a->keys[i] = one;
        a->values[i] = i / DIM % 2 ? three : one;
    }
    for (size_t i = 0; i < (size_t)HEADS * DIM; i++)
        a->queries[i] = 1.0F / DIM;
}

static bool is_right(const struct attention *a) {
    for (size_t i = 0; i < (size_t)HEADS * DIM; i++)
        if (fabsf(a->outputs[i] - 2) > 1e-3F)
            return false;
    return true;
}

static void run(struct session *session, const struct probe_limits *limits) {
    struct attention a = {.threads = limits->threads < HEADS ? limits->threads : HEADS};
    size_t cache = (size_t)KV_HEADS * TOKENS * DIM;
    a.keys = malloc(cache * sizeof *a.keys);
    a.values = malloc(cache * sizeof *a.values);
    a.queries = malloc((size_t)HEADS * DIM * sizeof *a.queries);
    a.outputs = malloc((size_t)HEADS * DIM * sizeof *a.outputs);
    a.scores = malloc((size_t)HEADS * TOKENS * sizeof *a.scores);
    bool memory = a.keys && a.values && a.queries && a.outputs && a.scores;
    if (memory)
        fill(&a);
    if (!memory || attend_once(&a) < 0)
        session_skip(session, "no memory for the cache");
    else if (!is_right(&a))
        session_skip(session, "its result was wrong");
    else
        session_measure(session, limits,
                        &(struct sample){.work = 4.0 * HEADS * TOKENS * DIM,
                                         .unit = "flops",
                                         .threads = a.threads,
                                         .bytes = 4 * cache},
                        attend_once, &a);
    free(a.keys);
    free(a.values);
    free(a.queries);
    free(a.outputs);
    free(a.scores);
}

const struct probe probe_cpu_attention = {"cpu_attention",
                                          "decode attention over a cache of 4,096 tokens", run};
