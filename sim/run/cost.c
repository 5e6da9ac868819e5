#include "run/cost.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/maths.h"

void vs_part_name(enum vs_part part, unsigned device, char out[VS_PART_NAME_SIZE]) {
    static const char *const NAMES[] = {
        [VS_PART_COMPUTE] = "gpu%u.compute",   [VS_PART_MEMORY] = "gpu%u.memory",
        [VS_PART_H2D] = "link%u.h2d",          [VS_PART_D2H] = "link%u.d2h",
        [VS_PART_DUPLEX] = "link%u.both",      [VS_PART_PEER] = "net",
        [VS_PART_HOST_MEMORY] = "host.memory", [VS_PART_HOST_COMPUTE] = "host.compute",
        [VS_PART_STORAGE] = "storage.read",
    };
    const char *mark = strchr(NAMES[part], '%');
    if (mark)
        snprintf(out, VS_PART_NAME_SIZE, "%.*s%u%s", (int)(mark - NAMES[part]), NAMES[part], device,
                 mark + 2);
    else
        snprintf(out, VS_PART_NAME_SIZE, "%s", NAMES[part]);
}

/* Numbers of the engine file for this generation, else what the profile says. */
struct source {
    const struct vs_engine *engine;
    const char *arch;
};

static double number(const struct source *s, const char *name, double fallback) {
    return vs_engine_number(s->engine, name, s->arch, fallback);
}

/* "gemm_fraction_kquant": numbers that differ between classes of weight types. */
static double number_of_class(const struct source *s, const char *name, int class_of,
                              double fallback) {
    static const char *const CLASSES[] = {
        [VS_CLASS_FLOAT] = "float",   [VS_CLASS_LEGACY] = "legacy",
        [VS_CLASS_KQUANT] = "kquant", [VS_CLASS_IQUANT] = "iquant",
        [VS_CLASS_BNB] = "bnb",       [VS_CLASS_GPTQ] = "gptq",
        [VS_CLASS_FP8] = "fp8",       [VS_CLASS_FP8_BLOCKS] = "fp8_blocks",
        [VS_CLASS_MXFP4] = "mxfp4",   [VS_CLASS_NVFP4] = "nvfp4"};
    char full[64];
    snprintf(full, sizeof full, "%s_%s", name, CLASSES[class_of]);
    return number(s, full, fallback);
}

static double max3(double a, double b, double c) {
    double m = a > b ? a : b;
    return m > c ? m : c;
}

/* Large GEMMs run into the power limit, so cards of one generation do not scale with their peak:
 * the rate is the 4-norm of both limits (square roots only: every machine rounds them alike). */
static double under_power_limit(const struct source *s, const struct vs_device *d, double rate) {
    double per_watt = number(s, "flops_per_watt", vs_num_or(d->arch.flops_per_watt, 0));
    double watts = vs_num_or(d->compute.power_w, 0);
    if (!vs_streq(vs_engine_rule(s->engine, "power_limit", "off"), "on") || per_watt * watts <= 0)
        return rate;
    double a = rate * 1e-12, b = per_watt * watts * 1e-12;
    double sum = 1 / (a * a * a * a) + 1 / (b * b * b * b);
    return 1e12 / sqrt(sqrt(sum));
}

/* The rate at which operands of a class are multiplied as they are: those in blocks of 4 bit with a
 * power of two as scale beside activations in 8 bit. 0 = none: they are unpacked to 16 bit. */
static double own_peak(const struct vs_device *d, int class_of) {
    switch (class_of) {
    case VS_CLASS_FP8:
    case VS_CLASS_FP8_BLOCKS:
    case VS_CLASS_MXFP4:
        return vs_num_or(d->compute.fp8_flops, 0);
    case VS_CLASS_NVFP4:
        return vs_num_or(d->compute.fp4_flops, 0);
    default:
        return 0;
    }
}

/* "gemm_fraction_CLASS" is the share of a class's own rate, where it may have one: an engine that
 * states none, or a device without that rate, multiplies in 16 bit. */
static double class_rate(const struct source *s, const struct vs_device *d, int class_of,
                         double peak, double fraction) {
    double share = number_of_class(s, "gemm_fraction", class_of, 0), own = own_peak(d, class_of);
    bool packed = class_of >= VS_CLASS_FP8;
    if (packed && own > 0 && share > 0)
        return own * share;
    return peak * (share > 0 && !packed ? share : fraction);
}

