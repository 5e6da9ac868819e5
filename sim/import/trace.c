#include "import/trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/input.h"
#include "base/text.h"
#include "import/reader.h"

static const double S_PER_NS = 1e-9;

struct vs_trace {
    struct vs_input *in;
    const struct vs_trace_reader *reader;
    bool skip_bad, timed;
    bool held; /* the first line is a row that has not been handed out */
    bool any;  /* a request has been handed out */
    int64_t first_ns, last_ns;
    uint64_t skipped, unanswered;
    char first_skipped[sizeof((struct vs_err *)0)->text];
    struct vs_trace_row row;
    vs_trace_texts fields;      /* of the current row of a CSV */
    size_t columns;             /* of its header */
    size_t at[VS_TRACE_FIELDS]; /* which of them is which field; SIZE_MAX = not there */
    vs_trace_text line;         /* split in place */
};

static bool bad_line(const struct vs_trace *t, const char *why, struct vs_err *err) {
    if (!why)
        return vs_err_nomem(err);
    return vs_err_at(err, vs_input_name(t->in), vs_input_line_number(t->in), 0, "%s", why);
}

/* ---- recognition ---- */

/* Finds the fields of a format among the columns of the header. */
static bool takes_header(struct vs_trace *t, const struct vs_trace_reader *reader) {
    bool marked = reader->mark == NULL;
    for (int f = 0; f < VS_TRACE_FIELDS; f++)
        t->at[f] = SIZE_MAX;
    for (size_t i = 0; i < t->fields.count; i++) {
        const char *name = t->fields.at[i];
        marked |= reader->mark && vs_streq(name, reader->mark);
        for (int f = 0; f < VS_TRACE_FIELDS; f++)
            if (reader->fields[f] && vs_streq(name, reader->fields[f]))
                t->at[f] = i;
    }
    t->timed = t->at[VS_TRACE_ARRIVED] != SIZE_MAX;
    return marked && (t->timed || !reader->arrival_needed) && t->at[VS_TRACE_PROMPT] != SIZE_MAX &&
           t->at[VS_TRACE_GEN] != SIZE_MAX;
}

static bool takes_object(struct vs_trace *t, const struct vs_trace_reader *reader,
                         const char *line) {
    t->timed = vs_trace_has_key(line, reader->fields[VS_TRACE_ARRIVED]);
    return (!reader->mark || vs_trace_has_key(line, reader->mark)) &&
           (t->timed || !reader->arrival_needed) &&
           vs_trace_has_key(line, reader->fields[VS_TRACE_PROMPT]) &&
           vs_trace_has_key(line, reader->fields[VS_TRACE_GEN]);
}

static bool recognise(struct vs_trace *t, struct vs_err *err) {
    const char *why;
    bool more;
    if (!vs_trace_line(t->in, &t->line, &more, err))
        return false;
    if (!more)
        return vs_err_at(err, vs_input_name(t->in), 0, 0, "found an empty file, expected a trace");
    const char *line = t->line.at;
    bool json = line[strspn(line, " \t")] == '{';
    if (!json && !vs_trace_split(t->line.at, &t->fields, &why))
        return bad_line(t, why, err);
    t->columns = t->fields.count;
    for (size_t i = 0; vs_trace_readers[i] && !t->reader; i++) {
        const struct vs_trace_reader *r = vs_trace_readers[i];
        if ((r->form == VS_TRACE_JSON) == json &&
            (json ? takes_object(t, r, line) : takes_header(t, r)))
            t->reader = r;
    }
    t->held = json;
    if (!t->reader)
        return vs_err_at(err, vs_input_name(t->in), 1, 0,
                         "found no format of a trace in the first line, expected %s such as "
                         "%s",
                         json ? "keys" : "a header",
                         json ? "timestamp, input_length, output_length" : "arrived_at,prompt,gen");
    return true;
}

static struct vs_trace *begin(struct vs_input *in, bool skip_bad, struct vs_err *err) {
    struct vs_trace *t = in ? calloc(1, sizeof *t) : NULL;
    if (!in)
        return NULL;
    if (!t) {
        vs_input_close(in);
        (void)vs_err_nomem(err);
        return NULL;
    }
    t->in = in;
    t->skip_bad = skip_bad;
    if (recognise(t, err))
        return t;
    vs_trace_close(t);
    return NULL;
}

struct vs_trace *vs_trace_open(const char *path, bool skip_bad, struct vs_err *err) {
    return begin(vs_input_open(path, err), skip_bad, err);
}

struct vs_trace *vs_trace_over(const char *bytes, size_t length, const char *name, bool skip_bad,
                               struct vs_err *err) {
    return begin(vs_input_over(bytes, length, name, err), skip_bad, err);
}

void vs_trace_close(struct vs_trace *t) {
    if (!t)
        return;
    vs_input_close(t->in);
    vs_vec_release(&t->fields);
    vs_vec_release(&t->line);
    vs_vec_release(&t->row.hash_room);
    free(t);
}

/* ---- rows ---- */

