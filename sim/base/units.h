/* Quantities as people write them, and as we print them. GB is 10^9, GiB is 2^30, everywhere.
 *
 * Parsers take the whole text or nothing; they refuse NaN, infinity, and what does not fit the
 * type. On failure they return false and write to `why` (>= 160 bytes) what was expected, e.g.
 * "expected a size such as 24GiB or 500MB".
 */
#ifndef VS_BASE_UNITS_H
#define VS_BASE_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VS_KIB 1024ULL
#define VS_MIB (1024ULL * 1024)
#define VS_GIB (1024ULL * 1024 * 1024)

enum { VS_WHY_SIZE = 160 };

/* "24GiB", "500MB", "2e8B", "1024" (bytes): B, KB/MB/GB/TB (powers of 1000, also kB),
 * KiB/MiB/GiB/TiB. */
bool vs_parse_bytes(const char *text, uint64_t *bytes, char why[VS_WHY_SIZE]);
/* "900GB/s", "25GiB/s", "200Gb/s" (bits): bytes per second. */
bool vs_parse_rate(const char *text, double *bytes_per_s, char why[VS_WHY_SIZE]);
/* "165.2TFLOPS", "2GFLOPS": FLOP per second. */
bool vs_parse_flops(const char *text, double *flops, char why[VS_WHY_SIZE]);
/* "0.35s", "10us", "3ms", "40ns"; a bare number is seconds. */
bool vs_parse_seconds(const char *text, double *seconds, char why[VS_WHY_SIZE]);
/* "8k" (= 8192), "2048", "1M" (= 1048576): counts, k/K and M are powers of 1024. */
bool vs_parse_count(const char *text, int64_t *count, char why[VS_WHY_SIZE]);
/* A plain finite decimal number. */
bool vs_parse_number(const char *text, double *number, char why[VS_WHY_SIZE]);

/* Printers write into `out` (>= 32 bytes) and return it. */
enum { VS_UNIT_TEXT = 32 };
char *vs_print_bytes(char out[VS_UNIT_TEXT], uint64_t bytes); /* "23.64 GiB", "512 MiB", "14 B" */
char *vs_print_rate(char out[VS_UNIT_TEXT], double bytes_per_s); /* "1008 GB/s" */
char *vs_print_seconds(char out[VS_UNIT_TEXT],
                       double seconds); /* "12.3 s", "4.56 ms", "1 h 12 min" */
char *vs_print_tokens(char out[VS_UNIT_TEXT], uint64_t tokens); /* "2048", "131072" */
char *vs_print_speed(char out[VS_UNIT_TEXT],
                     double per_s); /* 3 significant digits, no unit: "115", "0.0321" */

/* Numbers of machine-readable output: 9 significant digits, the same text everywhere ("%.9g"
 * without locale). */
char *vs_print_g9(char out[VS_UNIT_TEXT], double number);

#endif
