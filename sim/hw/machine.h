/* Hardware profiles: devices, hosts, links, storage, and the machine that they make up.
 *
 * All numbers are data (hwprofiles/, JSON) with method and source; a generation's achievable
 * fractions live in hwprofiles/archs and are merged into the device. Nothing here knows models or
 * engines. Everything lives in the arena that it was loaded into. Rates are per second, one way;
 * capacities in bytes.
 */
#ifndef VS_HW_MACHINE_H
#define VS_HW_MACHINE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/num.h"

/* What a generation of devices reaches of its peaks: hwprofiles/archs/NAME.json. */
struct vs_arch {
    const char *name;                 /* "ampere", "ampere-hbm", "ada", "hopper", "apple-m2", ... */
    struct vs_num read_fraction;      /* long reads of weights (GEMV), share of memory bandwidth */
    struct vs_num stream_fraction;    /* element-wise kernels that read and write */
    struct vs_num gemm_fraction;      /* large 16-bit GEMM, share of peak */
    struct vs_num gemm_fp32_fraction; /* the same for fp32/tf32 GEMM */
    struct vs_num attention_fraction; /* fused (flash) attention, share of the 16-bit peak */
    struct vs_num
        flops_per_watt; /* sustained GEMM FLOP/s per watt of TDP; large GEMMs hit the power limit */
    struct vs_num context_bytes;        /* what a process's context and loaded kernels take */
    struct vs_num context_torch_bytes;  /* the same for a PyTorch process */
    struct vs_num blas_workspace_bytes; /* cuBLAS workspace per handle in PyTorch */
    struct vs_num kernel_s;             /* shortest useful kernel: start and drain */
    /* Managed memory: what the driver takes to serve a batch of faults, and the pages that kernels
     * which stream, or multiply matrices, wait for at once; unknown where kernels can't fault. */
    struct vs_num managed_fault_s, managed_fault_pages, managed_fault_gemm_sm_pages;
    /* What of the label a process can use where the device file doesn't say: of memory with inline
     * ECC, of up to usable_small_bytes, and of any other. */
    struct vs_num usable_ecc_fraction, usable_small_fraction, usable_small_bytes, usable_fraction;
};

enum vs_device_kind { VS_DEVICE_DISCRETE, VS_DEVICE_UNIFIED, VS_DEVICE_CPU };

struct vs_device {
    const char *name, *title, *vendor, *file;
    enum vs_device_kind kind;
    struct vs_arch arch;
    struct {
        const char *kind; /* "GDDR6X", "HBM3", "LPDDR5" */
        bool inline_ecc;
        struct vs_num nominal_bytes, usable_bytes; /* usable: what CUDA reports as the total */
        struct vs_num bandwidth_bytes_per_s;
    } memory;
    struct {
        /* fp16 accumulates in fp32; bf16 is unknown where no unit has it (fp32 rate at best) */
        struct vs_num fp32_flops, tf32_flops, fp16_flops, fp16_acc16_flops, bf16_flops, fp8_flops,
            fp4_flops;
        struct vs_num sms, clock_hz, power_w;
    } compute;
    const char *link;      /* name in hwprofiles/links, e.g. "pcie4x16"; NULL for unified memory */
    const char *peer_link; /* NVLink and the like; may be NULL */
    struct vs_num peer_bytes_per_s;
    struct vs_num node_gpus;
    const char *machine; /* name of the default machine */
};

struct vs_host {
    const char *name, *title, *file;
    struct vs_num ram_bytes, bandwidth_bytes_per_s; /* theoretical */
    struct vs_num measured_bytes_per_s; /* a measured read rate of the whole host, if any */
    struct vs_num read_fraction;        /* what CPU kernels reach of bandwidth */
    struct vs_num cores, sockets,
        flops_per_core; /* 4-bit/AVX-class GEMM rate of one core, FLOP/s */
    struct vs_num small_cores,
        small_core_flops; /* some of the cores, and the rate of one of them */
    struct vs_num
        reserved_bytes;  /* what the system keeps; the machine file's where the host has none */
    const char *link;    /* of the board's widest slot; NULL = that of the machine file */
    const char *storage; /* what stands in it; NULL = that of the machine file */
};

