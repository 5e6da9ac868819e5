/* Samples of a GPU become numbers of its device, its generation's achievable fractions, and its
 * link. */
#include <math.h>

#include "calib/build.h"

#define FAULT_BYTES 2097152.0 /* of a batch of faults: one large page */
#define CACHES 4.0            /* of the L2 cache: a set that hardly profits by it */
#define KNOWN 0.33            /* half of an interval within which a start is told from none */

static const char *of_sample(const struct vs_calib *b, const struct vs_sample *s) {
    return vs_arena_printf(b->arena, "%s%s%s of %.0f bytes", s->probe, s->variant ? " " : "",
                           s->variant ? s->variant : "", s->bytes);
}

/* What a measured rate is of a peak; not above `most`, the bound of the field. */
static bool add_fraction(struct vs_calib *b, const char *path, struct vs_fitted rate, double peak,
                         double most, const char *what, struct vs_err *err) {
    if (!(peak > 0))
        return true;
    if (rate.value > most * peak &&
        !vs_calib_note(b,
                       vs_arena_printf(b->arena, "%s: %s measured %.3g times its peak, set to %g",
                                       path, what ? what : "", rate.value / peak, most),
                       err))
        return false;
    rate.half /= peak;
    rate.value = fmin(most, rate.value / peak);
    return vs_calib_add(b, path, rate, what, err);
}

/* Every repetition of a probe, by size. */
struct points {
    double *bytes, *seconds;
    size_t count;
    bool sizes; /* more than one */
};

static bool collect(struct vs_calib *b, const char *probe, const char *variant, double least,
                    struct points *p, struct vs_err *err) {
    size_t most = 0;
    for (size_t i = 0; i < b->samples->count; i++)
        most += b->samples->at[i].count;
    *p = (struct points){.bytes = VS_NEW_ARRAY(b->arena, double, most + 1),
                         .seconds = VS_NEW_ARRAY(b->arena, double, most + 1)};
    if (!p->bytes || !p->seconds)
        return vs_err_nomem(err);
    for (size_t i = 0; i < b->samples->count; i++) {
        const struct vs_sample *s = &b->samples->at[i];
        for (size_t k = 0; vs_calib_is(s, probe, variant) && s->work >= least && k < s->count;
             k++) {
            p->bytes[p->count] = s->work;
            p->seconds[p->count++] = s->seconds[k];
            p->sizes = p->sizes || s->work != p->bytes[0];
        }
    }
    return true;
}

/* Reads by size follow time = start and drain + bytes / rate (tests/unit/test_read_law.c). Those
 * that a cache serves in part are no reads of memory; where the ones beyond it are too long to show
 * the start, an empty kernel says it (fit_launch). */
static bool fit_reads(struct vs_calib *b, struct vs_fitted *rate, struct vs_err *err) {
    struct vs_fitted start = {0}, line = {0};
    struct points p;
    double least = CACHES * b->samples->gpu.l2_bytes;
    if (!(least > 0))
        return true;
    if (!collect(b, "cuda_memory", "read", least, &p, err))
        return false;
    struct vs_err ignored; /* no line, no start */
    if (!p.sizes || p.count < 3 ||
        !vs_fit_line(p.bytes, p.seconds, p.count, &start, &line, &ignored) || !(start.value > 0) ||
        start.half > KNOWN * start.value)
        return true;
    *rate = line;
    return vs_calib_add(b, "arch.kernel_s", start,
                        "cuda_memory read, where its line meets no bytes", err);
}

/* Reads are what weights cost. A device that outruns its data sheet, or has none, is known by its
 * fastest traffic. */
