/* A plan as one JSON document, with all that another executor needs to replay it.
 *
 *   schema     "vramsim-plan/1"
 *   case       hw, machine, model, engine, engine_version, task, strategy {axis: word}
 *   pools      [{name, capacity_bytes (null = no ceiling), homes [..]}]: buffers name a home
 *   resources  [{name, capacity, unit}]: nominal rates per second, shared by all that runs
 *   launch_s   host time to launch one kernel
 *   tensors    [{name, type, bytes, home, trainable, adapter_rank (0 = none), buffer}]: stored
 *              tensors of the model, where they rest; buffer null = inside that of an earlier one
 *   phases     [{name, count, tokens, once, predicted_s, operations [..], memory_at_end [..]}] in
 *              order. All lanes are drained between two. tokens: of all sequences, that enter it;
 *              once: in the life of the process, else with each step or request; predicted_s: of
 *              one, null in a pipeline, whose phases run side by side. Training: load, one
 *              micro-step (count = accumulation), one optimizer step. Generation: load, provision,
 *              each pass of the prompt, the first and the last decode step; the steps between
 *              differ by their cells in the cache
 *   buffers    [{what, layer, home, tag, bytes, stream, raw, managed}]: stream: whose free blocks
 *              serve it; raw = past the allocator; managed = pages that migrate on demand
 *
 * An operation, in the order of issue:
 *   kind, lane        the words of plan/plan.h; a lane runs its operations in the order of issue
 *   what, layer       null outside the layers
 *   type, weight_bits of the weights that it reads; type null = 16 bit
 *   fp32, fp8, fp4    how it multiplies, else in 16 bit
 *   pinned            of what it copies
 *   flops, bytes      work, and traffic of the processor's memory or of the link
 *   kernels, launches that run one after the other; that the host issues, on the issue lane, before
 *   cost_s            a fixed time beside its work
 *   latency_s, needs  what the cost laws make of all these: {resource: amount}, served together
 *                     after the latency
 *   after             indices of operations of the phase that it waits for besides its lane
 *   memory            [{verb, buffer}]: actions, in order, just before it is issued. take; give;
 *                     touch (uses all pages); draw (uses some); retire (gives what another stream
 *                     may still use); ensure (take unless held); accumulate (take, or where
 *                     held take and give a temporary of that size)
 * Operations and buffers are numbered from 0 by their place. */
#ifndef VS_RUN_PLAN_JSON_H
#define VS_RUN_PLAN_JSON_H

#include "base/arena.h"
#include "base/err.h"
#include "base/text.h"
#include "work/case.h"

/* Appends the document; what it holds on the way lives in the arena. */
bool vs_plan_json(struct vs_arena *arena, const struct vs_case *c, struct vs_text *out,
                  struct vs_err *err);

#endif
