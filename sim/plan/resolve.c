#include "plan/resolve.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "engine/engine.h"
#include "hw/machine.h"
#include "model/model.h"
#include "plan/engine_choice.h"
#include "plan/plan.h"
#include "plan/requests.h"

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
        if (v->at[a].text || !vs_axis_applies(a, task))
            continue;
        const char *word = vs_engine_default(engine, task, info->name);
        uint8_t origin = word ? VS_FROM_ENGINE : VS_FROM_AXIS;
        if (!word)
            word = info->fallback;
        if (word[0] == '\0')
            continue;
        char where[160];
        snprintf(where, sizeof where, "%s: defaults.%s.%s", engine->file, task, info->name);
        if (!vs_axis_parse(vs_catalog_arena(catalog), a, word, where, &v->at[a], err))
            return false;
        v->origin[a] = origin;
    }
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
        if (!vs_catalog_word(catalog, v, VS_AXIS_WEIGHTS, word, err))
            return false;
    }
    if (vs_streq(task, "train")) {
        /* Several devices are data-parallel ranks unless something else is said. */
        if (v->origin[VS_AXIS_SPLIT] == VS_FROM_AXIS)
            v->at[VS_AXIS_SPLIT] = (struct vs_value){0};
        return true;
    }
    int64_t cells =
        vs_count(v, VS_AXIS_PROMPT) + vs_count(v, VS_AXIS_GEN) + vs_count(v, VS_AXIS_DEPTH);
    if (vs_streq(task, "serve") && vs_given(v, VS_AXIS_CTX))
        cells = asked_cells(v);
    else if (vs_given(v, VS_AXIS_TRACE)) /* as servers do that are told nothing else */
        cells = model->max_ctx;
    snprintf(number, sizeof number, "%lld", (long long)(cells > 0 ? cells : 1));
    if (!vs_given(v, VS_AXIS_CTX) && !vs_catalog_word(catalog, v, VS_AXIS_CTX, number, err))
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
        return vs_catalog_word(catalog, v, VS_AXIS_GPU_LAYERS, "all", err);
    return true;
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
        if (v->origin[i] == VS_FROM_USER && !vs_axis_applies((enum vs_axis)i, task))
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
    {VS_AXIS_OPTIM_IMPL, VS_AXIS_OPTIM, "adamw lion sgd sgd-momentum"},
    {VS_AXIS_PREFETCH, VS_AXIS_OFFLOAD, "stream disk"},
    {VS_AXIS_ZERO_LIVE, VS_AXIS_ZERO, "3"},
    {VS_AXIS_ZERO_PREFETCH, VS_AXIS_ZERO, "3"},
    {VS_AXIS_ZERO_PERSIST, VS_AXIS_ZERO, "3"},
    {VS_AXIS_ZERO_TILE, VS_AXIS_ZERO, "3"},
    {VS_AXIS_OPTIM_BUFFERS, VS_AXIS_OFFLOAD_OPTIM, "nvme"},
    {VS_AXIS_PARAM_BUFFERS, VS_AXIS_OFFLOAD_PARAM, "nvme"},
    {VS_AXIS_PARAM_BUFFER, VS_AXIS_OFFLOAD_PARAM, "nvme"},
    {VS_AXIS_OFFLOAD_SIZE, VS_AXIS_OFFLOAD, "stream"},
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

static bool bad_batch(const struct vs_settings *settings, const struct vs_values *v, uint64_t ranks,
                      uint64_t product, struct vs_err *err) {
    char micro[48] = "", accum[48] = "";
    bool both = true;
    if (v->origin[VS_AXIS_MICRO_BATCH] >= VS_FROM_CONFIG)
        snprintf(micro, sizeof micro, "micro-batch %s x ", v->at[VS_AXIS_MICRO_BATCH].text);
    else
        both = false;
    if (v->origin[VS_AXIS_ACCUM] >= VS_FROM_CONFIG)
        snprintf(accum, sizeof accum, "accumulation %s x ", v->at[VS_AXIS_ACCUM].text);
    else
        both = false;
    return vs_err_at(err, NULL, 0, 0, "%s: found %llu, expected %s%llu: %s%s%llu ranks",
                     settings->train_batch_where, (unsigned long long)settings->train_batch,
                     both ? "" : "a multiple of ", (unsigned long long)product, micro, accum,
                     (unsigned long long)ranks);
}

