#include "import/pickle.h"

#include <string.h>

#include "base/text.h"
#include "base/vec.h"

enum { DEPTH_MOST = 64, LISTS_FIRST = 4 };

struct machine {
    struct vs_arena *arena;
    const char *name, *bytes;
    size_t length, at;
    size_t opcode_at; /* where the opcode that runs began */
    const char *opcode;
    VS_VEC(struct vs_pickle *) stack;
    VS_VEC(size_t) marks; /* heights of the stack */
    VS_VEC(struct vs_pickle *) memo;
    bool stopped;
    struct vs_err *err;
};

/* The argument behind an opcode: a number, or a text. */
struct argument {
    uint64_t number;
    size_t width; /* bytes of the number */
    const char *text;
    size_t length;
};

static bool fail(struct machine *m, const char *what) {
    return vs_err_set(m->err, VS_ERR_INPUT, "%s: byte %zu: %s: %s", m->name, m->opcode_at,
                      m->opcode, what);
}

static bool nomem(struct machine *m) { return vs_err_nomem(m->err); }

const char *vs_pickle_kind_name(enum vs_pickle_kind kind) {
    static const char *const NAMES[] = {"None",  "a bool", "an int",  "a float", "a str",
                                        "bytes", "a list", "a tuple", "a dict"};
    return NAMES[kind];
}

/* ---- stack ---- */

static bool push(struct machine *m, struct vs_pickle *value) {
    return vs_vec_push(&m->stack, value) ? true : nomem(m);
}

static bool push_new(struct machine *m, struct vs_pickle value) {
    struct vs_pickle *made = VS_NEW(m->arena, struct vs_pickle);
    if (!made)
        return nomem(m);
    *made = value;
    return push(m, made);
}

/* Values above the last mark. */
static size_t above_mark(const struct machine *m) {
    size_t floor = m->marks.count > 0 ? m->marks.at[m->marks.count - 1] : 0;
    return m->stack.count - floor;
}

static bool need(struct machine *m, size_t values) {
    return above_mark(m) >= values ? true : fail(m, "found too few values on the stack");
}

static struct vs_pickle *top(struct machine *m, size_t below) {
    return m->stack.at[m->stack.count - 1 - below];
}

/* Ends the last mark; *count values lie above where it was. */
static bool end_mark(struct machine *m, size_t *count) {
    if (m->marks.count == 0)
        return fail(m, "found no mark");
    *count = above_mark(m);
    m->marks.count--;
    return true;
}

/* ---- containers ---- */

static bool add_child(struct machine *m, struct vs_pickle *to, const struct vs_pickle *child) {
    unsigned depth = child->depth + 1U;
    if (depth > DEPTH_MOST)
        return fail(m, "nested deeper than 64");
    if (to->count == to->room) {
        size_t room = to->room > 0 ? 2 * to->room : LISTS_FIRST;
        const struct vs_pickle **grown = VS_NEW_ARRAY(m->arena, const struct vs_pickle *, room);
        if (!grown)
            return nomem(m);
        if (to->count > 0)
            memcpy((void *)grown, (const void *)to->children, to->count * sizeof *grown);
        to->children = grown;
        to->room = room;
    }
    to->children[to->count++] = child;
    if (depth > to->depth)
        to->depth = (uint8_t)depth;
    return true;
}

/* Moves the upper `count` values into a container below them, or into a new one. */
static bool fill(struct machine *m, struct vs_pickle *to, size_t count) {
    size_t first = m->stack.count - count;
    for (size_t i = 0; i < count; i++)
        if (!add_child(m, to, m->stack.at[first + i]))
            return false;
    m->stack.count = first;
    return true;
}

static bool make(struct machine *m, enum vs_pickle_kind kind, size_t count) {
    struct vs_pickle *made = VS_NEW(m->arena, struct vs_pickle);
    if (!made)
        return nomem(m);
    made->kind = (uint8_t)kind;
    if (kind == VS_PICKLE_DICT && count % 2 != 0)
        return fail(m, "found a key without a value");
    return fill(m, made, count) && push(m, made);
}

static bool make_marked(struct machine *m, enum vs_pickle_kind kind) {
    size_t count = 0;
    return end_mark(m, &count) && make(m, kind, count);
}

static bool extend(struct machine *m, enum vs_pickle_kind kind, size_t count) {
    if (m->stack.count - count == 0 || (above_mark(m) < count + 1))
        return fail(m, "found nothing to add to");
    struct vs_pickle *to = top(m, count);
    if (to->kind != kind || (kind == VS_PICKLE_DICT && count % 2 != 0))
        return fail(m, kind == VS_PICKLE_DICT ? "expected a dict and pairs" : "expected a list");
    return fill(m, to, count);
}

static bool extend_marked(struct machine *m, enum vs_pickle_kind kind) {
    size_t count = 0;
    return end_mark(m, &count) && extend(m, kind, count);
}

/* ---- memo ---- */

