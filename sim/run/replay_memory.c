#include "run/replay_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "base/vec.h"
#include "hw/machine.h"
#include "import/alloc_trace.h"
#include "plan/catalog.h"
#include "run/tags.h"

/* Without a machine: more than any has, and little enough for address space to be reserved by it.
 */
#define OPEN_BYTES (1ULL << 50)

/* One device while it is replayed. */
struct device {
    struct vs_pool *pool;
    bool open;             /* no ceiling was asked for */
    const char *live_name; /* of the allocator's blocks in a timeline */
    uint64_t live_bytes, live_by_tag[VS_TAG_COUNT], peak_by_tag[VS_TAG_COUNT];
    uint64_t shown_by_tag[VS_TAG_COUNT]; /* in a timeline */
    uint64_t context_bytes;
    struct vs_allocator_outcome out;
};

struct replay {
    struct vs_arena *arena;
    const struct vs_alloc_trace *trace;
    const struct vs_machine *machine; /* NULL = none was named */
    bool expandable, timeline;
    bool timed; /* the trace says when */
    struct device *devices;
    size_t device_count;
    vs_block *held; /* per block of the trace */
    uint8_t *tag;   /* the same: as it is now */
    struct vs_memory_replay *out;
    struct vs_outcome *outcome;
    struct vs_oom_outcome *oom;
    int64_t first_ns;
    double now_s;
    VS_VEC(struct vs_level) levels, tag_levels; /* only for a timeline */
    struct vs_err *err;
};

/* ---- what was asked for ---- */

static bool check_axes(const struct vs_request *request, struct vs_err *err) {
    static const enum vs_axis KNOWN[] = {
        VS_AXIS_HW,  VS_AXIS_GPUS, VS_AXIS_NET,     VS_AXIS_HOST,
        VS_AXIS_RAM, VS_AXIS_LINK, VS_AXIS_STORAGE, VS_AXIS_EXPANDABLE_SEGMENTS};
    for (int axis = 0; axis < VS_AXIS_COUNT; axis++) {
        bool known = !request->user.at[axis].text;
        for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN && !known; i++)
            known = KNOWN[i] == (enum vs_axis)axis;
        if (!known)
            return vs_err_set(err, VS_ERR_INPUT,
                              "--%s says nothing to an allocator trace, expected --hw, "
                              "--expandable-segments and --set",
                              vs_axis_info((enum vs_axis)axis)->name);
    }
    if (!request->user.at[VS_AXIS_HW].text && request->set_count > 0)
        return vs_err_set(err, VS_ERR_INPUT, "--set %s changes nothing without --hw",
                          request->set_paths[0]);
    return true;
}

static bool find_machine(struct replay *r, const struct vs_request *request) {
    const struct vs_settings settings = {
        .paths = request->set_paths, .values = request->set_values, .count = request->set_count};
    if (!request->user.at[VS_AXIS_HW].text)
        return true;
    struct vs_catalog *catalog = vs_catalog_in(r->arena);
    if (!catalog)
        return vs_err_nomem(r->err);
    if (!vs_catalog_machine(catalog, &request->user, &settings, &r->machine, r->err))
        return false;
    if (r->machine->device_count == 0)
        return vs_err_set(r->err, VS_ERR_INPUT, "--hw %s has no GPU for an allocator trace",
                          r->machine->hw);
    return true;
}

/* ---- pools ---- */

/* As many as the trace names. */
static unsigned streams(const struct vs_alloc_trace *trace) {
    unsigned count = 1;
    for (size_t i = 0; i < trace->blocks.count; i++)
        if (trace->blocks.at[i].stream >= count)
            count = trace->blocks.at[i].stream + 1u;
    return count;
}

