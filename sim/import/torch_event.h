/* Events of PyTorch's allocator recorder by address, as its CSV form and its snapshots have them.
 */
#ifndef VS_IMPORT_TORCH_EVENT_H
#define VS_IMPORT_TORCH_EVENT_H

#include "import/alloc_trace.h"

enum vs_torch_action {
    VS_ACTION_TAKE,
    VS_ACTION_GIVE,
    VS_ACTION_OOM,
    VS_ACTION_SEGMENT_TAKE, /* of the recorded allocator: the replay has its own */
    VS_ACTION_SEGMENT_GIVE,
    VS_ACTION_NOTHING, /* known, and no news: a block is free once its last stream is done with it,
                          not when that is asked for */
    VS_ACTION_UNKNOWN
};
/* By the recorder's name, which need not be terminated. */
enum vs_torch_action vs_torch_action_find(const char *name, size_t length);

struct vs_torch_event {
    enum vs_torch_action action;
    uint64_t address, bytes, device_free_bytes;
    uint64_t device, stream;
    int64_t time_us;
    uint64_t place;
};

/* Adds an event, its numbers checked. False with *why (static) where one makes no sense, or with
 * *why NULL where memory runs out. */
bool vs_torch_event_add(struct vs_alloc_trace *trace, const struct vs_torch_event *event,
                        const char **why);
/* A segment that the recorded allocator holds when the recording ends. */
bool vs_torch_segment_end(struct vs_alloc_trace *trace, uint64_t device, uint64_t bytes,
                          const char **why);
/* A block that is alive when the recording ends; one that no event took was there before. */
bool vs_torch_event_alive(struct vs_alloc_trace *trace, const struct vs_torch_event *event,
                          const char **why);

#endif
