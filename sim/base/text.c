#include "base/text.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define TEXT_MOST_BYTES (1024UL * 1024 * 1024)

/* Makes room for `more` bytes and the terminator. */
static bool make_room(struct vs_text *text, size_t more) {
    if (text->failed)
        return false;
    if (more > TEXT_MOST_BYTES - text->length) {
        text->failed = true;
        return false;
    }
    size_t needed = text->length + more + 1;
    if (needed <= text->room)
        return true;
    size_t room = text->room < 64 ? 64 : text->room * 2;
    if (room < needed)
        room = needed;
    char *at = realloc(text->at, room);
    if (!at) {
        text->failed = true;
        return false;
    }
    text->at = at;
    text->room = room;
    return true;
}

void vs_text_addn(struct vs_text *text, const char *piece, size_t length) {
    if (length == 0 || !make_room(text, length))
        return;
    memcpy(text->at + text->length, piece, length);
    text->length += length;
    text->at[text->length] = '\0';
}

void vs_text_add(struct vs_text *text, const char *piece) {
    vs_text_addn(text, piece, strlen(piece));
}

void vs_text_printf(struct vs_text *text, const char *fmt, ...) {
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (length < 0) {
        text->failed = true;
    } else if (length > 0 && make_room(text, (size_t)length)) {
        (void)vsnprintf(text->at + text->length, (size_t)length + 1, fmt, again);
        text->length += (size_t)length;
    }
    va_end(again);
}

void vs_text_release(struct vs_text *text) {
    free(text->at);
    *text = (struct vs_text){0};
}

const char *vs_text_str(const struct vs_text *text) { return text->length > 0 ? text->at : ""; }

bool vs_streq(const char *a, const char *b) {
    if (!a || !b)
        return a == b;
    return strcmp(a, b) == 0;
}

