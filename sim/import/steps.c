#include "import/steps.h"

#include <string.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/rng.h"
#include "base/text.h"
#include "import/reader.h"

enum form { FORM_NONE, FORM_LISTS, FORM_SAMPLES, FORM_JSON, FORM_HISTOGRAM };
static const char *const FORMS[] = {
    [FORM_LISTS] = "step lengths, CSV",
    [FORM_SAMPLES] = "sample lengths, CSV",
    [FORM_JSON] = "step lengths, JSON lines",
    [FORM_HISTOGRAM] = "histogram of lengths, CSV",
};

struct reader {
    struct vs_input *in;
    struct vs_step_trace *trace;
    bool skip_bad;
    enum form form;
    size_t column[2]; /* of the two names of its form */
    size_t columns;
    vs_trace_text line; /* split in place */
    vs_trace_texts fields;
    struct vs_arena arena; /* of one line */
};

void vs_step_trace_release(struct vs_step_trace *trace) {
    vs_vec_release(&trace->lengths);
    vs_vec_release(&trace->steps);
    vs_vec_release(&trace->weights);
    memset(trace, 0, sizeof *trace);
}

static void release(struct reader *r) {
    vs_vec_release(&r->line);
    vs_vec_release(&r->fields);
    vs_arena_release(&r->arena);
}

/* ---- lines ---- */

/* The place of a name in the header; false where it is not there. */
static bool find_column(struct reader *r, const char *name, size_t *column) {
    for (size_t i = 0; i < r->fields.count; i++) {
        if (!vs_streq(r->fields.at[i], name))
            continue;
        *column = i;
        return true;
    }
    return false;
}

static enum form form_of_header(struct reader *r) {
    r->columns = r->fields.count;
    if (find_column(r, "length", &r->column[1]) && find_column(r, "count", &r->column[0]))
        return FORM_HISTOGRAM;
    if (!find_column(r, "step", &r->column[0]))
        return FORM_NONE;
    if (find_column(r, "lengths", &r->column[1]))
        return FORM_LISTS;
    return find_column(r, "length", &r->column[1]) ? FORM_SAMPLES : FORM_NONE;
}

/* Reads the first line of a CSV; that of JSON is a row already. *row says which. */
static bool recognise(struct reader *r, bool *row, struct vs_err *err) {
    const char *why;
    bool more;
    *row = false;
    if (!vs_trace_line(r->in, &r->line, &more, err))
        return false;
    if (more && r->line.at[strspn(r->line.at, " \t")] == '{') {
        *row = true;
        r->form = vs_trace_has_key(r->line.at, "lengths") ? FORM_JSON : FORM_NONE;
        return true;
    }
    if (more && !vs_trace_split(r->line.at, &r->fields, &why) && !why)
        return vs_err_nomem(err);
    r->form = more ? form_of_header(r) : FORM_NONE;
    return true;
}

/* ---- rows ---- */

/* Below, false: *why says what is wrong, or is NULL when memory runs out. */
static bool take_number(const char *at, const char **end, uint64_t most, uint64_t *number) {
    const char *from = at;
    *number = 0;
    for (; *at >= '0' && *at <= '9'; at++) {
        *number = *number * 10 + (uint64_t)(*at - '0');
        if (*number > most)
            return false;
    }
    *end = at;
    return at > from;
}

static bool whole_number(const char *text, uint64_t most, uint64_t *number) {
    const char *end;
    return take_number(text, &end, most, number) && *end == '\0';
}

static bool add_length(struct reader *r, uint64_t length, const char **why) {
    if (length == 0 || length > VS_STEP_TOKENS_MOST)
        return vs_because(why, "found a length that is no whole number from 1 to 4194304");
    uint32_t tokens = (uint32_t)length;
    return vs_vec_push(&r->trace->lengths, tokens) ? true : vs_because(why, NULL);
}

/* Ends a step that began with sample `first`. */
static bool add_step(struct reader *r, uint64_t number, size_t first, const char **why) {
    size_t count = r->trace->lengths.count - first;
    if (count == 0 || count > VS_STEP_SAMPLES_MOST)
        return vs_because(why, "expected 1 to 65536 samples in a step");
    struct vs_step step = {number, first, count};
    return vs_vec_push(&r->trace->steps, step) ? true : vs_because(why, NULL);
}

static bool read_list(struct reader *r, const char *text, const char **why) {
    const char *at = text + strspn(text, " ");
    while (*at != '\0') {
        uint64_t length;
        const char *end;
        if (!take_number(at, &end, VS_STEP_TOKENS_MOST, &length) || (*end != ' ' && *end != '\0'))
            return vs_because(why, "found lengths that are not whole numbers with blanks between");
        if (!add_length(r, length, why))
            return false;
        at = end + strspn(end, " ");
    }
    return true;
}

/* A row of one sample: of the last step, or of a new one. */
static bool add_sample(struct reader *r, uint64_t number, uint64_t length, const char **why) {
    struct vs_step_trace *t = r->trace;
    size_t first = t->lengths.count;
    if (!add_length(r, length, why))
        return false;
    struct vs_step *last = t->steps.count > 0 ? &t->steps.at[t->steps.count - 1] : NULL;
    if (!last || last->number != number)
        return add_step(r, number, first, why);
    if (last->count == VS_STEP_SAMPLES_MOST)
        return vs_because(why, "expected 1 to 65536 samples in a step");
    last->count++;
    return true;
}