static bool open_device(struct replay *r, size_t number) {
    struct device *d = &r->devices[number];
    struct vs_pool_spec spec = {.capacity_bytes = OPEN_BYTES,
                                .allocator = VS_ALLOC_CACHING,
                                .expandable_segments = r->expandable,
                                .stream_count = streams(r->trace)};
    const struct vs_device *on = NULL;
    vs_block context;
    d->open = r->machine == NULL;
    if (r->machine) {
        on = r->machine->devices[number < r->machine->device_count ? number : 0];
        spec.capacity_bytes = (uint64_t)vs_num_or(on->memory.usable_bytes, 0);
        d->context_bytes = (uint64_t)vs_num_or(on->arch.context_torch_bytes, 0);
    }
    char *name = vs_arena_printf(r->arena, "gpu%zu", number);
    d->live_name = vs_arena_printf(r->arena, "gpu%zu allocated", number);
    spec.name = d->out.pool = name;
    d->pool = name && d->live_name ? vs_pool_new(&spec) : NULL;
    return d->pool &&
           vs_pool_alloc_raw(d->pool, d->context_bytes, VS_TAG_CONTEXT, &context) != VS_POOL_NOMEM;
}

static void close_devices(struct replay *r) {
    for (size_t d = 0; r->devices && d < r->device_count; d++)
        vs_pool_free(r->devices[d].pool);
    vs_vec_release(&r->levels);
    vs_vec_release(&r->tag_levels);
}

/* ---- events ---- */

static bool note_oom(struct replay *r, const struct device *d, const char *phase, uint64_t place) {
    const struct vs_oom *oom = vs_pool_oom(d->pool);
    struct vs_oom_outcome *out = VS_NEW(r->arena, struct vs_oom_outcome);
    if (!out)
        return false;
    *out = (struct vs_oom_outcome){.pool = d->out.pool,
                                   .phase = phase,
                                   .at_s = r->timed && r->now_s > 0 ? r->now_s : (double)NAN,
                                   .requested_bytes = oom->requested_bytes,
                                   .in_use_bytes = oom->in_use_bytes,
                                   .capacity_bytes = oom->capacity_bytes,
                                   .short_bytes = oom->short_bytes};
    out->operation =
        vs_arena_printf(r->arena, "%s %llu", r->trace->reader->unit, (unsigned long long)place);
    r->outcome->oom = r->oom = out;
    r->out->oom_place = place;
    r->out->oom_reserved_free_bytes = oom->reserved_free_bytes;
    r->out->oom_largest_free_bytes = oom->largest_free_bytes;
    return out->operation != NULL;
}

static bool open_devices(struct replay *r) {
    size_t blocks = r->trace->blocks.count;
    r->device_count = r->trace->device_count;
    r->devices = VS_NEW_ARRAY(r->arena, struct device, r->device_count + 1);
    r->held = VS_NEW_ARRAY(r->arena, vs_block, blocks + 1);
    r->tag = VS_NEW_ARRAY(r->arena, uint8_t, blocks + 1);
    if (!r->devices || !r->held || !r->tag)
        return vs_err_nomem(r->err);
    for (size_t i = 0; i < blocks; i++)
        r->tag[i] = r->trace->blocks.at[i].tag;
    for (size_t d = 0; d < r->device_count; d++) {
        if (!open_device(r, d))
            return vs_err_nomem(r->err);
        if (vs_pool_oom(r->devices[d].pool) && !r->oom &&
            !note_oom(r, &r->devices[d], "CUDA context", 0))
            return vs_err_nomem(r->err);
    }
    return true;
}

static void count(struct replay *r, uint32_t block, bool taken) {
    const struct vs_alloc_block *b = &r->trace->blocks.at[block];
    struct device *d = &r->devices[b->device];
    if (!taken) {
        d->live_bytes -= b->bytes;
        d->live_by_tag[r->tag[block]] -= b->bytes;
        return;
    }
    d->live_bytes += b->bytes;
    d->live_by_tag[r->tag[block]] += b->bytes;
    if (d->live_bytes > d->out.peak_requested_bytes) {
        d->out.peak_requested_bytes = d->live_bytes;
        memcpy(d->peak_by_tag, d->live_by_tag, sizeof d->peak_by_tag);
    }
}

