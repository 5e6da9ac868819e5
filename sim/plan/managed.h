/* Managed memory on devices: what a pass uses of it, in which order. Every function does nothing in
 * plans without it. Internal to plan/. */
#ifndef VS_PLAN_MANAGED_H
#define VS_PLAN_MANAGED_H

#include "plan/pass.h"

/* Parts of one large buffer: bytes so far, and the pages that hold them. */
struct vs_managed_laid {
    uint64_t bytes, page_bytes;
};
/* One more part: the pages, in bytes, that begin in it. */
uint64_t vs_managed_lay(struct vs_managed_laid *laid, uint64_t bytes);

/* Makes buffers for the weights of each device: those of a layer without its routed experts, its
 * experts, those outside the layers. They lie one behind the other, as in one large buffer, and are
 * cut at pages. */
void vs_managed_lay_weights(struct vs_emit *e);
/* A weight is being written: its pages get memory now, on the device. */
void vs_managed_loaded(struct vs_emit *e, const struct vs_weight *w);

/* Before the operation that uses them: a layer's weights and the engine's buffers; its experts, as
 * far as the pass touches them; its cache, up to the pass's cells; what stands behind the layers.
 */
void vs_managed_use_layer(struct vs_pass *p, uint32_t layer);
void vs_managed_use_experts(struct vs_pass *p, uint32_t layer);
void vs_managed_use_cache(struct vs_pass *p, uint32_t layer);
void vs_managed_use_head(struct vs_pass *p);

/* Share of the pages of a tensor of many experts that are touched where each expert is with
 * probability `share`; `expert_pages` is an expert's size in pages. A page belongs to 1 +
 * 1/expert_pages experts on average. */
double vs_managed_page_share(double share, double expert_pages);

#endif
