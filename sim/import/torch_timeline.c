/* PyTorch's memory timeline, raw form (torch.profiler, export_memory_timeline to *.raw.json.gz): an
 * array of [time_ns, action, bytes, category]. It has no addresses. Bytes are those of tensors,
 * negative where they go. A new version of a tensor is two entries: minus the bytes under the old
 * category, plus the same under the new one (torch/profiler/_memory_profiler.py). Which of several
 * tensors of one size and category ends is not said: the newest is taken. */
#include <string.h>

#include "import/alloc_trace.h"

enum action { ACTION_BEFORE = 1, ACTION_CREATE, ACTION_VERSION, ACTION_DESTROY };
enum { BUFFER_BYTES = 64 * 1024, ENTRY_NUMBERS = 4 };

/* Categories by their number in the file. */
static const enum vs_tag TAGS[] = {
    VS_TAG_WEIGHTS,     /* parameter */
    VS_TAG_OPTIMIZER,   /* optimizer state */
    VS_TAG_OTHER,       /* input */
    VS_TAG_WORKSPACE,   /* temporary */
    VS_TAG_ACTIVATIONS, /* activation */
    VS_TAG_GRADIENTS,   /* gradient */
    VS_TAG_OTHER,       /* autograd detail */
    VS_TAG_OTHER,       /* unknown */
};

struct reader {
    struct vs_input *in;
    struct vs_alloc_trace *trace;
    bool skip_bad;
    size_t at, filled;
    uint64_t offset; /* of the buffer's first byte */
    uint64_t row;
    bool pending; /* the first half of a new version waits for its second */
    uint64_t pending_key[2];
    char buffer[BUFFER_BYTES];
};

/* The next byte, or -1 at the end; false on a failure. */
static bool peek(struct reader *r, int *c, struct vs_err *err) {
    if (r->at == r->filled) {
        r->offset += r->filled;
        r->at = 0;
        if (!vs_input_read(r->in, r->buffer, BUFFER_BYTES, &r->filled, err))
            return false;
    }
    *c = r->filled > 0 ? (unsigned char)r->buffer[r->at] : -1;
    return true;
}

static bool fail(const struct reader *r, struct vs_err *err, const char *what) {
    return vs_err_set(err, VS_ERR_INPUT, "%s: byte %llu, row %llu: %s", vs_input_name(r->in),
                      (unsigned long long)(r->offset + r->at), (unsigned long long)r->row, what);
}

static bool peek_past_blanks(struct reader *r, int *c, struct vs_err *err) {
    for (;;) {
        if (!peek(r, c, err))
            return false;
        if (*c != ' ' && *c != '\n' && *c != '\r' && *c != '\t')
            return true;
        r->at++;
    }
}

static bool expect(struct reader *r, char wanted, struct vs_err *err) {
    int c;
    if (!peek_past_blanks(r, &c, err))
        return false;
    if (c != wanted)
        return vs_err_set(err, VS_ERR_INPUT, "%s: byte %llu, row %llu: found %s, expected '%c'",
                          vs_input_name(r->in), (unsigned long long)(r->offset + r->at),
                          (unsigned long long)r->row,
                          c < 0 ? "the end of the file" : "another character", wanted);
    r->at++;
    return true;
}

static bool read_number(struct reader *r, int64_t *value, struct vs_err *err) {
    int c;
    bool negative = false;
    uint64_t magnitude = 0, digits = 0;
    if (!peek_past_blanks(r, &c, err))
        return false;
    if (c == '-') {
        negative = true;
        r->at++;
    }
    for (;; digits++) {
        if (!peek(r, &c, err))
            return false;
        if (c < '0' || c > '9')
            break;
        if (magnitude > (uint64_t)INT64_MAX / 10 - 1)
            return fail(r, err, "found a number beyond 2^63");
        magnitude = magnitude * 10 + (uint64_t)(c - '0');
        r->at++;
    }
    if (digits == 0)
        return fail(r, err, "expected a whole number");
    *value = negative ? -(int64_t)magnitude : (int64_t)magnitude;
    return true;
}

/* [a, b, c, d] */
static bool read_entry(struct reader *r, int64_t numbers[ENTRY_NUMBERS], struct vs_err *err) {
    for (int i = 0; i < ENTRY_NUMBERS; i++)
        if (!expect(r, i == 0 ? '[' : ',', err) || !read_number(r, &numbers[i], err))
            return false;
    return expect(r, ']', err);
}