/* A request is served, before which the pool was `before`: did it need the driver? */
static void note_idle(struct device *d, const struct vs_pool_stats *before, uint64_t largest_bytes,
                      uint64_t request_bytes, uint64_t place) {
    uint64_t idle_bytes = before->reserved_bytes - before->allocated_bytes;
    if (vs_pool_stats(d->pool).reserved_bytes == before->reserved_bytes ||
        idle_bytes <= d->out.idle_bytes)
        return;
    d->out.idle_bytes = idle_bytes;
    d->out.idle_largest_bytes = largest_bytes;
    d->out.idle_request_bytes = request_bytes;
    d->out.idle_place = place;
}

/* For a timeline and for plots: what each tag holds, where that has changed, and the pool. */
static bool note_levels(struct replay *r, struct device *d) {
    struct vs_pool_stats stats = vs_pool_stats(d->pool);
    const struct vs_level allocated = {
        .at_s = r->now_s, .pool = d->live_name, .bytes = stats.allocated_bytes};
    const struct vs_level reserved = {
        .at_s = r->now_s, .pool = d->out.pool, .bytes = stats.reserved_bytes + stats.raw_bytes};
    if (!r->timeline)
        return true;
    for (int t = 0; t < VS_TAG_COUNT; t++) {
        const struct vs_level held = {r->now_s, d->out.pool, stats.by_tag[t],
                                      vs_tag_name((enum vs_tag)t)};
        if (stats.by_tag[t] != d->shown_by_tag[t] && !vs_vec_push(&r->tag_levels, held))
            return false;
        d->shown_by_tag[t] = stats.by_tag[t];
    }
    return vs_vec_push(&r->levels, allocated) && vs_vec_push(&r->levels, reserved);
}

static bool take(struct replay *r, uint32_t block, uint64_t place) {
    const struct vs_alloc_block *b = &r->trace->blocks.at[block];
    struct device *d = &r->devices[b->device];
    struct vs_pool_stats before = vs_pool_stats(d->pool);
    uint64_t largest_bytes = vs_pool_largest_free(d->pool);
    enum vs_pool_result result =
        vs_pool_alloc_on(d->pool, b->stream, b->bytes, (enum vs_tag)b->tag, &r->held[block]);
    if (result == VS_POOL_NOMEM && vs_pool_oom(d->pool))
        return vs_err_set(r->err, VS_ERR_INPUT, "%s %llu: more than 64 PiB are held at once",
                          r->trace->reader->unit, (unsigned long long)place);
    if (result == VS_POOL_NOMEM)
        return vs_err_nomem(r->err);
    count(r, block, true);
    if (place > 0)
        note_idle(d, &before, largest_bytes, b->bytes, place);
    const char *phase = place > 0 ? "replay" : "start of the recording";
    if (result == VS_POOL_OOM && !r->oom && !note_oom(r, d, phase, place))
        return vs_err_nomem(r->err);
    return true;
}

static void give(struct replay *r, uint32_t block) {
    const struct vs_alloc_block *b = &r->trace->blocks.at[block];
    vs_pool_release_block(r->devices[b->device].pool, r->held[block]);
    r->held[block] = 0;
    count(r, block, false);
}

static void retag(struct replay *r, uint32_t block, uint8_t tag) {
    const struct vs_alloc_block *b = &r->trace->blocks.at[block];
    struct device *d = &r->devices[b->device];
    d->live_by_tag[r->tag[block]] -= b->bytes;
    d->live_by_tag[tag] += b->bytes;
    r->tag[block] = tag;
}

