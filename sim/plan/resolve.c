#include "plan/resolve.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "engine/engine.h"
#include "hw/machine.h"
#include "model/model.h"
#include "plan/requests.h"

/* Everything loaded, by kind and key: a list, newest first. */
enum kind { KIND_WORKLOAD, KIND_ENGINE, KIND_MODEL, KIND_MACHINE };
struct entry {
    enum kind kind;
    const char *key;
    const void *thing;
    const struct entry *next;
};
struct vs_catalog {
    struct vs_arena *arena;
    const struct entry *entries;
};

struct vs_catalog *vs_catalog_in(struct vs_arena *arena) {
    struct vs_catalog *catalog = VS_NEW(arena, struct vs_catalog);
    if (catalog)
        catalog->arena = arena;
    return catalog;
}

struct vs_arena *vs_catalog_arena(struct vs_catalog *catalog) {
    return catalog->arena;
}

static const void *find(const struct vs_catalog *catalog, enum kind kind, const char *key) {
    for (const struct entry *e = catalog->entries; e; e = e->next)
        if (e->kind == kind && vs_streq(e->key, key))
            return e->thing;
    return NULL;
}

static bool store(struct vs_catalog *catalog, enum kind kind, const char *key, const void *thing,
                  struct vs_err *err) {
    struct entry *e = VS_NEW(catalog->arena, struct entry);
    char *copy = vs_arena_strdup(catalog->arena, key);
    if (!e || !copy)
        return vs_err_nomem(err);
    *e = (struct entry){kind, copy, thing, catalog->entries};
    catalog->entries = e;
    return true;
}

bool vs_resolve_workload(struct vs_catalog *catalog, const struct vs_values *user,
                         const struct vs_workload **workload, struct vs_err *err) {
    const char *name = user->at[VS_AXIS_WORKLOAD].text;
    *workload = NULL;
    if (!name)
        return true;
    *workload = find(catalog, KIND_WORKLOAD, name);
    if (*workload)
        return true;
    struct vs_workload *w = VS_NEW(catalog->arena, struct vs_workload);
    if (!w)
        return vs_err_nomem(err);
    if (!vs_workload_load(catalog->arena, name, w, err))
        return false;
    if (w->later)
        return vs_err_at(err, NULL, 0, 0, "workload '%s' needs what is not modelled yet: %s",
                         w->name, w->later);
    *workload = w;
    return store(catalog, KIND_WORKLOAD, name, w, err);
}

/* By the name, in the version and for the backend of `values`. */
static bool get_engine(struct vs_catalog *catalog, const struct vs_values *values, const char *name,
                       const struct vs_engine **engine, struct vs_err *err) {
    const char *version = values->at[VS_AXIS_ENGINE_VERSION].text;
    const char *backend = values->at[VS_AXIS_BACKEND].text;
    char key[256];
    snprintf(key, sizeof key, "%s %s %s", name, version ? version : "", backend ? backend : "");
    *engine = find(catalog, KIND_ENGINE, key);
    if (*engine)
        return true;
    return vs_engine_load(catalog->arena, name, version, backend, engine, err) &&
           store(catalog, KIND_ENGINE, key, *engine, err);
}

/* Keys of models and machines hold every --set that could change them. */
static char *key_with_settings(struct vs_catalog *catalog, const char *what,
                               const struct vs_settings *settings) {
    struct vs_text text = {0};
    vs_text_add(&text, what);
    for (size_t i = 0; i < settings->count; i++)
        vs_text_printf(&text, "\n%s=%s", settings->paths[i], settings->values[i]);
    char *key = text.failed ? NULL : vs_arena_strdup(catalog->arena, vs_text_str(&text));
    vs_text_release(&text);
    return key;
}

static bool get_model(struct vs_catalog *catalog, const char *name,
                      const struct vs_settings *settings, const struct vs_model **model,
                      struct vs_err *err) {
    char *key = key_with_settings(catalog, name, settings);
    if (!key)
        return vs_err_nomem(err);
    *model = find(catalog, KIND_MODEL, key);
    if (*model)
        return true;
    if (!vs_model_load(catalog->arena, name, model, err))
        return false;
    for (size_t i = 0; i < settings->count; i++)
        if (vs_starts(settings->paths[i], "model.") &&
            !vs_model_override(catalog->arena, model, settings->paths[i] + strlen("model."),
                               settings->values[i], err))
            return false;
    return store(catalog, KIND_MODEL, key, *model, err);
}