static const char *add_version(struct reader *r, const struct vs_alloc_entry *entry, bool goes,
                               bool *memory) {
    if (goes) {
        memcpy(r->pending_key, entry->key, sizeof r->pending_key);
        r->pending = true;
        return NULL;
    }
    if (!r->pending || r->pending_key[0] != entry->bytes)
        return "found a new version without the end of the old one before it";
    struct vs_alloc_entry from = *entry;
    memcpy(from.key, r->pending_key, sizeof from.key);
    r->pending = false;
    *memory = vs_alloc_retag(r->trace, &from, entry->key);
    return NULL;
}

/* The reason why an entry makes no sense, or NULL; *memory = false where it runs out. */
static const char *add(struct reader *r, const int64_t numbers[ENTRY_NUMBERS], bool *memory) {
    int64_t time_ns = numbers[0], action = numbers[1], bytes = numbers[2], category = numbers[3];
    bool goes = bytes < 0;
    uint64_t size = goes ? (uint64_t)-bytes : (uint64_t)bytes;
    if (category < 0 || category >= (int64_t)(sizeof TAGS / sizeof *TAGS))
        return "found an unknown category, expected 0 to 7";
    if (size == 0 || size > VS_ALLOC_REQUEST_BYTES)
        return "found a size of 0, or beyond 16 TiB";
    if (r->pending && (action != ACTION_VERSION || goes)) {
        r->pending = false;
        return "found the end of a version without its next one";
    }
    if (goes != (action == ACTION_DESTROY) && action != ACTION_VERSION)
        return "found a size whose sign is not that of its action";
    const struct vs_alloc_entry entry = {.key = {size, (uint64_t)category},
                                         .bytes = size,
                                         .time_ns = time_ns,
                                         .place = r->row,
                                         .tag = TAGS[category]};
    switch (action) {
    case ACTION_BEFORE:
        *memory = vs_alloc_before(r->trace, &entry);
        return NULL;
    case ACTION_CREATE:
        *memory = vs_alloc_take(r->trace, &entry);
        return NULL;
    case ACTION_VERSION:
        return add_version(r, &entry, goes, memory);
    case ACTION_DESTROY:
        *memory = vs_alloc_give(r->trace, &entry);
        return NULL;
    default:
        return "found an unknown action, expected 1 to 4";
    }
}

static bool read_entries(struct reader *r, struct vs_err *err) {
    int c;
    if (!expect(r, '[', err) || !peek_past_blanks(r, &c, err))
        return false;
    while (c != ']') {
        int64_t numbers[ENTRY_NUMBERS];
        bool memory = true;
        if (r->row > 0 && !expect(r, ',', err))
            return false;
        r->row++;
        if (!read_entry(r, numbers, err))
            return false;
        const char *why = add(r, numbers, &memory);
        if (!memory)
            return vs_err_nomem(err);
        if (why && !r->skip_bad)
            return fail(r, err, why);
        r->trace->skipped += why != NULL;
        if (!peek_past_blanks(r, &c, err))
            return false;
    }
    return expect(r, ']', err);
}

static bool read_timeline(struct vs_input *in, const struct vs_alloc_options *options,
                          struct vs_alloc_trace *trace, struct vs_err *err) {
    struct reader r = {.in = in, .trace = trace, .skip_bad = options->skip_bad};
    int c;
    if (!read_entries(&r, err) || !peek_past_blanks(&r, &c, err))
        return false;
    if (c >= 0)
        return fail(&r, err, "expected the end of the file");
    return true;
}

static bool looks_like(const char *head, size_t length) {
    size_t open = 0;
    for (size_t i = 0; i < length && open < 2; i++) {
        if (head[i] == '[')
            open++;
        else if (head[i] != ' ' && head[i] != '\n' && head[i] != '\r' && head[i] != '\t')
            return false;
    }
    return open == 2;
}

extern const struct vs_alloc_reader vs_alloc_reader_torch_timeline;
const struct vs_alloc_reader vs_alloc_reader_torch_timeline = {.form = "PyTorch memory timeline",
                                                               .unit = "row",
                                                               .looks_like = looks_like,
                                                               .read = read_timeline};