/* Blocks from before the recording, by address: the nearest to how they lay. */
static bool start(struct replay *r) {
    for (size_t i = 0; i < r->trace->before.count; i++)
        if (!take(r, r->trace->before.at[i], 0))
            return false;
    for (size_t d = 0; d < r->device_count; d++) {
        struct device *device = &r->devices[d];
        device->out.start_bytes = device->live_bytes;
        if (!note_levels(r, device))
            return vs_err_nomem(r->err);
    }
    return true;
}

/* Does the trace say when? Without times all events stand at 0. */
static bool timed(const struct vs_alloc_trace *trace) {
    for (size_t i = 0; i < trace->events.count; i++)
        if (trace->events.at[i].time_ns != 0)
            return true;
    return false;
}

/* Clocks of recorders may step back; a replay's does not. */
static void advance(struct replay *r, int64_t time_ns) {
    if (r->first_ns < 0)
        r->first_ns = time_ns;
    double now_s = (double)(time_ns - r->first_ns) * 1e-9;
    if (now_s > r->now_s)
        r->now_s = now_s;
}

/* Without times an event takes a microsecond, to be told from the next in pictures. */
static bool carry_out(struct replay *r) {
    r->timed = timed(r->trace);
    for (size_t i = 0; i < r->trace->events.count; i++) {
        const struct vs_alloc_event *event = &r->trace->events.at[i];
        struct device *d = &r->devices[r->trace->blocks.at[event->block].device];
        advance(r, r->timed ? event->time_ns : (int64_t)i * 1000);
        if (event->verb == VS_ALLOC_RETAG) {
            retag(r, event->block, event->tag);
            continue;
        }
        r->out->events++;
        if (event->verb == VS_ALLOC_GIVE)
            give(r, event->block);
        else if (!take(r, event->block, event->place))
            return false;
        if (!note_levels(r, d))
            return vs_err_nomem(r->err);
    }
    return true;
}

/* ---- outcome ---- */

static bool collect_device(struct replay *r, struct device *d, struct vs_pool_outcome *pool) {
    struct vs_pool_stats stats = vs_pool_stats(d->pool);
    d->peak_by_tag[VS_TAG_CONTEXT] += d->context_bytes;
    pool->name = d->out.pool;
    pool->capacity_bytes = d->open ? UINT64_MAX : vs_pool_capacity(d->pool);
    pool->peak_bytes = stats.peak_used_bytes;
    pool->peak_allocated_bytes = stats.peak_allocated_bytes;
    pool->by_tag = vs_tags_by_size(r->arena, d->peak_by_tag, &pool->by_tag_count);
    d->out.peak_allocated_bytes = stats.peak_allocated_bytes;
    d->out.peak_reserved_bytes = stats.peak_reserved_bytes;
    d->out.retries = stats.retries;
    d->out.end_bytes = d->live_bytes;
    d->out.end_reserved_bytes = stats.reserved_bytes;
    return pool->by_tag != NULL;
}

static void largest(double *metric, uint64_t bytes) {
    double gib = (double)bytes / (double)VS_GIB;
    if (isnan(*metric) || gib > *metric)
        *metric = gib;
}

