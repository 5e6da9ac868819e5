#include "run/point.h"

#include "engine/engine.h"
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
    out->notes = c->notes;
    out->note_count = c->note_count;
    out->assumed = c->machine->assumed;
    out->assumed_count = c->machine->assumed_count;
    for (int i = 0; i < VS_AXIS_COUNT; i++) {
        const struct vs_axis_info *info = vs_axis_info((enum vs_axis)i);
        if (vs_streq(info->group, "what") || !c->axes.at[i].text || !strchr(info->tasks, task[0]))
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

bool vs_point_fits(struct vs_arena *scratch, const struct vs_case *c, struct vs_fit *fit,
                   struct vs_err *err) {
    const struct vs_run_options options = {.capacity_only = true, .stop_at_oom = true};
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

bool vs_point_fit_layers(struct vs_catalog *catalog, struct vs_case *c, struct vs_err *err) {
    struct vs_arena scratch = {0};
    struct vs_case trial = *c;
    struct vs_search found = {0};
    struct vs_fit all;
    struct vs_arena *arena = vs_catalog_arena(catalog);
    if (!vs_is(&c->axes, VS_AXIS_GPU_LAYERS, "auto") || vs_maps_devices(c))
        return true;
    bool ok = put(arena, &trial.axes, VS_AXIS_GPU_LAYERS, c->model->layers + 1, err) &&
              vs_point_fits(&scratch, &trial, &all, err);
    if (ok && !all.fits)
        ok = vs_point_search(&scratch, &trial, VS_AXIS_GPU_LAYERS, &found, err) &&
             put(arena, &trial.axes, VS_AXIS_GPU_LAYERS, found.value, err);
    vs_arena_release(&scratch);
    if (ok)
        c->axes = trial.axes;
    return ok;
}
