/* What the pools and the clock know after a run, as plain values. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "run/simulate.h"
#include "run/tags.h"

static bool collect_pool(struct vs_simulation *s, struct vs_arena *arena, unsigned home,
                         struct vs_pool_outcome *out, struct vs_err *err) {
    const struct vs_pool *pool = s->x.pools[home];
    struct vs_pool_stats stats = vs_pool_stats(pool);
    out->name = vs_pool_name(pool);
    out->capacity_bytes = vs_pool_capacity(pool);
    out->peak_bytes = stats.peak_used_bytes;
    out->peak_allocated_bytes = stats.peak_allocated_bytes;
    out->by_tag = vs_tags_by_size(arena, stats.by_tag_at_peak, &out->by_tag_count);
    return out->by_tag ? true : vs_err_nomem(err);
}

static bool collect_oom(struct vs_simulation *s, struct vs_arena *arena, struct vs_err *err) {
    const struct vs_pool *pool = s->x.pools[s->x.oom_home];
    const struct vs_oom *oom = vs_pool_oom(pool);
    /* Managed memory of a device for which there is no room on the host either. */
    if (oom && oom == vs_pool_oom(s->x.pools[VS_HOME_HOST]))
        pool = s->x.pools[VS_HOME_HOST];
    struct vs_oom_outcome *out = VS_NEW(arena, struct vs_oom_outcome);
    if (!out)
        return vs_err_nomem(err);
    const struct vs_op *op = &s->x.oom_op;
    const struct vs_buffer *b = &s->x.oom_buffer;
    out->pool = vs_pool_name(pool);
    out->phase = s->x.oom_phase;
    out->operation = op->layer >= 0 && !strchr(op->what, '.')
                         ? vs_arena_printf(arena, "layer %d %s", op->layer, op->what)
                         : op->what;
    out->tensor = b->layer >= 0 && vs_starts(b->what, "model.") == false
                      ? vs_arena_printf(arena, "layer %d %s", b->layer, b->what)
                      : b->what;
    out->at_s = s->options->capacity_only ? (double)NAN : s->x.time_s;
    if (oom) {
        out->requested_bytes = oom->requested_bytes;
        out->in_use_bytes = oom->in_use_bytes;
        out->capacity_bytes = oom->capacity_bytes;
        out->short_bytes = oom->short_bytes;
        out->by_tag = vs_tags_by_size(arena, oom->by_tag, &out->by_tag_count);
    }
    out->needed_bytes = vs_pool_stats(pool).peak_used_bytes;
    s->out->oom = out;
    return out->operation && out->tensor ? true : vs_err_nomem(err);
}

static double gib(uint64_t bytes) { return (double)bytes / (double)VS_GIB; }

static void device_metrics(const struct vs_simulation *s, size_t device, double *m) {
    struct vs_pool_stats gpu = vs_pool_stats(s->x.pools[VS_HOME_GPU + device]);
    const uint64_t *own = gpu.peak_by_tag, *at_peak = gpu.by_tag_at_peak;
    m[VS_METRIC_PEAK_VRAM_GIB] = gib(gpu.peak_used_bytes);
    m[VS_METRIC_PEAK_ALLOC_GIB] = gib(gpu.peak_allocated_bytes);
    m[VS_METRIC_WEIGHTS_GIB] = gib(own[VS_TAG_WEIGHTS] + own[VS_TAG_ADAPTERS]);
    m[VS_METRIC_NON_TORCH_GIB] = gib(own[VS_TAG_CONTEXT]);
    if (s->c->task != VS_TASK_TRAIN) {
        m[VS_METRIC_KV_GIB] = gib(own[VS_TAG_KV]);
        m[VS_METRIC_WORKSPACE_GIB] = gib(own[VS_TAG_WORKSPACE]);
        if (s->plan.kv_block > 0)
            m[VS_METRIC_ACTIVATIONS_GIB] = gib(own[VS_TAG_ACTIVATIONS]);
        return;
    }
    m[VS_METRIC_ACTIVATIONS_GIB] = gib(own[VS_TAG_ACTIVATIONS] + own[VS_TAG_CHECKPOINTS]);
    m[VS_METRIC_OPTIMIZER_GIB] = gib(own[VS_TAG_OPTIMIZER]);
    m[VS_METRIC_GRADIENTS_GIB] = gib(own[VS_TAG_GRADIENTS]);
    m[VS_METRIC_WORKSPACE_GIB] =
        gib(at_peak[VS_TAG_WORKSPACE] + at_peak[VS_TAG_DEQUANT] + at_peak[VS_TAG_LOGITS]);
}

