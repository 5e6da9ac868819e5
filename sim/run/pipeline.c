/* Drives pipelined training. Each stage is a device of its own, with the memory that it needs: its
 * steps are walked in its own order, since no other stage touches its pool. For time, forward and
 * backward of each chunk are run once as phases; then all steps of all stages, and what they send
 * each other, run as activities that take so long: idle time is what dependencies leave. */
#include "plan/pipeline.h"

#include <stdlib.h>

#include "run/simulate.h"

struct pipeline {
    struct vs_simulation *s;
    const struct vs_parallel *p;
    uint32_t micro, steps;
    uint32_t slots[VS_DEVICES_PLANNED]; /* by stage: micro-batches of a chunk under way at once */
    uint32_t chunk_count;               /* of the whole pipeline */
    struct vs_chunk *chunks;
    struct vs_pipeline_step **order; /* by stage */
    uint32_t timed, timed_steps;     /* micro-batches that are scheduled, and their steps */
    struct vs_pipeline_step **timed_order;
    struct vs_phase update;
    double *forward_s, *backward_s, *last_s; /* by chunk */
    vs_activity *forward_at, *backward_at;   /* by chunk and micro-batch: the step itself */
    vs_activity *forward_to, *backward_to;   /* what the next stage waits for */
    uint32_t oom_stage, oom_step;            /* the step that asked for too much */
};

static uint32_t chunk_of(const struct pipeline *l, uint32_t stage,
                         const struct vs_pipeline_step *step) {
    return step->chunk * l->p->stages + stage;
}

/* Micro-batches that are scheduled one by one: all, or those of so many rounds. */
static uint32_t timed_of(const struct pipeline *l) {
    enum { ROUNDS = 16 };
    uint32_t most = ROUNDS * l->p->stages;
    return l->micro < most ? l->micro : most;
}

static uint32_t like(const struct pipeline *l, uint32_t stage) {
    return (uint32_t)l->s->x.units[stage].like;
}

/* Stages that do the same as an earlier one are not walked and not timed again. */
static void find_like_stages(struct pipeline *l) {
    for (uint32_t stage = 0; stage < l->p->stages; stage++)
        for (uint32_t before = 0; before < stage; before++)
            if (like(l, before) == before && vs_is_like_stage(&l->s->plan, stage, before)) {
                l->s->x.units[stage].like = before;
                break;
            }
}

/* ---- memory ---- */

static const struct vs_phase *phase_of(const struct pipeline *l, uint32_t stage,
                                       const struct vs_pipeline_step *step) {
    const struct vs_chunk *chunk = &l->chunks[chunk_of(l, stage, step)];
    return step->forward ? &chunk->forward : &chunk->backward;
}

/* Micro-batches of one chunk that are under way at once on a stage; by whole rounds where they come
 * in rounds. */
static uint32_t slots_of(const struct pipeline *l, uint32_t stage) {
    uint32_t most = 0;
    for (uint32_t chunk = 0; chunk < l->p->chunks; chunk++) {
        uint32_t now = 0;
        for (uint32_t i = 0; i < l->steps; i++) {
            const struct vs_pipeline_step *step = &l->order[stage][i];
            if (step->chunk != chunk)
                continue;
            now = step->forward ? now + 1 : now - 1;
            most = now > most ? now : most;
        }
    }
    uint32_t round = l->p->chunks > 1 ? l->p->stages : 1;
    return (most + round - 1) / round * round;
}

/* One forward, one backward: where a period of them leaves the pool as it was, the others do too.
 */
static uint32_t skip_periods(const struct pipeline *l, uint32_t stage, uint32_t i,
                             uint64_t *before) {
    uint32_t warm = vs_pipeline_warmup(l->p, stage, l->micro), steady = l->steps - warm;
    uint32_t period = 2 * l->slots[stage] * l->p->chunks;
    if (i < warm || (i - warm) % period != 0 || i + period > steady)
        return 0;
    uint64_t now = vs_pool_state(l->s->x.pools[VS_HOME_GPU + stage]);
    bool settled = now == *before;
    *before = now;
    return settled ? (steady - i) / period * period : 0;
}