static void device_rates(struct vs_rates *r, const struct source *s, const struct vs_device *d) {
    const struct vs_arch *a = &d->arch;
    double fp32 = d->compute.fp32_flops.value;
    double peak = vs_num_or(d->compute.bf16_flops, d->compute.fp16_flops.value);
    if (vs_streq(vs_engine_rule(s->engine, "gemm_peak", "acc32"), "acc16"))
        peak = max3(vs_num_or(d->compute.fp16_acc16_flops, 0), d->compute.fp16_flops.value, fp32);
    r->capacity[VS_PART_COMPUTE] = peak;
    r->capacity[VS_PART_MEMORY] = d->memory.bandwidth_bytes_per_s.value;
    double fraction = number(s, "gemm_fraction", a->gemm_fraction.value);
    for (int i = 0; i < VS_CLASS_COUNT; i++)
        r->gemm[i] = under_power_limit(s, d, class_rate(s, d, i, peak, fraction));
    r->gemm_fp8 = vs_num_or(d->compute.fp8_flops, peak) * number(s, "gemm_fp8_scale", 1) * fraction;
    r->gemm_fp4 = vs_num_or(d->compute.fp4_flops, peak) * number(s, "gemm_fp4_scale", 1) * fraction;
    r->gemm_fp32 = number(s, "gemm_fp32_fraction", a->gemm_fp32_fraction.value) * fp32;
    r->attention = number(s, "attention_fraction", a->attention_fraction.value) * peak;
    r->naive_attention =
        number(s, "naive_attention_fraction", number(s, "naive_attention_scale", 1) * fraction) *
        peak;
    double read = number(s, "read_fraction", a->read_fraction.value);
    for (int i = 0; i < VS_CLASS_COUNT; i++)
        r->read_fraction[i] = number_of_class(s, "read_fraction", i, read);
    r->stream_fraction = number(s, "stream_fraction", a->stream_fraction.value);
    double dequant = number(s, "dequant_fraction", r->stream_fraction);
    for (int i = 0; i < VS_CLASS_COUNT; i++)
        r->dequant_fraction[i] = number_of_class(s, "dequant_fraction", i, dequant);
    r->kernel_s = number(s, "kernel_s", a->kernel_s.value);
    r->fault_s = vs_num_or(a->managed_fault_s, 0);
    r->fault_pages[0] = vs_num_or(a->managed_fault_pages, 1);
    double at_once = d->compute.sms.value * vs_num_or(a->managed_fault_gemm_sm_pages, 0);
    r->fault_pages[1] = at_once > 1 ? at_once : 1;
    r->kv_fraction[0] = number(s, "kv_fraction_fused", read);
    r->kv_fraction[1] = number(s, "kv_fraction_naive", read);
    /* Bytes per clock and SM that a kernel can take in: a limit of the processor, not of the
     * memory. */
    double clocks = d->compute.sms.value * d->compute.clock_hz.value;
    r->kv_cap[0] = clocks * number(s, "kv_cap_fused", 0);
    r->kv_cap[1] = clocks * number(s, "kv_cap_naive", 0);
    r->dequant_cap = clocks * number(s, "dequant_cap", 0);
    r->element_cap = clocks * number(s, "element_cap", 0);
    for (int i = 0; i < VS_CLASS_COUNT; i++)
        r->read_cap[i] = clocks * number_of_class(s, "read_cap", i, 0);
}

/* Copies of weights as an engine's own code reaches them, as a share of the link's nominal rate. */
static void engine_copies(struct vs_rates *r, const struct source *s, double nominal, double h2d) {
    double pinned = number(s, "link_fraction", 0),
           pageable = number(s, "pageable_link_fraction", 0);
    if (pinned > 0)
        r->pinned_slowdown = h2d / (pinned * nominal);
    if (pageable > 0)
        r->pageable_slowdown = h2d / (pageable * nominal);
}

