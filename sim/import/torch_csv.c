/* The CSV form of PyTorch's recorded allocator events: a header and whole numbers, no quotes. */
#include <string.h>

#include "base/text.h"
#include "import/reader.h"
#include "import/torch_event.h"

enum column {
    COLUMN_ACTION,
    COLUMN_ADDR,
    COLUMN_SIZE,
    COLUMN_DEVICE,
    COLUMN_STREAM,
    COLUMN_TIME,
    COLUMN_DEVICE_FREE,
    COLUMN_COUNT
};
static const char *const NAMES[COLUMN_COUNT] = {"action", "addr",    "size",       "device",
                                                "stream", "time_us", "device_free"};
enum { COLUMNS_NEEDED = 3 }; /* the first ones */

struct reader {
    struct vs_input *in;
    struct vs_alloc_trace *trace;
    bool skip_bad;
    size_t column[COLUMN_COUNT]; /* SIZE_MAX = not there */
    size_t columns;
    uint64_t row;
    vs_trace_text line; /* split in place */
    vs_trace_texts fields;
};

static bool fail(const struct reader *r, struct vs_err *err, const char *what) {
    return vs_err_at(err, vs_input_name(r->in), vs_input_line_number(r->in), 0, "%s", what);
}

static bool read_header(struct reader *r, struct vs_err *err) {
    const char *name = vs_input_name(r->in), *why = NULL;
    bool more;
    if (!vs_trace_line(r->in, &r->line, &more, err))
        return false;
    if (!more)
        return fail(r, err, "found an empty file, expected a header");
    if (!vs_trace_split(r->line.at, &r->fields, &why))
        return why ? fail(r, err, why) : vs_err_nomem(err);
    r->columns = r->fields.count;
    for (size_t c = 0; c < COLUMN_COUNT; c++) {
        r->column[c] = SIZE_MAX;
        for (size_t i = 0; i < r->columns; i++) {
            if (!vs_streq(r->fields.at[i], NAMES[c]))
                continue;
            if (r->column[c] != SIZE_MAX)
                return vs_err_at(err, name, 1, 0, "column '%s' stands twice", NAMES[c]);
            r->column[c] = i;
        }
        if (c < COLUMNS_NEEDED && r->column[c] == SIZE_MAX)
            return vs_err_at(err, name, 1, 0,
                             "found no column '%s', expected action, addr and size", NAMES[c]);
    }
    return true;
}

/* A whole number below 2^63; an empty field and a column that isn't there are 0. */
static bool number(const struct reader *r, enum column column, uint64_t *value) {
    *value = 0;
    if (r->column[column] == SIZE_MAX)
        return true;
    for (const char *at = r->fields.at[r->column[column]]; *at != '\0'; at++) {
        if (*at < '0' || *at > '9' || *value > (uint64_t)INT64_MAX / 10 - 1)
            return false;
        *value = *value * 10 + (uint64_t)(*at - '0');
    }
    return true;
}

/* Fills an event. False: *why says what is wrong, or is NULL when memory runs out. */
static bool read_row(struct reader *r, struct vs_torch_event *event, const char **why) {
    uint64_t time_us;
    if (!vs_trace_split(r->line.at, &r->fields, why))
        return false;
    if (r->fields.count != r->columns) {
        *why = "found another number of fields than the header has";
        return false;
    }
    const char *action = r->fields.at[r->column[COLUMN_ACTION]];
    *event = (struct vs_torch_event){.place = r->row};
    event->action = vs_torch_action_find(action, strlen(action));
    if (event->action == VS_ACTION_UNKNOWN)
        *why = "found an unknown action, expected alloc, free_requested, free_completed, "
               "segment_alloc, segment_free, segment_map, segment_unmap, snapshot or oom";
    else if (!number(r, COLUMN_ADDR, &event->address) || !number(r, COLUMN_SIZE, &event->bytes) ||
             !number(r, COLUMN_DEVICE, &event->device) ||
             !number(r, COLUMN_STREAM, &event->stream) || !number(r, COLUMN_TIME, &time_us) ||
             !number(r, COLUMN_DEVICE_FREE, &event->device_free_bytes))
        *why = "found a field that is no whole number below 2^63";
    else
        event->time_us = (int64_t)time_us;
    return *why == NULL;
}

static bool read_rows(struct reader *r, struct vs_err *err) {
    for (;;) {
        const char *why = NULL;
        bool more;
        struct vs_torch_event event;
        if (!vs_trace_line(r->in, &r->line, &more, err))
            return false;
        if (!more)
            return true;
        r->row++;
        if (read_row(r, &event, &why) && vs_torch_event_add(r->trace, &event, &why))
            continue;
        if (!why)
            return vs_err_nomem(err);
        if (!r->skip_bad)
            return fail(r, err, why);
        r->trace->skipped++;
    }
}

static bool read_csv(struct vs_input *in, const struct vs_alloc_options *options,
                     struct vs_alloc_trace *trace, struct vs_err *err) {
    struct reader r = {.in = in, .trace = trace, .skip_bad = options->skip_bad};
    bool ok = read_header(&r, err) && read_rows(&r, err);
    vs_vec_release(&r.line);
    vs_vec_release(&r.fields);
    return ok;
}

/* Its first line names all columns that are needed. */
static bool looks_like(const char *head, size_t length) {
    struct vs_err err;
    struct reader r = {.in = vs_input_over(head, length, "", &err)};
    bool ok = r.in != NULL && read_header(&r, &err);
    vs_input_close(r.in);
    vs_vec_release(&r.line);
    vs_vec_release(&r.fields);
    return ok;
}

extern const struct vs_alloc_reader vs_alloc_reader_torch_csv;
const struct vs_alloc_reader vs_alloc_reader_torch_csv = {.form = "PyTorch allocator events, CSV",
                                                          .unit = "row",
                                                          .looks_like = looks_like,
                                                          .read = read_csv};
