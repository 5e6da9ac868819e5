/* Drives generation: KV cache and buffers, the prompt in passes, then one token at a time over a
 * growing cache.
 *
 * A decode step's time depends on the cells in the cache alone. It is run at both ends of an
 * interval and in the middle; where the middle lies on the line between the ends (to 0.01 %, or 0.5
 * % where pages migrate) the steps between are taken from the line, otherwise the halves are
 * treated alike. */
#include "run/simulate.h"

#include "plan/generate.h"
#include "run/kv_waste.h"

enum { WALKED_STEPS = 8 };
/* Pages migrate whole, now in this step, now in that: a line through such steps is less straight.
 */
static const double LINE_TOLERANCE = 1e-4, LINE_TOLERANCE_PAGES = 5e-3;

struct shape {
    uint64_t prompt, gen, depth, batch;
    uint64_t prefilled; /* of the prompt */
    uint64_t steps;     /* of decoding */
};

/* TurboMind's first pass ends before the last token of the prompt: a step of decoding takes it, and
 * the first token comes from there. */
static bool first_is_decoded(const struct vs_case *c) {
    return vs_streq(vs_engine_rule(c->engine, "first_token", "prefill"), "decode");
}

/* The prompt's pass yields the first token of those that are asked for: steps are one less. */
static bool first_is_counted(const struct vs_case *c) {
    return vs_streq(vs_engine_rule(c->engine, "first_token", "prefill"), "counted") &&
           vs_count(&c->axes, VS_AXIS_PROMPT) > 0;
}

static struct shape shape_of(const struct vs_case *c) {
    uint64_t prompt = (uint64_t)vs_count(&c->axes, VS_AXIS_PROMPT);
    uint64_t gen = (uint64_t)vs_count(&c->axes, VS_AXIS_GEN);
    return (struct shape){.prompt = prompt,
                          .prefilled = prompt - (prompt > 0 && first_is_decoded(c)),
                          .gen = gen,
                          .steps = gen - (gen > 0 && first_is_counted(c)),
                          .depth = (uint64_t)vs_count(&c->axes, VS_AXIS_DEPTH),
                          .batch = (uint64_t)vs_count(&c->axes, VS_AXIS_BATCH)};
}

static bool timed(const struct vs_simulation *s) {
    return !s->options->capacity_only && !s->x.out_of_memory;
}

/* Sequences that run together, from their prompts to their last tokens. More than the cache holds
 * follow in waves; equal ones take equal times. */
struct wave {
    double sequences, prefill_s, decode_s;
    double first_s; /* mean time to the first token, from the start of the wave */
};

/* One of `count` equal steps for the prompts of all running sequences. */
static bool prefill_step(struct vs_simulation *s, struct vs_phase *phase, const struct shape *shape,
                         double count, double *seconds, struct vs_err *err) {
    *seconds = 0;
    return vs_emit_prefill(&s->plan, shape->prefilled, shape->depth, phase, err) &&
           vs_walk(&s->x, phase, s->options->stop_at_oom, err) &&
           (!timed(s) || vs_time_phase(&s->x, phase, VS_NO_OP, count, seconds, err));
}

/* A server fills a step with whole prompts up to its budget of tokens; equal steps take equal
 * times, and the tokens of an early one do not wait for the others. */
static bool prefill(struct vs_simulation *s, struct vs_phase *phase, const struct shape *shape,
                    struct wave *wave, struct vs_err *err) {
    uint64_t all = s->plan.sequences, each = all;
    double step_s = 0, rest_s = 0;
    wave->sequences = (double)all;
    if (shape->prefilled == 0)
        return true;
    if (s->plan.step_tokens > 0 && all * shape->prefilled > s->plan.step_tokens)
        each = s->plan.step_tokens > shape->prefilled ? s->plan.step_tokens / shape->prefilled : 1;
    double steps = (double)(all / each), last = (double)(all % each);
    s->plan.sequences = each;
    bool ok = prefill_step(s, phase, shape, steps, &step_s, err);
    s->plan.sequences = all % each;
    if (ok && all % each > 0)
        ok = prefill_step(s, phase, shape, 1, &rest_s, err);
    s->plan.sequences = all;
    wave->prefill_s = steps * step_s + rest_s;
    wave->first_s =
        (steps * (steps + 1) / 2 * (double)each * step_s + last * wave->prefill_s) / (double)all;
    return ok;
}

