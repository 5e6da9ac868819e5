#include "base/utf8.h"

#include <stdbool.h>

/* Table 3-7 of the Unicode standard: the second byte has a narrower range after E0, ED, F0 and F4.
 */
static bool second_fits(unsigned char first, unsigned char second) {
    switch (first) {
    case 0xE0:
        return second >= 0xA0 && second <= 0xBF;
    case 0xED:
        return second >= 0x80 && second <= 0x9F;
    case 0xF0:
        return second >= 0x90 && second <= 0xBF;
    case 0xF4:
        return second >= 0x80 && second <= 0x8F;
    default:
        return second >= 0x80 && second <= 0xBF;
    }
}

size_t vs_utf8_size(const char *at, size_t left) {
    if (left == 0)
        return 0;
    unsigned char first = (unsigned char)at[0];
    if (first < 0x80)
        return 1;
    size_t size = 0;
    if (first >= 0xC2 && first <= 0xDF)
        size = 2;
    else if (first >= 0xE0 && first <= 0xEF)
        size = 3;
    else if (first >= 0xF0 && first <= 0xF4)
        size = 4;
    if (size == 0 || size > left || !second_fits(first, (unsigned char)at[1]))
        return 0;
    for (size_t i = 2; i < size; i++) {
        if (((unsigned char)at[i] & 0xC0) != 0x80)
            return 0;
    }
    return size;
}
