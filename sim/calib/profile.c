#include "calib/profile.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/stats.h"
#include "base/units.h"

/* Where a machine was not measured: an NVMe drive of the usual kind. */
static const char OTHER_STORAGE[] = "nvme-gen4";

struct builder {
    struct vs_arena *arena;
    const struct vs_samples *samples;
    struct vs_profile *profile;
};

static bool add(struct builder *b, const char *path, struct vs_fitted fitted, const char *what,
                struct vs_err *err) {
    struct vs_profile *p = b->profile;
    char percent[VS_UNIT_TEXT];
    if (p->found_count == sizeof p->found / sizeof *p->found)
        return vs_err_set(err, VS_ERR_NOMEM, "more numbers than a profile holds");
    const char *source =
        fitted.used > 1
            ? vs_arena_printf(
                  b->arena, "%s %s: %s, %zu repetitions, %zu outliers left out, +-%s %%",
                  b->samples->program, b->samples->date, what, fitted.used, fitted.outliers,
                  vs_print_g9(percent, round(1000 * fitted.half / fitted.value) / 10))
            : vs_arena_printf(b->arena, "%s %s: %s", b->samples->program, b->samples->date, what);
    if (!source)
        return vs_err_nomem(err);
    p->found[p->found_count++] =
        (struct vs_found){.path = path, .fitted = fitted, .source = source};
    return true;
}

static bool add_fact(struct builder *b, const char *path, double value, const char *what,
                     struct vs_err *err) {
    return add(b, path, (struct vs_fitted){.value = value, .used = 1}, what, err);
}

static bool note(struct builder *b, const char *text, struct vs_err *err) {
    struct vs_profile *p = b->profile;
    if (!text)
        return vs_err_nomem(err);
    if (p->note_count < sizeof p->notes / sizeof *p->notes)
        p->notes[p->note_count++] = text;
    return true;
}

/* Work per second of one sample. */
static bool rate_of(const struct vs_sample *s, struct vs_fitted *rate, struct vs_err *err) {
    struct vs_fitted seconds;
    if (!vs_fit_median(s->seconds, s->count, &seconds, err))
        return false;
    *rate = seconds;
    rate->value = s->work / seconds.value;
    rate->half = rate->value * seconds.half / seconds.value;
    return true;
}

/* The fastest sample of a probe. *best is NULL when there is none. */
static bool fastest(const struct builder *b, const char *probe, const struct vs_sample **best,
                    struct vs_fitted *rate, struct vs_err *err) {
    *best = NULL;
    for (size_t i = 0; i < b->samples->count; i++) {
        const struct vs_sample *s = &b->samples->at[i];
        struct vs_fitted r;
        if (!vs_streq(s->probe, probe) || s->skipped)
            continue;
        if (!rate_of(s, &r, err))
            return false;
        if (*best && r.value <= rate->value)
            continue;
        *best = s;
        *rate = r;
    }
    return true;
}

static bool need(const struct builder *b, const char *probe, const struct vs_sample **best,
                 struct vs_fitted *rate, struct vs_err *err) {
    if (!fastest(b, probe, best, rate, err))
        return false;
    return *best || vs_err_at(err, b->samples->file, 0, 0,
                              "no measurement of %s (%s), expected one: a host needs it", probe,
                              vs_samples_skipped(b->samples, probe));
}

static const char *of_threads(const struct builder *b, const struct vs_sample *s) {
    return vs_arena_printf(b->arena, "%s, %.0f threads", s->probe, s->threads);
}

/* Reading is what weights cost; traffic of any kind shows what the memory itself can do. */
static bool fit_memory(struct builder *b, struct vs_err *err) {
    static const char *const TRAFFIC[] = {"cpu_read", "cpu_copy", "cpu_adam"};
    const struct vs_sample *read, *best = NULL, *s;
    struct vs_fitted read_rate, rate, other;
    if (!need(b, "cpu_read", &read, &read_rate, err))
        return false;
    for (size_t i = 0; i < sizeof TRAFFIC / sizeof *TRAFFIC; i++) {
        if (!fastest(b, TRAFFIC[i], &s, &other, err))
            return false;
        if (!s || (best && other.value <= rate.value))
            continue;
        best = s;
        rate = other;
    }
    struct vs_fitted part = {.value = fmin(1, read_rate.value / rate.value), .used = 1};
    return add(b, "host.bandwidth_bytes_per_s", rate, of_threads(b, best), err) &&
           add(b, "host.measured_bytes_per_s", read_rate, of_threads(b, read), err) &&
           add(b, "host.read_fraction", part, "cpu_read as a part of the fastest traffic", err);
}

static bool fit_processor(struct builder *b, struct vs_err *err) {
    const struct vs_samples *all = b->samples;
    const struct vs_sample *gemm;
    struct vs_fitted rate;
    if (!need(b, "cpu_gemm_q8_0", &gemm, &rate, err))
        return false;
    double cores = fmin(gemm->threads, all->cores);
    rate.value /= cores;
    rate.half /= cores;
    return add_fact(b, "host.cores", all->cores, "cores that the system names", err) &&
           add_fact(b, "host.sockets", all->sockets, "sockets that the system names", err) &&
           add(b, "host.flops_per_core", rate, of_threads(b, gemm), err);
}

