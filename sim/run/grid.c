#include "run/grid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "hw/machine.h"
#include "run/config.h"

enum { POINTS_MAX = 100000 };

bool vs_grid_varies(const struct vs_grid *grid, enum vs_axis axis) {
    return grid->lists[axis].count > 1;
}

static bool count_points(const struct vs_grid *grid, size_t *count, struct vs_err *err) {
    *count = 1;
    for (int i = 0; i < VS_AXIS_COUNT; i++) {
        if (grid->lists[i].count > 1)
            *count *= grid->lists[i].count;
        if (*count > POINTS_MAX)
            return vs_err_at(err, NULL, 0, 0,
                             "the grid has more than %d points; expected fewer values", POINTS_MAX);
    }
    return true;
}

bool vs_grid_expand(struct vs_arena *arena, const struct vs_grid *grid,
                    const struct vs_request **requests, size_t *count, struct vs_err *err) {
    if (!count_points(grid, count, err))
        return false;
    struct vs_request *out = VS_NEW_ARRAY(arena, struct vs_request, *count);
    if (!out)
        return vs_err_nomem(err);
    for (size_t n = 0; n < *count; n++) {
        size_t rest = n;
        out[n].set_paths = grid->set_paths;
        out[n].set_values = grid->set_values;
        out[n].set_count = grid->set_count;
        for (int i = VS_AXIS_COUNT - 1; i >= 0; i--) {
            const struct vs_value_list *list = &grid->lists[i];
            if (list->count == 0)
                continue;
            out[n].user.at[i] = list->at[rest % list->count];
            out[n].user.origin[i] = VS_FROM_USER;
            rest /= list->count;
        }
    }
    *requests = out;
    return true;
}

/* ---- the default grid ---- */

struct draft {
    struct vs_catalog *catalog;
    struct vs_arena *arena;
    struct vs_grid *grid;
    const struct vs_values *base; /* what workload and user say */
    const struct vs_workload *workload;
    const bool *spoken; /* axes that a configuration file has set */
    struct vs_err *err;
};

/* Appends a word to an axis's list unless it is there. */
static bool add(struct draft *d, enum vs_axis axis, const char *word) {
    struct vs_value_list *list = &d->grid->lists[axis];
    for (size_t i = 0; i < list->count; i++)
        if (vs_streq(list->at[i].text, word))
            return true;
    struct vs_value *at = VS_NEW_ARRAY(d->arena, struct vs_value, list->count + 1);
    if (!at)
        return vs_err_nomem(d->err);
    if (list->count > 0)
        memcpy(at, list->at, list->count * sizeof *at);
    if (!vs_axis_parse(d->arena, axis, word, vs_axis_info(axis)->name, &at[list->count], d->err))
        return false;
    list->at = at;
    list->count++;
    return true;
}

static bool vary(struct draft *d, enum vs_axis axis, const char *const *words) {
    if (d->grid->lists[axis].count > 0 || d->spoken[axis])
        return true;
    for (; *words; words++)
        if (!add(d, axis, *words))
            return false;
    return true;
}

static const char *base_word(const struct draft *d, enum vs_axis axis, const char *fallback) {
    return d->base->at[axis].text ? d->base->at[axis].text : fallback;
}

/* The optimizer as the workload has it, its plain, its 8-bit and its paged 8-bit form. */
static bool vary_optimizer(struct draft *d) {
    const char *own = base_word(d, VS_AXIS_OPTIM, "adamw");
    if (!strstr(own, "adamw"))
        return true;
    return vary(d, VS_AXIS_OPTIM,
                (const char *const[]){own, "adamw", "adamw8bit", "paged-adamw8bit", NULL});
}

/* Devices that the request names: how --split may use them is worth a look beyond one. */
static bool several_devices(struct draft *d, bool *several) {
    const struct vs_settings settings = {
        .paths = d->grid->set_paths, .values = d->grid->set_values, .count = d->grid->set_count};
    const struct vs_machine *machine = NULL;
    *several = false;
    if (!d->base->at[VS_AXIS_HW].text)
        return true; /* said to be missing where the first point is made */
    if (!vs_catalog_machine(d->catalog, d->base, &settings, &machine, d->err))
        return false;
    *several = machine->device_count > 1;
    return true;
}

