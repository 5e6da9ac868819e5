/* The block schedule of FlexGen: a block of several GPU batches passes a part of a layer before the
 * next part is taken up, so that each load of weights serves the whole block.
 *
 * For each part (embedding; attention and MLP of each layer; head) and each GPU batch the host
 * issues, in this order: with the first batch the weights of the next part; the cache of the next
 * batch; the arithmetic of this batch; what the batch before puts out; then it waits for all of it
 * (FMInference/FlexLLMGen:flexllmgen/flex_opt.py@004ffef2). Copies from page-locked memory run
 * beside the arithmetic, those from pageable memory hold up the host, which issues it after them.
 * Internal to plan/. */
#ifndef VS_PLAN_BLOCK_H
#define VS_PLAN_BLOCK_H

#include "plan/pass.h"

/* All parts, and the head when `head`. */
void vs_block_pass(struct vs_pass *p, bool head);

/* The cache of the block, shared out over the memories. */
void vs_block_take_cache(struct vs_emit *e);

#endif
