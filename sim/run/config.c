#include "run/config.h"

#include "import/deepspeed.h"
#include "plan/resolve.h"

/* The file's stack is the engine, unless the user names another that runs such a file. */
static bool lay_under(struct vs_catalog *catalog, const struct vs_deepspeed *config,
                      struct vs_values *v, struct vs_err *err) {
    for (int i = 0; i < VS_AXIS_COUNT; i++)
        if (!v->at[i].text && config->values.at[i].text) {
            v->at[i] = config->values.at[i];
            v->origin[i] = config->values.origin[i];
        }
    if (v->at[VS_AXIS_ENGINE].text)
        return true;
    if (!vs_catalog_word(catalog, v, VS_AXIS_ENGINE, "deepspeed", err))
        return false;
    v->origin[VS_AXIS_ENGINE] = VS_FROM_CONFIG;
    return true;
}

static const struct vs_deepspeed *find(struct vs_catalog *catalog, const char *path,
                                       struct vs_err *err) {
    const struct vs_deepspeed *found = vs_catalog_config(catalog, path);
    if (found)
        return found;
    struct vs_deepspeed *config = VS_NEW(vs_catalog_arena(catalog), struct vs_deepspeed);
    if (!config)
        (void)vs_err_nomem(err);
    else if (vs_deepspeed_read(vs_catalog_arena(catalog), path, config, err) &&
             vs_catalog_keep_config(catalog, path, config, err))
        return config;
    return NULL;
}

bool vs_request_resolve(struct vs_catalog *catalog, const struct vs_request *request,
                        struct vs_case *c, struct vs_err *err) {
    struct vs_settings settings = {
        .paths = request->set_paths, .values = request->set_values, .count = request->set_count};
    struct vs_values user = request->user;
    const char *file = user.at[VS_AXIS_CONFIG].text;
    if (file) {
        const struct vs_deepspeed *config = find(catalog, file, err);
        if (!config || !lay_under(catalog, config, &user, err))
            return false;
        settings.train_batch = config->train_batch;
        settings.train_batch_where = config->train_batch_where;
    }
    return vs_resolve(catalog, &user, &settings, c, err);
}

bool vs_grid_spoken(struct vs_arena *arena, const struct vs_grid *grid, bool *spoken,
                    struct vs_err *err) {
    const struct vs_value_list *files = &grid->lists[VS_AXIS_CONFIG];
    for (int i = 0; i < VS_AXIS_COUNT; i++)
        spoken[i] = false;
    for (size_t n = 0; n < files->count; n++) {
        struct vs_deepspeed config;
        if (!vs_deepspeed_read(arena, files->at[n].text, &config, err))
            return false;
        for (int i = 0; i < VS_AXIS_COUNT; i++)
            spoken[i] |= config.values.at[i].text != NULL;
    }
    return true;
}