static bool remember(struct machine *m, uint64_t index) {
    if (!need(m, 1))
        return false;
    /* A pickler numbers what it remembers from 0 on: there can be no more than bytes so far. */
    if (index > m->at)
        return fail(m, "found a memo number that skips others");
    if (index >= m->memo.count) {
        size_t more = (size_t)index + 1 - m->memo.count;
        if (!vs_vec_reserve(&m->memo, more))
            return nomem(m);
        memset((void *)(m->memo.at + m->memo.count), 0, more * sizeof *m->memo.at);
        m->memo.count += more;
    }
    m->memo.at[index] = top(m, 0);
    return true;
}

static bool recall(struct machine *m, uint64_t index) {
    if (index >= m->memo.count || !m->memo.at[index])
        return fail(m, "found a memo number that nothing was stored under");
    return push(m, m->memo.at[index]);
}

/* ---- opcodes: do_ACTION(m, argument) ---- */
#define DO(action) static bool do_##action(struct machine *m, const struct argument *a)

DO(proto) {
    (void)a;
    if (a->number < 2 || a->number > 5)
        return fail(m, "expected protocol 2 to 5");
    return true;
}
DO(nothing) {
    (void)m, (void)a;
    return true;
}
DO(stop) {
    (void)a;
    if (m->stack.count != 1 || m->marks.count > 0)
        return fail(m, "expected one value on the stack");
    m->stopped = true;
    return true;
}
DO(mark) {
    (void)a;
    if (m->marks.count >= DEPTH_MOST)
        return fail(m, "nested deeper than 64");
    return vs_vec_push(&m->marks, m->stack.count) ? true : nomem(m);
}
DO(pop) {
    (void)a;
    if (above_mark(m) == 0) {
        size_t count = 0;
        return end_mark(m, &count);
    }
    m->stack.count--;
    return true;
}
DO(pop_mark) {
    size_t count = 0;
    (void)a;
    if (!end_mark(m, &count))
        return false;
    m->stack.count -= count;
    return true;
}
DO(dup) {
    (void)a;
    return need(m, 1) && push(m, top(m, 0));
}
DO(none) {
    (void)a;
    return push_new(m, (struct vs_pickle){.kind = VS_PICKLE_NONE});
}
DO(true_) {
    (void)a;
    return push_new(m, (struct vs_pickle){.kind = VS_PICKLE_BOOL, .integer = 1});
}
DO(false_) {
    (void)a;
    return push_new(m, (struct vs_pickle){.kind = VS_PICKLE_BOOL});
}
DO(unsigned_int) {
    return push_new(m, (struct vs_pickle){.kind = VS_PICKLE_INT, .integer = a->number});
}

static bool push_signed(struct machine *m, uint64_t twos_complement) {
    bool negative = twos_complement >> 63 != 0;
    uint64_t magnitude = negative ? 0 - twos_complement : twos_complement;
    return push_new(
        m, (struct vs_pickle){.kind = VS_PICKLE_INT, .negative = negative, .integer = magnitude});
}

/* The sign bit of so many bytes reaches up to the 64th bit. */
static uint64_t extend_sign(uint64_t bits, size_t width) {
    if (width > 0 && width < 8 && bits >> (8 * width - 1) != 0)
        bits |= ~0ULL << (8 * width);
    return bits;
}

DO(signed_int) { return push_signed(m, extend_sign(a->number, a->width)); }

static uint64_t little_endian(const char *at, size_t width) {
    uint64_t bits = 0;
    for (size_t i = width; i-- > 0;)
        bits = bits << 8 | (unsigned char)at[i];
    return bits;
}

/* Two's complement of any length; a 64-bit unsigned number takes nine bytes. */
DO(long_int) {
    if (a->length == 9 && a->text[8] == 0)
        return push_new(
            m, (struct vs_pickle){.kind = VS_PICKLE_INT, .integer = little_endian(a->text, 8)});
    if (a->length > 8)
        return fail(m, "found an integer beyond 64 bits");
    return push_signed(m, extend_sign(little_endian(a->text, a->length), a->length));
}

/* IEEE 754, big-endian. */
DO(float_) {
    uint64_t bits = 0;
    double number;
    for (int i = 0; i < 8; i++)
        bits = bits << 8 | (a->number >> (8 * i) & 0xff);
    memcpy(&number, &bits, sizeof number);
    return push_new(m, (struct vs_pickle){.kind = VS_PICKLE_FLOAT, .number = number});
}
DO(str) {
    return push_new(m,
                    (struct vs_pickle){.kind = VS_PICKLE_STR, .count = a->length, .text = a->text});
}
DO(bytes) {
    return push_new(
        m, (struct vs_pickle){.kind = VS_PICKLE_BYTES, .count = a->length, .text = a->text});
}
#define DO_ALIKE(action, call)                                                                     \
    DO(action) {                                                                                   \
        (void)a;                                                                                   \
        return call;                                                                               \
    }
