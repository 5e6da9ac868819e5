/* UTF-8 as RFC 3629 defines it: no overlong forms, no surrogates, nothing over U+10FFFF. */
#ifndef VS_BASE_UTF8_H
#define VS_BASE_UTF8_H

#include <stddef.h>

/* Bytes of the character that begins at `at`, 1 to 4; 0 where the `left` bytes begin with none.
 * A NUL byte is a character of one byte. */
size_t vs_utf8_size(const char *at, size_t left);

#endif