static bool vary_training(struct draft *d) {
    bool qlora = vs_streq(base_word(d, VS_AXIS_METHOD, "full"), "qlora");
    bool full = vs_streq(base_word(d, VS_AXIS_METHOD, "full"), "full");
    if (qlora && !vary(d, VS_AXIS_WEIGHTS, (const char *const[]){"nf4", "nf4-dq", NULL}))
        return false;
    bool several;
    if (!several_devices(d, &several))
        return false;
    if (full && several && !vary(d, VS_AXIS_ZERO, (const char *const[]){"0", "1", "2", "3", NULL}))
        return false;
    return vary(d, VS_AXIS_CKPT, (const char *const[]){"none", "selective", "full", NULL}) &&
           vary_optimizer(d) &&
           (!full ||
            vary(d, VS_AXIS_OFFLOAD_OPTIM, (const char *const[]){"none", "cpu", "nvme", NULL})) &&
           vary(d, VS_AXIS_LOSS, (const char *const[]){"full", "chunked", "fused", NULL}) &&
           (full || vary(d, VS_AXIS_OFFLOAD, (const char *const[]){"none", "stream", NULL})) &&
           vary(d, VS_AXIS_OFFLOAD_PARAM, (const char *const[]){"none", "cpu", NULL});
}

/* The first of these formats that the engine has; NULL = none. */
static const char *first_of(const struct vs_engine *engine, const char *task,
                            const char *const *words) {
    while (*words && !vs_engine_supports(engine, task, "weights", *words))
        words++;
    return *words;
}

static bool first_engine(const struct draft *d, const struct vs_engine **engine) {
    const char *name =
        d->workload && d->workload->engine_count > 0 ? d->workload->engines[0] : "llamacpp";
    return vs_catalog_engine(d->catalog, d->base, base_word(d, VS_AXIS_ENGINE, name), engine,
                             d->err);
}

/* The workload's format, and the usual 8- and 4-bit types of its first engine. */
static bool vary_weights(struct draft *d) {
    static const char *const EIGHT_BIT[] = {"q8_0", "fp8", "int8", NULL};
    static const char *const FOUR_BIT[] = {"q4_k_m", "nf4", "awq4", "int4", NULL};
    const char *task = base_word(d, VS_AXIS_TASK, "generate");
    const struct vs_engine *engine;
    if (!first_engine(d, &engine))
        return false;
    const char *words[4] = {base_word(d, VS_AXIS_WEIGHTS, "fp16")};
    size_t count = 1;
    const char *const fewer[] = {first_of(engine, task, EIGHT_BIT),
                                 first_of(engine, task, FOUR_BIT)};
    for (size_t i = 0; i < 2; i++)
        if (fewer[i])
            words[count++] = fewer[i];
    return vary(d, VS_AXIS_WEIGHTS, words);
}

static bool vary_generation(struct draft *d) {
    return vary_weights(d) &&
           vary(d, VS_AXIS_OFFLOAD,
                (const char *const[]){"none", "cpu", "stream", "disk", "uvm", NULL}) &&
           vary(d, VS_AXIS_GPU_LAYERS, (const char *const[]){"all", "auto", "0", NULL}) &&
           vary(d, VS_AXIS_KV, (const char *const[]){"fp16", "q8_0", "q4_0", NULL}) &&
           vary(d, VS_AXIS_KV_PLACE, (const char *const[]){"gpu", "cpu", NULL});
}

/* A server's batch: as its engine bounds it, and a quarter of that. */
static bool vary_batch(struct draft *d, const struct vs_engine *engine) {
    char quarter[32];
    const char *whole = vs_engine_default(engine, "serve", "max-seqs");
    if (!whole || base_word(d, VS_AXIS_MAX_SEQS, NULL))
        return true;
    (void)snprintf(quarter, sizeof quarter, "%ld", strtol(whole, NULL, 10) / 4);
    return vary(d, VS_AXIS_MAX_SEQS, (const char *const[]){whole, quarter, NULL});
}

static bool vary_serving(struct draft *d) {
    bool several;
    const struct vs_engine *engine;
    if (!several_devices(d, &several) || !first_engine(d, &engine))
        return false;
    return vary(d, VS_AXIS_KV, (const char *const[]){"fp16", "fp8", "int8", NULL}) &&
           (!several || vary(d, VS_AXIS_SPLIT, (const char *const[]){"tensor", "layer", NULL})) &&
           vary_batch(d, engine);
}

bool vs_grid_defaults(struct vs_catalog *catalog, struct vs_arena *arena, struct vs_grid *grid,
                      struct vs_err *err) {
    struct vs_values base = {0};
    const struct vs_workload *workload;
    for (int i = 0; i < VS_AXIS_COUNT; i++)
        if (grid->lists[i].count > 0)
            base.at[i] = grid->lists[i].at[0];
    if (!vs_catalog_workload(catalog, &base, &workload, err))
        return false;
    for (int i = 0; workload && i < VS_AXIS_COUNT; i++)
        if (!base.at[i].text)
            base.at[i] = workload->values.at[i];
    bool spoken[VS_AXIS_COUNT];
    if (!vs_grid_spoken(arena, grid, spoken, err))
        return false;
    struct draft d = {catalog, arena, grid, &base, workload, spoken, err};
    return vs_is(&base, VS_AXIS_TASK, "train")   ? vary_training(&d)
           : vs_is(&base, VS_AXIS_TASK, "serve") ? vary_serving(&d)
                                                 : vary_generation(&d);
}