static bool fit_memory(struct vs_calib *b, double sheet, struct vs_err *err) {
    static const char *const TRAFFIC[][2] = {
        {"cuda_memory", "read"}, {"cuda_memory", "copy"}, {"cuda_memory", "write"}};
    const struct vs_sample *read, *gemv, *best = NULL, *s;
    struct vs_fitted read_rate = {0}, gemv_rate = {0}, rate = {0}, other;
    if (!vs_calib_largest(b, "cuda_memory", "read", &read, &read_rate, err) ||
        !vs_calib_largest(b, "cuda_gemv", NULL, &gemv, &gemv_rate, err))
        return false;
    if (!read && !vs_calib_largest(b, "llama_tg", NULL, &read, &read_rate, err))
        return false;
    if (!fit_reads(b, &read_rate, err))
        return false;
    for (size_t i = 0; i < sizeof TRAFFIC / sizeof *TRAFFIC; i++) {
        if (!vs_calib_largest(b, TRAFFIC[i][0], TRAFFIC[i][1], &s, &other, err))
            return false;
        if (s && (!best || other.value > rate.value)) {
            best = s;
            rate = other;
        }
    }
    if (gemv && (!read || gemv_rate.value > read_rate.value)) {
        read = gemv;
        read_rate = gemv_rate;
    }
    if (best && rate.value > sheet) {
        sheet = rate.value;
        if (!vs_calib_add(b, "device.memory.bandwidth_bytes_per_s", rate, of_sample(b, best), err))
            return false;
    }
    if (read &&
        !add_fraction(b, "arch.read_fraction", read_rate, sheet, 1, of_sample(b, read), err))
        return false;
    if (!vs_calib_largest(b, "cuda_stream", NULL, &s, &other, err))
        return false;
    return !s || add_fraction(b, "arch.stream_fraction", other, sheet, 1, of_sample(b, s), err);
}

static const char *of_product(const struct vs_calib *b, const struct vs_sample *s) {
    return vs_arena_printf(b->arena, "cuda_gemm %s, %.0f x %.0f x %.0f", s->variant, s->m, s->n,
                           s->k);
}

static const struct vs_found *found_at(const struct vs_calib *b, const char *path) {
    for (size_t i = 0; i < b->profile->found_count; i++)
        if (vs_streq(b->profile->found[i].path, path))
            return &b->profile->found[i];
    return NULL;
}

/* The peak of a type as the profile will have it: found, else of the base. */
static double peak_of(const struct vs_calib *b, const char *path, struct vs_num base) {
    const struct vs_found *found = found_at(b, path);
    return found ? found->fitted.value : vs_num_or(base, 0);
}

static bool fit_products(struct vs_calib *b, const struct vs_device *base, struct vs_err *err) {
    const struct vs_sample *half, *brain, *full, *tensor;
    struct vs_fitted half_rate, brain_rate, full_rate, tensor_rate;
    double fp16 = peak_of(b, "device.compute.fp16_flops", base->compute.fp16_flops);
    double bf16 = peak_of(b, "device.compute.bf16_flops", base->compute.bf16_flops);
    double fp32 = peak_of(b, "device.compute.fp32_flops", base->compute.fp32_flops);
    double tf32 = peak_of(b, "device.compute.tf32_flops", base->compute.tf32_flops);
    if (!vs_calib_fastest(b, "cuda_gemm", "fp16", &half, &half_rate, err) ||
        !vs_calib_fastest(b, "cuda_gemm", "bf16", &brain, &brain_rate, err) ||
        !vs_calib_fastest(b, "cuda_gemm", "fp32", &full, &full_rate, err) ||
        !vs_calib_fastest(b, "cuda_gemm", "tf32", &tensor, &tensor_rate, err))
        return false;
    if (half && brain && brain_rate.value > half_rate.value)
        half = NULL; /* both have one peak: the better one tells what is reached */
    if (half
            ? !add_fraction(b, "arch.gemm_fraction", half_rate, fp16, 1.2, of_product(b, half), err)
            : brain && !add_fraction(b, "arch.gemm_fraction", brain_rate, bf16 > 0 ? bf16 : fp16,
                                     1.2, of_product(b, brain), err))
        return false;
    if (tensor && tf32 > 0)
        return add_fraction(b, "arch.gemm_fp32_fraction", tensor_rate, tf32, 1.2,
                            of_product(b, tensor), err);
    return !full || add_fraction(b, "arch.gemm_fp32_fraction", full_rate, fp32, 1.2,
                                 of_product(b, full), err);
}

