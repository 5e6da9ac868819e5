/* What executes: a device with its memory and its streams. device_cuda.cu is an NVIDIA GPU;
 * device_host.c lets the processor stand for one, which shows how a plan runs and not how fast. */
#ifndef VRAMSIM_EXEC_DEVICE_H
#define VRAMSIM_EXEC_DEVICE_H

#include "memory.h"
#include "plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* NULL, or a line that says why this device can't be used. Call once, before all others. */
const char *device_open(int index, const struct plan *plan);
void device_close(void);
const char *device_name(void);

/* ---- memory: called by the thread that issues ---- */

/* NULL where there is none left. */
void *device_take(enum place place, size_t bytes);
void device_give(enum place place, void *at, size_t bytes);
/* Is memory gone when it is given back, even if lanes still use it? Then they must be drained
 * before. */
bool device_gives_at_once(enum place place);
/* Writes small numbers to device memory; zeros would be multiplied with less power. */
void device_fill(void *at, size_t bytes);
/* A kernel goes over managed memory, so that its pages come; in the order of the compute lane. */
bool device_touch(void *at, size_t bytes);
/* What this process has taken of the device at most, context included, and of it what the plan did
 * not ask for; 0 = not known. */
void device_memory(size_t *peak, size_t *own);

/* ---- lanes of the device ---- */

/* A place in the order of a lane, and the time when it was reached. */
struct mark {
    void *of; /* the device's own; for a lane of the host its queue */
    uint64_t ticket;
    double s;
};

/* Puts an operation behind what its lane has; `pieces` of device memory are what it goes over, and
 * of a copy `host` its other end. */
bool device_issue(enum lane lane, const struct operation *op, double tokens,
                  const struct piece *pieces, size_t count, const struct piece *host,
                  size_t host_count);
bool device_mark(enum lane lane, struct mark *mark);
bool device_wait(enum lane lane, const struct mark *mark); /* the lane waits */
bool device_settle(const struct mark *mark);               /* the caller waits */
bool device_drain(void);
/* Fills mark->s on the clock of now_s(), after a drain. */
bool device_read_mark(struct mark *mark);
void device_forget_marks(void); /* those given out so far are the device's again */

/* Between the two, what is issued on the compute lane becomes one graph; false: not supported. */
bool device_graph_begin(void);
void *device_graph_end(void); /* NULL when it failed */
bool device_graph_run(void *graph);
void device_graph_free(void *graph);

#ifdef __cplusplus
}
#endif

#endif