static void host_metrics(const struct vs_simulation *s, double *m) {
    struct vs_pool_stats host = vs_pool_stats(s->x.pools[VS_HOME_HOST]);
    m[VS_METRIC_PEAK_RAM_GIB] = gib(host.peak_used_bytes);
    if (s->c->task == VS_TASK_TRAIN || s->x.pools[VS_HOME_HOST] == s->x.pools[VS_HOME_GPU])
        return;
    m[VS_METRIC_WEIGHTS_HOST_GIB] = gib(host.peak_by_tag[VS_TAG_WEIGHTS]);
    m[VS_METRIC_KV_HOST_GIB] = gib(host.peak_by_tag[VS_TAG_KV]);
    m[VS_METRIC_WORKSPACE_HOST_GIB] = gib(host.peak_by_tag[VS_TAG_WORKSPACE]);
}

/* Each device's figures, those of its like where its own pool was not walked, and the largest of
 * each over the devices. */
static bool memory_metrics(struct vs_simulation *s, struct vs_arena *arena, struct vs_err *err) {
    struct vs_device_outcome *devices =
        VS_NEW_ARRAY(arena, struct vs_device_outcome, s->x.unit_count);
    double *all = s->out->metrics;
    if (!devices)
        return vs_err_nomem(err);
    for (size_t d = 0; d < s->x.unit_count; d++) {
        double *m = devices[d].metrics;
        for (int i = 0; i < VS_METRIC_COUNT; i++)
            m[i] = (double)NAN;
        device_metrics(s, s->x.units[d].like, m);
        for (int i = 0; i < VS_METRIC_COUNT; i++)
            if (!isnan(m[i]) && (isnan(all[i]) || m[i] > all[i]))
                all[i] = m[i];
    }
    host_metrics(s, all);
    all[VS_METRIC_FITS] = s->x.out_of_memory ? 0 : 1;
    s->out->devices = devices;
    s->out->device_count = s->c->machine->device_count > 0 ? s->x.unit_count : 0;
    return true;
}

static double share(double part_s, double whole_s) {
    double f = whole_s > 0 ? part_s / whole_s : 0;
    return f > 1 ? 1 : f;
}

static bool add_use(struct vs_outcome *out, struct vs_utilization *u, const char *resource,
                    double fraction) {
    u[out->utilization_count++] = (struct vs_utilization){resource, fraction};
    return resource != NULL;
}

static const char *part_name(struct vs_arena *arena, enum vs_part part, size_t device) {
    char name[VS_PART_NAME_SIZE];
    vs_part_name(part, (unsigned)device, name);
    return vs_arena_strdup(arena, name);
}

/* The resource that held work back for the longest time; the link as a whole counts as its
 * direction to the device. Parts of the host are the same in all units: the first one's are told.
 */
static bool utilization(struct vs_simulation *s, struct vs_arena *arena, struct vs_err *err) {
    const struct vs_executor *x = &s->x;
    struct vs_utilization *u =
        VS_NEW_ARRAY(arena, struct vs_utilization, x->unit_count * VS_PART_COUNT + 1);
    double longest = x->launch_s;
    bool ok = u != NULL;
    s->out->bound_by = "launch";
    for (size_t i = 0; ok && i < x->unit_count * VS_PART_COUNT; i++) {
        enum vs_part part = (enum vs_part)(i % VS_PART_COUNT);
        const struct vs_unit *unit = &x->units[i / VS_PART_COUNT];
        size_t device = i / VS_PART_COUNT;
        if (unit->like != device || (device > 0 && vs_part_is_host(part)))
            continue;
        if (unit->saturated_s[part] > longest) {
            longest = unit->saturated_s[part];
            s->out->bound_by =
                part_name(arena, part == VS_PART_DUPLEX ? VS_PART_H2D : part, device);
        }
        if (unit->busy_s[part] > 0 && part != VS_PART_DUPLEX)
            ok = add_use(s->out, u, part_name(arena, part, device),
                         share(unit->busy_s[part], s->main_s));
    }
    if (ok && x->launch_s > 0)
        ok = add_use(s->out, u, "launch", share(x->launch_s, s->main_s));
    s->out->utilization = u;
    return ok && s->out->bound_by ? true : vs_err_nomem(err);
}

