#include "run/replay_steps.h"

#include <string.h>

#include "engine/engine.h"
#include "import/steps.h"
#include "plan/train.h"
#include "run/config.h"
#include "run/point.h"

enum { DRAWN_STEPS = 100, BUCKETS = 1024 };

/* Micro-steps of one shape last equally long, whatever came before them. */
struct shape {
    uint64_t seq, batch;
    bool
        last; /* of its step, or like it: false where only that one sums gradients over the ranks */
    double seconds, count;
    uint32_t next; /* of its bucket, + 1 */
};

/* What is computed as one sequence: a sample, or several that are packed. */
struct row {
    uint64_t tokens;
    size_t first, samples; /* of the trace */
};

struct drive {
    struct vs_simulation *s;
    const struct vs_step_run *run;
    const struct vs_step_trace *trace;
    struct vs_step_replay *out;
    struct vs_case c; /* the case with the shape that is emitted */
    struct vs_phase micro, update;
    uint32_t emitted;        /* shape of `micro`, + 1 */
    struct vs_arena scratch; /* of the emitted shape */
    size_t buffers;          /* of the plan, without those of a micro-step */
    uint64_t longest;        /* samples are cut to it; UINT64_MAX = they are not */
    bool direct; /* times are taken behind each walk: pages move, or a timeline is kept */
    double update_s, micro_s; /* direct: of the step that runs */
    VS_VEC(struct shape) shapes;
    uint32_t buckets[BUCKETS];
    VS_VEC(struct row) rows;      /* of the step that runs */
    VS_VEC(uint32_t) micro_steps; /* shapes of all that were walked, in order */
    VS_VEC(struct vs_step_outcome) steps;
};

/* ---- rows ---- */

static uint64_t cut(struct drive *d, size_t sample) {
    uint64_t tokens = d->trace->lengths.at[sample];
    return tokens > d->longest ? d->longest : tokens;
}

/* A sample joins the last row where rows are packed and it has room. */
static bool add_row(struct drive *d, size_t sample, uint64_t *used) {
    uint64_t tokens = cut(d, sample);
    if (d->run->how.packed && d->rows.count > 0 && *used + tokens <= d->longest) {
        *used += tokens;
        d->rows.at[d->rows.count - 1].samples++;
        return true;
    }
    struct row row = {d->run->how.packed ? d->longest : tokens, sample, 1};
    *used = tokens;
    return vs_vec_push(&d->rows, row);
}

static bool make_rows(struct drive *d, const struct vs_step *step) {
    uint64_t used = 0;
    d->rows.count = 0;
    for (size_t i = 0; i < step->count; i++)
        if (!add_row(d, step->first + i, &used))
            return false;
    return true;
}

/* ---- shapes ---- */

static bool find_shape(struct drive *d, uint64_t seq, uint64_t batch, bool last, uint32_t *found) {
    uint32_t *link = &d->buckets[(seq * 31 + batch * 2 + last) % BUCKETS];
    for (uint32_t i = *link; i > 0; i = d->shapes.at[i - 1].next) {
        const struct shape *s = &d->shapes.at[i - 1];
        *found = i - 1;
        if (s->seq == seq && s->batch == batch && s->last == last)
            return true;
    }
    struct shape made = {.seq = seq, .batch = batch, .last = last, .next = *link};
    if (!vs_vec_push(&d->shapes, made))
        return false;
    *link = (uint32_t)d->shapes.count;
    *found = *link - 1;
    return true;
}

static void set_count(struct vs_case *c, enum vs_axis axis, uint64_t n) {
    c->axes.at[axis].count = (int64_t)n;
    c->axes.at[axis].number = (double)n;
}

/* Writes the micro-step of a shape, unless it is there. Its buffers take the place of those of the
 * shape before, all of which were given back. */