/* Steps behind which memory is looked at: all, in equal parts. */
static uint64_t walked(const struct shape *shape, uint64_t i) {
    i = i < WALKED_STEPS ? i : WALKED_STEPS;
    return shape->depth + shape->prefilled + shape->steps * i / WALKED_STEPS;
}

/* Of lines between these: the part of all steps that a look stands for. */
static double walked_part(const struct shape *shape, uint64_t i) {
    uint64_t before = walked(shape, i > 0 ? i - 1 : 0), after = walked(shape, i + 1);
    return shape->steps > 0 ? (double)(after - before) / 2 : i == 0;
}

/* Memory of decoding: some steps, the last one among them. The mean of the cache's waste is that of
 * the lines between them. */
static bool walk_step(struct vs_simulation *s, struct vs_phase *phase, uint64_t past,
                      struct vs_err *err) {
    return vs_is_over(s) || (vs_emit_decode(&s->plan, past, phase, err) &&
                             vs_walk(&s->x, phase, s->options->stop_at_oom, err));
}

static bool walk_decode(struct vs_simulation *s, struct vs_phase *phase, const struct shape *shape,
                        struct vs_err *err) {
    struct vs_kv_tally tally = {0};
    bool grows = vs_is(&s->c->axes, VS_AXIS_KV_ALLOC, "dynamic");
    uint64_t start = walked(shape, 0);
    vs_kv_tally_add(&tally, s, start, walked_part(shape, 0));
    for (uint64_t i = 1; i <= WALKED_STEPS && shape->steps > 0 && !vs_is_over(s); i++) {
        uint64_t past = walked(shape, i);
        /* The last copy of a growing cache has the one of the step before beside it. */
        bool beside = grows && i == WALKED_STEPS && past > start + 1;
        if ((beside && !walk_step(s, phase, past - 2, err)) ||
            (past > start && !walk_step(s, phase, past - 1, err)))
            return false;
        vs_kv_tally_add(&tally, s, past, walked_part(shape, i));
    }
    return s->x.out_of_memory || vs_kv_tally_report(&tally, s, err);
}

static bool step_time(struct vs_simulation *s, struct vs_phase *phase, uint64_t past,
                      double *seconds, struct vs_err *err) {
    bool pages = s->plan.managed.on;
    vs_forget_walk(&s->x);
    return vs_emit_decode(&s->plan, past, phase, err) &&
           (!pages || vs_walk(&s->x, phase, false, err)) &&
           vs_time_phase(&s->x, phase, VS_NO_OP, 1, seconds, err);
}

/* An interval of steps whose ends are known; an explicit stack keeps the halves. */
struct interval {
    uint64_t a, b;
    double ta, tb;
};
enum { STACK_MAX = 64 };

/* Sum over the steps a+1..b of the line through both ends. */
static double line_sum(const struct interval *i) {
    double n = (double)(i->b - i->a);
    return n * i->ta + (i->tb - i->ta) * (n + 1) / 2;
}

static bool decode_time(struct vs_simulation *s, struct vs_phase *phase, uint64_t first,
                        uint64_t last, double *seconds, struct vs_err *err) {
    struct interval stack[STACK_MAX] = {{.a = first, .b = last}};
    double tolerance = s->plan.managed.on ? LINE_TOLERANCE_PAGES : LINE_TOLERANCE;
    size_t depth = 1;
    if (!step_time(s, phase, first, &stack[0].ta, err) ||
        !step_time(s, phase, last, &stack[0].tb, err))
        return false;
    *seconds = stack[0].ta;
    while (depth > 0) {
        struct interval i = stack[--depth];
        uint64_t m = i.a + (i.b - i.a) / 2;
        double tm,
            line = i.ta + (i.tb - i.ta) * (double)(m - i.a) / (double)(i.b > i.a ? i.b - i.a : 1);
        if (i.b - i.a < 2 || depth + 2 > STACK_MAX) {
            *seconds += line_sum(&i);
            continue;
        }
        if (!step_time(s, phase, m, &tm, err))
            return false;
        struct interval low = {i.a, m, i.ta, tm}, high = {m, i.b, tm, i.tb};
        double off = tm > line ? tm - line : line - tm;
        if (off <= tolerance * line) {
            *seconds += line_sum(&low) + line_sum(&high);
        } else {
            stack[depth++] = low;
            stack[depth++] = high;
        }
    }
    return true;
}

