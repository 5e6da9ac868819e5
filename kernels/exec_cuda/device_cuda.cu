/* An NVIDIA GPU executes a plan: lanes are streams, marks are events, and what the plan's allocator
 * serves comes from the driver's pool in the order of the compute stream, which keeps what it has
 * got, as caching allocators do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cuda/gpu.h"
#include "../exec/device.h"
#include "../exec/room.h"
#include "work.cuh"

enum { FILL = 0x3c }; /* as float, half or bfloat a small number that is not denormal */

static struct {
    cudaStream_t lanes[LANE_CPU];
    cudaMemPool_t pool;
    size_t context_bytes, raw_bytes, raw_peak;
    bool capturing;
    cudaEvent_t origin; /* reached at origin_s on the host's clock */
    double origin_s;
    cudaEvent_t *events; /* made so far; the first `given` are marks */
    size_t event_count, event_room, given;
} device;

/* ---- begin and end ---- */

static bool read_clock() {
    bool ok = cudaEventRecord(device.origin, device.lanes[LANE_COMPUTE]) == cudaSuccess &&
              cudaEventSynchronize(device.origin) == cudaSuccess;
    device.origin_s = now_s();
    return ok;
}

static bool open_pool() {
    unsigned long long keep = UINT64_MAX;
    return cudaDeviceGetDefaultMemPool(&device.pool, gpu.index) == cudaSuccess &&
           cudaMemPoolSetAttribute(device.pool, cudaMemPoolAttrReleaseThreshold, &keep) ==
               cudaSuccess;
}

/* Pages of more than there is would thrash for minutes. */
static bool managed_fits(const struct plan *plan, size_t free_bytes) {
    size_t managed = 0;
    for (size_t i = 0; i < plan->buffer_count; i++)
        if (plan->buffers[i].place == PLACE_MANAGED)
            managed += plan->buffers[i].bytes;
    return managed <= free_bytes;
}

extern "C" const char *device_open(int index, const struct plan *plan) {
    size_t free_bytes = 0, all_bytes = 0;
    const char *why = gpu_open(index);
    if (why)
        return why;
    for (int i = 0; i < LANE_CPU; i++)
        if (cudaStreamCreateWithFlags(&device.lanes[i], cudaStreamNonBlocking) != cudaSuccess)
            return "no stream can be made";
    if (!open_pool() || cudaEventCreate(&device.origin) != cudaSuccess || !read_clock() ||
        cudaMemGetInfo(&free_bytes, &all_bytes) != cudaSuccess)
        return "the device has no memory pools";
    size_t used = all_bytes - free_bytes;
    device.context_bytes =
        gpu.used_before > 0 && used > gpu.used_before ? used - gpu.used_before : 0;
    if (!managed_fits(plan, free_bytes))
        return "the plan's managed memory is more than the device has free";
    return work_open(plan, device.lanes[LANE_COMPUTE])
               ? NULL
               : "no device memory for the products of this plan";
}

extern "C" void device_close(void) {
    work_close();
    for (size_t i = 0; i < device.event_count; i++)
        (void)cudaEventDestroy(device.events[i]);
    free(device.events);
    for (int i = 0; i < LANE_CPU; i++)
        (void)cudaStreamDestroy(device.lanes[i]);
}

extern "C" const char *device_name(void) { return gpu.properties.name; }

/* ---- memory ---- */

static void count_raw(size_t bytes) {
    device.raw_bytes += bytes;
    if (device.raw_bytes > device.raw_peak)
        device.raw_peak = device.raw_bytes;
}

static void *take_host(enum place place, size_t bytes) {
    void *at = nullptr;
    if (!room_take(bytes))
        return nullptr;
    if (place == PLACE_HOST)
        at = malloc(bytes);
    else if (cudaMallocHost(&at, bytes) != cudaSuccess)
        at = nullptr;
    if (at)
        memset(at, FILL, bytes);
    else
        room_give(bytes);
    return at;
}

extern "C" void *device_take(enum place place, size_t bytes) {
    void *at = nullptr;
    cudaError_t error = cudaSuccess;
    if (place == PLACE_HOST || place == PLACE_PINNED)
        at = take_host(place, bytes);
    else if (place == PLACE_DEVICE)
        error = cudaMallocAsync(&at, bytes, device.lanes[LANE_COMPUTE]);
    else if (place == PLACE_RAW)
        error = cudaMalloc(&at, bytes);
    else
        error = cudaMallocManaged(&at, bytes);
    (void)cudaGetLastError(); /* a refusal is not the next call's error */
    if (error != cudaSuccess)
        return nullptr;
    if (at && place == PLACE_RAW)
        count_raw(bytes);
    return at;
}

