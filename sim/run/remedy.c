#include "run/remedy.h"

#include "run/config.h"
#include "run/point.h"

/* A change in words of the command line, "AXIS=WORD" or two of them; the mildest first: what costs
 * neither quality nor much speed, then what costs speed, then what costs quality. */
struct change {
    enum vs_task task;
    struct {
        enum vs_axis axis;
        const char *word; /* NULL = no second axis */
    } set[2];
};

static const struct change CHANGES[] = {
    {VS_TASK_TRAIN, {{VS_AXIS_LOSS, "fused"}}},
    {VS_TASK_TRAIN, {{VS_AXIS_WEIGHTS, "nf4-dq"}}},
    {VS_TASK_TRAIN, {{VS_AXIS_OPTIM, "adamw8bit"}}},
    {VS_TASK_TRAIN, {{VS_AXIS_CKPT, "full"}}},
    {VS_TASK_TRAIN, {{VS_AXIS_OFFLOAD_OPTIM, "cpu"}}},
    {VS_TASK_TRAIN, {{VS_AXIS_OFFLOAD_PARAM, "cpu"}}},
    {VS_TASK_GENERATE, {{VS_AXIS_KV, "q8_0"}}},
    {VS_TASK_GENERATE, {{VS_AXIS_EXPERTS_CPU, "all"}}},
    {VS_TASK_GENERATE, {{VS_AXIS_OFFLOAD, "cpu"}, {VS_AXIS_GPU_LAYERS, "auto"}}},
    {VS_TASK_GENERATE, {{VS_AXIS_WEIGHTS, "q8_0"}}},
    {VS_TASK_GENERATE, {{VS_AXIS_WEIGHTS, "q4_k_m"}}},
    {VS_TASK_GENERATE, {{VS_AXIS_WEIGHTS, "int8"}}},
    {VS_TASK_GENERATE, {{VS_AXIS_WEIGHTS, "nf4"}}},
};

/* Counted axes that may be smaller. */
static const struct {
    enum vs_task task;
    enum vs_axis axis;
} COUNTS[] = {
    {VS_TASK_TRAIN, VS_AXIS_MICRO_BATCH}, {VS_TASK_TRAIN, VS_AXIS_SEQ},
    {VS_TASK_GENERATE, VS_AXIS_BATCH},    {VS_TASK_GENERATE, VS_AXIS_CTX},
    {VS_TASK_SERVE, VS_AXIS_CTX},
};

enum {
    CHANGE_COUNT = sizeof CHANGES / sizeof *CHANGES,
    COUNT_COUNT = sizeof COUNTS / sizeof *COUNTS
};

struct remedies {
    struct vs_arena *arena;
    struct vs_arena scratch;
    struct vs_catalog *catalog;
    const struct vs_request *request;
    const struct vs_case *c;
    const char **found; /* options in words */
    size_t count;
    bool settled[VS_AXIS_COUNT]; /* a milder value of this axis is enough */
};

static bool has_experts(const struct vs_case *c) { return c->model->experts > 0; }

/* Would the change be one of this point at all? A format is for those that have it in kind. */
static bool applies(const struct vs_case *c, const struct change *change) {
    enum vs_axis axis = change->set[0].axis;
    if (change->task != c->task || vs_is(&c->axes, axis, change->set[0].word))
        return false;
    if (axis == VS_AXIS_EXPERTS_CPU)
        return has_experts(c);
    if (axis == VS_AXIS_WEIGHTS && c->task == VS_TASK_TRAIN)
        return vs_is(&c->axes, VS_AXIS_WEIGHTS, "nf4");
    return true;
}

static bool add(struct remedies *r, enum vs_axis axis, const char *option, struct vs_err *err) {
    if (!option)
        return vs_err_nomem(err);
    r->settled[axis] = true;
    r->found[r->count++] = option;
    return true;
}

/* A combination that the engine refuses is no remedy, and no error. */
static bool try_change(struct remedies *r, const struct change *change, struct vs_err *err) {
    struct vs_request request = *r->request;
    struct vs_values *user = &request.user;
    struct vs_case with;
    struct vs_err refused = {0};
    struct vs_fit fit;
    const char *option = "";
    for (size_t i = 0; i < 2 && change->set[i].word; i++) {
        enum vs_axis axis = change->set[i].axis;
        const char *name = vs_axis_info(axis)->name;
        if (!vs_axis_parse(r->arena, axis, change->set[i].word, name, &user->at[axis], err))
            return false;
        user->origin[axis] = VS_FROM_USER;
        option = vs_arena_printf(r->arena, "%s%s--%s %s", option ? option : "", i > 0 ? " " : "",
                                 name, change->set[i].word);
    }
    /* The engine that was taken stays: another one would be another change. */
    user->at[VS_AXIS_ENGINE] = r->c->axes.at[VS_AXIS_ENGINE];
    user->origin[VS_AXIS_ENGINE] = VS_FROM_USER;
    if (!vs_request_resolve(r->catalog, &request, &with, &refused) ||
        !vs_point_fit_layers(r->catalog, &with, &refused))
        return refused.status == VS_ERR_INPUT || (*err = refused, false);
    vs_arena_reset(&r->scratch);
    if (!vs_point_fits(&r->scratch, &with, 0, &fit, &refused)) /* a strategy may refuse it, too */
        return refused.status == VS_ERR_INPUT || (*err = refused, false);
    return !fit.fits || add(r, change->set[0].axis, option, err);
}

static bool try_less(struct remedies *r, enum vs_axis axis, struct vs_err *err) {
    struct vs_search search = {0};
    if (vs_count(&r->c->axes, axis) <= 1)
        return true;
    vs_arena_reset(&r->scratch);
    if (!vs_point_search(&r->scratch, r->c, axis, &search, err))
        return false;
    if (search.value <= 0 || search.value >= vs_count(&r->c->axes, axis))
        return true;
    const char *option =
        vs_arena_printf(r->arena, "--%s %lld", vs_axis_info(axis)->name, (long long)search.value);
    return add(r, axis, option, err);
}

static bool find(struct remedies *r, struct vs_err *err) {
    for (size_t i = 0; i < CHANGE_COUNT; i++)
        if (applies(r->c, &CHANGES[i]) && !r->settled[CHANGES[i].set[0].axis] &&
            !try_change(r, &CHANGES[i], err))
            return false;
    for (size_t i = 0; i < COUNT_COUNT; i++)
        if (COUNTS[i].task == r->c->task && !try_less(r, COUNTS[i].axis, err))
            return false;
    return true;
}

bool vs_remedies_find(struct vs_arena *arena, struct vs_catalog *catalog,
                      const struct vs_request *request, const struct vs_case *c,
                      const struct vs_outcome **outcome, struct vs_err *err) {
    struct remedies r = {.arena = arena, .catalog = catalog, .request = request, .c = c};
    struct vs_outcome *with = VS_NEW(arena, struct vs_outcome);
    r.found = VS_NEW_ARRAY(arena, const char *, CHANGE_COUNT + COUNT_COUNT);
    if (!with || !r.found)
        return vs_err_nomem(err);
    bool ok = find(&r, err);
    vs_arena_release(&r.scratch);
    if (!ok)
        return false;
    *with = **outcome;
    with->remedies = r.found;
    with->remedy_count = r.count;
    *outcome = with;
    return true;
}
