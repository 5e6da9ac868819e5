/* Weights that are pages of their file.
 *
 * Pages that were used longest ago go first. Layers are touched in order, pass after pass: a matrix
 * that every token needs is found again if all that one pass touches has room. An expert is touched
 * in a share s of the passes; it is found if its last touch is at most n passes ago, where n passes
 * touch as many experts as have room: 1 - (1 - s)^n of them. In decoding, where s is small, that is
 * the share of experts that has room; a batch that touches more than the room finds nothing. */
#include "plan/pass.h"

double vs_pass_missing(const struct vs_pass *p, bool experts) {
    const struct vs_pages *m = &p->plan->pages;
    double touched = vs_pass_touched(p), left = 1;
    if (m->every + m->experts <= m->room)
        return 0;
    if (m->every + touched * m->experts > m->room)
        return 1;
    if (!experts || touched <= 0)
        return 0;
    double gone = 1 - (m->room - m->every) / m->experts;
    while (left * (1 - touched) >= gone)
        left *= 1 - touched;
    return left;
}

void vs_pass_page_in(struct vs_pass *p, int32_t layer, double bytes) {
    if (bytes <= 0)
        return;
    vs_emit_after(&p->e, vs_emit_last(&p->e, p->on_cpu ? VS_LANE_CPU : VS_LANE_COMPUTE));
    vs_emit_after(&p->e, vs_emit_op(&p->e, &(struct vs_op){.kind = VS_WORK_STORAGE_READ,
                                                           .lane = VS_LANE_STORAGE,
                                                           .what = "mapped weights",
                                                           .layer = layer,
                                                           .bytes = bytes}));
}