bool vs_starts(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Words */

enum {
    WORD_COMPARED = 64, /* bytes of a word that count for the distance: keeps hostile input cheap */
    NEAREST_COUNT = 3,
};

static unsigned char folded(char c) {
    unsigned char byte = (unsigned char)c;
    return (byte >= 'A' && byte <= 'Z') ? (unsigned char)(byte - 'A' + 'a') : byte;
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* Optimal string alignment: insert, delete, replace, swap of neighbours cost 1; case costs nothing.
 */
static size_t distance(const char *a, const char *b) {
    size_t rows[3][WORD_COMPARED + 1];
    size_t a_all = strlen(a), b_all = strlen(b);
    size_t a_count = least(a_all, WORD_COMPARED), b_count = least(b_all, WORD_COMPARED);
    size_t *before = rows[0], *last = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b_count; j++)
        before[j] = last[j] = j;
    for (size_t i = 1; i <= a_count; i++) {
        row[0] = i;
        for (size_t j = 1; j <= b_count; j++) {
            bool same = folded(a[i - 1]) == folded(b[j - 1]);
            size_t cost = least(last[j - 1] + (same ? 0 : 1), least(last[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && folded(a[i - 1]) == folded(b[j - 2]) &&
                folded(a[i - 2]) == folded(b[j - 1]))
                cost = least(cost, before[j - 2] + 1);
            row[j] = cost;
        }
        size_t *spare = before;
        before = last;
        last = row;
        row = spare;
    }
    return last[b_count] + (a_all - a_count) + (b_all - b_count);
}

static bool begins_folded(const char *text, const char *prefix) {
    for (size_t i = 0; prefix[i] != '\0'; i++) {
        if (folded(text[i]) != folded(prefix[i]))
            return false;
    }
    return true;
}

void vs_nearest(const char *word, const char *const *words, size_t count, char *out,
                size_t out_size) {
    struct {
        size_t rank, index;
    } best[NEAREST_COUNT];
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        /* A prefix ranks below any distance that does not begin with the word. */
        size_t rank = distance(word, words[i]);
        if (!begins_folded(words[i], word))
            rank += SIZE_MAX / 2;
        size_t slot = found;
        while (slot > 0 && rank < best[slot - 1].rank)
            slot--;
        if (slot == NEAREST_COUNT)
            continue;
        if (found < NEAREST_COUNT)
            found++;
        for (size_t k = found - 1; k > slot; k--)
            best[k] = best[k - 1];
        best[slot].rank = rank;
        best[slot].index = i;
    }
    if (out_size == 0)
        return;
    size_t used = 0;
    out[0] = '\0';
    for (size_t k = 0; k < found; k++) {
        const char *name = words[best[k].index];
        const char *comma = used > 0 ? ", " : "";
        size_t length = strlen(comma) + strlen(name);
        if (length >= out_size - used)
            break; /* whole words only */
        (void)snprintf(out + used, out_size - used, "%s%s", comma, name);
        used += length;
    }
}

char **vs_split(struct vs_arena *arena, const char *text, char separator, size_t *count) {
    size_t pieces = 1;
    for (const char *c = text; *c != '\0'; c++)
        pieces += *c == separator;
    char **out = VS_NEW_ARRAY(arena, char *, pieces + 1);
    if (!out)
        return NULL;
    const char *at = text;
    for (size_t i = 0; i < pieces; i++) {
        const char *end = i + 1 < pieces ? strchr(at, separator) : at + strlen(at);
        out[i] = vs_arena_strndup(arena, at, (size_t)(end - at));
        if (!out[i])
            return NULL;
        at = end + 1;
    }
    *count = pieces;
    return out;
}

static bool blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

/* Reads one word from *at into `word`, which has room for the rest of the text. Returns NULL, or
 * what is missing at the end. */
static const char *shell_word(const char **at, char *word, size_t *length) {
    const char *c = *at;
    char quote = '\0';
    for (; *c != '\0' && (quote != '\0' || !blank(*c)); c++) {
        if (quote == '\0' && (*c == '\'' || *c == '"')) {
            quote = *c;
        } else if (quote != '\0' && *c == quote) {
            quote = '\0';
        } else if (*c == '\\' && quote != '\'') {
            if (c[1] == '\0')
                return quote == '\0' ? "a character after the last '\\'" : "a closing '\"'";
            /* Within "..." a backslash is special before these four and a line break only. */
            if (quote == '"' && !strchr("$`\"\\\n", c[1]))
                word[(*length)++] = '\\';
            c++;
            if (*c != '\n')
                word[(*length)++] = *c;
        } else {
            word[(*length)++] = *c;
        }
    }
    *at = c;
    if (quote == '\0')
        return NULL;
    return quote == '\'' ? "a closing \"'\"" : "a closing '\"'";
}

bool vs_shell_split(struct vs_arena *arena, const char *text, char ***words, size_t *count,
                    struct vs_err *err) {
    VS_VEC(char *) list = {0};
    bool done = false;
    char *word = vs_arena_alloc(arena, strlen(text) + 1, 1);
    if (!word)
        goto nomem;
    for (const char *at = text;;) {
        while (blank(*at) || (at[0] == '\\' && at[1] == '\n'))
            at += *at == '\\' ? 2 : 1;
        if (*at == '\0')
            break;
        size_t length = 0;
        const char *missing = shell_word(&at, word, &length);
        if (missing) {
            (void)vs_err_set(err, VS_ERR_INPUT, "found the end of the line, expected %s in: %s",
                             missing, text);
            goto out;
        }
        char *copy = vs_arena_strndup(arena, word, length);
        if (!copy || !vs_vec_push(&list, copy))
            goto nomem;
    }
    char **copied = vs_arena_copy(arena, list.at, list.count, sizeof *list.at);
    if (!copied)
        goto nomem;
    *words = copied;
    *count = list.count;
    done = true;
    goto out;
nomem:
    (void)vs_err_nomem(err);
out:
    vs_vec_release(&list);
    return done;
}