static bool walk_stage(struct pipeline *l, uint32_t stage, struct vs_err *err) {
    struct vs_simulation *s = l->s;
    uint64_t before = 0;
    for (uint32_t i = 0; i < l->steps && !vs_is_over(s); i++) {
        i += skip_periods(l, stage, i, &before);
        if (i == l->steps)
            break;
        const struct vs_pipeline_step *step = &l->order[stage][i];
        bool fitted = !s->x.out_of_memory;
        s->x.slot = step->micro % l->slots[stage];
        if (!vs_walk(&s->x, phase_of(l, stage, step), s->options->stop_at_oom, err))
            return false;
        if (fitted && s->x.out_of_memory) {
            l->oom_stage = stage;
            l->oom_step = i;
        }
    }
    s->x.slot = 0;
    return true;
}

static bool walk_step(void *of, struct vs_err *err) {
    struct pipeline *l = of;
    for (uint32_t stage = 0; stage < l->p->stages && !vs_is_over(l->s); stage++)
        if (like(l, stage) == stage && !walk_stage(l, stage, err))
            return false;
    return vs_is_over(l->s) || vs_walk(&l->s->x, &l->update, l->s->options->stop_at_oom, err);
}

/* ---- time ---- */

static bool time_chunks(struct pipeline *l, struct vs_err *err) {
    struct vs_executor *x = &l->s->x;
    struct vs_arena *record = x->record;
    double from_s = x->time_s;
    x->record = NULL; /* what a timeline shows are the steps */
    for (uint32_t n = 0; n < l->chunk_count; n++) {
        const struct vs_chunk *c = &l->chunks[n];
        uint32_t stage = n % l->p->stages, same = n - stage + like(l, stage);
        bool apart = c->last.ops.count > 0;
        if (same != n) {
            l->forward_s[n] = l->forward_s[same];
            l->backward_s[n] = l->backward_s[same];
            l->last_s[n] = l->last_s[same];
            continue;
        }
        double launch_s = x->launch_s;
        if (!vs_time_phase(x, &c->forward, VS_NO_OP, l->micro, &l->forward_s[n], err) ||
            !vs_time_phase(x, &c->backward, VS_NO_OP, l->micro - apart, &l->backward_s[n], err))
            return false;
        l->last_s[n] = l->backward_s[n];
        if (apart && !vs_time_phase(x, &c->last, VS_NO_OP, 1, &l->last_s[n], err))
            return false;
        if (stage > 0)
            x->launch_s =
                launch_s; /* each stage has a host thread of its own: the first's is told */
    }
    x->record = record;
    x->time_s = from_s;
    return true;
}

/* Has what this step needs from another stage been added? If so, `*after` is it, or VS_NONE. */
static bool is_ready(const struct pipeline *l, uint32_t stage, const struct vs_pipeline_step *step,
                     vs_activity *after) {
    uint32_t chunk = chunk_of(l, stage, step);
    *after = VS_NONE;
    if (step->forward ? chunk == 0 : chunk + 1 == l->chunk_count)
        return true;
    *after = step->forward ? l->forward_to[(chunk - 1) * l->timed + step->micro]
                           : l->backward_to[(chunk + 1) * l->timed + step->micro];
    return *after != VS_NONE;
}

static bool add_step(struct pipeline *l, uint32_t stage, const struct vs_pipeline_step *step,
                     vs_activity after) {
    uint32_t chunk = chunk_of(l, stage, step), at = chunk * l->timed + step->micro;
    bool is_last = step->micro + 1 == l->timed;
    double seconds = step->forward ? l->forward_s[chunk]
                     : is_last     ? l->last_s[chunk]
                                   : l->backward_s[chunk];
    struct vs_op send = vs_pipeline_send(&l->s->plan);
    send.device = (uint8_t)stage;
    vs_activity own = vs_add_timed(&l->s->x, stage, seconds, after), sent = own;
    bool ends = step->forward ? chunk + 1 == l->chunk_count : chunk == 0;
    if (own != VS_NONE && !ends)
        sent = vs_add_operation(&l->s->x, &send, own);
    (step->forward ? l->forward_at : l->backward_at)[at] = own;
    (step->forward ? l->forward_to : l->backward_to)[at] = sent;
    return own != VS_NONE && sent != VS_NONE;
}