static bool decode_wave(struct vs_simulation *s, struct vs_phase *phase, const struct shape *shape,
                        struct wave *wave, struct vs_err *err) {
    uint64_t start = shape->depth + shape->prefilled;
    double first_s = 0;
    if (shape->steps == 0)
        return true;
    if (shape->prefilled < shape->prompt && !step_time(s, phase, start, &first_s, err))
        return false;
    wave->first_s += first_s;
    return decode_time(s, phase, start, start + shape->steps - 1, &wave->decode_s, err);
}

/* The sequences that are left for the last wave. */
static bool last_wave(struct vs_simulation *s, struct vs_phase *phase, const struct shape *shape,
                      uint64_t sequences, struct wave *wave, struct vs_err *err) {
    uint64_t full = s->plan.sequences;
    if (sequences == 0)
        return true;
    s->plan.sequences = sequences;
    bool ok = prefill(s, phase, shape, wave, err) && decode_wave(s, phase, shape, wave, err);
    s->plan.sequences = full;
    return ok;
}

/* Means over all sequences: a wave's first token waits for the waves before. */
static void mean_speeds(const struct vs_simulation *s, const struct shape *shape, double waves,
                        const struct wave *full, const struct wave *last) {
    double *metrics = s->out->metrics, batch = (double)shape->batch;
    double gen = (double)shape->gen, steps = (double)shape->steps;
    double each_s = full->prefill_s + full->decode_s;
    double prefill_s = waves * full->prefill_s + last->prefill_s;
    double decode_s = waves * full->decode_s + last->decode_s;
    double first = full->sequences * (waves * full->first_s + waves * (waves - 1) / 2 * each_s) +
                   last->sequences * (waves * each_s + last->first_s);
    if (shape->prompt > 0) {
        if (prefill_s > 0)
            metrics[VS_METRIC_PREFILL_TPS] = batch * (double)shape->prefilled / prefill_s;
        metrics[VS_METRIC_TTFT_S] = first / batch;
    }
    if (shape->gen == 0)
        return;
    metrics[VS_METRIC_E2E_TPS] = batch * gen / (prefill_s + decode_s);
    if (shape->steps == 0)
        return;
    metrics[VS_METRIC_DECODE_TPS] = batch * steps / decode_s;
    metrics[VS_METRIC_TPOT_S] =
        (waves * full->sequences * full->decode_s + last->sequences * last->decode_s) / batch /
        steps;
}

static bool speeds(struct vs_simulation *s, struct vs_phase *phase, const struct shape *shape,
                   struct wave *full, struct vs_err *err) {
    uint64_t at_once = s->plan.sequences;
    struct wave last = {0};
    s->main_s = full->prefill_s;
    if (shape->steps > 0)
        vs_clear_sums(&s->x);
    double before = s->x.time_s;
    if (!decode_wave(s, phase, shape, full, err) ||
        !last_wave(s, phase, shape, shape->batch % at_once, &last, err))
        return false;
    if (shape->steps > 0)
        s->main_s = s->x.time_s - before;
    mean_speeds(s, shape, (double)(shape->batch / at_once), full, &last);
    return true;
}

static bool drive(struct vs_simulation *s, struct vs_phase *phase, struct vs_err *err) {
    struct shape shape = shape_of(s->c);
    struct wave wave = {0};
    if (s->plan.kv_block > 0 && !vs_start_paged(s, phase, err))
        return false;
    if (vs_is_over(s))
        return true;
    if (s->c->task == VS_TASK_SERVE)
        return vs_drive_serve(s, phase, err);
    if (!vs_emit_provision(&s->plan, phase, err) ||
        !vs_walk(&s->x, phase, s->options->stop_at_oom, err))
        return false;
    if (vs_is_over(s))
        return true;
    vs_clear_sums(&s->x);
    if (!prefill(s, phase, &shape, &wave, err) ||
        (!vs_is_over(s) && !walk_decode(s, phase, &shape, err)))
        return false;
    if (s->options->capacity_only || s->x.out_of_memory)
        return true;
    return speeds(s, phase, &shape, &wave, err);
}

bool vs_drive_generate(struct vs_simulation *s, struct vs_err *err) {
    struct vs_phase phase = {0};
    bool ok = drive(s, &phase, err);
    vs_phase_release(&phase);
    return ok;
}