static void link_rates(struct vs_rates *r, const struct source *s, const struct vs_case *c) {
    const struct vs_machine *m = c->machine;
    const struct vs_link *l = m->link;
    double h2d = l ? l->h2d_bytes_per_s.value : r->capacity[VS_PART_MEMORY] / 2;
    double d2h = l ? l->d2h_bytes_per_s.value : h2d;
    r->capacity[VS_PART_H2D] = h2d;
    r->capacity[VS_PART_D2H] = d2h;
    r->capacity[VS_PART_DUPLEX] = l ? l->duplex_bytes_per_s.value : h2d + d2h;
    bool mapped = vs_streq(vs_engine_rule(s->engine, "host_weights", "heap"), "mmap");
    double pageable =
        l ? vs_num_or(mapped ? l->mmap_bytes_per_s : l->pageable_bytes_per_s, h2d) : h2d;
    r->pageable_slowdown = pageable < h2d ? h2d / pageable : 1;
    r->pinned_slowdown = 1;
    if (l && c->task == VS_TASK_GENERATE)
        engine_copies(r, s, l->spec_bytes_per_s.value, h2d);
    r->link_latency_s = l ? l->latency_s.value : 0;
}

/* The bus bandwidth of a ring over all devices: NVLink inside a node, the link through the host
 * without it, the network where there are several nodes. */
static void peer_rates(struct vs_rates *r, const struct source *s, const struct vs_case *c) {
    const struct vs_machine *m = c->machine;
    double peer = m->device_count > 0 ? vs_num_or(m->devices[0]->peer_bytes_per_s, 0) : 0;
    double per_node = vs_node_devices(c);
    double bus = peer > 0 ? peer * number(s, "peer_fraction", 1)
                          : r->capacity[VS_PART_H2D] * number(s, "host_staged_fraction", 1);
    r->ranks = m->device_count > 1 ? (double)m->device_count : 1;
    r->node_ranks = r->ranks < per_node ? r->ranks : per_node;
    r->node_bus = bus;
    if (r->ranks > per_node) {
        double net = vs_num_or(m->net_bytes_per_s, bus) * number(s, "net_fraction", 1);
        bus = net < bus ? net : bus;
    }
    r->capacity[VS_PART_PEER] = bus;
    /* Without peer access each of a ring's turns goes through the host. */
    double rank_s = number(s, "collective_rank_s", 0);
    if (peer <= 0)
        rank_s = number(s, "collective_staged_rank_s", rank_s);
    r->collective_s = number(s, "collective_s", 0);
    r->rank_s = rank_s;
}

/* Threads stand on large cores first. Kernels deal out rows evenly, so that the slowest core ends a
 * product, or as threads come for them (rule "cpu_rows"). */
static double cpu_flops(const struct source *s, const struct vs_host *h, double threads) {
    double core = h->flops_per_core.value, small = vs_num_or(h->small_core_flops, core);
    double large = vs_host_large_cores(h);
    if (threads <= large)
        return threads * core;
    if (vs_streq(vs_engine_rule(s->engine, "cpu_rows", "even"), "taken"))
        return large * core + (threads - large) * small;
    return threads * small;
}

/* Equal ranks work on their host at the same time: the one that is simulated has its part of
 * processor, memory and storage. */
static void host_rates(struct vs_rates *r, const struct source *s, const struct vs_case *c) {
    const struct vs_host *h = c->machine->host;
    double bandwidth = h->bandwidth_bytes_per_s.value, ranks = vs_node_ranks(c);
    double read = vs_num_or(h->measured_bytes_per_s, bandwidth * h->read_fraction.value) / ranks;
    r->capacity[VS_PART_HOST_MEMORY] =
        c->machine->unified ? r->capacity[VS_PART_MEMORY] : bandwidth / ranks;
    r->host_fraction = read / r->capacity[VS_PART_HOST_MEMORY] * number(s, "cpu_read_scale", 1);
    double plain = cpu_flops(s, h, (double)vs_plan_cpu_threads(c)) / ranks;
    r->cpu_flops = plain * number(s, "cpu_gemm_scale", 1);
    if (vs_is(&c->axes, VS_AXIS_REPACK, "on"))
        r->cpu_flops *= number(s, "cpu_repack_scale", 1);
    r->cpu_plain_fraction = plain / r->cpu_flops;
    r->cpu_cache_rate = number(s, "cpu_cache_bytes_per_s", 0);
    r->capacity[VS_PART_HOST_COMPUTE] = r->cpu_flops;
    const struct vs_storage *disk = c->machine->storage; /* without one, files come for nothing */
    r->storage_fraction = disk ? number(s, "storage_fraction", 1) : 0;
    r->capacity[VS_PART_STORAGE] = disk ? disk->read_bytes_per_s.value / ranks : 1;
    r->storage_write_slowdown =
        disk ? disk->read_bytes_per_s.value / disk->write_bytes_per_s.value : 1;
}

