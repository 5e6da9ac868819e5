/* One pass of inference over all layers: some new tokens per sequence, on top of a cache. Internal
 * to plan/.
 *
 * Sizes are those of all sequences of the batch together. A layer is three pieces of work that may
 * live on different processors: its matrices, attention over its cache, and its experts. */
#ifndef VS_PLAN_PASS_H
#define VS_PLAN_PASS_H

#include "plan/emit.h"
#include "plan/fetch.h"

struct vs_engine;

/* Up to so many columns matrices are read as vectors are (llama.cpp: MMVQ_MAX_BATCH_SIZE). */
enum { VS_FEW_TOKENS = 8 };

/* Prompt tokens that share a step with sequences that decode. */
struct vs_chunk {
    uint64_t tokens;
    double reach;       /* cells that one of them attends to, on average */
    uint64_t sequences; /* that they end with: a row of logits each */
    uint64_t others;    /* tokens of the other groups' prompts, which experts see */
};

struct vs_pass {
    struct vs_emit e;
    struct vs_plan *plan;
    const struct vs_model *m;
    const struct vs_engine *engine;
    uint32_t layers; /* the first ones, which this pass is about: all, but where they repeat */
    uint64_t batch;
    uint64_t tokens;       /* new, of all sequences */
    struct vs_chunk chunk; /* of a server: behind the batch, part of `tokens` */
    uint64_t past, cells;  /* in the cache of one sequence: before, and after this pass */
    bool few;              /* decoding kernels */
    bool batched;          /* a step of decoding has these kernels whatever the batch */
    bool torch;            /* activations through the allocator, one by one */
    bool on_cpu;           /* where the hidden state is now */
    double share; /* of each matrix that the current device works on: 1 but for row splits */
    bool grows;   /* the cache grows by concatenation */
    vs_buffer_id *outgrown; /* old copies of all layers that stay until the pass is over; NULL =
                               each goes at once */
    struct vs_fetch fetch;
};

/* A number of the engine for the generation of the current device. What was looked up is kept by
 * the address of its name, which must outlive the plan: give literals. */
double vs_pass_number(const struct vs_pass *p, const char *name, double fallback);
bool vs_pass_rule(const struct vs_pass *p, const char *name, const char *word);

/* Kernels per operation of a layer that the host issues. */
double vs_pass_launches(const struct vs_pass *p);

/* The weights of a layer that pass `wanted`, as work of one processor. */
typedef bool (*vs_weight_filter)(const struct vs_weight *w);
/* Matrix work on the weights [first, first + count) that the filter takes; GEMV or GEMM, or the
 * CPU's. */
void vs_pass_matrices(struct vs_pass *p, size_t first, size_t count, vs_weight_filter wanted,
                      const char *what);

/* Share of the touches of mapped host weights that find the page gone: of experts, or of what every
 * token needs. */
double vs_pass_missing(const struct vs_pass *p, bool experts);
/* Reads so many bytes of mapped weights; what touches them waits. */
void vs_pass_page_in(struct vs_pass *p, int32_t layer, double bytes);

/* Share of a layer's experts that the tokens of this pass touch; 1 for dense layers. */
double vs_pass_touched(const struct vs_pass *p);

/* Attention over the cache of a layer, or its recurrence. */
void vs_pass_mix(struct vs_pass *p, uint32_t layer);

/* Moves the hidden state to the CPU, or to the current device. */
void vs_pass_go_to_cpu(struct vs_pass *p, bool cpu, int32_t layer);

/* All layers, and the head when `head`. */
void vs_pass_layers(struct vs_pass *p, bool head);

#endif
