#include "base/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_LONGEST = 100 }; /* characters of a number in a text; longer ones are refused */

#define TWO_64 18446744073709551616.0
#define TWO_63 9223372036854775808.0

/* The decimal point of the locale that the calling program may have set: strtod and printf use it.
 * localeconv would do, but is not safe among threads. */
static void find_point(char point[8]) {
    char half[16];
    (void)snprintf(half, sizeof half, "%.1f", 0.5);
    size_t length = strlen(half);
    if (length < 3 || length > 9) {
        memcpy(point, ".", 2);
        return;
    }
    memcpy(point, half + 1, length - 2);
    point[length - 2] = '\0';
}

static size_t count_digits(const char *text) {
    size_t n = 0;
    while (text[n] >= '0' && text[n] <= '9')
        n++;
    return n;
}

/* Length of the decimal number at the start of `text`, 0 where there is none: digits with a point
 * and an exponent as options. Neither hexadecimal nor "inf" nor blanks, which strtod would take. */
static size_t number_length(const char *text, bool *plain_digits) {
    size_t n = text[0] == '-' ? 1 : 0;
    size_t whole = count_digits(text + n), part = 0;
    n += whole;
    *plain_digits = true;
    if (text[n] == '.') {
        *plain_digits = false;
        part = count_digits(text + n + 1);
        n += 1 + part;
    }
    if (whole + part == 0)
        return 0;
    if (text[n] == 'e' || text[n] == 'E') {
        size_t sign = text[n + 1] == '+' || text[n + 1] == '-' ? 1 : 0;
        size_t digits = count_digits(text + n + 1 + sign);
        if (digits > 0) {
            *plain_digits = false;
            n += 1 + sign + digits;
        }
    }
    return n;
}

/* A number and what follows it. */
struct quantity {
    double value;
    uint64_t integer; /* exact, where `exact` */
    bool exact, negative;
    const char *unit;
};

static bool to_double(const char *text, size_t length, double *value) {
    char point[8], copy[NUMBER_LONGEST + 16];
    find_point(point);
    size_t used = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] != '.') {
            copy[used++] = text[i];
            continue;
        }
        size_t point_length = strlen(point);
        memcpy(copy + used, point, point_length);
        used += point_length;
    }
    copy[used] = '\0';
    *value = strtod(copy, NULL);
    return isfinite(*value);
}

static void to_integer(const char *digits, size_t length, struct quantity *q) {
    uint64_t sum = 0;
    for (size_t i = 0; i < length; i++) {
        uint64_t digit = (uint64_t)(digits[i] - '0');
        if (sum > (UINT64_MAX - digit) / 10)
            return;
        sum = sum * 10 + digit;
    }
    q->integer = sum;
    q->exact = true;
}

/* Reads "12.5 GiB" into 12.5 and "GiB"; one blank may stand between, as in what we print. */
static bool read_quantity(const char *text, struct quantity *q) {
    bool plain = false;
    size_t length = number_length(text, &plain);
    *q = (struct quantity){0};
    if (length == 0 || length > NUMBER_LONGEST || !to_double(text, length, &q->value))
        return false;
    q->negative = text[0] == '-';
    if (plain) {
        size_t sign = q->negative ? 1 : 0;
        to_integer(text + sign, length - sign, q);
    }
    q->unit = text + length;
    if (q->unit[0] == ' ') {
        q->unit++;
        return q->unit[0] != '\0';
    }
    return true;
}

struct unit {
    const char *name;
    double factor;
};

/* Finds a unit by its exact name. */
static const struct unit *find_unit(const struct unit *units, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(units[i].name, name) == 0)
            return &units[i];
    }
    return NULL;
}
#define FIND_UNIT(table, name) find_unit((table), sizeof(table) / sizeof(table)[0], (name))

static bool refuse(char why[VS_WHY_SIZE], const char *expected) {
    (void)snprintf(why, VS_WHY_SIZE, "expected %s", expected);
    return false;
}

/* value * factor as a whole number below `limit`, exact where the text was an integer. */
static bool scale_whole(const struct quantity *q, double factor, double limit, uint64_t *out) {
    double scaled = q->value * factor;
    if (scaled < 0)
        scaled = -scaled;
    uint64_t whole_factor = (uint64_t)factor;
    if (q->exact) {
        if (q->integer > UINT64_MAX / whole_factor)
            return false;
        *out = q->integer * whole_factor;
        return limit >= TWO_64 || *out < (uint64_t)limit;
    }
    scaled = round(scaled);
    if (scaled >= limit)
        return false;
    *out = (uint64_t)scaled;
    return true;
}