static bool collect(struct replay *r) {
    struct vs_outcome *out = r->outcome;
    struct vs_pool_outcome *pools =
        VS_NEW_ARRAY(r->arena, struct vs_pool_outcome, r->device_count + 1);
    struct vs_allocator_outcome *devices =
        VS_NEW_ARRAY(r->arena, struct vs_allocator_outcome, r->device_count + 1);
    struct vs_level *levels = VS_NEW_ARRAY(r->arena, struct vs_level, r->levels.count + 1);
    struct vs_level *tag_levels = VS_NEW_ARRAY(r->arena, struct vs_level, r->tag_levels.count + 1);
    if (!pools || !devices || !levels || !tag_levels)
        return vs_err_nomem(r->err);
    for (size_t d = 0; d < r->device_count; d++) {
        if (!collect_device(r, &r->devices[d], &pools[d]))
            return vs_err_nomem(r->err);
        devices[d] = r->devices[d].out;
        devices[d].recorded_reserved_bytes = vs_alloc_recorded_reserved(r->trace, (unsigned)d);
        largest(&out->metrics[VS_METRIC_PEAK_VRAM_GIB], pools[d].peak_bytes);
        largest(&out->metrics[VS_METRIC_PEAK_ALLOC_GIB], pools[d].peak_allocated_bytes);
        if (out->oom && vs_streq(out->oom->pool, pools[d].name))
            r->oom->needed_bytes = pools[d].peak_bytes;
    }
    if (r->levels.count > 0)
        memcpy(levels, r->levels.at, r->levels.count * sizeof *levels);
    if (r->tag_levels.count > 0)
        memcpy(tag_levels, r->tag_levels.at, r->tag_levels.count * sizeof *tag_levels);
    out->tag_levels = tag_levels;
    out->tag_level_count = r->tag_levels.count;
    out->levels = levels;
    out->level_count = r->levels.count;
    out->pools = pools;
    out->pool_count = r->device_count;
    out->fits = out->oom == NULL;
    out->metrics[VS_METRIC_FITS] = out->fits ? 1 : 0;
    r->out->devices = devices;
    r->out->device_count = r->device_count;
    return true;
}

static void describe(struct replay *r, const struct vs_alloc_trace *trace) {
    struct vs_outcome *out = r->outcome;
    for (int i = 0; i < VS_METRIC_COUNT; i++)
        out->metrics[i] = out->interval_low[i] = out->interval_high[i] = (double)NAN;
    if (r->machine) {
        out->hw = r->machine->hw;
        out->machine = r->machine->name;
        out->arch = r->machine->devices[0]->arch.name;
        out->assumed = r->machine->assumed;
        out->assumed_count = r->machine->assumed_count;
    }
    out->allocator = r->out;
    *r->out = (struct vs_memory_replay){.form = trace->reader->form,
                                        .unit = trace->reader->unit,
                                        .before_blocks = trace->before.count,
                                        .unknown_frees = trace->unknown_frees,
                                        .lost_frees = trace->lost_frees,
                                        .size_changes = trace->size_changes,
                                        .skipped = trace->skipped,
                                        .recorded_ooms = trace->ooms,
                                        .recorded_oom_place = trace->oom.place,
                                        .recorded_oom_bytes = trace->oom.bytes};
}

/* The settings of the allocator, as the words of their axes. */
static bool describe_settings(struct replay *r) {
    struct vs_axis_word *words = VS_NEW(r->arena, struct vs_axis_word);
    if (!words)
        return vs_err_nomem(r->err);
    words->axis = vs_axis_info(VS_AXIS_EXPANDABLE_SEGMENTS)->name;
    words->word = r->expandable ? "on" : "off";
    r->outcome->strategy = words;
    r->outcome->strategy_count = 1;
    return true;
}

bool vs_replay_memory(struct vs_arena *arena, const struct vs_request *request,
                      const struct vs_alloc_trace *trace, bool timeline,
                      const struct vs_outcome **outcome, struct vs_err *err) {
    struct replay r = {
        .arena = arena, .trace = trace, .timeline = timeline, .first_ns = -1, .err = err};
    r.out = VS_NEW(arena, struct vs_memory_replay);
    r.outcome = VS_NEW(arena, struct vs_outcome);
    if (!r.out || !r.outcome)
        return vs_err_nomem(err);
    r.expandable = vs_is(&request->user, VS_AXIS_EXPANDABLE_SEGMENTS, "on");
    if (!check_axes(request, err) || !find_machine(&r, request))
        return false;
    describe(&r, trace);
    bool ok =
        describe_settings(&r) && open_devices(&r) && start(&r) && carry_out(&r) && collect(&r);
    close_devices(&r);
    if (ok)
        *outcome = r.outcome;
    return ok;
}
