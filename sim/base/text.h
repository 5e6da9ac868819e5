/* Strings: a bounded builder, comparison, and the nearest known words for an unknown one. */
#ifndef VS_BASE_TEXT_H
#define VS_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

/* A growing text. An all-zero one is empty and ready; vs_text_release frees it. Once memory runs
 * out or the text passes 1 GiB, `failed` is set and further appends do nothing: check it once, at
 * the end. */
struct vs_text {
    char *at; /* always terminated when length > 0; NULL when empty */
    size_t length, room;
    bool failed;
};
void vs_text_add(struct vs_text *text, const char *piece);
void vs_text_addn(struct vs_text *text, const char *piece, size_t length);
void vs_text_printf(struct vs_text *text, const char *fmt, ...) VS_PRINTF(2, 3);
void vs_text_release(struct vs_text *text);
const char *vs_text_str(const struct vs_text *text); /* never NULL */

bool vs_streq(const char *a, const char *b);
bool vs_starts(const char *text, const char *prefix);

/* The (up to) three words of `words` nearest to `word` by edit distance with transpositions
 * (case costs nothing), those that begin with `word` first, ties in the order given, written as
 * "a, b, c" into `out`. Empty when count is 0. */
void vs_nearest(const char *word, const char *const *words, size_t count, char *out,
                size_t out_size);

/* Splits `text` at `separator` into arena strings (empty pieces are kept; "" gives one empty
 * piece). NULL when memory runs out. */
char **vs_split(struct vs_arena *arena, const char *text, char separator, size_t *count);

/* Splits a command line into words as a POSIX shell does: blanks, '...', "...", backslash; no
 * expansions. False on an unclosed quote. */
bool vs_shell_split(struct vs_arena *arena, const char *text, char ***words, size_t *count,
                    struct vs_err *err);

#endif