bool vs_parse_bytes(const char *text, uint64_t *bytes, char why[VS_WHY_SIZE]) {
    static const struct unit UNITS[] = {
        {"", 1},
        {"B", 1},
        {"KB", 1e3},
        {"kB", 1e3},
        {"MB", 1e6},
        {"GB", 1e9},
        {"TB", 1e12},
        {"KiB", 1024.0},
        {"MiB", VS_MIB},
        {"GiB", VS_GIB},
        {"TiB", 1024.0 * VS_GIB},
    };
    static const char EXPECTED[] = "a size such as 24GiB or 500MB";
    struct quantity q;
    if (!read_quantity(text, &q) || q.negative)
        return refuse(why, EXPECTED);
    const struct unit *unit = FIND_UNIT(UNITS, q.unit);
    if (!unit)
        return refuse(why, EXPECTED);
    if (unit->factor <= 1 && floor(q.value) < q.value)
        return refuse(why, "a whole number of bytes");
    uint64_t out = 0;
    if (!scale_whole(&q, unit->factor, TWO_64, &out))
        return refuse(why, "a size below 2^64 bytes");
    *bytes = out;
    return true;
}

/* Shared by rates, FLOPS and seconds: a value of at least 0 in a unit of the table. */
static bool parse_scaled(const char *text, const struct unit *units, size_t count,
                         const char *expected, double *out, char why[VS_WHY_SIZE]) {
    struct quantity q;
    if (!read_quantity(text, &q) || q.negative)
        return refuse(why, expected);
    const struct unit *unit = find_unit(units, count, q.unit);
    if (!unit)
        return refuse(why, expected);
    /* Factors below 1 are kept as their inverse, negated: 3ms is 3 / 1000, exactly rounded. */
    double scaled = unit->factor < 0 ? q.value / -unit->factor : q.value * unit->factor;
    if (!isfinite(scaled))
        return refuse(why, expected);
    *out = scaled;
    return true;
}

bool vs_parse_rate(const char *text, double *bytes_per_s, char why[VS_WHY_SIZE]) {
    static const struct unit UNITS[] = {
        {"B/s", 1},        {"KB/s", 1e3},
        {"kB/s", 1e3},     {"MB/s", 1e6},
        {"GB/s", 1e9},     {"TB/s", 1e12},
        {"KiB/s", 1024},   {"MiB/s", VS_MIB},
        {"GiB/s", VS_GIB}, {"TiB/s", 1024.0 * VS_GIB},
        {"b/s", -8},       {"kb/s", 1e3 / 8},
        {"Kb/s", 1e3 / 8}, {"Mb/s", 1e6 / 8},
        {"Gb/s", 1e9 / 8}, {"Tb/s", 1e12 / 8},
    };
    return parse_scaled(text, UNITS, sizeof UNITS / sizeof UNITS[0],
                        "a rate such as 900GB/s, 25GiB/s or 200Gb/s", bytes_per_s, why);
}

bool vs_parse_flops(const char *text, double *flops, char why[VS_WHY_SIZE]) {
    static const struct unit UNITS[] = {
        {"FLOPS", 1},  {"MFLOPS", 1e6},  {"GFLOPS", 1e9},  {"TFLOPS", 1e12},  {"PFLOPS", 1e15},
        {"FLOP/s", 1}, {"MFLOP/s", 1e6}, {"GFLOP/s", 1e9}, {"TFLOP/s", 1e12}, {"PFLOP/s", 1e15},
    };
    return parse_scaled(text, UNITS, sizeof UNITS / sizeof UNITS[0],
                        "a computing rate such as 165.2TFLOPS", flops, why);
}

bool vs_parse_seconds(const char *text, double *seconds, char why[VS_WHY_SIZE]) {
    static const struct unit UNITS[] = {
        {"", 1}, {"s", 1}, {"ms", -1e3}, {"us", -1e6}, {"ns", -1e9},
    };
    return parse_scaled(text, UNITS, sizeof UNITS / sizeof UNITS[0],
                        "a time such as 0.35s, 3ms or 10us", seconds, why);
}

bool vs_parse_count(const char *text, int64_t *count, char why[VS_WHY_SIZE]) {
    static const struct unit UNITS[] = {
        {"", 1},
        {"k", 1024},
        {"K", 1024},
        {"M", 1024.0 * 1024},
    };
    static const char EXPECTED[] = "a whole number such as 2048 or 8k";
    struct quantity q;
    if (!read_quantity(text, &q) || (q.unit != text && q.unit[-1] == ' '))
        return refuse(why, EXPECTED);
    const struct unit *unit = FIND_UNIT(UNITS, q.unit);
    if (!unit)
        return refuse(why, EXPECTED);
    double scaled = q.value * unit->factor;
    if (floor(scaled) < scaled)
        return refuse(why, EXPECTED);
    uint64_t size = 0;
    if (!scale_whole(&q, unit->factor, TWO_63, &size))
        return refuse(why, "a whole number below 2^63");
    *count = q.negative ? -(int64_t)size : (int64_t)size;
    return true;
}

bool vs_parse_number(const char *text, double *number, char why[VS_WHY_SIZE]) {
    struct quantity q;
    if (!read_quantity(text, &q) || q.unit[0] != '\0')
        return refuse(why, "a number such as 0.9");
    *number = q.value;
    return true;
}

/* Printers */

