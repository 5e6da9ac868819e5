/* Azure's LLM inference traces of 2023 and 2024 (Azure/AzurePublicDataset): times of day. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "import/reader.h"

static const int64_t NS_PER_S = 1000000000;

/* Days since 1970-01-01 of a Gregorian date, by the cycle of 400 years (146,097 days). */
static int64_t days(int64_t year, int64_t month, int64_t day) {
    int64_t y = month <= 2 ? year - 1 : year, m = month <= 2 ? month + 9 : month - 3;
    int64_t era = y / 400, of_era = y % 400;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + (153 * m + 2) / 5 + day - 1 -
           719468;
}

static int month_days(int year, int month) {
    static const int DAYS[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return DAYS[month - 1] + (month == 2 && leap);
}

/* "03.9799600", or with the zone of UTC behind it. */
static bool seconds(const char *text, int64_t *ns) {
    char digits[32];
    size_t length = strspn(text, "0123456789.");
    const char *zone = text + length;
    if (length >= sizeof digits ||
        !(zone[0] == '\0' || vs_streq(zone, "Z") || vs_streq(zone, "+00:00")))
        return false;
    memcpy(digits, text, length);
    digits[length] = '\0';
    return vs_trace_time(digits, NS_PER_S, ns) && *ns < 61 * NS_PER_S;
}

/* "2023-11-16 18:17:03.9799600" */
static bool clock_time(const char *text, int64_t *ns) {
    int year, month, day, hour, minute, end = 0;
    int64_t second = 0;
    if (sscanf(text, "%4d-%2d-%2d %2d:%2d:%n", &year, &month, &day, &hour, &minute, &end) != 5 ||
        end == 0 || year < 1971 || year > 2200 || month < 1 || month > 12 || day < 1 ||
        day > month_days(year, month) || hour < 0 || hour > 23 || minute < 0 || minute > 59)
        return false;
    if (!seconds(text + end, &second))
        return false;
    *ns = ((days(year, month, day) * 24 + hour) * 60 + minute) * 60 * NS_PER_S + second;
    return true;
}

extern const struct vs_trace_reader vs_trace_reader_azure;
const struct vs_trace_reader vs_trace_reader_azure = {
    .name = "azure",
    .help = "Azure LLM inference trace (TIMESTAMP, ContextTokens, GeneratedTokens)",
    .form = VS_TRACE_CSV,
    .fields = {"TIMESTAMP", "ContextTokens", "GeneratedTokens", NULL},
    .arrival_needed = true,
    .clock = clock_time};