/* Samples of an optimizer step over all data-parallel ranks are those of a micro-batch x
 * accumulation x ranks: what is not given of these follows, and what is given must agree. What the
 * command line says of both overrules the file. */
static bool derive_batch(struct vs_catalog *catalog, const struct vs_settings *settings,
                         const struct vs_machine *m, struct vs_values *v, struct vs_err *err) {
    static const enum vs_axis AXES[] = {VS_AXIS_MICRO_BATCH, VS_AXIS_ACCUM};
    uint64_t ranks = vs_train_copies(m, v), product = ranks;
    uint64_t all = settings->train_batch;
    size_t given = 0, users = 0;
    char text[32];
    for (size_t i = 0; all > 0 && i < 2; i++) {
        bool told = v->origin[AXES[i]] >= VS_FROM_CONFIG;
        given += told;
        users += v->origin[AXES[i]] == VS_FROM_USER;
        product *= told ? (uint64_t)vs_count(v, AXES[i]) : 1;
    }
    if (all == 0 || users == 2 || (given == 2 && product == all))
        return true;
    if (given == 2 || all % product != 0)
        return bad_batch(settings, v, ranks, product, err);
    uint64_t left = all / product;
    for (size_t i = 0; i < 2; i++) {
        if (v->origin[AXES[i]] >= VS_FROM_CONFIG)
            continue;
        snprintf(text, sizeof text, "%llu", (unsigned long long)left);
        if (!vs_axis_parse(vs_catalog_arena(catalog), AXES[i], text, settings->train_batch_where,
                           &v->at[AXES[i]], err))
            return false;
        v->origin[AXES[i]] = VS_FROM_CONFIG;
        left = 1; /* without accumulation all of it is the micro-batch */
    }
    return true;
}

/* Page-locked buffers are of what is copied over the link. */
static bool drop_pin_memory(struct vs_values *v, struct vs_err *err) {
    static const enum vs_axis MOVERS[] = {VS_AXIS_OFFLOAD, VS_AXIS_OFFLOAD_PARAM,
                                          VS_AXIS_OFFLOAD_OPTIM};
    if (!v->at[VS_AXIS_PIN_MEMORY].text || !vs_is(v, VS_AXIS_TASK, "train"))
        return true;
    for (size_t i = 0; i < sizeof MOVERS / sizeof *MOVERS; i++)
        if (v->at[MOVERS[i]].text && !vs_is(v, MOVERS[i], "none"))
            return true;
    if (v->origin[VS_AXIS_PIN_MEMORY] == VS_FROM_USER)
        return vs_err_at(err, NULL, 0, 0,
                         "--pin-memory does not apply without --offload, --offload-param or "
                         "--offload-optim");
    v->at[VS_AXIS_PIN_MEMORY] = (struct vs_value){0};
    v->origin[VS_AXIS_PIN_MEMORY] = VS_FROM_NOTHING;
    return true;
}

static enum vs_task task_of(const char *word) {
    return vs_streq(word, "train")   ? VS_TASK_TRAIN
           : vs_streq(word, "serve") ? VS_TASK_SERVE
                                     : VS_TASK_GENERATE;
}

