#include "run/point.h"

#include "engine/engine.h"
#include "plan/requests.h"
#include "run/profile.h"

#include <stdio.h>
#include <string.h>

/* What the request said of the machine beside the device's name. */
static bool describe_parts(struct vs_arena *arena, const struct vs_case *c,
                           struct vs_outcome *out) {
    static const enum vs_axis PARTS[] = {VS_AXIS_GPUS, VS_AXIS_NODES, VS_AXIS_NET,    VS_AXIS_HOST,
                                         VS_AXIS_RAM,  VS_AXIS_LINK,  VS_AXIS_STORAGE};
    enum { COUNT = sizeof PARTS / sizeof *PARTS };
    struct vs_axis_word *words = VS_NEW_ARRAY(arena, struct vs_axis_word, COUNT);
    if (!words)
        return false;
    for (size_t i = 0; i < COUNT; i++)
        if (c->axes.at[PARTS[i]].text)
            words[out->part_count++] =
                (struct vs_axis_word){vs_axis_info(PARTS[i])->name, c->axes.at[PARTS[i]].text};
    out->parts = words;
    return true;
}

bool vs_point_describe(struct vs_arena *arena, const struct vs_case *c, struct vs_outcome *out,
                       struct vs_err *err) {
    const char *task = c->axes.at[VS_AXIS_TASK].text;
    struct vs_axis_word *words = VS_NEW_ARRAY(arena, struct vs_axis_word, VS_AXIS_COUNT);
    if (!words || !describe_parts(arena, c, out))
        return vs_err_nomem(err);
    out->hw = c->machine->hw;
    out->machine = c->machine->name;
    out->arch = c->machine->device_count > 0 ? c->machine->devices[0]->arch.name : "cpu";
    out->model = c->model->name;
    out->engine = c->engine->name;
    out->engine_version = c->axes.at[VS_AXIS_ENGINE_VERSION].text;
    out->task = task;
    out->bound = vs_streq(vs_engine_rule(c->engine, "bound", "off"), "on");
    out->memory_breakdown = vs_streq(vs_engine_rule(c->engine, "memory_breakdown", "none"), "ggml");
    out->notes = c->notes;
    out->note_count = c->note_count;
    out->assumed = c->machine->assumed;
    out->assumed_count = c->machine->assumed_count;
    for (int i = 0; i < VS_AXIS_COUNT; i++) {
        const struct vs_axis_info *info = vs_axis_info((enum vs_axis)i);
        if (vs_streq(info->group, "what") || !c->axes.at[i].text || !strchr(info->tasks, task[0]))
            continue;
        if (c->task == VS_TASK_SERVE && vs_requests_without(&c->axes, (enum vs_axis)i))
            continue;
        words[out->strategy_count++] = (struct vs_axis_word){info->name, c->axes.at[i].text};
    }
    out->strategy = words;
    return true;
}

bool vs_point_run(struct vs_arena *arena, const struct vs_case *c,
                  const struct vs_run_options *options, const struct vs_outcome **outcome,
                  struct vs_err *err) {
    struct vs_outcome *out = VS_NEW(arena, struct vs_outcome);
    if (!out)
        return vs_err_nomem(err);
    if (!vs_point_describe(arena, c, out, err) ||
        (options->profile && !vs_profile_list(arena, c->machine, out, err)) ||
        !vs_simulate(arena, c, options, out, err))
        return false;
    *outcome = out;
    return true;
}

bool vs_point_fits(struct vs_arena *scratch, const struct vs_case *c, uint64_t reserve_bytes,
                   struct vs_fit *fit, struct vs_err *err) {
    const struct vs_run_options options = {.capacity_only = true,
                                           .stop_at_oom = true,
                                           .at_once = true,
                                           .reserve_bytes = reserve_bytes};
    struct vs_outcome out = {0};
    bool ok = vs_simulate(scratch, c, &options, &out, err);
    if (ok)
        *fit = (struct vs_fit){.fits = out.fits,
                               .peak_bytes = (double)out.pools[0].peak_bytes,
                               .capacity_bytes = (double)out.pools[0].capacity_bytes};
    vs_arena_reset(scratch);
    return ok;
}

static bool put(struct vs_arena *arena, struct vs_values *v, enum vs_axis axis, int64_t value,
                struct vs_err *err) {
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    return vs_axis_parse(arena, axis, text, vs_axis_info(axis)->name, &v->at[axis], err);
}

/* A context of n cells for the same prompt and output; both shrink to their share where n is too
 * small. */