/* Activities may only wait for earlier ones: stages take turns, each as far as it can. */
static bool add_steps(struct pipeline *l, struct vs_err *err) {
    uint32_t next[VS_DEVICES_PLANNED] = {0};
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t stage = 0; stage < l->p->stages; stage++) {
            vs_activity after;
            while (next[stage] < l->timed_steps &&
                   is_ready(l, stage, &l->timed_order[stage][next[stage]], &after)) {
                if (!add_step(l, stage, &l->timed_order[stage][next[stage]], after))
                    return vs_err_nomem(err);
                next[stage]++;
                moved = true;
            }
        }
    }
    return true;
}

static double seconds_of(vs_time t) { return (double)t / (double)VS_TIME_PER_S; }

static bool record_steps(struct pipeline *l, struct vs_err *err) {
    struct vs_executor *x = &l->s->x;
    for (uint32_t stage = 0; x->record && stage < l->p->stages; stage++)
        for (uint32_t i = 0; i < l->timed_steps; i++) {
            const struct vs_pipeline_step *step = &l->timed_order[stage][i];
            uint32_t at = chunk_of(l, stage, step) * l->timed + step->micro;
            vs_activity a = (step->forward ? l->forward_at : l->backward_at)[at];
            const char *kind = step->forward ? "forward" : "backward";
            const char *what = vs_arena_printf(x->record, "%s of micro-batch %u, chunk %u", kind,
                                               step->micro, chunk_of(l, stage, step));
            if (!what || !vs_record_whole(x, stage, kind, what, a))
                return vs_err_nomem(err);
        }
    const struct vs_phase_time all = {"micro-batches", x->time_s,
                                      x->time_s + seconds_of(vs_des_now(x->des)), 1};
    return !x->record || vs_vec_push(&x->phases, all) || vs_err_nomem(err);
}

static bool run_steps(struct pipeline *l, uint32_t micro, double *seconds, struct vs_err *err) {
    struct vs_executor *x = &l->s->x;
    l->timed = micro;
    l->timed_steps = vs_pipeline_steps(l->p, micro);
    for (uint32_t stage = 0; stage < l->p->stages; stage++)
        vs_pipeline_order(l->p, stage, micro, l->timed_order[stage]);
    for (size_t i = 0; i < (size_t)l->chunk_count * micro; i++)
        l->forward_to[i] = l->backward_to[i] = VS_NONE;
    vs_des_reset(x->des);
    x->activity.count = 0;
    if (!add_steps(l, err) || !vs_des_run(x->des, err))
        return false;
    *seconds = seconds_of(vs_des_now(x->des));
    return true;
}

/* From the first forward to the last backward. Of very many micro-batches the first rounds are
 * scheduled: once the pipeline is full each further round takes what the one before it took. */
static bool time_pipeline(struct pipeline *l, double *seconds, struct vs_err *err) {
    uint32_t micro = timed_of(l);
    double shorter_s = 0, rounds = (double)(l->micro - micro) / l->p->stages;
    if (l->micro > micro && !run_steps(l, micro - l->p->stages, &shorter_s, err))
        return false;
    if (!run_steps(l, micro, seconds, err) || !record_steps(l, err))
        return false;
    if (l->micro > micro)
        *seconds += rounds * (*seconds - shorter_s);
    return true;
}

static bool time_step(struct pipeline *l, double *seconds, struct vs_err *err) {
    double pipeline_s, update_s;
    vs_clear_sums(&l->s->x);
    vs_forget_walk(&l->s->x);
    if (!time_chunks(l, err) || !time_pipeline(l, &pipeline_s, err))
        return false;
    l->s->x.time_s += pipeline_s;
    if (!vs_time_phase(&l->s->x, &l->update, VS_NO_OP, 1, &update_s, err))
        return false;
    *seconds = pipeline_s + update_s;
    return true;
}

/* Simulated time of the failure: the start of the step that failed, in the first step's pipeline,
 * and its operations up to the one that asked. */
