#include "vramsim.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif

#include "base/data.h"
#include "base/file.h"
#include "base/vec.h"
#include "report/report.h"
#include "run/run.h"

#ifndef VRAMSIM_VERSION
#define VRAMSIM_VERSION "unknown" /* the build knows */
#endif

enum { NEAREST_SIZE = 200, OVERRIDES_MOST = 4096 };

struct vramsim {
    char *data_root; /* NULL = the default places */
    locale_t locale; /* "C": numbers have a decimal point, whatever the program has chosen */
};

struct override {
    char *path, *value;
};

struct vramsim_request {
    const struct vramsim *sim;
    char *values[VS_AXIS_COUNT]; /* NULL = not given */
    VS_VEC(struct override) overrides;
};

struct vramsim_result {
    struct vs_arena arena;
    const struct vs_outcome *outcome; /* in the arena */
    struct vs_text json;
};

_Static_assert((int)VRAMSIM_BAD_INPUT == VS_ERR_INPUT && (int)VRAMSIM_IO == VS_ERR_IO &&
                   (int)VRAMSIM_NO_MEMORY == VS_ERR_NOMEM,
               "statuses are those of base/err.h");
_Static_assert(sizeof((struct vramsim_error *)0)->text == sizeof((struct vs_err *)0)->text,
               "texts have one size");

const char *vramsim_version(void) { return VRAMSIM_VERSION; }

/* Hands an error to the caller; false. */
static bool failed(const struct vs_err *from, struct vramsim_error *err) {
    if (err) {
        err->status = (enum vramsim_status)from->status;
        memcpy(err->text, from->text, sizeof err->text);
    }
    return false;
}

static bool no_memory(struct vramsim_error *err) {
    struct vs_err inner = {0};
    (void)vs_err_nomem(&inner);
    return failed(&inner, err);
}

/* NULL for NULL and when memory runs out. */
static char *copy_of(const char *text) {
    size_t size = text ? strlen(text) + 1 : 0;
    char *copy = text ? malloc(size) : NULL;
    return copy ? memcpy(copy, text, size) : NULL;
}

/* While a call runs, the thread has our locale and our data folder. */
struct scope {
    locale_t locale;
    const char *root;
};

static struct scope enter(const struct vramsim *sim) {
    return (struct scope){uselocale(sim->locale), vs_data_root_swap(sim->data_root)};
}

static void leave(const struct scope *scope) {
    (void)vs_data_root_swap(scope->root);
    (void)uselocale(scope->locale);
}

/* Data */

static bool has_data(const char *root, struct vs_err *err) {
    static const char *const FOLDERS[] = {"hwprofiles", "workloads"};
    struct vs_arena arena = {0};
    bool found = true;
    for (size_t i = 0; found && i < sizeof FOLDERS / sizeof *FOLDERS; i++) {
        const char *path = root ? vs_arena_printf(&arena, "%s/%s", root, FOLDERS[i])
                                : vs_data_path(&arena, FOLDERS[i]);
        found = path && vs_dir_exists(path);
    }
    vs_arena_release(&arena);
    if (found)
        return true;
    return root ? vs_err_set(err, VS_ERR_INPUT,
                             "no data in '%.300s', expected the folders hwprofiles and workloads",
                             root)
                : vs_err_set(err, VS_ERR_INPUT,
                             "no data found, expected VRAMSIM_PATH to name the folder that holds "
                             "hwprofiles and workloads");
}

struct vramsim *vramsim_open(const char *data_root, struct vramsim_error *err) {
    struct vs_err inner = {0};
    if (!has_data(data_root, &inner)) {
        (void)failed(&inner, err);
        return NULL;
    }
    struct vramsim *sim = calloc(1, sizeof *sim);
    if (!sim) {
        (void)no_memory(err);
        return NULL;
    }
    sim->data_root = copy_of(data_root);
    sim->locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if ((data_root && !sim->data_root) || sim->locale == (locale_t)0) {
        (void)no_memory(err);
        vramsim_close(sim);
        return NULL;
    }
    return sim;
}

void vramsim_close(struct vramsim *sim) {
    if (!sim)
        return;
    if (sim->locale != (locale_t)0)
        freelocale(sim->locale);
    free(sim->data_root);
    free(sim);
}