/* A vector of the executor into the arena; NULL when memory runs out. */
#define COPY(arena, v) (copy_array((arena), (v)->at, (v)->count, sizeof *(v)->at))

static const void *copy_array(struct vs_arena *arena, const void *at, size_t count, size_t size) {
    void *copy = vs_arena_alloc(arena, count + 1, size);
    if (copy && count > 0)
        memcpy(copy, at, count * size);
    return copy;
}

static bool copy_timeline(struct vs_simulation *s, struct vs_arena *arena, struct vs_err *err) {
    const struct vs_executor *x = &s->x;
    struct vs_outcome *out = s->out;
    out->spans = COPY(arena, &x->spans);
    out->span_count = x->spans.count;
    out->waits = COPY(arena, &x->waits);
    out->levels = COPY(arena, &x->levels);
    out->level_count = x->levels.count;
    out->tag_levels = COPY(arena, &x->tag_levels);
    out->tag_level_count = x->tag_levels.count;
    out->phases = COPY(arena, &x->phases);
    out->phase_count = x->phases.count;
    out->work = COPY(arena, &x->work);
    out->work_count = x->work.count;
    return (out->spans && out->waits && out->levels && out->tag_levels && out->phases &&
            out->work) ||
           vs_err_nomem(err);
}

/* What each resource gives at most; those of the host once. */
static bool collect_rates(struct vs_simulation *s, struct vs_arena *arena, struct vs_err *err) {
    const struct vs_executor *x = &s->x;
    const bool devices = s->c->machine->device_count > 0;
    struct vs_rate *rates = VS_NEW_ARRAY(arena, struct vs_rate, x->unit_count * VS_PART_COUNT);
    if (!rates)
        return vs_err_nomem(err);
    for (size_t i = 0; i < x->unit_count * VS_PART_COUNT; i++) {
        const size_t device = i / VS_PART_COUNT;
        const enum vs_part part = (enum vs_part)(i % VS_PART_COUNT);
        const bool host = vs_part_is_host(part);
        if (part == VS_PART_DUPLEX || (host ? device > 0 : !devices))
            continue;
        const struct vs_rate rate = {part_name(arena, part, device),
                                     x->units[device].rates.capacity[part]};
        if (!rate.resource)
            return vs_err_nomem(err);
        rates[s->out->rate_count++] = rate;
    }
    s->out->rates = rates;
    return true;
}

static bool collect_pools(struct vs_simulation *s, struct vs_arena *arena, struct vs_err *err) {
    const struct vs_machine *m = s->c->machine;
    struct vs_pool_outcome *pools =
        VS_NEW_ARRAY(arena, struct vs_pool_outcome, s->x.unit_count + 1);
    if (!pools)
        return vs_err_nomem(err);
    size_t n = 0;
    for (size_t d = 0; d < s->x.unit_count && m->device_count > 0; d++)
        if (s->x.units[d].like == d &&
            !collect_pool(s, arena, VS_HOME_GPU + (unsigned)d, &pools[n++], err))
            return false;
    if (!m->unified && !collect_pool(s, arena, VS_HOME_HOST, &pools[n++], err))
        return false;
    s->out->pools = pools;
    s->out->pool_count = n;
    return true;
}

bool vs_collect(struct vs_simulation *s, struct vs_arena *arena, struct vs_err *err) {
    s->out->fits = !s->x.out_of_memory;
    if (!collect_pools(s, arena, err) || !memory_metrics(s, arena, err))
        return false;
    if (s->x.out_of_memory && !collect_oom(s, arena, err))
        return false;
    bool ran = s->c->task != VS_TASK_SERVE || s->out->requests; /* a start has no speed */
    if (ran && s->out->fits && !s->options->capacity_only && !utilization(s, arena, err))
        return false;
    return !s->options->timeline || (copy_timeline(s, arena, err) && collect_rates(s, arena, err));
}
