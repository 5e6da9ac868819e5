#include "hw/machine.h"

#include <stddef.h>

/* Bounds keep typing errors out (a rate in GB/s where bytes per second are due), not unusual
 * hardware. */
#define MEMORY_LOW 1048576.0 /* 1 MiB */
#define MEMORY_HIGH 1.2e15   /* about 1 PiB */
#define RATE_LOW 1e6
#define RATE_HIGH 1e15
#define FLOPS_LOW 1e6
#define FLOPS_HIGH 1e19

/* One line of a table: the path in the file is the path in the struct. */
#define FIELD(type, path, required, low, high)                                                     \
    { #path, offsetof(struct type, path), required, low, high }

#define DEVICE(path, required, low, high) FIELD(vs_device, path, required, low, high)
#define ARCH(path, required, low, high) FIELD(vs_arch, path, required, low, high)
#define HOST(path, required, low, high) FIELD(vs_host, path, required, low, high)
#define LINK(path, required, low, high) FIELD(vs_link, path, required, low, high)
#define STORAGE(path, required, low, high) FIELD(vs_storage, path, required, low, high)
#define COUNT_OF(table) (sizeof(table) / sizeof *(table))

const struct vs_field vs_device_fields[] = {
    DEVICE(memory.nominal_bytes, true, MEMORY_LOW, MEMORY_HIGH),
    DEVICE(memory.usable_bytes, false, MEMORY_LOW, MEMORY_HIGH),
    DEVICE(memory.bandwidth_bytes_per_s, true, RATE_LOW, RATE_HIGH),
    DEVICE(compute.fp32_flops, true, FLOPS_LOW, FLOPS_HIGH),
    DEVICE(compute.tf32_flops, false, FLOPS_LOW, FLOPS_HIGH),
    DEVICE(compute.fp16_flops, true, FLOPS_LOW, FLOPS_HIGH),
    DEVICE(compute.fp16_acc16_flops, false, FLOPS_LOW, FLOPS_HIGH),
    DEVICE(compute.bf16_flops, false, FLOPS_LOW, FLOPS_HIGH),
    DEVICE(compute.fp8_flops, false, FLOPS_LOW, FLOPS_HIGH),
    DEVICE(compute.fp4_flops, false, FLOPS_LOW, FLOPS_HIGH),
    DEVICE(compute.sms, true, 1, 1e6),
    DEVICE(compute.clock_hz, true, 1e6, 1e11),
    DEVICE(compute.power_w, false, 1, 1e5),
    DEVICE(peer_bytes_per_s, false, RATE_LOW, RATE_HIGH),
    DEVICE(node_gpus, true, 1, VS_DEVICES_MAX),
};
const size_t vs_device_field_count = COUNT_OF(vs_device_fields);

/* A GEMM may pass 1: the real clock can exceed the boost clock that peaks are computed from. */
const struct vs_field vs_arch_fields[] = {
    ARCH(read_fraction, true, 1e-3, 1),
    ARCH(stream_fraction, true, 1e-3, 1),
    ARCH(gemm_fraction, true, 1e-3, 1.2),
    ARCH(gemm_fp32_fraction, true, 1e-3, 1.2),
    ARCH(attention_fraction, true, 1e-3, 1.2),
    ARCH(flops_per_watt, false, 1e6, 1e15),
    ARCH(context_bytes, true, 0, 1e12),
    ARCH(context_torch_bytes, true, 0, 1e12),
    ARCH(blas_workspace_bytes, true, 0, 1e12),
    ARCH(kernel_s, true, 0, 1),
    ARCH(managed_fault_s, false, 0, 1),
    ARCH(managed_fault_pages, false, 1, 1e6),
    ARCH(managed_fault_gemm_sm_pages, false, 1e-3, 1e3),
    ARCH(usable_ecc_fraction, false, 0.1, 1),
    ARCH(usable_small_fraction, false, 0.1, 1),
    ARCH(usable_small_bytes, false, MEMORY_LOW, MEMORY_HIGH),
    ARCH(usable_fraction, true, 0.1, 1),
};
const size_t vs_arch_field_count = COUNT_OF(vs_arch_fields);

const struct vs_field vs_host_fields[] = {
    HOST(ram_bytes, true, MEMORY_LOW, MEMORY_HIGH),
    HOST(bandwidth_bytes_per_s, true, RATE_LOW, RATE_HIGH),
    HOST(measured_bytes_per_s, false, RATE_LOW, RATE_HIGH),
    HOST(read_fraction, true, 1e-3, 1),
    HOST(cores, true, 1, 65536),
    HOST(sockets, true, 1, 1024),
    HOST(flops_per_core, true, FLOPS_LOW, 1e15),
    HOST(small_cores, false, 0, 65536),
    HOST(small_core_flops, false, FLOPS_LOW, 1e15),
    HOST(reserved_bytes, false, 0, MEMORY_HIGH),
};
const size_t vs_host_field_count = COUNT_OF(vs_host_fields);

const struct vs_field vs_link_fields[] = {
    LINK(spec_bytes_per_s, true, RATE_LOW, RATE_HIGH),
    LINK(h2d_bytes_per_s, true, RATE_LOW, RATE_HIGH),
    LINK(d2h_bytes_per_s, true, RATE_LOW, RATE_HIGH),
    LINK(duplex_bytes_per_s, true, RATE_LOW, RATE_HIGH),
    LINK(pageable_bytes_per_s, false, RATE_LOW, RATE_HIGH),
    LINK(mmap_bytes_per_s, false, RATE_LOW, RATE_HIGH),
    LINK(latency_s, true, 0, 1),
};
const size_t vs_link_field_count = COUNT_OF(vs_link_fields);

const struct vs_field vs_storage_fields[] = {
    STORAGE(capacity_bytes, true, MEMORY_LOW, 1e18),
    STORAGE(read_bytes_per_s, true, RATE_LOW, RATE_HIGH),
    STORAGE(write_bytes_per_s, true, RATE_LOW, RATE_HIGH),
    STORAGE(latency_s, true, 0, 10),
};
const size_t vs_storage_field_count = COUNT_OF(vs_storage_fields);