static bool emit(struct drive *d, uint32_t shape, struct vs_err *err) {
    struct vs_plan *plan = &d->s->plan;
    const struct shape *s = &d->shapes.at[shape];
    if (d->emitted == shape + 1)
        return true;
    struct vs_arena *arena = plan->arena;
    const struct vs_case *c = plan->c;
    vs_arena_reset(&d->scratch);
    set_count(&d->c, VS_AXIS_SEQ, s->seq);
    set_count(&d->c, VS_AXIS_MICRO_BATCH, s->batch);
    plan->buffers.count = d->buffers;
    plan->arena = &d->scratch;
    plan->c = &d->c;
    bool ok = s->last ? vs_emit_micro_step(plan, &d->micro, err)
                      : vs_emit_early_micro_step(plan, &d->micro, err);
    plan->arena = arena;
    plan->c = c;
    d->emitted = ok ? shape + 1 : 0;
    return ok;
}

/* Page-locked buffers of checkpoints outlive their micro-step, for the host's allocator keeps them;
 * those of another length are others, so that they go back here. */
static void release_rest(struct drive *d) {
    struct vs_executor *x = &d->s->x;
    const struct vs_plan *plan = &d->s->plan;
    for (size_t id = d->buffers; id < plan->buffers.count && id < x->held.count; id++) {
        vs_pool_release_block(x->pools[plan->buffers.at[id].home], x->held.at[id]);
        x->held.at[id] = 0;
    }
}

/* ---- walks ---- */

static bool time_now(struct drive *d, const struct vs_phase *phase, double *sum,
                     struct vs_err *err) {
    struct vs_executor *x = &d->s->x;
    double seconds;
    vs_op_id until = x->out_of_memory ? x->oom_index : VS_NO_OP;
    if (!d->direct)
        return true;
    if (!vs_time_phase(x, phase, until, x->out_of_memory ? 0 : 1, &seconds, err))
        return false;
    *sum += seconds;
    return true;
}

static size_t longest_sample(struct drive *d, const struct row *rows, size_t count) {
    size_t longest = rows[0].first;
    for (size_t r = 0; r < count; r++)
        for (size_t i = 0; i < rows[r].samples; i++)
            if (cut(d, rows[r].first + i) > cut(d, longest))
                longest = rows[r].first + i;
    return longest;
}

static void note_oom(struct drive *d, const struct vs_step *step, uint64_t micro_step,
                     const struct row *rows, size_t count) {
    size_t sample = longest_sample(d, rows, count);
    d->out->oom_step = step->number;
    d->out->oom_micro_step = micro_step;
    d->out->oom_sample = micro_step > 0 ? sample - step->first + 1 : 0;
    d->out->oom_tokens = micro_step > 0 ? cut(d, sample) : 0;
}

static bool walk_micro_step(struct drive *d, const struct row *rows, size_t count, bool last,
                            struct vs_step_outcome *out, struct vs_err *err) {
    uint64_t seq = 0;
    uint32_t shape;
    for (size_t i = 0; i < count; i++)
        seq = rows[i].tokens > seq ? rows[i].tokens : seq;
    last = last || !vs_has_early_micro_steps(&d->s->plan);
    if (!find_shape(d, seq, count, last, &shape) || !vs_vec_push(&d->micro_steps, shape))
        return vs_err_nomem(err);
    if (!emit(d, shape, err) || !vs_walk(&d->s->x, &d->micro, d->s->options->stop_at_oom, err) ||
        !time_now(d, &d->micro, &d->micro_s, err))
        return false;
    d->shapes.at[shape].count += !d->s->x.out_of_memory;
    out->computed_tokens += seq * count;
    if (!d->s->x.out_of_memory)
        release_rest(d);
    return true;
}

static void count_samples(struct drive *d, const struct vs_step *step,
                          struct vs_step_outcome *out) {
    out->number = step->number;
    out->samples = step->count;
    for (size_t i = 0; i < step->count; i++) {
        uint64_t tokens = cut(d, step->first + i);
        d->out->cut += tokens < d->trace->lengths.at[step->first + i];
        out->tokens += tokens;
        out->longest = tokens > out->longest ? tokens : out->longest;
    }
}

