/* Accelerate's device map: modules in the order of the model fill the GPUs, then host memory, then
 * disk, each up to a limit.
 *   --gpu-layers auto  the limits are what is free (device_map "auto"): nine tenths of it on a lone
 *                      GPU, an even share on several; bitsandbytes leaves a tenth of each more
 *   --max-memory       the limits are given; memory that is not named holds nothing
 *   otherwise          the first --gpu-layers N (all) and what stands outside the layers are held
 *                      to the GPUs, and the others fill host memory and disk
 * What is not on a GPU is computed by the first one, which it is copied to at each use. */
#include "strategy/strategy.h"

#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "engine/engine.h"
#include "hw/machine.h"
#include "plan/rules/device_map.h"

struct map {
    struct vs_plan *plan;
    size_t gpus, count;                              /* GPUs, modules */
    int32_t *layer;                                  /* of a module; -1 outside the layers */
    uint64_t *bytes;                                 /* of a module */
    size_t *place;                                   /* of a module: GPUs, the host, disk */
    struct vs_map_device at[VS_DEVICES_PLANNED + 1]; /* GPUs, then the host */
};

static bool is_new_module(const struct vs_plan *plan, size_t i) {
    int32_t layer = plan->weights[i].tensor->layer;
    return i == 0 || layer < 0 || layer != plan->weights[i - 1].tensor->layer;
}

static bool gather_modules(struct map *map, struct vs_err *err) {
    const struct vs_plan *plan = map->plan;
    map->bytes = VS_NEW_ARRAY(plan->arena, uint64_t, plan->weight_count);
    map->place = VS_NEW_ARRAY(plan->arena, size_t, plan->weight_count);
    map->layer = VS_NEW_ARRAY(plan->arena, int32_t, plan->weight_count);
    if (!map->bytes || !map->place || !map->layer)
        return vs_err_nomem(err);
    for (size_t i = 0; i < plan->weight_count; i++) {
        map->count += is_new_module(plan, i);
        map->bytes[map->count - 1] += plan->weights[i].bytes;
        map->layer[map->count - 1] = plan->weights[i].tensor->layer;
    }
    return true;
}

static uint64_t largest_module(const struct map *map) {
    uint64_t most = 0;
    for (size_t i = 0; i < map->count; i++)
        if (map->layer[i] >= 0 && map->bytes[i] > most)
            most = map->bytes[i];
    return most;
}

static uint64_t above_zero(double bytes) { return bytes > 0 ? (uint64_t)bytes : 0; }

/* What is free before the model is loaded. */
static void free_memory(struct map *map) {
    const struct vs_machine *m = map->plan->c->machine;
    for (size_t d = 0; d < map->gpus; d++)
        map->at[d] = (struct vs_map_device){
            .limit_bytes = above_zero(vs_num_or(m->devices[d]->memory.usable_bytes, 0) -
                                      vs_num_or(m->devices[d]->arch.context_torch_bytes, 0)),
            .keeps_room = d == 0};
    map->at[map->gpus] =
        (struct vs_map_device){.limit_bytes = above_zero(vs_num_or(m->host->ram_bytes, 0) -
                                                         vs_num_or(m->host->reserved_bytes, 0)),
                               .keeps_room = true};
}

static void balance(struct map *map) {
    uint64_t limits[VS_DEVICES_PLANNED], all = 0;
    for (size_t i = 0; i < map->count; i++)
        all += map->bytes[i];
    for (size_t d = 0; d < map->gpus; d++)
        limits[d] = map->at[d].limit_bytes;
    vs_device_map_balance(all, largest_module(map), limits, map->gpus);
    for (size_t d = 0; d < map->gpus; d++)
        map->at[d].limit_bytes = limits[d];
}

static bool bad_limit(const char *text, const char *part, struct vs_err *err) {
    return vs_err_at(err, NULL, 0, 0,
                     "--max-memory %s: found '%s', expected limits joined by '+': SIZE for every "
                     "GPU, N:SIZE for one of the machine's, cpu:SIZE",
                     text, part);
}

/* "10GiB+cpu:30GiB" */
static bool given_limits(struct map *map, const char *text, struct vs_err *err) {
    size_t count;
    char **parts = vs_split(map->plan->arena, text, '+', &count);
    char why[VS_WHY_SIZE];
    if (!parts)
        return vs_err_nomem(err);
    for (size_t d = 0; d <= map->gpus; d++)
        map->at[d].limit_bytes = 0;
    for (size_t i = 0; i < count; i++) {
        char *size = strchr(parts[i], ':');
        size_t whose_length = size ? (size_t)(size - parts[i]) : 0;
        uint64_t first = 0, last = map->gpus - 1, bytes;
        if (!vs_parse_bytes(size ? size + 1 : parts[i], &bytes, why))
            return bad_limit(text, parts[i], err);
        if (size && whose_length == 3 && strncmp(parts[i], "cpu", 3) == 0) {
            first = last = map->gpus;
        } else if (size) {
            double device;
            parts[i][whose_length] = '\0';
            bool number = vs_parse_number(parts[i], &device, why);
            parts[i][whose_length] = ':';
            if (!number || device < 0 || device > (double)last || device != (double)(int)device)
                return bad_limit(text, parts[i], err);
            first = last = (uint64_t)device;
        }
        for (uint64_t d = first; d <= last; d++)
            map->at[d].limit_bytes = bytes;
    }
    return true;
}

