/* PyTorch CUDA memory snapshots (torch.cuda.memory._dump_snapshot): a pickled dict of `segments`,
 * the memory as it is at the end, and `device_traces`, a list of events for each device. The trace
 * is a ring: the oldest events may be gone, and blocks from before them are seen in frees and in
 * the segments only. */
#include <stdlib.h>
#include <string.h>

#include "import/pickle.h"
#include "import/torch_event.h"

enum { READ_BYTES = 256 * 1024 };
#define FILE_MOST_BYTES (4ULL << 30)

struct reader {
    const char *name;
    struct vs_alloc_trace *trace;
    bool skip_bad;
    struct vs_err *err;
    /* where in the file, for messages: "device_traces[0][12]" */
    const char *table;
    size_t outer, inner;
};

/* Something there makes no sense: an error, or one more that is left out. */
static bool bad(struct reader *r, const char *what) {
    if (r->skip_bad) {
        r->trace->skipped++;
        return true;
    }
    return vs_err_set(r->err, VS_ERR_INPUT, "%s: at %s[%zu][%zu]: %s", r->name, r->table, r->outer,
                      r->inner, what);
}

/* A whole number of a dict; a missing key leaves 0, and is an error where it is `required`. */
static bool number(const struct vs_pickle *dict, const char *key, bool required, uint64_t *value) {
    const struct vs_pickle *found = vs_pickle_member(dict, key);
    *value = 0;
    if (!found || found->kind == VS_PICKLE_NONE)
        return !required;
    if (found->kind != VS_PICKLE_INT || found->negative)
        return false;
    *value = found->integer;
    return true;
}

static const char *read_event(const struct reader *r, const struct vs_pickle *from,
                              struct vs_torch_event *event) {
    uint64_t time_us;
    if (from->kind != VS_PICKLE_DICT)
        return "expected a dict";
    const struct vs_pickle *action = vs_pickle_member(from, "action");
    if (!action || action->kind != VS_PICKLE_STR)
        return "expected a str under 'action'";
    *event = (struct vs_torch_event){.device = r->outer, .place = r->inner + 1};
    event->action = vs_torch_action_find(action->text, action->count);
    if (event->action == VS_ACTION_UNKNOWN)
        return "found an unknown action";
    bool block = event->action == VS_ACTION_TAKE || event->action == VS_ACTION_GIVE;
    if (!number(from, "addr", block, &event->address) ||
        !number(from, "size", block, &event->bytes) ||
        !number(from, "stream", false, &event->stream) ||
        !number(from, "time_us", false, &time_us) ||
        !number(from, "device_free", false, &event->device_free_bytes))
        return "expected whole numbers under 'addr', 'size', 'stream' and 'time_us'";
    event->time_us = time_us < (1ULL << 62) ? (int64_t)time_us : -1;
    return NULL;
}

static bool read_device(struct reader *r, const struct vs_pickle *events) {
    if (events->kind != VS_PICKLE_LIST)
        return bad(r, "expected a list of events");
    for (r->inner = 0; r->inner < events->count; r->inner++) {
        struct vs_torch_event event;
        const char *why = read_event(r, events->children[r->inner], &event);
        if (!why && vs_torch_event_add(r->trace, &event, &why))
            continue;
        if (!why)
            return vs_err_nomem(r->err);
        if (!bad(r, why))
            return false;
    }
    return true;
}

/* A block that holds something when the recording ends. Older releases state no address: blocks lie
 * one behind the other. */
static const char *read_block(const struct vs_pickle *from, struct vs_torch_event *block,
                              uint64_t *next, bool *held) {
    uint64_t address, size, requested;
    if (from->kind != VS_PICKLE_DICT)
        return "expected a dict";
    const struct vs_pickle *state = vs_pickle_member(from, "state");
    if (!state || state->kind != VS_PICKLE_STR || !number(from, "size", true, &size) ||
        !number(from, "address", false, &address) ||
        !number(from, "requested_size", false, &requested))
        return "expected a str under 'state' and whole numbers under 'size' and 'address'";
    block->address = address > 0 ? address : *next;
    block->bytes = requested > 0 && requested <= size ? requested : size;
    *next = block->address + size;
    *held = !vs_pickle_is(state, "inactive");
    return NULL;
}