DO_ALIKE(empty_list, make(m, VS_PICKLE_LIST, 0))
DO_ALIKE(list, make_marked(m, VS_PICKLE_LIST))
DO_ALIKE(append, need(m, 2) && extend(m, VS_PICKLE_LIST, 1))
DO_ALIKE(appends, extend_marked(m, VS_PICKLE_LIST))
DO_ALIKE(empty_tuple, make(m, VS_PICKLE_TUPLE, 0))
DO_ALIKE(tuple, make_marked(m, VS_PICKLE_TUPLE))
DO_ALIKE(tuple1, need(m, 1) && make(m, VS_PICKLE_TUPLE, 1))
DO_ALIKE(tuple2, need(m, 2) && make(m, VS_PICKLE_TUPLE, 2))
DO_ALIKE(tuple3, need(m, 3) && make(m, VS_PICKLE_TUPLE, 3))
DO_ALIKE(empty_dict, make(m, VS_PICKLE_DICT, 0))
DO_ALIKE(dict, make_marked(m, VS_PICKLE_DICT))
DO_ALIKE(setitem, need(m, 3) && extend(m, VS_PICKLE_DICT, 2))
DO_ALIKE(setitems, extend_marked(m, VS_PICKLE_DICT))
DO_ALIKE(put, remember(m, a->number))
DO_ALIKE(memoize, remember(m, m->memo.count))
DO_ALIKE(get, recall(m, a->number))
#undef DO_ALIKE
#undef DO

static bool refuse(struct machine *m, const struct argument *a) {
    (void)a;
    return fail(m, "refused: only plain data of protocols 2 to 5 is read, and nothing is executed");
}
#define do_REFUSE refuse

/* ---- the table ---- */

enum argument_kind { NONE, ONE, TWO, FOUR, EIGHT, TEXT1, TEXT4, TEXT8 };
struct opcode {
    const char *name; /* NULL = there is no such opcode */
    enum argument_kind argument;
    bool (*run)(struct machine *m, const struct argument *a);
};
static const struct opcode OPCODES[256] = {
#define X(byte, name, argument, action) [byte] = {#name, argument, do_##action},
#include "import/pickle.def"
#undef X
};

static bool take(struct machine *m, uint64_t bytes, const char **at) {
    if (bytes > m->length - m->at)
        return fail(m, "found a length beyond the end of the file");
    *at = m->bytes + m->at;
    m->at += (size_t)bytes;
    return true;
}

static bool read_argument(struct machine *m, enum argument_kind kind, struct argument *a) {
    static const size_t WIDTHS[] = {[NONE] = 0,  [ONE] = 1,   [TWO] = 2,   [FOUR] = 4,
                                    [EIGHT] = 8, [TEXT1] = 1, [TEXT4] = 4, [TEXT8] = 8};
    const char *at = NULL;
    *a = (struct argument){.width = WIDTHS[kind]};
    if (!take(m, a->width, &at))
        return false;
    a->number = little_endian(at, a->width);
    if (kind < TEXT1)
        return true;
    if (!take(m, a->number, &a->text))
        return false;
    a->length = (size_t)a->number;
    return true;
}

static bool step(struct machine *m) {
    m->opcode = "the end of the file";
    m->opcode_at = m->at;
    if (m->at == m->length)
        return fail(m, "expected more of a pickle");
    const struct opcode *opcode = &OPCODES[(unsigned char)m->bytes[m->at++]];
    struct argument a;
    m->opcode = opcode->name ? opcode->name : "unknown opcode";
    if (!opcode->name)
        return fail(m, "expected an opcode of a pickle");
    return read_argument(m, opcode->argument, &a) && opcode->run(m, &a);
}

bool vs_pickle_read(struct vs_arena *arena, const char *name, const char *bytes, size_t length,
                    const struct vs_pickle **value, struct vs_err *err) {
    struct machine m = {.arena = arena, .name = name, .bytes = bytes, .length = length, .err = err};
    bool ok = true;
    if (length < 2 || (unsigned char)bytes[0] != 0x80)
        ok =
            vs_err_set(err, VS_ERR_INPUT, "%s: byte 0: expected a pickle of protocol 2 to 5", name);
    while (ok && !m.stopped)
        ok = step(&m);
    if (ok && m.at < length) {
        m.opcode_at = m.at;
        ok = fail(&m, "expected the end of the file behind it");
    }
    if (ok)
        *value = m.stack.at[0];
    vs_vec_release(&m.stack);
    vs_vec_release(&m.marks);
    vs_vec_release(&m.memo);
    return ok;
}

bool vs_pickle_is(const struct vs_pickle *value, const char *text) {
    return value->kind == VS_PICKLE_STR && value->count == strlen(text) &&
           memcmp(value->text, text, value->count) == 0;
}

const struct vs_pickle *vs_pickle_member(const struct vs_pickle *dict, const char *key) {
    if (dict->kind != VS_PICKLE_DICT)
        return NULL;
    for (size_t i = dict->count; i >= 2; i -= 2)
        if (vs_pickle_is(dict->children[i - 2], key))
            return dict->children[i - 1];
    return NULL;
}
