/* What an operation asks of a machine: the cost laws. Their numbers are data: achievable fractions
 * of the generation (hwprofiles/archs), overridden by the engine file where a stack reaches another
 * one. */
#ifndef VS_RUN_COST_H
#define VS_RUN_COST_H

#include "engine/engine.h"
#include "hw/machine.h"
#include "plan/plan.h"

/* Resources. Capacities are nominal rates; an operation that reaches
 * only a fraction of one asks for more of it, so that a resource's utilization is the share of time
 * it is taken. */
enum vs_part {
    VS_PART_COMPUTE, /* the first six are each device's own: FLOP/s of the device in 16 bit */
    VS_PART_MEMORY,  /* bytes/s */
    VS_PART_H2D,
    VS_PART_D2H,
    VS_PART_PEER,        /* to the other devices: bytes/s of a ring */
    VS_PART_DUPLEX,      /* both directions of the link together */
    VS_PART_HOST_MEMORY, /* the host's */
    VS_PART_HOST_COMPUTE,
    VS_PART_STORAGE,
    VS_PART_COUNT
};
/* "gpu1.memory", "host.compute" into `out`. */
enum { VS_PART_NAME_SIZE = 32 };
void vs_part_name(enum vs_part part, unsigned device, char out[VS_PART_NAME_SIZE]);
static inline bool vs_part_is_host(enum vs_part part) { return part >= VS_PART_HOST_MEMORY; }

struct vs_need {
    enum vs_part part;
    double amount;
};
enum { VS_NEEDS_MAX = 6 };

struct vs_cost {
    double latency_s;
    struct vs_need needs[VS_NEEDS_MAX];
    size_t need_count;
};

/* Rates and fractions of one device of a case, looked up once. */
struct vs_rates {
    double capacity[VS_PART_COUNT];
    double gemm[VS_CLASS_COUNT]; /* FLOP/s that kernels on weights of a type class reach */
    double gemm_fp32, gemm_fp8, gemm_fp4, attention, naive_attention; /* FLOP/s of kernels */
    double read_fraction[VS_CLASS_COUNT]; /* by class of the weights that are read */
    double stream_fraction;
    double dequant_fraction[VS_CLASS_COUNT]; /* by class of the type that is unpacked */
    double element_scale, adapter_scale;
    double kv_fraction[2], kv_cap[2]; /* fused, naive; caps in bytes/s, 0 = none */
    double read_cap[VS_CLASS_COUNT];  /* bytes/s that kernels of a type class take in; 0 = none */
    double dequant_cap, element_cap;  /* the same of dequantization and element-wise kernels */
    double kernel_s, launch_s;
    double fault_s;        /* of the driver, for a batch of faults on managed pages */
    double fault_pages[2]; /* that a batch serves: of kernels that stream, of matrix products */
    double ranks;          /* all devices */
    double collective_s, rank_s; /* of a collective: its start, and each further member's turn */
    double node_ranks, node_bus; /* devices of a node, and the bus that they have there */
    double queue_depth; /* launches that a stream holds before the host must wait; 0 = any number */
    bool ridge;         /* GEMMs reach neither limit where both are near */
    double hop_slowdown; /* from device to device through the host, against a copy to one device */
    double pinned_slowdown, storage_fraction; /* of copies and reads by the engine's own code */
    double storage_write_slowdown;            /* read rate / write rate */
    double pageable_slowdown, link_latency_s; /* pinned rate / pageable rate */
    double host_fraction, cpu_flops;
    double cpu_plain_fraction; /* cores as their profile rates them, against the engine's kernels */
    double cpu_cache_rate;     /* bytes/s of cache that attention takes in; 0 = its FLOPs count */
    bool unified;
};
void vs_rates_init(struct vs_rates *rates, const struct vs_case *c, size_t device);

struct vs_cost vs_cost(const struct vs_rates *rates, const struct vs_op *op);

#endif
