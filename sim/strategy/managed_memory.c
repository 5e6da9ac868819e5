/* Managed memory (cudaMallocManaged; llama.cpp: GGML_CUDA_ENABLE_UNIFIED_MEMORY=1): what is on a
 * device may be larger than it. Pages of 2 MiB come over the link when a kernel misses them, in
 * place of the ones used longest ago, which go back to host memory.
 *
 * Needs a driver that serves the faults of a kernel: NVIDIA's on Linux, from Pascal on (CUDA C++
 * Programming Guide, Unified Memory: on Windows managed memory can't exceed the device's). */
#include "strategy/strategy.h"

#include "engine/engine.h"
#include "hw/machine.h"

static bool check(const struct vs_plan *plan, struct vs_err *err) {
    const struct vs_case *c = plan->c;
    const struct vs_machine *m = c->machine;
    if (c->task == VS_TASK_TRAIN)
        return vs_err_at(err, NULL, 0, 0,
                         "--offload uvm is not modelled for --task train; expected none or stream");
    if (m->unified)
        return vs_err_at(err, NULL, 0, 0,
                         "--offload uvm: %s has one memory for CPU and GPU, no pages migrate",
                         m->hw);
    if (m->device_count == 0)
        return vs_err_at(err, NULL, 0, 0, "--offload uvm: %s has no device", m->hw);
    for (size_t d = 0; d < m->device_count; d++)
        if (!vs_num_known(m->devices[d]->arch.managed_fault_s))
            return vs_err_at(
                err, NULL, 0, 0,
                "--offload uvm: kernels of %s can't wait for pages; expected an NVIDIA "
                "device, Pascal or later",
                m->devices[d]->name);
    const char *backend = c->axes.at[VS_AXIS_BACKEND].text;
    if (backend && !vs_streq(backend, "cuda"))
        return vs_err_at(err, NULL, 0, 0, "--offload uvm --backend %s: expected --backend cuda",
                         backend);
    if (plan->row_split)
        return vs_err_at(err, NULL, 0, 0,
                         "--offload uvm --split row is not modelled; expected --split layer");
    return true;
}

/* Without a layer there nothing that pages is left on a device. */
static bool any_on_device(const struct vs_plan *plan) {
    bool any = false;
    for (uint32_t l = 0; l < plan->c->model->layers; l++)
        any |= !plan->layers[l].on_cpu;
    return any;
}

static bool apply(struct vs_plan *plan, struct vs_err *err) {
    const struct vs_case *c = plan->c;
    if (!vs_is(&c->axes, VS_AXIS_OFFLOAD, "uvm"))
        return true;
    if (!check(plan, err))
        return false;
    if (!any_on_device(plan))
        return true;
    size_t n = c->machine->device_count;
    plan->managed.outside = VS_NEW_ARRAY(plan->arena, vs_buffer_id, n);
    plan->managed.workspace = VS_NEW_ARRAY(plan->arena, vs_buffer_id, n);
    if (!plan->managed.outside || !plan->managed.workspace)
        return vs_err_nomem(err);
    for (size_t d = 0; d < n; d++)
        plan->managed.outside[d] = plan->managed.workspace[d] = VS_NO_BUFFER;
    plan->managed.on = true;
    return true;
}

const struct vs_strategy vs_strategy_managed_memory = {
    .name = "managed memory",
    .help = "device memory that pages to host memory when a kernel misses (CUDA unified memory)",
    .stage = "place",
    .apply = apply};
