#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

enum {
    TEXT_SIZE = sizeof((struct vs_err *)0)->text,
    FILE_SHOWN =
        200, /* bytes of a long file name that are shown: the end says more than the start */
};

/* Formats behind what `text` already holds. */
static void append(char text[TEXT_SIZE], const char *fmt, va_list args) VS_PRINTF(2, 0);
static void append(char text[TEXT_SIZE], const char *fmt, va_list args) {
    size_t used = strlen(text);
    int size = vsnprintf(text + used, TEXT_SIZE - used, fmt, args);
    if (size < 0)
        text[used] = '\0';
    else if ((size_t)size >= TEXT_SIZE - used)
        memcpy(text + TEXT_SIZE - 4, "...", 4);
}

/* A message goes to terminals and logs: no control characters (C0, DEL, C1), no broken UTF-8. */
static void sanitize(char text[TEXT_SIZE]) {
    size_t length = strlen(text);
    for (size_t i = 0; i < length;) {
        size_t size = vs_utf8_size(text + i, length - i);
        unsigned char first = (unsigned char)text[i];
        bool control = first < 0x20 || first == 0x7F;
        if (first == 0xC2 && size == 2 && (unsigned char)text[i + 1] < 0xA0)
            control = true;
        if (size == 0)
            size = 1;
        else if (!control) {
            i += size;
            continue;
        }
        memset(text + i, '?', size);
        i += size;
    }
}

/* The message is built aside, so that arguments may point into the error that it replaces. */
static bool finish(struct vs_err *err, enum vs_status status, char text[TEXT_SIZE]) {
    sanitize(text);
    err->status = status;
    memcpy(err->text, text, TEXT_SIZE);
    return false;
}

bool vs_err_set(struct vs_err *err, enum vs_status status, const char *fmt, ...) {
    if (!err)
        return false;
    char text[TEXT_SIZE] = "";
    va_list args;
    va_start(args, fmt);
    append(text, fmt, args);
    va_end(args);
    return finish(err, status, text);
}

static void put_place(char text[TEXT_SIZE], const char *file, int line, int column) {
    size_t length = strlen(file);
    const char *dots = "";
    if (length > FILE_SHOWN) {
        file += length - FILE_SHOWN;
        dots = "...";
    }
    if (line > 0 && column > 0)
        (void)snprintf(text, TEXT_SIZE, "%s%s:%d:%d: ", dots, file, line, column);
    else if (line > 0)
        (void)snprintf(text, TEXT_SIZE, "%s%s:%d: ", dots, file, line);
    else
        (void)snprintf(text, TEXT_SIZE, "%s%s: ", dots, file);
}

bool vs_err_at(struct vs_err *err, const char *file, int line, int column, const char *fmt, ...) {
    if (!err)
        return false;
    char text[TEXT_SIZE] = "";
    if (file)
        put_place(text, file, line, column);
    va_list args;
    va_start(args, fmt);
    append(text, fmt, args);
    va_end(args);
    return finish(err, VS_ERR_INPUT, text);
}

bool vs_err_nomem(struct vs_err *err) { return vs_err_set(err, VS_ERR_NOMEM, "out of memory"); }
