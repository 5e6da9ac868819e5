/* The processor stands for a device: each lane is a thread. Memory is taken, copies copy, what
 * reads reads; products are not computed, so times say nothing of any device. It is there to see
 * that a plan can be executed, and for tests. */
#include "device.h"

#include <stdlib.h>
#include <string.h>

#include "../cpu/loops.h"
#include "../probe.h"
#include "queue.h"
#include "room.h"

enum { FILL = 0x3c }; /* as float, half or bfloat a small number that is not denormal */

static struct queue *lanes[LANE_CPU];
static size_t now_bytes, peak_bytes;

const char *device_open(int index, const struct plan *plan) {
    (void)plan;
    if (index != 0)
        return "the processor is device 0";
    now_bytes = peak_bytes = 0;
    for (int i = 0; i < LANE_CPU; i++)
        if (!(lanes[i] = queue_new()))
            return "no thread can be had";
    return NULL;
}

void device_close(void) {
    for (int i = 0; i < LANE_CPU; i++)
        queue_free(lanes[i]);
}

const char *device_name(void) { return "this processor"; }

/* ---- memory ---- */

static bool is_device(enum place place) {
    return place == PLACE_DEVICE || place == PLACE_RAW || place == PLACE_MANAGED;
}

void *device_take(enum place place, size_t bytes) {
    if (!room_take(bytes))
        return NULL;
    void *at = malloc(bytes);
    if (!at)
        room_give(bytes);
    else if (is_device(place))
        now_bytes += bytes;
    else
        memset(at, FILL, bytes); /* pages that nobody wrote would be one and the same */
    peak_bytes = now_bytes > peak_bytes ? now_bytes : peak_bytes;
    return at;
}

void device_give(enum place place, void *at, size_t bytes) {
    if (is_device(place))
        now_bytes -= bytes;
    room_give(bytes);
    free(at);
}

bool device_gives_at_once(enum place place) {
    (void)place;
    return true;
}

void device_fill(void *at, size_t bytes) {
    (void)at;
    (void)bytes;
}

bool device_touch(void *at, size_t bytes) {
    (void)loop_sum(at, bytes / sizeof(uint64_t));
    return true;
}

void device_memory(size_t *peak, size_t *own) {
    *peak = peak_bytes;
    *own = 0;
}

/* ---- lanes ---- */

struct task {
    const struct operation *op;
    size_t count, host_count;
    struct piece pieces[]; /* of the device, then of the host */
};

static bool copy(void *context, void *to, const void *from, size_t bytes) {
    (void)context;
    memmove(to, from, bytes);
    return true;
}

static void copy_all(const struct task *t) {
    const struct piece *host = t->pieces + t->count;
    if (t->op->lane == LANE_FROM_DEVICE)
        (void)pieces_copy(t->op->bytes, host, t->host_count, t->pieces, t->count, copy, NULL);
    else
        (void)pieces_copy(t->op->bytes, t->pieces, t->count, host, t->host_count, copy, NULL);
}

static void run_task(void *context) {
    struct task *t = context;
    double until = now_s() + t->op->cost_s;
    if (t->op->work == WORK_COPY)
        copy_all(t);
    else
        for (size_t i = 0; i < t->count; i++)
            (void)loop_sum(t->pieces[i].at, t->pieces[i].bytes / sizeof(uint64_t));
    while (now_s() < until)
        continue;
    free(t);
}

bool device_issue(enum lane lane, const struct operation *op, double tokens,
                  const struct piece *pieces, size_t count, const struct piece *host,
                  size_t host_count) {
    struct task *t = malloc(sizeof *t + (count + host_count) * sizeof *t->pieces);
    (void)tokens;
    if (!t)
        return false;
    *t = (struct task){.op = op, .count = count, .host_count = host_count};
    memcpy(t->pieces, pieces, count * sizeof *pieces);
    if (host_count > 0)
        memcpy(t->pieces + count, host, host_count * sizeof *host);
    if (queue_add(lanes[lane], run_task, t) > 0)
        return true;
    free(t);
    return false;
}

static void stamp(void *context) {
    struct mark *mark = context;
    mark->s = now_s();
}

bool device_mark(enum lane lane, struct mark *mark) {
    mark->of = lanes[lane];
    mark->ticket = queue_add(lanes[lane], stamp, mark);
    return mark->ticket > 0;
}

static void wait_for(void *context) {
    const struct mark *mark = context;
    queue_wait(mark->of, mark->ticket);
}

bool device_wait(enum lane lane, const struct mark *mark) {
    return queue_add(lanes[lane], wait_for, (void *)(uintptr_t)mark) > 0;
}

bool device_settle(const struct mark *mark) {
    queue_wait(mark->of, mark->ticket);
    return true;
}

bool device_drain(void) {
    for (int i = 0; i < LANE_CPU; i++)
        queue_drain(lanes[i]);
    return true;
}

bool device_read_mark(struct mark *mark) {
    (void)mark; /* its own task has written it */
    return true;
}

void device_forget_marks(void) {}

bool device_graph_begin(void) { return false; }
void *device_graph_end(void) { return NULL; }
bool device_graph_run(void *graph) { return graph != NULL; }
void device_graph_free(void *graph) { (void)graph; }