static bool add_step(struct drive *d, struct vs_step_outcome *out, struct vs_err *err) {
    struct vs_pool *pool = d->s->x.pools[VS_HOME_GPU];
    struct vs_pool_stats stats = vs_pool_stats(pool);
    out->peak_allocated_bytes = stats.peak_allocated_bytes;
    out->reserved_bytes = stats.reserved_bytes;
    out->peak_reserved_bytes = stats.peak_reserved_bytes;
    out->largest_free_bytes = vs_pool_largest_free(pool);
    out->retries = stats.retries;
    out->seconds = d->micro_s + d->update_s;
    d->out->tokens += out->tokens;
    d->out->computed_tokens += out->computed_tokens;
    return vs_vec_push(&d->steps, *out) ? true : vs_err_nomem(err);
}

/* One optimizer step, or the part of it up to a failure. */
static bool walk_step(struct drive *d, const struct vs_step *step, struct vs_err *err) {
    struct vs_step_outcome out = {0};
    struct vs_executor *x = &d->s->x;
    size_t batch = (size_t)vs_count(&d->s->c->axes, VS_AXIS_MICRO_BATCH);
    d->micro_s = d->update_s = 0;
    if (!make_rows(d, step))
        return vs_err_nomem(err);
    count_samples(d, step, &out);
    for (size_t at = 0; at < d->rows.count; at += batch) {
        size_t count = d->rows.count - at < batch ? d->rows.count - at : batch;
        bool last = at + count == d->rows.count;
        out.micro_steps++;
        if (!walk_micro_step(d, d->rows.at + at, count, last, &out, err))
            return false;
        if (x->out_of_memory) {
            note_oom(d, step, out.micro_steps, d->rows.at + at, count);
            return true;
        }
    }
    if (!vs_walk(x, &d->update, d->s->options->stop_at_oom, err) ||
        !time_now(d, &d->update, &d->update_s, err))
        return false;
    if (x->out_of_memory) {
        note_oom(d, step, 0, d->rows.at, d->rows.count);
        return true;
    }
    return add_step(d, &out, err);
}

/* ---- times ---- */

static bool time_shapes(struct drive *d, struct vs_err *err) {
    for (size_t i = 0; i < d->shapes.count; i++) {
        struct shape *shape = &d->shapes.at[i];
        if (shape->count == 0)
            continue;
        vs_forget_walk(&d->s->x);
        if (!emit(d, (uint32_t)i, err) ||
            !vs_time_phase(&d->s->x, &d->micro, VS_NO_OP, shape->count, &shape->seconds, err))
            return false;
    }
    vs_forget_walk(&d->s->x);
    return d->steps.count == 0 ||
           vs_time_phase(&d->s->x, &d->update, VS_NO_OP, (double)d->steps.count, &d->update_s, err);
}

/* What ran of the step that failed, up to the operation that asked. */
static bool time_rest(struct drive *d, size_t micro_step, double *seconds, struct vs_err *err) {
    struct vs_executor *x = &d->s->x;
    size_t left = d->micro_steps.count - micro_step;
    bool in_update = x->oom_phase == d->update.name;
    double part_s;
    *seconds = 0;
    for (size_t i = 0; i + !in_update < left; i++)
        *seconds += d->shapes.at[d->micro_steps.at[micro_step + i]].seconds;
    vs_forget_walk(x);
    if (!in_update && !emit(d, d->micro_steps.at[d->micro_steps.count - 1], err))
        return false;
    if (!vs_time_phase(x, in_update ? &d->update : &d->micro, x->oom_index, 0, &part_s, err))
        return false;
    *seconds += part_s;
    return true;
}

/* Times of steps from those of their shapes. */
static bool add_up(struct drive *d, double load_s, struct vs_err *err) {
    size_t micro_step = 0;
    double now_s = 0, rest_s = d->micro_s + d->update_s;
    for (size_t i = 0; i < d->steps.count; i++) {
        struct vs_step_outcome *step = &d->steps.at[i];
        double seconds = d->update_s;
        for (uint64_t k = 0; k < step->micro_steps; k++)
            seconds += d->shapes.at[d->micro_steps.at[micro_step++]].seconds;
        step->start_s = now_s;
        step->seconds = d->direct ? step->seconds : seconds;
        now_s += step->seconds;
    }
    d->out->seconds = now_s;
    if (!d->s->x.out_of_memory)
        return true;
    if (!d->direct && !time_rest(d, micro_step, &rest_s, err))
        return false;
    d->s->x.time_s = load_s + now_s + rest_s;
    return true;
}