void vs_rates_init(struct vs_rates *r, const struct vs_case *c, size_t device) {
    const struct vs_machine *m = c->machine;
    struct source s = {c->engine, m->device_count > 0 ? m->devices[device]->arch.name : NULL};
    *r = (struct vs_rates){.unified = m->unified};
    if (m->device_count > 0)
        device_rates(r, &s, m->devices[device]);
    else
        r->capacity[VS_PART_COMPUTE] = r->capacity[VS_PART_MEMORY] = 1;
    link_rates(r, &s, c);
    peer_rates(r, &s, c);
    host_rates(r, &s, c);
    r->element_scale = number(&s, "element_scale", 1);
    r->adapter_scale = number(&s, "adapter_scale", 1);
    r->launch_s = number(&s, "launch_s", 0);
    r->ridge = vs_streq(vs_engine_rule(c->engine, "gemm_ridge", "sharp"), "round");
    r->queue_depth = number(&s, "queue_depth", 0);
    r->hop_slowdown =
        r->capacity[VS_PART_H2D] / number(&s, "hop_bytes_per_s", r->capacity[VS_PART_H2D]);
}

static void need(struct vs_cost *cost, enum vs_part part, double amount) {
    if (amount > 0)
        cost->needs[cost->need_count++] = (struct vs_need){part, amount};
}

/* Bytes on the device's memory, and the processor time that taking them in costs. */
static void read_memory(struct vs_cost *cost, const struct vs_rates *r, double bytes,
                        double fraction, double cap) {
    need(cost, VS_PART_MEMORY, bytes / fraction);
    if (cap > 0)
        need(cost, VS_PART_COMPUTE, bytes / cap * r->capacity[VS_PART_COMPUTE]);
}

static void compute(struct vs_cost *cost, const struct vs_rates *r, double flops, double rate) {
    need(cost, VS_PART_COMPUTE, flops / rate * r->capacity[VS_PART_COMPUTE]);
}

static double gemm_rate(const struct vs_rates *r, const struct vs_op *op) {
    return op->fp4    ? r->gemm_fp4
           : op->fp8  ? r->gemm_fp8
           : op->fp32 ? r->gemm_fp32
                      : r->gemm[op->type ? op->type->class_of : VS_CLASS_FLOAT];
}

/* Cube root of 1 to 2 by Newton's steps from above, so that every machine rounds it alike. */
static double cube_root(double x) {
    double r = 1.26;
    for (int i = 0; i < 8; i++)
        r = (2 * r + x / (r * r)) / 3;
    return r;
}

/* The time of a GEMM that reads and computes for comparable times is the 3-norm of both (op tables
 * of serving engines: 3.6 % median error, against 4.0 % with the larger of them). */
static void round_ridge(struct vs_cost *cost, const struct vs_rates *r) {
    double read = 0, compute = 0;
    for (size_t i = 0; i < cost->need_count; i++) {
        double seconds = cost->needs[i].amount / r->capacity[cost->needs[i].part];
        read = cost->needs[i].part == VS_PART_MEMORY ? seconds : read;
        compute = cost->needs[i].part == VS_PART_COMPUTE ? seconds : compute;
    }
    double more = read > compute ? read : compute, less = read > compute ? compute : read;
    double ratio = more > 0 ? less / more : 0, longer = cube_root(1 + ratio * ratio * ratio);
    for (size_t i = 0; i < cost->need_count; i++)
        cost->needs[i].amount *= longer;
}

static void gemv(struct vs_cost *cost, const struct vs_rates *r, const struct vs_op *op) {
    enum vs_type_class class_of = op->type ? op->type->class_of : VS_CLASS_FLOAT;
    double cap = r->read_cap[class_of];
    read_memory(cost, r, op->bytes, r->read_fraction[class_of], cap);
    if (cap <= 0)
        compute(cost, r, op->flops, gemm_rate(r, op));
}

