#include "plan/catalog.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "engine/engine.h"
#include "hw/machine.h"
#include "model/model.h"

/* Everything loaded, by kind and key: a list, newest first. */
enum kind { KIND_WORKLOAD, KIND_ENGINE, KIND_MODEL, KIND_MACHINE, KIND_CONFIG };
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

bool vs_catalog_workload(struct vs_catalog *catalog, const struct vs_values *user,
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
    *workload = w;
    return store(catalog, KIND_WORKLOAD, name, w, err);
}

/* By the name, in the version and for the backend of `values`. */
bool vs_catalog_engine(struct vs_catalog *catalog, const struct vs_values *values, const char *name,
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

bool vs_catalog_model(struct vs_catalog *catalog, const char *name,
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

bool vs_catalog_machine(struct vs_catalog *catalog, const struct vs_values *v,
                        const struct vs_settings *settings, const struct vs_machine **machine,
                        struct vs_err *err) {
    static const enum vs_axis AXES[] = {VS_AXIS_HW,      VS_AXIS_GPUS, VS_AXIS_HOST, VS_AXIS_LINK,
                                        VS_AXIS_STORAGE, VS_AXIS_RAM,  VS_AXIS_NET,  VS_AXIS_NODES};
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
                                         .net_bytes_per_s = vs_real(v, VS_AXIS_NET),
                                         .nodes = (unsigned)vs_count(v, VS_AXIS_NODES)};
    return split_overrides(catalog, settings, &request, err) &&
           vs_machine_load(catalog->arena, &request, machine, err) &&
           store(catalog, KIND_MACHINE, key, *machine, err);
}

const void *vs_catalog_config(const struct vs_catalog *catalog, const char *path) {
    return find(catalog, KIND_CONFIG, path);
}

bool vs_catalog_keep_config(struct vs_catalog *catalog, const char *path, const void *config,
                            struct vs_err *err) {
    return store(catalog, KIND_CONFIG, path, config, err);
}

bool vs_catalog_word(struct vs_catalog *catalog, struct vs_values *v, enum vs_axis axis,
                     const char *text, struct vs_err *err) {
    if (!vs_axis_parse(catalog->arena, axis, text, vs_axis_info(axis)->name, &v->at[axis], err))
        return false;
    v->origin[axis] = VS_FROM_AXIS;
    return true;
}
