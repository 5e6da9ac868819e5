#include "plan/engine_choice.h"

#include "base/text.h"
#include "engine/engine.h"
#include "hw/machine.h"
#include "model/model.h"

static bool is_what(enum vs_axis axis) { return vs_streq(vs_axis_info(axis)->group, "what"); }

static bool is_shape(enum vs_axis axis) { return vs_streq(vs_axis_info(axis)->group, "shape"); }

/* Stacks, and libraries inside them, are written for devices of some vendors: the rules "vendors"
 * and "vendors_bnb" name them; without a rule any vendor does. If not, *why names them. */
static bool runs_on(const struct vs_engine *engine, const struct vs_machine *machine,
                    const struct vs_value *weights, const char **why) {
    struct vs_format format;
    struct vs_err ignored;
    const char *vendor = machine->device_count > 0 ? machine->devices[0]->vendor : "none";
    *why = vs_engine_rule(engine, "vendors", NULL);
    if (!vs_engine_rule_lists(engine, "vendors", vendor, true))
        return false;
    bool bnb = weights->text && vs_format_parse(weights->text, &format, &ignored) &&
               format.kind == VS_FORMAT_BNB;
    *why = vs_engine_rule(engine, "vendors_bnb", NULL);
    return !bnb || vs_engine_rule_lists(engine, "vendors_bnb", vendor, true);
}

bool vs_engine_can(struct vs_catalog *catalog, const struct vs_values *values, const char *name,
                   const char *task, enum vs_axis *axis, bool *can, struct vs_err *err) {
    const struct vs_engine *engine;
    if (!vs_catalog_engine(catalog, values, name, &engine, err))
        return false;
    *can = false;
    *axis = VS_AXIS_TASK;
    if (!vs_engine_has_task(engine, task))
        return true;
    for (int i = 0; i < VS_AXIS_COUNT; i++) {
        enum vs_axis a = (enum vs_axis)i;
        if (values->origin[a] < VS_FROM_WORKLOAD || is_what(a) || is_shape(a) ||
            !vs_axis_applies(a, task))
            continue;
        const char *own = vs_engine_default(engine, task, vs_axis_info(a)->name);
        if (!own)
            own = vs_axis_info(a)->fallback;
        *axis = a;
        if (!vs_streq(own, values->at[a].text) &&
            !vs_engine_supports(engine, task, vs_axis_info(a)->name, values->at[a].text))
            return true;
    }
    *can = true;
    return true;
}

static const char *const *engines_of_task(const char *task, size_t *count) {
    static const char *const TRAIN[] = {"hf", "fsdp", "ideal"};
    static const char *const GENERATE[] = {"llamacpp", "hf", "ideal"};
    static const char *const SERVE[] = {"vllm", "trtllm", "sglang"};
    *count = 3;
    return vs_streq(task, "train") ? TRAIN : vs_streq(task, "serve") ? SERVE : GENERATE;
}

/* What this stack, as it is modelled, cannot run of the model; NULL where there is nothing. Engines
 * say by rules how they cache a latent and in what type they keep a recurrent state. */
static const char *lacking_of(const struct vs_model *m, const struct vs_engine *engine,
                              const char *task) {
    const bool train = vs_streq(task, "train");
    const char *latent = vs_model_mixers(m, VS_MIXER_LATENT);
    const char *linear = vs_model_mixers(m, VS_MIXER_LINEAR);
    const char *mamba = vs_model_mixers(m, VS_MIXER_MAMBA);
    if (latent && !train && !vs_engine_rule(engine, "latent_cache", NULL))
        return latent;
    if ((linear || mamba) && (train || !vs_engine_rule(engine, "state", NULL)))
        return linear ? linear : mamba;
    if (train && m->moe_latent > 0)
        return "experts in a space of their own";
    return vs_model_unsupported(m);
}

bool vs_check_vendor(const struct vs_machine *m, const struct vs_engine *engine,
                     const struct vs_value *weights, struct vs_err *err) {
    const char *why;
    if (runs_on(engine, m, weights, &why))
        return true;
    return vs_err_at(
        err, NULL, 0, 0, "engine '%s'%s%s%s%s does not run on %s; expected a device of: %s",
        engine->name, engine->backend ? " with --backend " : "",
        engine->backend ? engine->backend : "", weights->text ? " with --weights " : "",
        weights->text ? weights->text : "", m->hw, why);
}

bool vs_check_model(const struct vs_model *m, const struct vs_engine *engine, const char *task,
                    struct vs_err *err) {
    const char *lacking = lacking_of(m, engine, task);
    return !lacking || vs_err_at(err, NULL, 0, 0,
                                 "--model %s: %s are not modelled yet for --task %s with engine "
                                 "'%s'; expected a model without them",
                                 m->name, lacking, task, engine->name);
}

bool vs_choose_engine(struct vs_catalog *catalog, const struct vs_workload *workload,
                      const struct vs_model *model, const struct vs_machine *machine,
                      struct vs_values *v, const char *task, struct vs_err *err) {
    size_t count;
    const char *const *names = engines_of_task(task, &count);
    if (workload && workload->engine_count > 0) {
        names = workload->engines;
        count = workload->engine_count;
    }
    struct vs_err lacks = {0};
    for (size_t i = 0; i < count; i++) {
        enum vs_axis lacking;
        bool can;
        if (!vs_engine_can(catalog, v, names[i], task, &lacking, &can, err))
            return false;
        const struct vs_engine *engine;
        if (!vs_catalog_engine(catalog, v, names[i], &engine, err))
            return false;
        if (can && vs_check_vendor(machine, engine, &v->at[VS_AXIS_WEIGHTS], &lacks) &&
            vs_check_model(model, engine, task, &lacks))
            return vs_catalog_word(catalog, v, VS_AXIS_ENGINE, names[i], err);
    }
    if (lacks.status != VS_OK) {
        *err = lacks;
        return false;
    }
    return vs_err_at(err, NULL, 0, 0,
                     "no engine known can run this combination of values; expected fewer of "
                     "them, or --engine ideal for a bound");
}

bool vs_check_engine(struct vs_catalog *catalog, const struct vs_values *v,
                     const struct vs_engine *engine, const char *task, struct vs_err *err) {
    enum vs_axis axis;
    bool can;
    if (!vs_engine_can(catalog, v, v->at[VS_AXIS_ENGINE].text, task, &axis, &can, err))
        return false;
    if (can)
        return true;
    if (axis == VS_AXIS_TASK)
        return vs_err_at(err, NULL, 0, 0, "engine '%s' is not modelled for --task %s", engine->name,
                         task);
    const struct vs_engine_support *s = vs_engine_support(engine, task, vs_axis_info(axis)->name);
    struct vs_text words = {0};
    for (size_t i = 0; s && i < s->count; i++)
        vs_text_printf(&words, "%s%s", i > 0 ? ", " : "", s->words[i]);
    if (words.length == 0)
        vs_text_add(&words,
                    vs_axis_info(axis)->fallback[0] ? vs_axis_info(axis)->fallback : "nothing");
    vs_err_at(err, NULL, 0, 0, "--%s %s: engine '%s'%s%s does not support it for %s; expected %s",
              vs_axis_info(axis)->name, v->at[axis].text, engine->name,
              engine->release ? " as of " : "", engine->release ? engine->release : "", task,
              vs_text_str(&words));
    vs_text_release(&words);
    return false;
}