static void matrices(struct vs_cost *cost, const struct vs_rates *r, const struct vs_op *op) {
    if (op->kind == VS_WORK_GEMV) {
        gemv(cost, r, op);
    } else {
        need(cost, VS_PART_MEMORY, op->bytes / r->stream_fraction);
        double share = op->efficiency > 0 ? op->efficiency : 1;
        compute(cost, r, op->flops, gemm_rate(r, op) * share);
    }
    if (r->ridge)
        round_ridge(cost, r);
}

static void copy(struct vs_cost *cost, const struct vs_rates *r, const struct vs_op *op) {
    cost->latency_s += r->link_latency_s;
    if (r->unified) {
        need(cost, VS_PART_MEMORY, 2 * op->bytes);
        return;
    }
    double slowdown = op->pinned ? r->pinned_slowdown : r->pageable_slowdown;
    need(cost, op->lane == VS_LANE_D2H ? VS_PART_D2H : VS_PART_H2D, op->bytes * slowdown);
    need(cost, VS_PART_DUPLEX, op->bytes);
    need(cost, VS_PART_MEMORY, op->bytes);
    need(cost, VS_PART_HOST_MEMORY, op->bytes);
}

static double lesser(double a, double b) { return a < b ? a : b; }

/* Bytes of the slower bus, which the resource stands for, that take as long as `bytes` inside a
 * node. */
static double inside_node(const struct vs_rates *r, double bytes) {
    return bytes * r->capacity[VS_PART_PEER] / r->node_bus;
}

/* A ring inside a node has the node's bus to itself. Rings between nodes whose members stand
 * `stride` ranks apart run side by side, and share the network: as many as a node has ranks between
 * two members. */
static void ring(struct vs_cost *cost, const struct vs_rates *r, const struct vs_op *op) {
    double turns = op->kind == VS_WORK_ALL_REDUCE ? 2 : 1;
    double members = op->ring.members > 0 ? op->ring.members : r->ranks;
    double stride = op->ring.stride > 0 ? op->ring.stride : 1;
    double bytes = turns * op->bytes * (members - 1) / members;
    bool inside = members * stride <= r->node_ranks;
    cost->latency_s += r->collective_s + (members - 1) * r->rank_s;
    need(cost, VS_PART_PEER,
         inside ? inside_node(r, bytes) : bytes * lesser(stride, r->node_ranks));
}

/* All to all of vectors, each with so many copies for members drawn evenly: each member keeps its
 * own part, sends some inside the node, and shares the network with the node's other ranks for the
 * rest: one copy to each other node that has one of the members, from where it is handed on
 * (DeepEP, and Megatron-LM's flex dispatcher). Both go at the same time. */
static void all_to_all(struct vs_cost *cost, const struct vs_rates *r, const struct vs_op *op) {
    double members = op->ring.members > 0 ? op->ring.members : r->ranks;
    double near = lesser(members, r->node_ranks);
    double inside = inside_node(r, op->bytes * (near - 1) / members);
    double nodes = members / near, vectors = op->copies > 0 ? op->bytes / op->copies : 0;
    double outside =
        vectors * (nodes - 1) * (1 - vs_power(1 - 1 / nodes, (uint64_t)op->copies)) * r->node_ranks;
    cost->latency_s += r->collective_s + (members - 1) * r->rank_s;
    need(cost, VS_PART_PEER, inside > outside ? inside : outside);
}

/* All ranks of a node send to ranks of the next group at the same time. */
static void send_on(struct vs_cost *cost, const struct vs_rates *r, const struct vs_op *op) {
    bool inside = 2.0 * op->ring.stride <= r->node_ranks;
    cost->latency_s += r->collective_s;
    need(cost, VS_PART_PEER,
         inside ? inside_node(r, op->bytes) : op->bytes * lesser(op->ring.stride, r->node_ranks));
}

static void attention(struct vs_cost *cost, const struct vs_rates *r, const struct vs_op *op) {
    double rate = op->fp32                              ? r->gemm_fp32
                  : op->kind == VS_WORK_NAIVE_ATTENTION ? r->naive_attention
                                                        : r->attention;
    need(cost, VS_PART_MEMORY, op->bytes / r->stream_fraction);
    compute(cost, r, op->flops, rate);
}

