/* The writer of json.h. */
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "base/utf8.h"

#define TWO_53 9007199254740992.0 /* below, a double holds every integer */

static void put_indent(struct vs_json_writer *w) {
    vs_text_add(w->out, "\n");
    for (int i = 0; i < w->depth; i++)
        vs_text_add(w->out, "  ");
}

/* What stands before a value or a key. */
static void put_before(struct vs_json_writer *w) {
    if (w->after_key) {
        w->after_key = false;
        return;
    }
    if (!w->first)
        vs_text_add(w->out, ",");
    if (w->depth > 0)
        put_indent(w);
    w->first = false;
}

static void put_quoted(struct vs_text *out, const char *value) {
    size_t left = strlen(value);
    vs_text_add(out, "\"");
    while (left > 0) {
        static const char CODES[] = "\"\\\b\f\n\r\t", NAMES[] = "\"\\bfnrt";
        size_t size = vs_utf8_size(value, left);
        const char *code = strchr(CODES, *value);
        if (code)
            vs_text_printf(out, "\\%c", NAMES[code - CODES]);
        else if (size == 0)
            vs_text_add(out, "\xEF\xBF\xBD"); /* U+FFFD for a byte that is no UTF-8 */
        else if ((unsigned char)*value < 0x20)
            vs_text_printf(out, "\\u%04x", (unsigned)*value);
        else
            vs_text_addn(out, value, size);
        size = size > 0 ? size : 1;
        value += size;
        left -= size;
    }
    vs_text_add(out, "\"");
}

void vs_json_begin(struct vs_json_writer *w, struct vs_text *out) {
    *w = (struct vs_json_writer){.out = out, .first = true};
}

static void put_open(struct vs_json_writer *w, const char *bracket) {
    put_before(w);
    vs_text_add(w->out, bracket);
    w->depth++;
    w->first = true;
}

void vs_json_object(struct vs_json_writer *w) { put_open(w, "{"); }

void vs_json_array(struct vs_json_writer *w) { put_open(w, "["); }

void vs_json_end(struct vs_json_writer *w, char bracket) {
    w->depth--;
    if (!w->first)
        put_indent(w);
    vs_text_addn(w->out, &bracket, 1);
    w->first = false;
}

void vs_json_key(struct vs_json_writer *w, const char *key) {
    put_before(w);
    put_quoted(w->out, key);
    vs_text_add(w->out, ": ");
    w->after_key = true;
}

void vs_json_string(struct vs_json_writer *w, const char *value) {
    if (!value) {
        vs_json_null(w);
        return;
    }
    put_before(w);
    put_quoted(w->out, value);
}

/* Counts of bytes and tokens may come as doubles: whole numbers are written in full. */
void vs_json_number(struct vs_json_writer *w, double value) {
    char text[VS_UNIT_TEXT];
    if (!isfinite(value)) {
        vs_json_null(w);
        return;
    }
    put_before(w);
    if (fabs(value) < TWO_53 && floor(value) == value)
        vs_text_printf(w->out, "%" PRId64, (int64_t)value);
    else
        vs_text_add(w->out, vs_print_g9(text, value));
}

void vs_json_u64(struct vs_json_writer *w, uint64_t value) {
    put_before(w);
    vs_text_printf(w->out, "%" PRIu64, value);
}

void vs_json_boolean(struct vs_json_writer *w, bool value) {
    put_before(w);
    vs_text_add(w->out, value ? "true" : "false");
}

void vs_json_null(struct vs_json_writer *w) {
    put_before(w);
    vs_text_add(w->out, "null");
}

void vs_json_member_string(struct vs_json_writer *w, const char *key, const char *value) {
    vs_json_key(w, key);
    vs_json_string(w, value);
}

void vs_json_member_number(struct vs_json_writer *w, const char *key, double value) {
    vs_json_key(w, key);
    vs_json_number(w, value);
}

void vs_json_member_u64(struct vs_json_writer *w, const char *key, uint64_t value) {
    vs_json_key(w, key);
    vs_json_u64(w, value);
}

void vs_json_member_boolean(struct vs_json_writer *w, const char *key, bool value) {
    vs_json_key(w, key);
    vs_json_boolean(w, value);
}