static void report_speed(struct drive *d) {
    struct vs_simulation *s = d->s;
    if (s->x.out_of_memory || d->out->seconds <= 0)
        return;
    s->out->metrics[VS_METRIC_STEP_TIME_S] = d->out->seconds / (double)d->steps.count;
    vs_report_training(s, (double)d->out->tokens, d->out->seconds);
}

/* ---- driver ---- */

static void set_limit(struct drive *d) {
    const struct vs_case *c = d->s->c;
    uint64_t rows = c->model->learned_positions;
    bool given = c->axes.origin[VS_AXIS_SEQ] > VS_FROM_ENGINE;
    d->longest = given || d->run->how.packed ? vs_train_seq(c) : UINT64_MAX;
    if (rows > 0 && d->longest > rows)
        d->longest = rows;
    d->out->limit = d->longest < UINT64_MAX;
}

static bool collect(struct drive *d, struct vs_err *err) {
    struct vs_pool_stats stats = vs_pool_stats(d->s->x.pools[VS_HOME_GPU]);
    struct vs_arena *arena = d->s->plan.arena;
    size_t n = d->steps.count;
    struct vs_step_outcome *steps = VS_NEW_ARRAY(arena, struct vs_step_outcome, n + 1);
    if (!steps)
        return vs_err_nomem(err);
    if (n > 0)
        memcpy(steps, d->steps.at, n * sizeof *steps);
    d->out->steps = steps;
    d->out->step_count = n;
    d->out->memory = (struct vs_step_memory){
        .expandable = vs_is(&d->s->c->axes, VS_AXIS_EXPANDABLE_SEGMENTS, "on") ? "on" : "off",
        .fits = !d->s->x.out_of_memory,
        .steps = n,
        .oom_step = d->out->oom_step,
        .oom_micro_step = d->out->oom_micro_step,
        .peak_allocated_bytes = stats.peak_allocated_bytes,
        .peak_reserved_bytes = stats.peak_reserved_bytes,
        .retries = stats.retries};
    d->s->out->steps = d->out;
    return true;
}

static bool run_steps(struct drive *d, struct vs_err *err) {
    struct vs_simulation *s = d->s;
    double load_s = s->x.time_s;
    if (!vs_emit_optimizer_step(&s->plan, &d->update, err))
        return false;
    d->buffers = s->plan.buffers.count;
    vs_clear_sums(&s->x);
    for (size_t i = 0; i < d->out->trace_steps && !s->x.out_of_memory; i++)
        if (!walk_step(d, &d->trace->steps.at[i], err))
            return false;
    if (s->options->capacity_only)
        return collect(d, err);
    if ((!d->direct && !time_shapes(d, err)) || !add_up(d, load_s, err))
        return false;
    report_speed(d);
    return collect(d, err);
}

bool vs_drive_steps(struct vs_simulation *s, struct vs_err *err) {
    const struct vs_step_run *run = s->options->steps;
    struct drive d = {.s = s, .run = run, .trace = run->trace, .c = *s->c};
    d.out = VS_NEW(s->plan.arena, struct vs_step_replay);
    if (!d.out)
        return vs_err_nomem(err);
    uint64_t all = run->trace->steps.count, asked = run->how.steps;
    *d.out = (struct vs_step_replay){.form = run->trace->form,
                                     .packed = run->how.packed,
                                     .trace_steps = asked > 0 && asked < all ? asked : all,
                                     .skipped = run->trace->skipped};
    d.direct = !s->options->capacity_only &&
               (s->options->timeline || (s->plan.optimizer.paged && !s->plan.optimizer_on_cpu));
    set_limit(&d);
    bool ok = s->x.out_of_memory ? collect(&d, err) : run_steps(&d, err);
    vs_phase_release(&d.micro);
    vs_phase_release(&d.update);
    vs_arena_release(&d.scratch);
    vs_vec_release(&d.shapes);
    vs_vec_release(&d.rows);
    vs_vec_release(&d.micro_steps);
    vs_vec_release(&d.steps);
    return ok;
}