static bool with_ctx(struct vs_arena *arena, struct vs_values *v, int64_t n, struct vs_err *err) {
    int64_t prompt = vs_count(v, VS_AXIS_PROMPT), gen = vs_count(v, VS_AXIS_GEN);
    int64_t depth = vs_count(v, VS_AXIS_DEPTH);
    if (depth >= n)
        depth = n - 1;
    if (prompt + depth > n)
        prompt = n - depth;
    /* A growing cache holds what was generated: it is filled. */
    if (gen + prompt + depth > n || vs_is(v, VS_AXIS_KV_ALLOC, "dynamic"))
        gen = n - depth - prompt;
    return put(arena, v, VS_AXIS_CTX, n, err) && put(arena, v, VS_AXIS_PROMPT, prompt, err) &&
           put(arena, v, VS_AXIS_GEN, gen, err) && put(arena, v, VS_AXIS_DEPTH, depth, err);
}

bool vs_point_with(struct vs_arena *arena, const struct vs_case *c, enum vs_axis axis,
                   int64_t value, struct vs_case *out, struct vs_err *err) {
    struct vs_case copy = *c;
    bool ok = axis == VS_AXIS_CTX ? with_ctx(arena, &copy.axes, value, err)
                                  : put(arena, &copy.axes, axis, value, err);
    if (ok)
        *out = copy;
    return ok;
}

/* A fit under way: a case whose layers, and experts, are set until it fits. */
struct fitting {
    struct vs_arena *arena; /* of the texts */
    struct vs_arena scratch;
    struct vs_case c;
    uint64_t reserve_bytes;
};

static bool fits_with(struct fitting *f, enum vs_axis axis, int64_t value, bool *fits,
                      struct vs_err *err) {
    struct vs_fit fit;
    bool ok = put(f->arena, &f->c.axes, axis, value, err) &&
              vs_point_fits(&f->scratch, &f->c, f->reserve_bytes, &fit, err);
    *fits = ok && fit.fits;
    return ok;
}

static bool moves_experts(const struct vs_case *c) {
    return vs_streq(vs_engine_rule(c->engine, "fit", "layers"), "experts_first") &&
           c->model->experts > 0 && !vs_given(&c->axes, VS_AXIS_EXPERTS_CPU) &&
           !vs_given(&c->axes, VS_AXIS_OVERRIDE_TENSOR);
}

/* The fewest layers whose experts live in host memory; all of them where even that does not fit. */
static bool fit_experts(struct fitting *f, bool *fits, struct vs_err *err) {
    int64_t failed = 0, fitting = f->c.model->layers;
    f->c.axes.origin[VS_AXIS_EXPERTS_CPU] = VS_FROM_SWEEP;
    if (!fits_with(f, VS_AXIS_EXPERTS_CPU, fitting, fits, err))
        return false;
    if (!*fits)
        return true;
    while (fitting - failed > 1) {
        int64_t middle = failed + (fitting - failed) / 2;
        bool enough;
        if (!fits_with(f, VS_AXIS_EXPERTS_CPU, middle, &enough, err))
            return false;
        *(enough ? &fitting : &failed) = middle;
    }
    return put(f->arena, &f->c.axes, VS_AXIS_EXPERTS_CPU, fitting, err);
}

static bool fit(struct fitting *f, struct vs_err *err) {
    struct vs_search found = {.reserve_bytes = f->reserve_bytes};
    bool fits;
    if (!fits_with(f, VS_AXIS_GPU_LAYERS, f->c.model->layers + 1, &fits, err) ||
        (!fits && moves_experts(&f->c) && !fit_experts(f, &fits, err)))
        return false;
    return fits || (vs_point_search(&f->scratch, &f->c, VS_AXIS_GPU_LAYERS, &found, err) &&
                    put(f->arena, &f->c.axes, VS_AXIS_GPU_LAYERS, found.value, err));
}

bool vs_point_fit_layers(struct vs_catalog *catalog, struct vs_case *c, struct vs_err *err) {
    if (!vs_is(&c->axes, VS_AXIS_GPU_LAYERS, "auto") || vs_maps_devices(c))
        return true;
    struct fitting f = {.arena = vs_catalog_arena(catalog),
                        .c = *c,
                        .reserve_bytes =
                            (uint64_t)vs_engine_number(c->engine, "fit_margin_bytes", NULL, 0)};
    bool ok = fit(&f, err);
    vs_arena_release(&f.scratch);
    if (ok)
        c->axes = f.c.axes;
    return ok;
}