static bool time_of_oom(struct pipeline *l, struct vs_err *err) {
    struct vs_executor *x = &l->s->x;
    double seconds, start_s;
    vs_forget_walk(x);
    if (!time_chunks(l, err) || !time_pipeline(l, &start_s, err))
        return false;
    const struct vs_phase *phase = &l->update;
    if (x->oom_phase != l->update.name) {
        const struct vs_pipeline_step *step = &l->order[l->oom_stage][l->oom_step];
        uint32_t at = chunk_of(l, l->oom_stage, step) * l->timed + step->micro;
        const vs_activity *started = step->forward ? l->forward_at : l->backward_at;
        if (step->micro < l->timed)
            start_s = seconds_of(vs_des_start(x->des, started[at]));
        phase = phase_of(l, l->oom_stage, step);
    }
    x->time_s += start_s;
    return vs_time_phase(x, phase, x->oom_index, 0, &seconds, err);
}

/* ---- the whole ---- */

static bool make_tables(struct pipeline *l, struct vs_err *err) {
    struct vs_arena *arena = l->s->plan.arena;
    size_t n = (size_t)l->chunk_count * timed_of(l);
    l->chunks = VS_NEW_ARRAY(arena, struct vs_chunk, l->chunk_count);
    l->order = VS_NEW_ARRAY(arena, struct vs_pipeline_step *, l->p->stages);
    l->timed_order = VS_NEW_ARRAY(arena, struct vs_pipeline_step *, l->p->stages);
    double *seconds = VS_NEW_ARRAY(arena, double, 3 * (size_t)l->chunk_count);
    vs_activity *at = VS_NEW_ARRAY(arena, vs_activity, 4 * n);
    if (!l->chunks || !l->order || !l->timed_order || !seconds || !at)
        return vs_err_nomem(err);
    l->forward_s = seconds;
    l->backward_s = seconds + l->chunk_count;
    l->last_s = seconds + 2 * (size_t)l->chunk_count;
    l->forward_at = at;
    l->backward_at = at + n;
    l->forward_to = at + 2 * n;
    l->backward_to = at + 3 * n;
    for (uint32_t stage = 0; stage < l->p->stages; stage++) {
        l->order[stage] = VS_NEW_ARRAY(arena, struct vs_pipeline_step, l->steps);
        if (!l->order[stage])
            return vs_err_nomem(err);
        vs_pipeline_order(l->p, stage, l->micro, l->order[stage]);
        l->timed_order[stage] =
            VS_NEW_ARRAY(arena, struct vs_pipeline_step, vs_pipeline_steps(l->p, timed_of(l)));
        if (!l->timed_order[stage])
            return vs_err_nomem(err);
    }
    return true;
}

/* Buffers that exist before the chunks are written are one for all micro-batches. */
static bool emit(struct pipeline *l, struct vs_err *err) {
    if (!vs_emit_optimizer_step(&l->s->plan, &l->update, err))
        return false;
    vs_buffer_id first = (vs_buffer_id)l->s->plan.buffers.count;
    find_like_stages(l);
    for (uint32_t n = 0; n < l->chunk_count; n++)
        if (like(l, n % l->p->stages) == n % l->p->stages &&
            !vs_emit_chunk(&l->s->plan, n, &l->chunks[n], err))
            return false;
    uint32_t most = 0;
    for (uint32_t stage = 0; stage < l->p->stages; stage++) {
        l->slots[stage] = slots_of(l, stage);
        most = l->slots[stage] > most ? l->slots[stage] : most;
    }
    return vs_executor_slots(&l->s->x, first, most, err);
}

static bool drive(struct pipeline *l, double *seconds, struct vs_err *err) {
    struct vs_simulation *s = l->s;
    if (!make_tables(l, err) || !emit(l, err) || !vs_walk_until_steady(s, walk_step, l, err))
        return false;
    if (s->options->capacity_only)
        return true;
    if (s->x.out_of_memory)
        return vs_streq(s->x.oom_phase, "load") || time_of_oom(l, err);
    return time_step(l, seconds, err);
}

bool vs_drive_pipeline(struct vs_simulation *s, double *seconds, struct vs_err *err) {
    struct pipeline l = {.s = s, .p = &s->plan.parallel};
    l.micro = (uint32_t)vs_count(&s->c->axes, VS_AXIS_ACCUM);
    l.steps = vs_pipeline_steps(l.p, l.micro);
    l.chunk_count = l.p->stages * l.p->chunks;
    *seconds = 0;
    bool ok = drive(&l, seconds, err);
    for (uint32_t n = 0; l.chunks && n < l.chunk_count; n++)
        vs_chunk_release(&l.chunks[n]);
    vs_phase_release(&l.update);
    return ok;
}