static bool read_csv_row(struct vs_trace *t, struct vs_err *err) {
    const char *why;
    if (!vs_trace_split(t->line.at, &t->fields, &why))
        return bad_line(t, why, err);
    if (t->fields.count != t->columns)
        return vs_err_at(err, vs_input_name(t->in), vs_input_line_number(t->in), 0,
                         "found %zu column%s, expected %zu as in the header", t->fields.count,
                         t->fields.count == 1 ? "" : "s", t->columns);
    for (int f = 0; f < VS_TRACE_FIELDS; f++)
        t->row.text[f] = t->at[f] == SIZE_MAX ? NULL : t->fields.at[t->at[f]];
    return true;
}

static bool read_row(struct vs_trace *t, struct vs_err *err) {
    const char *why;
    if (t->reader->form == VS_TRACE_CSV)
        return read_csv_row(t, err);
    return vs_trace_object(t->line.at, t->reader, &t->row, &why) || bad_line(t, why, err);
}

static bool bad_field(const struct vs_trace *t, enum vs_trace_field field, const char *expected,
                      struct vs_err *err) {
    const char *text = t->row.text[field];
    return vs_err_at(err, vs_input_name(t->in), vs_input_line_number(t->in), 0,
                     "%s: found %s%.40s%s, expected %s", t->reader->fields[field], text ? "'" : "",
                     text ? text : "nothing", text ? "'" : "", expected);
}

static bool read_tokens(const struct vs_trace *t, enum vs_trace_field field, bool zero,
                        uint64_t *tokens, struct vs_err *err) {
    const char *text = t->row.text[field];
    size_t digits = text ? strspn(text, "0123456789") : 0;
    if (digits > 0 && digits < 10 && text[digits] == '\0') {
        *tokens = strtoull(text, NULL, 10);
        if (*tokens <= VS_TRACE_TOKENS_MOST && (*tokens > 0 || zero))
            return true;
    }
    return bad_field(t, field, "a whole number of tokens from 1 to 4194304", err);
}

static bool read_arrival(struct vs_trace *t, struct vs_trace_request *request, struct vs_err *err) {
    const char *text = t->row.text[VS_TRACE_ARRIVED];
    int64_t ns;
    request->arrived_s = 0;
    if (!t->timed)
        return true;
    if (!text || !(t->reader->clock ? t->reader->clock(text, &ns)
                                    : vs_trace_time(text, t->reader->unit_ns, &ns)))
        return bad_field(t, VS_TRACE_ARRIVED,
                         t->reader->clock ? "a time such as 2023-11-16 18:17:03.9799600"
                                          : "a time, 0 or later",
                         err);
    if (ns < 0)
        return bad_field(t, VS_TRACE_ARRIVED, "a time, 0 or later", err);
    if (t->any && ns < t->last_ns)
        return bad_field(t, VS_TRACE_ARRIVED, "no time before that of the row above", err);
    if (!t->any)
        t->first_ns = ns;
    t->last_ns = ns;
    request->arrived_s = (double)(ns - t->first_ns) * S_PER_NS;
    return true;
}

/* The arrival comes last: a row that is refused for its tokens must not move the time. */
static bool read_request(struct vs_trace *t, struct vs_trace_request *request, struct vs_err *err) {
    if (!read_row(t, err) || !read_tokens(t, VS_TRACE_PROMPT, false, &request->prompt, err) ||
        !read_tokens(t, VS_TRACE_GEN, t->reader->zero_is_failure, &request->gen, err) ||
        !read_arrival(t, request, err))
        return false;
    request->hashes = t->row.hashes;
    request->hash_count = t->row.hash_count;
    t->any = true;
    return true;
}

static void note_skipped(struct vs_trace *t, const struct vs_err *err) {
    if (t->skipped++ == 0)
        memcpy(t->first_skipped, err->text, sizeof t->first_skipped);
}

bool vs_trace_next(struct vs_trace *t, struct vs_trace_request *request, bool *more,
                   struct vs_err *err) {
    for (;;) {
        struct vs_trace_request read;
        struct vs_err bad = {.status = VS_OK};
        *more = true;
        if (!t->held && !vs_trace_line(t->in, &t->line, more, err))
            return false;
        if (!*more)
            return true;
        t->held = false;
        if (!read_request(t, &read, &bad)) {
            if (!t->skip_bad || bad.status != VS_ERR_INPUT) {
                *err = bad;
                return false;
            }
            note_skipped(t, &bad);
            continue;
        }
        if (read.gen == 0) {
            t->unanswered++;
            continue;
        }
        *request = read;
        return true;
    }
}

const char *vs_trace_format(const struct vs_trace *t) { return t->reader->name; }

bool vs_trace_timed(const struct vs_trace *t) { return t->timed; }

uint64_t vs_trace_hash_tokens(const struct vs_trace *t) { return t->reader->hash_tokens; }

uint64_t vs_trace_skipped(const struct vs_trace *t) { return t->skipped; }

const char *vs_trace_first_skipped(const struct vs_trace *t) { return t->first_skipped; }

uint64_t vs_trace_unanswered(const struct vs_trace *t) { return t->unanswered; }