static bool find_limits(struct map *map, struct vs_err *err) {
    const struct vs_values *axes = &map->plan->c->axes;
    bool given = vs_given(axes, VS_AXIS_MAX_MEMORY);
    free_memory(map);
    if (given && !given_limits(map, axes->at[VS_AXIS_MAX_MEMORY].text, err))
        return false;
    if (!given && map->gpus == 1)
        map->at[0].limit_bytes = map->at[0].limit_bytes / 10 * 9;
    balance(map);
    for (size_t d = 0; d <= map->gpus && map->plan->format.kind == VS_FORMAT_BNB; d++)
        map->at[d].limit_bytes = map->at[d].limit_bytes / 10 * 9;
    return true;
}

/* Layers from `first_away` on are away, all else is on the GPUs: the last of them takes what the
 * others leave. */
static void place_by_count(struct map *map, uint32_t first_away) {
    struct vs_map_device gpus[VS_DEVICES_PLANNED];
    size_t away = map->count, behind = map->count;
    for (size_t i = map->count; i-- > 0;) {
        if (map->layer[i] >= (int32_t)first_away)
            away = i;
        if (map->layer[i] >= 0 && behind == map->count)
            behind = i + 1;
    }
    if (away == map->count)
        behind = map->count;
    free_memory(map);
    balance(map);
    memcpy(gpus, map->at, map->gpus * sizeof *gpus);
    gpus[map->gpus - 1].limit_bytes = UINT64_MAX;
    vs_device_map(map->bytes, away, gpus, map->gpus, map->place);
    vs_device_map(map->bytes + away, behind - away, &map->at[map->gpus], 1, map->place + away);
    for (size_t i = away; i < behind; i++)
        map->place[i] += map->gpus;
    for (size_t i = behind; i < map->count; i++)
        map->place[i] = away > 0 ? map->place[away - 1] : 0;
}

static enum vs_home home_of(const struct map *map, size_t place) {
    const struct vs_plan *plan = map->plan;
    if (place < map->gpus)
        return vs_gpu_home((unsigned)place);
    if (place > map->gpus && vs_is(&plan->c->axes, VS_AXIS_OFFLOAD, "disk"))
        return VS_HOME_STORAGE;
    return vs_copied_home(plan);
}

/* bitsandbytes packs on a GPU only: what is elsewhere stays as it was in the checkpoint
 * (llm_int8_enable_fp32_cpu_offload). */
static void unpack(const struct vs_plan *plan, struct vs_weight *w) {
    if (plan->format.kind != VS_FORMAT_BNB || vs_on_gpu(w->home))
        return;
    w->type = plan->rest;
    w->bytes = w->file_bytes;
}

static void write_homes(const struct map *map) {
    struct vs_plan *plan = map->plan;
    size_t module = 0;
    for (size_t i = 0; i < plan->weight_count; i++) {
        module += i > 0 && is_new_module(plan, i);
        enum vs_home home = home_of(map, map->place[module]);
        plan->weights[i].home = home;
        unpack(plan, &plan->weights[i]);
        if (map->layer[module] < 0)
            continue;
        struct vs_layer *layer = &plan->layers[map->layer[module]];
        layer->home = home;
        layer->device = vs_on_gpu(home) ? (uint8_t)map->place[module] : 0;
    }
}

/* A map without a place for what is away from the GPUs. */
static bool check_offload(const struct map *map, struct vs_err *err) {
    const struct vs_values *axes = &map->plan->c->axes;
    size_t away = 0;
    for (size_t i = 0; i < map->count; i++)
        away += map->place[i] >= map->gpus;
    return away == 0 || !vs_is(axes, VS_AXIS_OFFLOAD, "none") ||
           vs_err_at(err, NULL, 0, 0,
                     "--offload none: the device map leaves %zu of %zu modules off the GPUs, and "
                     "engine '%s' computes none on the CPU; expected stream or disk",
                     away, map->count, map->plan->c->engine->name);
}

/* With --offload, "all" are the layers that it speaks of. */
static uint32_t layers_on_gpus(const struct vs_case *c) {
    if (!vs_is(&c->axes, VS_AXIS_GPU_LAYERS, "all"))
        return (uint32_t)vs_count(&c->axes, VS_AXIS_GPU_LAYERS);
    return vs_is(&c->axes, VS_AXIS_OFFLOAD, "none") ? c->model->layers : 0;
}

static bool apply(struct vs_plan *plan, struct vs_err *err) {
    const struct vs_case *c = plan->c;
    struct map map = {.plan = plan, .gpus = c->machine->device_count};
    plan->mapped = vs_maps_devices(c);
    if (!plan->mapped)
        return !vs_given(&c->axes, VS_AXIS_MAX_MEMORY) ||
               vs_err_at(
                   err, NULL, 0, 0,
                   "--max-memory %s: %s has no GPU with a memory of its own, there is nothing "
                   "to map",
                   c->axes.at[VS_AXIS_MAX_MEMORY].text, c->machine->hw);
    if (!gather_modules(&map, err))
        return false;
    if (vs_is(&c->axes, VS_AXIS_GPU_LAYERS, "auto") || vs_given(&c->axes, VS_AXIS_MAX_MEMORY)) {
        if (!find_limits(&map, err))
            return false;
        vs_device_map(map.bytes, map.count, map.at, map.gpus + 1, map.place);
    } else {
        place_by_count(&map, layers_on_gpus(c));
    }
    write_homes(&map);
    return check_offload(&map, err);
}

const struct vs_strategy vs_strategy_device_map = {
    .name = "device map",
    .help = "modules fill the GPUs, host memory and disk in order (Accelerate)",
    .stage = "place",
    .apply = apply};
