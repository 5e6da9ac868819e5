/* What the tests of plans and runs share: a case from the words of a command line, its layout, its
 * phases, its run. Everything lives in sim_arena; sim_end frees it after each test.
 *
 * The toy model has 4 layers, hidden 256, 4 heads of 64, FFN 1024, vocabulary 4096: 1,048,576
 * linear parameters and two norms of 256 to a layer, 1,048,576 each in embedding and head, 256 in
 * the last norm. The toy device does 10 TFLOP/s, 100 GB/s, and 10 GB/s over its link, and reaches
 * all of it; it has 10 GiB. */
#ifndef SIM_HELPERS_H
#define SIM_HELPERS_H

#include <math.h>
#include <stdlib.h>

#include "base/text.h"
#include "engine/engine.h"
#include "hw/machine.h"
#include "plan/generate.h"
#include "plan/load.h"
#include "plan/train.h"
#include "run/config.h"
#include "run/point.h"
#include "strategy/strategy.h"
#include "unit/suite.h"
#include "work/options.h"

#define KIB 1024ULL
#define MIB (1ULL << 20)
#define GIB (1ULL << 30)

enum {
    TOY_LINEAR = 1048576, /* of a layer; also embedding, and head */
    TOY_LAYER = TOY_LINEAR + 2 * 256,
    TOY_PARAMS = 4 * TOY_LAYER + 2 * TOY_LINEAR + 256,
    TOY_LAYER_BYTES = 2 * TOY_LAYER /* in 16 bit */
};

#define TOY "--hw toy --model toy --engine ideal "
#define TOY_GENERATE TOY "--task generate --weights fp16 "
#define TOY_TRAIN TOY "--task train "

static struct vs_arena sim_arena;

static inline void sim_end(void) { vs_arena_release(&sim_arena); }

/* ---- cases ---- */

static inline bool sim_grid(const char *words, bool lists, struct vs_grid *grid,
                            struct vs_err *err) {
    const struct vs_option_rules rules = {.lists = lists};
    char **list;
    size_t count;
    *grid = (struct vs_grid){.set_count = 0};
    return vs_shell_split(&sim_arena, words, &list, &count, err) &&
           vs_options_parse(&sim_arena, (const char *const *)list, count, &rules, grid, err);
}

static inline bool sim_request(const char *words, struct vs_request *request, struct vs_err *err) {
    static struct vs_grid grid;
    *request = (struct vs_request){.set_count = 0};
    if (!sim_grid(words, false, &grid, err) || !vs_grid_point(&grid, &request->user, err))
        return false;
    request->set_paths = grid.set_paths;
    request->set_values = grid.set_values;
    request->set_count = grid.set_count;
    return true;
}

static inline bool sim_resolve(struct vs_catalog *catalog, const char *words, struct vs_case *c,
                               struct vs_err *err) {
    struct vs_request r;
    return sim_request(words, &r, err) && vs_request_resolve(catalog, &r, c, err);
}

static inline const struct vs_case *sim_case(const char *words) {
    struct vs_err err = {0};
    struct vs_case *c = VS_NEW(&sim_arena, struct vs_case);
    struct vs_catalog *catalog = vs_catalog_in(&sim_arena);
    ck_assert_msg(sim_resolve(catalog, words, c, &err), "%s: %s", words, err.text);
    return c;
}

/* ---- runs ---- */

static inline bool sim_try(const char *words, const struct vs_run_options *options,
                           const struct vs_outcome **outcome, struct vs_err *err) {
    struct vs_request request;
    return sim_request(words, &request, err) && vs_run(&sim_arena, &request, options, outcome, err);
}

static inline const struct vs_outcome *sim_outcome(const char *words,
                                                   const struct vs_run_options *options) {
    const struct vs_outcome *outcome = NULL;
    struct vs_err err = {0};
    ck_assert_msg(sim_try(words, options, &outcome, &err), "%s: %s", words, err.text);
    return outcome;
}

static inline const struct vs_outcome *sim_run(const char *words) {
    const struct vs_run_options options = {.capacity_only = false};
    return sim_outcome(words, &options);
}