/* Requests */

struct vramsim_request *vramsim_request_new(const struct vramsim *sim, struct vramsim_error *err) {
    struct vramsim_request *request = calloc(1, sizeof *request);
    if (request)
        request->sim = sim;
    else
        (void)no_memory(err);
    return request;
}

static void override_clear(struct override *override) {
    free(override->path);
    free(override->value);
    *override = (struct override){0};
}

void vramsim_request_free(struct vramsim_request *request) {
    if (!request)
        return;
    for (int i = 0; i < VS_AXIS_COUNT; i++)
        free(request->values[i]);
    for (size_t i = 0; i < request->overrides.count; i++)
        override_clear(&request->overrides.at[i]);
    vs_vec_release(&request->overrides);
    free(request);
}

static bool unknown_option(const char *option, struct vs_err *err) {
    const char *names[VS_AXIS_COUNT];
    char nearest[NEAREST_SIZE];
    for (int i = 0; i < VS_AXIS_COUNT; i++)
        names[i] = vs_axis_info((enum vs_axis)i)->name;
    vs_nearest(option, names, VS_AXIS_COUNT, nearest, sizeof nearest);
    return vs_err_set(err, VS_ERR_INPUT, "unknown option '%.80s'; nearest: %s", option, nearest);
}

static bool find_option(const char *option, enum vs_axis *axis, struct vs_err *err) {
    return vs_axis_find(option, axis) || unknown_option(option, err);
}

static bool parse(struct vs_arena *arena, enum vs_axis axis, const char *text,
                  struct vs_value *value, struct vs_err *err) {
    const struct vs_axis_info *info = vs_axis_info(axis);
    if (info->type != VS_TYPE_TEXT && strchr(text, ','))
        return vs_err_set(err, VS_ERR_INPUT, "%s: found a list '%.80s', expected one value",
                          info->name, text);
    return vs_axis_parse(arena, axis, text, info->name, value, err);
}

/* Parsed here to fail early, and once more by vramsim_run into the memory of the result. */
static bool check(const struct vramsim *sim, enum vs_axis axis, const char *text,
                  struct vs_err *err) {
    struct vs_arena arena = {0};
    struct vs_value value;
    const struct scope scope = enter(sim);
    bool ok = parse(&arena, axis, text, &value, err);
    leave(&scope);
    vs_arena_release(&arena);
    return ok;
}

bool vramsim_set(struct vramsim_request *request, const char *option, const char *value,
                 struct vramsim_error *err) {
    struct vs_err inner = {0};
    enum vs_axis axis;
    if (!find_option(option, &axis, &inner) || (value && !check(request->sim, axis, value, &inner)))
        return failed(&inner, err);
    char *copy = copy_of(value);
    if (value && !copy)
        return no_memory(err);
    free(request->values[axis]);
    request->values[axis] = copy;
    return true;
}

static struct override *find_override(struct vramsim_request *request, const char *path) {
    for (size_t i = 0; i < request->overrides.count; i++)
        if (vs_streq(request->overrides.at[i].path, path))
            return &request->overrides.at[i];
    return NULL;
}

static void take_back(struct vramsim_request *request, const char *path) {
    struct override *old = find_override(request, path);
    if (!old)
        return;
    override_clear(old);
    *old = request->overrides.at[--request->overrides.count];
}

bool vramsim_override(struct vramsim_request *request, const char *path, const char *value,
                      struct vramsim_error *err) {
    struct vs_err inner = {0};
    if (!value) {
        take_back(request, path);
        return true;
    }
    if (path[0] == '\0' || value[0] == '\0' || request->overrides.count >= OVERRIDES_MOST) {
        (void)vs_err_set(&inner, VS_ERR_INPUT,
                         "override: found '%.80s' = '%.80s', expected a path and a value, at most "
                         "%d of them",
                         path, value, OVERRIDES_MOST);
        return failed(&inner, err);
    }
    struct override new = {copy_of(path), copy_of(value)};
    struct override *old = find_override(request, path);
    if (!new.path || !new.value || (!old && !vs_vec_push(&request->overrides, new))) {
        override_clear(&new);
        return no_memory(err);
    }
    if (old) {
        override_clear(old);
        *old = new;
    }
    return true;
}