/* Kernels of a graph follow each other without the host: their time is start and drain. */
static bool fit_launch(struct vs_calib *b, struct vs_err *err) {
    const struct vs_sample *s;
    struct vs_fitted rate;
    if (!vs_calib_fastest(b, "cuda_launch", "graph", &s, &rate, err))
        return false;
    if (!s || found_at(b, "arch.kernel_s"))
        return true;
    struct vs_fitted each = rate;
    each.value = 1 / rate.value;
    each.half = each.value * rate.half / rate.value;
    return vs_calib_add(b, "arch.kernel_s", each, "cuda_launch, an empty kernel of a graph", err);
}

/* A batch of faults brings one large page: its time less the copy's, times the pages that kernels
 * wait for at once, is the driver's. */
static bool fit_faults(struct vs_calib *b, const struct vs_device *base, struct vs_err *err) {
    const struct vs_sample *fault, *move;
    struct vs_fitted rate, copy;
    double pages = vs_num_or(base->arch.managed_fault_pages, 0);
    if (!vs_calib_largest(b, "cuda_managed", "fault-h2d", &fault, &rate, err) ||
        !vs_calib_largest(b, "cuda_managed", "prefetch-h2d", &move, &copy, err))
        return false;
    double seconds = fault && move ? pages * FAULT_BYTES * (1 / rate.value - 1 / copy.value) : 0;
    if (!(seconds > 0))
        return true;
    rate.half = seconds * rate.half / rate.value;
    rate.value = seconds;
    return vs_calib_add(b, "arch.managed_fault_s", rate,
                        "cuda_managed, faults less prefetch per 2 MiB", err);
}

static bool fit_peers(struct vs_calib *b, const struct vs_device *base, struct vs_err *err) {
    const struct vs_sample *s, *ring;
    struct vs_fitted rate, other;
    double count = b->samples->gpu.count;
    if (count > 0 && !vs_calib_fact(b, "device.node_gpus", count, "devices that CUDA names", err))
        return false;
    if (!vs_num_known(base->peer_bytes_per_s))
        return true;
    if (!vs_calib_fastest(b, "cuda_peer", "direct", &s, &rate, err) ||
        !vs_calib_fastest(b, "cuda_nccl", NULL, &ring, &other, err))
        return false;
    if (!s) {
        s = ring;
        rate = other;
    }
    return !s || vs_calib_add(b, "device.peer_bytes_per_s", rate, of_sample(b, s), err);
}

/* A line through the copies of all sizes in one direction; their fastest where there are few. */
static bool fit_direction(struct vs_calib *b, const char *variant, bool *found,
                          struct vs_fitted *latency, struct vs_fitted *rate, struct vs_err *err) {
    struct points p;
    const struct vs_sample *s;
    if (!collect(b, "cuda_host_copy", variant, 0, &p, err))
        return false;
    *found = p.count > 0;
    *latency = (struct vs_fitted){0};
    return p.sizes && p.count >= 3 ? vs_fit_line(p.bytes, p.seconds, p.count, latency, rate, err)
                                   : vs_calib_fastest(b, "cuda_host_copy", variant, &s, rate, err);
}

/* The narrowest link that carries the measured rate: what else is known of it stands in the
 * profile. */
static bool choose_link(struct vs_calib *b, double rate, struct vs_err *err) {
    static const char *const LINKS[] = {"pcie3x1",  "pcie3x4",  "pcie3x8",    "pcie3x16",
                                        "pcie4x16", "pcie5x16", "nvlink-c2c", NULL};
    struct vs_link *link = VS_NEW(b->arena, struct vs_link);
    if (!link)
        return vs_err_nomem(err);
    b->profile->link_base = link;
    for (size_t i = 0; LINKS[i]; i++) {
        if (!vs_link_load(b->arena, LINKS[i], link, err))
            return false;
        if (link->spec_bytes_per_s.value >= rate)
            return true;
    }
    return vs_calib_fact(b, "link.spec_bytes_per_s", rate, "faster than any link that is known",
                         err);
}

