/* Pipelined training: what each stage does in which order, and the phases that it does.
 *
 * The layers are dealt out in chunks (strategy/pipeline.c). Forward and backward of a chunk are a
 * phase each, written once and carried out for every micro-batch; buffers that they take are one
 * micro-batch's own. Knows no time: run/pipeline.c carries them out. */
#ifndef VS_PLAN_PIPELINE_H
#define VS_PLAN_PIPELINE_H

#include "plan/train.h"

/* One micro-batch through one chunk of a stage. */
struct vs_pipeline_step {
    uint32_t micro;
    uint16_t chunk; /* of the stage: 0 = its first */
    bool forward;
};

/* Steps of each stage: every micro-batch forward and backward through each of its chunks. */
uint32_t vs_pipeline_steps(const struct vs_parallel *p, uint32_t micro_batches);
/* Forwards of a stage before its first backward (but one, which stands right before it). */
uint32_t vs_pipeline_warmup(const struct vs_parallel *p, uint32_t stage, uint32_t micro_batches);
/* Fills `steps`, vs_pipeline_steps of them, with what a stage does one after the other: warm-up,
 * one forward and one backward in turn, cool-down (1F1B: arXiv 2104.04473; Megatron-LM:
 * megatron/core/pipeline_parallel/schedules.py). Interleaved stages go through their chunks in
 * rounds of as many micro-batches as there are stages. */
void vs_pipeline_order(const struct vs_parallel *p, uint32_t stage, uint32_t micro_batches,
                       struct vs_pipeline_step *steps);

/* The phases of one chunk, by its number in the whole pipeline. */
struct vs_chunk {
    struct vs_phase forward, backward;
    struct vs_phase last; /* backward of a step's last micro-batch, which sums gradients over the
                             ranks that hold the same weights; empty with one */
};
bool vs_emit_chunk(struct vs_plan *plan, uint32_t chunk, struct vs_chunk *out, struct vs_err *err);
void vs_chunk_release(struct vs_chunk *chunk);

/* Does a stage do the same as another one behind it in the pipeline, with the same kinds of layers
 * in each chunk? It then takes as long, and holds at most as many micro-batches. */
bool vs_is_like_stage(const struct vs_plan *plan, uint32_t stage, uint32_t before);

/* What a stage sends to the next one for a micro-batch, and gets back for it. */
struct vs_op vs_pipeline_send(const struct vs_plan *plan);

/* Both ends of a pipeline hold a tied embedding: they add up its gradients once a step. Part of the
 * optimizer step. */
void vs_emit_tied_sum(struct vs_emit *e);

#endif
