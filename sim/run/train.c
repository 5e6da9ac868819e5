/* Drives training: load, then optimizer steps until a step ends in the state in which it began. */
#include "plan/train.h"

#include "run/simulate.h"

struct step {
    struct vs_simulation *s;
    struct vs_phase micro, update;
    struct vs_phase last; /* the micro-step that sums gradients over the ranks; empty where each
                             does */
};

static int64_t accumulation(const struct vs_simulation *s) {
    return vs_count(&s->c->axes, VS_AXIS_ACCUM);
}

/* Micro-steps, until one changes nothing any more: the others are equal to it. */
static bool walk_micro_steps(struct vs_simulation *s, const struct vs_phase *micro,
                             struct vs_err *err) {
    uint64_t before = 0;
    for (int64_t i = 0; i < accumulation(s) && !vs_is_over(s); i++) {
        if (!vs_walk(&s->x, micro, s->options->stop_at_oom, err))
            return false;
        uint64_t after = vs_executor_state(&s->x);
        if (i > 0 && after == before)
            break;
        before = after;
    }
    return true;
}

bool vs_walk_until_steady(struct vs_simulation *s, bool (*walk_step)(void *of, struct vs_err *err),
                          void *of, struct vs_err *err) {
    enum {
        STEPS_MOST = 4
    }; /* states appear in the first, the allocator's cache settles in the
          second or third */
    uint64_t before = vs_executor_state(&s->x);
    for (int i = 0; i < STEPS_MOST && !vs_is_over(s); i++) {
        if (!walk_step(of, err))
            return false;
        uint64_t after = vs_executor_state(&s->x);
        if (after == before || (i > 0 && s->x.out_of_memory))
            break;
        before = after;
    }
    return true;
}

static bool walk_step(void *of, struct vs_err *err) {
    struct step *step = of;
    struct vs_simulation *s = step->s;
    return walk_micro_steps(s, &step->micro, err) &&
           (vs_is_over(s) || vs_walk(&s->x, &step->update, s->options->stop_at_oom, err));
}

/* The time of a settled step. Pages that move are found by walking each phase just before it is
 * timed; without managed memory the walks so far have said all. */
static bool time_step(struct vs_simulation *s, struct step *step, double *seconds,
                      struct vs_err *err) {
    double micro_s, update_s, accum = (double)accumulation(s), last_s = 0;
    bool apart = step->last.ops.count > 0;
    vs_clear_sums(&s->x);
    if ((s->x.pages && !vs_walk(&s->x, &step->micro, false, err)) ||
        !vs_time_phase(&s->x, &step->micro, VS_NO_OP, accum - apart, &micro_s, err) ||
        (apart && !vs_time_phase(&s->x, &step->last, VS_NO_OP, 1, &last_s, err)) ||
        (s->x.pages && !vs_walk(&s->x, &step->update, false, err)) ||
        !vs_time_phase(&s->x, &step->update, VS_NO_OP, 1, &update_s, err))
        return false;
    *seconds = micro_s * (accum - apart) + last_s + update_s;
    return true;
}

/* Simulated time of the failure: what ran before it, then the operations up to the one that asked.
 * A failure behind the first step is placed in its first repetition. */
static bool time_of_oom(struct vs_simulation *s, struct step *step, struct vs_err *err) {
    double seconds, load_s = s->x.time_s;
    bool in_update = s->x.oom_phase == step->update.name;
    s->x.moved.count = 0;
    if (!vs_time_phase(&s->x, &step->micro, in_update ? VS_NO_OP : s->x.oom_index, 0, &seconds,
                       err))
        return false;
    if (!in_update)
        return true;
    s->x.time_s = load_s + seconds * (double)accumulation(s);
    return vs_time_phase(&s->x, &step->update, s->x.oom_index, 0, &seconds, err);
}

void vs_report_training(struct vs_simulation *s, double tokens, double seconds) {
    double devices = (double)s->c->machine->device_count;
    double speed = vs_train_copies(s->c->machine, &s->c->axes) * tokens / seconds;
    s->out->metrics[VS_METRIC_TRAIN_TPS] = speed;
    s->out->metrics[VS_METRIC_MFU] = 6 * (double)s->c->model->params_active * speed / devices /
                                     s->x.units[0].rates.capacity[VS_PART_COMPUTE];
    s->main_s = seconds;
}

static void report_speed(struct vs_simulation *s, double seconds) {
    const struct vs_values *axes = &s->c->axes;
    double tokens = (double)vs_train_seq(s->c) * (double)vs_count(axes, VS_AXIS_MICRO_BATCH) *
                    (double)accumulation(s);
    s->out->metrics[VS_METRIC_STEP_TIME_S] = seconds;
    vs_report_training(s, tokens, seconds);
}

static bool emit_micro_steps(struct vs_simulation *s, struct step *step, struct vs_err *err) {
    if (accumulation(s) < 2 || !vs_has_early_micro_steps(&s->plan))
        return vs_emit_micro_step(&s->plan, &step->micro, err);
    return vs_emit_early_micro_step(&s->plan, &step->micro, err) &&
           vs_emit_micro_step(&s->plan, &step->last, err);
}

static bool drive(struct vs_simulation *s, struct step *step, struct vs_err *err) {
    double seconds;
    if (vs_is_pipelined(&s->plan.parallel)) {
        bool ok = vs_drive_pipeline(s, &seconds, err);
        if (ok && seconds > 0)
            report_speed(s, seconds);
        return ok;
    }
    if (!emit_micro_steps(s, step, err) || !vs_emit_optimizer_step(&s->plan, &step->update, err) ||
        !vs_walk_until_steady(s, walk_step, step, err))
        return false;
    if (s->options->capacity_only)
        return true;
    if (s->x.out_of_memory)
        return vs_streq(s->x.oom_phase, "load") || time_of_oom(s, step, err);
    if (!time_step(s, step, &seconds, err))
        return false;
    report_speed(s, seconds);
    return true;
}

bool vs_drive_train(struct vs_simulation *s, struct vs_err *err) {
    struct step step = {.s = s};
    bool ok = drive(s, &step, err);
    vs_phase_release(&step.micro);
    vs_phase_release(&step.update);
    vs_phase_release(&step.last);
    return ok;
}
