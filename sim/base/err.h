/* Errors as values that carry a place.
 *
 * Every function that can fail returns bool (or a pointer) and takes a `struct vs_err *` last. On
 * failure it fills the error once, at the place that knows most, and callers pass it up untouched;
 * output parameters keep their old values. The text is one line, lower case, without a full stop:
 *
 *     hwprofiles/devices/x.json:12:5: unknown key 'bandwith', expected one of: bandwidth, kind
 *
 * Nothing here allocates, prints or exits.
 */
#ifndef VS_BASE_ERR_H
#define VS_BASE_ERR_H

#include <stdbool.h>

enum vs_status {
    VS_OK = 0,
    VS_ERR_INPUT, /* bad usage or bad input: exit status 2 */
    VS_ERR_IO,    /* a file could not be read or written: exit status 1 */
    VS_ERR_NOMEM, /* this process ran out of memory: exit status 1 */
};

struct vs_err {
    enum vs_status status;
    char text[512];
};

#if defined(__GNUC__)
#define VS_PRINTF(fmt_index, first_arg) __attribute__((format(printf, fmt_index, first_arg)))
#else
#define VS_PRINTF(fmt_index, first_arg)
#endif

/* Fills `err` and returns false, so that a caller can `return vs_err_set(...)`. Control characters
 * that come from input are replaced by '?'; a text that is too long ends in "...". */
bool vs_err_set(struct vs_err *err, enum vs_status status, const char *fmt, ...) VS_PRINTF(3, 4);

/* The same with status VS_ERR_INPUT and a leading "file:line:column: "; line or column 0 are left
 * out. `file` may be NULL (no place). */
bool vs_err_at(struct vs_err *err, const char *file, int line, int column, const char *fmt, ...)
    VS_PRINTF(5, 6);

/* Status VS_ERR_NOMEM with a fixed text; returns false. */
bool vs_err_nomem(struct vs_err *err);

#endif