/* Seconds of one request against its size: every repetition of the reads with one request in
 * flight. */
static bool fit_requests(struct builder *b, struct vs_fitted *latency, struct vs_fitted *rate,
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

static bool fit_storage(struct builder *b, struct vs_err *err) {
    const struct vs_sample *read, *write;
    struct vs_fitted rate, written, latency, one;
    if (!fastest(b, "storage_sequential", &read, &rate, err) ||
        !fastest(b, "storage_write", &write, &written, err))
        return false;
    if (!read || !write || b->samples->storage_bytes <= 0)
        return note(b,
                    vs_arena_printf(b->arena, "storage not measured (%s): %s stands for it",
                                    vs_samples_skipped(b->samples, read ? "storage_write"
                                                                        : "storage_sequential"),
                                    OTHER_STORAGE),
                    err);
    if (!fit_requests(b, &latency, &one, err))
        return false;
    b->profile->storage = true;
    return add_fact(b, "storage.capacity_bytes", b->samples->storage_bytes,
                    "size that the file system names", err) &&
           add(b, "storage.read_bytes_per_s", rate,
               vs_arena_printf(b->arena, "storage_sequential, blocks of %.0f, %.0f in flight",
                               read->block_bytes, read->depth),
               err) &&
           add(b, "storage.write_bytes_per_s", written, "storage_write", err) &&
           add(b, "storage.latency_s", latency, "requests of four sizes, one in flight", err);
}

static bool note_skipped(struct builder *b, struct vs_err *err) {
    for (size_t i = 0; i < b->samples->count; i++) {
        const struct vs_sample *s = &b->samples->at[i];
        if (s->skipped &&
            !note(b, vs_arena_printf(b->arena, "%s skipped: %s", s->probe, s->skipped), err))
            return false;
    }
    return true;
}

bool vs_profile_fit(struct vs_arena *arena, const struct vs_samples *samples, const char *name,
                    struct vs_profile *profile, struct vs_err *err) {
    struct builder b = {.arena = arena, .samples = samples, .profile = profile};
    *profile = (struct vs_profile){.name = name, .title = samples->processor};
    return add_fact(&b, "host.ram_bytes", samples->ram_bytes, "memory that the system names",
                    err) &&
           fit_memory(&b, err) && fit_processor(&b, err) &&
           add_fact(&b, "host.reserved_bytes", samples->ram_bytes - samples->available_bytes,
                    "memory in use before the measurement", err) &&
           fit_storage(&b, err) && note_skipped(&b, err);
}

/* ---- the file ---- */

static void put_number(struct vs_json_writer *w, const struct vs_found *f) {
    vs_json_key(w, strchr(f->path, '.') + 1);
    vs_json_object(w);
    vs_json_key(w, "value");
    vs_json_number(w, f->fitted.value);
    vs_json_key(w, "method");
    vs_json_string(w, "measured");
    vs_json_key(w, "source");
    vs_json_string(w, f->source);
    vs_json_end(w, '}');
}

static void put_words(struct vs_json_writer *w, const struct vs_profile *p) {
    vs_json_key(w, "name");
    vs_json_string(w, p->name);
    vs_json_key(w, "title");
    vs_json_string(w, p->title);
}

static void put_part(struct vs_json_writer *w, const struct vs_profile *p, const char *part) {
    const size_t length = strlen(part);
    vs_json_key(w, part);
    vs_json_object(w);
    put_words(w, p);
    for (size_t i = 0; i < p->found_count; i++)
        if (strncmp(p->found[i].path, part, length) == 0 && p->found[i].path[length] == '.')
            put_number(w, &p->found[i]);
    vs_json_end(w, '}');
}

void vs_profile_write(struct vs_text *out, const struct vs_profile *p) {
    struct vs_json_writer w;
    vs_json_begin(&w, out);
    vs_json_object(&w);
    vs_json_key(&w, "schema");
    vs_json_string(&w, "vramsim-machine/1");
    put_words(&w, p);
    vs_json_key(&w, "host");
    vs_json_string(&w, "#host");
    vs_json_key(&w, "storage");
    vs_json_string(&w, p->storage ? "#storage" : OTHER_STORAGE);
    for (size_t i = 0; i < p->found_count; i++)
        if (strcmp(p->found[i].path, "host.reserved_bytes") == 0)
            put_number(&w, &p->found[i]);
    vs_json_key(&w, "parts");
    vs_json_object(&w);
    put_part(&w, p, "host");
    if (p->storage)
        put_part(&w, p, "storage");
    vs_json_end(&w, '}');
    vs_json_end(&w, '}');
    vs_text_add(out, "\n");
}
