#include "import/torch_event.h"

#include <string.h>

#define TIME_MOST_US (1LL << 53)
#define SEGMENTS_MOST_BYTES (1LL << 56)

enum vs_torch_action vs_torch_action_find(const char *name, size_t length) {
    static const struct {
        const char *name;
        enum vs_torch_action action;
    } ACTIONS[] = {
        {"alloc", VS_ACTION_TAKE},
        {"free_completed", VS_ACTION_GIVE},
        {"free", VS_ACTION_GIVE}, /* recorders that know no other streams */
        {"oom", VS_ACTION_OOM},
        {"free_requested", VS_ACTION_NOTHING},
        {"segment_alloc", VS_ACTION_SEGMENT_TAKE},
        {"segment_free", VS_ACTION_SEGMENT_GIVE},
        {"segment_map", VS_ACTION_SEGMENT_TAKE},
        {"segment_unmap", VS_ACTION_SEGMENT_GIVE},
        {"snapshot", VS_ACTION_NOTHING},
        {"user_defined", VS_ACTION_NOTHING},
    };
    for (size_t i = 0; i < sizeof ACTIONS / sizeof *ACTIONS; i++)
        if (strlen(ACTIONS[i].name) == length && memcmp(ACTIONS[i].name, name, length) == 0)
            return ACTIONS[i].action;
    return VS_ACTION_UNKNOWN;
}

/* What is wrong with the numbers of an event; NULL = nothing. */
static const char *fault(const struct vs_torch_event *event) {
    if (event->device >= VS_ALLOC_DEVICES)
        return "found a device beyond 63";
    if (event->bytes > VS_ALLOC_REQUEST_BYTES)
        return "found a size beyond 16 TiB";
    if (event->time_us < 0 || event->time_us > TIME_MOST_US)
        return "found a time that is negative or beyond 2^53 us";
    if (event->action == VS_ACTION_OOM)
        return NULL;
    if (event->bytes == 0)
        return "found a size of 0";
    return event->address == 0 ? "found an address of 0" : NULL;
}

/* Streams are pointers or small numbers: each device's are counted in the order of appearance,
 * the default one, 0, first. */
static bool stream_number(struct vs_alloc_trace *trace, uint64_t stream, unsigned *number) {
    size_t i = 0;
    if (trace->streams.count == 0 && !vs_vec_push(&trace->streams, 0))
        return false;
    while (i < trace->streams.count && trace->streams.at[i] != stream)
        i++;
    if (i == trace->streams.count && !vs_vec_push(&trace->streams, stream))
        return false;
    *number = (unsigned)i;
    return true;
}

static bool entry_of(struct vs_alloc_trace *trace, const struct vs_torch_event *event,
                     struct vs_alloc_entry *entry, const char **why) {
    *why = fault(event);
    if (*why)
        return false;
    *entry = (struct vs_alloc_entry){.key = {event->address, event->device},
                                     .address = event->address,
                                     .bytes = event->bytes,
                                     .time_ns = event->time_us * 1000,
                                     .place = event->place,
                                     .device = (unsigned)event->device,
                                     .tag = VS_TAG_OTHER};
    if (!stream_number(trace, event->stream, &entry->stream))
        return false;
    if (entry->stream >= VS_ALLOC_STREAMS)
        *why = "found more than 128 streams";
    return *why == NULL;
}

static bool count_segment(struct vs_alloc_trace *trace, const struct vs_torch_event *event,
                          const char **why) {
    struct vs_alloc_segments *s = &trace->segments[event->device];
    int64_t bytes = (int64_t)event->bytes;
    s->net_bytes += event->action == VS_ACTION_SEGMENT_TAKE ? bytes : -bytes;
    if (s->net_bytes > SEGMENTS_MOST_BYTES || s->net_bytes < -SEGMENTS_MOST_BYTES)
        *why = "found segments of over 64 PiB";
    if (s->net_bytes > s->peak_bytes)
        s->peak_bytes = s->net_bytes;
    return *why == NULL;
}

bool vs_torch_segment_end(struct vs_alloc_trace *trace, uint64_t device, uint64_t bytes,
                          const char **why) {
    const struct vs_torch_event event = {.action = VS_ACTION_OOM, .device = device, .bytes = bytes};
    *why = fault(&event);
    if (*why)
        return false;
    struct vs_alloc_segments *s = &trace->segments[device];
    s->end_bytes += bytes;
    s->known = true;
    if (s->end_bytes > SEGMENTS_MOST_BYTES)
        *why = "found segments of over 64 PiB";
    return *why == NULL;
}

bool vs_torch_event_add(struct vs_alloc_trace *trace, const struct vs_torch_event *event,
                        const char **why) {
    struct vs_alloc_entry entry;
    *why = NULL;
    if (event->action == VS_ACTION_NOTHING)
        return true;
    if (!entry_of(trace, event, &entry, why))
        return false;
    if (event->action == VS_ACTION_OOM) {
        vs_alloc_note_oom(trace,
                          &(struct vs_alloc_oom){.place = event->place,
                                                 .bytes = event->bytes,
                                                 .device_free_bytes = event->device_free_bytes});
        return true;
    }
    if (event->action == VS_ACTION_SEGMENT_TAKE || event->action == VS_ACTION_SEGMENT_GIVE)
        return count_segment(trace, event, why);
    if (event->action == VS_ACTION_GIVE)
        return vs_alloc_give(trace, &entry);
    if (vs_alloc_is_live(trace, entry.key)) {
        struct vs_alloc_entry lost = entry;
        lost.bytes = 0;
        trace->lost_frees++;
        if (!vs_alloc_give(trace, &lost))
            return false;
    }
    return vs_alloc_take(trace, &entry);
}

bool vs_torch_event_alive(struct vs_alloc_trace *trace, const struct vs_torch_event *event,
                          const char **why) {
    struct vs_alloc_entry entry;
    if (!entry_of(trace, event, &entry, why))
        return false;
    return vs_alloc_is_live(trace, entry.key) || vs_alloc_before(trace, &entry);
}
