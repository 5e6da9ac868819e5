#include <math.h>

#include "calib/build.h"

/* Where a machine was not measured: an NVMe drive of the usual kind. */
static const char OTHER_STORAGE[] = "nvme-gen4";

static bool need(const struct vs_calib *b, const char *probe, const struct vs_sample **best,
                 struct vs_fitted *rate, struct vs_err *err) {
    if (!vs_calib_fastest(b, probe, NULL, best, rate, err))
        return false;
    return *best || vs_calib_missing(b, probe, "host", err);
}

static const char *of_threads(const struct vs_calib *b, const struct vs_sample *s) {
    return vs_arena_printf(b->arena, "%s, %.0f threads", s->probe, s->threads);
}

/* Reading is what weights cost; traffic of any kind shows what the memory itself can do. */
static bool fit_memory(struct vs_calib *b, struct vs_err *err) {
    static const char *const TRAFFIC[] = {"cpu_read", "cpu_copy", "cpu_adam"};
    const struct vs_sample *read, *best = NULL, *s;
    struct vs_fitted read_rate, rate, other;
    if (!need(b, "cpu_read", &read, &read_rate, err))
        return false;
    for (size_t i = 0; i < sizeof TRAFFIC / sizeof *TRAFFIC; i++) {
        if (!vs_calib_fastest(b, TRAFFIC[i], NULL, &s, &other, err))
            return false;
        if (!s || (best && other.value <= rate.value))
            continue;
        best = s;
        rate = other;
    }
    struct vs_fitted part = {.value = fmin(1, read_rate.value / rate.value), .used = 1};
    return vs_calib_add(b, "host.bandwidth_bytes_per_s", rate, of_threads(b, best), err) &&
           vs_calib_add(b, "host.measured_bytes_per_s", read_rate, of_threads(b, read), err) &&
           vs_calib_add(b, "host.read_fraction", part, "cpu_read as a part of the fastest traffic",
                        err);
}

static bool fit_processor(struct vs_calib *b, struct vs_err *err) {
    const struct vs_samples *all = b->samples;
    const struct vs_sample *gemm;
    struct vs_fitted rate;
    if (!need(b, "cpu_gemm_q8_0", &gemm, &rate, err))
        return false;
    double cores = fmin(gemm->threads, all->cores);
    rate.value /= cores;
    rate.half /= cores;
    return vs_calib_fact(b, "host.cores", all->cores, "cores that the system names", err) &&
           vs_calib_fact(b, "host.sockets", all->sockets, "sockets that the system names", err) &&
           vs_calib_add(b, "host.flops_per_core", rate, of_threads(b, gemm), err);
}

/* Are there reads of three sizes with one request in flight, as a latency needs? */
static bool several_sizes(const struct vs_calib *b) {
    double sizes[3];
    size_t n = 0;
    for (size_t i = 0; i < b->samples->count && n < 3; i++) {
        const struct vs_sample *s = &b->samples->at[i];
        bool seen = !(s->block_bytes > 0) || s->depth != 1 || s->skipped;
        for (size_t k = 0; k < n; k++)
            seen = seen || sizes[k] == s->block_bytes;
        if (!seen)
            sizes[n++] = s->block_bytes;
    }
    return n == 3;
}

/* Seconds of one request against its size: every repetition of the reads with one request in
 * flight. */
static bool fit_requests(struct vs_calib *b, struct vs_fitted *latency, struct vs_fitted *rate,
                         struct vs_err *err) {
    size_t most = 0, n = 0;
    for (size_t i = 0; i < b->samples->count; i++)
        most += b->samples->at[i].count;
    double *bytes = VS_NEW_ARRAY(b->arena, double, most + 1);
    double *seconds = VS_NEW_ARRAY(b->arena, double, most + 1);
    if (!bytes || !seconds)
        return vs_err_nomem(err);
    for (size_t i = 0; i < b->samples->count; i++) {
        const struct vs_sample *s = &b->samples->at[i];
        bool reads =
            vs_streq(s->probe, "storage_random") || vs_streq(s->probe, "storage_sequential");
        for (size_t k = 0; reads && s->depth == 1 && s->block_bytes > 0 && k < s->count; k++) {
            bytes[n] = s->block_bytes;
            seconds[n++] = s->seconds[k] * s->block_bytes / s->work;
        }
    }
    return vs_fit_line(bytes, seconds, n, latency, rate, err);
}