static bool add_notes(struct vs_catalog *catalog, struct vs_case *c, struct vs_err *err) {
    const char **notes = VS_NEW_ARRAY(vs_catalog_arena(catalog), const char *, 4);
    if (!notes)
        return vs_err_nomem(err);
    if (vs_count(&c->axes, VS_AXIS_ZERO) > 0 && c->machine->device_count <= 1)
        notes[c->note_count++] =
            vs_arena_printf(vs_catalog_arena(catalog), "ZeRO-%lld on one device shards nothing",
                            (long long)vs_count(&c->axes, VS_AXIS_ZERO));
    uint32_t rows = c->model->learned_positions;
    if (c->task == VS_TASK_TRAIN && rows > 0 && vs_count(&c->axes, VS_AXIS_SEQ) > rows)
        notes[c->note_count++] = vs_arena_printf(
            vs_catalog_arena(catalog), "%s has %u learned positions: samples are cut to %u tokens",
            c->model->name, rows, rows);
    if (vs_is(&c->axes, VS_AXIS_OFFLOAD, "uvm"))
        notes[c->note_count++] = "managed memory beyond the device's own needs Linux: on Windows "
                                 "its pages do not migrate "
                                 "when a kernel misses them";
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
    if (!train && vs_count(v, VS_AXIS_NODES) > 1 &&
        !vs_streq(vs_engine_rule(engine, "multi_node", "on"), "on"))
        return vs_err_at(err, NULL, 0, 0,
                         "--nodes %lld: engine '%s' runs on the devices of one node; expected 1",
                         (long long)vs_count(v, VS_AXIS_NODES), engine->name);
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
    return vs_check_vendor(m, engine, &v->at[VS_AXIS_WEIGHTS], err);
}

/* --tp above 1 implies --split tensor, which takes all devices where --tp is not given; --pp is
 * about --split layer. */
static bool derive_split(struct vs_catalog *catalog, const struct vs_machine *m, const char *task,
                         struct vs_values *v, struct vs_err *err) {
    char devices[32];
    int64_t tp = vs_count(v, VS_AXIS_TP), pp = vs_count(v, VS_AXIS_PP);
    if (vs_streq(task, "train"))
        return true; /* there they combine */
    if (pp > 1 && (tp > 1 || (v->at[VS_AXIS_SPLIT].text && !vs_is(v, VS_AXIS_SPLIT, "layer"))))
        return vs_err_at(err, NULL, 0, 0, "--pp %lld does not apply to --split %s", (long long)pp,
                         v->at[VS_AXIS_SPLIT].text ? v->at[VS_AXIS_SPLIT].text : "tensor");
    if (tp > 1 && !v->at[VS_AXIS_SPLIT].text)
        return vs_catalog_word(catalog, v, VS_AXIS_SPLIT, "tensor", err);
    if (tp > 1 && !vs_is(v, VS_AXIS_SPLIT, "tensor"))
        return vs_err_at(err, NULL, 0, 0, "--tp %lld does not apply to --split %s", (long long)tp,
                         v->at[VS_AXIS_SPLIT].text);
    if (!vs_is(v, VS_AXIS_SPLIT, "tensor") || vs_given(v, VS_AXIS_TP))
        return true;
    snprintf(devices, sizeof devices, "%zu", m->device_count > 1 ? m->device_count : 1);
    return vs_catalog_word(catalog, v, VS_AXIS_TP, devices, err);
}

/* --offload-size implies --offload stream. */
static bool derive_offload(struct vs_catalog *catalog, struct vs_values *v, struct vs_err *err) {
    return !vs_given(v, VS_AXIS_OFFLOAD_SIZE) || v->at[VS_AXIS_OFFLOAD].text ||
           vs_catalog_word(catalog, v, VS_AXIS_OFFLOAD, "stream", err);
}

/* A checkpoint that is published quantized is run as it is, as if its workload said so. */
static bool take_stored_format(struct vs_catalog *catalog, const struct vs_model *model,
                               const char *task, struct vs_values *v, struct vs_err *err) {
    if (!model->stored_format || vs_given(v, VS_AXIS_WEIGHTS) || vs_streq(task, "train"))
        return true;
    if (!vs_catalog_word(catalog, v, VS_AXIS_WEIGHTS, model->stored_format, err))
        return false;
    v->origin[VS_AXIS_WEIGHTS] = VS_FROM_WORKLOAD;
    return true;
}

/* Checkpoints that a vendor's tool quantized carry scales for a cache in 8 bit, which the engine
 * then has by default; files scaled in blocks come from their authors and carry none. */