static bool fit_link(struct vs_calib *b, struct vs_err *err) {
    const struct vs_sample *both, *paged;
    struct vs_fitted up, down, latency, other, rate, slow;
    bool has_up, has_down;
    if (!fit_direction(b, "h2d-pinned", &has_up, &latency, &up, err) ||
        !fit_direction(b, "d2h-pinned", &has_down, &other, &down, err) ||
        !vs_calib_fastest(b, "cuda_host_copy", "both-pinned", &both, &rate, err) ||
        !vs_calib_largest(b, "cuda_host_copy", "h2d-pageable", &paged, &slow, err))
        return false;
    if (!has_up || !has_down)
        return true;
    b->profile->link = true;
    const char *how = latency.used > 0 ? "pinned copies of all sizes" : "pinned copies";
    return choose_link(b, fmax(up.value, down.value), err) &&
           vs_calib_add(b, "link.h2d_bytes_per_s", up, how, err) &&
           vs_calib_add(b, "link.d2h_bytes_per_s", down, how, err) &&
           (!both || vs_calib_add(b, "link.duplex_bytes_per_s", rate, of_sample(b, both), err)) &&
           (!paged ||
            vs_calib_add(b, "link.pageable_bytes_per_s", slow, of_sample(b, paged), err)) &&
           (!(latency.value > 0) ||
            vs_calib_add(b, "link.latency_s", latency, "h2d, where its line meets no bytes", err));
}

/* Memory that CUDA shows (a scaled profile has it already), and what a process takes of it. */
static bool fit_capacity(struct vs_calib *b, bool scaled, struct vs_err *err) {
    const struct vs_samples_gpu *gpu = &b->samples->gpu;
    return (scaled || !(gpu->memory_bytes > 0) ||
            vs_calib_fact(b, "device.memory.usable_bytes", gpu->memory_bytes,
                          "memory that CUDA names", err)) &&
           (!(gpu->context_bytes > 0) ||
            vs_calib_fact(b, "arch.context_torch_bytes", gpu->context_bytes,
                          "memory that was not free at the start, and what was taken since beside "
                          "tensors",
                          err));
}

/* How the device was when its probes had run: a cooler or hotter one has other clocks. */
static bool note_state(struct vs_calib *b, struct vs_err *err) {
    const struct vs_gpu_state *before = &b->samples->gpu.before, *after = &b->samples->gpu.after;
    return !(after->temperature_c > 0) ||
           vs_calib_note(
               b,
               vs_arena_printf(b->arena,
                               "the device went from %.0f to %.0f degrees C, and ended at "
                               "%.2f GHz and %.0f W",
                               before->temperature_c, after->temperature_c, 1e-9 * after->clock_hz,
                               after->power_w),
               err);
}

bool vs_calib_device(struct vs_calib *b, struct vs_err *err) {
    struct vs_profile *p = b->profile;
    bool scaled;
    if (!vs_known_device(b, &p->base, &scaled, err) || !fit_link(b, err))
        return false;
    if (!b->samples->gpu.name && !b->hw)
        return !(b->samples->gpu.memory_bytes > 0) ||
               vs_err_at(err, b->samples->file, 0, 0,
                         "names no GPU, expected --hw NAME: the profile that its numbers go into");
    if (!p->base)
        return vs_calib_note(
            b,
            vs_arena_printf(b->arena, "%s is not known and too little is said of it: no device",
                            b->samples->gpu.name),
            err);
    const struct vs_device *base = p->base->devices[0];
    const struct vs_sample *read;
    struct vs_fitted rate;
    if (!vs_calib_largest(b, "cuda_memory", "read", &read, &rate, err))
        return false;
    if (!read && b->samples->gpu.sms > 0) /* of vramsim's own probes */
        return vs_calib_missing(b, "cuda_memory", "device", err);
    p->device = true;
    return note_state(b, err) && fit_capacity(b, scaled, err) &&
           fit_memory(b, scaled ? 0 : base->memory.bandwidth_bytes_per_s.value, err) &&
           fit_products(b, base, err) && fit_launch(b, err) && fit_faults(b, base, err) &&
           fit_peers(b, base, err);
}