struct vs_link {
    const char *name, *title, *file;
    struct vs_num spec_bytes_per_s;
    struct vs_num h2d_bytes_per_s, d2h_bytes_per_s; /* pinned, copy engine */
    struct vs_num duplex_bytes_per_s;               /* both directions at once, sum */
    struct vs_num pageable_bytes_per_s;             /* unknown between devices (NVLink) */
    struct vs_num mmap_bytes_per_s; /* from file-backed pages; unknown between devices */
    struct vs_num latency_s;
};

struct vs_storage {
    const char *name, *title, *file;
    struct vs_num capacity_bytes, read_bytes_per_s, write_bytes_per_s, latency_s;
};

enum { VS_DEVICES_MAX = 1024 };

struct vs_machine {
    const char *name;  /* "rtx4090 in desktop-64g" */
    const char *hw;    /* as asked: "rtx4090", "rtx4090x2" */
    const char *board; /* "desktop-64g"; NULL for unified memory */
    const struct vs_device *const *devices;
    size_t device_count; /* 0 with --hw cpu */
    const struct vs_host *host;
    const struct vs_link *link; /* of every device; NULL with unified memory */
    const struct vs_storage *storage;
    struct vs_num net_bytes_per_s; /* per node, one way */
    unsigned node_devices;         /* that stand in one node; more than there are with one node */
    bool unified;                  /* CPU and GPU share one memory: capacity and bandwidth */
    const char *const *assumed;    /* sentences such as "capacity assumed (0.98 x label)" */
    size_t assumed_count;
};

struct vs_override {
    const char *path, *value;
}; /* one `--set` */

struct vs_machine_request {
    const char *hw;                    /* NAME, FILE, NAMExN, A+B, "cpu", a host's NAME (no GPU) */
    unsigned gpus;                     /* 0 = as hw says */
    const char *host, *link, *storage; /* replace part of the machine; NULL = the machine's own */
    uint64_t ram_bytes;     /* 0 = the host's; with unified memory: the memory's size (usable by the
                               arch's rule) */
    double net_bytes_per_s; /* 0 = the machine's own */
    unsigned nodes;         /* 0 = as many as the devices fill */
    const struct vs_override
        *overrides; /* those whose path begins with device., arch., host., link., storage. */
    size_t override_count;
};

/* What stands around the devices: hwprofiles/machines/NAME.json. */
struct vs_board {
    const char *name, *title, *file;
    const char *host, *storage;
    const char *link;           /* NULL with unified memory */
    const char *const *devices; /* words as in --hw; may be none */
    size_t device_count;
    struct vs_num reserved_bytes;
    const struct vs_json *net; /* object: arch or "default" -> number; or NULL */
};

/* Loads and puts together. Bad names get the three nearest. */
bool vs_machine_load(struct vs_arena *arena, const struct vs_machine_request *request,
                     const struct vs_machine **machine, struct vs_err *err);

bool vs_device_load(struct vs_arena *arena, const char *name, struct vs_device *device,
                    struct vs_err *err);
bool vs_host_load(struct vs_arena *arena, const char *name, struct vs_host *host,
                  struct vs_err *err);
bool vs_link_load(struct vs_arena *arena, const char *name, struct vs_link *link,
                  struct vs_err *err);
bool vs_board_read(struct vs_arena *arena, const char *name, struct vs_board *board,
                   struct vs_err *err);
bool vs_storage_load(struct vs_arena *arena, const char *name, struct vs_storage *storage,
                     struct vs_err *err);

/* Cores that are not small ones; 0 when all are. */
double vs_host_large_cores(const struct vs_host *host);

/* Tables for `show` and `--set`. */
extern const struct vs_field vs_device_fields[], vs_arch_fields[], vs_host_fields[],
    vs_link_fields[], vs_storage_fields[];
extern const size_t vs_device_field_count, vs_arch_field_count, vs_host_field_count,
    vs_link_field_count, vs_storage_field_count;

#endif
