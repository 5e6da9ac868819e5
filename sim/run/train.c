/* Drives training: load, then optimizer steps until a step ends in the state in which it began. */
#include "run/simulate.h"

#include "plan/train.h"

/* States appear in the first optimizer step, the allocator's cache settles in the second or third.
 */
enum { STEPS_MAX = 4 };

struct step {
    struct vs_phase first, next, make_states, update;
    bool made;
};

static bool emit(struct vs_simulation *s, struct step *step, struct vs_err *err) {
    return vs_emit_micro_step(&s->plan, true, &step->first, err) &&
           vs_emit_micro_step(&s->plan, false, &step->next, err) &&
           vs_emit_optimizer_step(&s->plan, true, &step->make_states, err) &&
           vs_emit_optimizer_step(&s->plan, false, &step->update, err);
}

static void release(struct step *step) {
    vs_phase_release(&step->first);
    vs_phase_release(&step->next);
    vs_phase_release(&step->make_states);
    vs_phase_release(&step->update);
}

static bool stops(const struct vs_simulation *s) { return s->options->stop_at_oom; }

/* Micro-steps behind the first, until one changes nothing any more: the others are equal to it. */
static bool walk_accumulation(struct vs_simulation *s, const struct vs_phase *next,
                              struct vs_err *err) {
    int64_t rest = vs_count(&s->c->axes, VS_AXIS_ACCUM) - 1;
    uint64_t before = vs_executor_state(&s->x);
    for (int64_t i = 0; i < rest && !vs_is_over(s); i++) {
        if (!vs_walk(&s->x, next, stops(s), err))
            return false;
        uint64_t after = vs_executor_state(&s->x);
        if (after == before)
            break;
        before = after;
    }
    return true;
}

static bool walk_step(struct vs_simulation *s, struct step *step, struct vs_err *err) {
    if (!vs_walk(&s->x, &step->first, stops(s), err))
        return false;
    if (!vs_is_over(s) && !walk_accumulation(s, &step->next, err))
        return false;
    if (!vs_is_over(s) &&
        !vs_walk(&s->x, step->made ? &step->update : &step->make_states, stops(s), err))
        return false;
    step->made = true;
    return true;
}

/* One more step, each phase walked (pages may move) and then timed. */
static bool time_step(struct vs_simulation *s, struct step *step, double *seconds,
                      struct vs_err *err) {
    double accum = (double)vs_count(&s->c->axes, VS_AXIS_ACCUM), part;
    vs_clear_sums(&s->x);
    if (!vs_walk(&s->x, &step->first, false, err) ||
        !vs_time_phase(&s->x, &step->first, VS_NO_OP, 1, seconds, err))
        return false;
    if (accum > 1) {
        if (!vs_walk(&s->x, &step->next, false, err) ||
            !vs_time_phase(&s->x, &step->next, VS_NO_OP, accum - 1, &part, err))
            return false;
        *seconds += part * (accum - 1);
    }
    if (!vs_walk(&s->x, &step->update, false, err) ||
        !vs_time_phase(&s->x, &step->update, VS_NO_OP, 1, &part, err))
        return false;
    *seconds += part;
    return true;
}

/* Simulated time of the failure: the phases before it, then the operation that asked. */
static bool time_of_oom(struct vs_simulation *s, struct step *step, double load_s,
                        struct vs_err *err) {
    const struct vs_phase *phases[] = {&step->first, &step->next, &step->make_states};
    double part;
    s->x.time_s = load_s;
    for (size_t i = 0; i < 3; i++) {
        bool here = phases[i]->name == s->x.oom_phase;
        s->x.moved.count = 0;
        if (!vs_time_phase(&s->x, phases[i], here ? s->x.oom_index : VS_NO_OP, 0, &part, err))
            return false;
        if (here)
            break;
        if (i == 1)
            s->x.time_s += part * (double)(vs_count(&s->c->axes, VS_AXIS_ACCUM) - 2);
    }
    return true;
}

static void report_speed(struct vs_simulation *s, double seconds) {
    const struct vs_values *axes = &s->c->axes;
    double tokens = (double)vs_count(axes, VS_AXIS_SEQ) *
                    (double)vs_count(axes, VS_AXIS_MICRO_BATCH) *
                    (double)vs_count(axes, VS_AXIS_ACCUM);
    s->out->metrics[VS_METRIC_STEP_TIME_S] = seconds;
    s->out->metrics[VS_METRIC_TRAIN_TPS] = tokens / seconds;
    s->out->metrics[VS_METRIC_MFU] = 6 * (double)s->c->model->params_active * tokens / seconds /
                                     s->x.rates.capacity[VS_PART_COMPUTE];
    s->main_s = seconds;
}

static bool drive(struct vs_simulation *s, struct step *step, struct vs_err *err) {
    double load_s = s->x.time_s, seconds;
    if (!emit(s, step, err))
        return false;
    uint64_t before = vs_executor_state(&s->x);
    for (int i = 0; i < STEPS_MAX && !vs_is_over(s); i++) {
        if (!walk_step(s, step, err))
            return false;
        uint64_t after = vs_executor_state(&s->x);
        if (after == before || (i > 0 && s->x.out_of_memory))
            break;
        before = after;
    }
    if (s->options->capacity_only)
        return true;
    if (s->x.out_of_memory)
        return vs_streq(s->x.oom_phase, "load") || time_of_oom(s, step, load_s, err);
    if (!time_step(s, step, &seconds, err))
        return false;
    report_speed(s, seconds);
    return true;
}

bool vs_drive_train(struct vs_simulation *s, struct vs_err *err) {
    struct step step = {0};
    bool ok = vs_plan_train_buffers(&s->plan, err) && drive(s, &step, err);
    release(&step);
    return ok;
}