static bool split_overrides(struct vs_catalog *catalog, const struct vs_settings *settings,
                            struct vs_machine_request *request, struct vs_err *err) {
    struct vs_override *overrides =
        VS_NEW_ARRAY(catalog->arena, struct vs_override, settings->count + 1);
    if (!overrides)
        return vs_err_nomem(err);
    for (size_t i = 0; i < settings->count; i++) {
        if (vs_starts(settings->paths[i], "model."))
            continue;
        overrides[request->override_count++] =
            (struct vs_override){settings->paths[i], settings->values[i]};
    }
    request->overrides = overrides;
    return true;
}

static bool get_machine(struct vs_catalog *catalog, const struct vs_values *v,
                        const struct vs_settings *settings, const struct vs_machine **machine,
                        struct vs_err *err) {
    static const enum vs_axis AXES[] = {VS_AXIS_HW,      VS_AXIS_GPUS, VS_AXIS_HOST, VS_AXIS_LINK,
                                        VS_AXIS_STORAGE, VS_AXIS_RAM,  VS_AXIS_NET};
    struct vs_text text = {0};
    for (size_t i = 0; i < sizeof AXES / sizeof *AXES; i++)
        vs_text_printf(&text, "%s|", v->at[AXES[i]].text ? v->at[AXES[i]].text : "");
    char *key = text.failed ? NULL : key_with_settings(catalog, vs_text_str(&text), settings);
    vs_text_release(&text);
    if (!key)
        return vs_err_nomem(err);
    *machine = find(catalog, KIND_MACHINE, key);
    if (*machine)
        return true;
    struct vs_machine_request request = {.hw = v->at[VS_AXIS_HW].text,
                                         .gpus = (unsigned)vs_count(v, VS_AXIS_GPUS),
                                         .host = v->at[VS_AXIS_HOST].text,
                                         .link = v->at[VS_AXIS_LINK].text,
                                         .storage = v->at[VS_AXIS_STORAGE].text,
                                         .ram_bytes = (uint64_t)vs_count(v, VS_AXIS_RAM),
                                         .net_bytes_per_s = vs_real(v, VS_AXIS_NET)};
    return split_overrides(catalog, settings, &request, err) &&
           vs_machine_load(catalog->arena, &request, machine, err) &&
           store(catalog, KIND_MACHINE, key, *machine, err);
}

static bool applies(enum vs_axis axis, const char *task) {
    return strchr(vs_axis_info(axis)->tasks, task[0]) != NULL;
}

static bool is_what(enum vs_axis axis) { return vs_streq(vs_axis_info(axis)->group, "what"); }

static bool is_shape(enum vs_axis axis) { return vs_streq(vs_axis_info(axis)->group, "shape"); }

/* Stacks, and libraries inside them, are written for devices of some vendors: the rules "vendors"
 * and "vendors_bnb" name them, blank-separated; without a rule any vendor does. */
static bool vendor_listed(const struct vs_engine *engine, const char *rule, const char *vendor) {
    const char *words = vs_engine_rule(engine, rule, NULL);
    size_t n = strlen(vendor);
    for (const char *at = words; at; at = strchr(at, ' ')) {
        at += *at == ' ';
        if (strncmp(at, vendor, n) == 0 && (at[n] == ' ' || at[n] == '\0'))
            return true;
    }
    return words == NULL;
}

/* If not, *why names the vendors. */
static bool runs_on(const struct vs_engine *engine, const struct vs_machine *machine,
                    const struct vs_value *weights, const char **why) {
    struct vs_format format;
    struct vs_err ignored;
    const char *vendor = machine->device_count > 0 ? machine->devices[0]->vendor : "none";
    *why = vs_engine_rule(engine, "vendors", NULL);
    if (!vendor_listed(engine, "vendors", vendor))
        return false;
    bool bnb = weights->text && vs_format_parse(weights->text, &format, &ignored) &&
               format.kind == VS_FORMAT_BNB;
    *why = vs_engine_rule(engine, "vendors_bnb", NULL);
    return !bnb || vendor_listed(engine, "vendors_bnb", vendor);
}