static bool read_segment(struct reader *r, const struct vs_pickle *segment) {
    struct vs_torch_event block = {.action = VS_ACTION_TAKE};
    uint64_t next, total;
    const char *why;
    const struct vs_pickle *blocks = vs_pickle_member(segment, "blocks");
    r->inner = 0;
    if (!blocks || blocks->kind != VS_PICKLE_LIST || !number(segment, "address", true, &next) ||
        !number(segment, "total_size", true, &total) ||
        !number(segment, "device", false, &block.device) ||
        !number(segment, "stream", false, &block.stream))
        return bad(r, "expected a dict with 'address', 'total_size', 'device', 'stream' and a list "
                      "of 'blocks'");
    if (!vs_torch_segment_end(r->trace, block.device, total, &why))
        return bad(r, why);
    for (; r->inner < blocks->count; r->inner++) {
        bool held = false;
        why = read_block(blocks->children[r->inner], &block, &next, &held);
        if (!why && (!held || vs_torch_event_alive(r->trace, &block, &why)))
            continue;
        if (!why)
            return vs_err_nomem(r->err);
        if (!bad(r, why))
            return false;
    }
    return true;
}

static bool read_tree(struct reader *r, const struct vs_pickle *root) {
    const struct vs_pickle *traces = vs_pickle_member(root, "device_traces");
    const struct vs_pickle *segments = vs_pickle_member(root, "segments");
    if (!traces || traces->kind != VS_PICKLE_LIST || !segments || segments->kind != VS_PICKLE_LIST)
        return vs_err_set(r->err, VS_ERR_INPUT,
                          "%s: found %s, expected a dict with lists under 'segments' and "
                          "'device_traces'",
                          r->name, vs_pickle_kind_name((enum vs_pickle_kind)root->kind));
    r->table = "device_traces";
    for (r->outer = 0; r->outer < traces->count; r->outer++) {
        r->inner = 0;
        if (!read_device(r, traces->children[r->outer]))
            return false;
    }
    r->table = "segments";
    for (r->outer = 0; r->outer < segments->count; r->outer++)
        if (!read_segment(r, segments->children[r->outer]))
            return false;
    if (r->trace->blocks.count == 0)
        return vs_err_set(r->err, VS_ERR_INPUT,
                          "%s: found no event and no block, expected a snapshot taken after "
                          "torch.cuda.memory._record_memory_history()",
                          r->name);
    return true;
}

struct bytes {
    VS_VEC(char) all;
};

static bool read_bytes(struct vs_input *in, struct bytes *bytes, struct vs_err *err) {
    size_t got = 1;
    while (got > 0) {
        if (!vs_vec_reserve(&bytes->all, READ_BYTES))
            return vs_err_nomem(err);
        if (!vs_input_read(in, bytes->all.at + bytes->all.count, READ_BYTES, &got, err))
            return false;
        bytes->all.count += got;
        if (bytes->all.count > FILE_MOST_BYTES)
            return vs_err_set(err, VS_ERR_INPUT, "%s: is over 4 GiB", vs_input_name(in));
    }
    return true;
}

static bool read_snapshot(struct vs_input *in, const struct vs_alloc_options *options,
                          struct vs_alloc_trace *trace, struct vs_err *err) {
    struct reader r = {
        .name = vs_input_name(in), .trace = trace, .skip_bad = options->skip_bad, .err = err};
    struct bytes bytes = {0};
    struct vs_arena arena = {0};
    const struct vs_pickle *root = NULL;
    bool ok = read_bytes(in, &bytes, err) &&
              vs_pickle_read(&arena, r.name, bytes.all.at, bytes.all.count, &root, err) &&
              read_tree(&r, root);
    vs_arena_release(&arena);
    vs_vec_release(&bytes.all);
    return ok;
}

static bool looks_like(const char *head, size_t length) {
    return length >= 2 && (unsigned char)head[0] == 0x80 && head[1] >= 2 && head[1] <= 5;
}

extern const struct vs_alloc_reader vs_alloc_reader_torch_snapshot;
const struct vs_alloc_reader vs_alloc_reader_torch_snapshot = {.form = "PyTorch memory snapshot",
                                                               .unit = "event",
                                                               .looks_like = looks_like,
                                                               .read = read_snapshot};
