/* Layers with a window: what engines keep of the cells outside it, and whether kernels pass over
 * them. The rules "window_chunks" (windows that are chunks), "window_mixed" (models that have
 * layers without a window too) and "window" of an engine say, the first one that it has:
 *
 *   masked: all cells are kept, and all are gone over under a mask.
 *
 *   kept: all cells are kept, kernels skip those outside.
 *
 *   pass: the window is kept, and room for the tokens of a pass; decoding goes over both.
 *
 *   sliding: the window is kept.
 *
 * The rule "window_none" lists families whose windows the engine ignores. Where the rules are known
 * from stands in the engine files. */
#include "strategy/strategy.h"

#include "engine/engine.h"

static bool is_mixed(const struct vs_model *m) {
    for (uint32_t l = 0; l < m->layers; l++)
        if (m->layer[l].mixer <= VS_MIXER_LATENT && m->layer[l].window == 0)
            return true;
    return false;
}

static const char *rule(const struct vs_plan *plan) {
    const struct vs_engine *engine = plan->c->engine;
    const char *word = vs_engine_rule(engine, "window", "kept");
    if (is_mixed(plan->c->model))
        word = vs_engine_rule(engine, "window_mixed", word);
    return plan->c->model->window_is_chunk ? vs_engine_rule(engine, "window_chunks", word) : word;
}

static uint64_t pass_cells(const struct vs_plan *plan) {
    uint64_t pad = (uint64_t)vs_engine_number(plan->c->engine, "window_pad", NULL, 1);
    uint64_t pass = plan->ubatch > 0 ? plan->ubatch : plan->kv_cells;
    return (plan->c->model->window + pass + pad - 1) / pad * pad;
}

/* Blocks are given back whole, and a window may begin inside of one. A prefix cache keeps what
 * another request may want. */
static uint64_t window_cells(const struct vs_plan *plan) {
    uint64_t window = plan->c->model->window, block = plan->kv_block;
    if (block == 0)
        return window;
    bool prefix = vs_is(&plan->c->axes, VS_AXIS_PREFIX_CACHE, "on");
    return prefix ? 0 : ((window + block - 1) / block + 1) * block;
}

/* Only flash kernels know windows; others go over all that is kept. */
static bool apply(struct vs_plan *plan, struct vs_err *err) {
    const struct vs_model *m = plan->c->model;
    const struct vs_engine *engine = plan->c->engine;
    struct vs_window *w = &plan->window;
    (void)err;
    if (plan->c->task == VS_TASK_TRAIN || m->window == 0 ||
        vs_engine_rule_lists(engine, "window_none", m->family, false))
        return true;
    const char *word = rule(plan);
    w->masked = is_mixed(m);
    if (vs_streq(word, "masked"))
        return true;
    w->span = plan->attention == VS_ATTENTION_FLASH ? m->window : 0;
    w->kept = vs_streq(word, "pass")      ? pass_cells(plan)
              : vs_streq(word, "sliding") ? window_cells(plan)
                                          : 0;
    w->read = w->span > 0 && !vs_streq(word, "pass") ? w->span : w->kept;
    return true;
}

const struct vs_strategy vs_strategy_windows = {
    .name = "windows",
    .help = "sliding windows of attention, as an engine keeps their cells",
    .stage = "kv",
    .apply = apply};