/* What a document doesn't say of the drive is that of the usual kind. */
static bool fit_storage(struct vs_calib *b, struct vs_err *err) {
    const struct vs_sample *read, *write;
    struct vs_fitted rate, written, latency = {0}, one;
    bool own = b->samples->processor != NULL; /* tools name none */
    struct vs_storage *usual = VS_NEW(b->arena, struct vs_storage);
    if (!usual)
        return vs_err_nomem(err);
    if (!vs_storage_load(b->arena, OTHER_STORAGE, usual, err) ||
        !vs_calib_fastest(b, "storage_sequential", NULL, &read, &rate, err) ||
        !vs_calib_fastest(b, "storage_write", NULL, &write, &written, err))
        return false;
    b->profile->storage_base = usual;
    if ((!read && !write) || (own && (!read || !write || b->samples->storage_bytes <= 0)))
        return !b->profile->host ||
               vs_calib_note(
                   b,
                   vs_arena_printf(b->arena, "storage not measured (%s): %s stands for it",
                                   vs_samples_skipped(b->samples, read ? "storage_write"
                                                                       : "storage_sequential"),
                                   OTHER_STORAGE),
                   err);
    if ((own || several_sizes(b)) && !fit_requests(b, &latency, &one, err))
        return false;
    b->profile->storage = true;
    return (!(b->samples->storage_bytes > 0) ||
            vs_calib_fact(b, "storage.capacity_bytes", b->samples->storage_bytes,
                          "size that the file system names", err)) &&
           (!read ||
            vs_calib_add(b, "storage.read_bytes_per_s", rate,
                         vs_arena_printf(b->arena,
                                         "storage_sequential, blocks of %.0f, %.0f in flight",
                                         read->block_bytes, read->depth),
                         err)) &&
           (!write ||
            vs_calib_add(b, "storage.write_bytes_per_s", written, "storage_write", err)) &&
           (!(latency.value > 0) || vs_calib_add(b, "storage.latency_s", latency,
                                                 "requests of several sizes, one in flight", err));
}

static bool note_skipped(struct vs_calib *b, struct vs_err *err) {
    for (size_t i = 0; i < b->samples->count; i++) {
        const struct vs_sample *s = &b->samples->at[i];
        if (s->skipped &&
            !vs_calib_note(b, vs_arena_printf(b->arena, "%s skipped: %s", s->probe, s->skipped),
                           err))
            return false;
    }
    return true;
}

static bool fit_host(struct vs_calib *b, struct vs_err *err) {
    const struct vs_samples *s = b->samples;
    b->profile->host = true;
    return vs_calib_fact(b, "host.ram_bytes", s->ram_bytes, "memory that the system names", err) &&
           fit_memory(b, err) && fit_processor(b, err) &&
           vs_calib_fact(b, "host.reserved_bytes", s->ram_bytes - s->available_bytes,
                         "memory in use before the measurement", err);
}

/* What usually stands around the device, or a desktop around what has none. */
static bool stand_for_host(struct vs_calib *b, struct vs_err *err) {
    const struct vs_machine *m = b->profile->base;
    const struct vs_machine_request alone = {.hw = "cpu"};
    if (!m && !vs_machine_load(b->arena, &alone, &m, err))
        return false;
    b->profile->other_host = m->host;
    return vs_calib_note(
        b, vs_arena_printf(b->arena, "host not measured: %s stands for it", m->host->name), err);
}

/* A document of a GPU or of a tool has no host of its own. */
static bool has_host(const struct vs_samples *s) {
    bool measured = !vs_samples_skipped(s, "cpu_read");
    return s->processor && (measured || !s->gpu.name);
}

bool vs_profile_fit(struct vs_arena *arena, const struct vs_samples *samples, const char *name,
                    const char *hw, struct vs_profile *profile, struct vs_err *err) {
    struct vs_calib b = {.arena = arena, .samples = samples, .profile = profile, .hw = hw};
    *profile = (struct vs_profile){.name = name};
    profile->host_title = samples->processor ? samples->processor : samples->program;
    profile->title = samples->gpu.name ? samples->gpu.name : profile->host_title;
    if ((has_host(samples) && !fit_host(&b, err)) || !fit_storage(&b, err) ||
        !vs_calib_device(&b, err))
        return false;
    if (!samples->gpu.name && profile->device)
        profile->title = profile->base->devices[0]->title;
    if (!profile->host && !profile->storage && !profile->device && !profile->link)
        return vs_err_at(err, samples->file, 0, 0,
                         "no measurement of a host, a device, a link or storage, expected one");
    return (profile->host || stand_for_host(&b, err)) && note_skipped(&b, err);
}