/* Makes what printf wrote the same in every locale. */
static char *plain_point(char out[VS_UNIT_TEXT]) {
    char point[8];
    find_point(point);
    if (strcmp(point, ".") == 0)
        return out;
    char *at = strstr(out, point);
    if (at) {
        size_t length = strlen(point);
        *at = '.';
        memmove(at + 1, at + length, strlen(at + length) + 1);
    }
    return out;
}

/* Four significant digits, whole numbers in full. */
static char *print_with_unit(char out[VS_UNIT_TEXT], double value, const char *unit) {
    (void)snprintf(out, VS_UNIT_TEXT, value >= 9999.5 && value < 1e15 ? "%.0f %s" : "%.4g %s",
                   value, unit);
    return plain_point(out);
}

/* NaN and infinity, which have no unit; false for a finite number. */
static bool print_odd(char out[VS_UNIT_TEXT], double value) {
    if (isfinite(value))
        return false;
    (void)snprintf(out, VS_UNIT_TEXT, "%s", isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
    return true;
}

char *vs_print_bytes(char out[VS_UNIT_TEXT], uint64_t bytes) {
    static const char *const NAMES[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    size_t i = 0;
    /* 1023.5 would be written as 1024 */
    for (; i + 1 < sizeof NAMES / sizeof NAMES[0] && value >= (i == 0 ? 1024 : 1023.5); i++)
        value /= 1024;
    return print_with_unit(out, value, NAMES[i]);
}

char *vs_print_rate(char out[VS_UNIT_TEXT], double bytes_per_s) {
    static const char *const NAMES[] = {"B/s", "KB/s", "MB/s", "GB/s"};
    if (print_odd(out, bytes_per_s))
        return out;
    double value = bytes_per_s;
    size_t i = 0;
    for (; i + 1 < sizeof NAMES / sizeof NAMES[0] && value >= 999.95; i++)
        value /= 1000;
    /* Memory rates are compared in GB/s: TB/s only where that has five digits. */
    if (value >= 9999.5)
        return print_with_unit(out, value / 1000, "TB/s");
    return print_with_unit(out, value, NAMES[i]);
}

/* From a minute on: the two largest of days, hours, minutes and seconds. */
static char *print_long_time(char out[VS_UNIT_TEXT], double seconds) {
    double minutes = round(seconds / 60), hours = round(seconds / 3600);
    if (round(seconds) < 3600) {
        double whole = floor(round(seconds) / 60);
        (void)snprintf(out, VS_UNIT_TEXT, "%.0f min %.0f s", whole, round(seconds) - whole * 60);
    } else if (minutes < 24.0 * 60) {
        double whole = floor(minutes / 60);
        (void)snprintf(out, VS_UNIT_TEXT, "%.0f h %.0f min", whole, minutes - whole * 60);
    } else if (hours < 24.0 * 100000) {
        double whole = floor(hours / 24);
        (void)snprintf(out, VS_UNIT_TEXT, "%.0f d %.0f h", whole, hours - whole * 24);
    } else {
        (void)snprintf(out, VS_UNIT_TEXT, "%.3g d", seconds / 86400);
    }
    return plain_point(out);
}

char *vs_print_seconds(char out[VS_UNIT_TEXT], double seconds) {
    static const struct unit UNITS[] = {{"ns", 1e9}, {"us", 1e6}, {"ms", 1e3}, {"s", 1}};
    if (print_odd(out, seconds))
        return out;
    double size = fabs(seconds);
    if (seconds >= 59.95)
        return print_long_time(out, seconds);
    size_t i = size > 0 ? 0 : 3;
    while (i < 3 && size * UNITS[i].factor >= 999.5)
        i++;
    (void)snprintf(out, VS_UNIT_TEXT, "%.3g %s", seconds * UNITS[i].factor, UNITS[i].name);
    return plain_point(out);
}

char *vs_print_tokens(char out[VS_UNIT_TEXT], uint64_t tokens) {
    (void)snprintf(out, VS_UNIT_TEXT, "%" PRIu64, tokens);
    return out;
}

char *vs_print_speed(char out[VS_UNIT_TEXT], double per_s) {
    if (print_odd(out, per_s))
        return out;
    double size = fabs(per_s);
    if (size < 1e-4 || size >= 1e15) {
        (void)snprintf(out, VS_UNIT_TEXT, "%.3g", per_s + 0.0);
        return plain_point(out);
    }
    /* Rounded first, because 9.996 is 10.0 and not 10.00. */
    char digits[VS_UNIT_TEXT];
    (void)snprintf(digits, sizeof digits, "%.2e", per_s);
    const char *exponent = strchr(digits, 'e');
    long decimals = 2 - (exponent ? strtol(exponent + 1, NULL, 10) : 0);
    (void)snprintf(out, VS_UNIT_TEXT, "%.*f", decimals > 0 ? (int)decimals : 0,
                   strtod(digits, NULL));
    return plain_point(out);
}

char *vs_print_g9(char out[VS_UNIT_TEXT], double number) {
    if (print_odd(out, number))
        return out;
    (void)snprintf(out, VS_UNIT_TEXT, "%.9g", number + 0.0); /* no "-0" */
    return plain_point(out);
}