bool vs_engine_can(struct vs_catalog *catalog, const struct vs_values *values, const char *name,
                   const char *task, enum vs_axis *axis, bool *can, struct vs_err *err) {
    const struct vs_engine *engine;
    if (!get_engine(catalog, values, name, &engine, err))
        return false;
    *can = false;
    *axis = VS_AXIS_TASK;
    if (!vs_engine_has_task(engine, task))
        return true;
    for (int i = 0; i < VS_AXIS_COUNT; i++) {
        enum vs_axis a = (enum vs_axis)i;
        if (values->origin[a] < VS_FROM_WORKLOAD || is_what(a) || is_shape(a) || !applies(a, task))
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

/* Values of lower precedence fill the gaps. */
static void lay_under(struct vs_values *v, const struct vs_values *under) {
    for (int i = 0; i < VS_AXIS_COUNT; i++)
        if (!v->at[i].text && under->at[i].text) {
            v->at[i] = under->at[i];
            v->origin[i] = under->origin[i];
        }
}

static bool fill_defaults(struct vs_catalog *catalog, const struct vs_engine *engine,
                          const char *task, struct vs_values *v, struct vs_err *err) {
    for (int i = 0; i < VS_AXIS_COUNT; i++) {
        enum vs_axis a = (enum vs_axis)i;
        const struct vs_axis_info *info = vs_axis_info(a);
        if (v->at[a].text || !applies(a, task))
            continue;
        const char *word = vs_engine_default(engine, task, info->name);
        uint8_t origin = word ? VS_FROM_ENGINE : VS_FROM_AXIS;
        if (!word)
            word = info->fallback;
        if (word[0] == '\0')
            continue;
        char where[160];
        snprintf(where, sizeof where, "%s: defaults.%s.%s", engine->file, task, info->name);
        if (!vs_axis_parse(catalog->arena, a, word, where, &v->at[a], err))
            return false;
        v->origin[a] = origin;
    }
    return true;
}

static bool set_text(struct vs_catalog *catalog, struct vs_values *v, enum vs_axis axis,
                     const char *text, struct vs_err *err) {
    if (!vs_axis_parse(catalog->arena, axis, text, vs_axis_info(axis)->name, &v->at[axis], err))
        return false;
    v->origin[axis] = VS_FROM_AXIS;
    return true;
}

/* A server that is only started has no prompt but those that are asked for. */
static int64_t asked_cells(const struct vs_values *v) {
    static const enum vs_axis PARTS[] = {VS_AXIS_PROMPT, VS_AXIS_GEN, VS_AXIS_DEPTH};
    int64_t cells = 0;
    for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++)
        cells += v->origin[PARTS[i]] >= VS_FROM_WORKLOAD ? vs_count(v, PARTS[i]) : 0;
    return cells > 0 ? cells : 1;
}

/* Defaults that depend on other values. */
static bool derive(struct vs_catalog *catalog, const struct vs_model *model, struct vs_values *v,
                   const char *task, struct vs_err *err) {
    char number[32];
    if (!vs_given(v, VS_AXIS_WEIGHTS)) {
        bool wide = vs_is(v, VS_AXIS_PRECISION, "fp32") || vs_is(v, VS_AXIS_PRECISION, "amp");
        bool qlora = vs_is(v, VS_AXIS_METHOD, "qlora");
        bool train = vs_streq(task, "train");
        const char *word = !train                                      ? "fp16"
                           : qlora                                     ? "nf4"
                           : wide                                      ? "fp32"
                           : vs_is(v, VS_AXIS_PRECISION, "mixed-fp16") ? "fp16"
                                                                       : "bf16";
        if (!set_text(catalog, v, VS_AXIS_WEIGHTS, word, err))
            return false;
    }
    if (vs_streq(task, "train"))
        return true;
    int64_t cells =
        vs_count(v, VS_AXIS_PROMPT) + vs_count(v, VS_AXIS_GEN) + vs_count(v, VS_AXIS_DEPTH);
    if (vs_streq(task, "serve") && vs_given(v, VS_AXIS_CTX))
        cells = asked_cells(v);
    snprintf(number, sizeof number, "%lld", (long long)(cells > 0 ? cells : 1));
    if (!vs_given(v, VS_AXIS_CTX) && !set_text(catalog, v, VS_AXIS_CTX, number, err))
        return false;
    if (vs_count(v, VS_AXIS_CTX) < cells)
        return vs_err_at(err, NULL, 0, 0,
                         "--ctx %lld is less than prompt, generated tokens and depth together; "
                         "expected at least %lld",
                         (long long)vs_count(v, VS_AXIS_CTX), (long long)cells);
    if (cells == 0)
        return vs_err_at(err, NULL, 0, 0,
                         "nothing to run: --prompt 0 and --gen 0; expected one of them above 0");
    if (vs_count(v, VS_AXIS_GPU_LAYERS) > model->layers + 1)
        return set_text(catalog, v, VS_AXIS_GPU_LAYERS, "all", err);
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
    if (latent && (train || !vs_engine_rule(engine, "latent_cache", NULL)))
        return latent;
    if ((linear || mamba) && (train || !vs_engine_rule(engine, "state", NULL)))
        return linear ? linear : mamba;
    if (train && m->experts > 0)
        return "mixture-of-experts layers";
    return vs_model_unsupported(m);
}

static bool check_vendor(const struct vs_machine *m, const struct vs_engine *engine,
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

static bool check_model(const struct vs_model *m, const struct vs_engine *engine, const char *task,
                        struct vs_err *err) {
    const char *lacking = lacking_of(m, engine, task);
    return !lacking || vs_err_at(err, NULL, 0, 0,
                                 "--model %s: %s are not modelled yet for --task %s with engine "
                                 "'%s'; expected a model without them",
                                 m->name, lacking, task, engine->name);
}

static bool choose_engine(struct vs_catalog *catalog, const struct vs_workload *workload,
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
        if (!get_engine(catalog, v, names[i], &engine, err))
            return false;
        if (can && check_vendor(machine, engine, &v->at[VS_AXIS_WEIGHTS], &lacks) &&
            check_model(model, engine, task, &lacks))
            return set_text(catalog, v, VS_AXIS_ENGINE, names[i], err);
    }
    if (lacks.status != VS_OK) {
        *err = lacks;
        return false;
    }
    return vs_err_at(err, NULL, 0, 0,
                     "no engine known can run this combination of values; expected fewer of "
                     "them, or --engine ideal for a bound");
}

static bool check_engine(struct vs_catalog *catalog, const struct vs_values *v,
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
    vs_err_at(err, NULL, 0, 0, "--%s %s: engine '%s' does not support it for %s; expected %s",
              vs_axis_info(axis)->name, v->at[axis].text, engine->name, task, vs_text_str(&words));
    vs_text_release(&words);
    return false;
}

static bool need(const struct vs_values *v, enum vs_axis axis, const char *expected,
                 struct vs_err *err) {
    if (v->at[axis].text)
        return true;
    return vs_err_at(err, NULL, 0, 0, "--%s is missing; expected %s", vs_axis_info(axis)->name,
                     expected);
}

static bool refuse_strangers(const struct vs_values *v, const char *task, struct vs_err *err) {
    for (int i = 0; i < VS_AXIS_COUNT; i++)
        if (v->origin[i] == VS_FROM_USER && !applies((enum vs_axis)i, task))
            return vs_err_at(err, NULL, 0, 0, "--%s does not apply to --task %s",
                             vs_axis_info((enum vs_axis)i)->name, task);
    return true;
}

/* Axes that mean something only beside a value of another axis. */
static const struct {
    enum vs_axis axis, beside;
    const char *words; /* blank-separated: one of them must be taken */
} CONDITIONS[] = {
    {VS_AXIS_LORA_RANK, VS_AXIS_METHOD, "lora qlora"},
    {VS_AXIS_LORA_TARGETS, VS_AXIS_METHOD, "lora qlora"},
    {VS_AXIS_LORA_DROPOUT, VS_AXIS_METHOD, "lora qlora"},
    {VS_AXIS_LORA_SAVE, VS_AXIS_METHOD, "lora qlora"},
    {VS_AXIS_KBIT_UPCAST, VS_AXIS_METHOD, "lora qlora"},
    {VS_AXIS_OPTIM_IMPL, VS_AXIS_OPTIM, "adamw sgd sgd-momentum"},
    {VS_AXIS_PREFETCH, VS_AXIS_OFFLOAD, "stream"},
    {VS_AXIS_PIN_MEMORY, VS_AXIS_OFFLOAD_PARAM, "cpu"},
};

static bool has_one(const char *words, const char *word) {
    size_t n = strlen(word);
    for (const char *at = strstr(words, word); at; at = strstr(at + 1, word))
        if ((at == words || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
            return true;
    return false;
}

static bool drop_meaningless(struct vs_values *v, struct vs_err *err) {
    for (size_t i = 0; i < sizeof CONDITIONS / sizeof *CONDITIONS; i++) {
        enum vs_axis axis = CONDITIONS[i].axis, beside = CONDITIONS[i].beside;
        if (!v->at[axis].text || !v->at[beside].text ||
            has_one(CONDITIONS[i].words, v->at[beside].text))
            continue;
        if (v->origin[axis] == VS_FROM_USER && v->origin[beside] >= VS_FROM_WORKLOAD)
            return vs_err_at(err, NULL, 0, 0, "--%s does not apply to --%s %s",
                             vs_axis_info(axis)->name, vs_axis_info(beside)->name,
                             v->at[beside].text);
        v->at[axis] = (struct vs_value){0};
        v->origin[axis] = VS_FROM_NOTHING;
    }
    return true;
}

static enum vs_task task_of(const char *word) {
    return vs_streq(word, "train")   ? VS_TASK_TRAIN
           : vs_streq(word, "serve") ? VS_TASK_SERVE
                                     : VS_TASK_GENERATE;
}

static bool add_notes(struct vs_catalog *catalog, struct vs_case *c, struct vs_err *err) {
    const char **notes = VS_NEW_ARRAY(catalog->arena, const char *, 4);
    if (!notes)
        return vs_err_nomem(err);
    if (vs_count(&c->axes, VS_AXIS_ZERO) > 0 && c->machine->device_count <= 1)
        notes[c->note_count++] =
            vs_arena_printf(catalog->arena, "ZeRO-%lld on one device shards nothing",
                            (long long)vs_count(&c->axes, VS_AXIS_ZERO));
    uint32_t rows = c->model->learned_positions;
    if (c->task == VS_TASK_TRAIN && rows > 0 && vs_count(&c->axes, VS_AXIS_SEQ) > rows)
        notes[c->note_count++] = vs_arena_printf(
            catalog->arena, "%s has %u learned positions: samples are cut to %u tokens",
            c->model->name, rows, rows);
    c->notes = notes;
    return true;
}

enum { VS_DEVICES_MODELLED = 64 };

/* What the simulator cannot do yet, said before anything runs. */
static bool check_machine(const struct vs_machine *m, const struct vs_engine *engine,
                          const char *task, struct vs_values *v, struct vs_err *err) {
    bool train = vs_streq(task, "train");
    bool several =
        train ? vs_streq(vs_engine_rule(engine, "ranks", "off"), "on")
              : vs_engine_supports(engine, task, "split",
                                   v->at[VS_AXIS_SPLIT].text ? v->at[VS_AXIS_SPLIT].text : "layer");
    if (m->device_count > 1 && !several)
        return vs_err_at(err, NULL, 0, 0,
                         "%s: several devices are not modelled yet for engine '%s'; expected one",
                         m->hw, engine->name);
    if (!train && m->device_count > VS_DEVICES_MODELLED)
        return vs_err_at(err, NULL, 0, 0, "%s: found %zu devices, expected at most %d in one run",
                         m->hw, m->device_count, VS_DEVICES_MODELLED);
    if (m->device_count == 0 && train)
        return vs_err_at(err, NULL, 0, 0,
                         "--hw %s: training on a CPU is not modelled; expected a device", m->hw);
    return check_vendor(m, engine, &v->at[VS_AXIS_WEIGHTS], err);
}

/* --tp above 1 implies --split tensor, which takes all devices where --tp is not given; --pp is
 * about --split layer. */
static bool derive_split(struct vs_catalog *catalog, const struct vs_machine *m,
                         struct vs_values *v, struct vs_err *err) {
    char devices[32];
    int64_t tp = vs_count(v, VS_AXIS_TP), pp = vs_count(v, VS_AXIS_PP);
    if (pp > 1 && (tp > 1 || (v->at[VS_AXIS_SPLIT].text && !vs_is(v, VS_AXIS_SPLIT, "layer"))))
        return vs_err_at(err, NULL, 0, 0, "--pp %lld does not apply to --split %s", (long long)pp,
                         v->at[VS_AXIS_SPLIT].text ? v->at[VS_AXIS_SPLIT].text : "tensor");
    if (tp > 1 && !v->at[VS_AXIS_SPLIT].text)
        return set_text(catalog, v, VS_AXIS_SPLIT, "tensor", err);
    if (tp > 1 && !vs_is(v, VS_AXIS_SPLIT, "tensor"))
        return vs_err_at(err, NULL, 0, 0, "--tp %lld does not apply to --split %s", (long long)tp,
                         v->at[VS_AXIS_SPLIT].text);
    if (!vs_is(v, VS_AXIS_SPLIT, "tensor") || vs_given(v, VS_AXIS_TP))
        return true;
    snprintf(devices, sizeof devices, "%zu", m->device_count > 1 ? m->device_count : 1);
    return set_text(catalog, v, VS_AXIS_TP, devices, err);
}

/* A checkpoint that is published quantized is run as it is, as if its workload said so. */
static bool take_stored_format(struct vs_catalog *catalog, const struct vs_model *model,
                               const char *task, struct vs_values *v, struct vs_err *err) {
    if (!model->stored_format || vs_given(v, VS_AXIS_WEIGHTS) || vs_streq(task, "train"))
        return true;
    if (!set_text(catalog, v, VS_AXIS_WEIGHTS, model->stored_format, err))
        return false;
    v->origin[VS_AXIS_WEIGHTS] = VS_FROM_WORKLOAD;
    return true;
}

static bool check_formats(const struct vs_values *v, struct vs_err *err) {
    struct vs_format format;
    return !v->at[VS_AXIS_WEIGHTS].text ||
           vs_format_parse(v->at[VS_AXIS_WEIGHTS].text, &format, err);
}

bool vs_resolve(struct vs_catalog *catalog, const struct vs_values *user,
                const struct vs_settings *settings, struct vs_case *out, struct vs_err *err) {
    const struct vs_workload *workload;
    struct vs_case fresh = {0}, *c = &fresh;
    struct vs_values v = *user;
    if (!vs_resolve_workload(catalog, user, &workload, err))
        return false;
    if (workload)
        lay_under(&v, &workload->values);
    if (!need(&v, VS_AXIS_HW, "a device such as rtx4090 (`vramsim list hw` names them)", err) ||
        !need(&v, VS_AXIS_MODEL, "a model, or --workload", err) ||
        !need(&v, VS_AXIS_TASK, "generate, serve or train, or --workload", err))
        return false;
    const char *task = v.at[VS_AXIS_TASK].text;
    c->task = task_of(task);
    if (!refuse_strangers(&v, task, err) || !drop_meaningless(&v, err) || !check_formats(&v, err) ||
        !get_machine(catalog, &v, settings, &c->machine, err) ||
        !get_model(catalog, v.at[VS_AXIS_MODEL].text, settings, &c->model, err) ||
        !take_stored_format(catalog, c->model, task, &v, err))
        return false;
    if (!v.at[VS_AXIS_ENGINE].text &&
        !choose_engine(catalog, workload, c->model, c->machine, &v, task, err))
        return false;
    if (!get_engine(catalog, &v, v.at[VS_AXIS_ENGINE].text, &c->engine, err) ||
        !check_engine(catalog, &v, c->engine, task, err) ||
        !check_model(c->model, c->engine, task, err) ||
        !derive_split(catalog, c->machine, &v, err) ||
        !fill_defaults(catalog, c->engine, task, &v, err) ||
        !derive(catalog, c->model, &v, task, err) || !drop_meaningless(&v, err) ||
        !vs_requests_check(&v, task, err) || !check_machine(c->machine, c->engine, task, &v, err))
        return false;
    c->axes = v;
    if (!add_notes(catalog, c, err))
        return false;
    *out = fresh;
    return true;
}
