#include "run/simulate.h"

#include <math.h>

#include "plan/digest.h"
#include "plan/load.h"
#include "strategy/strategy.h"

bool vs_is_over(const struct vs_simulation *s) {
    return s->options->stop_at_oom && s->x.out_of_memory;
}

struct vs_load_needs vs_load_needs_of(const struct vs_case *c) {
    struct vs_load_needs needs = {0};
    if (c->machine->device_count == 0)
        return needs;
    const struct vs_arch *arch = &c->machine->devices[0]->arch;
    const char *rule = vs_engine_rule(c->engine, "context", "none");
    if (vs_streq(rule, "torch")) {
        needs.context_bytes = (uint64_t)vs_num_or(arch->context_torch_bytes, 0);
        needs.workspace_bytes = (uint64_t)vs_num_or(arch->blas_workspace_bytes, 0);
        needs.communicator_bytes =
            (uint64_t)vs_engine_number(c->engine, "communicator_bytes", NULL, 0);
    } else if (vs_streq(rule, "plain")) {
        needs.context_bytes = (uint64_t)vs_engine_number(c->engine, "context_bytes", arch->name,
                                                         vs_num_or(arch->context_bytes, 0));
    } else if (vs_streq(rule, "measured")) {
        bool many = c->machine->device_count > 2;
        double two = vs_engine_number(c->engine, "communicator_bytes", arch->name, 0);
        double context = vs_engine_number(c->engine, "context_bytes", arch->name, 0);
        if (vs_is(&c->axes, VS_AXIS_SPLIT, "layer") && c->machine->device_count > 1)
            context = vs_engine_number(c->engine, "context_bytes_stage", arch->name, context);
        needs.context_bytes = (uint64_t)context;
        needs.communicator_bytes =
            (uint64_t)(many
                           ? vs_engine_number(c->engine, "communicator_bytes_many", arch->name, two)
                           : two);
    }
    return needs;
}

static bool load(struct vs_simulation *s, struct vs_phase *phase, struct vs_err *err) {
    struct vs_load_needs needs = vs_load_needs_of(s->c);
    double seconds;
    if (!vs_plan_buffers(&s->plan, err) || !vs_emit_load(&s->plan, &needs, phase, err) ||
        !vs_walk(&s->x, phase, s->options->stop_at_oom, err))
        return false;
    if (s->options->capacity_only)
        return true;
    return vs_time_phase(&s->x, phase, s->x.out_of_memory ? s->x.oom_index : VS_NO_OP, 0, &seconds,
                         err);
}

static bool drive(struct vs_simulation *s, struct vs_err *err) {
    struct vs_phase phase = {0};
    bool ok = load(s, &phase, err);
    vs_phase_release(&phase);
    if (!ok)
        return false;
    if (vs_is_over(s))
        return true;
    if (s->options->steps)
        return vs_drive_steps(s, err);
    return s->c->task == VS_TASK_TRAIN ? vs_drive_train(s, err) : vs_drive_generate(s, err);
}

/* Moves the end of each device down. */
static void reserve(struct vs_simulation *s) {
    uint64_t bytes = s->options->reserve_bytes;
    for (size_t d = 0; d < s->x.unit_count && bytes > 0 && s->c->machine->device_count > 0; d++) {
        struct vs_pool *pool = s->x.pools[VS_HOME_GPU + d];
        uint64_t all_bytes = vs_pool_capacity(pool);
        vs_pool_limit(pool, all_bytes > bytes ? all_bytes - bytes : 0);
    }
}

bool vs_simulate(struct vs_arena *arena, const struct vs_case *c,
                 const struct vs_run_options *options, struct vs_outcome *out, struct vs_err *err) {
    struct vs_simulation s = {.c = c, .options = options, .out = out};
    for (int i = 0; i < VS_METRIC_COUNT; i++)
        out->metrics[i] = out->interval_low[i] = out->interval_high[i] = (double)NAN;
    bool ok = vs_plan_init(&s.plan, arena, c, err) && vs_strategies_apply(&s.plan, err) &&
              vs_executor_init(&s.x, &s.plan, err);
    if (ok) {
        out->plan_digest = vs_plan_digest(&s.plan);
        reserve(&s);
        s.x.record = options->timeline ? arena : NULL;
        ok = drive(&s, err) && vs_collect(&s, arena, err);
        vs_executor_release(&s.x);
    }
    vs_plan_release(&s.plan);
    return ok;
}