/* ---- the run, and the one beside it ---- */

/* The same steps with the other setting of expandable segments, without the clock. */
static bool run_other(struct vs_arena *arena, const struct vs_case *c,
                      const struct vs_step_run *run, struct vs_step_replay *out,
                      struct vs_err *err) {
    struct vs_run_options options = {.capacity_only = true, .steps = run};
    struct vs_case *with = VS_NEW(arena, struct vs_case);
    const struct vs_outcome *outcome;
    const char *word = vs_is(&c->axes, VS_AXIS_EXPANDABLE_SEGMENTS, "on") ? "off" : "on";
    if (!with)
        return vs_err_nomem(err);
    *with = *c;
    if (!vs_axis_parse(arena, VS_AXIS_EXPANDABLE_SEGMENTS, word, "--expandable-segments",
                       &with->axes.at[VS_AXIS_EXPANDABLE_SEGMENTS], err) ||
        !vs_point_run(arena, with, &options, &outcome, err))
        return false;
    out->other = &outcome->steps->memory;
    return true;
}

static bool run_case(struct vs_arena *arena, const struct vs_case *c, const struct vs_step_run *run,
                     const struct vs_run_options *asked, const struct vs_outcome **outcome,
                     struct vs_err *err) {
    struct vs_run_options options = *asked;
    options.steps = run;
    if (!vs_point_run(arena, c, &options, outcome, err))
        return false;
    struct vs_step_replay *out = VS_NEW(arena, struct vs_step_replay);
    struct vs_outcome *with = VS_NEW(arena, struct vs_outcome);
    if (!out || !with)
        return vs_err_nomem(err);
    *out = *(*outcome)->steps;
    *with = **outcome;
    with->steps = out;
    *outcome = with;
    bool caching = vs_streq(vs_engine_rule(c->engine, "allocator", "bump"), "caching");
    return !caching || run_other(arena, c, run, out, err);
}

bool vs_replay_steps(struct vs_arena *arena, const struct vs_request *request,
                     const struct vs_step_trace *trace, const struct vs_step_options *how,
                     const struct vs_run_options *options, const struct vs_outcome **outcome,
                     struct vs_err *err) {
    struct vs_step_trace drawn = {.form = NULL};
    struct vs_step_run run = {.trace = trace, .how = *how};
    struct vs_case *c = VS_NEW(arena, struct vs_case);
    struct vs_catalog *catalog = vs_catalog_in(arena);
    if (!catalog || !c)
        return vs_err_nomem(err);
    if (!vs_request_resolve(catalog, request, c, err))
        return false;
    if (c->task != VS_TASK_TRAIN)
        return vs_err_set(err, VS_ERR_INPUT, "--task %s has no use for a trace of training steps",
                          c->axes.at[VS_AXIS_TASK].text);
    static const enum vs_axis DEALT[] = {VS_AXIS_PP, VS_AXIS_CP};
    for (size_t i = 0; i < sizeof DEALT / sizeof *DEALT; i++)
        if (vs_count(&c->axes, DEALT[i]) > 1)
            return vs_err_set(err, VS_ERR_INPUT,
                              "--%s %lld: a trace of training steps has micro-steps of any length, "
                              "one after the other; expected 1",
                              vs_axis_info(DEALT[i])->name,
                              (long long)vs_count(&c->axes, DEALT[i]));
    bool ok = true;
    if (vs_step_trace_is_histogram(trace)) {
        uint64_t samples =
            (uint64_t)(vs_count(&c->axes, VS_AXIS_MICRO_BATCH) * vs_count(&c->axes, VS_AXIS_ACCUM));
        ok = vs_step_trace_draw(trace, how->seed, how->steps > 0 ? how->steps : DRAWN_STEPS,
                                samples, &drawn) ||
             vs_err_nomem(err);
        run.trace = &drawn;
    }
    ok = ok && run_case(arena, c, &run, options, outcome, err);
    vs_step_trace_release(&drawn);
    return ok;
}