static bool take_checkpoint_cache(struct vs_catalog *catalog, const struct vs_case *c,
                                  struct vs_values *v, struct vs_err *err) {
    const char *word = vs_engine_rule(c->engine, "checkpoint_cache", "");
    bool scaled = vs_is(v, VS_AXIS_WEIGHTS, "nvfp4") ||
                  (vs_is(v, VS_AXIS_WEIGHTS, "fp8") && !c->model->fp8_blocks);
    if (word[0] == '\0' || !scaled || v->at[VS_AXIS_KV].text)
        return true;
    if (!vs_catalog_word(catalog, v, VS_AXIS_KV, word, err))
        return false;
    v->origin[VS_AXIS_KV] = VS_FROM_ENGINE;
    return true;
}

static bool check_formats(const struct vs_values *v, struct vs_err *err) {
    struct vs_format format;
    return !v->at[VS_AXIS_WEIGHTS].text ||
           vs_format_parse(v->at[VS_AXIS_WEIGHTS].text, &format, err);
}

/* --experts-used is a word for one of the model's numbers. */
static bool load_model(struct vs_catalog *catalog, const struct vs_values *v,
                       const struct vs_settings *settings, const struct vs_model **model,
                       struct vs_err *err) {
    const char *name = v->at[VS_AXIS_MODEL].text, *used = v->at[VS_AXIS_EXPERTS_USED].text;
    struct vs_arena *arena = vs_catalog_arena(catalog);
    const char **paths, **values;
    if (!used)
        return vs_catalog_model(catalog, name, settings, model, err);
    paths = VS_NEW_ARRAY(arena, const char *, settings->count + 1);
    values = VS_NEW_ARRAY(arena, const char *, settings->count + 1);
    if (!paths || !values)
        return vs_err_nomem(err);
    for (size_t i = 0; i < settings->count; i++) {
        paths[i] = settings->paths[i];
        values[i] = settings->values[i];
    }
    paths[settings->count] = "model.experts_active";
    values[settings->count] = used;
    struct vs_settings more = *settings;
    more.paths = paths;
    more.values = values;
    more.count++;
    if (!vs_catalog_model(catalog, name, settings, model, err))
        return false;
    if ((*model)->experts < (uint64_t)vs_count(v, VS_AXIS_EXPERTS_USED))
        return vs_err_at(err, NULL, 0, 0, "--experts-used %s: model '%s' has %u experts", used,
                         (*model)->name, (*model)->experts);
    return vs_catalog_model(catalog, name, &more, model, err);
}

bool vs_resolve(struct vs_catalog *catalog, const struct vs_values *user,
                const struct vs_settings *settings, struct vs_case *out, struct vs_err *err) {
    const struct vs_workload *workload;
    struct vs_case fresh = {0}, *c = &fresh;
    struct vs_values v = *user;
    if (!vs_catalog_workload(catalog, user, &workload, err))
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
        !vs_catalog_machine(catalog, &v, settings, &c->machine, err) ||
        !load_model(catalog, &v, settings, &c->model, err) ||
        !take_stored_format(catalog, c->model, task, &v, err))
        return false;
    if (!v.at[VS_AXIS_ENGINE].text &&
        !vs_choose_engine(catalog, workload, c->model, c->machine, &v, task, err))
        return false;
    if (!vs_catalog_engine(catalog, &v, v.at[VS_AXIS_ENGINE].text, &c->engine, err) ||
        !vs_check_engine(catalog, &v, c->engine, task, err) ||
        !vs_check_model(c->model, c->engine, task, err) ||
        !derive_split(catalog, c->machine, task, &v, err) || !derive_offload(catalog, &v, err) ||
        !take_checkpoint_cache(catalog, c, &v, err) ||
        !fill_defaults(catalog, c->engine, task, &v, err) || !vs_requests_take_trace(&v, err) ||
        !derive(catalog, c->model, &v, task, err) || !drop_meaningless(&v, err) ||
        !drop_pin_memory(&v, err) || !derive_batch(catalog, settings, c->machine, &v, err) ||
        !vs_requests_check(&v, task, err) || !check_machine(c->machine, c->engine, task, &v, err))
        return false;
    c->axes = v;
    if (!add_notes(catalog, c, err))
        return false;
    *out = fresh;
    return true;
}