extern "C" void device_give(enum place place, void *at, size_t bytes) {
    if (place == PLACE_HOST)
        free(at);
    else if (place == PLACE_PINNED)
        (void)cudaFreeHost(at);
    else if (place == PLACE_DEVICE)
        (void)cudaFreeAsync(at, device.lanes[LANE_COMPUTE]);
    else
        (void)cudaFree(at);
    if (place == PLACE_RAW)
        device.raw_bytes -= bytes;
    if (place == PLACE_HOST || place == PLACE_PINNED)
        room_give(bytes);
}

extern "C" bool device_gives_at_once(enum place place) { return place != PLACE_DEVICE; }

extern "C" void device_fill(void *at, size_t bytes) {
    (void)work_fill(at, bytes, device.lanes[LANE_COMPUTE]);
}

extern "C" bool device_touch(void *at, size_t bytes) {
    return work_read(at, bytes, device.lanes[LANE_COMPUTE]);
}

extern "C" void device_memory(size_t *peak, size_t *own) {
    unsigned long long reserved = 0;
    (void)cudaMemPoolGetAttribute(device.pool, cudaMemPoolAttrReservedMemHigh, &reserved);
    *own = work_bytes();
    *peak = device.context_bytes > 0
                ? device.context_bytes + device.raw_peak + (size_t)reserved + *own
                : 0;
}

/* ---- lanes ---- */

static bool copy(void *context, void *to, const void *from, size_t bytes) {
    cudaStream_t stream = *static_cast<cudaStream_t *>(context);
    return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream) == cudaSuccess;
}

extern "C" bool device_issue(enum lane lane, const struct operation *op, double tokens,
                             const struct piece *pieces, size_t count, const struct piece *host,
                             size_t host_count) {
    cudaStream_t stream = device.lanes[lane];
    if (op->work != WORK_COPY)
        return work_issue(op, tokens, pieces, count, device.capturing, stream);
    return lane == LANE_FROM_DEVICE
               ? pieces_copy(op->bytes, host, host_count, pieces, count, copy, &stream)
               : pieces_copy(op->bytes, pieces, count, host, host_count, copy, &stream);
}

static bool next_event(cudaEvent_t *event) {
    if (device.given == device.event_count) {
        if (device.event_count == device.event_room) {
            size_t room = device.event_room > 0 ? 2 * device.event_room : 256;
            void *more = realloc(device.events, room * sizeof *device.events);
            if (!more)
                return false;
            device.events = (cudaEvent_t *)more;
            device.event_room = room;
        }
        if (cudaEventCreate(&device.events[device.event_count]) != cudaSuccess)
            return false;
        device.event_count++;
    }
    *event = device.events[device.given++];
    return true;
}

extern "C" bool device_mark(enum lane lane, struct mark *mark) {
    cudaEvent_t event;
    if (!next_event(&event) || cudaEventRecord(event, device.lanes[lane]) != cudaSuccess)
        return false;
    mark->of = event;
    return true;
}

extern "C" bool device_wait(enum lane lane, const struct mark *mark) {
    return cudaStreamWaitEvent(device.lanes[lane], (cudaEvent_t)mark->of, 0) == cudaSuccess;
}

extern "C" bool device_settle(const struct mark *mark) {
    return cudaEventSynchronize((cudaEvent_t)mark->of) == cudaSuccess;
}

extern "C" bool device_drain(void) {
    for (int i = 0; i < LANE_CPU; i++)
        if (cudaStreamSynchronize(device.lanes[i]) != cudaSuccess)
            return false;
    return true;
}

extern "C" bool device_read_mark(struct mark *mark) {
    float ms = 0;
    if (cudaEventElapsedTime(&ms, device.origin, (cudaEvent_t)mark->of) != cudaSuccess)
        return false;
    mark->s = device.origin_s + 1e-3 * (double)ms;
    return true;
}

extern "C" void device_forget_marks(void) {
    device.given = 0;
    (void)read_clock();
}

/* ---- graphs ---- */

extern "C" bool device_graph_begin(void) {
    device.capturing = cudaStreamBeginCapture(device.lanes[LANE_COMPUTE],
                                              cudaStreamCaptureModeThreadLocal) == cudaSuccess;
    return device.capturing;
}

extern "C" void *device_graph_end(void) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t ready = nullptr;
    device.capturing = false;
    if (cudaStreamEndCapture(device.lanes[LANE_COMPUTE], &graph) == cudaSuccess && graph &&
        cudaGraphInstantiate(&ready, graph, 0) != cudaSuccess)
        ready = nullptr;
    if (graph)
        (void)cudaGraphDestroy(graph);
    (void)cudaGetLastError();
    return ready;
}

extern "C" bool device_graph_run(void *graph) {
    return cudaGraphLaunch((cudaGraphExec_t)graph, device.lanes[LANE_COMPUTE]) == cudaSuccess;
}

extern "C" void device_graph_free(void *graph) {
    if (graph)
        (void)cudaGraphExecDestroy((cudaGraphExec_t)graph);
}