static bool add_bin(struct reader *r, uint64_t count, uint64_t length, const char **why) {
    struct vs_step_trace *t = r->trace;
    uint64_t sum = t->weights.count > 0 ? t->weights.at[t->weights.count - 1] : 0;
    if (count == 0)
        return true;
    sum += count; /* at most 2^22 lengths of less than 2^40 each */
    if (t->weights.count > VS_STEP_TOKENS_MOST)
        return vs_because(why, "expected at most 4194304 rows in a histogram");
    return add_length(r, length, why) && (vs_vec_push(&t->weights, sum) || vs_because(why, NULL));
}

static bool read_csv_row(struct reader *r, const char **why) {
    size_t first = r->trace->lengths.count;
    uint64_t number, length;
    if (!vs_trace_split(r->line.at, &r->fields, why))
        return false;
    if (r->fields.count != r->columns)
        return vs_because(why, "found another number of fields than the header has");
    const char *text = r->fields.at[r->column[1]];
    if (!whole_number(r->fields.at[r->column[0]], 1ULL << 40, &number))
        return vs_because(why, "found a number of a step, or a count, that is no whole number");
    if (r->form == FORM_LISTS)
        return read_list(r, text, why) && add_step(r, number, first, why);
    if (!whole_number(text, VS_STEP_TOKENS_MOST, &length))
        return vs_because(why, "found a length that is no whole number from 1 to 4194304");
    return r->form == FORM_SAMPLES ? add_sample(r, number, length, why)
                                   : add_bin(r, number, length, why);
}

static bool read_json_row(struct reader *r, const char **why) {
    size_t first = r->trace->lengths.count;
    const struct vs_json *root;
    struct vs_err err;
    vs_arena_reset(&r->arena);
    if (!vs_json_parse(&r->arena, "", r->line.at, r->line.count, &root, &err))
        return vs_because(why,
                          err.status == VS_ERR_NOMEM ? NULL : "expected one JSON object a line");
    const struct vs_json *step = vs_json_member(root, "step");
    const struct vs_json *lengths = vs_json_member(root, "lengths");
    if (!lengths || lengths->kind != VS_JSON_ARRAY)
        return vs_because(why, "expected an array under 'lengths'");
    if (step && (!step->is_integer || step->integer > 1ULL << 40))
        return vs_because(why, "expected a whole number under 'step'");
    for (const struct vs_json *l = lengths->child; l; l = l->next)
        if (!add_length(r, l->is_integer ? l->integer : 0, why))
            return false;
    return add_step(r, step ? step->integer : r->trace->steps.count, first, why);
}

/* A row, or one more that is left out; what it had added goes. */
static bool read_row(struct reader *r, struct vs_err *err) {
    size_t before = r->trace->lengths.count;
    const char *why = NULL;
    if (r->form == FORM_JSON ? read_json_row(r, &why) : read_csv_row(r, &why))
        return true;
    if (!why)
        return vs_err_nomem(err);
    if (!r->skip_bad)
        return vs_err_at(err, vs_input_name(r->in), vs_input_line_number(r->in), 0, "%s", why);
    r->trace->lengths.count = before;
    r->trace->skipped++;
    return true;
}

static bool read_rows(struct reader *r, struct vs_err *err) {
    bool more;
    if (!recognise(r, &more, err))
        return false;
    if (r->form == FORM_NONE)
        return vs_err_at(err, vs_input_name(r->in), 1, 0,
                         "expected a header with step and lengths, step and length, or length and "
                         "count, or a JSON object with 'lengths'");
    r->trace->form = FORMS[r->form];
    if (!more && !vs_trace_line(r->in, &r->line, &more, err))
        return false;
    while (more)
        if (!read_row(r, err) || !vs_trace_line(r->in, &r->line, &more, err))
            return false;
    return true;
}

bool vs_step_trace_read(struct vs_input *in, bool skip_bad, struct vs_step_trace *trace,
                        struct vs_err *err) {
    struct reader r = {.in = in, .trace = trace, .skip_bad = skip_bad};
    bool ok = read_rows(&r, err);
    release(&r);
    if (ok && trace->steps.count == 0 && trace->weights.count == 0)
        ok = vs_err_at(err, vs_input_name(in), 0, 0, "found no step, expected at least one");
    return ok;
}

bool vs_step_trace_looks_like(const char *head, size_t length) {
    struct vs_err err;
    struct reader r = {.in = vs_input_over(head, length, "", &err)};
    bool row;
    bool ok = r.in != NULL && recognise(&r, &row, &err) && r.form != FORM_NONE;
    vs_input_close(r.in);
    release(&r);
    return ok;
}

/* The first length whose sum of weights is beyond `at`. */
static size_t find_bin(const struct vs_step_trace *t, uint64_t at) {
    size_t low = 0, high = t->weights.count - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (t->weights.at[middle] > at)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

bool vs_step_trace_draw(const struct vs_step_trace *histogram, uint64_t seed, uint64_t steps,
                        uint64_t samples, struct vs_step_trace *drawn) {
    struct vs_rng *rng = vs_rng_new(seed);
    uint64_t sum = histogram->weights.at[histogram->weights.count - 1];
    bool ok = rng != NULL;
    drawn->form = histogram->form;
    drawn->skipped = histogram->skipped;
    for (uint64_t i = 0; i < steps && ok; i++) {
        struct vs_step step = {i, drawn->lengths.count, (size_t)samples};
        for (uint64_t k = 0; k < samples && ok; k++)
            ok = vs_vec_push(&drawn->lengths,
                             histogram->lengths.at[find_bin(histogram, vs_rng_below(rng, sum))]);
        ok = ok && vs_vec_push(&drawn->steps, step);
    }
    vs_rng_free(rng);
    return ok;
}