static enum vs_part host_memory(const struct vs_rates *r) {
    return r->unified ? VS_PART_MEMORY : VS_PART_HOST_MEMORY;
}

/* Attention over a cache in host memory: as fast as matrix kernels would do its work, or as the
 * cache can be taken in. */
static void cpu_attention(struct vs_cost *cost, const struct vs_rates *r, const struct vs_op *op) {
    need(cost, host_memory(r), op->bytes / r->host_fraction);
    need(cost, VS_PART_HOST_COMPUTE,
         r->cpu_cache_rate > 0 ? op->bytes / r->cpu_cache_rate * r->cpu_flops
                               : op->flops / r->cpu_plain_fraction);
}

/* Decode attention over a cache: latents are worked on for as long as they are read, or longer. */
static void kv_read(struct vs_cost *cost, const struct vs_rates *r, const struct vs_op *op) {
    bool naive = op->kind == VS_WORK_KV_READ_NAIVE;
    read_memory(cost, r, op->bytes, r->kv_fraction[naive], r->kv_cap[naive]);
    if (op->efficiency > 0 && r->kv_cap[naive] <= 0)
        compute(cost, r, op->flops, r->attention * op->efficiency);
}

struct vs_cost vs_cost(const struct vs_rates *r, const struct vs_op *op) {
    struct vs_cost cost = {.latency_s = op->cost_s + op->kernels * r->kernel_s};
    switch (op->kind) {
    case VS_WORK_GEMM:
    case VS_WORK_GEMV:
        matrices(&cost, r, op);
        break;
    case VS_WORK_ATTENTION:
    case VS_WORK_NAIVE_ATTENTION:
        attention(&cost, r, op);
        break;
    case VS_WORK_KV_READ:
    case VS_WORK_KV_READ_NAIVE:
        kv_read(&cost, r, op);
        break;
    case VS_WORK_ELEMENT:
        read_memory(&cost, r, op->bytes * r->element_scale, r->stream_fraction, r->element_cap);
        break;
    case VS_WORK_ADAPTER:
        need(&cost, VS_PART_MEMORY, op->bytes * r->adapter_scale / r->stream_fraction);
        compute(&cost, r, op->flops, gemm_rate(r, op));
        break;
    case VS_WORK_DEQUANT:
        read_memory(&cost, r, op->bytes,
                    r->dequant_fraction[op->type ? op->type->class_of : VS_CLASS_FLOAT],
                    r->dequant_cap);
        break;
    case VS_WORK_OPTIMIZER:
        need(&cost, VS_PART_MEMORY, op->bytes / r->stream_fraction);
        break;
    case VS_WORK_COPY:
        copy(&cost, r, op);
        break;
    case VS_WORK_GATHER:
    case VS_WORK_ALL_REDUCE:
        ring(&cost, r, op);
        break;
    case VS_WORK_ALL_TO_ALL:
        all_to_all(&cost, r, op);
        break;
    case VS_WORK_SEND:
        send_on(&cost, r, op);
        break;
    case VS_WORK_HOP:
        need(&cost, VS_PART_H2D, op->bytes * r->hop_slowdown);
        break;
    case VS_WORK_CPU_GEMV:
    case VS_WORK_CPU_GEMM:
    case VS_WORK_CPU_OPTIMIZER:
        need(&cost, host_memory(r), op->bytes / r->host_fraction);
        need(&cost, VS_PART_HOST_COMPUTE, op->flops);
        break;
    case VS_WORK_CPU_ATTENTION:
        cpu_attention(&cost, r, op);
        break;
    case VS_WORK_STORAGE_READ:
        need(&cost, VS_PART_STORAGE, r->storage_fraction > 0 ? op->bytes / r->storage_fraction : 0);
        break;
    case VS_WORK_STORAGE_WRITE:
        need(&cost, VS_PART_STORAGE, op->bytes / r->storage_fraction * r->storage_write_slowdown);
        break;
    case VS_WORK_NOTHING:
    case VS_WORK_FIXED:
    case VS_WORK_SYNC:
    case VS_WORK_KIND_COUNT:
        break;
    }
    return cost;
}