/* Results */

static bool fill(const struct vramsim_request *from, struct vs_arena *arena,
                 struct vs_request *request, struct vs_err *err) {
    size_t count = from->overrides.count;
    const char **paths = VS_NEW_ARRAY(arena, const char *, count + 1);
    const char **values = VS_NEW_ARRAY(arena, const char *, count + 1);
    if (!paths || !values)
        return vs_err_nomem(err);
    for (size_t i = 0; i < count; i++) {
        paths[i] = vs_arena_strdup(arena, from->overrides.at[i].path);
        values[i] = vs_arena_strdup(arena, from->overrides.at[i].value);
        if (!paths[i] || !values[i])
            return vs_err_nomem(err);
    }
    *request = (struct vs_request){.set_paths = paths, .set_values = values, .set_count = count};
    for (int i = 0; i < VS_AXIS_COUNT; i++) {
        if (!from->values[i])
            continue;
        if (!parse(arena, (enum vs_axis)i, from->values[i], &request->user.at[i], err))
            return false;
        request->user.origin[i] = VS_FROM_USER;
    }
    return true;
}

static bool run(const struct vramsim_request *from, struct vramsim_result *result,
                struct vs_err *err) {
    const struct vs_run_options options = {.intervals = true};
    struct vs_request *request = VS_NEW(&result->arena, struct vs_request);
    if (!request)
        return vs_err_nomem(err);
    if (!fill(from, &result->arena, request, err) ||
        !vs_run(&result->arena, request, &options, &result->outcome, err))
        return false;
    vs_report_run_json(&result->json, result->outcome);
    return !result->json.failed || vs_err_nomem(err);
}

struct vramsim_result *vramsim_run(const struct vramsim_request *request,
                                   struct vramsim_error *err) {
    struct vs_err inner = {0};
    struct vramsim_result *result = calloc(1, sizeof *result);
    if (!result) {
        (void)no_memory(err);
        return NULL;
    }
    const struct scope scope = enter(request->sim);
    bool ok = run(request, result, &inner);
    leave(&scope);
    if (ok)
        return result;
    (void)failed(&inner, err);
    vramsim_result_free(result);
    return NULL;
}

void vramsim_result_free(struct vramsim_result *result) {
    if (!result)
        return;
    vs_text_release(&result->json);
    vs_arena_release(&result->arena);
    free(result);
}

bool vramsim_result_fits(const struct vramsim_result *result) { return result->outcome->fits; }

static bool unknown_metric(const char *name, struct vs_err *err) {
    const char *names[VS_METRIC_COUNT];
    char nearest[NEAREST_SIZE];
    for (int i = 0; i < VS_METRIC_COUNT; i++)
        names[i] = vs_metric_info((enum vs_metric)i)->name;
    vs_nearest(name, names, VS_METRIC_COUNT, nearest, sizeof nearest);
    return vs_err_set(err, VS_ERR_INPUT, "unknown metric '%.80s'; nearest: %s", name, nearest);
}

bool vramsim_result_metric(const struct vramsim_result *result, const char *name, double *value,
                           struct vramsim_error *err) {
    struct vs_err inner = {0};
    enum vs_metric metric;
    if (!vs_metric_find(name, &metric)) {
        (void)unknown_metric(name, &inner);
        return failed(&inner, err);
    }
    *value = result->outcome->metrics[metric];
    return true;
}

bool vramsim_result_oom(const struct vramsim_result *result, struct vramsim_oom *oom) {
    const struct vs_oom_outcome *from = result->outcome->oom;
    if (!from)
        return false;
    *oom = (struct vramsim_oom){
        .pool = from->pool,
        .phase = from->phase,
        .operation = from->operation,
        .tensor = from->tensor,
        .requested_bytes = from->requested_bytes,
        .in_use_bytes = from->in_use_bytes,
        .capacity_bytes = from->capacity_bytes,
        .short_bytes = from->short_bytes,
        .needed_bytes = from->needed_bytes,
    };
    return true;
}

const char *vramsim_result_json(const struct vramsim_result *result, size_t *length) {
    if (length)
        *length = result->json.length;
    return vs_text_str(&result->json);
}