/* Without the clock. */
static inline const struct vs_outcome *sim_memory(const char *words) {
    const struct vs_run_options options = {.capacity_only = true};
    return sim_outcome(words, &options);
}

static inline const char *sim_words(const char *base, const char *more) {
    return vs_arena_printf(&sim_arena, "%s %s", base, more);
}

static inline const struct vs_sweep *sim_sweep(const char *words) {
    const struct vs_sweep_options options = {.threads = 1};
    static struct vs_grid grid;
    const struct vs_sweep *sweep;
    struct vs_err err;
    ck_assert_msg(sim_grid(words, true, &grid, &err), "%s", err.text);
    ck_assert_msg(vs_sweep_run(&sim_arena, &grid, &options, &sweep, &err), "%s", err.text);
    return sweep;
}

/* Bytes that a tag held at the peak of a pool; 0 where there is no such pool. */
static inline uint64_t sim_tag(const struct vs_outcome *o, const char *pool, const char *tag) {
    for (size_t i = 0; i < o->pool_count; i++)
        for (size_t k = 0; vs_streq(o->pools[i].name, pool) && k < o->pools[i].by_tag_count; k++)
            if (vs_streq(o->pools[i].by_tag[k].tag, tag))
                return o->pools[i].by_tag[k].bytes;
    return 0;
}

/* A metric in bytes. */
static inline double sim_bytes(const struct vs_outcome *o, enum vs_metric metric) {
    return o->metrics[metric] * (double)GIB;
}

static inline void sim_refused(const char *words, const char *message) {
    const struct vs_run_options options = {.capacity_only = true};
    const struct vs_outcome *outcome = NULL;
    struct vs_err err = {0};
    ck_assert_msg(!sim_try(words, &options, &outcome, &err), "took %s", words);
    ck_assert_int_eq(err.status, VS_ERR_INPUT);
    ck_assert_msg(strstr(err.text, message) != NULL, "'%s' says '%s', expected '%s'", words,
                  err.text, message);
}

/* ---- plans ---- */

/* The layout behind the strategies, with its buffers. */
static inline void sim_plan(struct vs_plan *plan, const char *words) {
    struct vs_err err = {0};
    const struct vs_case *c = sim_case(words);
    bool ok = vs_plan_init(plan, &sim_arena, c, &err) && vs_strategies_apply(plan, &err) &&
              vs_plan_buffers(plan, &err);
    ck_assert_msg(ok, "%s: %s", words, err.text);
}

static inline void sim_micro_step(struct vs_plan *plan, struct vs_phase *phase) {
    struct vs_err err = {0};
    ck_assert_msg(vs_emit_micro_step(plan, phase, &err), "%s", err.text);
}

static inline void sim_prefill(struct vs_plan *plan, struct vs_phase *phase, uint64_t prompt,
                               uint64_t depth) {
    struct vs_err err = {0};
    ck_assert_msg(vs_emit_prefill(plan, prompt, depth, phase, &err), "%s", err.text);
}

static inline void sim_decode(struct vs_plan *plan, struct vs_phase *phase, uint64_t past) {
    struct vs_err err = {0};
    ck_assert_msg(vs_emit_decode(plan, past, phase, &err), "%s", err.text);
}

static inline void sim_executor(struct vs_executor *x, const struct vs_plan *plan) {
    struct vs_err err = {0};
    ck_assert_msg(vs_executor_init(x, plan, &err), "%s", err.text);
}

static inline void sim_walk(struct vs_executor *x, const struct vs_phase *phase) {
    struct vs_err err = {0};
    ck_assert_msg(vs_walk(x, phase, false, &err), "%s", err.text);
}

static inline double sim_time(struct vs_executor *x, const struct vs_phase *phase) {
    struct vs_err err = {0};
    double seconds = -1;
    ck_assert_msg(vs_time_phase(x, phase, VS_NO_OP, 1, &seconds, &err), "%s", err.text);
    return seconds;
}

/* ---- checks ---- */

/* Relative: |a/b - 1| <= part. */
#define ck_assert_near(a, b, part)                                                                 \
    ck_assert_msg(fabs((double)(a) / (double)(b)-1) <= (part), "%s = %.10g, expected %.10g", #a,   \
                  (double)(a), (double)(b))

#endif
